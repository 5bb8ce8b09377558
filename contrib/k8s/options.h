/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_CONTRIB_K8S_OPTIONS_H
#define CEEMS_CONTRIB_K8S_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/conf/conf.h"
#include "lib/service_options.h"

enum api_mode { API_AUTO, API_ON, API_OFF };

struct options {
	LOG_OPTION_MEMBERS;
	char *cgroup_root;
	uint64_t refresh_ms;
	char *pods_socket, *resources_socket, *cri_socket;
	struct conf_list gpu_resources, gpu_drivers;
	int api; /* enum api_mode */
	char *kubeconfig, *node_name;
	char *path_rundir, *path_cgroupfs;
	bool once;
};

extern const struct conf_opt k8s_options[];
extern const size_t k8s_options_count;

#endif
