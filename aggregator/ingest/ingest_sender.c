/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Proves who sends; ingest_may.c decides what they may send. By default only root and
 * ceems of a node, for that node, and Slurm's user may send. */
#include "aggregator/ingest/ingest_sender.h"

#include <errno.h>
#include <gnutls/crypto.h>
#include <gnutls/gnutls.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "lib/account.h"
#include "lib/parse.h"
#include "lib/secret.h"

#define USERS_MAX 64
#define JOBS_FROM_MAX 64
#define CLUSTERS_MAX 256
#define WORD_BYTES 160
#define NAME_BYTES 512 /* longer than a name of a certificate */
#define TOKENS_BYTES_MAX 65536u
#define TOKEN_MIN 16u
#define HASH_BYTES 32u

/* An account of --ingest.user, --ingest.jobs-from or --ingest.claims-from */
struct account {
	struct party party; /* its uid is known, or it is left out */
	bool any_node;
	bool left_out;
	bool claims;           /* of --ingest.claims-from */
	char word[WORD_BYTES]; /* option and text, for words */
};

struct sender {
	struct sender_params params;
	struct account users[USERS_MAX], jobs[JOBS_FROM_MAX];
	size_t user_count, job_count;
	struct ingest_cluster clusters[CLUSTERS_MAX];
	size_t cluster_count;
	pthread_rwlock_t lock;
	struct buf tokens; /* lines */
};

/* Looks up the uid of an account's name on this host. */
static void find_account(struct account *a)
{
	uint32_t uid = 0;

	if (a->party.kind != PARTY_MUNGE || parse_u32(a->party.name, &uid) == 0)
		return;
	a->party.has_uid = account_find_uid(a->party.name, &a->party.uid) == 0;
	a->left_out = !a->party.has_uid;
}

static void find_accounts(struct sender *s)
{
	for (size_t i = 0; i < s->user_count; i++)
		find_account(&s->users[i]);
	for (size_t i = 0; i < s->job_count; i++)
		find_account(&s->jobs[i]);
	for (size_t i = 0; i < s->cluster_count; i++) {
		struct account a = {.party = s->clusters[i].from};
		find_account(&a); /* an unknown one matches no sender */
		s->clusters[i].from = a.party;
	}
}

const char *sender_unknown(const struct sender *s, size_t i)
{
	for (size_t k = 0; k < s->user_count + s->job_count; k++) {
		const struct account *a =
			k < s->user_count ? &s->users[k] : &s->jobs[k - s->user_count];
		if (a->left_out && i-- == 0)
			return a->word;
	}
	return NULL;
}

int sender_reload(struct sender *s, struct err *err)
{
	struct buf fresh = BUF_INIT, old = BUF_INIT;
	bool has_file = s->params.token_file && *s->params.token_file;

	if (has_file) {
		int rc = secret_load(s->params.token_file, TOKENS_BYTES_MAX, &fresh,
				     err);
		if (rc < 0) {
			secret_wipe(&fresh);
			return rc;
		}
	}
	pthread_rwlock_wrlock(&s->lock);
	find_accounts(s);
	if (has_file) {
		old = s->tokens;
		s->tokens = fresh;
	}
	pthread_rwlock_unlock(&s->lock);
	secret_wipe(&old);
	return 0;
}

/* "NAME=*" is NAME, for any node. */
static bool cut_any(const char *text, char *ret, size_t size)
{
	size_t n = strlen(text);
	bool any = n > 2 && strcmp(text + n - 2, "=*") == 0;

	snprintf(ret, size, "%.*s", (int)(any ? n - 2 : n), text);
	return any;
}

static int read_users(struct sender *s, struct err *err)
{
	const struct sender_params *p = &s->params;

	for (size_t i = 0; i < p->user_count; i++) {
		struct account *a = &s->users[s->user_count];
		char name[PARTY_NAME_BYTES], text[WORD_BYTES];
		if (s->user_count == USERS_MAX)
			return err_set(err, -EINVAL, "ingest.user: at most %d",
				       USERS_MAX);
		a->any_node = cut_any(p->users[i], name, sizeof(name));
		snprintf(text, sizeof(text), "munge:%s", name);
		if (party_parse(text, PARTY_MUNGE, &a->party, err) < 0)
			return err_prefix(err, -EINVAL, "ingest.user");
		snprintf(a->word, sizeof(a->word), "ingest.user: %s", name);
		s->user_count++;
	}
	return 0;
}

