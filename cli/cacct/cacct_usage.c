/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cacct usage: use of persons and projects in a window, over all jobs. The server sums
 * by hours and days; here rows are grouped as requested. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cacct/cacct.h"
#include "cli/cacct/text.h"
#include "cli/cacct/when.h"
#include "lib/cleanup.h"
#include "lib/http/json.h"
#include "lib/rfc3339.h"

#define GROUPS_MAX 1000000u
#define DAY_S 86400

/* Values that are summed; unknown ones are left out. */
static const enum unit_number added[] = {
	UNIT_JOBS,         UNIT_ELAPSED_S,    UNIT_CPU_ALLOC_S,   UNIT_CPU_S,
	UNIT_WASTED_CPU_S, UNIT_WASTED_J,     UNIT_IO_READ_BYTES, UNIT_IO_WRITE_BYTES,
	UNIT_NET_RX_BYTES, UNIT_NET_TX_BYTES, UNIT_ENERGY_J,      UNIT_CPU_SIDE_J,
	UNIT_GPU_SIDE_J,   UNIT_PACKAGE_J,    UNIT_DRAM_J,        UNIT_PSYS_J,
	UNIT_GPU_J,        UNIT_HOST_J,       UNIT_OTHER_J,       UNIT_GPU_ALLOC_S,
	UNIT_WASTED_GPU_S, UNIT_WASTED_GPU_J,
};
#define ADDED (sizeof(added) / sizeof(added[0]))

/* Shares, and the weight of each row's. */
static const struct {
	enum unit_number n;
	const char *of;
	const char *json;
} shares[] = {
	{UNIT_CPU_RATIO, "total_time_seconds.alloc_cputime", "cpu_ratio"},
	{UNIT_MEMORY_RATIO, "total_time_seconds.alloc_cpumemtime", "memory_ratio"},
	{UNIT_GPU_RATIO, "total_time_seconds.alloc_gputime", "gpu_ratio"},
	{UNIT_COVERAGE, "total_time_seconds.walltime", "coverage"},
};
#define SHARES (sizeof(shares) / sizeof(shares[0]))

struct group {
	char *key; /* sort key: period, cluster, account and user, each with its NUL */
	size_t key_len;
	struct unit u; /* its texts are in key */
	double share[SHARES], of[SHARES];
};

struct usage_work {
	struct cacct *c;
	void *tree; /* of groups, tsearch() */
	struct group **groups, *total;
	size_t count, room;
	uint64_t rows;
};

static int compare_groups(const void *a, const void *b)
{
	const struct group *x = a, *y = b;
	size_t n = x->key_len < y->key_len ? x->key_len : y->key_len;
	int rc = memcmp(x->key, y->key, n);

	return rc ? rc : (x->key_len > y->key_len) - (x->key_len < y->key_len);
}

static int by_group(const void *a, const void *b)
{
	return compare_groups(*(struct group *const *)a, *(struct group *const *)b);
}

/* The period's name, and its first day within the window, since 1970; "": no day. */
static int64_t find_period(const struct cacct *c, const char *day, char ret[16])
{
	struct tm tm = {0};

	*ret = '\0';
	if (!day || !strptime(day, "%Y-%m-%d", &tm))
		return 0;
	int64_t first = (int64_t)timegm(&tm) / DAY_S, from = c->start / DAY_S;
	if (c->by_period == CACCT_BY_WEEK) {
		(void)strftime(ret, 16, "%G-W%V", &tm);
		first -= (tm.tm_wday + 6) % 7;
	} else if (c->by_period == CACCT_BY_MONTH) {
		(void)strftime(ret, 16, "%Y-%m", &tm);
		first -= tm.tm_mday - 1;
	} else {
		(void)strftime(ret, 16, "%Y-%m-%d", &tm);
	}
	return first < from ? from : first;
}

static int64_t day_number(const char *day)
{
	struct tm tm = {0};

	return strptime(day, "%Y-%m-%d", &tm) ? (int64_t)timegm(&tm) / DAY_S : 0;
}

static void put_group_key(struct buf *key, const char *text, bool wanted)
{
	if (wanted && text)
		buf_puts(key, text);
	buf_putc(key, '\0');
}

static void init_group(struct group *g)
{
	static const enum unit_text texts[] = {UNIT_PERIOD, UNIT_CLUSTER, UNIT_ACCOUNT,
					       UNIT_USER};
	const char *p = g->key;

	for (size_t i = 0; i < UNIT_NUMBERS; i++)
		g->u.number[i] = NAN;
	for (size_t i = 0; p && i < 4; i++) {
		g->u.text[texts[i]] = *p ? p : NULL;
		p += strlen(p) + 1;
	}
}

