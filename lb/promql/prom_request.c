/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Requests to Prometheus, parsed strictly and written anew. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lb/promql/form.h"
#include "lb/promql/prom_request.h"
#include "lib/parse.h"
#include "lib/rfc3339.h"

/* Prometheus' own defaults for missing times (web/api/v1: minTime and maxTime are
 * further out, but nothing was ever recorded there) */
#define TIME_FIRST_MS 0ll
#define TIME_LAST_MS 253402300799000ll /* 9999-12-31 */

/* Labels and series are answered from all of each block, or day's index, that overlaps
 * the time range. Blocks are at most 31 days long (Prometheus:
 * storage.tsdb.max-block-duration; Thanos: 14 days; VictoriaMetrics: a day). */
#define BLOCK_MS (31ll * 24 * 3600 * 1000)

#define LABELS_PREFIX "/api/v1/label/"
#define VALUES_SUFFIX "/values"

enum takes {
	TAKES_QUERY = 1,    /* query, required */
	TAKES_MATCHES = 2,  /* match[] */
	TAKES_INSTANT = 4,  /* time */
	TAKES_RANGE = 8,    /* start and end, required, and step */
	TAKES_SPAN = 16,    /* start and end */
	TAKES_TIMEOUT = 32, /* and stats */
	TAKES_LIMIT = 64,
	IS_GET = 128,
};

static const struct prom_call_row {
	const char *path;
	unsigned takes;
} calls[PROM_CALLS] = {
	[PROM_QUERY] = {"/api/v1/query",
			TAKES_QUERY | TAKES_INSTANT | TAKES_TIMEOUT | TAKES_LIMIT},
	[PROM_QUERY_RANGE] = {"/api/v1/query_range",
			      TAKES_QUERY | TAKES_RANGE | TAKES_TIMEOUT | TAKES_LIMIT},
	[PROM_QUERY_EXEMPLARS] = {"/api/v1/query_exemplars", TAKES_QUERY | TAKES_SPAN},
	[PROM_SERIES] = {"/api/v1/series", TAKES_MATCHES | TAKES_SPAN | TAKES_LIMIT},
	[PROM_LABELS] = {"/api/v1/labels", TAKES_MATCHES | TAKES_SPAN | TAKES_LIMIT},
	[PROM_LABEL_VALUES] = {NULL, TAKES_MATCHES | TAKES_SPAN | TAKES_LIMIT | IS_GET},
	[PROM_FORMAT_QUERY] = {"/api/v1/format_query", TAKES_QUERY},
	[PROM_PARSE_QUERY] = {"/api/v1/parse_query", TAKES_QUERY},
	[PROM_BUILDINFO] = {"/api/v1/status/buildinfo", IS_GET},
};

/* The label of /api/v1/label/NAME/values; len 0: it is another path */
static struct str label_of(const char *path)
{
	size_t n = strlen(path), prefix = strlen(LABELS_PREFIX),
	       suffix = strlen(VALUES_SUFFIX);
	struct str label = {path + prefix, 0};

	if (n <= prefix + suffix || strncmp(path, LABELS_PREFIX, prefix) != 0 ||
	    strcmp(path + n - suffix, VALUES_SUFFIX) != 0)
		return label;
	label.len = (uint32_t)(n - prefix - suffix);
	for (uint32_t i = 0; i < label.len; i++) {
		char c = label.p[i];

		if (!((c >= '0' && c <= '9' && i) || (c >= 'a' && c <= 'z') ||
		      (c >= 'A' && c <= 'Z') || c == '_'))
			label.len = 0;
	}
	if (label.len > PROM_LABEL_MAX)
		label.len = 0;
	return label;
}

static int find_prom_call(const char *path, enum prom_call *ret)
{
	for (unsigned i = 0; i < PROM_CALLS; i++)
		if (calls[i].path && !strcmp(calls[i].path, path)) {
			*ret = (enum prom_call)i;
			return 0;
		}
	if (!label_of(path).len)
		return -EACCES;
	*ret = PROM_LABEL_VALUES;
	return 0;
}

bool prom_request_knows(const char *path)
{
	enum prom_call call;

	return find_prom_call(path, &call) == 0;
}

/* ---- values ---------------------------------------------------------------------- */