/* Those of a list that may send what no node sends. */
static int read_named(struct sender *s, const char *const *list, size_t count,
		      bool claims, struct err *err)
{
	const char *option = claims ? "ingest.claims-from" : "ingest.jobs-from";

	for (size_t i = 0; i < count; i++) {
		struct account *a = &s->jobs[s->job_count];
		if (s->job_count == JOBS_FROM_MAX)
			return err_set(err, -EINVAL, "%s: at most %d", option,
				       JOBS_FROM_MAX);
		if (party_parse(list[i], PARTY_MUNGE | PARTY_TOKEN | PARTY_CERTIFICATE,
				&a->party, err) < 0)
			return err_prefix(err, -EINVAL, "%s", option);
		snprintf(a->word, sizeof(a->word), "%s: %.120s", option, list[i]);
		a->claims = claims;
		s->job_count++;
	}
	return 0;
}

static int read_clusters(struct sender *s, struct err *err)
{
	const struct sender_params *p = &s->params;

	if (p->cluster_count > CLUSTERS_MAX)
		return err_set(err, -EINVAL, "ingest.cluster: at most %d",
			       CLUSTERS_MAX);
	for (size_t i = 0; i < p->cluster_count; i++) {
		int rc = ingest_cluster_parse(p->clusters[i], &s->clusters[i], err);
		if (rc < 0)
			return rc;
		s->cluster_count++;
	}
	return 0;
}

