/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Keeps the stacks of blocked threads until it is known for how long they were. */
#include "profiler/blocked.h"

#include <stdlib.h>
#include <string.h>

#include "profiler/session.h"

struct blocked_thread {
	struct blocked_thread *next;
	uint64_t cgroup, since_ns;
	uint64_t told_ns; /* of its time */
	uint32_t process, thread, one_in, count;
	enum sample_end end;
	uint64_t frames[];
};

static struct blocked_thread **list_of_thread(struct blocked *b, uint32_t thread)
{
	return &b->lists[profile_place(thread, BLOCKED_LISTS - 1)];
}

static uint64_t bytes_of(const struct blocked_thread *t)
{
	return sizeof(*t) + t->count * sizeof(t->frames[0]);
}

static void drop_thread(struct blocked *b, struct blocked_thread **at)
{
	struct blocked_thread *t = *at;

	*at = t->next;
	b->bytes -= bytes_of(t);
	b->count--;
	free(t);
}

/* until_ns: since it blocked */
static void tell_time(struct blocked *b, struct blocked_thread *t, uint64_t until_ns)
{
	struct session_stack stack = {
		.cgroup = t->cgroup,
		.process = t->process,
		.thread = t->thread,
		.count = t->count,
		.end = t->end,
	};

	if (until_ns <= t->told_ns)
		return;
	stack.blocked_ns = (until_ns - t->told_ns) * t->one_in;
	t->told_ns = until_ns;
	memcpy(stack.frames, t->frames, t->count * sizeof(t->frames[0]));
	b->on_stack(b->arg, &stack);
}

void blocked_begin(struct blocked *b, const struct session_stack *stack,
		   uint64_t since_ns, uint32_t one_in)
{
	struct blocked_thread **list = list_of_thread(b, stack->thread), **at = list;
	size_t bytes = stack->count * sizeof(stack->frames[0]);

	while (*at && (*at)->thread != stack->thread)
		at = &(*at)->next;
	if (*at) { /* its end was lost */
		b->lost++;
		drop_thread(b, at);
	}
	struct blocked_thread *t =
		b->bytes < BLOCKED_BYTES_MAX ? malloc(sizeof(*t) + bytes) : NULL;
	if (!t) {
		b->lost++;
		return;
	}
	*t = (struct blocked_thread){
		.next = *list,
		.cgroup = stack->cgroup,
		.since_ns = since_ns,
		.process = stack->process,
		.thread = stack->thread,
		.one_in = one_in,
		.count = stack->count,
		.end = stack->end,
	};
	memcpy(t->frames, stack->frames, bytes);
	b->bytes += bytes_of(t);
	b->count++;
	*list = t;
}

void blocked_end(struct blocked *b, uint32_t thread, uint64_t since_ns, uint64_t ns)
{
	struct blocked_thread **at = list_of_thread(b, thread);

	while (*at && (*at)->thread != thread)
		at = &(*at)->next;
	if (!*at || (*at)->since_ns != since_ns)
		return;
	tell_time(b, *at, ns);
	drop_thread(b, at);
}

void blocked_settle(struct blocked *b, uint64_t cgroup, uint64_t now_ns)
{
	for (uint32_t i = 0; i < BLOCKED_LISTS; i++) {
		for (struct blocked_thread *t = b->lists[i]; t; t = t->next) {
			if (t->cgroup == cgroup && now_ns > t->since_ns)
				tell_time(b, t, now_ns - t->since_ns);
		}
	}
}

void blocked_forget(struct blocked *b, uint64_t cgroup)
{
	for (uint32_t i = 0; i < BLOCKED_LISTS; i++) {
		for (struct blocked_thread **at = &b->lists[i]; *at;) {
			if (!cgroup || (*at)->cgroup == cgroup)
				drop_thread(b, at);
			else
				at = &(*at)->next;
		}
	}
}

void blocked_lose(struct blocked *b)
{
	b->lost += b->count;
	blocked_forget(b, 0);
}
