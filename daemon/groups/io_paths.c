/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/groups/io_paths.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "lib/prom.h"
#include "lib/siphash.h"

#define BUCKETS 1024u

struct io_paths {
	uint64_t key[2]; /* users choose the paths */
	uint32_t count;
	struct io_path *buckets[BUCKETS];
};

int io_paths_new(struct io_paths **ret)
{
	struct io_paths *p = calloc(1, sizeof(*p));

	if (!p)
		return -ENOMEM;
	/* without random numbers lookups may be slow, no more */
	(void)!getrandom(p->key, sizeof(p->key), GRND_NONBLOCK);
	*ret = p;
	return 0;
}

void io_paths_free(struct io_paths *p)
{
	if (!p)
		return;
	for (uint32_t i = 0; i < BUCKETS; i++) {
		for (struct io_path *at = p->buckets[i], *next; at; at = next) {
			next = at->next;
			free(at);
		}
	}
	free(p);
}

static struct io_path *make_path(const char *text)
{
	const struct prom_label mountpoint = {"mountpoint", text};
	size_t bytes = strlen(text) + 1;
	auto_buf struct buf block = BUF_INIT;

	prom_render_labels(&block, &mountpoint, 1);
	if (buf_error(&block))
		return NULL;
	struct io_path *path = malloc(sizeof(*path) + bytes + block.len);
	if (!path)
		return NULL;
	*path = (struct io_path){.label = path->text + bytes,
				 .label_len = (uint32_t)block.len - 1};
	memcpy(path->text, text, bytes);
	/* others come before it */
	memcpy(path->text + bytes, block.data + 1, block.len - 1);
	return path;
}

struct io_path *io_paths_take(struct io_paths *p, const char *text)
{
	uint64_t hash = siphash13(p->key, text, strlen(text));
	struct io_path **bucket = &p->buckets[hash % BUCKETS], *path = *bucket;

	while (path && (path->hash != hash || strcmp(path->text, text) != 0))
		path = path->next;
	if (!path) {
		path = make_path(text);
		if (!path)
			return NULL;
		path->hash = hash;
		path->next = *bucket;
		*bucket = path;
		p->count++;
	}
	path->uses++;
	return path;
}

void io_paths_hold(struct io_path *path)
{
	path->uses++;
}

void io_paths_drop(struct io_paths *p, struct io_path *path)
{
	if (!path || --path->uses)
		return;
	struct io_path **at = &p->buckets[path->hash % BUCKETS];
	while (*at != path)
		at = &(*at)->next;
	*at = path->next;
	p->count--;
	free(path);
}

uint32_t io_paths_count(const struct io_paths *p)
{
	return p->count;
}
