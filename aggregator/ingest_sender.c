/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A report is believed: who may send one may say anything of any unit. So nobody may by
 * default but root and ceems of hosts that share the MUNGE key. */
#include "aggregator/ingest_sender.h"

#include <errno.h>
#include <gnutls/crypto.h>
#include <gnutls/gnutls.h>
#include <pthread.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "lib/parse.h"
#include "lib/secret.h"

#define USERS_MAX 64
#define TOKENS_BYTES_MAX 65536u
#define TOKEN_MIN 16u
#define HASH_BYTES 32u
#define PASSWD_BYTES 16384

struct sender {
	struct sender_params params;
	uint32_t uids[USERS_MAX];
	size_t uid_count;
	pthread_rwlock_t lock;
	struct buf tokens; /* lines */
};

static int find_uid(const char *name, uint32_t *ret)
{
	char memory[PASSWD_BYTES];
	struct passwd pw, *found = NULL;

	if (parse_u32(name, ret) == 0)
		return 0;
	if (getpwnam_r(name, &pw, memory, sizeof(memory), &found) != 0 || !found)
		return -ENOENT;
	*ret = pw.pw_uid;
	return 0;
}

int sender_reload(struct sender *s, struct err *err)
{
	struct buf fresh = BUF_INIT;

	if (!s->params.token_file || !*s->params.token_file)
		return 0;
	int rc = secret_load(s->params.token_file, TOKENS_BYTES_MAX, &fresh, err);
	if (rc < 0) {
		secret_wipe(&fresh);
		return rc;
	}
	pthread_rwlock_wrlock(&s->lock);
	struct buf old = s->tokens;
	s->tokens = fresh;
	pthread_rwlock_unlock(&s->lock);
	secret_wipe(&old);
	return 0;
}

int sender_new(const struct sender_params *params, struct sender **ret, struct err *err)
{
	struct sender *s = calloc(1, sizeof(*s));

	if (!s)
		return err_set(err, -ENOMEM, "out of memory");
	s->params = *params;
	pthread_rwlock_init(&s->lock, NULL);
	for (size_t i = 0; i < params->user_count && s->uid_count < USERS_MAX; i++) {
		if (find_uid(params->users[i], &s->uids[s->uid_count]) == 0)
			s->uid_count++;
	}
	int rc = sender_reload(s, err);
	if (rc < 0) {
		sender_free(s);
		return err_prefix(err, rc, "--ingest.token-file");
	}
	*ret = s;
	return 0;
}

void sender_free(struct sender *s)
{
	if (!s)
		return;
	secret_wipe(&s->tokens);
	pthread_rwlock_destroy(&s->lock);
	free(s);
}

/* What follows the scheme, NULL: it is another. */
static const char *after(const char *authorization, const char *scheme)
{
	size_t n = strlen(scheme);

	if (strncasecmp(authorization, scheme, n) != 0 || authorization[n] != ' ')
		return NULL;
	authorization += n;
	return authorization + strspn(authorization, " ");
}

/* Hashes are compared, so that how long it takes says nothing of the token. */
static bool same_token(const char *a, size_t a_len, const char *b, size_t b_len)
{
	unsigned char x[HASH_BYTES], y[HASH_BYTES];

	if (gnutls_hash_fast(GNUTLS_DIG_SHA256, a, a_len, x) < 0 ||
	    gnutls_hash_fast(GNUTLS_DIG_SHA256, b, b_len, y) < 0)
		return false;
	return gnutls_memcmp(x, y, HASH_BYTES) == 0;
}

static bool is_token(const struct sender *s, const char *token)
{
	const char *p = s->tokens.data, *end = p + s->tokens.len, *line;
	size_t len = strlen(token), line_len;
	bool found = false;

	while (p && len >= TOKEN_MIN && scan_line(&p, end, &line, &line_len)) {
		while (line_len &&
		       (line[line_len - 1] == ' ' || line[line_len - 1] == '\r'))
			line_len--;
		if (line_len >= TOKEN_MIN && *line != '#' &&
		    same_token(token, len, line, line_len))
			found = true;
	}
	return found;
}

static bool is_name(const struct sender *s, const struct sender_facts *f)
{
	for (size_t i = 0; i < s->params.name_count; i++) {
		if (f->name_count && strcmp(s->params.names[i], "*") == 0)
			return true;
		for (size_t k = 0; k < f->name_count; k++) {
			if (strcasecmp(s->params.names[i], f->names[k]) == 0)
				return true;
		}
	}
	return false;
}

int sender_admit(const struct sender *s, const struct sender_facts *f, struct err *err)
{
	const char *token;
	bool good;

	if (f->authorizations > 1)
		return err_set(err, -EACCES, "more than one Authorization header");
	if (!f->authorization)
		return is_name(s, f)
			       ? 0
			       : err_set(err, -EACCES, "it is not proved who sends");
	if (s->params.munge && after(f->authorization, "MUNGE"))
		return 1;
	token = after(f->authorization, "Bearer");
	if (!token)
		return err_set(err, -EACCES, "no way of proof that is allowed here");
	pthread_rwlock_rdlock((pthread_rwlock_t *)&s->lock);
	good = is_token(s, token);
	pthread_rwlock_unlock((pthread_rwlock_t *)&s->lock);
	return good ? 0 : err_set(err, -EACCES, "no such token");
}

static bool is_of_body(const struct munge_facts *m, const void *body, size_t len)
{
	static const char hex[] = "0123456789abcdef";
	char want[sizeof(SENDER_MUNGE_PAYLOAD) + (size_t)2 * HASH_BYTES];
	unsigned char hash[HASH_BYTES];
	size_t n = strlen(SENDER_MUNGE_PAYLOAD);

	if (gnutls_hash_fast(GNUTLS_DIG_SHA256, body, len, hash) < 0)
		return false;
	memcpy(want, SENDER_MUNGE_PAYLOAD, n);
	for (size_t i = 0; i < HASH_BYTES; i++) {
		want[n++] = hex[hash[i] >> 4];
		want[n++] = hex[hash[i] & 15];
	}
	return m->payload.len == n && memcmp(m->payload.data, want, n) == 0;
}

const char *sender_credential(const char *authorization)
{
	const char *credential = after(authorization, "MUNGE");

	return credential ? credential : "";
}

int sender_may(const struct sender *s, const struct munge_facts *m, struct err *err)
{
	size_t n = strlen(SENDER_MUNGE_PAYLOAD);

	if (m->rc < 0)
		return m->rc == -EHOSTDOWN ? -EHOSTDOWN : -EACCES;
	if (m->payload.len < n || memcmp(m->payload.data, SENDER_MUNGE_PAYLOAD, n) != 0)
		return err_set(err, -EACCES,
			       "the MUNGE credential was not made to send reports");
	for (size_t i = 0; i < s->uid_count; i++) {
		if (s->uids[i] == m->uid)
			return 0;
	}
	return err_set(err, -EPERM, "uid %u may not send reports (--ingest.user)",
		       m->uid);
}

int sender_has_sent(const struct munge_facts *m, const void *body, size_t len,
		    struct err *err)
{
	return is_of_body(m, body, len)
		       ? 0
		       : err_set(err, -EACCES,
				 "the MUNGE credential is not of these reports");
}
