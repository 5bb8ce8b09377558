/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Identifies the caller: at once if nothing blocks, else on a thread. A valid token is
 * cached, with everything else in the request that was considered. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lb/gate/gate_impl.h"

/* For how long a token is accepted without another check: keys may be revoked. */
#define TOKEN_HOLD_MS 300000u

int gate_keeper_new(const struct identity_params *p, struct gate_keeper **ret,
		    struct err *err)
{
	struct gate_keeper *k = calloc(1, sizeof(*k));
	int rc;

	if (!k)
		return err_set(err, -ENOMEM, "out of memory");
	atomic_init(&k->refs, 1);
	rc = identity_new(p, &k->id, err);
	if (rc) {
		free(k);
		return rc;
	}
	*ret = k;
	return 0;
}

void gate_keeper_unref(struct gate_keeper *k)
{
	if (!k || atomic_fetch_sub(&k->refs, 1) > 1)
		return;
	identity_free(k->id);
	free(k);
}

static void put_key_text(struct buf *out, const char *s)
{
	buf_putc(out, s ? '1' : '0');
	if (s)
		buf_put(out, s, strlen(s) + 1);
}

/* Everything that identity_prove() considers if there is a token. */
static void token_key(const struct gate_state *s, struct buf *out)
{
	const struct identity_facts *f = s->r->facts;

	buf_put(out, &s->generation, sizeof(s->generation));
	buf_put(out, &f->tokens, sizeof(f->tokens));
	put_key_text(out, f->token);
	buf_put(out, &f->uids, sizeof(f->uids));
	put_key_text(out, f->uid);
	buf_putc(out, f->no_role ? '1' : '0');
	buf_put(out, &f->authorizations, sizeof(f->authorizations));
	put_key_text(out, f->authorization);
	put_key_text(out, f->password_user);
	buf_putc(out, f->has_peer ? '1' : '0');
	if (f->has_peer)
		buf_put(out, &f->peer, sizeof(f->peer));
	for (size_t i = 0; i < IDENTITY_HEADERS_MAX; i++) {
		buf_put(out, &f->user[i].count, sizeof(f->user[i].count));
		put_key_text(out, f->user[i].first);
	}
	buf_putc(out, f->client_certificate ? '1' : '0');
	for (size_t i = 0; i < f->name_count; i++) {
		buf_putc(out, (char)('a' + (int)f->names[i].kind));
		put_key_text(out, f->names[i].text);
	}
}

static bool find_remembered_who(struct gate_state *s)
{
	auto_buf struct buf key = BUF_INIT;
	size_t len;
	bool hit;

	if (!s->r->facts->tokens)
		return false;
	token_key(s, &key);
	hit = !buf_error(&key) && lru_copy(s->g->tokens, key.data, key.len, s->boot_ms,
					   &s->who, sizeof(s->who), &len);
	atomic_fetch_add(hit ? &s->g->token_hits : &s->g->token_misses, 1);
	return hit;
}

static void remember_who(struct gate_state *s)
{
	uint64_t now_s = (uint64_t)s->r->input.now_ms / 1000, hold_ms;
	auto_buf struct buf key = BUF_INIT;

	if (!s->who.until_s || s->who.until_s <= now_s)
		return;
	hold_ms = (s->who.until_s - now_s) * 1000;
	if (hold_ms > TOKEN_HOLD_MS)
		hold_ms = TOKEN_HOLD_MS;
	token_key(s, &key);
	if (!buf_error(&key))
		lru_put(s->g->tokens, key.data, key.len, &s->who, sizeof(s->who),
			s->boot_ms + hold_ms);
}

static enum gate_step continue_with_who(struct gate_state *s)
{
	struct gate_request *r = s->r;

	if (s->who_rc < 0)
		return gate_refuse(
			s, s->who_rc == -EHOSTDOWN ? REASON_NOBODY : REASON_UNPROVED,
			identity_status(s->who_rc), s->who_rc == -EHOSTDOWN ? 5 : 0,
			s->err.text);
	if (!s->who.login[0])
		return gate_refuse(s, REASON_UNPROVED, 403, 0,
				   "the uid has no login on this host");
	memcpy(r->login, s->who.login, sizeof(r->login));
	memcpy(r->front, s->who.front, sizeof(r->front));
	return STEP_READ;
}

static void note_munge(struct gate_state *s, int rc)
{
	if (identity_credential(s->keeper->id, s->r->facts))
		s->r->munge_rc = rc;
}

enum gate_step gate_identity_answered(struct gate_state *s)
{
	if (s->who_rc == 0)
		remember_who(s);
	note_munge(s, s->who_rc);
	return continue_with_who(s);
}

static bool prove_by_thread(struct thread_pool_job *j, void **mine,
			    const atomic_bool *stop)
{
	struct gate_state *s =
		(struct gate_state *)((char *)j - offsetof(struct gate_state, prove));

	(void)mine;
	s->who_rc =
		atomic_load(stop)
			? err_set(&s->err, -EHOSTDOWN, "the load balancer is stopping")
			: identity_prove(s->keeper->id, s->r->facts, &s->who, &s->err);
	if (s->who_rc == 0)
		s->who_rc = identity_check_body(&s->who, s->r->input.body,
						s->r->input.body_len, &s->err);
	bool failed = s->who_rc == -EACCES;
	s->r->wake(s->r->arg);
	return failed;
}

/* Without access control a name is optional. */
static enum gate_step open_site(struct gate_state *s)
{
	if (!identity_waits(s->keeper->id, s->r->facts) &&
	    identity_prove(s->keeper->id, s->r->facts, &s->who, &s->err) == 0)
		memcpy(s->r->login, s->who.login, sizeof(s->r->login));
	return STEP_READ;
}

enum gate_step gate_identify(struct gate_state *s)
{
	if (s->site->open)
		return open_site(s);
	if (!identity_waits(s->keeper->id, s->r->facts)) {
		s->who_rc =
			identity_prove(s->keeper->id, s->r->facts, &s->who, &s->err);
		return continue_with_who(s);
	}
	if (find_remembered_who(s))
		return continue_with_who(s);
	s->prove.run = prove_by_thread;
	if (thread_pool_submit(s->g->provers, &s->prove, s->r->client))
		return STEP_WAIT_IDENTITY;
	note_munge(s, -EBUSY);
	return gate_refuse(s, REASON_ERROR, 503, 1,
			   "too many requests are waiting for proof of identity");
}
