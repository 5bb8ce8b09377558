/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "profiler/files/cpu_delay.h"

#include <fcntl.h>
#include <stdio.h>

#include "lib/fs.h"
#include "lib/parse.h"

uint64_t cpu_delay_ns(pid_t pid)
{
	char path[32], text[128];
	const char *p = text;
	uint64_t ran, delay;

	(void)snprintf(path, sizeof(path), "/proc/%d/schedstat", (int)pid);
	ssize_t n = fs_read_at(AT_FDCWD, path, text, sizeof(text), NULL);
	if (n <= 0 || scan_u64(&p, text + n, &ran) < 0 || !scan_blank(&p, text + n) ||
	    scan_u64(&p, text + n, &delay) < 0)
		return 0;
	return delay;
}
