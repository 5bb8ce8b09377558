/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Perf events of whole CPUs. */
#include "daemon/sources/perf_cpu.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lib/records/hardware_raw.h"

static int open_cpu_event(struct perf_event_attr *attr, int cpu)
{
	attr->size = sizeof(*attr);
	long fd = syscall(SYS_perf_event_open, attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : (int)fd;
}

int perf_open_cpu(uint32_t type, uint64_t config, int cpu)
{
	struct perf_event_attr attr = {.type = type, .config = config};

	return open_cpu_event(&attr, cpu);
}

int perf_open_raw(const struct hardware_raw *event, int cpu)
{
	struct perf_event_attr attr = {
		.type = event->type,
		.config = event->config,
		.config1 = event->config1,
		.config2 = event->config2,
		.read_format =
			PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING,
	};

	return open_cpu_event(&attr, cpu);
}
