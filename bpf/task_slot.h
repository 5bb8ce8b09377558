/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_BPF_TASK_SLOT_H
#define CEEMS_BPF_TASK_SLOT_H

#include "bpf/groups_map.h"
#include "bpf/task_group.h"

#define SLOT_NONE 0xffffffffu
/* Groups that a user has made below a step's have no entry of their own. As many as
 * groups.bpf.c goes up. */
#define GROUP_ABOVE_MAX 32

/* What was found last on this CPU: a group's number << SLOT_BITS | its slot. A group's
 * slot never changes while it has tasks, and its number is never used again, but by a
 * group of another hierarchy: UNIFIED_NUMBER. One word, as a program may be interrupted
 * by another that looks for another group. */
#define SLOT_BITS 24
#define UNIFIED_NUMBER (1ull << (63 - SLOT_BITS))
#define SLOT_MASK ((1u << SLOT_BITS) - 1)

PERCPU_ARRAY_MAP(last_found, __u64);

static __noinline __u32 find_slot(struct cgroup *cgrp)
{
	struct group_key key = {0};

	for (int i = 0; i < GROUP_ABOVE_MAX && cgrp; i++) {
		struct cgroup_subsys_state *above = BPF_CORE_READ(cgrp, self.parent);
		if (!above)
			break; /* the root has no slot */
		group_key_of(cgrp, &key);
		struct group *group = bpf_map_lookup_elem(&groups, &key);
		if (group)
			return group->part == PART_TASKS ? group->slot : SLOT_NONE;
		cgrp = BPF_CORE_READ(above, cgroup);
	}
	return SLOT_NONE;
}

static __always_inline __u32 slot_of_group(struct cgroup *cgrp, __u64 id, bool unified)
{
	__u32 zero = 0, slot;
	__u64 *last = bpf_map_lookup_elem(&last_found, &zero);

	if (!last)
		return SLOT_NONE;
	if (unified)
		id ^= UNIFIED_NUMBER;
	__u64 word = *(volatile __u64 *)last;
	if (word >> SLOT_BITS == (id & ~0ull >> SLOT_BITS)) {
		slot = word & SLOT_MASK;
	} else {
		slot = find_slot(cgrp) & SLOT_MASK;
		*(volatile __u64 *)last = id << SLOT_BITS | slot;
	}
	return slot == SLOT_MASK ? SLOT_NONE : slot;
}

/* The slot that a task's doings count for; SLOT_NONE: of no unit, or slurmstepd's own.
 */
static __always_inline __u32 slot_of_task(struct task_struct *task)
{
	bool unified;
	struct cgroup *cgrp = unit_cgroup(task, &unified);

	return cgrp ? slot_of_group(cgrp, cgrp->kn->id, unified) : SLOT_NONE;
}

/* The same of a task that the verifier knows nothing of */
static __always_inline __u32 slot_of_any_task(struct task_struct *task)
{
	bool unified;
	struct cgroup *cgrp = unit_cgroup_of_any(task, &unified);

	return cgrp ? slot_of_group(cgrp, BPF_CORE_READ(cgrp, kn, id), unified)
		    : SLOT_NONE;
}

#endif
