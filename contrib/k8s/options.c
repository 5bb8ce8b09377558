/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "contrib/k8s/options.h"

#define ROW CONF_ROW

const struct conf_opt k8s_options[] = {
	LOG_OPTION_ROWS(0),
	ROW("k8s.cgroup-root", CONF_STRING, cgroup_root, "",
	    "The control group that has all pods, from the mount of a hierarchy. "
	    "Empty: kubelet's usual names, with either driver."),
	ROW("k8s.refresh", CONF_DURATION, refresh_ms, "10s",
	    "How often to ask for what has no event, and to look whether an event was "
	    "missed.",
	    .min = 100, .max = 3600000),
	ROW("path.rundir", CONF_STRING, path_rundir, "/run/ceems",
	    "ceemsd's folder with the ring."),
	ROW("path.cgroupfs", CONF_STRING, path_cgroupfs, "/sys/fs/cgroup",
	    "Where control groups are mounted."),
	ROW("once", CONF_BOOL, once, "false", "Tell of the pods that run, and exit."),
};
const size_t k8s_options_count = sizeof(k8s_options) / sizeof(k8s_options[0]);
