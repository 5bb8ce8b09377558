/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A node may have thousands of pods, and each event of inotify is of one of them. */
#include "contrib/k8s/group_index.h"

#include <stdlib.h>
#include <string.h>

#include "lib/crc32c.h"

static unsigned bucket_of_path(const char *path)
{
	return crc32c(0, path, strlen(path)) & (GROUP_INDEX_BUCKETS - 1);
}

/* the kernel counts them up */
static unsigned bucket_of_watch(int wd)
{
	return (unsigned)wd & (GROUP_INDEX_BUCKETS - 1);
}

void group_index_add(struct group_index *x, struct group_entry *e, const char *path)
{
	struct group_entry **bucket = &x->by_path[bucket_of_path(path)];

	*e = (struct group_entry){.path = path, .wd = -1, .next_path = *bucket};
	*bucket = e;
}

void group_index_watch(struct group_index *x, struct group_entry *e, int wd)
{
	struct group_entry **at = &x->by_wd[bucket_of_watch(e->wd)];

	if (e->wd >= 0) {
		while (*at != e)
			at = &(*at)->next_wd;
		*at = e->next_wd;
	}
	e->wd = wd;
	if (wd >= 0) {
		at = &x->by_wd[bucket_of_watch(wd)];
		e->next_wd = *at;
		*at = e;
	}
}

void group_index_remove(struct group_index *x, struct group_entry *e)
{
	struct group_entry **at = &x->by_path[bucket_of_path(e->path)];

	group_index_watch(x, e, -1);
	while (*at != e)
		at = &(*at)->next_path;
	*at = e->next_path;
}

struct group_entry *group_index_find(const struct group_index *x, const char *path)
{
	struct group_entry *e = x->by_path[bucket_of_path(path)];

	while (e && strcmp(e->path, path) != 0)
		e = e->next_path;
	return e;
}

struct group_entry *group_index_of_watch(const struct group_index *x, int wd)
{
	struct group_entry *e = x->by_wd[bucket_of_watch(wd)];

	while (e && e->wd != wd)
		e = e->next_wd;
	return e;
}

struct group_entry *group_index_next(const struct group_index *x,
				     const struct group_entry *e)
{
	unsigned b = e ? bucket_of_path(e->path) + 1 : 0;

	if (e && e->next_path)
		return e->next_path;
	while (b < GROUP_INDEX_BUCKETS && !x->by_path[b])
		b++;
	return b < GROUP_INDEX_BUCKETS ? x->by_path[b] : NULL;
}

void group_index_free(struct group_index *x)
{
	struct group_entry *next;

	for (struct group_entry *e = group_index_next(x, NULL); e; e = next) {
		next = group_index_next(x, e);
		free(e);
	}
}
