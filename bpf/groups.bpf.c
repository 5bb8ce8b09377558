/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A slot for each control group of a unit, and its last counters, read inside
 * cgroup_rmdir: at that point the group's files are dead, no task can come back, and
 * its counters are still there, whoever removes it and however short it lived. */
#include "bpf/kernel.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "bpf/groups_map.h"
#include "lib/records/group_slots.h"

#define CPUS_MAX 4096u
#define LEVELS_MAX 32 /* of groups below a step */
#define NAME_BYTES 40 /* of a group's name that are looked at */
#define STEP_PREFIX "step_"
#define STEPD_GROUP "slurm"

/* Set by the opener before it loads this. */
const volatile unsigned possible_cpus = 1;
const volatile unsigned page_bytes = 4096;
const volatile unsigned slot_count = 1; /* power of two */

MAPPED_ARRAY_MAP(slots, struct group_slot);

MAPPED_ARRAY_MAP(free_slots, __u64);
MAPPED_ARRAY_MAP(events, __u64);

MAPPED_ARRAY_MAP(control, struct group_control);

/* For the distance of a CPU's copy of per-CPU data: a map of ours, or any per-CPU
 * object of the kernel's */
PERCPU_ARRAY_MAP(own_percpu, __u64);
extern const struct rq runqueues __ksym __weak;

ARRAY_MAP(scratch, __u64);

/* A store into a map and back makes a plain number of a pointer. */
static __always_inline __u64 number_of(__u64 *number, const void *pointer)
{
	*(volatile __u64 *)number = (__u64)pointer;
	return *(volatile __u64 *)number;
}

/* How far a CPU's copy of any per-CPU object is from its per-CPU pointer: as far as our
 * own map's is, so that no kernel symbol is needed. Linux 5.19 */
static __noinline __u64 distance_by_map(__u32 cpu)
{
	__u32 zero = 0;
	__u64 *number = bpf_map_lookup_elem(&scratch, &zero);
	void *copy = bpf_map_lookup_percpu_elem(&own_percpu, &zero, cpu);
	__u64 pointer = 0;

	if (!number || !copy)
		return 0;
	bpf_probe_read_kernel(&pointer, sizeof(pointer),
			      (void *)(number_of(number, &own_percpu) +
				       bpf_core_field_offset(struct bpf_array, pptrs)));
	return number_of(number, copy) - pointer;
}

/* As far as that of the kernel's run queues. Linux 5.10, where its symbols have
 * addresses (CONFIG_KALLSYMS_ALL) */
static __noinline __u64 distance_by_symbol(__u32 cpu)
{
	__u32 zero = 0;
	__u64 *number = bpf_map_lookup_elem(&scratch, &zero);
	const void *copy = bpf_per_cpu_ptr(&runqueues, cpu);

	if (!number || !copy)
		return 0;
	__u64 at = number_of(number, copy);
	return at - number_of(number, &runqueues);
}

static __always_inline __u64 percpu_distance(__u32 cpu, bool by_symbol)
{
	return by_symbol ? distance_by_symbol(cpu) : distance_by_map(cpu);
}

static struct cgroup_subsys_state *memory_of(struct cgroup *cgrp)
{
	if (!bpf_core_enum_value_exists(enum cgroup_subsys_id, memory_cgrp_id))
		return NULL;
	return css_of(cgrp, bpf_core_enum_value(enum cgroup_subsys_id, memory_cgrp_id));
}

/* ---- a group is made ------------------------------------------------------------- */

/* 1: name begins with prefix, of size - 1 characters */
static __always_inline int begins_with(const char *name, const char *prefix,
				       unsigned size)
{
	for (unsigned i = 0; i + 1 < size; i++) {
		if (name[i] != prefix[i])
			return 0;
	}
	return 1;
}

static void put_event(struct group_control *c, __u32 slot, enum group_event what)
{
	__u64 head = c->event_head;
	__u32 i = head & (slot_count * GROUP_EVENTS_PER_SLOT - 1);
	__u64 *event = bpf_map_lookup_elem(&events, &i);

	if (!event)
		return;
	*event = GROUP_EVENT(slot, what);
	/* ceemsd sees the slot and the event before the head: an atomic that fetches is
	 * a barrier, one that only adds is not (arm64) */
	__sync_val_compare_and_swap(&c->event_head, head, head + 1);
}

