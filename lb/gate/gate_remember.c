/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Caches repeated requests, whoever sends them: what a request reads was worked out as
 * units and as time ranges relative to its times, so that the same panel a minute later
 * is neither parsed nor printed. Whether it may be read is looked up each time, by the
 * same rule, for the present user: a cached decision is never wider than the proof. */
#include <stdlib.h>
#include <string.h>

#include "lb/gate/gate_impl.h"

#define KEY_BYTES_MAX 16384u
#define CLAIMS_MAX 64u
#define HOLD_MS 3600000u /* entries do not become stale; the table is bounded */
#define NOW_HOLD_MS 1000u

/* Followed by time ranges, claims with their ids, target and body: what is sent, except
 * for the times. */
struct remembered_request {
	uint32_t cluster, time_ranges, claims, target_len, body_len, times_at;
	enum promql_dialect dialect;
	enum gate_reason reason;
	bool get, timeless;
	const char *content_type, *accept; /* static */
	int64_t from_ms, to_ms;            /* if it has no times of its own */
	int64_t far_ms;
};

struct remembered_claim {
	struct access_time_range time_range;
	uint32_t len;
};

static void put_remembered_text(struct buf *out, const char *s)
{
	buf_putc(out, s ? '1' : '0');
	if (s)
		buf_put(out, s, strlen(s) + 1);
}

/* Everything that determines what a request reads, except for the user and, if they can
 * be separated, its times. */
static void make_key(struct gate_state *s)
{
	const struct gate_request *r = s->r;
	const struct protocol_input *in = &r->input;
	size_t query_len = in->query ? strlen(in->query) : 0, mark;

	s->timed = false;
	if (s->site->open || in->body_len + query_len > KEY_BYTES_MAX)
		return;
	buf_reserve(&s->key, in->body_len + query_len + 256);
	buf_put(&s->key, &s->generation, sizeof(s->generation));
	buf_putc(&s->key, (char)('a' + (int)r->protocol));
	buf_putc(&s->key, in->post ? 'p' : 'g');
	buf_put(&s->key, &r->cluster_headers, sizeof(r->cluster_headers));
	put_remembered_text(&s->key, r->cluster_header);
	put_remembered_text(&s->key, in->path);
	put_remembered_text(&s->key, in->content_type);
	put_remembered_text(&s->key, in->content_encoding);
	buf_putc(&s->key, query_len ? 'q' : in->body_len ? 'b' : '-');
	mark = s->key.len;
	if (s->protocol->times && s->protocol->times(in, &s->key, &s->times)) {
		s->timed = true;
		buf_putc(&s->key, 't');
	} else {
		buf_truncate(&s->key, mark);
		put_remembered_text(&s->key, in->query);
		buf_put(&s->key, in->body ? in->body : "", in->body_len);
	}
	if (buf_error(&s->key))
		buf_reset(&s->key);
}

/* For the audit; the ids are in the cached entry. */
static bool keep_claims(struct gate_state *s, const struct access_claim *claims,
			size_t count)
{
	s->claims = calloc(count + 1, sizeof(*claims));
	if (!s->claims)
		return false;
	memcpy(s->claims, claims, count * sizeof(*claims));
	s->claim_count = count;
	return true;
}

static bool still_own(struct gate_state *s, const struct remembered_request *k,
		      const char *p)
{
	const struct ownership_who who = gate_who(s);
	struct access_claim claims[CLAIMS_MAX];

	for (uint32_t i = 0; i < k->claims; i++) {
		struct access_claim *claim = &claims[i];
		struct remembered_claim c;

		memcpy(&c, p, sizeof(c));
		p += sizeof(c);
		*claim = (struct access_claim){.id = {p, c.len}};
		access_time_range_at(&c.time_range, s->times.start_ms, s->times.end_ms,
				     &claim->from_ms, &claim->to_ms);
		p += c.len;
	}
	if (k->claims && ownership_look(s->g->ownership, &who, claims, k->claims))
		return false;
	for (uint32_t i = 0; i < k->claims; i++)
		if (claims[i].answer != ACCESS_OWN)
			return false;
	return !s->site->audit || keep_claims(s, claims, k->claims);
}

/* The time range of the whole request now. */
static void set_call_span(struct gate_state *s, const struct remembered_request *k,
			  const char *p)
{
	struct call *call = &s->r->call;

	call->from_ms = k->time_ranges ? INT64_MAX : INT64_MIN;
	call->to_ms = k->time_ranges ? INT64_MIN : INT64_MAX;
	for (uint32_t i = 0; i < k->time_ranges; i++) {
		struct access_time_range time_range;
		int64_t from_ms, to_ms;

		memcpy(&time_range, p + i * sizeof(time_range), sizeof(time_range));
		access_time_range_at(&time_range, s->times.start_ms, s->times.end_ms,
				     &from_ms, &to_ms);
		call->from_ms = from_ms < call->from_ms ? from_ms : call->from_ms;
		call->to_ms = to_ms > call->to_ms ? to_ms : call->to_ms;
	}
}

static void put_with_times(const struct gate_state *s,
			   const struct remembered_request *k, const char *text,
			   size_t len, struct buf *out)
{
	size_t times_len = strlen(s->times.text);

	buf_reserve(out, len + times_len);
	buf_put(out, text, k->times_at);
	buf_put(out, s->times.text, times_len);
	buf_put(out, text + k->times_at, len - k->times_at);
}

