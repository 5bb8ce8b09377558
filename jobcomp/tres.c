/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Converts Slurm's TRES strings for people and other readers. */
#include "jobcomp/tres.h"

#include <stdbool.h>
#include <string.h>

#include "lib/parse.h"

#define NO_VAL64 0xfffffffffffffffeull /* slurm.h */
#define INFINITE64 0xffffffffffffffffull
#define TRES_MEM 2u
#define TRES_ENERGY 3u
#define ENTRIES_MAX 1024u

/* Slurm's built-in TRES, the same in every cluster (slurmdb_defs.h) */
static const char *const fixed[] = {"",        "cpu",     "mem",  "energy", "node",
				    "billing", "fs/disk", "vmem", "pages"};

static void put_amount(struct buf *out, uint64_t v, bool mebibytes)
{
	static const char units[] = "MGTP";
	size_t unit = 0;

	if (!mebibytes) {
		buf_put_u64(out, v);
		return;
	}
	while (v && v % 1024 == 0 && unit < sizeof(units) - 2) {
		v /= 1024;
		unit++;
	}
	buf_put_u64(out, v);
	buf_putc(out, units[unit]);
}

static void put_entry(const char *p, size_t len, tres_name_f name, void *arg,
		      struct buf *out)
{
	const char *equals = memchr(p, '=', len), *what;
	uint64_t id, v;
	char text[64];

	if (!equals || parse_u64_len(p, (size_t)(equals - p), &id) < 0 ||
	    parse_u64_len(equals + 1, len - (size_t)(equals - p) - 1, &v) < 0)
		return;
	if (v == NO_VAL64 || v == INFINITE64 || id == TRES_ENERGY || !id ||
	    id > UINT32_MAX)
		return;
	what = id < sizeof(fixed) / sizeof(fixed[0]) ? fixed[id]
						     : name(arg, (uint32_t)id, text);
	if (!what)
		return;
	if (out->len)
		buf_putc(out, ',');
	buf_puts(out, what);
	buf_putc(out, '=');
	put_amount(out, v, id == TRES_MEM || strncmp(what, "bb/", 3) == 0);
}

void tres_text(const char *simple, tres_name_f name, void *arg, struct buf *out)
{
	const char *p = simple ? simple : "";

	for (unsigned n = 0; *p && n < ENTRIES_MAX; n++) {
		size_t len = strcspn(p, ",");
		put_entry(p, len, name, arg, out);
		p += len + (p[len] == ',');
	}
}

void tres_join_gres(char *const *per_node, uint32_t count, size_t max, struct buf *out)
{
	for (uint32_t i = 0, same; i < count && out->len <= max; i += same) {
		const char *s = per_node[i] ? per_node[i] : "";
		for (same = 1; i + same < count; same++)
			if (strcmp(per_node[i + same] ? per_node[i + same] : "", s) !=
			    0)
				break;
		if (i)
			buf_putc(out, ';');
		buf_puts(out, s);
		if (same > 1) {
			buf_putc(out, '*');
			buf_put_u64(out, same);
		}
	}
}
