/* SPDX-License-Identifier: GPL-2.0-or-later */
/* For LD_PRELOAD: a program's clock of the day is CLOCK_OFF_S seconds wrong, or by as
 * many as the file CLOCK_OFF_FILE has at that moment (64 bits, little-endian). Clocks
 * that only count (CLOCK_MONOTONIC, CLOCK_BOOTTIME) are right, as on a machine whose
 * time was set wrong. A wait until a time of that clock takes as long as was meant.
 *
 *	cc -shared -fPIC -o clock_off.so clock_off.c
 *	CLOCK_OFF_S=3600 LD_PRELOAD=clock_off.so ceemsd ... */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static const volatile int64_t *file;

__attribute__((constructor)) static void map_file(void)
{
	const char *name = getenv("CLOCK_OFF_FILE");
	int fd = name ? open(name, O_RDONLY | O_CLOEXEC) : -1;
	void *p = fd < 0 ? MAP_FAILED
			 : mmap(NULL, sizeof(*file), PROT_READ, MAP_SHARED, fd, 0);

	if (p != MAP_FAILED)
		file = p;
	if (fd >= 0)
		close(fd);
}

static long long off_s(void)
{
	const char *s = getenv("CLOCK_OFF_S");

	if (file)
		return *file;
	return s ? strtoll(s, NULL, 10) : 0;
}

int clock_gettime(clockid_t id, struct timespec *ts)
{
	int rc = (int)syscall(SYS_clock_gettime, id, ts);

	if (rc == 0 && (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE))
		ts->tv_sec += off_s();
	return rc;
}

int gettimeofday(struct timeval *tv, void *zone)
{
	struct timespec ts;

	(void)zone;
	clock_gettime(CLOCK_REALTIME, &ts);
	tv->tv_sec = ts.tv_sec;
	tv->tv_usec = ts.tv_nsec / 1000;
	return 0;
}

time_t time(time_t *ret)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	if (ret)
		*ret = ts.tv_sec;
	return ts.tv_sec;
}

int pthread_cond_timedwait(pthread_cond_t *cond, pthread_mutex_t *mutex,
			   const struct timespec *until)
{
	struct timespec ts = *until;

	/* nothing says by which clock a condition waits; no machine is up for 30 years
	 */
	if (ts.tv_sec < 1000000000)
		return pthread_cond_clockwait(cond, mutex, CLOCK_MONOTONIC, &ts);
	ts.tv_sec -= off_s();
	return pthread_cond_clockwait(cond, mutex, CLOCK_REALTIME, &ts);
}
