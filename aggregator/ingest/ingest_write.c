/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Intervals are copied directly into their table: nearly all are new, and that is twice
 * as fast as through a staging table. If one exists already the whole COPY fails; the
 * group, and the next few, then go through the staging table, since whoever repeats one
 * push usually repeats more. */
#include "aggregator/ingest/ingest_write.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/clock.h"

#define STAGED_GROUPS 16u /* after a repeated interval */
#define LABELS_KEPT 512u
#define RANGE_EVERY_NS (60 * NSEC_PER_SEC)

struct label {
	char text[INGEST_LABEL_BYTES];
	int16_t id;
};

struct ingest_write {
	struct pg *pg;
	uint64_t rollup_ms;
	unsigned staged_left;
	/* days with partitions, as of asked_ns */
	uint64_t first_ns, after_ns, asked_ns;
	uint32_t label_count;
	struct label labels[LABELS_KEPT];
	/* of the group that is being written */
	struct ingest_group *group;
	struct ingest_counters *counters;
	bool staged;
	int64_t added, differ, jobs, moves;
	/* ingest_moves.moves when this aggregator's knowledge of places was right */
	int64_t moves_known;
};

int ingest_write_new(const struct pg_params *pg, uint64_t rollup_ms,
		     struct ingest_write **ret, struct err *err)
{
	struct ingest_write *w = calloc(1, sizeof(*w));
	struct pg_params params = *pg;

	if (!w)
		return err_set(err, -ENOMEM, "out of memory");
	params.application = "ceems_aggregator ingest";
	w->rollup_ms = rollup_ms;
	w->moves_known = -1;
	int rc = pg_new(&params, &w->pg, err);
	if (rc < 0) {
		free(w);
		return rc;
	}
	*ret = w;
	return 0;
}

void ingest_write_free(struct ingest_write *w)
{
	if (!w)
		return;
	pg_free(w->pg);
	free(w);
}

static int16_t kept_label(const struct ingest_write *w, const char *text)
{
	for (uint32_t i = 0; i < w->label_count; i++) {
		if (strcmp(w->labels[i].text, text) == 0)
			return w->labels[i].id;
	}
	return 0;
}

/* The id of a label, which the database assigns if it is new. */
static int find_label(struct ingest_write *w, const char *text, int16_t *ret,
		      struct err *err)
{
	static const struct pg_statement s = {"ingest_sources",
					      "SELECT ingest_sources($1)"};
	struct pg_args a = PG_ARGS_INIT;
	int64_t id;

	*ret = kept_label(w, text);
	if (*ret)
		return 0;
	pg_arg_text(&a, text);
	int rc = pg_run_s64(w->pg, &s, &a, &id, err);
	if (rc == -ENODATA)
		return 0; /* there are too many labels */
	if (rc < 0)
		return rc;
	*ret = (int16_t)id;
	if (w->label_count < LABELS_KEPT) {
		struct label *l = &w->labels[w->label_count++];
		snprintf(l->text, sizeof(l->text), "%s", text);
		l->id = *ret;
	}
	return 0;
}

/* Committed separately, before the group: an id that was rolled back must not be
 * cached. */
static int find_labels(struct ingest_write *w, struct err *err)
{
	struct ingest_group *g = w->group;
	int rc = 0;

	for (uint32_t i = 0; i < g->count && rc == 0; i++) {
		for (uint32_t k = 0; k < g->pushes[i]->label_count && rc == 0; k++)
			rc = find_label(w, g->pushes[i]->labels[k], &g->label_ids[i][k],
					err);
	}
	return rc;
}

/* ---- partitions ------------------------------------------------------------------ */

static void find_group_window(const struct ingest_group *g, uint64_t *ret_min,
			      uint64_t *ret_max)
{
	*ret_min = UINT64_MAX;
	*ret_max = 0;
	for (uint32_t i = 0; i < g->count; i++) {
		for (uint32_t k = 0; k < g->pushes[i]->interval_count; k++) {
			uint64_t t0 = g->pushes[i]->intervals[k].t0_ns;
			*ret_min = t0 < *ret_min ? t0 : *ret_min;
			*ret_max = t0 > *ret_max ? t0 : *ret_max;
		}
	}
}

