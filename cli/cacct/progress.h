/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_CLI_CACCT_PROGRESS_H
#define CEEMS_CLI_CACCT_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

/* One line on a terminal's stderr that says how far a long question is; nothing where
 * stderr is no terminal, and nothing within the first second. */
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
