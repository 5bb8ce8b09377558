/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "profiler/options.h"

#define ROW CONF_ROW

static const char *const formats[] = {"folded", "pprof", NULL};

const struct conf_opt profiler_options[] = {
	LOG_OPTION_ROWS(0),
	ROW("cgroup", CONF_STRING, group, "",
	    "The control group whose processes are sampled, and those of all groups "
	    "below it: a directory of cgroup v2, or of v1's cpuacct."),
	ROW("format", CONF_ENUM, format, "folded",
	    "What to print: folded (a line for each stack, for flame graph tools) or "
	    "pprof.",
	    .choices = formats),
	ROW("push.url", CONF_STRING, push_url, "",
	    "Pyroscope, http://host:port: the profile is sent there and not printed."),
	ROW("push.label", CONF_LIST, labels, "",
	    "Labels of the profile that is sent, name=value. service_name is needed."),
	ROW("duration", CONF_DURATION, duration_ms, "10s", "How long.", .min = 1,
	    .max = 3600000),
	ROW("profile.hz", CONF_U64, hz, "19",
	    "How often each CPU is looked at, per second: an odd number keeps out of "
	    "step with what programs do regularly.",
	    .min = 1, .max = 999),
	ROW("profile.rows", CONF_U64, rows, "1000000",
	    "For how many rows of call frame information there is room, 8 bytes each. "
	    "A "
	    "large library has 100000; stacks end at code of files without rows.",
	    .min = 1000, .max = 1 << 26),
	ROW("path.procfs", CONF_STRING, path_procfs, "/proc", "Where proc is mounted.",
	    .flags = CONF_HIDDEN),
};
const size_t profiler_options_count =
	sizeof(profiler_options) / sizeof(profiler_options[0]);