static bool use_remembered(struct gate_state *s)
{
	struct gate_request *r = s->r;
	struct call *call = &r->call;
	const char *p = s->kept.data, *end = p + s->kept.len, *target, *body;
	struct remembered_request k;

	memcpy(&k, p, sizeof(k));
	p += sizeof(k);
	s->cluster = &s->site->clusters[k.cluster];
	if (backend_set_dialect(s->cluster->backends[r->protocol]) != k.dialect ||
	    (s->timed &&
	     !access_time_ranges_hold(k.far_ms, s->times.start_ms, s->times.end_ms)) ||
	    !still_own(s, &k, p + k.time_ranges * sizeof(struct access_time_range)))
		return false;
	r->input.dialect = k.dialect;
	call->get = k.get;
	call->timeless = k.timeless;
	call->content_type = k.content_type;
	call->accept = k.accept;
	call->from_ms = k.from_ms;
	call->to_ms = k.to_ms;
	body = end - k.body_len;
	target = body - k.target_len;
	if (s->timed)
		set_call_span(s, &k, p);
	if (s->timed && k.get)
		put_with_times(s, &k, target, k.target_len, &call->target);
	else
		buf_put(&call->target, target, k.target_len);
	if (s->timed && !k.get)
		put_with_times(s, &k, body, k.body_len, &call->body);
	else if (k.body_len)
		buf_put(&call->body, body, k.body_len);
	if (buf_error(&call->target) || buf_error(&call->body))
		return false;
	s->reason = k.reason;
	r->cluster = s->cluster;
	r->site = site_ref(s->site);
	r->status = 0;
	return true;
}

bool gate_decision_find(struct gate_state *s)
{
	bool hit;

	make_key(s);
	if (!s->key.len)
		return false;
	hit = lru_get(s->g->decisions, s->key.data, s->key.len, s->boot_ms, &s->kept) &&
	      use_remembered(s);
	if (!hit) {
		bool gzip = s->r->call.gzip;

		call_done(&s->r->call);
		s->r->call.gzip = gzip;
		s->cluster = NULL;
		free(s->claims);
		s->claims = NULL;
		s->claim_count = 0;
	}
	atomic_fetch_add_explicit(hit ? &s->g->decision_hits : &s->g->decision_misses,
				  1, memory_order_relaxed);
	return hit;
}

static void put_claims(const struct gate_state *s, const struct access_claim *claims,
		       size_t count, struct buf *out)
{
	for (size_t i = 0; i < count; i++) {
		const struct access_time_range fixed = {.from_ms = claims[i].from_ms,
							.to_ms = claims[i].to_ms};
		struct remembered_claim c = {
			.time_range = s->timed ? claims[i].time_range : fixed,
			.len = claims[i].id.len};

		buf_put(out, &c, sizeof(c));
		buf_put(out, claims[i].id.p, claims[i].id.len);
	}
}

/* Puts what is sent without its times. False: they are not where they should be. */
static bool put_without_times(const struct gate_state *s, struct remembered_request *k,
			      struct buf *out)
{
	const struct call *call = &s->r->call;
	size_t len = s->timed ? strlen(s->times.text) : 0,
	       at = len ? call->times_at : 0;
	const struct buf *in = call->get ? &call->target : &call->body;

	if (len && (in->len < at + len || memcmp(in->data + at, s->times.text, len)))
		return false;
	k->times_at = (uint32_t)at;
	if (!call->get)
		buf_put(out, call->target.data, call->target.len);
	k->target_len = (uint32_t)(call->get ? in->len - len : call->target.len);
	k->body_len = (uint32_t)(call->get ? 0 : in->len - len);
	if (in->len) {
		buf_put(out, in->data, at);
		buf_put(out, in->data + at + len, in->len - at - len);
	}
	return true;
}

void gate_decision_keep(struct gate_state *s)
{
	const struct call *call = &s->r->call;
	const struct access_time_ranges none = {.far_ms = -1},
					*time_ranges =
						s->plan ? access_time_ranges(s->plan)
							: &none;
	auto_buf struct buf value = BUF_INIT, sent = BUF_INIT;
	size_t count = 0;
	const struct access_claim *claims =
		s->plan ? access_claims(s->plan, &count) : NULL;
	struct remembered_request k = {
		.cluster = (uint32_t)(s->cluster - s->site->clusters),
		.time_ranges = s->timed ? (uint32_t)time_ranges->count : 0,
		.claims = (uint32_t)count,
		.dialect = s->r->input.dialect,
		.reason = s->reason,
		.get = call->get,
		.timeless = call->timeless,
		.content_type = call->content_type,
		.accept = call->accept,
		.from_ms = call->from_ms,
		.to_ms = call->to_ms,
		.far_ms = time_ranges->far_ms};
	uint64_t hold = s->timed || call->timeless ? HOLD_MS : NOW_HOLD_MS;

	if (!s->key.len || count > CLAIMS_MAX ||
	    time_ranges->count > ACCESS_TIME_RANGES_MAX ||
	    (s->reason != REASON_OWN && s->reason != REASON_PUBLIC) ||
	    !put_without_times(s, &k, &sent))
		return;
	buf_put(&value, &k, sizeof(k));
	buf_put(&value, time_ranges->at, k.time_ranges * sizeof(time_ranges->at[0]));
	put_claims(s, claims, count, &value);
	buf_put(&value, sent.data ? sent.data : "", sent.len);
	if (!buf_error(&value) && !buf_error(&sent))
		lru_put(s->g->decisions, s->key.data, s->key.len, value.data, value.len,
			s->boot_ms + hold);
}
