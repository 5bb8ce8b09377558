/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "gpu/options.h"

#define ROW CONF_ROW

static const char *const accountings[] = {"leave", "enable", NULL};

const struct conf_opt gpu_options[] = {
	LOG_OPTION_ROWS(0),
	ROW("link.fd", CONF_U64, link_fd, "0",
	    "The socket to ceemsd, which starts ceems-gpu with it.",
	    .flags = CONF_HIDDEN, .max = 1023),
	ROW("once", CONF_BOOL, once, "false",
	    "Read every device once, print it, and exit: with status 1 if there is "
	    "none."),
	ROW("gpu.nvml", CONF_STRING, nvml_path, "libnvidia-ml.so.1",
	    "NVIDIA's management library, as a name or a file."),
	ROW("path.sysfs", CONF_STRING, path_sysfs, "/sys",
	    "Where sysfs is mounted, which tells of AMD's and Intel's devices."),
	ROW("path.procfs", CONF_STRING, path_procfs, "/proc",
	    "Where procfs is mounted."),
	ROW("path.devfs", CONF_STRING, path_devfs, "/dev", "Where device files are.",
	    .flags = CONF_HIDDEN),
	ROW("gpu.lock", CONF_STRING, lock_path, "",
	    "The file that is locked while the driver is used.", .flags = CONF_HIDDEN),
	ROW("gpu.period", CONF_DURATION, period_ms, "100ms",
	    "How often to read a device's energy counter; all else is read once a "
	    "second.",
	    .min = 20, .max = 10000),
	ROW("gpu.accounting", CONF_ENUM, accounting, "leave",
	    "NVIDIA's accounting mode: leave (as the site has it) or enable (at start; "
	    "only root may).",
	    .choices = accountings),
};
const size_t gpu_options_count = sizeof(gpu_options) / sizeof(gpu_options[0]);
