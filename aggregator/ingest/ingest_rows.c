/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rows of a push, in arrays that grow. */
#include "aggregator/ingest/ingest_rows.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aggregator/ingest/ingest_known.h"

#define TEXTS_MAX ((size_t)16 << 20)

void ingest_push_done(struct ingest_push *p)
{
	free(p->intervals);
	free(p->nodes);
	free(p->steps);
	free(p->jobs);
	free(p->claims);
	free(p->seen);
	free(p->refusals);
	free(p->moves);
	known_free(p->owners);
	buf_done(&p->texts);
	memset(p, 0, sizeof(*p));
}

uint32_t ingest_push_rows(const struct ingest_push *p)
{
	return p->interval_count + p->node_count + p->step_count + p->job_count +
	       p->claim_count;
}

size_t ingest_push_bytes(const struct ingest_push *p)
{
	return sizeof(*p) + p->interval_cap * sizeof(*p->intervals) +
	       p->node_cap * sizeof(*p->nodes) + p->step_cap * sizeof(*p->steps) +
	       p->job_cap * sizeof(*p->jobs) + p->claim_cap * sizeof(*p->claims) +
	       p->seen_cap * sizeof(*p->seen) + p->refusal_cap * sizeof(*p->refusals) +
	       p->move_cap * sizeof(*p->moves) + p->texts.cap;
}

const char *ingest_push_text(const struct ingest_push *p, ingest_text t)
{
	return t ? p->texts.data + t : NULL;
}

ingest_text ingest_push_put(struct ingest_push *p, const char *s, size_t len)
{
	struct buf *b = &p->texts;

	len = strnlen(s, len);
	if (!len)
		return 0;
	if (!b->len) {
		b->max = TEXTS_MAX;
		buf_putc(b, '\0'); /* offset 0 means no text */
	}
	size_t at = b->len;
	buf_put(b, s, len);
	buf_putc(b, '\0');
	if (buf_error(b))
		return 0;
	utf8_clean(b->data + at, len);
	return (ingest_text)at;
}

int ingest_push_label(struct ingest_push *p, const char *label)
{
	for (uint32_t i = 0; i < p->label_count; i++) {
		if (strcmp(p->labels[i], label) == 0)
			return (int)i;
	}
	if (p->label_count == INGEST_LABELS_MAX ||
	    strlen(label) >= sizeof(p->labels[0]))
		return -1;
	snprintf(p->labels[p->label_count], sizeof(p->labels[0]), "%s", label);
	return (int)p->label_count++;
}

/* Appends a zeroed element. */
static void *grow_rows(struct ingest_push *p, void **rows, uint32_t *count,
		       uint32_t *cap, size_t size)
{
	if (*count == *cap) {
		uint32_t n = *cap ? *cap * 2 : 16;
		void *r = realloc(*rows, n * size);
		if (!r) {
			p->no_memory = true;
			return NULL;
		}
		*rows = r;
		*cap = n;
	}
	void *row = (char *)*rows + *count * size;
	memset(row, 0, size);
	(*count)++;
	return row;
}

