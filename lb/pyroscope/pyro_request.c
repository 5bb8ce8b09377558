/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Requests to Pyroscope: decoded, with their selectors and times extracted. */
#include "lb/pyroscope/pyro_request.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lb/promql/form.h"

#define TYPE_BYTES_MAX 256u
#define STEP_MAX_S 1e9

/* ---- one selector ---------------------------------------------------------------- */

int pyro_check_type(struct str id, struct err *err)
{
	unsigned colons = 0;
	bool plain = id.len <= TYPE_BYTES_MAX;

	for (uint32_t i = 0; i < id.len && plain; i++) {
		char c = id.p[i], low = (char)(c | 32);

		colons += c == ':';
		plain = (low >= 'a' && low <= 'z') || (c >= '0' && c <= '9') ||
			(c && strchr(":_-./", c));
	}
	if (plain && (colons == 4 || colons == 5))
		return 0;
	return err_set(err, -EINVAL,
		       "profile type \"%.*s\": must be <name>:<type>:<unit>:<period "
		       "type>:<period unit>",
		       id.len < 100 ? (int)id.len : 100, id.p);
}

/* Whether it is "{}" or empty: selects everything */
static bool selects_all(struct str text)
{
	unsigned open = 0, close = 0;

	for (uint32_t i = 0; i < text.len; i++) {
		char c = text.p[i];

		if (c == '{' && !open && !close)
			open++;
		else if (c == '}' && open && !close)
			close++;
		else if (c != ' ' && c != '\t' && c != '\n' && c != '\r')
			return false;
	}
	return open == close;
}

int pyro_request_add(struct pyro_request *r, struct str text, struct str type,
		     struct pyro_selector **ret, struct err *err)
{
	static const char any[] =
		"{a=\"a\"}"; /* placeholder until its matcher is removed */
	const struct promql_limits limits = {.steps = &r->steps};
	struct pyro_selector *s = &r->selectors[r->count];
	bool all = selects_all(text);
	int rc = 0;

	if (r->count == PYRO_SELECTORS_MAX)
		return err_set(err, -E2BIG, "more than %u selectors",
			       PYRO_SELECTORS_MAX);
	if (type.len)
		rc = pyro_check_type(type, err);
	if (all)
		text = (struct str){any, sizeof(any) - 1};
	rc = rc ? rc
		: promql_parse_selector(text.p, text.len, r->dialect, &limits,
					&s->query, err);
	if (rc)
		return rc;
	if (all)
		promql_root(s->query)->matchers = NULL;
	s->type = type;
	s->narrow = all && r->call->labels;
	r->count++;
	*ret = s;
	return 0;
}

/* ---- the selectors of a message -------------------------------------------------- */

static int64_t integer_of(const struct pyro_message *m, enum pyro_role role)
{
	const struct pyro_value *v = pyro_find(m, role);

	return v ? v->integer : 0;
}

/* The time range that is read. Labels without times: any. */
static int times_of(const struct pyro_request *r, const struct pyro_message *m,
		    int64_t *ret_from, int64_t *ret_to, struct err *err)
{
	int64_t from = integer_of(m, PYRO_FROM), to = integer_of(m, PYRO_TO);
	const struct pyro_value *step = pyro_find(m, PYRO_STEP);

	if (from < 0 || to < 0 || from > PYRO_TIME_MAX_MS || to > PYRO_TIME_MAX_MS)
		return err_set(err, -EINVAL,
			       "start and end are milliseconds since "
			       "1970");
	if (r->call->labels && (!from || !to)) {
		*ret_from = 0;
		*ret_to = PYRO_TIME_MAX_MS;
		return 0;
	}
	if (to < from)
		return err_set(err, -EINVAL, "the end is before the start");
	if (r->call->labels) {
		from -= PYRO_LABELS_SLACK_MS;
		to += PYRO_LABELS_SLACK_MS;
	}
	if (pyro_field_of(m->type, PYRO_STEP)) {
		if (!step || !(step->number > 0 && step->number <= STEP_MAX_S))
			return err_set(err, -EINVAL,
				       "step must be a number of seconds above 0");
		from -= (int64_t)ceil(step->number * 1000);
	}
	*ret_from = from;
	*ret_to = to;
	return 0;
}

