/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parses job ids as people write them. */
#include "cli/cacct/jobsel.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/parse.h"

static int refuse_job_id(struct err *err, const char *text, size_t len)
{
	return err_set(err, -EINVAL,
		       "Bad job/step specified: %.*s (such as 12, 12_3, 12_[1-4], 12+1 "
		       "or 12.batch)",
		       (int)(len < 60 ? len : 60), text);
}

static int add_selected_job(struct jobsel *s, const struct jobsel_one *one,
			    struct err *err)
{
	if (s->count == JOBSEL_MAX)
		return err_set(err, -EFBIG, "more than %d jobs are named", JOBSEL_MAX);
	struct jobsel_one *p = reallocarray(s->one, s->count + 1, sizeof(*p));
	if (!p)
		return err_set(err, -ENOMEM, "out of memory");
	s->one = p;
	s->one[s->count++] = *one;
	return 0;
}

static bool parse_job_number(const char *text, size_t len, int64_t *ret)
{
	uint64_t v;

	if (parse_u64_len(text, len, &v) < 0 || v > UINT32_MAX)
		return false;
	*ret = (int64_t)v;
	return true;
}

/* "[1-4,7]" or "3"; each task is one selection */
static int add_tasks(struct jobsel *s, struct jobsel_one *one, const char *text,
		     size_t len, struct err *err)
{
	const char *p = text, *end = text + len;

	if (len >= 2 && *p == '[' && end[-1] == ']') {
		p++;
		end--;
	}
	while (p < end) {
		size_t n = strcspn(p, ",");
		if (p + n > end)
			n = (size_t)(end - p);
		const char *dash = memchr(p, '-', n);
		size_t first_len = dash ? (size_t)(dash - p) : n;
		int64_t first, last;
		if (!parse_job_number(p, first_len, &first) ||
		    !(dash ? parse_job_number(dash + 1, n - first_len - 1, &last)
			   : parse_job_number(p, n, &last)) ||
		    last < first)
			return refuse_job_id(err, text, len);
		for (int64_t i = first; i <= last; i++) {
			one->task = i;
			int rc = add_selected_job(s, one, err);
			if (rc < 0)
				return rc;
		}
		p += n + (p + n < end);
	}
	return 0;
}

static int parse_one(struct jobsel *s, const char *text, size_t len, struct err *err)
{
	struct jobsel_one one = {.task = -1, .offset = -1};
	size_t digits = strspn(text, "0123456789");
	const char *p = text + digits, *end = text + len;

	if (digits >= len ||
	    !digits) { /* a number alone, or an id of another manager */
		if (len >= sizeof(one.job) || memchr(text, '[', len) ||
		    strcspn(text, "0123456789") >= len)
			return refuse_job_id(err, text, len);
		memcpy(one.job, text, len);
		return add_selected_job(s, &one, err);
	}
	if (digits >= sizeof(one.job))
		return refuse_job_id(err, text, len);
	memcpy(one.job, text, digits);
	const char *dot = memchr(p, '.', (size_t)(end - p));
	if (dot) {
		size_t n = (size_t)(end - dot - 1);
		if (!n || n >= sizeof(one.step))
			return refuse_job_id(err, text, len);
		memcpy(one.step, dot + 1, n);
		end = dot;
	}
	if (p == end)
		return add_selected_job(s, &one, err);
	if (*p == '_')
		return p + 1 < end
			       ? add_tasks(s, &one, p + 1, (size_t)(end - p - 1), err)
			       : refuse_job_id(err, text, len);
	if (*p == '+' && parse_job_number(p + 1, (size_t)(end - p - 1), &one.offset))
		return add_selected_job(s, &one, err);
	/* a uuid that begins with digits */
	if (dot || *p == '+' || len >= sizeof(one.job))
		return refuse_job_id(err, text, len);
	memcpy(one.job, text, len);
	return add_selected_job(s, &one, err);
}

int jobsel_parse(const char *text, struct jobsel *ret, struct err *err)
{
	while (*text) {
		size_t len = 0;
		int depth = 0;
		while (text[len] && (text[len] != ',' || depth)) {
			depth += (text[len] == '[') - (text[len] == ']');
			len++;
		}
		int rc = len ? parse_one(ret, text, len, err) : 0;
		if (rc < 0)
			return rc;
		text += len + (text[len] == ',');
	}
	return 0;
}

void jobsel_done(struct jobsel *s)
{
	free(s->one);
	memset(s, 0, sizeof(*s));
}

static bool is_number(double v, const char *text)
{
	char own[32];

	if (isnan(v))
		return false;
	(void)snprintf(own, sizeof(own), "%.0f", v);
	return strcmp(own, text) == 0;
}

static bool is_meant(const struct jobsel_one *one, const struct unit *u)
{
	const char *raw = u->text[UNIT_UUID];
	bool is_raw = raw && strcmp(raw, one->job) == 0;

	if (one->task >= 0)
		return is_number(u->number[UNIT_ARRAY_JOB], one->job) &&
		       u->number[UNIT_ARRAY_TASK] == (double)one->task;
	if (one->offset >= 0)
		return is_number(u->number[UNIT_HET_JOB], one->job) &&
		       u->number[UNIT_HET_OFFSET] == (double)one->offset;
	return is_raw || is_number(u->number[UNIT_ARRAY_JOB], one->job) ||
	       is_number(u->number[UNIT_HET_JOB], one->job);
}

size_t jobsel_first(const struct jobsel *s, const struct unit *u)
{
	size_t i = 0;

	while (i < s->count && !is_meant(&s->one[i], u))
		i++;
	return i;
}

bool jobsel_has(const struct jobsel *s, const struct unit *u)
{
	return !s->count || jobsel_first(s, u) < s->count;
}

bool jobsel_has_whole(const struct jobsel *s, const struct unit *u)
{
	for (size_t i = 0; i < s->count; i++)
		if (!s->one[i].step[0] && is_meant(&s->one[i], u))
			return true;
	return !s->count;
}

bool jobsel_has_step(const struct jobsel *s, const struct unit *of,
		     const struct unit *step)
{
	const char *dot = strrchr(step->id, '.');

	for (size_t i = 0; dot && i < s->count; i++)
		if (s->one[i].step[0] && strcmp(dot + 1, s->one[i].step) == 0 &&
		    is_meant(&s->one[i], of))
			return true;
	return false;
}

bool jobsel_names_steps(const struct jobsel *s, const struct unit *of)
{
	for (size_t i = 0; i < s->count; i++)
		if (s->one[i].step[0] && is_meant(&s->one[i], of))
			return true;
	return false;
}