static void take_slot(const struct group_key *key, const char *path)
{
	__u32 zero = 0, i, slot;
	struct group_control *c = bpf_map_lookup_elem(&control, &zero);
	struct group group = {.part = PART_TASKS};

	if (!c)
		return;
	/* a barrier, too: what was put before the tail is seen */
	if (c->free_head == __sync_fetch_and_or(&c->free_tail, 0)) {
		__sync_fetch_and_add(&c->no_slot, 1);
		return;
	}
	i = c->free_head & (slot_count - 1);
	__u64 *given = bpf_map_lookup_elem(&free_slots, &i);
	if (!given)
		return;
	slot = (__u32)*given;
	struct group_slot *s = bpf_map_lookup_elem(&slots, &slot);
	if (!s)
		return;
	long len = bpf_probe_read_kernel_str(s->path, sizeof(s->path), path);
	if (len <= 0 || len >= (long)sizeof(s->path)) { /* perhaps cut */
		__sync_fetch_and_add(&c->long_paths, 1);
		return;
	}
	group.slot = slot;
	if (bpf_map_update_elem(&groups, key, &group, BPF_ANY) < 0) {
		__sync_fetch_and_add(&c->no_slot, 1);
		return;
	}
	c->free_head++;
	s->cgroup = key->id;
	s->hierarchy = key->hierarchy;
	s->has = key->hierarchy ? 0 : GROUP_SLOT_UNIFIED;
	s->known = 0;
	s->made_ns = bpf_ktime_get_boot_ns();
	s->ended_ns = s->cpu_ns = s->user_ns = s->system_ns = s->stepd_cpu_ns = 0;
	s->memory_peak_bytes = s->oom_kills = 0;
	s->state = GROUP_SLOT_LIVES;
	__sync_fetch_and_add(&c->made, 1);
	put_event(c, slot, GROUP_EVENT_MADE);
}

static struct cgroup *parent_of(struct cgroup *cgrp)
{
	return (struct cgroup *)BPF_CORE_READ(cgrp, self.parent, cgroup);
}

static bool is_named(struct cgroup *cgrp, const char *prefix, unsigned size)
{
	char name[NAME_BYTES] = "";

	bpf_probe_read_kernel_str(name, sizeof(name), BPF_CORE_READ(cgrp, kn, name));
	return begins_with(name, prefix, size);
}

/* What a group is that lies directly below a known one, whose number is above_id.
 * slurmstepd's own lies directly below the step's: elsewhere the name is a user's. */
static void group_below(const struct group *above, __u64 above_id, struct cgroup *cgrp,
			__u32 hierarchy, struct group *ret)
{
	const struct group_slot *s = bpf_map_lookup_elem(&slots, &above->slot);

	*ret = *above;
	if (s && s->cgroup == above_id && !hierarchy &&
	    is_named(cgrp, STEPD_GROUP, sizeof(STEPD_GROUP) + 1))
		ret->part = PART_STEPD;
}

/* libvirt's, of systemd-machined or its own (cgroup_is_machine()) */
static __always_inline bool is_machine(struct cgroup *cgrp, struct cgroup *parent)
{
	if (is_named(cgrp, "machine-qemu", sizeof("machine-qemu")) ||
	    is_named(cgrp, "machine-lxc", sizeof("machine-lxc")))
		return true;
	return is_named(parent, "machine", sizeof("machine") + 1) &&
	       (is_named(cgrp, "qemu-", sizeof("qemu-")) ||
		is_named(cgrp, "lxc-", sizeof("lxc-")));
}

#define NAMED(group, prefix) is_named(group, prefix, sizeof(prefix))
#define NAMED_EXACTLY(group, name) is_named(group, name, sizeof(name) + 1)
#define POD_SLICE(group, pods)                                                         \
	(NAMED(group, pods "-pod") || NAMED(group, pods "-burstable-pod") ||           \
	 NAMED(group, pods "-besteffort-pod"))

/* kubelet's, by its own driver or by systemd (cgroup_pod_uid()) */
static __always_inline bool is_pod(struct cgroup *cgrp, struct cgroup *parent)
{
	if (NAMED(cgrp, "kube"))
		return POD_SLICE(cgrp, "kubepods") ||
		       POD_SLICE(cgrp, "kubelet-kubepods");
	return NAMED(cgrp, "pod") && (NAMED_EXACTLY(parent, "kubepods") ||
				      NAMED_EXACTLY(parent, "burstable") ||
				      NAMED_EXACTLY(parent, "besteffort"));
}

