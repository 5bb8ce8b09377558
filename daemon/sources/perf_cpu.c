/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Perf events of whole CPUs. */
#include "daemon/sources/perf_cpu.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

int perf_open_cpu(uint32_t type, uint64_t config, int cpu)
{
	struct perf_event_attr attr = {
		.type = type, .size = sizeof(attr), .config = config};
	long fd =
		syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : (int)fd;
}