int sender_new(const struct sender_params *params, struct sender **ret, struct err *err)
{
	struct sender *s = calloc(1, sizeof(*s));

	if (!s)
		return err_set(err, -ENOMEM, "out of memory");
	s->params = *params;
	pthread_rwlock_init(&s->lock, NULL);
	int rc = read_users(s, err);
	rc = rc ? rc
		: read_named(s, params->jobs_from, params->jobs_from_count, false, err);
	rc = rc ? rc
		: read_named(s, params->claims_from, params->claims_from_count, true,
			     err);
	rc = rc ? rc : read_clusters(s, err);
	if (rc == 0) {
		rc = sender_reload(s, err);
		if (rc < 0)
			(void)err_prefix(err, rc, "--ingest.token-file");
	}
	if (rc < 0) {
		sender_free(s);
		return rc;
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

/* What follows the scheme; NULL: another scheme. */
static const char *find_after_scheme(const char *authorization, const char *scheme)
{
	size_t n = strlen(scheme);

	if (strncasecmp(authorization, scheme, n) != 0 || authorization[n] != ' ')
		return NULL;
	authorization += n;
	return authorization + strspn(authorization, " ");
}

/* Compares hashes, so that timing reveals nothing about the token. */
static bool same_token(const char *a, size_t a_len, const char *b, size_t b_len)
{
	unsigned char x[HASH_BYTES], y[HASH_BYTES];

	if (gnutls_hash_fast(GNUTLS_DIG_SHA256, a, a_len, x) < 0 ||
	    gnutls_hash_fast(GNUTLS_DIG_SHA256, b, b_len, y) < 0)
		return false;
	return gnutls_memcmp(x, y, HASH_BYTES) == 0;
}

/* "TOKEN", "NAME TOKEN", "NAME=* TOKEN": length of the name, and position of the
 * token */
static size_t split_token_line(const char *line, size_t len, size_t *ret_at)
{
	const char *blank = memchr(line, ' ', len);
	size_t name = blank ? (size_t)(blank - line) : 0, at = name;

	while (at < len && line[at] == ' ')
		at++;
	*ret_at = at;
	return name;
}

static bool is_sender_token(const struct sender *s, const char *token,
			    struct ingest_party *p)
{
	const char *q = s->tokens.data, *end = q + s->tokens.len, *line;
	size_t len = strlen(token), line_len, at;
	bool found = false;

	while (q && len >= TOKEN_MIN && scan_line(&q, end, &line, &line_len)) {
		char name[PARTY_NAME_BYTES + 2];
		while (line_len &&
		       (line[line_len - 1] == ' ' || line[line_len - 1] == '\r'))
			line_len--;
		size_t n = split_token_line(line, line_len, &at);
		if (line_len - at < TOKEN_MIN || *line == '#' || n >= sizeof(name) ||
		    !same_token(token, len, line + at, line_len - at))
			continue;
		memcpy(name, line, n);
		name[n] = '\0';
		p->any_node = cut_any(name, p->name, sizeof(p->name)) || !n;
		found = true;
	}
	return found;
}

/* The right of a certificate to send reports: "*" is any certificate, for the node that
 * it names. */
static void add_names(const struct sender *s, struct ingest_party *p)
{
	char name[NAME_BYTES];

	for (size_t i = 0; i < s->params.name_count; i++) {
		bool any = cut_any(s->params.names[i], name, sizeof(name));
		bool fits = p->name_count && strcmp(name, "*") == 0;
		for (size_t k = 0; k < p->name_count; k++)
			fits |= strcasecmp(name, p->names[k]) == 0;
		p->reports |= fits;
		p->any_node |= fits && any;
	}
}

static void add_jobs(const struct sender *s, struct ingest_party *p)
{
	for (size_t i = 0; i < s->job_count; i++) {
		const struct party *from = &s->jobs[i].party;
		if (s->jobs[i].left_out || !ingest_party_is(p, from))
			continue;
		p->claims |= s->jobs[i].claims;
		p->jobs |= !s->jobs[i].claims;
		if (p->kind == PARTY_MUNGE)
			snprintf(p->name, sizeof(p->name), "%s", from->name);
	}
}

static int is_our_host(void *arg, const char *node, struct err *err)
{
	const struct sender_proof *proof = arg;
	const struct sender_params *p = &proof->sender->params;

	return p->is_host ? p->is_host(p->arg, node, &proof->host, err) : 0;
}

int sender_admit(const struct sender *s, const struct sender_facts *f,
		 struct sender_proof *ret, struct err *err)
{
	struct ingest_party *p = &ret->party;
	const char *token;

	*ret = (struct sender_proof){
		.party = {.has_peer = f->has_peer, .peer = f->peer},
		.may = {.clusters = s->clusters,
			.cluster_count = s->cluster_count,
			.party = &ret->party},
		.sender = s};
	if (f->authorizations > 1)
		return err_set(err, -EACCES, "more than one Authorization header");
	if (!f->authorization) {
		p->kind = PARTY_CERTIFICATE;
		p->names = f->names;
		p->name_count = f->name_count;
		add_names(s, p);
		add_jobs(s, p);
		return p->reports || p->jobs || p->claims
			       ? 0
			       : err_set(err, -EACCES,
					 "the sender has not proved who it is");
	}
	if (s->params.munge && find_after_scheme(f->authorization, "MUNGE"))
		return 1;
	token = find_after_scheme(f->authorization, "Bearer");
	if (!token)
		return err_set(err, -EACCES, "this kind of proof is not accepted here");
	p->kind = PARTY_TOKEN;
	pthread_rwlock_rdlock((pthread_rwlock_t *)&s->lock);
	p->reports = is_sender_token(s, token, p);
	pthread_rwlock_unlock((pthread_rwlock_t *)&s->lock);
	if (!p->reports)
		return err_set(err, -EACCES, "unknown token");
	add_jobs(s, p);
	return 0;
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

/* The rights of an account. */
static void add_rights(const struct sender *s, struct ingest_party *p)
{
	pthread_rwlock_rdlock((pthread_rwlock_t *)&s->lock);
	for (size_t i = 0; i < s->user_count; i++) {
		const struct account *a = &s->users[i];
		if (a->left_out || !ingest_party_is(p, &a->party))
			continue;
		p->reports = true;
		p->any_node |= a->any_node;
		snprintf(p->name, sizeof(p->name), "%s", a->party.name);
	}
	add_jobs(s, p);
	pthread_rwlock_unlock((pthread_rwlock_t *)&s->lock);
}

const char *sender_credential(const char *authorization)
{
	const char *credential = find_after_scheme(authorization, "MUNGE");

	return credential ? credential : "";
}

static int check_sender_munge(const struct sender *s, const struct munge_facts *m,
			      struct munge_asked asked, struct sender_proof *proof,
			      struct err *err)
{
	size_t n = strlen(SENDER_MUNGE_PAYLOAD);

	asked.has_peer = proof->party.has_peer;
	asked.peer = proof->party.peer;
	asked.hosts = s->params.munge_hosts;
	asked.host_count = s->params.munge_host_count;

	if (munge_request_is_bound(m))
		return munge_request_check(m, &asked, proof->body, err);
	if (m->payload.len < n || memcmp(m->payload.data, SENDER_MUNGE_PAYLOAD, n) != 0)
		return err_set(err, -EACCES,
			       "the MUNGE credential was not made to send reports");
	if (!s->params.munge_unbound)
		return err_set(
			err, -EACCES,
			"the MUNGE credential is in the format of an earlier release, "
			"which is not bound to a host (identity.munge-unbound)");
	return 0;
}

int sender_may(const struct sender *s, const struct munge_facts *m,
	       const struct munge_asked *asked, struct sender_proof *proof,
	       struct err *err)
{
	static const struct netaddr unspecified = {.b = {[10] = 0xff, [11] = 0xff}};
	struct ingest_party *p = &proof->party;
	int rc;

	if (m->rc < 0)
		return m->rc == -EHOSTDOWN ? -EHOSTDOWN : -EACCES;
	rc = check_sender_munge(s, m, *asked, proof, err);
	if (rc < 0)
		return rc;
	p->kind = PARTY_MUNGE;
	p->uid = m->uid;
	p->is_host = is_our_host;
	p->arg = proof;
	/* if the daemon's host has no network address, use the connection's */
	proof->host = m->origin;
	if (p->has_peer && (netaddr_is_loopback(&m->origin) ||
			    netaddr_equal(&m->origin, &unspecified)))
		proof->host = p->peer;
	add_rights(s, p);
	return p->reports || p->jobs || p->claims
		       ? 0
		       : err_set(err, -EPERM,
				 "uid %u may not send reports (ingest.user, "
				 "ingest.jobs-from, ingest.claims-from)",
				 m->uid);
}

int sender_has_sent(const struct munge_facts *m, const struct sender_proof *proof,
		    const void *body, size_t len, struct err *err)
{
	if (*proof->body)
		return munge_request_check_body(proof->body, body, len, err);
	return is_of_body(m, body, len)
		       ? 0
		       : err_set(err, -EACCES,
				 "the MUNGE credential was made for other reports");
}

void sender_who(const struct sender_proof *proof, const char *authorization,
		char ret[SENDER_WHO_BYTES])
{
	const struct ingest_party *p = &proof->party;
	unsigned char h[HASH_BYTES] = {0};
	char address[NETADDR_TEXT_MAX];

	switch (p->kind) {
	case PARTY_MUNGE:
		netaddr_text(&proof->host, address);
		snprintf(ret, SENDER_WHO_BYTES, "munge %s", address);
		return;
	case PARTY_CERTIFICATE:
		snprintf(ret, SENDER_WHO_BYTES, "certificate %.*s",
			 SENDER_WHO_BYTES - 16, p->name_count ? p->names[0] : "");
		return;
	default:
		if (authorization)
			(void)gnutls_hash_fast(GNUTLS_DIG_SHA256, authorization,
					       strlen(authorization), h);
		snprintf(ret, SENDER_WHO_BYTES, "token %02x%02x%02x%02x%02x%02x", h[0],
			 h[1], h[2], h[3], h[4], h[5]);
	}
}
