/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_BPF_HARDWARE_H
#define CEEMS_BPF_HARDWARE_H

/* Hardware events of units: see lib/records/hardware_cells.h. Part of perf.bpf.c, since
 * its timer is needed here, too. */
#include "bpf/task_slot.h"
#include "lib/records/hardware_cells.h"

/* Set by the opener before it loads this; hardware_events 0: none of this runs. */
const volatile unsigned hardware_events = 0;
const volatile unsigned hardware_groups = 1;
const volatile unsigned hardware_stripes = 1; /* power of two */
const volatile unsigned hardware_cpus = 1;
/* by event, in the order in which they were opened */
const volatile unsigned char hardware_group[HARDWARE_EVENTS] = {0};
const volatile unsigned char hardware_member[HARDWARE_EVENTS] = {0};

MAPPED_ARRAY_MAP(hardware_counts, struct hardware_counts);

MAPPED_ARRAY_MAP(hardware_control, struct hardware_control);

/* [event][cpu] */
struct {
	__uint(type, BPF_MAP_TYPE_PERF_EVENT_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} hardware_fds SEC(".maps");

/* Of include/uapi/linux/bpf.h */
struct bpf_perf_event_value {
	__u64 counter, enabled, running;
};

/* What a CPU counts for, and the events' values when that began */
struct counted_cpu {
	__u32 armed; /* for which this holds */
	__u32 slot;
	__u32 busy, unused;
	struct bpf_perf_event_value base[HARDWARE_EVENTS];
};

PERCPU_ARRAY_MAP(counted_cpu, struct counted_cpu);

static __always_inline void add_event(__u32 slot, __u32 group, __u32 member, __u32 cpu,
				      const struct bpf_perf_event_value *base,
				      const struct bpf_perf_event_value *now)
{
	__u32 i = (slot * hardware_groups + group) * hardware_stripes +
		  (cpu & (hardware_stripes - 1));
	struct hardware_counts *to = bpf_map_lookup_elem(&hardware_counts, &i);

	if (!to || member >= HARDWARE_MEMBERS)
		return;
	__sync_fetch_and_add(&to->values[member], now->counter - base->counter);
	if (member == 0) {
		__sync_fetch_and_add(&to->enabled_ns, now->enabled - base->enabled);
		__sync_fetch_and_add(&to->running_ns, now->running - base->running);
	}
}

/* What has been counted since the last time is from's. */
static __noinline int read_events(struct counted_cpu *own, __u32 from,
				  __u32 armed_groups)
{
	__u32 cpu = bpf_get_smp_processor_id();

	if (!own)
		return 0;
	for (__u32 e = 0; e < HARDWARE_EVENTS && e < hardware_events; e++) {
		struct bpf_perf_event_value now = {0};
		__u32 group = hardware_group[e];
		if (!(armed_groups & 1u << (group & 31)))
			continue;
		if (bpf_perf_event_read_value(&hardware_fds, e * hardware_cpus + cpu,
					      &now, sizeof(now)) < 0)
			continue;
		if (from != SLOT_NONE)
			add_event(from, group, hardware_member[e], cpu, &own->base[e],
				  &now);
		own->base[e] = now;
	}
	return 0;
}

/* From here on this CPU counts for the task. refresh: also if its unit stays the same.
 * What interrupts this finds it busy. */
static __always_inline void count_for_task(struct task_struct *task, bool refresh)
{
	__u32 zero = 0;

	if (!hardware_events)
		return;
	struct hardware_control *c = bpf_map_lookup_elem(&hardware_control, &zero);
	if (!c)
		return;
	__u32 armed = *(volatile unsigned *)&c->armed;
	if (!armed)
		return;
	struct counted_cpu *own = bpf_map_lookup_elem(&counted_cpu, &zero);
	if (!own || own->busy)
		return;
	own->busy = 1;
	__u32 slot = slot_of_task(task);
	__u32 from = own->armed == armed ? own->slot : SLOT_NONE;
	if (slot != from || (refresh && slot != SLOT_NONE)) {
		read_events(own, from, c->armed_groups);
		own->slot = slot;
		own->armed = armed;
	}
	own->busy = 0;
}

#endif