SEC("tp_btf/cgroup_mkdir")
int BPF_PROG(group_made, struct cgroup *cgrp, const char *path)
{
	struct group_key key, above = {0};
	struct group group;

	/* A user may have been given a subtree of their own, and could fill the table;
	 * units' groups are root's. */
	if ((__u32)bpf_get_current_uid_gid() != 0)
		return 0;
	struct cgroup *parent = parent_of(cgrp);
	if (!parent)
		return 0;
	group_key_of(cgrp, &key);
	if (key.hierarchy && !cpuacct_of(cgrp) && !memory_of(cgrp))
		return 0;
	group_key_of(parent, &above);
	struct group *inside = bpf_map_lookup_elem(&groups, &above);
	if (inside) {
		group_below(inside, above.id, cgrp, key.hierarchy, &group);
		bpf_map_update_elem(&groups, &key, &group, BPF_ANY);
	} else if (is_named(cgrp, STEP_PREFIX, sizeof(STEP_PREFIX)) ||
		   is_machine(cgrp, parent) || is_pod(cgrp, parent)) {
		take_slot(&key, path);
	}
	return 0;
}

/* ---- a group is removed ---------------------------------------------------------- */

struct cpu_time {
	__u64 total, user, system;
};

/* v1: charged up the tree. */
static __always_inline void read_cpuacct(struct cgroup_subsys_state *css,
					 bool by_symbol, struct cpu_time *t)
{
	struct cpuacct *acct = (struct cpuacct *)css; /* css is its first member */
	__u64 usage = (__u64)BPF_CORE_READ(acct, cpuusage);
	__u64 stat = (__u64)BPF_CORE_READ(acct, cpustat);

	for (__u32 cpu = 0; cpu < CPUS_MAX && cpu < possible_cpus; cpu++) {
		__u64 distance = percpu_distance(cpu, by_symbol), ns = 0;
		struct kernel_cpustat ticks = {};
		bpf_probe_read_kernel(&ns, sizeof(ns), (void *)(usage + distance));
		bpf_probe_read_kernel(&ticks, (CPUTIME_IRQ + 1) * sizeof(__u64),
				      (void *)(stat + distance));
		t->total += ns;
		t->user += ticks.cpustat[CPUTIME_USER] + ticks.cpustat[CPUTIME_NICE];
		t->system += ticks.cpustat[CPUTIME_SYSTEM] +
			     ticks.cpustat[CPUTIME_SOFTIRQ] +
			     ticks.cpustat[CPUTIME_IRQ];
	}
}

/* v2: each CPU's own part of this group alone; what has been flushed into the group is
 * late, and may not include what its children had. */
static __always_inline void read_base_stat(struct cgroup *cgrp, bool by_symbol,
					   struct cpu_time *t)
{
	bool now = bpf_core_field_exists(struct cgroup, rstat_base_cpu);
	__u64 base = now ? (__u64)BPF_CORE_READ(cgrp, rstat_base_cpu)
			 : (__u64)BPF_CORE_READ((struct cgroup___old *)cgrp, rstat_cpu);

	for (__u32 cpu = 0; cpu < CPUS_MAX && cpu < possible_cpus; cpu++) {
		void *copy = (void *)(base + percpu_distance(cpu, by_symbol));
		struct cgroup_rstat_base_cpu *p = copy;
		struct cgroup_rstat_cpu___old *q = copy;
		if (now) {
			t->total += BPF_CORE_READ(p, bstat.cputime.sum_exec_runtime);
			t->user += BPF_CORE_READ(p, bstat.cputime.utime);
			t->system += BPF_CORE_READ(p, bstat.cputime.stime);
		} else {
			t->total += BPF_CORE_READ(q, bstat.cputime.sum_exec_runtime);
			t->user += BPF_CORE_READ(q, bstat.cputime.utime);
			t->system += BPF_CORE_READ(q, bstat.cputime.stime);
		}
	}
}