/* Unix seconds with a fraction, or RFC 3339 */
static int time_ms(const char *s, int64_t *ret)
{
	const char *dot = strchr(s, '.');
	char whole[40];
	uint64_t seconds;
	double v, fraction = 0;
	size_t digits;

	if (!parse_f64(s, &v)) {
		if (!(fabs(v) < 9e12))
			return -EINVAL;
		*ret = (int64_t)llround(v * 1000);
		return 0;
	}
	if (dot) { /* the fraction of RFC 3339 */
		digits = strspn(dot + 1, "0123456789");
		if (!digits || digits > 9)
			return -EINVAL;
		fraction = strtod(dot, NULL);
	}
	if (snprintf(whole, sizeof(whole), "%s", s) >= (int)sizeof(whole) ||
	    rfc3339_parse(whole, &seconds))
		return -EINVAL;
	*ret = (int64_t)seconds * 1000 + (int64_t)llround(fraction * 1000);
	return 0;
}

/* Seconds, or a duration; above 0 */
static int seconds_of(const char *s, double *ret)
{
	uint64_t ms;

	if (!parse_f64(s, ret))
		return *ret > 0 && *ret < 1e10 ? 0 : -EINVAL;
	if (parse_duration_ms(s, &ms) || !ms || ms > 10000000000000ull)
		return -EINVAL;
	*ret = (double)ms / 1000;
	return 0;
}

static int refuse_prom_value(const char *name, struct str v, struct err *err)
{
	return err_set(err, -EINVAL, "invalid parameter \"%s\": %.*s", name,
		       v.len < 60 ? (int)v.len : 60, v.p);
}

/* Parses a time into *ret_ms; if missing, *ret_ms is unchanged. */
static int take_prom_time(const struct form *f, const char *name, int64_t *ret_ms,
			  struct err *err)
{
	struct str v;
	int rc = form_get(f, name, &v, err);

	if (rc <= 0)
		return rc;
	if (time_ms(v.p, ret_ms))
		return refuse_prom_value(name, v, err);
	return 1;
}

static int take_seconds(const struct form *f, const char *name, char text[32],
			int64_t *ret_ms, struct err *err)
{
	double seconds;
	struct str v;
	int rc = form_get(f, name, &v, err);

	if (rc <= 0)
		return rc;
	if (seconds_of(v.p, &seconds))
		return refuse_prom_value(name, v, err);
	snprintf(text, 32, "%.3f", seconds);
	if (ret_ms)
		*ret_ms = llround(seconds * 1000);
	return 1;
}

static int take_limit(const struct form *f, char text[24], struct err *err)
{
	uint64_t n;
	struct str v;
	int rc = form_get(f, "limit", &v, err);

	if (rc <= 0)
		return rc;
	if (parse_u64(v.p, &n))
		return refuse_prom_value("limit", v, err);
	snprintf(text, 24, "%llu", (unsigned long long)n);
	return 1;
}

/* ---- reading --------------------------------------------------------------------- */

static int add_query(struct prom_request *r, struct str text, bool selector,
		     enum promql_dialect dialect, struct err *err)
{
	const struct promql_limits limits = {.steps = &r->steps};

	if (r->query_count == PROM_MATCHES_MAX)
		return err_set(err, -E2BIG, "more than %u match[]", PROM_MATCHES_MAX);
	return (selector ? promql_parse_selector
			 : promql_parse)(text.p, text.len, dialect, &limits,
					 &r->queries[r->query_count], err)
		       ?: (r->query_count++, 0);
}

static int take_prom_query(struct prom_request *r, const struct form *f,
			   enum promql_dialect dialect, struct err *err)
{
	struct str text;
	int rc = form_get(f, "query", &text, err);

	if (rc < 0)
		return rc;
	if (!rc)
		return err_set(err, -EINVAL, "parameter \"query\" is missing");
	return add_query(r, text, false, dialect, err);
}

static int take_matches(struct prom_request *r, const struct form *f,
			enum promql_dialect dialect, struct err *err)
{
	for (size_t i = 0; i < f->count; i++) {
		int rc;

		if (strcmp(f->fields[i].name, "match[]") != 0)
			continue;
		rc = add_query(r, f->fields[i].value, true, dialect, err);
		if (rc)
			return rc;
	}
	if (!r->query_count && r->call == PROM_SERIES)
		return err_set(err, -EINVAL, "no match[] parameter provided");
	return 0;
}