static int ask_range(struct ingest_write *w, struct err *err)
{
	auto_pgresult PGresult *r = NULL;
	int rc = pg_exec(w->pg,
			 "SELECT (extract(epoch FROM first) * 1e9)::bigint, "
			 "(extract(epoch FROM after) * 1e9)::bigint "
			 "FROM partition_range('unit_interval')",
			 &r, err);

	if (rc < 0)
		return rc;
	w->first_ns = UINT64_MAX;
	w->after_ns = 0;
	if (pg_get_u64(r, 0, 0, &w->first_ns) == 0 &&
	    pg_get_u64(r, 0, 1, &w->after_ns) == 0)
		w->asked_ns = clock_read_ns(CLOCK_MONOTONIC);
	return 0;
}

/* Each interval's day must have a partition, which the retention thread creates. */
static int need_days(struct ingest_write *w, struct err *err)
{
	uint64_t min, max, now = clock_read_ns(CLOCK_MONOTONIC);
	int rc = 0;

	find_group_window(w->group, &min, &max);
	if (min > max || (w->asked_ns && now - w->asked_ns < RANGE_EVERY_NS &&
			  min >= w->first_ns && max < w->after_ns))
		return 0;
	rc = ask_range(w, err);
	if (rc < 0 || (min >= w->first_ns && max < w->after_ns))
		return rc;
	return err_set(err, -EBUSY, "there is no partition for some of them yet");
}

static int add_staged(struct ingest_write *w, struct err *err)
{
	auto_pgresult PGresult *r = NULL;
	int rc = ingest_copy_intervals(w->pg, w->group, true, err);

	if (rc == 0)
		rc = pg_exec(w->pg, "SELECT added, differ FROM ingest_intervals()", &r,
			     err);
	if (rc == 0)
		rc = pg_get_s64(r, 0, 0, &w->added);
	if (rc == 0)
		rc = pg_get_s64(r, 0, 1, &w->differ);
	return rc;
}

static int add_intervals(struct ingest_write *w, struct err *err)
{
	if (w->staged)
		return add_staged(w, err);
	int rc = pg_exec(w->pg, "SAVEPOINT intervals", NULL, err);
	if (rc == 0)
		rc = ingest_copy_intervals(w->pg, w->group, false, err);
	if (rc != -EEXIST)
		return rc;
	w->staged = true;
	rc = pg_exec(w->pg, "ROLLBACK TO SAVEPOINT intervals", NULL, err);
	return rc < 0 ? rc : add_staged(w, err);
}

/* ---- where instances are --------------------------------------------------------- */

static int be_stale(struct err *err)
{
	return err_set(err, -ESTALE, "placed anew when it comes again");
}

static int read_place(const PGresult *r, int row, int col, struct known_place *ret)
{
	int64_t flagged = 0;
	*ret = (struct known_place){0};
	int rc = pg_get_s64(r, row, col, &ret->shift_ms);
	if (rc == 0)
		rc = pg_get_s64(r, row, col + 1, &flagged);
	ret->flagged = flagged != 0;
	return rc;
}

/* The row decides where an instance is, and whether that is a guess. */
static int check_places(struct pg *pg, const struct ingest_group *g, struct err *err)
{
	auto_pgresult PGresult *r = NULL;
	bool stale = false;
	int rc = pg_exec(pg,
			 "SELECT instance, shift_ms, flagged::int, elsewhere::int "
			 "FROM ingest_elsewhere()",
			 &r, err);

	for (int i = 0; rc == 0 && i < PQntuples(r); i++) {
		int64_t instance, elsewhere;
		struct known_place at, had = {.flagged = true};
		rc = pg_get_s64(r, i, 0, &instance);
		if (rc == 0)
			rc = read_place(r, i, 1, &at);
		if (rc == 0)
			rc = pg_get_s64(r, i, 3, &elsewhere);
		if (rc < 0 || !g->known)
			continue;
		if (!known_has(g->known, instance, &had))
			had.flagged = false;
		stale |= elsewhere || had.flagged != at.flagged;
		known_put(g->known, instance, at);
	}
	return rc == 0 && stale ? be_stale(err) : rc;
}

/* Whether instances are told of by other nodes than theirs: whoever wrote them first
 * owns them. */
