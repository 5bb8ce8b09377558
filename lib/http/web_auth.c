/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Passwords: one slow check per new credential, on a separate thread, for all requests
 * with the same one; then a table of keyed digests and, before that, a tag per
 * connection of what it proved last. A wrong password, an unknown user and a known one
 * take the same time. */
#include "lib/http/web_auth.h"

#include <crypt.h>
#include <errno.h>
#include <gnutls/crypto.h>
#include <gnutls/gnutls.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "lib/base64.h"
#include "lib/cleanup.h"
#include "lib/clock.h"
#include "lib/siphash.h"
#include "lib/turns.h"
#include "lib/wait.h"

#define MAC_BYTES 32
#define GOOD_MAX WEB_CONFIG_USERS_MAX /* one correct password per user */
#define BAD_MAX 64
/* A good verdict lives as long as it is used, over nights and holidays: bcrypt would
 * give the same. The hash and the number of the configuration are in the digest, so a
 * changed password, and SIGHUP, end it at once. */
#define GOOD_NS (7 * 86400 * NSEC_PER_SEC)
#define BAD_NS (10 * NSEC_PER_SEC)
/* Interval at which a busy connection looks into the table, which keeps its verdict
 * alive for others. */
#define KNOWN_NS (10 * NSEC_PER_SEC)
#define NAME_MAX_BYTES 256
#define PASSWORD_MAX_BYTES 512

struct seen_credential {
	unsigned char mac[MAC_BYTES];
	uint64_t until_ns; /* 0: free */
};

struct auth_job {
	struct fair_item item;
	/* jobs with the same credential, which share this one's verdict: no more than
	 * there are requests */
	struct auth_job *same;
	char hash[61];
	bool known; /* the user exists */
	uint64_t reading;
	/* by client and user: guesses at one user do not delay others, who may come
	 * through the same proxy */
	uint64_t lane;
	char password[PASSWORD_MAX_BYTES];
	unsigned char mac[MAC_BYTES];
	auth_done_f done;
	void *arg;
};

struct web_auth {
	pthread_mutex_t mutex;
	pthread_cond_t more;
	pthread_t thread;
	bool has_thread, stopping;
	unsigned char key[MAC_BYTES];
	uint64_t tag_keys[2][2];
	struct seen_credential good[GOOD_MAX], bad[BAD_MAX];
	struct auth_job *running; /* NULL: none */
	struct turns turns;       /* waiting jobs */
	unsigned computed;
};

int web_auth_new(struct web_auth **ret, struct err *err)
{
	struct web_auth *a = calloc(1, sizeof(*a));

	if (!a)
		return err_set(err, -ENOMEM, "web: out of memory");
	if (gnutls_rnd(GNUTLS_RND_KEY, a->key, sizeof(a->key)) < 0 ||
	    gnutls_rnd(GNUTLS_RND_KEY, a->tag_keys, sizeof(a->tag_keys)) < 0) {
		free(a);
		return err_set(err, -EIO, "web: no random numbers");
	}
	pthread_mutex_init(&a->mutex, NULL);
	wait_cond_init(&a->more);
	turns_init(&a->turns, AUTH_QUEUE_MAX, AUTH_LANE_MAX, NSEC_PER_SEC);
	*ret = a;
	return 0;
}

static void job_free(struct auth_job *j)
{
	if (j)
		explicit_bzero(j, sizeof(*j));
	free(j);
}

void web_auth_stop(struct web_auth *a)
{
	pthread_mutex_lock(&a->mutex);
	a->stopping = true;
	bool join = a->has_thread;
	a->has_thread = false;
	pthread_cond_broadcast(&a->more);
	pthread_mutex_unlock(&a->mutex);
	if (join)
		pthread_join(a->thread, NULL);
}

void web_auth_free(struct web_auth *a)
{
	if (!a)
		return;
	web_auth_stop(a);
	pthread_cond_destroy(&a->more);
	pthread_mutex_destroy(&a->mutex);
	explicit_bzero(a, sizeof(*a));
	free(a);
}

