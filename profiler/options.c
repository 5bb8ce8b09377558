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
	ROW("profiling.off-cpu", CONF_BOOL, off_cpu, "false",
	    "Shows where threads are blocked and for how many nanoseconds, in place of "
	    "where they use CPUs. As ceemsd's child: steps may ask for that, too."),
	ROW("profiling.memory", CONF_BYTES, memory_bytes, "64MiB",
	    "How much its tables, the kernel's among them, and stacks may take. Where "
	    "there is no room profiles have less detail."),
	ROW("profiling.interval", CONF_DURATION, interval_ms, "60s",
	    "As ceemsd's child: how long a profile covers.", .min = 1000,
	    .max = 3600000),
	ROW("profiles.spool", CONF_STRING, profiles_spool, "",
	    "As ceemsd's child: the folder that profiles are written to, from which "
	    "ceems-courier sends them."),
	ROW("debuginfod.folder", CONF_STRING, debug_folder, "",
	    "Folder with debug files that ceems-courier fetched. As ceemsd's child: "
	    "those that are missing are asked for there. Empty: none."),
	ROW("hot.page", CONF_STRING, hot_page, "",
	    "As ceemsd's child: the file that functions are written to of steps that "
	    "asked for a report.",
	    .flags = CONF_HIDDEN),
	ROW("link.fd", CONF_U64, link_fd, "0",
	    "The socket to ceemsd, which starts ceems-profiler with it; 0: none, it "
	    "samples --cgroup.",
	    .max = 1023),
	ROW("opener.fd", CONF_U64, opener_fd, "0",
	    "With --link.fd: the socket to the ceems-opener that opens for it what "
	    "takes privileges.",
	    .max = 1023),
	ROW("cluster", CONF_STRING, cluster, "",
	    "With --link.fd: label cluster of profiles."),
	ROW("hostname", CONF_STRING, hostname, "",
	    "With --link.fd: label hostname of profiles."),
	ROW("path.cgroupfs", CONF_STRING, path_cgroupfs, "/sys/fs/cgroup",
	    "Where control groups are mounted.", .flags = CONF_HIDDEN),
	ROW("path.procfs", CONF_STRING, path_procfs, "/proc", "Where proc is mounted.",
	    .flags = CONF_HIDDEN),
};
const size_t profiler_options_count =
	sizeof(profiler_options) / sizeof(profiler_options[0]);
