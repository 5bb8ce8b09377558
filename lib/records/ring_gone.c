/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whether the producer of a reserved slot is certainly gone: only then is it
 * skipped. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "lib/clock.h"
#include "lib/fs.h"
#include "lib/parse.h"
#include "lib/records/ring.h"
#include "lib/records/ring_word.h"

/* State, threads and start second (CLOCK_BOOTTIME) of a process from /proc/PID/stat:
 * proc(5), fields 3, 20 and 22. The name in field 2 may hold blanks and ')'. */
static bool read_stat(pid_t pid, char *ret_state, uint64_t *ret_threads,
		      uint64_t *ret_start)
{
	char path[64], text[2048];
	long hz = sysconf(_SC_CLK_TCK);

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	ssize_t n = fs_read_at(AT_FDCWD, path, text, sizeof(text), NULL);
	if (n <= 0 || hz <= 0)
		return false;
	const char *p = memrchr(text, ')', (size_t)n), *end = text + n;
	if (!p)
		return false;
	p++;
	for (int field = 3; field <= 22; field++) {
		const char *word;
		size_t len;
		if (!scan_word(&p, end, &word, &len))
			return false;
		if (field == 3)
			*ret_state = word[0];
		if (field == 20 && scan_u64(&word, word + len, ret_threads) < 0)
			return false;
		if (field == 22 && scan_u64(&word, word + len, ret_start) < 0)
			return false;
	}
	*ret_start /= (uint64_t)hz;
	return true;
}

static bool producer_gone(pid_t pid, uint32_t second)
{
	char state;
	uint64_t threads, start;
	uint64_t now = clock_boottime_ns() / NSEC_PER_SEC;

	if (pid <= 0)
		return true; /* not a valid pid: the word is garbage */
	if (kill(pid, 0) < 0 && errno == ESRCH)
		return true;
	if (!read_stat(pid, &state, &threads, &start))
		return false; /* no proof; if it is gone, kill() will tell soon */
	if ((state == 'Z' || state == 'X') && threads <= 1)
		return true; /* dead, only not waited for: its memory is gone */
	/* The word has the low 20 bits of the second. The latest second that fits may
	 * be after the real one (when nothing moved for 12 days), which only makes us
	 * wait longer. */
	uint64_t reserved = now - ((now - second) & RING_SECOND_MASK);
	return start > reserved;
}

bool (*ring_producer_gone)(pid_t pid, uint32_t second) = producer_gone;
