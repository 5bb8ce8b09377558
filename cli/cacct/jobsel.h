/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_CLI_CACCT_JOBSEL_H
#define CEEMS_CLI_CACCT_JOBSEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/cacct/unit.h"
#include "lib/err.h"

/* Which jobs: sacct's -j. "12" (an array's or heterogeneous job's number: all of it),
 * "12_3", "12_[1-4,7]", "12+1", each optionally with a step: "12.0", "12_3.batch". Ids
 * of other managers (VM and pod uuids) are taken as they are. */

struct jobsel_one {
	char job[64];         /* raw id, or of the array or heterogeneous job */
	int64_t task, offset; /* -1: any */
	char step[24];        /* "": any */
};

#define JOBSEL_MAX 4096

struct jobsel {
	struct jobsel_one *one;
	size_t count;
};

/* A comma separated list, added to ret. -EINVAL names the part. */
int jobsel_parse(const char *text, struct jobsel *ret, struct err *err);
void jobsel_done(struct jobsel *s);

/* Is the unit one of them? True for an empty selection. */
bool jobsel_has(const struct jobsel *s, const struct unit *u);
/* Index of the first one that matches; count: none. */
size_t jobsel_first(const struct jobsel *s, const struct unit *u);
/* Whether the unit is selected as a whole, not only some steps. True for an empty
 * selection. */
bool jobsel_has_whole(const struct jobsel *s, const struct unit *u);
/* Whether this step of it is selected. */
bool jobsel_has_step(const struct jobsel *s, const struct unit *of,
		     const struct unit *step);
/* Whether any step of it is selected. */
bool jobsel_names_steps(const struct jobsel *s, const struct unit *of);

#endif
