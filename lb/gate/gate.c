/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The gate as a whole: its parts, its site, and a request's way from step to step until
 * it is decided or must wait. */
#include "lb/gate/gate.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lb/gate/gate_impl.h"
#include "lib/clock.h"

#define TOKENS 4096u
#define TOKENS_BYTES ((size_t)16 << 20)
#define DECISIONS 16384u
#define DECISIONS_BYTES ((size_t)24 << 20)
#define SPARE_MAX 256u
#define SPARE_BYTES 4096u /* of the buffers of one */

static const struct protocol *const gate_protocols[SITE_PROTOCOLS] = {
	[SITE_PROMETHEUS] = &protocol_prometheus,
	[SITE_PYROSCOPE] = &protocol_pyroscope,
};

/* ---- a request ------------------------------------------------------------------- */

static void read_clocks(const struct gate *g, int64_t *now_ms, uint64_t *boot_ms)
{
	if (g->tests && g->tests->clock) {
		g->tests->clock(g->tests->arg, now_ms, boot_ms);
		return;
	}
	*now_ms = (int64_t)(clock_realtime_ns() / NSEC_PER_MSEC);
	*boot_ms = clock_boottime_ns() / NSEC_PER_MSEC;
}

static struct gate_state *state_new(struct gate_spare *spare)
{
	struct gate_state *s = spare ? spare->first : NULL;

	if (!s)
		return calloc(1, sizeof(*s));
	struct buf key = s->key, kept = s->kept;
	spare->first = s->next;
	spare->count--;
	*s = (struct gate_state){.key = key, .kept = kept};
	buf_reset(&s->key);
	buf_reset(&s->kept);
	return s;
}

static void state_free(struct gate_state *s)
{
	buf_done(&s->key);
	buf_done(&s->kept);
	free(s);
}

static void state_keep(struct gate_spare *spare, struct gate_state *s)
{
	if (!spare || spare->count == SPARE_MAX ||
	    s->key.cap + s->kept.cap > SPARE_BYTES) {
		state_free(s);
		return;
	}
	s->next = spare->first;
	spare->first = s;
	spare->count++;
}

void gate_spare_done(struct gate_spare *spare)
{
	while (spare->first) {
		struct gate_state *s = spare->first;
		spare->first = s->next;
		state_free(s);
	}
	spare->count = 0;
}

static struct gate_state *begin_gate_state(struct gate *g, struct gate_request *r)
{
	struct gate_state *s = state_new(r->spare);

	if (!s)
		return NULL;
	s->g = g;
	s->r = r;
	s->step = STEP_IDENTIFY;
	s->protocol = gate_protocols[r->protocol];
	read_clocks(g, &r->input.now_ms, &s->boot_ms);
	pthread_mutex_lock(&g->mutex);
	if (g->site && !g->stopped)
		s->site = site_ref(g->site);
	s->keeper = g->keeper;
	atomic_fetch_add(&s->keeper->refs, 1);
	s->generation = g->generation;
	pthread_mutex_unlock(&g->mutex);
	r->state = s;
	if (r->collect)
		r->collect(r->arg, s->keeper->id);
	return s;
}

struct ownership_who gate_who(struct gate_state *s)
{
	const struct site_limits *l = &s->site->limits;
	const int64_t s_ms = 1000;
	struct ownership_rules rules = {
		.ownership_ms = s_ms * (l->ownership_s ? l->ownership_s : 60),
		.unknown_ms = s_ms * (l->unknown_s ? l->unknown_s : 3),
		.linger_ms = s_ms * l->linger_s,
		.skew_ms = OWNERSHIP_SKEW_MS};

	if (rules.unknown_ms > rules.ownership_ms)
		rules.unknown_ms = rules.ownership_ms;
	return (struct ownership_who){.login = s->r->login,
				      .cluster = s->cluster ? s->cluster->id : "",
				      .has_uid = s->who.has_uid,
				      .named = s->who.named,
				      .uid = s->who.uid,
				      .now_ms = s->r->input.now_ms,
				      .boot_ms = s->boot_ms,
				      .rules = rules};
}

enum gate_step gate_refuse(struct gate_state *s, enum gate_reason why, unsigned status,
			   unsigned retry_s, const char *text)
{
	struct gate_request *r = s->r;

	s->reason = why;
	r->status = status;
	if (retry_s)
		snprintf(r->retry_after, sizeof(r->retry_after), "%u",
			 retry_s < 3600 ? retry_s : 3600);
	buf_reset(&r->body);
	s->protocol->refuse(&r->input, status, text, &r->body, &r->body_type);
	if (buf_error(&r->body)) /* send the status only */
		buf_reset(&r->body);
	return STEP_DONE;
}

static bool is_wait(enum gate_step step)
{
	return step == STEP_WAIT_IDENTITY || step == STEP_WAIT_OWNERS ||
	       step == STEP_WAIT_UNITS || step == STEP_WAIT_ROLE;
}

/* Not even enough memory for an error in the right form. */
static enum gate_answer no_memory(struct gate_request *r)
{
	r->status = 503;
	r->body_type = "text/plain";
	snprintf(r->retry_after, sizeof(r->retry_after), "1");
	return GATE_DONE;
}

