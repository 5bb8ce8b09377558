/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_TEST_PYRO_LAB_H
#define CEEMS_TEST_PYRO_LAB_H

/* Requests to Pyroscope, recorded or made up, through all steps of their protocol. */

#include "test/unit/unit.h"

#include <stdlib.h>
#include <string.h>

#include "lb/gate/protocol.h"
#include "lib/buf.h"
#include "lib/fs.h"

#define NOW_MS 1700003600500ll

/* What is made of a request. own: ids of the caller's, NULL-terminated. */
struct pyro_lab {
	int rc;           /* of the step that failed, 0 */
	struct err err;   /* its text */
	struct call call; /* what would be sent on */
	char claims[512]; /* "id from to;..." in the order found */
	unsigned gaps;
};

static const struct access_family lab_families[] = {{"*", "service_name", false}};

static inline void lab_done(struct pyro_lab *l)
{
	buf_done(&l->call.target);
	buf_done(&l->call.body);
	memset(l, 0, sizeof(*l));
}

static inline bool lab_owns(const char *const *own, struct str id)
{
	for (; *own; own++)
		if (str_eq(id, *own))
			return true;
	return false;
}

static inline void lab_answer(struct access_plan *plan, const char *const *own,
			      struct pyro_lab *l)
{
	size_t n, at = 0;
	struct access_claim *claims = access_claims(plan, &n);

	for (size_t i = 0; i < n; i++) {
		at += (size_t)snprintf(l->claims + at, sizeof(l->claims) - at,
				       "%.*s %lld %lld;", (int)claims[i].id.len,
				       claims[i].id.p, (long long)claims[i].from_ms,
				       (long long)claims[i].to_ms);
		claims[i].answer =
			lab_owns(own, claims[i].id) ? ACCESS_OWN : ACCESS_FOREIGN;
	}
}

static inline int lab_fill(struct access_plan *plan, const char *const *own,
			   struct pyro_lab *l)
{
	struct str ids[8];
	size_t n = 0;
	int rc = 0;

	for (; own[n]; n++)
		ids[n] = (struct str){own[n], (uint32_t)strlen(own[n])};
	for (struct access_unconstrained *g = access_unconstrained_first(plan);
	     g && !rc; g = g->next) {
		l->gaps++;
		rc = access_fill(g, ids, n, &l->err);
	}
	return rc;
}

static inline void lab_run(const struct protocol_input *in,
			   const struct access_policy *policy, const char *const *own,
			   struct pyro_lab *l)
{
	const struct protocol *p = &protocol_pyroscope;
	struct access_plan *plan = NULL;
	void *request = NULL;

	memset(l, 0, sizeof(*l));
	l->rc = p->read(in, &request, &l->err);
	assert_int_equal(access_plan_new(policy, &plan), 0);
	if (!l->rc && p->verdict(in->path, in->post) == PROTOCOL_PROVE)
		l->rc = p->prove(request, policy, plan, &l->err);
	if (!l->rc) {
		lab_answer(plan, own, l);
		l->rc = lab_fill(plan, own, l);
	}
	if (!l->rc)
		l->rc = access_decide(plan, &l->err);
	if (!l->rc)
		l->rc = p->write(request, &l->call, &l->err);
	access_plan_free(plan);
	p->free(request);
}

/* A request as test/pyroscope/main.go records it: method and target, headers, an empty
 * line, the body */
struct lab_record {
	char *text, *body;
	struct protocol_input in;
};

static inline char *lab_line(char **p)
{
	char *line = *p, *end = strchr(line, '\n');

	assert_non_null(end);
	*end = '\0';
	*p = end + 1;
	return line;
}

static inline void lab_load(const char *path, struct lab_record *r)
{
	FILE *f = fopen(path, "re");
	char *p, *line, *query;
	size_t n;

	memset(r, 0, sizeof(*r));
	if (!f)
		fail_msg("%s cannot be read", path);
	r->text = calloc(1, 1 << 16);
	assert_non_null(r->text);
	n = fread(r->text, 1, (1 << 16) - 1, f);
	fclose(f);
	p = r->text;
	line = lab_line(&p);
	r->in.post = !strncmp(line, "POST ", 5);
	line = strchr(line, ' ') + 1;
	query = strchr(line, '?');
	if (query)
		*query++ = '\0';
	r->in.path = line;
	r->in.query = query;
	while (*(line = lab_line(&p))) {
		if (!strncmp(line, "Content-Type: ", 14))
			r->in.content_type = line + 14;
		if (!strncmp(line, "Content-Encoding: ", 18))
			r->in.content_encoding = line + 18;
	}
	r->in.body = p;
	r->in.body_len = n - (size_t)(p - r->text);
	r->in.now_ms = NOW_MS;
}

static inline void lab_unload(struct lab_record *r)
{
	free(r->text);
}

#endif