static void free_group(void *group)
{
	struct group *g = group;

	if (g)
		free(g->key);
	free(g);
}

static struct group *new_group(const struct buf *key)
{
	struct group *g = calloc(1, sizeof(*g));

	if (!g || !(g->key = malloc(key->len))) {
		free(g);
		return NULL;
	}
	memcpy(g->key, key->data, key->len);
	g->key_len = key->len;
	init_group(g);
	return g;
}

static int find_usage_group(struct usage_work *w, const struct unit *u,
			    const char *period, struct group **ret, struct err *err)
{
	const struct cacct *c = w->c;
	auto_buf struct buf key = {.max = 4096};

	put_group_key(&key, period, true);
	put_group_key(&key, u->text[UNIT_CLUSTER], c->by_cluster);
	put_group_key(&key, u->text[UNIT_ACCOUNT], c->by_account);
	put_group_key(&key, u->text[UNIT_USER], c->by_user);
	if (buf_error(&key))
		return err_set(err, -EPROTO, "a row with names that are too long");
	const struct group wanted = {.key = key.data, .key_len = key.len};
	struct group *const *have = tfind(&wanted, &w->tree, compare_groups);
	if (have) {
		*ret = *have;
		return 0;
	}
	if (w->count == w->room) {
		size_t room = w->room ? w->room * 2 : 64;
		void *n = reallocarray(w->groups, room, sizeof(struct group *));
		if (!n)
			return err_set(err, -ENOMEM, "out of memory");
		w->groups = n;
		w->room = room;
	}
	if (w->count == GROUPS_MAX)
		return err_set(err, -EFBIG, "more than %u rows: ask for less",
			       GROUPS_MAX);
	struct group *g = new_group(&key);
	if (!g || !tsearch(g, &w->tree, compare_groups)) {
		free_group(g);
		return err_set(err, -ENOMEM, "out of memory");
	}
	w->groups[w->count++] = *ret = g;
	return 0;
}

static void add_number(double *to, double v)
{
	if (!isnan(v))
		*to = isnan(*to) ? v : *to + v;
}

static void add_usage_grams(struct unit *to, const struct unit *u)
{
	for (size_t i = 0; i < u->grams_count; i++) {
		size_t k = 0;
		while (k < to->grams_count &&
		       strcmp(to->grams[k].provider, u->grams[i].provider) != 0)
			k++;
		if (k == UNIT_PROVIDERS_MAX)
			continue;
		if (k == to->grams_count)
			to->grams[to->grams_count++] = u->grams[i];
		else
			to->grams[k].grams += u->grams[i].grams;
	}
}

static void add_row(struct group *g, const struct unit *u, struct json_object *row)
{
	for (size_t i = 0; i < ADDED; i++)
		add_number(&g->u.number[added[i]], u->number[added[i]]);
	for (size_t i = 0; i < SHARES; i++) {
		double of = unit_json_number(row, shares[i].of);
		if (isnan(u->number[shares[i].n]) || !(of > 0))
			continue;
		g->share[i] += u->number[shares[i].n] * of;
		g->of[i] += of;
		g->u.number[shares[i].n] = g->share[i] / g->of[i];
	}
	add_usage_grams(&g->u, u);
}

/* Of each job by itself where the server says so; what a row's sums say takes one job's
 * work for another's idleness. */
static void read_wasted(struct unit *u, struct json_object *row)
{
	double cpu_s = unit_json_number(row, "wasted_cpu_seconds");
	double joules = unit_json_number(row, "wasted_joules");

	if (!isnan(cpu_s))
		u->number[UNIT_WASTED_CPU_S] = cpu_s;
	if (!isnan(joules))
		u->number[UNIT_WASTED_J] = joules;
}

static int take_row(void *arg, struct json_object *row, struct err *err)
{
	struct usage_work *w = arg;
	const struct cacct *c = w->c;
	const char *day = unit_json_text(row, "day");
	struct group *g = NULL;
	struct unit u;
	char period[16] = "";

	unit_from_json(row, c->now, &u);
	read_wasted(&u, row);
	if (!cacct_list_has(&c->users, u.text[UNIT_USER]) ||
	    !cacct_list_has(&c->accounts, u.text[UNIT_ACCOUNT]))
		return 0;
	u.number[UNIT_JOBS] = unit_json_number(row, "num_units");
	if (c->by_period) {
		/* what continues from the day before has been counted already */
		int64_t first = find_period(c, day, period);
		if (!*period)
			return err_set(err, -EPROTO,
				       "the server sent a day that is not a date");
		if (day_number(day) != first)
			u.number[UNIT_JOBS] =
				unit_json_number(row, "num_units_started");
	}
	w->rows++;
	add_row(w->total, &u, row);
	int rc = find_usage_group(w, &u, period, &g, err);
	if (rc == 0)
		add_row(g, &u, row);
	return rc;
}

