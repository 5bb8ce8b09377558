/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A request that came before, byte by byte, from the same user: what it reads was
 * worked out then. That it may be read is looked up each time, by the same rule, so
 * that a decision that is remembered is never wider than one that is made now. One that
 * stands for "now" is of its time and remembered for a second. */
#include <string.h>

#include "lb/gate_impl.h"

#define KEY_BYTES_MAX 16384u
#define CLAIMS_MAX 64u
#define NOW_HOLD_MS 1000u

struct kept {
	uint32_t cluster, claims, target_len, body_len;
	enum gate_reason reason;
	bool get, timeless;
	const char *content_type, *accept; /* static */
	int64_t from_ms, to_ms;
};

struct kept_claim {
	int64_t from_ms, to_ms;
	uint32_t len;
};

static void put_text(struct buf *out, const char *s)
{
	buf_putc(out, s ? '1' : '0');
	if (s)
		buf_put(out, s, strlen(s) + 1);
}

void gate_decision_key(struct gate_state *s)
{
	const struct gate_request *r = s->r;
	const struct protocol_input *in = &r->input;
	const char how[2] = {(char)('a' + (int)r->protocol), in->post ? 'p' : 'g'};

	buf_reset(&s->key);
	/* what is audited names its units, which are not kept */
	if (s->site->audit || s->site->open ||
	    in->body_len + (in->query ? strlen(in->query) : 0) > KEY_BYTES_MAX)
		return;
	buf_put(&s->key, &s->generation, sizeof(s->generation));
	buf_put(&s->key, how, sizeof(how));
	put_text(&s->key, r->login);
	buf_put(&s->key, &r->cluster_headers, sizeof(r->cluster_headers));
	put_text(&s->key, r->cluster_header);
	put_text(&s->key, in->path);
	put_text(&s->key, in->query);
	put_text(&s->key, in->content_type);
	put_text(&s->key, in->content_encoding);
	buf_put(&s->key, in->body ? in->body : "", in->body_len);
	if (buf_error(&s->key))
		buf_reset(&s->key);
}

static bool still_own(struct gate_state *s, const struct kept *k, const char *p)
{
	struct access_claim claims[CLAIMS_MAX];
	const struct owned_who who = gate_who(s);

	for (uint32_t i = 0; i < k->claims; i++) {
		struct kept_claim c;

		memcpy(&c, p, sizeof(c));
		p += sizeof(c);
		claims[i] = (struct access_claim){
			.id = {p, c.len}, .from_ms = c.from_ms, .to_ms = c.to_ms};
		p += c.len;
	}
	if (k->claims && owned_look(s->g->owned, &who, claims, k->claims))
		return false;
	for (uint32_t i = 0; i < k->claims; i++)
		if (claims[i].answer != ACCESS_OWN)
			return false;
	return true;
}

static bool use(struct gate_state *s, const struct buf *value)
{
	struct gate_request *r = s->r;
	struct call *call = &r->call;
	struct kept k;
	const char *end = value->data + value->len;

	memcpy(&k, value->data, sizeof(k));
	s->cluster = &s->site->clusters[k.cluster];
	if (!still_own(s, &k, value->data + sizeof(k)))
		return false;
	call->get = k.get;
	call->timeless = k.timeless;
	call->content_type = k.content_type;
	call->accept = k.accept;
	call->from_ms = k.from_ms;
	call->to_ms = k.to_ms;
	buf_put(&call->target, end - k.body_len - k.target_len, k.target_len);
	if (k.body_len)
		buf_put(&call->body, end - k.body_len, k.body_len);
	if (buf_error(&call->target) || buf_error(&call->body))
		return false;
	s->reason = k.reason;
	r->cluster = s->cluster;
	r->site = site_hold(s->site);
	r->status = 0;
	return true;
}

bool gate_decision_find(struct gate_state *s)
{
	auto_buf struct buf value = BUF_INIT;
	bool hit;

	gate_decision_key(s);
	if (!s->key.len)
		return false;
	hit = lru_get(s->g->decisions, s->key.data, s->key.len, s->boot_ms, &value) &&
	      use(s, &value);
	if (!hit) {
		bool gzip = s->r->call.gzip;

		call_done(&s->r->call);
		s->r->call.gzip = gzip;
		s->cluster = NULL;
	}
	atomic_fetch_add_explicit(hit ? &s->g->decision_hits : &s->g->decision_misses,
				  1, memory_order_relaxed);
	return hit;
}

void gate_decision_keep(struct gate_state *s)
{
	const struct call *call = &s->r->call;
	const struct owned_who who = gate_who(s);
	auto_buf struct buf value = BUF_INIT;
	size_t count = 0;
	const struct access_claim *claims =
		s->plan ? access_claims(s->plan, &count) : NULL;
	struct kept k = {.cluster = (uint32_t)(s->cluster - s->site->clusters),
			 .claims = (uint32_t)count,
			 .target_len = (uint32_t)call->target.len,
			 .body_len = (uint32_t)call->body.len,
			 .reason = s->reason,
			 .get = call->get,
			 .timeless = call->timeless,
			 .content_type = call->content_type,
			 .accept = call->accept,
			 .from_ms = call->from_ms,
			 .to_ms = call->to_ms};
	uint64_t hold = call->timeless ? (uint64_t)who.rules.owned_ms : NOW_HOLD_MS;

	if (!s->key.len || count > CLAIMS_MAX ||
	    (s->reason != REASON_OWN && s->reason != REASON_PUBLIC))
		return;
	buf_put(&value, &k, sizeof(k));
	for (size_t i = 0; i < count; i++) {
		struct kept_claim c = {claims[i].from_ms, claims[i].to_ms,
				       claims[i].id.len};

		buf_put(&value, &c, sizeof(c));
		buf_put(&value, claims[i].id.p, claims[i].id.len);
	}
	buf_put(&value, call->target.data ? call->target.data : "", call->target.len);
	buf_put(&value, call->body.data ? call->body.data : "", call->body.len);
	if (!buf_error(&value))
		lru_put(s->g->decisions, s->key.data, s->key.len, value.data, value.len,
			s->boot_ms + hold);
}
