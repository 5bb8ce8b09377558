/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Prometheus' HTTP API for the gate: provable calls by lb/promql/prom_request.h, and
 * calls for roles, which are parsed as forms and written anew. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "lb/gate/protocol.h"
#include "lb/promql/form.h"
#include "lb/promql/prom_request.h"
#include "lib/cleanup.h"

#define FORM_TYPE "application/x-www-form-urlencoded"

struct prom_thing {
	struct prom_request *known; /* NULL: a role's call */
	char path[64];
	struct form form;
	char cluster[128];
	bool timeless, touches;
	int64_t from_ms, to_ms;
};

/* Read-only calls that show everybody's data. */
static const char *const role_paths[] = {
	"/api/v1/metadata",
	"/api/v1/rules",
	"/api/v1/alerts",
	"/api/v1/alertmanagers",
	"/api/v1/targets",
	"/api/v1/targets/metadata",
	"/api/v1/status/config",
	"/api/v1/status/flags",
	"/api/v1/status/runtimeinfo",
	"/api/v1/status/tsdb",
	"/api/v1/status/walreplay",
	"/federate",
};

static bool is_role_path(const char *path)
{
	for (size_t i = 0; i < sizeof(role_paths) / sizeof(role_paths[0]); i++)
		if (!strcmp(role_paths[i], path))
			return true;
	return false;
}

static enum protocol_verdict prom_verdict(const char *path, bool post)
{
	if (is_role_path(path))
		return post ? PROTOCOL_CLOSED : PROTOCOL_ROLE;
	if (!prom_request_knows(path))
		return PROTOCOL_CLOSED;
	if (!strcmp(path, "/api/v1/status/buildinfo"))
		return post ? PROTOCOL_CLOSED : PROTOCOL_PUBLIC;
	if (!strcmp(path, "/api/v1/format_query") ||
	    !strcmp(path, "/api/v1/parse_query"))
		return PROTOCOL_PUBLIC; /* only formats text */
	if (post && !strncmp(path, "/api/v1/label/", 14))
		return PROTOCOL_CLOSED;
	return PROTOCOL_PROVE;
}

static void free_prom_thing(void *request)
{
	struct prom_thing *t = request;

	if (!t)
		return;
	prom_request_free(t->known);
	form_done(&t->form);
	free(t);
}

/* "application/x-www-form-urlencoded", with or without parameters */
static bool is_form(const char *type)
{
	size_t n = strlen(FORM_TYPE);

	return type && !strncasecmp(type, FORM_TYPE, n) &&
	       (!type[n] || type[n] == ';' || type[n] == ' ');
}

static int check_body(const struct protocol_input *in, struct err *err)
{
	if (in->content_encoding && strcasecmp(in->content_encoding, "identity") != 0)
		return err_set(
			err, -EOPNOTSUPP,
			"a compressed body is not accepted: send it uncompressed");
	if (in->body_len && !in->post)
		return err_set(err, -EINVAL, "a GET must not have a body");
	if (in->body_len && !is_form(in->content_type))
		return err_set(err, -EOPNOTSUPP,
			       "parameters in a body must be " FORM_TYPE);
	return 0;
}

static int read_role_call(const struct protocol_input *in, struct prom_thing *t,
			  struct err *err)
{
	const char *query = in->query ? in->query : "";
	int n = snprintf(t->path, sizeof(t->path), "%s", in->path);

	if (in->post || in->body_len || n >= (int)sizeof(t->path))
		return err_set(err, -EINVAL, "%s: use GET", in->path);
	if (strlen(query) > PROM_BODY_MAX)
		return err_set(err, -E2BIG, "more than %u bytes of parameters",
			       PROM_BODY_MAX);
	return form_read(query, strlen(query), &t->form, err);
}

static int prom_read(const struct protocol_input *in, void **ret, struct err *err)
{
	struct prom_thing *t;
	int rc = check_body(in, err);

	if (rc)
		return rc;
	t = calloc(1, sizeof(*t));
	if (!t)
		return err_set(err, -ENOMEM, "out of memory");
	if (is_role_path(in->path)) {
		rc = read_role_call(in, t, err);
	} else {
		rc = prom_request_read(in->path, in->query, in->body, in->body_len,
				       in->dialect, in->now_ms, &t->known, err);
		t->timeless = !rc && !t->known->when.of_now;
	}
	if (rc) {
		free_prom_thing(t);
		return rc;
	}
	*ret = t;
	return 0;
}

static int prom_cluster(const void *request, const char *label, const char **ret,
			struct err *err)
{
	struct prom_thing *t = (struct prom_thing *)request;
	size_t count = t->known ? t->known->query_count : 0;
	bool found = false;

	for (size_t i = 0; i < count; i++)
		for (struct promql_node *n = promql_selectors(t->known->queries[i]); n;
		     n = n->next_selector)
			for (struct promql_matcher *m = n->matchers; m; m = m->next) {
				if (m->match != MATCH_EQUAL || !str_eq(m->name, label))
					continue;
				if (m->value.len >= sizeof(t->cluster) ||
				    (m->value.len &&
				     memchr(m->value.p, 0, m->value.len)) ||
				    (found && !str_eq(m->value, t->cluster)))
					return err_set(
						err, -EINVAL,
						"%s must name exactly one cluster",
						label);
				memcpy(t->cluster, m->value.p, m->value.len);
				t->cluster[m->value.len] = '\0';
				found = true;
			}
	*ret = t->cluster;
	return found;
}

