/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_CLI_CACCT_PROGRESS_H
#define CEEMS_CLI_CACCT_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

/* A progress line on stderr for long requests; only on a terminal, and not within the
 * first second. */
struct progress {
	const char *what;
	bool on, shown;
	uint64_t total; /* 0: not known */
	uint64_t began_ns, last_ns;
};

void progress_init(struct progress *p, const char *what);
void progress_step(struct progress *p, uint64_t done);
void progress_end(struct progress *p);

#endif
