/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rows may come in any order, and several for one id: they are sorted before anything
 * is believed of them, so that no run of an id is overlooked. */
#include "lb/owned_answer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/cleanup.h"
#include "lib/http/json.h"

struct row {
	struct str id;
	struct owned_run run;
	bool used;
};

static int compare(const void *a, const void *b)
{
	const struct row *x = a, *y = b;
	uint32_t n = x->id.len < y->id.len ? x->id.len : y->id.len;
	int d = memcmp(x->id.p, y->id.p, n);

	return d ? d : (x->id.len > y->id.len) - (x->id.len < y->id.len);
}

static int bad(struct err *err, const char *what)
{
	return err_set(err, -EBADMSG, "the aggregator's answer: %s", what);
}

static bool whole_number(struct json_object *j, int64_t *ret)
{
	if (!json_object_is_type(j, json_type_int))
		return false;
	*ret = json_object_get_int64(j);
	return true;
}

static int read_row(struct json_object *j, struct row *ret, struct err *err)
{
	struct json_object *id, *own, *to;
	int64_t t;

	if (!json_object_is_type(j, json_type_array) || json_object_array_length(j) < 4)
		return bad(err, "a row is not one");
	id = json_object_array_get_idx(j, 0);
	to = json_object_array_get_idx(j, 2);
	own = json_object_array_get_idx(j, 3);
	ret->run.to_ms = INT64_MAX;
	if (!json_object_is_type(id, json_type_string) ||
	    !whole_number(json_object_array_get_idx(j, 1), &ret->run.from_ms) ||
	    (to && !whole_number(to, &ret->run.to_ms)) ||
	    !json_object_is_type(own, json_type_boolean))
		return bad(err, "a row is not one");
	ret->id = (struct str){json_object_get_string(id),
			       (uint32_t)json_object_get_string_len(id)};
	ret->run.own = json_object_get_boolean(own);
	if (ret->run.to_ms < ret->run.from_ms) {
		t = ret->run.to_ms;
		ret->run.to_ms = ret->run.from_ms;
		ret->run.from_ms = t;
	}
	return 0;
}

/* As they mostly come: then nothing is to be done. */
static bool sorted(const struct row *rows, size_t n)
{
	for (size_t i = 1; i < n; i++)
		if (compare(&rows[i - 1], &rows[i]) > 0)
			return false;
	return true;
}

static int read_rows(struct json_object *units, struct row **ret, size_t *ret_count,
		     struct err *err)
{
	size_t n;
	auto_free struct row *rows = NULL;

	if (!json_object_is_type(units, json_type_array))
		return bad(err, "it has no units");
	n = json_object_array_length(units);
	if (n > OWNED_ROWS_MAX)
		return bad(err, "too many runs");
	rows = calloc(n + 1, sizeof(*rows));
	if (!rows)
		return err_set(err, -ENOMEM, "out of memory");
	for (size_t i = 0; i < n; i++) {
		int rc = read_row(json_object_array_get_idx(units, i), &rows[i], err);

		if (rc)
			return rc;
	}
	if (!sorted(rows, n))
		qsort(rows, n, sizeof(*rows), compare);
	*ret = steal_ptr(&rows);
	*ret_count = n;
	return 0;
}

static size_t group_len(const struct row *rows, size_t n, size_t i)
{
	size_t k = i + 1;

	while (k < n && compare(&rows[i], &rows[k]) == 0)
		k++;
	return k - i;
}

/* Runs of one id behind those that are there */
static void put_unit(struct owned_answer *a, struct owned_unit *u, struct row *rows,
		     size_t n, size_t *used)
{
	struct owned_run *runs = a->runs + *used;

	for (size_t i = 0; i < n; i++)
		runs[i] = rows[i].run;
	u->runs = runs;
	u->count = owned_fold(runs, n);
	*used += n;
	rows[0].used = true;
}

static int take_all(struct owned_answer *a, struct row *rows, size_t n)
{
	size_t used = 0;

	a->units = calloc(n + 1, sizeof(*a->units));
	if (!a->units)
		return -ENOMEM;
	for (size_t i = 0, len; i < n; i += len) {
		len = group_len(rows, n, i);
		a->units[a->count].id = rows[i].id;
		put_unit(a, &a->units[a->count++], &rows[i], len, &used);
	}
	return 0;
}