/* Defaults for times that are not given. */
static void times_begin(unsigned takes, int64_t now_ms, struct prom_times *ret)
{
	bool span = takes & (TAKES_RANGE | TAKES_SPAN);

	*ret = (struct prom_times){.start_ms = span ? TIME_FIRST_MS : now_ms,
				   .end_ms = span ? TIME_LAST_MS : now_ms};
}

/* start_ms is "time" for an instant query; the has_ members say which were given. */
static int times_end(unsigned takes, struct prom_times *t, struct err *err)
{
	if (takes & TAKES_INSTANT) {
		/* proved for now, so sent for now */
		t->of_now = !t->has_time;
		t->has_time = true;
		t->end_ms = t->start_ms;
	}
	if (takes & TAKES_RANGE && !(t->has_start && t->has_end))
		return err_set(err, -EINVAL, "parameter \"%s\" is missing",
			       t->has_start ? "end" : "start");
	if (t->end_ms < t->start_ms)
		return err_set(err, -EINVAL,
			       "end timestamp must not be before start time");
	return 0;
}

static int take_times(struct prom_request *r, const struct form *f, unsigned takes,
		      int64_t now_ms, struct err *err)
{
	struct prom_times *t = &r->when;
	int rc = 0, start, end;

	times_begin(takes, now_ms, t);
	if (takes & TAKES_INSTANT) {
		rc = take_prom_time(f, "time", &t->start_ms, err);
		t->has_time = rc > 0;
	} else if (takes & (TAKES_RANGE | TAKES_SPAN)) {
		start = take_prom_time(f, "start", &t->start_ms, err);
		end = start < 0 ? start : take_prom_time(f, "end", &t->end_ms, err);
		t->has_start = start > 0;
		t->has_end = end > 0;
		rc = end;
	}
	if (rc >= 0 && takes & TAKES_RANGE) {
		rc = take_seconds(f, "step", r->step, &r->step_ms, err);
		if (!rc)
			rc = err_set(err, -EINVAL, "parameter \"step\" is missing");
	}
	return rc < 0 ? rc : times_end(takes, t, err);
}

/* ---- times alone ----------------------------------------------------------------- */

struct query_field {
	const char *name, *value; /* value: behind "=", or the end */
	size_t name_len, value_len;
};

static inline bool is_parameter_named(const struct query_field *f, const char *name)
{
	size_t n = strlen(name);

	return f->name_len == n && memcmp(f->name, name, n) == 0;
}

/* Whether a name needs no decoding */
static bool is_plain_field_name(const struct query_field *f)
{
	for (size_t i = 0; i < f->name_len; i++) {
		char c = f->name[i];

		if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'))
			return is_parameter_named(f, "match[]") ||
			       is_parameter_named(f, "match%5B%5D");
	}
	return f->name_len > 0;
}

/* A time that is given once and plainly: up to twelve digits of seconds and three
 * decimals, for which time_ms() gives the same milliseconds. */
static bool split_time(const struct query_field *f, bool *has, int64_t *ret_ms)
{
	size_t i = 0, point = f->value_len;
	int64_t ms = 0;

	for (; i < f->value_len; i++) {
		char c = f->value[i];

		if (c == '.' && i && point == f->value_len)
			point = i;
		else if (c >= '0' && c <= '9' && i < (point < i ? point + 4 : 12))
			ms = ms * 10 + (c - '0');
		else
			return false;
	}
	if (*has || !i)
		return false;
	for (i -= point + (point < i); i < 3; i++)
		ms *= 10;
	*has = true;
	*ret_ms = ms;
	return true;
}

static bool split_field(const struct query_field *f, unsigned takes, struct buf *key,
			struct prom_times *t)
{
	if (!is_plain_field_name(f))
		return false;
	if (takes & TAKES_INSTANT && is_parameter_named(f, "time"))
		return split_time(f, &t->has_time, &t->start_ms);
	if (takes & (TAKES_RANGE | TAKES_SPAN) && is_parameter_named(f, "start"))
		return split_time(f, &t->has_start, &t->start_ms);
	if (takes & (TAKES_RANGE | TAKES_SPAN) && is_parameter_named(f, "end"))
		return split_time(f, &t->has_end, &t->end_ms);
	buf_put(key, f->name, (size_t)(f->value - f->name) + f->value_len);
	buf_putc(key, '&');
	return true;
}

