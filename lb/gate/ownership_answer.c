/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rows may come in any order, and several for one id: they are sorted before they are
 * used, so that no run of an id is overlooked. */
#include "lb/gate/ownership_answer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lb/promql/json_read.h"
#include "lib/buf.h"
#include "lib/cleanup.h"
#include "lib/parse.h"

struct row {
	struct str id;
	struct ownership_run run;
	bool used;
};

static int compare_rows(const void *a, const void *b)
{
	const struct row *x = a, *y = b;
	uint32_t n = x->id.len < y->id.len ? x->id.len : y->id.len;
	int d = memcmp(x->id.p, y->id.p, n);

	return d ? d : (x->id.len > y->id.len) - (x->id.len < y->id.len);
}

static int refuse_answer(struct err *err, const char *what)
{
	return err_set(err, -EBADMSG, "the aggregator's answer: %s", what);
}

/* ---- its text -------------------------------------------------------------------- */

/* Rows of one list */
struct rows {
	struct row *at; /* NULL: there was no list */
	size_t count, room;
};

struct answer_reading {
	struct json_reader json;
	bool has_status, has_data, has_role;
	enum ownership_role role;
	struct rows units, latest;
	struct str user; /* p NULL: none */
};

/* Unescapes in place: the text is ours. */
static int read_answer_string(struct answer_reading *r, struct str *ret)
{
	int rc = json_raw_string(&r->json, ret);

	return rc ? rc : json_unescape(&r->json, *ret, (char *)ret->p, &ret->len);
}

static int read_whole(struct answer_reading *r, int64_t *ret)
{
	char text[24];
	struct str s;
	int rc = json_number(&r->json, &s);

	if (rc)
		return rc;
	if (s.len < sizeof(text)) {
		memcpy(text, s.p, s.len);
		text[s.len] = '\0';
	}
	return s.len < sizeof(text) && parse_s64(text, ret) == 0
		       ? 0
		       : json_broken(&r->json, "not a whole number");
}

static int read_comma(struct answer_reading *r)
{
	return json_take(&r->json, ',') ? 0
					: json_broken(&r->json, "a row is too short");
}

/* ["4711",1700000000000,null,true], possibly with more elements in later versions */
static int read_row(struct answer_reading *r, struct row *ret)
{
	struct row row = {.run = {.to_ms = INT64_MAX}};
	int rc;

	if (!json_take(&r->json, '['))
		return json_broken(&r->json, "expected a row");
	rc = read_answer_string(r, &row.id);
	rc = rc ? rc : read_comma(r);
	rc = rc ? rc : read_whole(r, &row.run.from_ms);
	rc = rc ? rc : read_comma(r);
	if (!rc && !json_take_word(&r->json, "null"))
		rc = read_whole(r, &row.run.to_ms);
	rc = rc ? rc : read_comma(r);
	if (rc)
		return rc;
	row.run.own = json_take_word(&r->json, "true");
	if (!row.run.own && !json_take_word(&r->json, "false"))
		return json_broken(&r->json, "expected true or false");
	while (!rc && json_take(&r->json, ','))
		rc = json_skip(&r->json);
	if (!rc && !json_take(&r->json, ']'))
		rc = json_broken(&r->json, "a row does not end");
	if (rc)
		return rc;
	if (row.run.to_ms < row.run.from_ms) {
		int64_t t = row.run.to_ms;

		row.run.to_ms = row.run.from_ms;
		row.run.from_ms = t;
	}
	*ret = row;
	return 0;
}

static int make_row_room(struct answer_reading *r, struct rows *to)
{
	size_t room = to->room ? to->room * 2 : 1024;
	struct row *at;

	if (to->count < to->room)
		return 0;
	if (to->count >= OWNERSHIP_ROWS_MAX)
		return json_broken(&r->json, "too many runs");
	at = reallocarray(to->at, room, sizeof(*at));
	if (!at)
		return err_set(r->json.err, -ENOMEM, "out of memory");
	to->at = at;
	to->room = room;
	return 0;
}

