/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The progress line. */
#include "cli/cacct/progress.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "lib/clock.h"

#define WIDTH 30

void progress_init(struct progress *p, const char *what)
{
	memset(p, 0, sizeof(*p));
	p->what = what;
	p->on = isatty(STDERR_FILENO);
	p->began_ns = clock_boottime_ns();
}

void progress_step(struct progress *p, uint64_t done)
{
	uint64_t now = p->on ? clock_boottime_ns() : 0;
	char bar[WIDTH + 1];

	if (!p->on || now - p->began_ns < NSEC_PER_SEC ||
	    now - p->last_ns < 100 * NSEC_PER_MSEC)
		return;
	p->last_ns = now;
	p->shown = true;
	if (!p->total) {
		(void)fprintf(stderr, "\r%" PRIu64 " %s ", done, p->what);
		return;
	}
	size_t full = (size_t)(done < p->total ? done * WIDTH / p->total : WIDTH);
	memset(bar, '#', full);
	memset(bar + full, '.', WIDTH - full);
	bar[WIDTH] = '\0';
	(void)fprintf(stderr, "\r[%s] %" PRIu64 " of %" PRIu64 " %s ", bar, done,
		      p->total, p->what);
}

void progress_end(struct progress *p)
{
	if (p->shown)
		(void)fputs("\r\033[K", stderr);
	p->shown = false;
}
