/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_CONTRIB_LIBVIRT_OPTIONS_H
#define CEEMS_CONTRIB_LIBVIRT_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/conf/conf.h"
#include "lib/service_options.h"

struct options {
	LOG_OPTION_MEMBERS;
	struct conf_list uris;
	char *run_dir;
	uint64_t refresh_ms, hang_ms, statistics_ms;
	char *path_rundir, *path_cgroupfs, *path_procfs;
	bool once;
};

extern const struct conf_opt libvirt_options[];
extern const size_t libvirt_options_count;

#endif