int web_auth_decode(const char *header, char *ret_name, size_t name_size,
		    char *ret_password, size_t password_size)
{
	if (strncasecmp(header, "Basic ", 6) != 0)
		return -EINVAL;
	header += 6;
	header += strspn(header, " ");
	size_t len = strlen(header);
	if (!len || len > 2ul * (NAME_MAX_BYTES + PASSWORD_MAX_BYTES))
		return -EINVAL;
	char text[BASE64_BYTES(2 * (NAME_MAX_BYTES + PASSWORD_MAX_BYTES))];
	ssize_t size = base64_decode(header, len, BASE64_PADDED, text, sizeof(text));
	if (size < 0)
		return -EINVAL;
	int rc = -EINVAL;
	const char *colon = memchr(text, ':', (size_t)size);
	if (colon && !memchr(text, '\0', (size_t)size)) {
		size_t name_len = (size_t)(colon - text);
		size_t password_len = (size_t)size - name_len - 1;
		if (name_len < name_size && password_len < password_size) {
			memcpy(ret_name, text, name_len);
			ret_name[name_len] = '\0';
			memcpy(ret_password, colon + 1, password_len);
			ret_password[password_len] = '\0';
			rc = 0;
		}
	}
	explicit_bzero(text, sizeof(text));
	return rc;
}

/* A valid hash without a password, as expensive as the most expensive of the users'. */
static void dummy_hash(const struct web_config *users, char ret[61])
{
	char cost[3] = "04";

	for (size_t i = 0; i < users->user_count; i++) {
		if (memcmp(users->users[i].hash + 4, cost, 2) > 0)
			memcpy(cost, users->users[i].hash + 4, 2);
	}
	memcpy(ret,
	       "$2b$04$"
	       "abcdefghijklmnopqrstuu"
	       "...............................",
	       61);
	ret[4] = cost[0];
	ret[5] = cost[1];
}

static int digest_credential(struct web_auth *a, const char *name,
			     const struct auth_job *j, unsigned char ret[MAC_BYTES])
{
	gnutls_hmac_hd_t h;
	/* with their NULs the three strings are unambiguous */
	if (gnutls_hmac_init(&h, GNUTLS_MAC_SHA256, a->key, sizeof(a->key)) < 0)
		return -ENOMEM;
	int rc = gnutls_hmac(h, name, strlen(name) + 1);
	rc |= gnutls_hmac(h, j->password, strlen(j->password) + 1);
	rc |= gnutls_hmac(h, j->hash, sizeof(j->hash));
	rc |= gnutls_hmac(h, &j->reading, sizeof(j->reading));
	gnutls_hmac_deinit(h, ret);
	return rc ? -EIO : 0;
}

/* Constant time in the digest; the position tells nothing about it. */
static struct seen_credential *seen_find(struct seen_credential *table, size_t count,
					 const unsigned char mac[MAC_BYTES],
					 uint64_t now_ns)
{
	for (size_t i = 0; i < count; i++) {
		if (table[i].until_ns > now_ns &&
		    gnutls_memcmp(table[i].mac, mac, MAC_BYTES) == 0)
			return &table[i];
	}
	return NULL;
}

static void seen_add(struct seen_credential *table, size_t count,
		     const unsigned char mac[MAC_BYTES], uint64_t until_ns)
{
	struct seen_credential *oldest = &table[0];

	for (size_t i = 1; i < count; i++) {
		if (table[i].until_ns < oldest->until_ns)
			oldest = &table[i];
	}
	memcpy(oldest->mac, mac, MAC_BYTES);
	oldest->until_ns = until_ns;
}

static enum auth_verdict find_remembered(struct web_auth *a, const struct auth_job *j)
{
	uint64_t now_ns = clock_boottime_ns();
	struct seen_credential *s = seen_find(a->good, GOOD_MAX, j->mac, now_ns);

	if (s) {
		s->until_ns = now_ns + GOOD_NS;
		return AUTH_GOOD;
	}
	return seen_find(a->bad, BAD_MAX, j->mac, now_ns) ? AUTH_BAD : AUTH_PENDING;
}

