/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "contrib/libvirt/options.h"

#define ROW CONF_ROW

const struct conf_opt libvirt_options[] = {
	LOG_OPTION_ROWS(0),
	ROW("libvirt.uri", CONF_LIST, uris, "qemu:///system",
	    "A driver of libvirt to ask, read-only. May be repeated, as for lxc:///."),
	ROW("libvirt.run-dir", CONF_STRING, run_dir, "/run/libvirt",
	    "Where libvirt has its pid files, as qemu/NAME.pid. Another folder for a "
	    "libvirtd in a container."),
	ROW("libvirt.refresh", CONF_DURATION, refresh_ms, "30s",
	    "How often to list all domains, for changes that came with no event.",
	    .min = 100, .max = 3600000),
	ROW("libvirt.statistics", CONF_DURATION, statistics_ms, "15s",
	    "How often to ask what libvirt knows of the guests: their view of memory, "
	    "disks, interfaces. 0: never.",
	    .min = 0, .max = 60000),
	ROW("libvirt.hang", CONF_DURATION, hang_ms, "60s",
	    "If libvirt does not answer for so long, start anew.", .min = 1000,
	    .max = 3600000),
	ROW("path.rundir", CONF_STRING, path_rundir, "/run/ceems",
	    "ceemsd's folder with the ring."),
	ROW("path.cgroupfs", CONF_STRING, path_cgroupfs, "/sys/fs/cgroup",
	    "Where control groups are mounted."),
	ROW("path.procfs", CONF_STRING, path_procfs, "/proc",
	    "Where procfs is mounted."),
	ROW("once", CONF_BOOL, once, "false",
	    "Tell of the domains that run, and exit: with status 1 if libvirt cannot "
	    "be "
	    "asked."),
};
const size_t libvirt_options_count =
	sizeof(libvirt_options) / sizeof(libvirt_options[0]);
