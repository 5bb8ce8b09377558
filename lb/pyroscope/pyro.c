/* SPDX-License-Identifier: GPL-2.0-or-later */
/* protocol_pyroscope: the gate's interface to Pyroscope requests. */
#include <errno.h>
#include <string.h>

#include "lb/gate/protocol.h"
#include "lb/pyroscope/pyro_request.h"

static enum protocol_verdict judge_path(const char *path, bool post)
{
	const struct pyro_call *c = pyro_call_of(path);

	if (!c || (post && c->way != PYRO_RPC))
		return PROTOCOL_CLOSED;
	return c->verdict;
}

static int read_pyro_request(const struct protocol_input *in, void **ret,
			     struct err *err)
{
	struct pyro_request *r;
	int rc = pyro_request_read(in, &r, err);

	if (!rc)
		*ret = r;
	return rc;
}

static void free_request(void *request)
{
	pyro_request_free(request);
}

/* NUL-terminated */
static const char *keep_name(struct promql *q, struct str s)
{
	auto_buf struct buf text = BUF_INIT;

	buf_put(&text, s.p, s.len);
	buf_putc(&text, '\0');
	return buf_error(&text) ? NULL : promql_keep(q, text.data, text.len);
}

static int find_pyro_cluster(const void *request, const char *label, const char **ret,
			     struct err *err)
{
	const struct pyro_request *r = request;
	const struct promql_matcher *first = NULL;
	struct promql *query = NULL;
	const char *name;

	for (size_t i = 0; i < r->count; i++) {
		struct promql *q = r->selectors[i].query;

		for (const struct promql_matcher *m = promql_root(q)->matchers; m;
		     m = m->next) {
			if (m->match != MATCH_EQUAL || !str_eq(m->name, label))
				continue;
			if (first && !str_same(first->value, m->value))
				return err_set(err, -EINVAL,
					       "%s names two clusters: ask for one",
					       label);
			first = m;
			query = q;
		}
	}
	if (!first)
		return 0;
	/* a name has no NUL */
	if (memchr(first->value.p, 0, first->value.len))
		return err_set(err, -EINVAL, "%s names no cluster", label);
	name = keep_name(query, first->value);
	*ret = name;
	return name ? 1 : err_set(err, -ENOMEM, "out of memory");
}

static int prove_pyro_request(void *request, const struct access_policy *policy,
			      struct access_plan *plan, struct err *err)
{
	struct pyro_request *r = request;
	int rc = 0;

	(void)policy;
	for (size_t i = 0; i < r->count && !rc; i++) {
		const struct pyro_selector *s = &r->selectors[i];

		rc = access_plan_add_profiles(plan, s->query, s->type, s->narrow,
					      s->from_ms, s->to_ms, err);
	}
	return rc;
}

/* ---- writing --------------------------------------------------------------------- */

/* Puts the narrowed selectors into the message */
static int put_selectors(struct pyro_request *r)
{
	for (size_t i = 0; i < r->count; i++) {
		auto_buf struct buf text = BUF_INIT;

		promql_print(r->selectors[i].query, &text);
		if (buf_error(&text) || pyro_keep(&r->arena, text.data, text.len,
						  &r->selectors[i].value->string))
			return -ENOMEM;
	}
	return 0;
}

static void put_request_message(const struct pyro_request *r, struct buf *out)
{
	auto_buf struct buf message = BUF_INIT;

	if (r->form.json)
		pyro_write_json(r->message, &message);
	else
		pyro_write_proto(r->message, &message);
	if (buf_error(&message))
		out->error = buf_error(&message);
	else
		pyro_body_write(&r->form, &message, out);
}

static void set_touched_range(const struct pyro_request *r, struct call *c)
{
	c->from_ms = INT64_MAX;
	c->to_ms = INT64_MIN;
	for (size_t i = 0; i < r->count; i++) {
		const struct pyro_selector *s = &r->selectors[i];

		c->from_ms = s->from_ms < c->from_ms ? s->from_ms : c->from_ms;
		c->to_ms = s->to_ms > c->to_ms ? s->to_ms : c->to_ms;
	}
	if (!r->count || c->to_ms >= PYRO_TIME_MAX_MS) {
		c->from_ms = INT64_MIN;
		c->to_ms = INT64_MAX;
	}
}

static int write_request(void *request, struct call *ret, struct err *err)
{
	struct pyro_request *r = request;
	int rc = 0;

	set_touched_range(r, ret);
	ret->get = r->call->way != PYRO_RPC;
	ret->timeless = !r->of_now;
	buf_puts(&ret->target, r->call->path);
	if (ret->get) {
		auto_buf struct buf query = BUF_INIT;

		pyro_render_write(r, &query);
		if (query.len)
			buf_putc(&ret->target, '?');
		buf_put(&ret->target, query.data, query.len);
		rc = buf_error(&query);
	} else {
		ret->content_type = r->form.content_type;
		rc = put_selectors(r);
		put_request_message(r, &ret->body);
	}
	rc = rc ? rc : buf_error(&ret->target);
	rc = rc ? rc : buf_error(&ret->body);
	return rc ? err_set(err, rc, "out of memory") : 0;
}

/* ---- answers without anybody's data ---------------------------------------------- */

/* types.v1.GetProfileStatsResponse: there may be profiles, up to now */
static int answer_profile_stats(void *request, struct buf *out, const char **type,
				struct err *err)
{
	enum { INGESTED, NEWEST };
	static const struct pyro_field fields[] = {
		[INGESTED] = {.number = 1,
			      .kind = PYRO_BOOL,
			      .name = "data_ingested",
			      .json = "dataIngested"},
		[NEWEST] = {.number = 3,
			    .kind = PYRO_INT64,
			    .name = "newest_profile_time",
			    .json = "newestProfileTime"},
	};
	static const struct pyro_type stats = {"types.v1.GetProfileStatsResponse",
					       fields, 2};
	struct pyro_request *r = request;
	struct pyro_message m = {.type = &stats};
	auto_buf struct buf message = BUF_INIT;
	struct pyro_value *v;
	int rc = pyro_add(&r->arena, &m, &fields[INGESTED], &v, err);

	if (rc)
		return rc;
	v->integer = true;
	rc = pyro_add(&r->arena, &m, &fields[NEWEST], &v, err);
	if (rc)
		return rc;
	v->integer = r->now_ms;
	if (r->form.json)
		pyro_write_json(&m, &message);
	else
		pyro_write_proto(&m, &message);
	pyro_body_answer(&r->form, &message, out);
	if (buf_error(&message) || buf_error(out))
		return err_set(err, -ENOMEM, "out of memory");
	*type = r->form.content_type;
	return 0;
}

const struct protocol protocol_pyroscope = {
	.name = "pyroscope",
	.verdict = judge_path,
	.read = read_pyro_request,
	.free = free_request,
	.cluster = find_pyro_cluster,
	.prove = prove_pyro_request,
	.write = write_request,
	.answer = answer_profile_stats,
	.refuse = pyro_body_refuse,
};