/* ---- the request ----------------------------------------------------------------- */

static void put_usage_target(const struct cacct *c, const char *who, struct buf *t)
{
	buf_printf(t, "/api/v1/usage/%s%s", c->by_period ? "daily" : "current", who);
	cacct_put_whose(c, *who, t);
	char text[32];
	(void)snprintf(text, sizeof(text), "%" PRId64, (int64_t)c->start);
	api_put_param(t, "from", text);
	(void)snprintf(text, sizeof(text), "%" PRId64, (int64_t)c->end + 1);
	api_put_param(t, "to", text);
	if (c->by_period)
		api_put_param(t, "limit", "1000");
}

static int ask_rows(struct usage_work *w, struct api *api, const char *who,
		    struct json_object **ret_meta, struct err *err)
{
	auto_buf struct buf target = {.max = 64 << 10};

	put_usage_target(w->c, who, &target);
	if (buf_error(&target))
		return err_set(
			err, -EINVAL,
			"the request is too long: name fewer jobs, users or accounts");
	return api_rows(api, target.data, take_row, w, ret_meta, err);
}

/* The server decides whose usage is shown; see cacct_units(). */
static int ask_server(struct usage_work *w, struct api *api,
		      struct json_object **ret_meta, struct err *err)
{
	const struct cacct *c = w->c;
	struct err other;

	if (!c->all_users && cacct_names_self(c)) {
		int rc = ask_rows(w, api, "/visible", ret_meta, err);
		/* an older server, or the peer's */
		return rc == -ENOENT ? ask_rows(w, api, "", ret_meta, err) : rc;
	}
	int rc = ask_rows(w, api, "/admin", ret_meta, err);
	/* project members, if the site shows them to each other */
	if (rc == -EACCES && !c->all_users &&
	    ask_rows(w, api, "/visible", ret_meta, &other) == 0 && w->rows)
		rc = 0;
	if (rc == -EACCES)
		return err_prefix(
			err, rc,
			"only operators and admins may see the usage of other users");
	return rc;
}

/* ---- the answer ------------------------------------------------------------------ */

static void put_usage_time(struct json_object *meta, const char *name, time_t otherwise,
			   struct buf *out)
{
	const char *said = meta ? unit_json_text(meta, name) : NULL;
	uint64_t t = (uint64_t)otherwise;
	char text[WHEN_SIZE];

	if (said && rfc3339_parse(said, &t) < 0)
		t = (uint64_t)otherwise;
	when_print((time_t)t, text);
	buf_puts(out, text);
}

/* The window, and the totals. */
static void put_summary(const struct usage_work *w, struct json_object *meta,
			struct buf *out)
{
	const double *n = w->total->u.number;

	buf_puts(out, "Usage from ");
	put_usage_time(meta, "from", w->c->start, out);
	buf_puts(out, " to ");
	put_usage_time(meta, "to", w->c->end, out);
	buf_puts(out, w->c->by_period ? " (full days of UTC)" : " (full hours)");
	if (!w->rows) {
		buf_puts(out, ": nothing");
		return;
	}
	if (!w->c->by_period)
		buf_printf(
			out, ": %.0f %s", n[UNIT_JOBS],
			kind_word(w->c->kinds.kind, (uint64_t)fmax(0, n[UNIT_JOBS])));
	if (!isnan(n[UNIT_CPU_ALLOC_S])) {
		buf_puts(out, "; CPU hours ");
		text_put_short(out, n[UNIT_CPU_ALLOC_S] / 3600);
	}
	if (!isnan(n[UNIT_WASTED_CPU_S])) {
		buf_puts(out, ", wasted ");
		text_put_short(out, n[UNIT_WASTED_CPU_S] / 3600);
	}
	if (!isnan(n[UNIT_ENERGY_J])) {
		buf_puts(out, "; ");
		text_put_wh(out, n[UNIT_ENERGY_J] / 3600);
	}
	if (!isnan(n[UNIT_WASTED_J])) {
		buf_puts(out, ", wasted ");
		text_put_wh(out, n[UNIT_WASTED_J] / 3600);
	}
	for (size_t i = 0; i < w->total->u.grams_count; i++) {
		buf_puts(out, "; ");
		text_put_amount(out, w->total->u.grams[i].grams);
		buf_printf(out, " g CO2e (%s)", w->total->u.grams[i].provider);
	}
	if (!isnan(n[UNIT_COVERAGE]))
		buf_printf(out, "; coverage %.1f%%", 100 * n[UNIT_COVERAGE]);
}

