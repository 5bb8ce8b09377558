/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Divides a profile that is too large for the store. */
#include "profiler/stack_parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/clock.h"
#include "lib/records/profile_record.h"

void stack_parts_begin(struct stack_parts *p, const struct stacks *all,
		       const struct pprof_time *t)
{
	*p = (struct stack_parts){.all = all, .time = *t, .most = PROFILE_SAMPLES_MAX};
}

/* Stacks [from, from + count), with their names alone */
static int copy_part(const struct stacks *all, size_t from, size_t count,
		     struct stacks *ret)
{
	size_t frames = 0;

	for (size_t i = 0; i < count; i++)
		frames += all->all[from + i].frames;
	ret->all = calloc(count + 1, sizeof(*ret->all));
	ret->frames = calloc(frames + 1, sizeof(*ret->frames));
	if (!ret->all || !ret->frames)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		const struct stack *k = &all->all[from + i];
		uint32_t n =
			k->frames < PROFILE_DEPTH_MAX ? k->frames : PROFILE_DEPTH_MAX;
		ret->all[i] = (struct stack){ret->frame_count, n, k->samples};
		for (uint32_t f = 0; f < n; f++) {
			const char *name = all->names.all[all->frames[k->first + f]];
			int rc = frame_names_add(&ret->names, name, strlen(name),
						 &ret->frames[ret->frame_count]);
			if (rc < 0)
				return rc;
			ret->frame_count++;
		}
		ret->samples += k->samples;
	}
	ret->count = count;
	return 0;
}

static int write_part(const struct stack_parts *p, size_t count, struct buf *ret,
		      uint64_t *ret_samples, struct err *err)
{
	struct stacks part = {0};
	int rc = copy_part(p->all, p->at, count, &part);

	buf_reset(ret);
	if (rc == 0)
		rc = pprof_write(&part, &p->time, ret, err);
	else
		(void)err_set(err, rc, "out of memory");
	/* blocked time is in nanoseconds */
	*ret_samples = p->time.period_ns ? part.samples : part.count;
	stacks_free(&part);
	return rc;
}

int stack_parts_next(struct stack_parts *p, struct buf *ret, uint64_t *ret_samples,
		     struct err *err)
{
	while (p->at < p->all->count) {
		size_t left = p->all->count - p->at;
		size_t count = left < p->most ? left : p->most;
		int rc = write_part(p, count, ret, ret_samples, err);
		if (rc < 0)
			return rc;
		if (ret->len > STACK_PARTS_BYTES_MAX && count > 1) {
			p->most = count / 2;
			continue;
		}
		p->at += count;
		if (ret->len > STACK_PARTS_BYTES_MAX) {
			p->dropped += *ret_samples;
			continue;
		}
		p->time.begin_ns += (int64_t)NSEC_PER_MSEC;
		return 1;
	}
	return 0;
}
