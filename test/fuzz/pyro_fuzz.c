/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Any bytes as a request to Pyroscope; the first says which call and in which form.
 * What is accepted is proved for a caller who owns all, and written; that is accepted
 * and written the same. */
#include <stdlib.h>
#include <string.h>

#include "lb/pyroscope/pyro_request.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool ok)
{
	if (!ok)
		abort();
}

static const struct access_family families[] = {{"*", "service_name", false}};
static const struct access_policy policy = {
	.families = families, .family_count = 1, .inject_max = 1, .narrow_max = 1};

/* 0: it was written to *out */
static int through(const struct protocol_input *in, struct call *out)
{
	const struct protocol *p = &protocol_pyroscope;
	const struct str mine = {"mine", 4};
	struct access_plan *plan = NULL;
	void *request = NULL;
	size_t count;
	struct err err;
	int rc = p->read(in, &request, &err);

	must(!access_plan_new(&policy, &plan));
	rc = rc ? rc : p->prove(request, &policy, plan, &err);
	if (!rc) {
		struct access_claim *claims = access_claims(plan, &count);

		for (size_t i = 0; i < count; i++)
			claims[i].answer = ACCESS_OWN;
		for (struct access_unconstrained *g = access_unconstrained_first(plan);
		     g && !rc; g = g->next)
			rc = access_fill(g, &mine, 1, &err);
	}
	rc = rc ? rc : access_decide(plan, &err);
	if (!rc)
		must(!p->write(request, out, &err));
	access_plan_free(plan);
	p->free(request);
	return rc;
}

static void done(struct call *c)
{
	buf_done(&c->target);
	buf_done(&c->body);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const types[] = {"application/proto", "application/json",
					    "application/grpc-web",
					    "application/grpc-web+json"};
	struct protocol_input in = {.now_ms = 1700000000000};
	struct call first = {0}, second = {0};
	const struct pyro_call *call;
	char *text;

	if (!size)
		return 0;
	call = &pyro_calls[(data[0] >> 4) % pyro_call_count];
	in.path = call->path;
	in.post = call->way == PYRO_RPC && (data[0] & 7) != 7;
	in.dialect = data[0] & 8 ? PROMQL_NEWEST : PROMQL_2;
	text = strndup((const char *)data + 1, size - 1);
	must(text != NULL);
	if (in.post) {
		in.content_type = types[data[0] & 3];
		in.content_encoding = data[0] & 4 ? "gzip" : NULL;
		in.body = data + 1;
		in.body_len = size - 1;
	} else {
		in.query = text;
	}
	if (!through(&in, &first)) {
		char *query = strchr(first.target.data, '?');

		if (query)
			*query++ = '\0';
		must(!strcmp(first.target.data, in.path));
		in.query = query;
		in.post = !first.get;
		in.content_type = first.content_type;
		in.content_encoding = NULL;
		in.body = first.body.data;
		in.body_len = first.body.len;
		if (first.body.len < PYRO_BODY_MAX) {
			must(!through(&in, &second));
			must(first.body.len == second.body.len);
			must(!first.body.len ||
			     !memcmp(first.body.data, second.body.data,
				     first.body.len));
			query = strchr(second.target.data, '?');
			must(!in.query == !query);
			must(!query || !strcmp(query + 1, in.query));
		}
	}
	done(&first);
	done(&second);
	free(text);
	return 0;
}