#define GROW(p, name)                                                                  \
	(ingest_push_rows(p) >= INGEST_ROWS_MAX                                        \
		 ? NULL                                                                \
		 : grow_rows(p, (void **)&(p)->name##s, &(p)->name##_count,            \
			     &(p)->name##_cap, sizeof(*(p)->name##s)))

struct ingest_interval *ingest_push_interval(struct ingest_push *p)
{
	return GROW(p, interval);
}

struct ingest_node *ingest_push_node(struct ingest_push *p)
{
	return GROW(p, node);
}

struct ingest_step *ingest_push_step(struct ingest_push *p)
{
	return GROW(p, step);
}

struct ingest_claim *ingest_push_claim(struct ingest_push *p)
{
	return GROW(p, claim);
}

struct ingest_job *ingest_push_job(struct ingest_push *p)
{
	return GROW(p, job);
}

struct ingest_move *ingest_push_move(struct ingest_push *p, int64_t instance)
{
	/* few are moved; those of one instance often come together */
	for (uint32_t i = p->move_count; i-- > 0;) {
		if (p->moves[i].instance == instance)
			return &p->moves[i];
	}
	struct ingest_move *m = grow_rows(p, (void **)&p->moves, &p->move_count,
					  &p->move_cap, sizeof(*p->moves));
	if (m)
		m->instance = instance;
	return m;
}

static bool is_push_text(const struct ingest_push *p, ingest_text t, const char *s)
{
	return t && strcmp(p->texts.data + t, s) == 0;
}

static bool is_seen_at(const struct ingest_push *p, const struct ingest_seen *s,
		       const char *cluster, const char *node)
{
	return is_push_text(p, s->node, node) && is_push_text(p, s->cluster, cluster);
}

void ingest_push_see(struct ingest_push *p, const char *manager, const char *cluster,
		     const char *node)
{
	/* usually all records of a push are from one node */
	for (uint32_t i = p->seen_count; i-- > 0;) {
		if (is_seen_at(p, &p->seen[i], cluster, node) &&
		    is_push_text(p, p->seen[i].manager, manager))
			return;
	}
	if (p->seen_count >= INGEST_SEEN_MAX)
		return;
	struct ingest_seen *s = grow_rows(p, (void **)&p->seen, &p->seen_count,
					  &p->seen_cap, sizeof(*p->seen));
	if (!s)
		return;
	s->manager = ingest_push_put(p, manager, strlen(manager));
	s->cluster = ingest_push_put(p, cluster, strlen(cluster));
	s->node = ingest_push_put(p, node, strlen(node));
}

static bool is_of_one_node(const struct ingest_push *p, const char *cluster,
			   const char *node)
{
	/* once for each manager of it */
	for (uint32_t i = 0; i < p->seen_count; i++) {
		if (!is_seen_at(p, &p->seen[i], cluster, node))
			return false;
	}
	return true;
}

static uint64_t push_owner(const struct ingest_push *p, const struct ingest_node *n)
{
	return known_owner(p->owners, ingest_push_text(p, n->cluster),
			   ingest_push_text(p, n->node));
}

int ingest_push_is_anothers(struct ingest_push *p, int64_t instance,
			    const char *cluster, const char *node)
{
	struct known_place first;

	if (!p->owners && is_of_one_node(p, cluster, node))
		return 0;
	if (!p->owners) {
		p->owners = known_new(INGEST_ROWS_MAX);
		p->owned_count = 0;
	}
	if (!p->owners)
		return -ENOMEM;
	/* rows of what was refused are taken back: only those that stayed count */
	for (; p->owned_count < p->node_count; p->owned_count++) {
		const struct ingest_node *n = &p->nodes[p->owned_count];
		if (!known_has(p->owners, n->instance, &first))
			known_put(p->owners, n->instance,
				  (struct known_place){.owner = push_owner(p, n)});
	}
	return known_has(p->owners, instance, &first) &&
	       first.owner != known_owner(p->owners, cluster, node);
}

void ingest_push_refuse(struct ingest_push *p, uint32_t index, const char *reason)
{
	p->refused++;
	if (p->refusal_count >= INGEST_REASONS_MAX)
		return;
	struct ingest_refusal *r =
		grow_rows(p, (void **)&p->refusals, &p->refusal_count, &p->refusal_cap,
			  sizeof(*p->refusals));
	if (!r)
		return;
	r->index = index;
	snprintf(r->reason, sizeof(r->reason), "%s", reason);
}

void ingest_push_foreign(struct ingest_push *p, int64_t instance, const char *cluster,
			 const char *node)
{
	for (uint32_t i = 0; i < p->foreign_count; i++) {
		if (p->foreign[i].instance == instance)
			return;
	}
	if (p->foreign_count == INGEST_FOREIGN_MAX)
		return;
	p->foreign[p->foreign_count++] = (struct ingest_foreign){
		.instance = instance,
		.cluster = ingest_push_put(p, cluster, strlen(cluster)),
		.node = ingest_push_put(p, node, strlen(node)),
	};
}

void ingest_use_clear(struct ingest_use *u)
{
	*u = (struct ingest_use){
		.observed_ms = INGEST_NULL,
		.cpu_user_ns = INGEST_NULL,
		.cpu_system_ns = INGEST_NULL,
		.memory_mean_bytes = INGEST_NULL,
		.memory_peak_bytes = INGEST_NULL,
		.io_read_bytes = INGEST_NULL,
		.io_write_bytes = INGEST_NULL,
		.net_rx_bytes = INGEST_NULL,
		.net_tx_bytes = INGEST_NULL,
		.gpu_busy_ms = INGEST_NULL,
		.gpu_memory_mean_kib = INGEST_NULL,
		.label = -1,
	};
	for (unsigned i = 0; i < 6; i++)
		u->energy_uj[i] = INGEST_NULL;
	for (unsigned k = 0; k < COUNT_GPU_FIGURES; k++)
		u->gpu_active_ms[k] = INGEST_NULL;
}
