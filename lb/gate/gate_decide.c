/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Decides on a request: the cluster, the proof, and roles that need none. Each function
 * is one step and leaves what it cannot decide to the next. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lb/gate/gate_impl.h"
#include "lib/http/negotiate.h"
#include "lib/identity/role_entry.h"

#define LOOKS_MAX 3

static enum gate_step bad_request(struct gate_state *s, int rc)
{
	static const struct {
		int rc;
		enum gate_reason why;
		unsigned status;
	} table[] = {
		{-EINVAL, REASON_REQUEST, 400},     {-EACCES, REASON_CLOSED, 403},
		{-E2BIG, REASON_REQUEST, 413},      {-EFBIG, REASON_REQUEST, 413},
		{-EOPNOTSUPP, REASON_REQUEST, 415}, {-ERANGE, REASON_REQUEST, 400},
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		if (table[i].rc == rc)
			return gate_refuse(s, table[i].why, table[i].status, 0,
					   s->err.text);
	return gate_refuse(s, REASON_ERROR, 503, 1, "out of memory");
}

/* ---- roles ----------------------------------------------------------------------- */

/* A login without uid means the account of that name on this host, as with MUNGE; if
 * somebody else proved a uid, the login is not known to match. */
static bool is_listed_login(const char *const *names, size_t count,
			    const struct identity_who *who)
{
	for (size_t i = 0; i < count; i++) {
		enum role_match m = role_entry_match(names[i], strlen(names[i]), who);
		if (m == ROLE_MATCH_YES ||
		    (m == ROLE_MATCH_ACCOUNT && who->way == WAY_MUNGE))
			return true;
	}
	return false;
}

/* Raises the role to that of a list or of the aggregator; a user who is only named by a
 * front end has none. */
static void raise_role(struct gate_state *s, enum ownership_role role)
{
	if (role <= s->role)
		return;
	if (s->who.named)
		role_entry_withhold(&s->who);
	else
		s->role = role;
}

/* The role as far as it is known without asking. */
static void look_role(struct gate_state *s)
{
	const struct ownership_who who = gate_who(s);
	enum ownership_role role = OWNERSHIP_USER;

	if (is_listed_login(s->site->admins, s->site->admin_count, &s->who))
		raise_role(s, OWNERSHIP_ADMIN);
	s->role_known = s->role == OWNERSHIP_ADMIN ||
			ownership_look_role(s->g->ownership, &who, &role);
	raise_role(s, role);
	/* the aggregator may know more */
	if (is_listed_login(s->site->operators, s->site->operator_count, &s->who))
		raise_role(s, OWNERSHIP_OPERATOR);
}

/* Whether the role may read what cannot be proved. Calls that are not narrowed to the
 * cluster (calls for roles) show all clusters of a shared server. */
static bool reads_all(const struct gate_state *s, bool narrowed)
{
	if (s->site->open || s->role == OWNERSHIP_ADMIN)
		return true;
	return s->role == OWNERSHIP_OPERATOR && s->site->operators_read_all &&
	       (narrowed || !s->policy.cluster_label);
}

/* ---- cluster --------------------------------------------------------------------- */

static const struct site_cluster *first_with(const struct site *site,
					     enum site_protocol p)
{
	const struct site_cluster *c = site->clusters;

	for (size_t i = 0; c && i < site->cluster_count; i++, c++)
		if (c->backends[p])
			return c;
	return NULL;
}

static int read_in(struct gate_state *s, const struct site_cluster *c)
{
	struct gate_request *r = s->r;

	if (s->request)
		s->protocol->free(s->request);
	s->request = NULL;
	r->input.dialect = c && c->backends[r->protocol]
				   ? backend_set_dialect(c->backends[r->protocol])
				   : PROMQL_2;
	return s->protocol->read(&r->input, &s->request, &s->err);
}

static enum gate_step wrong_cluster(struct gate_state *s, const char *text)
{
	return gate_refuse(s, REASON_CLUSTER, 400, 0, text);
}

/* The cluster from the header, the query, or the only one. */
static enum gate_step read_cluster(struct gate_state *s)
{
	struct gate_request *r = s->r;
	const struct site_cluster *c = NULL, *named = NULL;
	const char *name = NULL;
	int rc;

