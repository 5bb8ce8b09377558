/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_PROFILER_OPTIONS_H
#define CEEMS_PROFILER_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/conf/conf.h"
#include "lib/service_options.h"

enum profile_format { PROFILE_FOLDED, PROFILE_PPROF };

struct options {
	LOG_OPTION_MEMBERS;
	char *group, *path_procfs, *push_url;
	struct conf_list labels;
	int format; /* enum profile_format */
	uint64_t duration_ms, hz;
	bool off_cpu;
	uint64_t link_fd, opener_fd; /* 0: not ceemsd's child */
	uint64_t interval_ms, memory_bytes;
	char *hot_page, *profiles_spool, *cluster, *hostname, *path_cgroupfs;
	char *debug_folder;
};

extern const struct conf_opt profiler_options[];
extern const size_t profiler_options_count;

#endif