static bool takes_matches(const struct prom_request *r)
{
	return r->call == PROM_SERIES || r->call == PROM_LABELS ||
	       r->call == PROM_LABEL_VALUES;
}

/* A role's request for labels without a selector: narrowed to the cluster only. */
static int match_all(struct prom_request *r, struct err *err)
{
	static const char text[] = "{__name__!=\"\"}";
	int rc = promql_parse_selector(text, sizeof(text) - 1, PROMQL_2, NULL,
				       &r->queries[0], err);

	r->query_count = rc ? 0 : 1;
	return rc;
}

static int prom_prove(void *request, const struct access_policy *policy,
		      struct access_plan *plan, struct err *err)
{
	struct prom_thing *t = request;
	struct prom_request *r = t->known;
	int rc = 0;

	if (!r)
		return policy->open
			       ? 0
			       : err_set(err, -EACCES, "%s is for operators and admins",
					 t->path);
	if (policy->open && takes_matches(r) && !r->query_count && policy->cluster)
		rc = match_all(r, err);
	if (rc || (policy->open && takes_matches(r) && !r->query_count))
		return rc;
	rc = prom_request_prove(r, policy, plan, err);
	t->touches = !rc && access_span(plan, &t->from_ms, &t->to_ms);
	return rc;
}

static int write_role(struct prom_thing *t, struct call *ret)
{
	auto_buf struct buf form = BUF_INIT;

	for (size_t i = 0; i < t->form.count; i++)
		form_put(&form, t->form.fields[i].name, t->form.fields[i].value.p,
			 t->form.fields[i].value.len);
	ret->get = true;
	buf_puts(&ret->target, t->path);
	if (form.len) {
		buf_putc(&ret->target, '?');
		buf_put(&ret->target, form.data, form.len);
	}
	return buf_error(&form) ?: buf_error(&ret->target);
}

static int prom_write(void *request, struct call *ret, struct err *err)
{
	struct prom_thing *t = request;
	int rc;

	ret->from_ms = t->touches ? t->from_ms : INT64_MIN;
	ret->to_ms = t->touches ? t->to_ms : INT64_MAX;
	ret->timeless = t->timeless;
	if (!t->known) {
		rc = write_role(t, ret);
		return rc ? err_set(err, rc, "out of memory") : 0;
	}
	ret->accept = "application/json";
	ret->get = prom_request_is_get(t->known);
	buf_puts(&ret->target, t->known->path);
	if (ret->get) {
		auto_buf struct buf form = BUF_INIT;

		ret->times_at = prom_request_form(t->known, &form);
		if (form.len) {
			buf_putc(&ret->target, '?');
			ret->times_at += ret->target.len;
			buf_put(&ret->target, form.data, form.len);
		}
		rc = buf_error(&form);
	} else {
		ret->content_type = FORM_TYPE;
		ret->times_at = prom_request_form(t->known, &ret->body);
		rc = buf_error(&ret->body);
	}
	rc = rc ? rc : buf_error(&ret->target);
	return rc ? err_set(err, rc, "out of memory") : 0;
}

static bool prom_times(const struct protocol_input *in, struct buf *key,
		       struct protocol_times *ret)
{
	size_t query_len = in->query ? strlen(in->query) : 0;
	struct prom_times t;

	if ((query_len && in->body_len) ||
	    !prom_times_split(in->path, in->body_len ? in->body : in->query,
			      in->body_len ? in->body_len : query_len, in->now_ms, key,
			      &t))
		return false;
	ret->start_ms = t.start_ms;
	ret->end_ms = t.end_ms;
	_Static_assert(sizeof(ret->text) == PROM_TIMES_BYTES, "of each of three times");
	prom_times_text(&t, ret->text);
	return true;
}

static int prom_answer(void *request, struct buf *out, const char **type,
		       struct err *err)
{
	(void)request;
	(void)out;
	(void)type;
	return err_set(err, -EACCES, "this request needs a backend");
}

/* pkg/api: web/api/v1/api.go, errorType and its statuses */
static const char *error_type(unsigned status)
{
	switch (status) {
	case 401:
		return "unauthorized";
	case 403:
		return "forbidden";
	case 404:
		return "not_found";
	case 422:
		return "execution";
	case 429:
	case 502:
	case 503:
		return "unavailable";
	case 504:
		return "timeout";
	default:
		return status >= 500 ? "internal" : "bad_data";
	}
}

static void prom_refuse(const struct protocol_input *in, unsigned status,
			const char *text, struct buf *out, const char **type)
{
	(void)in;
	buf_printf(out, "{\"status\":\"error\",\"errorType\":\"%s\",\"error\":",
		   error_type(status));
	buf_put_json(out, text, strlen(text));
	buf_puts(out, "}\n");
	*type = "application/json";
}

const struct protocol protocol_prometheus = {
	.name = "prometheus",
	.verdict = prom_verdict,
	.read = prom_read,
	.free = free_prom_thing,
	.cluster = prom_cluster,
	.prove = prom_prove,
	.write = prom_write,
	.times = prom_times,
	.answer = prom_answer,
	.refuse = prom_refuse,
};