static int read_rows(struct answer_reading *r, struct rows *to)
{
	int rc = 0;

	if (to->at)
		return json_broken(&r->json, "units appear twice");
	if (!json_take(&r->json, '['))
		return json_broken(&r->json, "units are a list");
	rc = make_row_room(r, to);
	if (json_take(&r->json, ']'))
		return rc;
	do {
		rc = rc ? rc : make_row_room(r, to);
		rc = rc ? rc : read_row(r, &to->at[to->count]);
		to->count += !rc;
	} while (!rc && json_take(&r->json, ','));
	if (!rc && !json_take(&r->json, ']'))
		rc = json_broken(&r->json, "unterminated units");
	return rc;
}

static int read_answer_role(struct answer_reading *r)
{
	static const char *const names[] = {"user", "operator", "admin"};
	struct str role;
	int rc;

	if (r->has_role)
		return json_broken(&r->json, "the role appears twice");
	rc = read_answer_string(r, &role);
	for (unsigned i = 0; !rc && i < 3; i++)
		if (str_eq(role, names[i])) {
			r->role = (enum ownership_role)i;
			r->has_role = true;
		}
	return rc || r->has_role ? rc : json_broken(&r->json, "unknown role");
}

/* Members of an object, each handled by name. */
static int read_object(struct answer_reading *r,
		       int (*member)(struct answer_reading *r, struct str name))
{
	int rc = 0;

	if (!json_take(&r->json, '{'))
		return json_broken(&r->json, "expected an object");
	if (json_take(&r->json, '}'))
		return 0;
	do {
		struct str name;

		rc = read_answer_string(r, &name);
		if (!rc && !json_take(&r->json, ':'))
			rc = json_broken(&r->json, "expected a colon");
		rc = rc ? rc : member(r, name);
	} while (!rc && json_take(&r->json, ','));
	if (!rc && !json_take(&r->json, '}'))
		rc = json_broken(&r->json, "unterminated object");
	return rc;
}

static int read_one_member(struct answer_reading *r, struct str name)
{
	if (str_eq(name, "role"))
		return read_answer_role(r);
	if (str_eq(name, "user")) {
		if (r->user.p)
			return json_broken(&r->json, "the user appears twice");
		return read_answer_string(r, &r->user);
	}
	if (str_eq(name, "latest"))
		return read_rows(r, &r->latest);
	return str_eq(name, "units") ? read_rows(r, &r->units) : json_skip(&r->json);
}

static int read_answer_status(struct answer_reading *r)
{
	struct str s;
	int rc = read_answer_string(r, &s);

	if (rc)
		return rc;
	if (r->has_status || !str_eq(s, "success"))
		return json_broken(&r->json, "its status is not success");
	r->has_status = true;
	return 0;
}

static int read_answer_member(struct answer_reading *r, struct str name)
{
	int rc;

	if (str_eq(name, "status"))
		return read_answer_status(r);
	if (!str_eq(name, "data"))
		return json_skip(&r->json);
	if (r->has_data || !json_take(&r->json, '['))
		return json_broken(&r->json, "data must be one list");
	r->has_data = true;
	rc = read_object(r, read_one_member);
	if (!rc && !json_take(&r->json, ']'))
		rc = json_broken(&r->json, "data must have one object");
	return rc;
}

static int read_text(struct answer_reading *r)
{
	int rc = read_object(r, read_answer_member);

	rc = rc ? rc : json_end(&r->json);
	if (!rc && !(r->has_status && r->has_data && r->has_role && r->units.at))
		rc = json_broken(&r->json, "there is no status, role or unit in it");
	return rc;
}

/* ---- its contents ---------------------------------------------------------------- */

/* The usual case: then there is nothing to sort. */
static bool are_rows_sorted(const struct row *rows, size_t n)
{
	for (size_t i = 1; i < n; i++)
		if (compare_rows(&rows[i - 1], &rows[i]) > 0)
			return false;
	return true;
}

static size_t row_group_len(const struct row *rows, size_t n, size_t i)
{
	size_t k = i + 1;

	while (k < n && compare_rows(&rows[i], &rows[k]) == 0)
		k++;
	return k - i;
}

/* Appends the runs of one id */
static void put_unit(struct ownership_run *all, struct ownership_unit *u,
		     struct row *rows, size_t n, size_t *used)
{
	struct ownership_run *runs = all + *used;

	for (size_t i = 0; i < n; i++)
		runs[i] = rows[i].run;
	u->runs = runs;
	u->count = ownership_fold(runs, n);
	*used += n;
	rows[0].used = true;
}

