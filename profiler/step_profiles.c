/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "profiler/step_profiles.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/clock.h"
#include "profiler/session.h"

#define HZ_MAX 1000u
#define PAGE_LEAST_NS (200 * NSEC_PER_MSEC)
#define PAGE_MOST_NS (2 * NSEC_PER_SEC)
#define CUT_FRAMES 16u /* of a stack, where there is little room */

static struct step_profile *find_step(struct step_profiles *p, uint64_t key)
{
	for (size_t i = 0; i < p->count; i++) {
		if (p->all[i].step.key == key)
			return &p->all[i];
	}
	return NULL;
}

/* No user has more than are free, so that there is one for another still. */
static size_t count_steps_of(const struct step_profiles *p, uint32_t uid)
{
	size_t own = 0;

	for (size_t i = 0; i < p->count; i++)
		own += p->all[i].step.uid == uid;
	return own;
}

static bool is_step_good(const struct profile_step *s)
{
	return s->magic == PROFILE_STEP_MAGIC && s->hz && s->hz <= HZ_MAX &&
	       (s->state == PROFILE_STEP_RUNS || s->state == PROFILE_STEP_ENDED) &&
	       memchr(s->unit, '\0', sizeof(s->unit)) &&
	       memchr(s->node, '\0', sizeof(s->node));
}

int step_profiles_told(struct step_profiles *p, const struct profile_step *told,
		       uint64_t now_ns, uint64_t realtime_ns)
{
	if (!is_step_good(told))
		return -EBADMSG;
	struct step_profile *s = find_step(p, told->key);
	if (told->state == PROFILE_STEP_ENDED) {
		if (s)
			s->ended = true;
		return 0; /* its group goes when its profile is written */
	}
	if (s)
		return 0;
	if (count_steps_of(p, told->uid) >= PROFILE_GROUPS_MAX - p->count) {
		p->no_place++;
		return 0;
	}
	p->all[p->count++] = (struct step_profile){
		.step = *told,
		.begin_ns = realtime_ns,
		.due_ns = now_ns + p->interval_ns,
		.hottest = told->stepd_pid && p->count <= HOT_PAGE_ROWS
				   ? calloc(1, sizeof(struct hottest))
				   : NULL,
		.told_ns = now_ns,
		.page_ns = now_ns + PAGE_LEAST_NS,
	};
	return 1;
}

size_t step_profiles_groups(const struct step_profiles *p,
			    struct profile_group ret[PROFILE_GROUPS_MAX])
{
	for (size_t i = 0; i < p->count; i++)
		ret[i] = (struct profile_group){.cgroup = p->all[i].step.cgroup,
						.hz = p->all[i].step.hz,
						.off_cpu = p->all[i].step.off_cpu};
	return p->count;
}

static bool has_detail(const struct raw_stacks *r)
{
	return r->frame_count > r->count * CUT_FRAMES;
}

static void cut_stacks(struct step_profiles *p, struct raw_stacks *r)
{
	if (!has_detail(r))
		return;
	p->bytes -= raw_stacks_bytes(r);
	p->cuts += raw_stacks_cut(r, CUT_FRAMES) == 0;
	p->bytes += raw_stacks_bytes(r);
}

static uint64_t count_step_bytes(const struct step_profile *s)
{
	return raw_stacks_bytes(&s->stacks) + raw_stacks_bytes(&s->blocked);
}

static void free_stacks(struct step_profiles *p, struct step_profile *s)
{
	p->bytes -= count_step_bytes(s);
	raw_stacks_free(&s->stacks);
	raw_stacks_free(&s->blocked);
}

/* The largest profile that is not yet cut has less detail from now on. Where all are, a
 * user who has less than half of the room takes it from another's largest. */
static void make_room_for_stacks(struct step_profiles *p, uint32_t uid)
{
	struct step_profile *detailed = NULL, *others = NULL;
	uint64_t own = 0;

	for (size_t i = 0; i < p->count; i++) {
		struct step_profile *s = &p->all[i];
		uint64_t bytes = count_step_bytes(s);
		if ((has_detail(&s->stacks) || has_detail(&s->blocked)) &&
		    (!detailed || bytes > count_step_bytes(detailed)))
			detailed = s;
		if (s->step.uid == uid)
			own += bytes;
		else if (!others || bytes > count_step_bytes(others))
			others = s;
	}
	if (detailed) {
		cut_stacks(p, &detailed->stacks);
		cut_stacks(p, &detailed->blocked);
	} else if (others && own < p->bytes_max / 2) {
		others->dropped = others->samples;
		free_stacks(p, others);
	}
}

