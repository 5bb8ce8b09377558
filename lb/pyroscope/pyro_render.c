/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The calls of the first Pyroscope API, which today's server still answers: forms in
 * the URL. It parses times loosely (an invalid time means now); here they are parsed
 * strictly, and sent as whole seconds, which are never ambiguous. */
#include <errno.h>
#include <string.h>

#include "lb/promql/form.h"
#include "lb/pyroscope/pyro_request.h"
#include "lib/parse.h"

#define HOUR_S 3600
#define DAY_S 86400ll
#define SECONDS_MAX (PYRO_TIME_MAX_MS / 1000)

static int refuse_render_value(const char *name, struct str v, struct err *err)
{
	return err_set(err, -EINVAL, "invalid parameter \"%s\": %.*s", name,
		       v.len < 60 ? (int)v.len : 60, v.p);
}

/* Seconds, milli-, micro- or nanoseconds, depending on the number of digits. Eight
 * could be a date. */
static int64_t unix_seconds(const char *s, size_t digits)
{
	uint64_t n;

	if (digits == 8 || parse_u64(s, &n))
		return -1;
	n /= digits == 13   ? 1000u
	     : digits == 16 ? 1000000u
	     : digits == 19 ? 1000000000u
			    : 1u;
	return n > SECONDS_MAX ? -1 : (int64_t)n;
}

/* The duration after "now-": 90s, 5m, 5min, 1h, 7d, 2w, 1M, 1mon, 1y */
static int64_t parse_ago(const char *s)
{
	static const struct {
		const char *name;
		int64_t seconds;
	} units[] = {
		{"s", 1},          {"m", 60},           {"min", 60},
		{"h", HOUR_S},     {"d", DAY_S},        {"w", 7 * DAY_S},
		{"M", 30 * DAY_S}, {"mon", 30 * DAY_S}, {"y", 365 * DAY_S},
	};
	size_t digits = strspn(s, "0123456789");
	uint64_t n;

	if (!digits || digits > 9 || parse_u64_len(s, digits, &n))
		return -1;
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (!strcmp(s + digits, units[i].name))
			return (int64_t)n * units[i].seconds;
	return -1;
}

/* Seconds since the epoch; missing: unchanged */
static int take_render_time(struct pyro_request *r, const struct form *f,
			    const char *name, int64_t *ret, struct err *err)
{
	int64_t now_s = r->now_ms / 1000;
	static const char now[] = "now";
	int64_t t = -1, back;
	struct str v;
	int rc = form_get(f, name, &v, err);

	if (rc <= 0) {
		r->of_now |= !rc;
		return rc;
	}
	if (v.len && strspn(v.p, "0123456789") == v.len) {
		t = unix_seconds(v.p, v.len);
	} else if (!strncmp(v.p, now, sizeof(now) - 1)) {
		const char *rest = v.p + sizeof(now) - 1;

		r->of_now = true;
		back = !*rest ? 0 : *rest == '-' ? parse_ago(rest + 1) : -1;
		t = back < 0 || back > now_s ? -1 : now_s - back;
	}
	if (t < 0)
		return refuse_render_value(name, v, err);
	*ret = t;
	return 1;
}

/* Seconds as the server will parse them: eight digits would be a date. */
static int put_seconds(struct buf *out, const char *name, int64_t t, struct err *err)
{
	auto_buf struct buf text = BUF_INIT;

	buf_put_s64(&text, t);
	if (buf_error(&text))
		return err_set(err, -ENOMEM, "out of memory");
	if (text.len == 8)
		return err_set(err, -EINVAL, "parameter \"%s\" is too long ago", name);
	form_put(out, name, text.data, text.len);
	return 0;
}

struct names {
	const char *query, *from, *until;
};

/* One query with its times. Along with the flame graph the server makes a time series
 * whose points look back by their distance: at least 15 s and about 1/1500 of the
 * range, rounded up by a factor below 2. */
static int take_render_query(struct pyro_request *r, const struct form *f,
			     const struct names *n, struct err *err)
{
	int64_t now_s = r->now_ms / 1000, from = now_s - HOUR_S, until = now_s;
	struct pyro_selector *s;
	struct str text;
	int rc = form_get(f, n->query, &text, err);

	if (!rc)
		rc = err_set(err, -EINVAL, "parameter \"%s\" is missing", n->query);
	rc = rc < 0 ? rc : take_render_time(r, f, n->from, &from, err);
	rc = rc < 0 ? rc : take_render_time(r, f, n->until, &until, err);
	rc = rc < 0 ? rc : pyro_request_add(r, text, (struct str){NULL, 0}, &s, err);
	if (rc)
		return rc;
	s->parameter = n->query;
	s->type = promql_root(s->query)->name;
	if (!s->type.len)
		return err_set(err, -EINVAL,
			       "parameter \"%s\" must begin with the profile type",
			       n->query);
	rc = pyro_check_type(s->type, err);
	if (!rc && until < from)
		rc = err_set(err, -EINVAL, "the end is before the start");
	rc = rc ? rc : put_seconds(&r->parameters, n->from, from, err);
	rc = rc ? rc : put_seconds(&r->parameters, n->until, until, err);
	s->from_ms = (from - 60 - (until - from) / 500) * 1000;
	s->to_ms = until * 1000 + 999;
	return rc;
}