/* Looks a header up in the table. *ret_user: its user, if it is good. */
static enum auth_verdict
look_up_header(struct web_auth *a, const struct web_config *users, const char *header,
	       char ret_user[NAME_MAX_BYTES], struct auth_job **ret_job)
{
	struct auth_job *j = calloc(1, sizeof(*j));

	if (!j)
		return AUTH_BAD;
	if (web_auth_decode(header, ret_user, NAME_MAX_BYTES, j->password,
			    sizeof(j->password)) < 0) {
		job_free(j);
		return AUTH_BAD;
	}
	j->reading = users->reading;
	dummy_hash(users, j->hash);
	for (size_t i = 0; i < users->user_count; i++) {
		if (strcmp(users->users[i].name, ret_user) == 0) {
			memcpy(j->hash, users->users[i].hash, sizeof(j->hash));
			j->known = true;
		}
	}
	/* all unknown users share one lane */
	j->lane = j->known ? siphash13(a->tag_keys[0], ret_user, strlen(ret_user)) : 0;
	enum auth_verdict v = AUTH_BAD;
	if (digest_credential(a, ret_user, j, j->mac) == 0) {
		pthread_mutex_lock(&a->mutex);
		v = find_remembered(a, j);
		pthread_mutex_unlock(&a->mutex);
	}
	if (v == AUTH_PENDING)
		*ret_job = j;
	else
		job_free(j);
	return v;
}

/* Compares with struct auth_known in constant time; *ret: the expected tag. */
static bool matches_known(const struct web_auth *a, const struct web_config *users,
			  const char *header, const struct auth_known *is,
			  struct auth_known *ret)
{
	uint64_t now_ns = clock_boottime_ns();
	size_t len = strlen(header);

	ret->tag[0] = siphash13(a->tag_keys[0], header, len);
	ret->tag[1] = siphash13(a->tag_keys[1], header, len);
	ret->reading = users->reading;
	ret->until_ns = now_ns + KNOWN_NS;
	return is->until_ns > now_ns && is->reading == ret->reading &&
	       ((is->tag[0] ^ ret->tag[0]) | (is->tag[1] ^ ret->tag[1])) == 0;
}

enum auth_verdict web_auth_check(struct web_auth *a, const struct web_config *users,
				 const char *header, struct auth_known *known,
				 struct auth_job **ret_job)
{
	struct auth_known fresh;
	char user[NAME_MAX_BYTES];

	if (!header)
		return AUTH_BAD;
	if (known && matches_known(a, users, header, known, &fresh))
		return AUTH_GOOD;
	enum auth_verdict v = look_up_header(a, users, header, user, ret_job);
	if (!known)
		return v;
	known->until_ns = 0;
	if (v == AUTH_GOOD && strlen(user) < sizeof(known->user)) {
		memcpy(fresh.user, user, strlen(user) + 1);
		*known = fresh;
	}
	return v;
}

static bool password_matches(const struct auth_job *j)
{
	struct crypt_data *data = calloc(1, sizeof(*data));

	if (!data)
		return false;
	const char *got = crypt_r(j->password, j->hash, data);
	bool good = got && strlen(got) == 60 && gnutls_memcmp(got, j->hash, 60) == 0;
	explicit_bzero(data, sizeof(*data));
	free(data);
	return good && j->known;
}

/* Mutex held, but released while bcrypt runs. */
static enum auth_verdict decide_password(struct web_auth *a, const struct auth_job *j)
{
	if (a->stopping)
		return AUTH_BAD;
	pthread_mutex_unlock(&a->mutex);
	uint64_t began_ns = clock_read_ns(CLOCK_MONOTONIC);
	enum auth_verdict v = password_matches(j) ? AUTH_GOOD : AUTH_BAD;
	uint64_t took_ns = clock_read_ns(CLOCK_MONOTONIC) - began_ns;
	pthread_mutex_lock(&a->mutex);
	a->computed++;
	uint64_t now_ns = clock_boottime_ns();
	if (v == AUTH_GOOD) {
		seen_add(a->good, GOOD_MAX, j->mac, now_ns + GOOD_NS);
	} else {
		seen_add(a->bad, BAD_MAX, j->mac, now_ns + BAD_NS);
		turns_charge(&a->turns, j->lane, took_ns,
			     clock_read_ns(CLOCK_MONOTONIC));
	}
	return v;
}