	if (r->cluster_headers > 1)
		return wrong_cluster(s, "X-Ceems-Cluster-Id appears twice");
	if (r->cluster_headers) {
		c = site_cluster(s->site, r->cluster_header);
		if (!c) {
			err_set(&s->err, -EINVAL,
				"X-Ceems-Cluster-Id: no such cluster: %.64s (it must "
				"be the id of one of backends)",
				r->cluster_header);
			return wrong_cluster(s, s->err.text);
		}
	} else if (s->site->cluster_count == 1) {
		c = &s->site->clusters[0];
	}
	rc = read_in(s, c ? c : first_with(s->site, r->protocol));
	if (rc)
		return bad_request(s, rc);
	rc = s->protocol->cluster(s->request, GATE_CLUSTER_LABEL, &name, &s->err);
	if (rc < 0)
		return wrong_cluster(s, s->err.text);
	if (rc) {
		named = site_cluster(s->site, name);
		if (!named)
			return wrong_cluster(s, GATE_CLUSTER_LABEL ": no such cluster");
		if (c && c != named)
			return wrong_cluster(
				s, GATE_CLUSTER_LABEL
				" and X-Ceems-Cluster-Id name two clusters");
		if (!c)
			rc = read_in(s, named);
		if (rc < 0)
			return bad_request(s, rc);
		c = named;
	}
	if (!c)
		return wrong_cluster(
			s, "the request names no cluster: send the header "
			   "X-Ceems-Cluster-Id, or select by ceems_id in the query");
	if (!c->backends[r->protocol])
		return wrong_cluster(s, "this cluster has no such server");
	s->cluster = c;
	s->policy = c->policy[r->protocol];
	return STEP_READ;
}

/* ---- steps ----------------------------------------------------------------------- */

static enum gate_step check_limits(struct gate_state *s)
{
	const struct site_limits *l = &s->site->limits;
	const struct gate_rate rate = {.at_a_time = l->user_requests,
				       .per_s = l->user_rate,
				       .burst = l->user_burst};
	uint32_t wait_s;

	if (!s->r->login[0] || (!rate.at_a_time && !rate.per_s))
		return STEP_READ;
	switch (gate_limit_begin(s->g->limits, s->r->login, &rate, s->boot_ms,
				 &wait_s)) {
	case GATE_MAY:
		s->counted = true;
		return STEP_READ;
	case GATE_BUSY:
		return gate_refuse(s, REASON_BUSY, 429, wait_s,
				   "too many of your requests are under way: try again "
				   "when they are answered");
	case GATE_FAST:
		break;
	}
	return gate_refuse(s, REASON_RATE, 429, wait_s,
			   "too many requests from you in this second");
}

static enum gate_step call_of_role(struct gate_state *s)
{
	look_role(s);
	s->policy.open = true;
	if (reads_all(s, false)) {
		s->reason = s->site->open ? REASON_OPEN : REASON_ROLE;
		return STEP_WRITE;
	}
	s->refusal = REASON_NO_ROLE;
	s->refusal_status = 403;
	err_set(&s->err, 0, "%s is only for roles that the site has listed for it",
		s->r->input.path);
	return STEP_ROLE;
}

static enum gate_step read_call(struct gate_state *s)
{
	struct gate_request *r = s->r;
	enum protocol_verdict verdict;
	enum gate_step next = check_limits(s);

	if (next != STEP_READ)
		return next;
	r->call.gzip = negotiate_gzip(r->input.accept_encoding);
	if (gate_decision_find(s))
		return STEP_DONE;
	verdict = s->protocol->verdict(r->input.path, r->input.post);
	if (verdict == PROTOCOL_CLOSED) {
		err_set(&s->err, 0, "%.100s is not served here", r->input.path);
		return gate_refuse(s, REASON_CLOSED, 403, 0, s->err.text);
	}
	next = read_cluster(s);
	if (next != STEP_READ)
		return next;
	s->reason = s->site->open ? REASON_OPEN : REASON_PUBLIC;
	switch (verdict) {
	case PROTOCOL_ANSWER:
		r->status = 200;
		if (s->protocol->answer(s->request, &r->body, &r->body_type, &s->err))
			return gate_refuse(s, REASON_CLOSED, 403, 0, s->err.text);
		return STEP_DONE;
	case PROTOCOL_ROLE:
		return call_of_role(s);
	case PROTOCOL_PUBLIC:
		return STEP_WRITE;
	default:
		look_role(s);
		s->policy.open = reads_all(s, true);
		return STEP_PROVE;
	}
}

static enum gate_step prove_units(struct gate_state *s)
{
	int rc;