static int check_owners(struct pg *pg, const struct ingest_group *g, struct err *err)
{
	auto_pgresult PGresult *r = NULL;
	bool stale = false;
	int rc = pg_exec(pg,
			 "SELECT instance, shift_ms, flagged::int, cluster, node, "
			 "fresh::int FROM ingest_foreign()",
			 &r, err);

	for (int i = 0; rc == 0 && i < PQntuples(r); i++) {
		struct known_place at;
		int64_t instance, fresh;
		rc = pg_get_s64(r, i, 0, &instance);
		if (rc == 0)
			rc = read_place(r, i, 1, &at);
		if (rc == 0)
			rc = pg_get_s64(r, i, 5, &fresh);
		if (rc < 0)
			continue;
		stale = true; /* fresh: in two pushes, which are written one by one */
		if (fresh || !g->known)
			continue;
		at.owner = known_owner(g->known, pg_get_text(r, i, 3),
				       pg_get_text(r, i, 4));
		known_put(g->known, instance, at);
	}
	return rc == 0 && stale ? be_stale(err) : rc;
}

/* For people: who told of instances that are not his. */
static int note_foreign(struct pg *pg, const struct ingest_push *p, struct err *err)
{
	static const struct pg_statement s = {"ingest_refused",
					      "SELECT ingest_refused($1, $2, $3)"};
	int rc = 0;

	for (uint32_t i = 0; rc == 0 && i < p->foreign_count; i++) {
		const struct ingest_foreign *f = &p->foreign[i];
		auto_pgresult PGresult *r = NULL;
		struct pg_args a = PG_ARGS_INIT;
		pg_arg_s64(&a, f->instance);
		pg_arg_text(&a, ingest_push_text(p, f->cluster));
		pg_arg_text(&a, ingest_push_text(p, f->node));
		rc = pg_run(pg, &s, &a, &r, err);
	}
	return rc;
}

static int move_one(struct pg *pg, const struct ingest_group *g,
		    const struct ingest_move *m, struct err *err)
{
	static const struct pg_statement s = {
		"ingest_move", "SELECT shift_ms, flagged::int FROM ingest_move($1, $2, "
			       "$3, $4, $5)"};
	auto_pgresult PGresult *r = NULL;
	struct pg_args a = PG_ARGS_INIT;
	struct known_place at;

	pg_arg_s64(&a, m->instance);
	pg_arg_s64(&a, m->from_ms);
	pg_arg_s64(&a, m->to_ms);
	if (m->over_ns)
		pg_arg_time(&a, m->over_ns);
	else
		pg_arg_null(&a);
	pg_arg_time(&a, m->began_ns);
	int rc = pg_run(pg, &s, &a, &r, err);
	if (rc < 0 || PQgetisnull(r, 0, 0))
		return rc;
	rc = read_place(r, 0, 0, &at);
	if (rc < 0)
		return rc;
	/* as it is from now on: check_places() compares, and corrects what is undone */
	if (g->known)
		known_put(g->known, m->instance, at);
	return at.shift_ms == m->to_ms ? 0 : be_stale(err);
}

static int move_instances(struct pg *pg, const struct ingest_group *g, struct err *err)
{
	int rc = 0;

	for (uint32_t i = 0; rc == 0 && i < g->count; i++) {
		for (uint32_t k = 0; rc == 0 && k < g->pushes[i]->move_count; k++)
			rc = move_one(pg, g, &g->pushes[i]->moves[k], err);
	}
	return rc;
}

/* ---- the transaction ------------------------------------------------------------- */

static bool has_moves(const struct ingest_group *g)
{
	for (uint32_t i = 0; i < g->count; i++) {
		if (g->pushes[i]->move_count)
			return true;
	}
	return false;
}

/* Nobody else moves instances until the end of the transaction. What somebody else has
 * moved before is not where it was known to be; what the group has of it without asking
 * for its row is placed anew. */
static int begin_group(struct pg *pg, struct ingest_write *w, struct err *err)
{
	static const struct pg_statement s = {"ingest_begin",
					      "SELECT ingest_begin($1)"};
	const struct ingest_group *g = w->group;
	struct pg_args a = PG_ARGS_INIT;
	bool moving = has_moves(g);
	int64_t before;

	pg_arg_bool(&a, moving);
	int rc = pg_run_s64(pg, &s, &a, &before, err);
	if (rc < 0)
		return rc;
	if (g->known && before != w->moves_known)
		known_forget(g->known);
	w->moves_known = before;
	w->moves = before + moving;
	for (uint32_t i = 0; g->known && i < g->count; i++) {
		const struct ingest_push *p = g->pushes[i];
		if (p->said && p->known_as_of != known_forgotten(g->known))
			return be_stale(err);
	}
	return 0;
}