/* All units that a list names */
static int take_named_units(const struct rows *from, struct ownership_run *runs,
			    struct ownership_unit **ret, size_t *ret_count)
{
	struct ownership_unit *units = calloc(from->count + 1, sizeof(*units));
	size_t used = 0, count = 0;

	if (!units)
		return -ENOMEM;
	for (size_t i = 0, len; i < from->count; i += len) {
		len = row_group_len(from->at, from->count, i);
		units[count].id = from->at[i].id;
		put_unit(runs, &units[count++], &from->at[i], len, &used);
	}
	*ret = units;
	*ret_count = count;
	return 0;
}

/* The first row of an id; NULL: it has none */
static struct row *first_of(struct row *rows, size_t n, struct str id)
{
	struct row key = {.id = id};
	size_t lo = 0, hi = n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (compare_rows(&rows[mid], &key) < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < n && compare_rows(&rows[lo], &key) == 0 ? &rows[lo] : NULL;
}

static int take_asked(struct ownership_answer *a, const struct rows *from,
		      const struct str *ids, size_t count, struct err *err)
{
	size_t used = 0, n = from->count;

	a->units = calloc(count + 1, sizeof(*a->units));
	if (!a->units)
		return err_set(err, -ENOMEM, "out of memory");
	a->count = count;
	for (size_t i = 0; i < count; i++) {
		struct row *first = first_of(from->at, n, ids[i]);

		a->units[i].id = ids[i];
		if (!first)
			continue;
		if (first->used)
			return refuse_answer(err, "an id was asked for twice");
		put_unit(a->runs, &a->units[i], first,
			 row_group_len(from->at, n, (size_t)(first - from->at)), &used);
	}
	return used == n ? 0
			 : refuse_answer(err, "it has units that were not asked for");
}

/* Room for the runs of a list, which is sorted. NULL: out of memory. */
static struct ownership_run *sort_rows(struct rows *list)
{
	if (!are_rows_sorted(list->at, list->count))
		qsort(list->at, list->count, sizeof(*list->at), compare_rows);
	return calloc(list->count + 2, sizeof(struct ownership_run));
}

static int take_answer(struct ownership_answer *a, struct answer_reading *r,
		       const struct str *ids, size_t count, const char *latest_of,
		       struct err *err)
{
	bool latest =
		latest_of && r->latest.at && r->user.p && str_eq(r->user, latest_of);
	int rc = 0;

	a->role = r->role;
	a->runs = sort_rows(&r->units);
	if (!a->runs)
		return err_set(err, -ENOMEM, "out of memory");
	if (ids)
		rc = take_asked(a, &r->units, ids, count, err);
	else if (take_named_units(&r->units, a->runs, &a->units, &a->count))
		rc = err_set(err, -ENOMEM, "out of memory");
	if (rc || !latest)
		return rc;
	a->latest_runs = sort_rows(&r->latest);
	if (!a->latest_runs ||
	    take_named_units(&r->latest, a->latest_runs, &a->latest, &a->latest_count))
		rc = err_set(err, -ENOMEM, "out of memory");
	return rc;
}

int ownership_answer_read(struct buf *text, const struct str *ids, size_t count,
			  const char *latest_of, struct ownership_answer *ret,
			  struct err *err)
{
	struct ownership_answer a = {.role = OWNERSHIP_USER};
	struct answer_reading r = {.has_data = false};
	int rc;

	if (text->len > OWNERSHIP_ANSWER_BYTES_MAX)
		return refuse_answer(err, "too long");
	json_reader_init(&r.json, text->data ? text->data : "", text->len, err);
	rc = read_text(&r);
	if (rc)
		rc = err_prefix(err, rc == -ENOMEM ? rc : -EBADMSG,
				"the aggregator's answer");
	else
		rc = take_answer(&a, &r, ids, count, latest_of, err);
	free(r.units.at);
	free(r.latest.at);
	if (rc) {
		ownership_answer_done(&a);
		return rc;
	}
	a.text = *text;
	*text = (struct buf){.max = text->max};
	*ret = a;
	return 0;
}

void ownership_answer_done(struct ownership_answer *a)
{
	free(a->units);
	free(a->runs);
	free(a->latest);
	free(a->latest_runs);
	buf_done(&a->text);
	*a = (struct ownership_answer){.role = OWNERSHIP_USER};
}