enum gate_answer gate_pass(struct gate *g, struct gate_request *r)
{
	struct gate_state *s = r->state;

	if (!s) {
		s = begin_gate_state(g, r);
		if (!s)
			return no_memory(r);
		if (!s->site)
			s->step = gate_refuse(
				s, REASON_STOP, 503, 5,
				"the load balancer is stopping, or starting");
	} else {
		read_clocks(g, &r->input.now_ms, &s->boot_ms);
	}
	while (s->step != STEP_DONE) {
		s->step = gate_take_step(s);
		if (is_wait(s->step)) {
			atomic_fetch_add(&g->waited, 1);
			return GATE_WAIT;
		}
	}
	atomic_fetch_add(&g->verdicts[r->protocol][s->reason], 1);
	if (s->site && s->site->audit)
		gate_audit(s);
	return GATE_DONE;
}

void gate_end(struct gate *g, struct gate_request *r)
{
	struct gate_state *s = r->state;

	call_done(&r->call);
	buf_done(&r->body);
	if (r->site)
		site_unref(r->site);
	r->site = NULL;
	r->cluster = NULL;
	if (!s)
		return;
	r->state = NULL;
	if (s->counted)
		gate_limit_end(g->limits, r->login);
	access_plan_free(s->plan);
	if (s->request)
		s->protocol->free(s->request);
	ownership_question_unref(s->question);
	free(s->claims);
	gate_keeper_unref(s->keeper);
	if (s->site)
		site_unref(s->site);
	state_keep(r->spare, s);
}

/* ---- the gate -------------------------------------------------------------------- */

int gate_new(const struct gate_params *params, struct gate **ret, struct err *err)
{
	struct gate *g = calloc(1, sizeof(*g));
	struct ownership_params o = {.user_agent = params->user_agent,
				     .threads = params->threads};
	int rc;

	if (!g)
		return err_set(err, -ENOMEM, "out of memory");
	g->user_agent = params->user_agent;
	g->tests = params->tests;
	if (params->tests) {
		o = *params->tests;
		o.threads = params->threads;
	}
	pthread_mutex_init(&g->mutex, NULL);
	rc = gate_keeper_new(params->identity, &g->keeper, err);
	if (!rc)
		rc = ownership_new(&o, &g->ownership, err);
	if (!rc && (thread_pool_new(params->threads ? params->threads : 4, NULL,
				    &g->provers) ||
		    lru_new(TOKENS, TOKENS_BYTES, &g->tokens) ||
		    lru_new(DECISIONS, DECISIONS_BYTES, &g->decisions) ||
		    gate_limits_new(&g->limits)))
		rc = err_set(err, -ENOMEM, "out of memory");
	if (rc) {
		gate_free(g);
		return rc;
	}
	*ret = g;
	return 0;
}

int gate_start(struct gate *g, struct err *err)
{
	int rc = ownership_start(g->ownership, err);

	return rc ? rc : thread_pool_start(g->provers, err);
}

void gate_stop(struct gate *g)
{
	pthread_mutex_lock(&g->mutex);
	g->stopped = true;
	pthread_mutex_unlock(&g->mutex);
	ownership_stop(g->ownership);
	thread_pool_stop(g->provers);
}

void gate_free(struct gate *g)
{
	if (!g)
		return;
	ownership_free(g->ownership);
	thread_pool_free(g->provers);
	lru_free(g->tokens);
	lru_free(g->decisions);
	gate_limits_free(g->limits);
	gate_keeper_unref(g->keeper);
	if (g->site)
		site_unref(g->site);
	pthread_mutex_destroy(&g->mutex);
	free(g);
}

void gate_set_site(struct gate *g, struct site *s)
{
	struct site *old;

	ownership_set_site(g->ownership, s, s->limits.cache_entries);
	pthread_mutex_lock(&g->mutex);
	old = g->site;
	g->site = site_ref(s);
	g->generation++;
	pthread_mutex_unlock(&g->mutex);
	/* keys contain the generation, so nothing of the old site is found any more */
	lru_clear(g->decisions);
	if (old)
		site_unref(old);
}

bool gate_is_front_end(struct gate *g, const struct netaddr *peer)
{
	pthread_mutex_lock(&g->mutex);
	bool is = identity_is_front_address(g->keeper->id, peer);
	pthread_mutex_unlock(&g->mutex);
	return is;
}

void gate_with_identity(struct gate *g, void (*use)(void *arg, const struct identity *),
			void *arg)
{
	struct gate_keeper *k;

	pthread_mutex_lock(&g->mutex);
	k = g->keeper;
	atomic_fetch_add(&k->refs, 1);
	pthread_mutex_unlock(&g->mutex);
	use(arg, k->id);
	gate_keeper_unref(k);
}

int gate_set_identity(struct gate *g, const struct identity_params *p, struct err *err)
{
	struct gate_keeper *k = NULL, *old;
	int rc = gate_keeper_new(p, &k, err);

	if (rc)
		return rc;
	pthread_mutex_lock(&g->mutex);
	old = g->keeper;
	g->keeper = k;
	g->generation++;
	pthread_mutex_unlock(&g->mutex);
	lru_clear(g->tokens);
	gate_keeper_unref(old);
	return 0;
}
