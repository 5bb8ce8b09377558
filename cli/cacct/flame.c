/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads a flame graph, and sums it by function. */
#include "cli/cacct/flame.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/http/json.h"

enum { BAR_OFFSET, BAR_TOTAL, BAR_SELF, BAR_NAME, BAR_FIELDS };

static int bad_flame(struct err *err, const char *why)
{
	return err_set(err, -EBADMSG, "the profile store's answer is none: %s", why);
}

void flame_done(struct flame *f)
{
	if (!f)
		return;
	free(f->names);
	free(f->bars);
	json_object_put(f->answer);
	*f = (struct flame){.answer = NULL};
}

/* ---- reading --------------------------------------------------------------------- */

static int take_names(struct flame *f, struct json_object *list, struct err *err)
{
	size_t n = list ? json_object_array_length(list) : 0;

	if (n == 0 || n > FLAME_NAMES_MAX)
		return bad_flame(err, "no names, or too many");
	f->names = calloc(n, sizeof(*f->names));
	if (!f->names)
		return err_set(err, -ENOMEM, "out of memory");
	for (size_t i = 0; i < n; i++) {
		struct json_object *o = json_object_array_get_idx(list, i);
		if (!json_object_is_type(o, json_type_string))
			return bad_flame(err, "a name is no text");
		f->names[i] = json_object_get_string(o);
	}
	f->name_count = n;
	return 0;
}

static bool read_bar_number(struct json_object *level, size_t i, uint64_t *ret)
{
	struct json_object *o = json_object_array_get_idx(level, i);

	if (!json_object_is_type(o, json_type_int) || json_object_get_int64(o) < 0)
		return false;
	*ret = (uint64_t)json_object_get_int64(o);
	return true;
}

/* The parent is the bar of the level above that x is in: bars are in order, so the next
 * one is never before it. -1: there is none. */
static ssize_t find_parent(const struct flame *f, const struct flame_bar *b,
			   size_t *from, size_t to)
{
	if (b->level == 0)
		return (ssize_t)f->bar_count;
	while (*from < to && f->bars[*from].x + f->bars[*from].total <= b->x)
		++*from;
	if (*from == to || b->x < f->bars[*from].x ||
	    b->total > f->bars[*from].x + f->bars[*from].total - b->x)
		return -1;
	return (ssize_t)*from;
}

static int take_level(struct flame *f, struct json_object *level, size_t above,
		      struct err *err)
{
	size_t n = json_object_array_length(level), to = f->bar_count;
	uint64_t x = 0;

	if (n % BAR_FIELDS || f->bar_count + n / BAR_FIELDS > FLAME_BARS_MAX)
		return bad_flame(err, "a level is too long");
	for (size_t i = 0; i < n; i += BAR_FIELDS) {
		struct flame_bar b = {.level = (uint32_t)f->level_count};
		uint64_t offset, name;
		if (!read_bar_number(level, i + BAR_OFFSET, &offset) ||
		    !read_bar_number(level, i + BAR_TOTAL, &b.total) ||
		    !read_bar_number(level, i + BAR_SELF, &b.self) ||
		    !read_bar_number(level, i + BAR_NAME, &name) ||
		    name >= f->name_count || b.self > b.total ||
		    offset > INT64_MAX - x || b.total > INT64_MAX - x - offset)
			return bad_flame(err, "a bar is none");
		b.x = x + offset;
		b.name = (uint32_t)name;
		x = b.x + b.total;
		ssize_t parent = find_parent(f, &b, &above, to);
		if (parent < 0)
			return bad_flame(err, "a bar is above none");
		b.parent = (uint32_t)parent;
		f->bars[f->bar_count++] = b;
	}
	f->level_count++;
	return 0;
}

static int take_levels(struct flame *f, struct json_object *levels, struct err *err)
{
	size_t n = levels ? json_object_array_length(levels) : 0, above = 0;

	if (n > FLAME_LEVELS_MAX)
		return bad_flame(err, "too many levels");
	f->bars = calloc(FLAME_BARS_MAX, sizeof(*f->bars));
	if (!f->bars)
		return err_set(err, -ENOMEM, "out of memory");
	for (size_t i = 0; i < n; i++) {
		struct json_object *level = json_object_array_get_idx(levels, i);
		size_t begin = f->bar_count;
		if (!json_object_is_type(level, json_type_array))
			return bad_flame(err, "a level is none");
		int rc = take_level(f, level, above, err);
		if (rc < 0)
			return rc;
		above = begin;
	}
	return 0;
}

static int take_flamebearer(struct flame *f, struct err *err)
{
	struct json_object *bearer =
		http_json_get(f->answer, "flamebearer", json_type_object);
	struct json_object *meta =
		http_json_get(f->answer, "metadata", json_type_object);
	uint64_t rate = 0;

	if (!bearer)
		return bad_flame(err, "no flamebearer");
	int rc = take_names(f, http_json_get(bearer, "names", json_type_array), err);
	if (rc == 0)
		rc = take_levels(f, http_json_get(bearer, "levels", json_type_array),
				 err);
	if (rc < 0)
		return rc;
	f->ticks = f->bar_count ? f->bars[0].total : 0;
	/* Pyroscope's rate means nothing where it names a unit */
	const char *units = meta ? http_json_text(meta, "units") : NULL;
	if (units && strcmp(units, "nanoseconds") == 0)
		f->tick_s = 1e-9;
	else if (meta &&
		 http_json_u64(meta, "sampleRate", UINT64_MAX / 2, &rate) == 0 && rate)
		f->tick_s = 1.0 / (double)rate;
	return 0;
}

int flame_take(struct json_object *answer, struct flame *ret, struct err *err)
{
	struct flame f = {.answer = answer};
	int rc = take_flamebearer(&f, err);

	if (rc < 0)
		flame_done(&f);
	else
		*ret = f;
	return rc;
}

/* ---- by function ----------------------------------------------------------------- */

static bool is_in_itself(const struct flame *f, const struct flame_bar *b)
{
	const struct flame_bar *p = b;

	for (size_t i = 0; i < FLAME_LEVELS_MAX && p->level > 0; i++) {
		p = &f->bars[p->parent];
		if (p->name == b->name && p->level > 0)
			return true;
	}
	return false;
}

static int by_self(const void *a, const void *b)
{
	const struct flame_function *x = a, *y = b;

	if (x->self != y->self)
		return x->self > y->self ? -1 : 1;
	if (x->total != y->total)
		return x->total > y->total ? -1 : 1;
	return strcmp(x->name, y->name);
}

int flame_functions(const struct flame *f, struct flame_function **ret,
		    size_t *ret_count)
{
	struct flame_function *all = calloc(f->name_count + 1, sizeof(*all));
	size_t n = 0;

	if (!all)
		return -ENOMEM;
	for (size_t i = 0; i < f->name_count; i++)
		all[i].name = f->names[i];
	for (size_t i = 0; i < f->bar_count; i++) {
		const struct flame_bar *b = &f->bars[i];
		if (b->level == 0) /* all of it together */
			continue;
		all[b->name].self += b->self;
		if (!is_in_itself(f, b))
			all[b->name].total += b->total;
	}
	for (size_t i = 0; i < f->name_count; i++) {
		if (all[i].total)
			all[n++] = all[i];
	}
	qsort(all, n, sizeof(*all), by_self);
	*ret = all;
	*ret_count = n;
	return 0;
}