/* Claims are rare: a statement for each push that has some. */
static int write_claims(struct pg *pg, const struct ingest_push *p, struct err *err)
{
	static const struct pg_statement s = {"k8s_claims",
					      "SELECT k8s_claims($1::jsonb)"};
	auto_buf struct buf list = {.max = (size_t)128 << 20};
	auto_pgresult PGresult *r = NULL;
	struct pg_args a = PG_ARGS_INIT;

	if (!p->claim_count)
		return 0;
	for (uint32_t i = 0; i < p->claim_count; i++) {
		buf_putc(&list, i ? ',' : '[');
		buf_puts(&list, ingest_push_text(p, p->claims[i].row));
	}
	buf_putc(&list, ']');
	if (buf_error(&list))
		return err_set(err, -ENOMEM, "out of memory");
	pg_arg_text(&a, list.data);
	return pg_run(pg, &s, &a, &r, err);
}

static int write_group_body(struct pg *pg, void *arg, struct err *err)
{
	struct ingest_write *w = arg;
	const struct ingest_group *g = w->group;
	auto_pgresult PGresult *r = NULL;

	w->added = w->differ = -1;
	int rc = begin_group(pg, w, err);
	if (rc == 0)
		rc = move_instances(pg, g, err);
	if (rc == 0)
		rc = add_intervals(w, err);
	if (rc == 0)
		rc = ingest_copy_marks(pg, g, clock_realtime_ns(), w->rollup_ms, err);
	if (rc == 0)
		rc = ingest_copy_nodes(pg, g, err);
	if (rc == 0)
		rc = ingest_copy_steps(pg, g, err);
	if (rc == 0)
		rc = ingest_copy_jobs(pg, g, err);
	if (rc == 0)
		rc = ingest_copy_seen(pg, g, err);
	if (rc == 0)
		rc = pg_exec(pg, "SELECT ingest_merge_boottime()", &r, err);
	if (rc == 0)
		rc = ingest_copy_sizes(pg, g, err);
	if (rc == 0)
		rc = ingest_copy_found(pg, g, err);
	if (rc == 0)
		rc = ingest_copy_over(pg, g, err);
	if (rc == 0)
		rc = ingest_copy_counts(pg, g, err);
	if (rc == 0)
		rc = check_owners(pg, g, err);
	if (rc == 0)
		rc = check_places(pg, g, err);
	for (uint32_t i = 0; rc == 0 && i < g->count; i++) {
		rc = note_foreign(pg, g->pushes[i], err);
		if (rc == 0)
			rc = write_claims(pg, g->pushes[i], err);
	}
	return rc < 0 ? rc : pg_get_s64(r, 0, 0, &w->jobs);
}

static void account_written(struct ingest_write *w)
{
	uint64_t intervals = 0, jobs = 0;

	for (uint32_t i = 0; i < w->group->count; i++) {
		intervals += w->group->pushes[i]->interval_count;
		jobs += w->group->pushes[i]->job_count;
	}
	atomic_fetch_add(&w->counters->job_repeated, jobs - (uint64_t)w->jobs);
	if (!w->staged) {
		w->staged_left -= w->staged_left > 0;
		return;
	}
	atomic_fetch_add(&w->counters->staged, 1);
	if (intervals > (uint64_t)w->added) {
		w->staged_left = STAGED_GROUPS;
		atomic_fetch_add(&w->counters->repeated,
				 intervals - (uint64_t)w->added);
		atomic_fetch_add(&w->counters->differ, (uint64_t)w->differ);
	} else if (w->staged_left > 0) {
		w->staged_left--;
	}
}

int ingest_write(struct ingest_write *w, struct ingest_group *g,
		 struct ingest_counters *counters, struct err *err)
{
	w->group = g;
	w->counters = counters;
	w->staged = w->staged_left > 0;
	int rc = pg_connect(w->pg, err);
	if (rc == 0)
		rc = find_labels(w, err);
	if (rc == 0)
		rc = need_days(w, err);
	if (rc == 0)
		rc = pg_transaction(w->pg, PG_READ_COMMITTED, 0, write_group_body, w,
				    err);
	if (rc < 0) {
		/* it may be another database */
		w->label_count = 0;
		w->asked_ns = 0;
		return rc;
	}
	w->moves_known = w->moves;
	account_written(w);
	return 0;
}
