/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The query as an object: the whole tree in an arena that grows and is freed at
 * once. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lb/promql/promql_impl.h"

struct promql_chunk {
	struct promql_chunk *next;
	char data[];
};
#define CHUNK_BYTES 16384u

void *promql_alloc(struct promql *q, size_t size)
{
	void *p;

	size = (size + 15) & ~(size_t)15;
	if (size > q->left) {
		size_t room = size > CHUNK_BYTES ? size : CHUNK_BYTES;
		struct promql_chunk *c = malloc(sizeof(*c) + room + 16);

		if (!c)
			return NULL;
		c->next = q->chunks;
		q->chunks = c;
		q->room = (char *)(((uintptr_t)c->data + 15) & ~(uintptr_t)15);
		q->left = room;
	}
	p = q->room;
	q->room += size;
	q->left -= size;
	return memset(p, 0, size);
}

void promql_free(struct promql *q)
{
	if (!q)
		return;
	while (q->chunks) {
		struct promql_chunk *c = q->chunks;

		q->chunks = c->next;
		free(c);
	}
	free(q);
}

struct promql_node *promql_root(struct promql *q)
{
	return q->root;
}

struct steps *promql_steps(struct promql *q)
{
	return q->steps;
}

struct promql_node *promql_selectors(struct promql *q)
{
	return q->selectors;
}

static uint32_t limit_or_default(uint32_t v, uint32_t most)
{
	return v && v < most ? v : most;
}

struct promql *promql_new(const char *text, size_t len, enum promql_dialect dialect,
			  const struct promql_limits *limits)
{
	static const struct promql_limits none;
	struct promql *q = malloc(sizeof(*q));

	if (!q)
		return NULL;
	memset(q, 0, offsetof(struct promql, first));
	if (!limits)
		limits = &none;
	q->dialect = dialect;
	q->limits.bytes = limit_or_default(limits->bytes, PROMQL_BYTES_MAX);
	q->limits.nodes = limit_or_default(limits->nodes, PROMQL_NODES_MAX);
	q->limits.depth = limit_or_default(limits->depth, PROMQL_DEPTH_MAX);
	q->limits.height = limit_or_default(limits->height, PROMQL_HEIGHT_MAX);
	q->own = steps_for(len);
	q->steps = limits->steps ? limits->steps : &q->own;
	q->text = text;
	q->len = len;
	q->selectors_end = &q->selectors;
	q->room = (char *)(((uintptr_t)q->first + 15) & ~(uintptr_t)15);
	q->left = sizeof(q->first) - (size_t)(q->room - q->first);
	return q;
}

int promql_add_matcher(struct promql *q, struct promql_node *selector,
		       enum promql_match match, const char *name, const char *value,
		       size_t value_len)
{
	struct promql_matcher **end = &selector->matchers, *m;
	size_t name_len = strlen(name);
	char *text;

	m = promql_alloc(q, sizeof(*m));
	text = promql_alloc(q, name_len + value_len + 1);
	if (!m || !text)
		return -ENOMEM;
	(void)snprintf(text, name_len + 1, "%s", name);
	memcpy(text + name_len, value, value_len);
	m->match = match;
	m->name = (struct str){text, (uint32_t)name_len};
	m->value = (struct str){text + name_len, (uint32_t)value_len};
	while (*end)
		end = &(*end)->next;
	*end = m;
	return 0;
}

const char *promql_keep(struct promql *q, const void *bytes, size_t len)
{
	char *copy = promql_alloc(q, len);

	return copy ? memcpy(copy, bytes, len) : NULL;
}