/* v1 counts a kill in the group of the killed task alone, v2 in all above it, too. */
static void read_oom_kills(struct cgroup_subsys_state *css, struct group_slot *s)
{
	struct mem_cgroup *m = (struct mem_cgroup *)css; /* css is its first member */
	int kill = bpf_core_enum_value(enum memcg_memory_event, MEMCG_OOM_KILL);

	if (s->hierarchy)
		s->oom_kills +=
			(__u64)BPF_CORE_READ(m, memory_events_local[kill].counter);
	else
		s->oom_kills = (__u64)BPF_CORE_READ(m, memory_events[kill].counter);
}

static void read_memory(struct cgroup_subsys_state *css, struct group_slot *s)
{
	struct mem_cgroup *m = (struct mem_cgroup *)css;

	s->memory_peak_bytes = (__u64)BPF_CORE_READ(m, memory.watermark) * page_bytes;
	s->has |= GROUP_SLOT_MEMORY;
}

static void end_slot(struct cgroup *cgrp, struct group_slot *s, __u32 slot)
{
	__u32 zero = 0;
	struct group_control *c = bpf_map_lookup_elem(&control, &zero);
	struct cgroup_subsys_state *memory = memory_of(cgrp);

	if (memory)
		read_memory(memory, s);
	s->ended_ns = bpf_ktime_get_boot_ns();
	s->state = GROUP_SLOT_ENDED;
	if (c) {
		__sync_fetch_and_add(&c->ended, 1);
		put_event(c, slot, GROUP_EVENT_ENDED);
	}
}

static __always_inline void add_cpu_time(struct cgroup *cgrp, struct group_slot *s,
					 enum part part, bool own, bool by_symbol)
{
	struct cgroup_subsys_state *acct = s->hierarchy ? cpuacct_of(cgrp) : NULL;
	struct cpu_time t = {0};

	if (s->hierarchy && (!own || !acct))
		return;
	if (acct)
		read_cpuacct(acct, by_symbol, &t);
	else
		read_base_stat(cgrp, by_symbol, &t);
	s->has |= GROUP_SLOT_CPU;
	if (part == PART_STEPD) {
		s->stepd_cpu_ns += t.total;
		return;
	}
	s->cpu_ns += t.total;
	s->user_ns += t.user;
	s->system_ns += t.system;
}

/* Whose group it is: by its own entry, or by the nearest one above. Those have none
 * that a user has made, or that found the table full. */
static bool find_group(struct cgroup *cgrp, __u32 hierarchy, struct group *ret)
{
	struct group_key key = {.hierarchy = hierarchy};
	struct cgroup *below = NULL;

	for (int i = 0; i < LEVELS_MAX && cgrp; i++) {
		key.id = BPF_CORE_READ(cgrp, kn, id);
		struct group *group = bpf_map_lookup_elem(&groups, &key);
		if (group) {
			if (below)
				group_below(group, key.id, below, hierarchy, ret);
			else
				*ret = *group;
			return true;
		}
		below = cgrp;
		cgrp = parent_of(cgrp);
	}
	return false;
}

static __always_inline int remove_group(struct cgroup *cgrp, bool by_symbol)
{
	struct group_key key;
	struct group group;

	group_key_of(cgrp, &key);
	if (!find_group(cgrp, key.hierarchy, &group))
		return 0;
	bpf_map_delete_elem(&groups, &key);
	struct group_slot *s = bpf_map_lookup_elem(&slots, &group.slot);
	if (!s || s->state != GROUP_SLOT_LIVES || s->hierarchy != key.hierarchy)
		return 0;
	bool own = s->cgroup == key.id;
	struct cgroup_subsys_state *memory =
		own || s->hierarchy ? memory_of(cgrp) : NULL;
	add_cpu_time(cgrp, s, group.part, own, by_symbol);
	if (memory)
		read_oom_kills(memory, s);
	if (own)
		end_slot(cgrp, s, group.slot);
	return 0;
}

SEC("tp_btf/cgroup_rmdir")
int BPF_PROG(group_removed, struct cgroup *cgrp)
{
	return remove_group(cgrp, false);
}

/* In its place where the kernel has no bpf_map_lookup_percpu_elem() */
SEC("?tp_btf/cgroup_rmdir")
int BPF_PROG(group_removed_by_symbol, struct cgroup *cgrp)
{
	return remove_group(cgrp, true);
}

char LICENSE[] SEC("license") = "GPL";
