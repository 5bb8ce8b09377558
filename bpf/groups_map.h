/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_BPF_GROUPS_MAP_H
#define CEEMS_BPF_GROUPS_MAP_H

/* The control groups that are followed, by number: written by groups.bpf.c alone, read
 * by every program that counts for a slot. The opener gives all of them one map. */
#include "bpf/kernel.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

enum part { PART_TASKS, PART_STEPD };

struct group_key {
	__u64 id;
	__u32 hierarchy, unused;
};

/* A slot's own group and all groups below it */
struct group {
	__u32 slot, part;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, struct group_key);
	__type(value, struct group);
} groups SEC(".maps");

static inline struct cgroup_subsys_state *css_of(struct cgroup *cgrp, int subsystem)
{
	return BPF_CORE_READ(cgrp, subsys[subsystem]);
}

static inline struct cgroup_subsys_state *cpuacct_of(struct cgroup *cgrp)
{
	if (!bpf_core_enum_value_exists(enum cgroup_subsys_id, cpuacct_cgrp_id))
		return NULL;
	return css_of(cgrp,
		      bpf_core_enum_value(enum cgroup_subsys_id, cpuacct_cgrp_id));
}

static inline void group_key_of(struct cgroup *cgrp, struct group_key *key)
{
	key->id = BPF_CORE_READ(cgrp, kn, id);
	key->hierarchy = (__u32)BPF_CORE_READ(cgrp, root, hierarchy_id);
	key->unused = 0;
}

#endif