static void put_usage_text(struct buf *out, const char *name, const char *text)
{
	if (!text)
		return;
	buf_printf(out, ",\"%s\":", name);
	buf_put_json(out, text, strlen(text));
}

static void put_group(const struct group *g, enum kind kind, struct buf *out)
{
	static const struct {
		enum unit_number n;
		const char *name;
	} members[] = {
		{UNIT_CPU_ALLOC_S, "cpu_alloc_seconds"},
		{UNIT_CPU_S, "cpu_seconds"},
		{UNIT_WASTED_CPU_S, "wasted_cpu_seconds"},
		{UNIT_ENERGY_J, "energy_joules"},
		{UNIT_WASTED_J, "wasted_joules"},
		{UNIT_GPU_ALLOC_S, "gpu_alloc_seconds"},
		{UNIT_WASTED_GPU_S, "wasted_gpu_seconds"},
		{UNIT_WASTED_GPU_J, "wasted_gpu_joules"},
	};
	const struct unit *u = &g->u;

	buf_printf(out, "{%s%.0f", kind_member(kind),
		   isnan(u->number[UNIT_JOBS]) ? 0 : u->number[UNIT_JOBS]);
	put_usage_text(out, "period", u->text[UNIT_PERIOD]);
	put_usage_text(out, "cluster_id", u->text[UNIT_CLUSTER]);
	put_usage_text(out, "project", u->text[UNIT_ACCOUNT]);
	put_usage_text(out, "username", u->text[UNIT_USER]);
	for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
		if (isnan(u->number[members[i].n]))
			continue;
		buf_printf(out, ",\"%s\":", members[i].name);
		buf_put_f64(out, u->number[members[i].n]);
	}
	for (size_t i = 0; i < SHARES; i++) {
		if (isnan(u->number[shares[i].n]))
			continue;
		buf_printf(out, ",\"%s\":", shares[i].json);
		buf_put_f64(out, u->number[shares[i].n]);
	}
	unit_put_grams(out, u->grams, u->grams_count);
	buf_putc(out, '}');
}

static void put_usage_json(const struct usage_work *w, struct json_object *meta,
			   struct buf *out)
{
	static const char *const kept[] = {"from", "to", "as_of", "coverage",
					   "warnings"};

	buf_puts(out, "{\"usage\":[");
	for (size_t i = 0; i < w->count; i++) {
		buf_puts(out, i ? ",\n" : "\n");
		put_group(w->groups[i], w->c->kinds.kind, out);
	}
	buf_puts(out, "\n],\"total\":");
	put_group(w->total, w->c->kinds.kind, out);
	for (size_t i = 0; meta && i < sizeof(kept) / sizeof(kept[0]); i++) {
		struct json_object *o = http_json_get_any(meta, kept[i]);
		if (o)
			buf_printf(out, ",\"%s\":%s", kept[i],
				   json_object_to_json_string_ext(
					   o, JSON_C_TO_STRING_PLAIN |
						      JSON_C_TO_STRING_NOSLASHESCAPE));
	}
	buf_puts(out, "}\n");
}

static int put_table(const struct usage_work *w, struct json_object *meta,
		     struct buf *out, struct err *err)
{
	auto_buf struct buf summary = BUF_INIT;
	struct table t;
	int rc = 0;

	table_init(&t, &w->c->columns, &w->c->style);
	for (size_t i = 0; rc == 0 && i < w->count; i++)
		rc = table_add(&t, &w->groups[i]->u, err);
	if (w->c->summary)
		put_summary(w, meta, &summary);
	if (rc == 0)
		rc = table_write(&t, w->c->summary ? summary.data : NULL, out);
	table_done(&t);
	return rc;
}

int cacct_usage(struct cacct *c, struct api *api, struct buf *out, struct err *err)
{
	struct group total = {.key = NULL};
	struct usage_work w = {.c = c, .total = &total};
	auto_json struct json_object *meta = NULL;

	init_group(&total);
	int rc = ask_server(&w, api, &meta, err);
	if (rc == 0 && w.count)
		qsort(w.groups, w.count, sizeof(struct group *), by_group);
	if (rc == 0 && c->json) {
		put_usage_json(&w, meta, out);
	} else if (rc == 0) {
		cacct_put_warnings(meta);
		rc = put_table(&w, meta, out, err);
	}
	tdestroy(w.tree, free_group);
	free(w.groups);
	if (rc == 0)
		rc = buf_error(out);
	return rc < 0 && !*err->text ? err_set(err, rc, "not enough memory") : rc;
}
