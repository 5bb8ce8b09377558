// SPDX-License-Identifier: GPL-2.0-or-later
// A device plugin without devices, for kubelet to hand out: k8s_devices RESOURCE ID...
package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	dp "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
)

const folder = "/var/lib/kubelet/device-plugins/"

type plugin struct {
	dp.UnimplementedDevicePluginServer
}

func (p *plugin) GetDevicePluginOptions(context.Context, *dp.Empty) (*dp.DevicePluginOptions, error) {
	return &dp.DevicePluginOptions{}, nil
}

func (p *plugin) ListAndWatch(_ *dp.Empty, s grpc.ServerStreamingServer[dp.ListAndWatchResponse]) error {
	r := &dp.ListAndWatchResponse{}
	for _, id := range os.Args[2:] {
		r.Devices = append(r.Devices, &dp.Device{ID: id, Health: dp.Healthy})
	}
	if err := s.Send(r); err != nil {
		return err
	}
	<-s.Context().Done()
	return nil
}

func (p *plugin) Allocate(_ context.Context, q *dp.AllocateRequest) (*dp.AllocateResponse, error) {
	r := &dp.AllocateResponse{}
	for range q.ContainerRequests {
		r.ContainerResponses = append(r.ContainerResponses, &dp.ContainerAllocateResponse{})
	}
	return r, nil
}

func main() {
	socket := fmt.Sprintf("test-%d.sock", os.Getpid()) // several may run
	l, err := net.Listen("unix", folder+socket)
	if err == nil {
		s := grpc.NewServer()
		dp.RegisterDevicePluginServer(s, &plugin{})
		go s.Serve(l)
	}
	for err == nil { // kubelet may not be there yet
		c, e := grpc.NewClient("unix://"+folder+"kubelet.sock", grpc.WithTransportCredentials(insecure.NewCredentials()))
		if e == nil {
			_, e = dp.NewRegistrationClient(c).Register(context.Background(),
				&dp.RegisterRequest{Version: dp.Version, Endpoint: socket, ResourceName: os.Args[1]})
		}
		if e == nil {
			fmt.Println("registered")
			select {}
		}
		time.Sleep(200 * time.Millisecond)
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}