/* A request for another request's result cannot be proved. */
static int no_handles(const struct pyro_message *m, struct err *err)
{
	for (const struct pyro_value *v = m->values; v; v = v->next) {
		int rc = 0;

		if (v->field->kind == PYRO_MESSAGE)
			rc = no_handles(v->message, err);
		else if (v->field->role == PYRO_HANDLE && v->string.len)
			rc = err_set(err, -EACCES,
				     "answers to earlier requests are not available "
				     "here: ask without \"%s\"",
				     v->field->name);
		if (rc)
			return rc;
	}
	return 0;
}

/* A request for labels without a selector, or for profiles with none, is for
 * everything. */
static int some_selector(struct pyro_request *r, struct pyro_message *m,
			 struct err *err)
{
	struct pyro_value *v;
	int rc;

	if (pyro_find(m, PYRO_SELECTOR))
		return 0;
	rc = pyro_add(&r->arena, m, pyro_field_of(m->type, PYRO_SELECTOR), &v, err);
	if (!rc)
		v->string = (struct str){"", 0};
	return rc;
}

/* A message with selectors, and its times */
static int take_message_query(struct pyro_request *r, struct pyro_message *m,
			      struct err *err)
{
	const struct pyro_value *type = pyro_find(m, PYRO_TYPE);
	struct str id = type ? type->string : (struct str){"", 0};
	int64_t from_ms = 0, to_ms = 0;
	int rc = times_of(r, m, &from_ms, &to_ms, err);

	if (!rc && pyro_field_of(m->type, PYRO_TYPE))
		rc = pyro_check_type(id, err);
	rc = rc ? rc : some_selector(r, m, err);
	for (struct pyro_value *v = m->values; v && !rc; v = v->next) {
		struct pyro_selector *s;

		if (v->field->role != PYRO_SELECTOR)
			continue;
		rc = pyro_request_add(r, v->string, id, &s, err);
		if (rc)
			break;
		s->value = v;
		s->from_ms = from_ms;
		s->to_ms = to_ms;
	}
	return rc;
}

/* Both sides of a Diff, each of which is a query. */
static int take_sides(struct pyro_request *r, struct err *err)
{
	const struct pyro_value *v = r->message->values;
	int rc = 0;

	if (!v || !v->next)
		return err_set(err, -EINVAL, "a diff needs a left and a right side");
	for (; v && !rc; v = v->next)
		rc = take_message_query(r, v->message, err);
	return rc;
}

static int read_rpc(struct pyro_request *r, const struct protocol_input *in,
		    struct err *err)
{
	const struct pyro_type *type = r->call->type;
	auto_buf struct buf message = BUF_INIT;
	int rc = pyro_body_read(in, &r->form, &message, err);

	if (rc)
		return rc;
	r->steps = steps_for(message.len);
	r->arena.steps = &r->steps;
	if (r->form.json)
		rc = pyro_read_json(&r->arena, type, message.data, message.len,
				    &r->message, err);
	else
		rc = pyro_read_proto(&r->arena, type, message.data, message.len,
				     &r->message, err);
	rc = rc ? rc : no_handles(r->message, err);
	if (rc)
		return rc;
	if (pyro_field_of(type, PYRO_SELECTOR))
		return take_message_query(r, r->message, err);
	return type == &pyro_diff ? take_sides(r, err) : 0;
}

int pyro_request_read(const struct protocol_input *in, struct pyro_request **ret,
		      struct err *err)
{
	const struct pyro_call *call = pyro_call_of(in->path);
	struct pyro_request *r;
	int rc;

	if (!call)
		return err_set(err, -EACCES, "%.100s is not served here", in->path);
	r = calloc(1, sizeof(*r));
	if (!r)
		return err_set(err, -ENOMEM, "out of memory");
	r->call = call;
	r->now_ms = in->now_ms;
	r->steps = steps_for((in->query ? strlen(in->query) : 0) + in->body_len);
	r->dialect = in->dialect;
	rc = call->way == PYRO_RPC ? read_rpc(r, in, err)
				   : pyro_render_read(r, in, err);
	if (rc) {
		pyro_request_free(r);
		return rc;
	}
	*ret = r;
	return 0;
}

void pyro_request_free(struct pyro_request *r)
{
	if (!r)
		return;
	for (size_t i = 0; i < r->count; i++)
		promql_free(r->selectors[i].query);
	pyro_arena_done(&r->arena);
	buf_done(&r->parameters);
	free(r);
}