bool prom_times_split(const char *path, const char *form, size_t len, int64_t now_ms,
		      struct buf *key, struct prom_times *ret)
{
	const char *p = form, *end = form + len;
	enum prom_call call;

	if (find_prom_call(path, &call))
		return false;
	times_begin(calls[call].takes, now_ms, ret);
	while (p < end) {
		const char *amp = memchr(p, '&', (size_t)(end - p));
		const char *stop = amp ? amp : end;
		const char *equals = memchr(p, '=', (size_t)(stop - p));
		struct query_field f = {.name = p,
					.name_len =
						(size_t)((equals ? equals : stop) - p),
					.value = equals ? equals + 1 : stop};

		f.value_len = (size_t)(stop - f.value);
		if (!split_field(&f, calls[call].takes, key, ret))
			return false;
		p = stop + 1;
	}
	buf_putc(key, ret->has_start ? 's' : '-');
	buf_putc(key, ret->has_end ? 'e' : '-');
	return times_end(calls[call].takes, ret, NULL) == 0;
}

/* ---- a whole request ------------------------------------------------------------- */

static int take_prom_parameters(struct prom_request *r, const struct form *f,
				enum promql_dialect dialect, int64_t now_ms,
				struct err *err)
{
	unsigned takes = calls[r->call].takes;
	struct str v;
	int rc = 0;

	/* it would let a query look back further than was proved */
	if (form_get(f, "lookback_delta", &v, err))
		return err_set(err, -EINVAL,
			       "parameter \"lookback_delta\" cannot be used here");
	if (takes & TAKES_QUERY)
		rc = take_prom_query(r, f, dialect, err);
	if (!rc && takes & TAKES_MATCHES)
		rc = take_matches(r, f, dialect, err);
	rc = rc ? rc : take_times(r, f, takes, now_ms, err);
	if (rc >= 0 && takes & TAKES_TIMEOUT) {
		rc = take_seconds(f, "timeout", r->timeout, NULL, err);
		if (rc >= 0)
			rc = form_get(f, "stats", &v, err);
		r->stats = rc > 0 && v.len;
	}
	if (rc >= 0 && takes & TAKES_LIMIT)
		rc = take_limit(f, r->limit, err);
	return rc < 0 ? rc : 0;
}

/* The call's fields are all in the URL or all in the body */
static int read_form(const char *query, const void *body, size_t body_len,
		     struct form *ret, struct err *err)
{
	size_t query_len = query ? strlen(query) : 0;

	if (query_len > PROM_BODY_MAX || body_len > PROM_BODY_MAX)
		return err_set(err, -E2BIG, "more than %u bytes of parameters",
			       PROM_BODY_MAX);
	if (query_len && body_len)
		return err_set(err, -EINVAL,
			       "parameters in the URL and in the body: use one");
	return form_read(body_len ? body
			 : query  ? query
				  : "",
			 body_len ? body_len : query_len, ret, err);
}

int prom_request_read(const char *path, const char *query, const void *body,
		      size_t body_len, enum promql_dialect dialect, int64_t now_ms,
		      struct prom_request **ret, struct err *err)
{
	auto_form struct form f = {0};
	struct prom_request *r;
	enum prom_call call;
	int rc = find_prom_call(path, &call);

	if (rc)
		return err_set(err, rc, "%.100s is not served here", path);
	rc = read_form(query, body, body_len, &f, err);
	if (rc)
		return rc;
	r = calloc(1, sizeof(*r));
	if (!r)
		return err_set(err, -ENOMEM, "out of memory");
	r->call = call;
	r->other = (unsigned)dialect & PROMQL_OTHER;
	r->steps = steps_for((query ? strlen(query) : 0) + body_len);
	snprintf(r->path, sizeof(r->path), "%s", path);
	rc = take_prom_parameters(r, &f, dialect, now_ms, err);
	if (rc) {
		prom_request_free(r);
		return rc;
	}
	*ret = r;
	return 0;
}

void prom_request_free(struct prom_request *r)
{
	if (!r)
		return;
	for (size_t i = 0; i < r->query_count; i++)
		promql_free(r->queries[i]);
	free(r);
}

/* ---- proving --------------------------------------------------------------------- */

/* A selector for each family of metrics, which the plan narrows */
static int prove_families(struct prom_request *r, const struct access_policy *policy,
			  struct access_plan *plan, struct err *err)
{
	int rc = 0;