/* The first row of an id; NULL: it has none */
static struct row *first_of(struct row *rows, size_t n, struct str id)
{
	struct row key = {.id = id};
	size_t lo = 0, hi = n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (compare(&rows[mid], &key) < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < n && compare(&rows[lo], &key) == 0 ? &rows[lo] : NULL;
}

static int take_asked(struct owned_answer *a, struct row *rows, size_t n,
		      const struct str *ids, size_t count, struct err *err)
{
	size_t used = 0;

	a->units = calloc(count + 1, sizeof(*a->units));
	if (!a->units)
		return err_set(err, -ENOMEM, "out of memory");
	a->count = count;
	for (size_t i = 0; i < count; i++) {
		struct row *first = first_of(rows, n, ids[i]);

		a->units[i].id = ids[i];
		if (!first)
			continue;
		if (first->used)
			return bad(err, "an id was asked for twice");
		put_unit(a, &a->units[i], first,
			 group_len(rows, n, (size_t)(first - rows)), &used);
	}
	return used == n ? 0 : bad(err, "it is about units that nobody asked for");
}

static int read_role(struct json_object *one, enum owned_role *ret, struct err *err)
{
	static const char *const names[] = {"user", "operator", "admin"};
	struct json_object *role = NULL;

	if (!json_object_object_get_ex(one, "role", &role) ||
	    !json_object_is_type(role, json_type_string))
		return bad(err, "it has no role");
	for (unsigned i = 0; i < 3; i++)
		if (!strcmp(json_object_get_string(role), names[i])) {
			*ret = (enum owned_role)i;
			return 0;
		}
	return bad(err, "a role that is not known");
}

static int read_all(struct owned_answer *a, const struct str *ids, size_t count,
		    struct err *err)
{
	struct json_object *status = NULL, *data = NULL, *one = NULL, *units = NULL;
	auto_free struct row *rows = NULL;
	size_t n = 0;
	int rc;

	if (!json_object_object_get_ex(a->text, "status", &status) ||
	    !json_object_is_type(status, json_type_string) ||
	    strcmp(json_object_get_string(status), "success") != 0 ||
	    !json_object_object_get_ex(a->text, "data", &data) ||
	    !json_object_is_type(data, json_type_array) ||
	    json_object_array_length(data) != 1)
		return bad(err, "not one");
	one = json_object_array_get_idx(data, 0);
	if (!json_object_is_type(one, json_type_object))
		return bad(err, "not one");
	rc = read_role(one, &a->role, err);
	if (rc)
		return rc;
	json_object_object_get_ex(one, "units", &units);
	rc = read_rows(units, &rows, &n, err);
	if (rc)
		return rc;
	a->runs = calloc(n + 2, sizeof(*a->runs));
	if (!a->runs)
		return err_set(err, -ENOMEM, "out of memory");
	if (ids)
		return take_asked(a, rows, n, ids, count, err);
	rc = take_all(a, rows, n);
	return rc ? err_set(err, rc, "out of memory") : 0;
}

int owned_answer_read(const char *text, size_t len, const struct str *ids, size_t count,
		      struct owned_answer *ret, struct err *err)
{
	const struct http_json_limits limits = {
		.bytes_max = OWNED_ANSWER_BYTES_MAX, .depth_max = 8, .strict = true};
	struct owned_answer a = {.role = OWNED_USER};
	int rc = http_json_object(text, len, &limits, &a.text, err);

	if (rc)
		return err_prefix(err, rc, "the aggregator's answer");
	rc = read_all(&a, ids, count, err);
	if (rc) {
		owned_answer_done(&a);
		return rc;
	}
	*ret = a;
	return 0;
}

void owned_answer_done(struct owned_answer *a)
{
	free(a->units);
	free(a->runs);
	if (a->text)
		json_object_put(a->text);
	*a = (struct owned_answer){.role = OWNED_USER};
}
