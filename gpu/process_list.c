/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "gpu/process_list.h"

#include <stdlib.h>
#include <string.h>

#include "gpu/device.h"
#include "lib/clock.h"

/* An ended one is told for so long, so that its last figures are not missed. */
#define ENDED_NS CHILD_GPU_STALE_NS

static int compare_processes(const void *a, const void *b)
{
	const struct child_gpu_process *x = a, *y = b;

	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	if (x->gi != y->gi)
		return x->gi < y->gi ? -1 : 1;
	return (x->ci > y->ci) - (x->ci < y->ci);
}

void process_list_begin(struct process_list *l)
{
	l->now_ns = clock_boottime_ns();
	l->left_out = 0;
}

struct child_gpu_process *process_list_find(struct process_list *l,
					    const struct child_gpu_process *key)
{
	return bsearch(key, l->item, l->count, sizeof(l->item[0]), compare_processes);
}

struct child_gpu_process *process_list_add(struct process_list *l,
					   const struct child_gpu_process *p)
{
	struct child_gpu_process *known = process_list_find(l, p);
	uint32_t at = l->count;

	if (known) {
		known->have |= p->have;
		known->seen_ns = p->seen_ns;
		known->ended = 0;
		known->memory_bytes = p->memory_bytes;
		return known;
	}
	if (l->count == CHILD_GPU_PROCESSES_MAX) {
		l->left_out++;
		return NULL;
	}
	while (at && compare_processes(&l->item[at - 1], p) > 0)
		at--;
	memmove(&l->item[at + 1], &l->item[at], (l->count - at) * sizeof(l->item[0]));
	l->item[at] = *p;
	l->count++;
	return &l->item[at];
}

void process_list_end(struct process_list *l)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < l->count; i++) {
		struct child_gpu_process *p = &l->item[i];
		p->ended = p->seen_ns != l->now_ns;
		if (l->now_ns - p->seen_ns <= ENDED_NS)
			l->item[kept++] = *p;
	}
	l->count = kept;
}

void process_list_send(const struct process_list *l, const struct device *d)
{
	union {
		struct child_gpu_processes m;
		char bytes[sizeof(struct child_gpu_processes) +
			   CHILD_GPU_PROCESSES_MAX * sizeof(struct child_gpu_process)];
	} out;

	memset(&out.m, 0, sizeof(out.m));
	out.m.index = d->out.m.index;
	out.m.left_out = l->left_out;
	out.m.read_ns = l->now_ns;
	memcpy(out.m.uuid, d->out.m.uuid, sizeof(out.m.uuid));
	memcpy(out.m.items, l->item, l->count * sizeof(l->item[0]));
	device_send(d, &out.m.head, CHILD_GPU_PROCESSES, l->count,
		    sizeof(out.m) + l->count * sizeof(out.m.items[0]));
}