	for (size_t i = 0; i < policy->family_count && !rc; i++) {
		auto_buf struct buf text = BUF_INIT;

		access_family_selector(&policy->families[i], &text);
		rc = buf_error(&text)
			     ?: add_query(r,
					  (struct str){text.data, (uint32_t)text.len},
					  true, PROMQL_2, err);
		if (rc)
			return rc;
		rc = access_plan_add_family(plan, r->queries[r->query_count - 1], i,
					    r->when.start_ms, r->when.end_ms, BLOCK_MS,
					    err);
		if (rc == -ENODATA) {
			promql_free(r->queries[--r->query_count]);
			rc = 0;
		}
	}
	if (!rc && !r->query_count)
		return err_set(err, -EACCES,
			       "none of the metrics named can be read here");
	return rc;
}

int prom_request_prove(struct prom_request *r, const struct access_policy *policy,
		       struct access_plan *plan, struct err *err)
{
	unsigned takes = calls[r->call].takes;

	if (r->other)
		access_plan_widen(plan, takes & TAKES_RANGE, r->step_ms);
	if (takes & TAKES_MATCHES && !r->query_count)
		return prove_families(r, policy, plan, err);
	if (r->call == PROM_FORMAT_QUERY || r->call == PROM_PARSE_QUERY)
		return 0; /* only formats text: nothing is read */
	for (size_t i = 0; i < r->query_count; i++) {
		int rc = takes & (TAKES_MATCHES | TAKES_SPAN)
				 ? 0
				 : promql_fix_durations(r->queries[i],
							r->when.end_ms -
								r->when.start_ms,
							r->step_ms, err);

		if (rc)
			return rc;
		rc = takes & (TAKES_MATCHES | TAKES_SPAN)
			     ? access_plan_add_selectors(
				       plan, r->queries[i], r->when.start_ms,
				       r->when.end_ms,
				       takes & TAKES_MATCHES ? BLOCK_MS : 0, err)
			     : access_plan_add(plan, r->queries[i], r->when.start_ms,
					       r->when.end_ms, err);

		if (rc)
			return rc;
	}
	return 0;
}

/* ---- writing --------------------------------------------------------------------- */

bool prom_request_is_get(const struct prom_request *r)
{
	return calls[r->call].takes & IS_GET;
}

static void put_prom_parameter(struct buf *out, const char *name, const char *value)
{
	if (value[0])
		form_put(out, name, value, strlen(value));
}

static char *put_prom_time(char *p, const char *name, int64_t ms)
{
	uint64_t n = ms < 0 ? 0 - (uint64_t)ms : (uint64_t)ms;
	char digits[24];
	size_t count = 0;

	memcpy(p, name, strlen(name));
	p += strlen(name);
	if (ms < 0)
		*p++ = '-';
	for (; n || count < 5; n /= 10) {
		digits[count++] = (char)('0' + n % 10);
		if (count == 3)
			digits[count++] = '.';
	}
	while (count)
		*p++ = digits[--count];
	*p = '\0';
	return p;
}

void prom_times_text(const struct prom_times *t, char ret[PROM_TIMES_BYTES])
{
	*ret = '\0';
	if (t->has_time)
		ret = put_prom_time(ret, "&time=", t->start_ms);
	if (t->has_start)
		ret = put_prom_time(ret, "&start=", t->start_ms);
	if (t->has_end)
		put_prom_time(ret, "&end=", t->end_ms);
}

size_t prom_request_form(const struct prom_request *r, struct buf *out)
{
	bool query = calls[r->call].takes & TAKES_QUERY;
	char times[PROM_TIMES_BYTES];
	size_t times_at;

	for (size_t i = 0; i < r->query_count; i++) {
		auto_buf struct buf text = BUF_INIT;

		promql_print(r->queries[i], &text);
		if (buf_error(&text)) {
			out->error = buf_error(&text);
			return 0;
		}
		form_put(out, query ? "query" : "match[]", text.data, text.len);
	}
	times_at = out->len;
	prom_times_text(&r->when, times);
	buf_puts(out, out->len || !*times ? times : times + 1);
	put_prom_parameter(out, "step", r->step);
	put_prom_parameter(out, "timeout", r->timeout);
	put_prom_parameter(out, "limit", r->limit);
	put_prom_parameter(out, "stats", r->stats ? "all" : "");
	return times_at;
}
