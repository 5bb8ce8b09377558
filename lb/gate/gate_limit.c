/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A token bucket per user, in thousandths of requests, filled by the clock. */
#include "lb/gate/gate_limit.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "lib/identity/identity.h"

#define BUCKETS 4096u

struct user {
	struct user *next;
	char login[IDENTITY_LOGIN_BYTES];
	uint32_t busy;
	uint64_t at_ms, milli; /* contents of the bucket at at_ms */
};

struct gate_limits {
	pthread_mutex_t mutex;
	size_t count;
	struct user *buckets[BUCKETS];
};

int gate_limits_new(struct gate_limits **ret)
{
	struct gate_limits *l = calloc(1, sizeof(*l));

	if (!l)
		return -ENOMEM;
	pthread_mutex_init(&l->mutex, NULL);
	*ret = l;
	return 0;
}

void gate_limits_free(struct gate_limits *l)
{
	if (!l)
		return;
	for (unsigned i = 0; i < BUCKETS; i++)
		while (l->buckets[i]) {
			struct user *u = l->buckets[i];

			l->buckets[i] = u->next;
			free(u);
		}
	pthread_mutex_destroy(&l->mutex);
	free(l);
}

static struct user **bucket_of(struct gate_limits *l, const char *login)
{
	uint64_t h = 0xcbf29ce484222325ull; /* FNV-1a: logins are the site's */

	for (; *login; login++)
		h = (h ^ (unsigned char)*login) * 0x100000001b3ull;
	return &l->buckets[(h ^ h >> 32) % BUCKETS];
}

/* Makes room in a hash bucket: drops users with no running request and a full token
 * bucket. */
static void forget_idle_users(struct gate_limits *l, struct user **at, uint64_t now_ms)
{
	while (*at) {
		struct user *u = *at;

		if (u->busy || now_ms - u->at_ms < 60000) {
			at = &u->next;
			continue;
		}
		*at = u->next;
		free(u);
		l->count--;
	}
}

static struct user *find_limited_user(struct gate_limits *l, const char *login,
				      uint64_t now_ms, uint64_t full)
{
	struct user **at = bucket_of(l, login), *u;

	for (u = *at; u; u = u->next)
		if (!strcmp(u->login, login))
			return u;
	forget_idle_users(l, at, now_ms);
	if (l->count >= GATE_LIMIT_USERS || strlen(login) >= sizeof(u->login))
		return NULL;
	u = calloc(1, sizeof(*u));
	if (!u)
		return NULL;
	memcpy(u->login, login, strlen(login) + 1);
	u->at_ms = now_ms;
	u->milli = full;
	u->next = *at;
	*at = u;
	l->count++;
	return u;
}

static enum gate_limited take_from_bucket(struct user *u, const struct gate_rate *rate,
					  uint64_t now_ms, uint64_t full,
					  uint32_t *ret_wait_s)
{
	uint64_t more;

	if (rate->at_a_time && u->busy >= rate->at_a_time) {
		*ret_wait_s = 1;
		return GATE_BUSY;
	}
	if (rate->per_s) {
		/* per_s requests a second are per_s thousandths a millisecond */
		more = (now_ms - u->at_ms) * rate->per_s;
		u->milli = more >= full - (u->milli < full ? u->milli : full)
				   ? full
				   : u->milli + more;
		u->at_ms = now_ms;
		if (u->milli < 1000) {
			*ret_wait_s =
				(uint32_t)((1000 - u->milli) / rate->per_s / 1000) + 1;
			return GATE_FAST;
		}
		u->milli -= 1000;
	}
	u->at_ms = now_ms;
	u->busy++;
	return GATE_MAY;
}

enum gate_limited gate_limit_begin(struct gate_limits *l, const char *login,
				   const struct gate_rate *rate, uint64_t now_ms,
				   uint32_t *ret_wait_s)
{
	uint64_t full = 1000ull * (rate->burst ? rate->burst : rate->per_s);
	enum gate_limited verdict = GATE_BUSY;
	struct user *u;

	*ret_wait_s = 1;
	pthread_mutex_lock(&l->mutex);
	u = find_limited_user(l, login, now_ms, full);
	if (u)
		verdict = take_from_bucket(u, rate, now_ms, full, ret_wait_s);
	pthread_mutex_unlock(&l->mutex);
	return verdict;
}

void gate_limit_end(struct gate_limits *l, const char *login)
{
	pthread_mutex_lock(&l->mutex);
	for (struct user *u = *bucket_of(l, login); u; u = u->next)
		if (!strcmp(u->login, login)) {
			if (u->busy)
				u->busy--;
			break;
		}
	pthread_mutex_unlock(&l->mutex);
}
