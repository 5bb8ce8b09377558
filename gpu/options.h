/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_GPU_OPTIONS_H
#define CEEMS_GPU_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/conf/conf.h"
#include "lib/service_options.h"

struct options {
	LOG_OPTION_MEMBERS;
	uint64_t link_fd;
	bool once;
	char *nvml_path, *lock_path, *path_sysfs, *path_procfs, *path_devfs;
	uint64_t period_ms;
	int accounting; /* 1: switch it on */
};

extern const struct conf_opt gpu_options[];
extern const size_t gpu_options_count;

#endif
