/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_CLI_CACCT_FLAME_H
#define CEEMS_CLI_CACCT_FLAME_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/cacct/site.h"
#include "cli/cacct/unit.h"
#include "lib/buf.h"
#include "lib/err.h"

/*
 * Where a job's time went: the answer of Pyroscope's /pyroscope/render (its
 * "flamebearer", format single: pkg/og/structs/flamebearer), as a table of functions
 * and as a picture.
 */

#define FLAME_BARS_MAX 100000u
#define FLAME_NAMES_MAX 65536u
#define FLAME_LEVELS_MAX 1024u

struct flame_bar {
	uint32_t name, parent; /* parent: its index; its own at the root */
	uint32_t level;
	uint64_t x, total, self;
};

struct flame {
	struct json_object *answer; /* holds the names */
	const char **names;
	struct flame_bar *bars; /* by level, then x */
	size_t name_count, bar_count, level_count;
	uint64_t ticks;
	double tick_s; /* seconds of a tick; 0: not known */
	bool off_cpu;  /* of blocked threads, not of CPUs */
};

/* cli/cacct/flame_load.c: the profile of a unit's whole life, of its CPU time or of
 * where its threads were blocked, from the site's address
 * for profiles, by the caller's own identity. -EINVAL: there is no such address, or the
 * unit has not begun; else as api_get_text() and flame_take(). */
int flame_load(struct site *site, const struct unit *u, int64_t now_s, bool off_cpu,
	       struct flame *ret, struct err *err);

/* Takes the answer, also on failure. -EBADMSG: it is no flamebearer. Accepts any JSON.
 */
int flame_take(struct json_object *answer, struct flame *ret, struct err *err);
void flame_done(struct flame *f);

/* A function's time: in itself, and with all that it calls; each sample counts once,
 * however often the function is in its stack. */
struct flame_function {
	const char *name;
	uint64_t self, total;
};
/* The functions, highest self first; *ret is for free(). -ENOMEM. */
int flame_functions(const struct flame *f, struct flame_function **ret,
		    size_t *ret_count);

/* The top of them as a table for a terminal. */
void flame_put_text(const struct flame *f, size_t top, bool utf8, struct buf *out);
/* A <figure> with the picture, and the table; no script. */
void flame_put_html(const struct flame *f, struct buf *out);

#endif