static bool one_of(struct str v, const char *const *values)
{
	for (; *values; values++)
		if (str_eq(v, *values))
			return true;
	return false;
}

/* Parameters for the form of the answer; others are dropped. */
static int take_looks(struct pyro_request *r, const struct form *f, struct err *err)
{
	static const char *const formats[] = {"json", "dot", NULL},
				 *const aggregations[] = {"sum", "avg", NULL},
				 *const numbers[] = {"max-nodes", "maxNodes", "limit"};
	struct str v;
	uint64_t n;
	int rc;

	rc = form_get(f, "format", &v, err);
	if (rc > 0 && one_of(v, formats))
		form_put(&r->parameters, "format", v.p, v.len);
	rc = rc < 0 ? rc : form_get(f, "aggregation", &v, err);
	if (rc > 0 && one_of(v, aggregations))
		form_put(&r->parameters, "aggregation", v.p, v.len);
	for (size_t i = 0; i < 3 && rc >= 0; i++) {
		rc = form_get(f, numbers[i], &v, err);
		if (rc > 0 && (parse_u64(v.p, &n) || v.len > 18))
			return refuse_render_value(numbers[i], v, err);
		if (rc > 0)
			form_put(&r->parameters, numbers[i], v.p, v.len);
	}
	for (size_t i = 0; i < f->count && rc >= 0; i++) {
		v = f->fields[i].value;
		if (strcmp(f->fields[i].name, "groupBy") != 0)
			continue;
		if (!utf8_is_text(v.p, v.len))
			return refuse_render_value("groupBy", v, err);
		form_put(&r->parameters, "groupBy", v.p, v.len);
	}
	return rc < 0 ? rc : 0;
}

static int take_label(struct pyro_request *r, const struct form *f, struct err *err)
{
	struct str v;
	int rc = form_get(f, "label", &v, err);

	if (rc < 0)
		return rc;
	if (!rc || !v.len || !utf8_is_text(v.p, v.len))
		return err_set(err, -EINVAL, "parameter \"label\" is missing");
	form_put(&r->parameters, "label", v.p, v.len);
	return 0;
}

int pyro_render_read(struct pyro_request *r, const struct protocol_input *in,
		     struct err *err)
{
	static const struct names one = {"query", "from", "until"},
				  left = {"leftQuery", "leftFrom", "leftUntil"},
				  right = {"rightQuery", "rightFrom", "rightUntil"};
	const char *query = in->query ?: "";
	auto_form struct form f = {0};
	int rc;

	if (in->post || in->body_len)
		return err_set(err, -EINVAL, "%.60s: use GET without a body", in->path);
	if (strlen(query) > PYRO_BODY_MAX)
		return err_set(err, -E2BIG, "more than %u bytes of parameters",
			       PYRO_BODY_MAX);
	rc = form_read(query, strlen(query), &f, err);
	if (rc)
		return rc;
	switch (r->call->way) {
	case PYRO_RENDER:
		rc = take_render_query(r, &f, &one, err);
		rc = rc ? rc : take_looks(r, &f, err);
		break;
	case PYRO_RENDER_DIFF:
		rc = take_render_query(r, &f, &left, err);
		rc = rc ? rc : take_render_query(r, &f, &right, err);
		rc = rc ? rc : take_looks(r, &f, err);
		break;
	case PYRO_LABEL:
		rc = take_label(r, &f, err);
		break;
	case PYRO_GET:
	case PYRO_RPC:
		break;
	}
	if (!rc && buf_error(&r->parameters))
		return err_set(err, -ENOMEM, "out of memory");
	return rc;
}

void pyro_render_write(const struct pyro_request *r, struct buf *out)
{
	for (size_t i = 0; i < r->count; i++) {
		auto_buf struct buf text = BUF_INIT;

		promql_print(r->selectors[i].query, &text);
		if (buf_error(&text)) {
			out->error = buf_error(&text);
			return;
		}
		form_put(out, r->selectors[i].parameter, text.data, text.len);
	}
	if (r->count && r->parameters.len)
		buf_putc(out, '&');
	buf_put(out, r->parameters.data, r->parameters.len);
}