	access_plan_free(s->plan);
	s->plan = NULL;
	rc = access_plan_new(&s->policy, &s->plan);
	if (!rc)
		rc = s->protocol->prove(s->request, &s->policy, s->plan, &s->err);
	if (rc == -EACCES && !s->policy.open) {
		s->refusal = REASON_UNNAMED;
		s->refusal_status = 403;
		return STEP_ROLE;
	}
	if (rc == -E2BIG)
		return gate_refuse(s, REASON_MANY, 422, 0, s->err.text);
	if (rc)
		return bad_request(s, rc);
	if (s->policy.open)
		s->reason = s->site->open ? REASON_OPEN : REASON_ROLE;
	return s->policy.open ? STEP_DECIDE : STEP_OWN;
}

static void wake_request(void *arg)
{
	struct gate_state *s = arg;

	s->r->wake(s->r->arg);
}

static struct ownership_waiter *prepare_waiter(struct gate_state *s)
{
	s->waiter = (struct ownership_waiter){.wake = wake_request, .arg = s};
	ownership_question_unref(s->question);
	s->question = NULL;
	return &s->waiter;
}

static enum gate_step refuse_unasked(struct gate_state *s)
{
	return gate_refuse(s, REASON_NOBODY, 503, 5,
			   "the owners of these units are unknown for now: the "
			   "aggregator does not answer");
}

static enum gate_step look_up_owners(struct gate_state *s)
{
	const struct ownership_who who = gate_who(s);
	size_t count;
	struct access_claim *claims = access_claims(s->plan, &count);

	if (!count)
		return STEP_FILL;
	s->reason = REASON_OWN;
	if (!ownership_look(s->g->ownership, &who, claims, count))
		return STEP_FILL;
	if (ownership_ask_units(s->g->ownership, &who, claims, count, prepare_waiter(s),
				&s->question, &s->err))
		return refuse_unasked(s);
	return STEP_WAIT_OWNERS;
}

static enum gate_step owners_answered(struct gate_state *s)
{
	size_t count;
	struct access_claim *claims = access_claims(s->plan, &count);

	enum ownership_role role = s->role;
	int rc = ownership_answered(s->question, claims, count, &role, &s->err);

	/* look up what other requests brought meanwhile, but not for ever */
	if (rc < 0 || (rc > 0 && ++s->looks > LOOKS_MAX))
		return refuse_unasked(s);
	if (rc > 0) {
		look_role(s); /* the role came with the answer */
		return STEP_OWN;
	}
	raise_role(s, role);
	s->role_known = true;
	return STEP_FILL;
}

static struct access_unconstrained *next_unconstrained(struct gate_state *s)
{
	struct access_unconstrained *unconstrained =
		access_unconstrained_first(s->plan);

	while (unconstrained && !unconstrained->label)
		unconstrained = unconstrained->next;
	return unconstrained;
}

static enum gate_step constrain_selector(struct gate_state *s,
					 struct access_unconstrained *unconstrained,
					 const struct buf *text, size_t count)
{
	struct str *ids = calloc(count + 1, sizeof(*ids));
	const char *p = text->data;
	int rc;

	if (!ids)
		return bad_request(s, -ENOMEM);
	for (size_t i = 0; i < count; i++) {
		ids[i] = (struct str){p, (uint32_t)strlen(p)};
		p += ids[i].len + 1;
	}
	rc = access_fill(unconstrained, ids, count, &s->err);
	free(ids);
	if (rc == -E2BIG) {
		s->refusal = REASON_MANY;
		s->refusal_status = 422;
		return STEP_ROLE;
	}
	if (rc)
		return bad_request(s, rc);
	buf_reset(&s->key); /* next time more may be filled in */
	s->reason = REASON_OWN;
	return STEP_FILL;
}

static enum gate_step fill_selectors(struct gate_state *s)
{
	const struct ownership_who who = gate_who(s);
	struct access_unconstrained *unconstrained = next_unconstrained(s);
	auto_buf struct buf ids = BUF_INIT;
	size_t count = 0;
	int rc;

