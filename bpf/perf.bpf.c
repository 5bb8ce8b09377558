/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Software events of units: page faults, context switches, migrations. The kernel
 * counts them in each task; what a task has is added to its unit when it exits, so that
 * nothing runs at the events themselves, and a task that lives is seen about once a
 * second. */
#include "bpf/task_slot.h"

#include <bpf/bpf_tracing.h>

#include "bpf/hardware.h"
#include "lib/records/perf_cells.h"

#define PF_EXITING 0x4u /* include/linux/sched.h */

/* Set by the opener before it loads this. */
const volatile unsigned stripes = 1; /* power of two */

MAPPED_ARRAY_MAP(perf_counts, struct perf_counts);

/* What has been added for a task already; without an entry nothing has. */
struct added {
	struct perf_counts counts;
	__u32 slot; /* that they are in, + 1 */
	__u32 unused;
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct added);
} perf_added SEC(".maps");

/* [cpu]: no program uses it, it only keeps the events */
struct {
	__uint(type, BPF_MAP_TYPE_PERF_EVENT_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} perf_ticks SEC(".maps");

static __always_inline void read_counts(struct task_struct *task, struct perf_counts *c)
{
	c->minor_faults = task->min_flt;
	c->major_faults = task->maj_flt;
	c->switches = task->nvcsw + task->nivcsw;
	c->migrations = task->se.nr_migrations;
}

static __always_inline void add_counts(struct task_struct *task, __u32 slot,
				       struct added *added)
{
	__u32 i = slot * stripes + (bpf_get_smp_processor_id() & (stripes - 1));
	struct perf_counts *to = bpf_map_lookup_elem(&perf_counts, &i);
	struct perf_counts now = {0}, none = {0};
	const struct perf_counts *before = added ? &added->counts : &none;

	if (!to)
		return;
	read_counts(task, &now);
	__sync_fetch_and_add(&to->minor_faults,
			     now.minor_faults - before->minor_faults);
	__sync_fetch_and_add(&to->major_faults,
			     now.major_faults - before->major_faults);
	__sync_fetch_and_add(&to->switches, now.switches - before->switches);
	__sync_fetch_and_add(&to->migrations, now.migrations - before->migrations);
	if (added) {
		added->counts = now;
		added->slot = slot + 1;
	}
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(task_exited, struct task_struct *task)
{
	__u32 slot = slot_of_task(task);

	if (slot != SLOT_NONE)
		add_counts(task, slot,
			   bpf_task_storage_get(&perf_added, task, NULL, 0));
	return 0;
}

SEC("perf_event")
int task_ticked(void *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();

	count_for_task(task, true);
	/* then task_exited adds it, and may be interrupted by this */
	if (task->flags & PF_EXITING)
		return 0;
	__u32 slot = slot_of_task(task);
	if (slot == SLOT_NONE)
		return 0;
	struct added *added = bpf_task_storage_get(&perf_added, task, NULL,
						   BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (added)
		add_counts(task, slot, added);
	return 0;
}

/* What it did before is not the unit's. */
SEC("tp_btf/cgroup_attach_task")
int BPF_PROG(task_moved, struct cgroup *to, const char *path, struct task_struct *task)
{
	bool unified;
	__u32 slot;

	if (unit_cgroup(task, &unified) != to)
		return 0; /* another hierarchy */
	/* one that moves itself may not leave the CPU for long */
	if (task->tgid == (int)(bpf_get_current_pid_tgid() >> 32))
		count_for_task(bpf_get_current_task_btf(), false);
	slot = slot_of_task(task);
	if (slot == SLOT_NONE)
		return 0;
	struct added *added = bpf_task_storage_get(&perf_added, task, NULL,
						   BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!added || added->slot == slot + 1)
		return 0;
	read_counts(task, &added->counts);
	added->slot = slot + 1;
	return 0;
}

/* Loaded only where there are hardware events. */
SEC("tp_btf/sched_switch")
int BPF_PROG(task_switched, bool preempt, struct task_struct *prev,
	     struct task_struct *next)
{
	count_for_task(next, false);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
