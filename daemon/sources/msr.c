/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Model specific registers. */
#include "daemon/sources/msr.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "lib/cleanup.h"

int msr_read(unsigned cpu, uint32_t msr, uint64_t *ret)
{
	char path[40];
	uint64_t v;

	(void)snprintf(path, sizeof(path), "/dev/cpu/%u/msr", cpu);
	auto_close int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	ssize_t n = pread(fd, &v, sizeof(v), (off_t)msr);
	if (n != (ssize_t)sizeof(v))
		return n < 0 ? -errno : -EIO;
	*ret = v;
	return 0;
}