static int add_to_step(struct step_profiles *p, struct step_profile *s,
		       const struct session_stack *stack)
{
	struct raw_stacks *to = stack->blocked_ns ? &s->blocked : &s->stacks;

	if (p->bytes > p->bytes_max)
		make_room_for_stacks(p, s->step.uid);
	if (p->bytes > p->bytes_max)
		return -ENOSPC;
	p->bytes -= raw_stacks_bytes(to);
	int rc = raw_stacks_add(to, stack->frames, stack->count,
				stack->blocked_ns ? stack->blocked_ns : 1);
	p->bytes += raw_stacks_bytes(to);
	return rc;
}

/* Often at first, so that a short step has one */
struct step_profile *step_profiles_page_due(struct step_profiles *p, uint64_t now_ns)
{
	for (size_t i = 0; i < p->count; i++) {
		struct step_profile *s = &p->all[i];
		if (!s->hottest || !s->hottest->samples || s->page_ns > now_ns)
			continue;
		uint64_t wait_ns = (now_ns - s->told_ns) / 8;
		if (wait_ns < PAGE_LEAST_NS)
			wait_ns = PAGE_LEAST_NS;
		s->page_ns = now_ns + (wait_ns < PAGE_MOST_NS ? wait_ns : PAGE_MOST_NS);
		return s;
	}
	return NULL;
}

void step_profiles_add(struct step_profiles *p, const struct session_stack *stack,
		       const struct modules *m)
{
	struct step_profile *s = NULL;

	for (size_t i = 0; i < p->count && !s; i++) {
		if (p->all[i].step.cgroup == stack->cgroup)
			s = &p->all[i];
	}
	if (!s) {
		p->no_place++;
		return;
	}
	s->samples++;
	if (s->hottest && !stack->blocked_ns)
		hottest_add(s->hottest, stack, m);
	if (add_to_step(p, s, stack) < 0)
		s->dropped++;
}

struct step_profile *step_profiles_due(struct step_profiles *p, uint64_t now_ns)
{
	for (size_t i = 0; i < p->count; i++) {
		if (p->all[i].ended || p->all[i].due_ns <= now_ns)
			return &p->all[i];
	}
	return NULL;
}

void step_profiles_next(struct step_profiles *p, struct step_profile *s,
			uint64_t now_ns, uint64_t realtime_ns)
{
	free_stacks(p, s);
	if (s->ended) {
		free(s->hottest);
		*s = p->all[--p->count];
		return;
	}
	s->samples = s->dropped = 0;
	s->begin_ns = realtime_ns;
	s->due_ns = now_ns + p->interval_ns;
}

int step_profiles_wait_ms(const struct step_profiles *p, uint64_t now_ns)
{
	uint64_t least_ns = UINT64_MAX;

	for (size_t i = 0; i < p->count; i++) {
		const struct step_profile *s = &p->all[i];
		uint64_t left =
			s->ended || s->due_ns <= now_ns ? 0 : s->due_ns - now_ns;
		least_ns = left < least_ns ? left : least_ns;
	}
	return least_ns == UINT64_MAX ? -1 : (int)(least_ns / NSEC_PER_MSEC) + 1;
}

uint32_t step_profiles_since_s(const struct step_profiles *p)
{
	uint64_t least_ns = UINT32_MAX * NSEC_PER_SEC;

	for (size_t i = 0; i < p->count; i++) {
		uint64_t ns = p->all[i].due_ns - p->interval_ns;
		least_ns = ns < least_ns ? ns : least_ns;
	}
	return (uint32_t)(least_ns / NSEC_PER_SEC);
}

void step_profiles_free(struct step_profiles *p)
{
	for (size_t i = 0; i < p->count; i++) {
		raw_stacks_free(&p->all[i].stacks);
		raw_stacks_free(&p->all[i].blocked);
		free(p->all[i].hottest);
	}
	p->count = 0;
	p->bytes = 0;
}
