/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LIB_FINDING_H
#define CEEMS_LIB_FINDING_H

#include <stdbool.h>
#include <stdio.h>

/* The result of a check: one line each, "ok|warn|fail: what; what to do"; or, for
 * programs, one JSON object {"findings":[{"section","level","what","todo"}...],"ok":N,
 * "warn":N,"fail":N}. */

enum level { LEVEL_OK, LEVEL_WARN, LEVEL_FAIL, LEVELS };

struct findings {
	FILE *out;
	bool json;
	const char *section; /* of what follows, static; NULL: there are no sections */
	unsigned count[LEVELS];
};

/* Begins a section: as text, a line with its title. */
void findings_section(struct findings *f, const char *name, const char *title);

/* todo: what to do about it, NULL for LEVEL_OK. Control characters are written as '?',
 * because texts hold values from files. */
void finding(struct findings *f, enum level level, const char *todo, const char *fmt,
	     ...) __attribute__((format(printf, 4, 5)));

/* The closing line, and the exit status: 0 all well, 1 warnings, 2 failures. */
int findings_end(const struct findings *f);

#endif