/* Takes over the job and those waiting with it. */
static void tell_all(struct auth_job *j, enum auth_verdict v)
{
	while (j) {
		struct auth_job *next = j->same;
		j->done(j->arg, v);
		job_free(j);
		j = next;
	}
}

/* Waits for the next job. NULL: there will be none. */
static struct auth_job *next_auth_job(struct web_auth *a)
{
	for (;;) {
		uint64_t now_ns =
			a->stopping ? UINT64_MAX : clock_read_ns(CLOCK_MONOTONIC);
		uint64_t at_ns;
		struct fair_item *i = turns_pop(&a->turns, now_ns, &at_ns);
		if (i || a->stopping)
			return (struct auth_job *)i;
		wait_until(&a->more, &a->mutex, at_ns);
	}
}

static void *auth_thread(void *arg)
{
	struct web_auth *a = arg;
	struct auth_job *j;

	pthread_mutex_lock(&a->mutex);
	while ((j = next_auth_job(a))) {
		a->running = j;
		enum auth_verdict v = decide_password(a, j);
		a->running = NULL;
		pthread_mutex_unlock(&a->mutex);
		tell_all(j, v);
		pthread_mutex_lock(&a->mutex);
	}
	pthread_mutex_unlock(&a->mutex);
	return NULL;
}

static int has_mac(const struct fair_item *item, const void *mac)
{
	const struct auth_job *j = (const struct auth_job *)(const void *)item;

	return gnutls_memcmp(j->mac, mac, MAC_BYTES) == 0;
}

/* A waiting or running job with the same verdict; NULL: none. */
static struct auth_job *find_same(struct web_auth *a, const struct auth_job *job)
{
	if (a->running && has_mac(&a->running->item, job->mac))
		return a->running;
	return (struct auth_job *)turns_find(&a->turns, has_mac, job->mac);
}

static int queue_job(struct web_auth *a, struct auth_job *job)
{
	if (!a->has_thread) {
		int rc = -pthread_create(&a->thread, NULL, auth_thread, a);
		if (rc < 0)
			return rc;
	}
	a->has_thread = true;
	int rc = turns_push(&a->turns, &job->item, job->lane,
			    clock_read_ns(CLOCK_MONOTONIC));
	if (rc == 0)
		pthread_cond_signal(&a->more);
	return rc;
}

int web_auth_submit(struct web_auth *a, struct auth_job *job, uint64_t client,
		    auth_done_f done, void *arg)
{
	enum auth_verdict v = AUTH_PENDING;
	const uint64_t lane[2] = {client, job->lane};
	int rc = 0;

	job->done = done;
	job->arg = arg;
	job->lane = siphash13(a->tag_keys[1], lane, sizeof(lane));
	pthread_mutex_lock(&a->mutex);
	struct auth_job *same = find_same(a, job);
	if (a->stopping) {
		rc = -ESHUTDOWN;
	} else if (same) {
		explicit_bzero(job->password, sizeof(job->password));
		job->same = same->same;
		same->same = job;
	} else {
		/* it may have been decided since web_auth_check() */
		v = find_remembered(a, job);
		if (v == AUTH_PENDING)
			rc = queue_job(a, job);
	}
	pthread_mutex_unlock(&a->mutex);
	if (rc < 0)
		job_free(job);
	else if (v != AUTH_PENDING)
		tell_all(job, v);
	return rc;
}

unsigned web_auth_computed(struct web_auth *a)
{
	pthread_mutex_lock(&a->mutex);
	unsigned n = a->computed;
	pthread_mutex_unlock(&a->mutex);
	return n;
}