	if (!unconstrained)
		return STEP_DECIDE;
	rc = ownership_look_list(s->g->ownership, &who, unconstrained->from_ms,
				 unconstrained->to_ms, unconstrained->around_ms,
				 unconstrained->units_max, &ids, &count);
	if (rc > 0)
		return constrain_selector(s, unconstrained, &ids, count);
	if (ownership_ask_list(s->g->ownership, &who, unconstrained->from_ms,
			       unconstrained->to_ms, unconstrained->units_max,
			       prepare_waiter(s), &s->question, &s->err))
		return refuse_unasked(s);
	return STEP_WAIT_UNITS;
}

static enum gate_step units_answered(struct gate_state *s)
{
	struct access_unconstrained *unconstrained = next_unconstrained(s);
	auto_buf struct buf ids = BUF_INIT;
	size_t count = 0;

	if (ownership_answered_list(s->question, unconstrained->from_ms,
				    unconstrained->to_ms, unconstrained->around_ms,
				    &ids, &count, &s->err))
		return refuse_unasked(s);
	return constrain_selector(s, unconstrained, &ids, count);
}

static enum gate_step decide_claims(struct gate_state *s)
{
	size_t count;
	const struct access_claim *claims;
	int rc = access_decide(s->plan, &s->err);

	if (!rc)
		return STEP_WRITE;
	if (rc != -EACCES)
		return bad_request(s, -ENOMEM);
	claims = access_claims(s->plan, &count);
	s->refusal = REASON_FOREIGN;
	s->refusal_status = 403;
	while (count && claims->answer == ACCESS_OWN) {
		claims++;
		count--;
	}
	if (count && claims->answer == ACCESS_UNASKED)
		return refuse_unasked(s);
	if (count &&
	    (claims->answer == ACCESS_UNKNOWN || claims->answer == ACCESS_NO_ID))
		s->refusal = REASON_UNKNOWN;
	return STEP_ROLE;
}

/* Starts again without proof, from the original request. */
static enum gate_step open_request(struct gate_state *s)
{
	int rc;

	if (s->refusal == REASON_NO_ROLE) {
		s->reason = REASON_ROLE;
		return STEP_WRITE;
	}
	rc = read_in(s, s->cluster);
	if (rc)
		return bad_request(s, rc);
	s->policy.open = true;
	buf_reset(&s->key);
	return STEP_PROVE;
}

static enum gate_step refuse_all(struct gate_state *s)
{
	return gate_refuse(s, s->refusal, s->refusal_status, 0, s->err.text);
}

/* Refuses, unless a role that still has to be asked for allows it. */
static enum gate_step ask_role(struct gate_state *s)
{
	const struct ownership_who who = gate_who(s);
	struct err why = s->err;

	if (s->role_known)
		return reads_all(s, s->refusal != REASON_NO_ROLE) ? open_request(s)
								  : refuse_all(s);
	if (ownership_ask_units(s->g->ownership, &who, NULL, 0, prepare_waiter(s),
				&s->question, &s->err)) {
		s->err = why;
		return refuse_all(s);
	}
	return STEP_WAIT_ROLE;
}

static enum gate_step role_answered(struct gate_state *s)
{
	struct err why = s->err;
	enum ownership_role role = OWNERSHIP_USER;
	bool narrowed = s->refusal != REASON_NO_ROLE;

	if (!ownership_answered(s->question, NULL, 0, &role, &s->err))
		raise_role(s, role);
	s->role_known = true;
	s->err = why;
	return reads_all(s, narrowed) ? open_request(s) : refuse_all(s);
}

static enum gate_step write_call(struct gate_state *s)
{
	struct gate_request *r = s->r;

	if (s->protocol->write(s->request, &r->call, &s->err))
		return bad_request(s, -ENOMEM);
	r->cluster = s->cluster;
	r->site = site_ref(s->site);
	r->status = 0;
	gate_decision_keep(s);
	return STEP_DONE;
}

enum gate_step gate_take_step(struct gate_state *s)
{
	switch (s->step) {
	case STEP_IDENTIFY:
		return gate_identify(s);
	case STEP_WAIT_IDENTITY:
		return gate_identity_answered(s);
	case STEP_READ:
		return read_call(s);
	case STEP_PROVE:
		return prove_units(s);
	case STEP_OWN:
		return look_up_owners(s);
	case STEP_WAIT_OWNERS:
		return owners_answered(s);
	case STEP_FILL:
		return fill_selectors(s);
	case STEP_WAIT_UNITS:
		return units_answered(s);
	case STEP_DECIDE:
		return decide_claims(s);
	case STEP_ROLE:
		return ask_role(s);
	case STEP_WAIT_ROLE:
		return role_answered(s);
	case STEP_WRITE:
		return write_call(s);
	case STEP_DONE:
		break;
	}
	return STEP_DONE;
}
