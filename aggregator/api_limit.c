/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A table of this minute's users; entries of users without a request in it are
 * reused. */
#include "aggregator/api_limit.h"

#include <pthread.h>
#include <stdlib.h>

#define MINUTE_NS (60ull * 1000000000)
#define PROBES 16

struct limit_slot {
	uint64_t hash; /* of the login: users with the same hash share a limit */
	uint64_t minute;
	uint64_t count;
};

struct api_limit {
	uint64_t most;
	pthread_mutex_t mutex;
	struct limit_slot slots[API_LIMIT_USERS];
};

struct api_limit *api_limit_new(uint64_t most)
{
	struct api_limit *l = calloc(1, sizeof(*l));

	if (!l)
		return NULL;
	l->most = most;
	pthread_mutex_init(&l->mutex, NULL);
	return l;
}

void api_limit_free(struct api_limit *l)
{
	if (!l)
		return;
	pthread_mutex_destroy(&l->mutex);
	free(l);
}

static uint64_t hash_of(const char *s)
{
	uint64_t h = 0xcbf29ce484222325ull; /* FNV-1a */

	for (; *s; s++)
		h = (h ^ (unsigned char)*s) * 0x100000001b3ull;
	return h;
}

bool api_limit_take(struct api_limit *l, const char *login, uint64_t now_ns)
{
	uint64_t hash = hash_of(login), minute = now_ns / MINUTE_NS + 1;
	struct limit_slot *mine = NULL;
	bool good = true;

	if (!l->most)
		return true;
	pthread_mutex_lock(&l->mutex);
	for (uint64_t i = 0; i < PROBES; i++) {
		struct limit_slot *s = &l->slots[(hash + i) % API_LIMIT_USERS];
		if (s->minute == minute && s->hash == hash) {
			mine = s;
			break;
		}
		if (s->minute != minute && !mine)
			mine = s;
	}
	if (mine && (mine->minute != minute || mine->hash != hash))
		*mine = (struct limit_slot){.hash = hash, .minute = minute};
	if (mine)
		good = ++mine->count <= l->most;
	pthread_mutex_unlock(&l->mutex);
	return good;
}
