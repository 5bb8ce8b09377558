/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "contrib/k8s/options.h"

#define ROW CONF_ROW

static const char *const api_modes[] = {"auto", "on", "off", NULL};

const struct conf_opt k8s_options[] = {
	LOG_OPTION_ROWS(0),
	ROW("k8s.cgroup-root", CONF_STRING, cgroup_root, "",
	    "The control group that has all pods, from the mount of a hierarchy. "
	    "Empty: kubelet's usual names, with either driver."),
	ROW("k8s.refresh", CONF_DURATION, refresh_ms, "10s",
	    "How often to ask for what has no event, and to look whether an event was "
	    "missed.",
	    .min = 100, .max = 3600000),
	ROW("k8s.kubelet-pods-socket.file", CONF_STRING, pods_socket,
	    "/var/lib/kubelet/pods-api/pods-api.sock",
	    "kubelet's socket that tells of pods. Empty: it is not asked."),
	ROW("k8s.kubelet-podresources-socket.file", CONF_STRING, resources_socket,
	    "/var/lib/kubelet/pod-resources/kubelet.sock",
	    "kubelet's socket that tells of pods' devices. Empty: it is not asked."),
	ROW("k8s.cri-socket.file", CONF_STRING, cri_socket, "",
	    "The container runtime's socket (CRI), to ask for names of pods and "
	    "containers where neither kubelet nor the API server tells: who may "
	    "connect "
	    "to it is root on this node. Empty: it is not asked."),
	ROW("k8s.gpu-resource-names", CONF_LIST, gpu_resources,
	    "nvidia.com/gpu,nvidia.com/gpu.shared,nvidia.com/mig-,amd.com/gpu,"
	    "gpu.intel.com/i915,gpu.intel.com/xe",
	    "Resources whose devices are GPUs. One that ends in \"-\" is the beginning "
	    "of names."),
	ROW("k8s.gpu-driver-names", CONF_LIST, gpu_drivers,
	    "gpu.nvidia.com,gpu.amd.com,gpu.intel.com",
	    "Drivers of dynamic resource allocation whose devices are GPUs. One that "
	    "ends in \"-\" is the beginning of names."),
	ROW("k8s.api", CONF_ENUM, api, "auto",
	    "Whether to ask the API server for names and requests of this node's pods, "
	    "and what the devices of dynamic resource allocation are: on, off, or "
	    "auto: where kubelet does not tell of the former, or of such devices, and "
	    "there is a kubeconfig or a service account.",
	    .choices = api_modes),
	ROW("k8s.kubeconfig.file", CONF_STRING, kubeconfig, "",
	    "A kubeconfig for the API server. Empty: the service account of our pod."),
	ROW("k8s.node-name", CONF_STRING, node_name, "",
	    "This node's name in Kubernetes. Empty: $NODE_NAME, else the host's name."),
	ROW("path.rundir", CONF_STRING, path_rundir, "/run/ceems",
	    "ceemsd's folder with the ring."),
	ROW("path.cgroupfs", CONF_STRING, path_cgroupfs, "/sys/fs/cgroup",
	    "Where control groups are mounted."),
	ROW("once", CONF_BOOL, once, "false", "Tell of the pods that run, and exit."),
};
const size_t k8s_options_count = sizeof(k8s_options) / sizeof(k8s_options[0]);
