/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A map of positive numbers, by open addressing. */
#include "aggregator/ingest/ingest_known.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "lib/siphash.h"

#define FIRST_SLOTS 1024u

struct known_slot {
	int64_t instance; /* 0: free */
	struct known_place at;
};

struct known {
	pthread_mutex_t mutex;
	struct known_slot *slots;
	size_t slot_count, count, max;
	uint64_t forgotten;
	uint64_t key[2]; /* of owners */
};

static size_t find_known_place(const struct known *k, int64_t instance)
{
	uint64_t h = (uint64_t)instance * 0x9e3779b97f4a7c15ull;
	size_t i = (size_t)(h >> 20) & (k->slot_count - 1);

	while (k->slots[i].instance && k->slots[i].instance != instance)
		i = (i + 1) & (k->slot_count - 1);
	return i;
}

struct known *known_new(size_t max)
{
	struct known *k = calloc(1, sizeof(*k));

	if (!k)
		return NULL;
	pthread_mutex_init(&k->mutex, NULL);
	k->max = max;
	k->slot_count = FIRST_SLOTS;
	k->slots = calloc(k->slot_count, sizeof(*k->slots));
	if (!k->slots || getrandom(k->key, sizeof(k->key), 0) != sizeof(k->key)) {
		known_free(k);
		return NULL;
	}
	return k;
}

void known_free(struct known *k)
{
	if (!k)
		return;
	pthread_mutex_destroy(&k->mutex);
	free(k->slots);
	free(k);
}

bool known_has(struct known *k, int64_t instance, struct known_place *ret)
{
	pthread_mutex_lock(&k->mutex);
	const struct known_slot *s = &k->slots[find_known_place(k, instance)];
	bool has = s->instance == instance;
	if (has)
		*ret = s->at;
	pthread_mutex_unlock(&k->mutex);
	return has;
}

/* Keeps it at most half full, or searches would not end. False: no memory. */
static bool more_slots(struct known *k)
{
	struct known_slot *old = k->slots;
	size_t n = k->slot_count;
	struct known_slot *slots = calloc(n * 2, sizeof(*slots));

	if (!slots)
		return false;
	k->slots = slots;
	k->slot_count = n * 2;
	for (size_t i = 0; i < n; i++) {
		if (old[i].instance)
			slots[find_known_place(k, old[i].instance)] = old[i];
	}
	free(old);
	return true;
}

static void forget_all_known(struct known *k)
{
	memset(k->slots, 0, k->slot_count * sizeof(*k->slots));
	k->count = 0;
}

void known_put(struct known *k, int64_t instance, struct known_place at)
{
	if (instance <= 0)
		return;
	pthread_mutex_lock(&k->mutex);
	if (k->count >= k->max)
		forget_all_known(k);
	if (k->count * 2 < k->slot_count || more_slots(k)) {
		size_t i = find_known_place(k, instance);
		k->count += !k->slots[i].instance;
		k->slots[i] = (struct known_slot){instance, at};
	}
	pthread_mutex_unlock(&k->mutex);
}

void known_forget(struct known *k)
{
	pthread_mutex_lock(&k->mutex);
	forget_all_known(k);
	k->forgotten++;
	pthread_mutex_unlock(&k->mutex);
}

uint64_t known_forgotten(struct known *k)
{
	pthread_mutex_lock(&k->mutex);
	uint64_t n = k->forgotten;
	pthread_mutex_unlock(&k->mutex);
	return n;
}

size_t known_count(struct known *k)
{
	pthread_mutex_lock(&k->mutex);
	size_t n = k->count;
	pthread_mutex_unlock(&k->mutex);
	return n;
}

uint64_t known_owner(const struct known *k, const char *cluster, const char *node)
{
	if (!cluster || !node)
		return 0;
	const uint64_t both[] = {siphash13(k->key, cluster, strlen(cluster)),
				 siphash13(k->key, node, strlen(node))};
	uint64_t owner = siphash13(k->key, both, sizeof(both));

	return owner ? owner : 1;
}
