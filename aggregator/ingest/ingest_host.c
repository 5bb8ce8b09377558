/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A table indexed by a hash of node and address; a collision replaces the entry. */
#include "aggregator/ingest/ingest_host.h"

#include <errno.h>
#include <netdb.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/clock.h"
#include "lib/own_host.h"

#define SLOTS 4096u
#define NODE_BYTES 256
#define YES_NS (300 * NSEC_PER_SEC)
#define NO_NS (30 * NSEC_PER_SEC) /* also for a name service that does not answer */

struct host_slot {
	char node[NODE_BYTES]; /* "": free */
	struct netaddr host;
	int verdict;
	uint64_t until_ns;
};

struct ingest_hosts {
	pthread_mutex_t mutex;
	struct host_slot slots[SLOTS];
};

int ingest_hosts_new(struct ingest_hosts **ret, struct err *err)
{
	struct ingest_hosts *h = calloc(1, sizeof(*h));

	if (!h)
		return err_set(err, -ENOMEM, "out of memory");
	pthread_mutex_init(&h->mutex, NULL);
	*ret = h;
	return 0;
}

void ingest_hosts_free(struct ingest_hosts *h)
{
	if (!h)
		return;
	pthread_mutex_destroy(&h->mutex);
	free(h);
}

static struct host_slot *find_host_slot(struct ingest_hosts *h, const char *node,
					const struct netaddr *host)
{
	uint64_t hash = 0xcbf29ce484222325ull; /* FNV-1a */

	for (const char *s = node; *s; s++)
		hash = (hash ^ (unsigned char)*s) * 0x100000001b3ull;
	for (size_t i = 0; i < sizeof(host->b); i++)
		hash = (hash ^ host->b[i]) * 0x100000001b3ull;
	return &h->slots[(hash ^ hash >> 32) % SLOTS];
}

static int look_up_host(const char *node, const struct netaddr *host, struct err *err)
{
	const struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
	struct addrinfo *list = NULL;
	bool here = netaddr_is_own(host), fits = here && own_host_is_named(node);

	if (fits)
		return 1;
	int rc = getaddrinfo(node, NULL, &hints, &list);
	if (rc == EAI_AGAIN || rc == EAI_SYSTEM || rc == EAI_MEMORY)
		return err_set(err, -EHOSTDOWN,
			       "the name service has no answer now for host %.64s",
			       node);
	for (const struct addrinfo *i = rc ? NULL : list; i && !fits; i = i->ai_next) {
		struct netaddr one;
		fits = netaddr_from(i->ai_addr, &one) == 0 &&
		       (netaddr_equal(host, &one) ||
			(here && netaddr_is_loopback(&one)));
	}
	if (rc == 0)
		freeaddrinfo(list);
	return fits;
}

int ingest_host_is(struct ingest_hosts *h, const char *node, const struct netaddr *host,
		   struct err *err)
{
	struct host_slot *s = find_host_slot(h, node, host);
	uint64_t now = clock_boottime_ns();
	struct netaddr address;

	/* an address is not a name: whoever chooses the name must not choose the
	 * address */
	if (!*node || strlen(node) >= NODE_BYTES || netaddr_parse(node, &address) == 0)
		return 0;
	pthread_mutex_lock(&h->mutex);
	bool hit = strcmp(s->node, node) == 0 && netaddr_equal(&s->host, host) &&
		   now < s->until_ns;
	int rc = s->verdict;
	pthread_mutex_unlock(&h->mutex);
	if (hit && rc < 0)
		return err_set(err, rc, "the name service had no answer for host %.64s",
			       node);
	if (hit)
		return rc;
	rc = look_up_host(node, host, err);
	pthread_mutex_lock(&h->mutex);
	snprintf(s->node, sizeof(s->node), "%s", node);
	s->host = *host;
	s->verdict = rc;
	s->until_ns = clock_boottime_ns() + (rc > 0 ? YES_NS : NO_NS);
	pthread_mutex_unlock(&h->mutex);
	return rc;
}
