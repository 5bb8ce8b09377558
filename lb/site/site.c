/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A reference-counted site. */
#include "lb/site/site.h"

#include <stdlib.h>
#include <string.h>

#include "lb/site/site_impl.h"

static struct site_store *store_of_site(const struct site *s)
{
	return (struct site_store *)(uintptr_t)s;
}

struct site *site_ref(struct site *s)
{
	atomic_fetch_add(&store_of_site(s)->refs, 1);
	return s;
}

void site_unref(struct site *s)
{
	if (!s || atomic_fetch_sub(&store_of_site(s)->refs, 1) != 1)
		return;
	for (size_t i = 0; i < s->cluster_count; i++) {
		for (int p = 0; p < SITE_PROTOCOLS; p++)
			backend_set_free(s->clusters[i].backends[p]);
	}
	arena_done(&store_of_site(s)->arena);
	free(s);
}

const struct site_cluster *site_cluster(const struct site *s, const char *id)
{
	for (size_t i = 0; i < s->cluster_count; i++) {
		if (strcmp(s->clusters[i].id, id) == 0)
			return &s->clusters[i];
	}
	return NULL;
}
