// SPDX-License-Identifier: GPL-2.0-or-later
// A driver of dynamic resource allocation without devices: k8s_dra REGISTRY DRIVER POOL DEVICE...
// It registers at kubelet and prepares every claim with all of them.
package main

import (
	"context"
	"fmt"
	"net"
	"os"

	"google.golang.org/grpc"
	dra "k8s.io/kubelet/pkg/apis/dra/v1"
	reg "k8s.io/kubelet/pkg/apis/pluginregistration/v1"
)

type driver struct {
	dra.UnimplementedDRAPluginServer
	reg.UnimplementedRegistrationServer
	socket string
}

func (d *driver) GetInfo(context.Context, *reg.InfoRequest) (*reg.PluginInfo, error) {
	return &reg.PluginInfo{Type: reg.DRAPlugin, Name: os.Args[2], Endpoint: d.socket,
		SupportedVersions: []string{dra.DRAPluginService}}, nil
}

func (d *driver) NotifyRegistrationStatus(_ context.Context, s *reg.RegistrationStatus) (*reg.RegistrationStatusResponse, error) {
	fmt.Println("registered", s.PluginRegistered, s.Error)
	return &reg.RegistrationStatusResponse{}, nil
}

func (d *driver) NodePrepareResources(_ context.Context, q *dra.NodePrepareResourcesRequest) (*dra.NodePrepareResourcesResponse, error) {
	r := &dra.NodePrepareResourcesResponse{Claims: map[string]*dra.NodePrepareResourceResponse{}}
	for _, c := range q.Claims {
		p := &dra.NodePrepareResourceResponse{}
		for _, name := range os.Args[4:] {
			p.Devices = append(p.Devices, &dra.Device{PoolName: os.Args[3], DeviceName: name})
		}
		r.Claims[c.UID] = p
	}
	return r, nil
}

func (d *driver) NodeUnprepareResources(_ context.Context, q *dra.NodeUnprepareResourcesRequest) (*dra.NodeUnprepareResourcesResponse, error) {
	r := &dra.NodeUnprepareResourcesResponse{Claims: map[string]*dra.NodeUnprepareResourceResponse{}}
	for _, c := range q.Claims {
		r.Claims[c.UID] = &dra.NodeUnprepareResourceResponse{}
	}
	return r, nil
}

func main() {
	// the second one is for the watcher of the folder
	d := &driver{socket: os.Args[1] + "/../dra.sock"}
	s := grpc.NewServer()
	dra.RegisterDRAPluginServer(s, d)
	reg.RegisterRegistrationServer(s, d)
	for _, path := range []string{d.socket, os.Args[1] + "/dra.sock"} {
		l, err := net.Listen("unix", path)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		go s.Serve(l)
	}
	select {}
}
