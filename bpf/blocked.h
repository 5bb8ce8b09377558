/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_BPF_BLOCKED_H
#define CEEMS_BPF_BLOCKED_H

/*
 * Threads that wait without a CPU, where they do and for how long. Following a stack
 * takes some microseconds and a program may block 100000 times a second, so of those
 * that block at one place (a thread, its program counter and stack pointer) often only
 * one in N is looked at, drawn by lot before it is known how long it will last: its
 * time counts N times, so that no place has more or less than it had. N is a power of
 * two; it grows while more than a share of a second's budget is taken, and shrinks
 * again. A place that blocks rarely has all of its time counted once.
 */
#define TASK_BLOCKED 3u /* TASK_INTERRUPTIBLE, TASK_UNINTERRUPTIBLE: not stopped */
#define LOT_WINDOW_NS 125000000ull
#define LOT_PLACE 16u /* in a window, of a place */
#define LOT_CPU 64u   /* of all places of a CPU */
#define LOT_MOST 15u  /* log2 */

struct lot {
	__u64 window; /* number of it */
	__u32 taken, log;
};

/* Two calls of one function with one stack pointer come from one place, mostly. */
struct blocked_place {
	__u64 pc, sp;
	__u32 thread, unused;
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1);
	__type(key, struct blocked_place);
	__type(value, struct lot);
} blocked_places SEC(".maps");

struct blocked {
	__u64 since_ns;
	__u64 ran_ns; /* until then */
};

/* By thread: those that a sample was sent of */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct blocked);
} blocked_threads SEC(".maps");

PERCPU_ARRAY_MAP(cpu_lots, struct lot);

/* N, or 0: it is not drawn */
static __always_inline __u32 draw_lot(struct lot *l, __u64 now_ns, __u32 most)
{
	__u64 window = now_ns / LOT_WINDOW_NS, past = window - l->window;

	if (past) {
		__u32 log = l->taken < most / 2 ? l->log : l->log + 1;
		l->log = past > log ? 0 : log - (__u32)past;
		l->window = window;
		l->taken = 0;
	} else if (l->taken >= most && l->log < LOT_MOST) {
		l->log++;
		l->taken = 0;
	}
	__u32 n = 1u << (l->log & LOT_MOST);
	if (bpf_get_prandom_u32() & (n - 1))
		return 0;
	l->taken++;
	return n;
}

static __always_inline __u32 draw_place(struct task_struct *task, __u64 now_ns)
{
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(task);
	struct blocked_place place = {
		.pc = BPF_CORE_READ(regs, REGS_PC),
		.sp = BPF_CORE_READ(regs, REGS_SP),
		.thread = (__u32)task->pid,
	};
	struct lot *l = bpf_map_lookup_elem(&blocked_places, &place);

	if (!l) {
		struct lot first = {.window = now_ns / LOT_WINDOW_NS, .taken = 1};
		(void)bpf_map_update_elem(&blocked_places, &place, &first, BPF_ANY);
		return 1;
	}
	return draw_lot(l, now_ns, LOT_PLACE);
}

/* The end of what b says; b is no more then. */
static __always_inline void end_blocked(struct profile_control *c,
					const struct task_struct *task,
					const struct cpu_state *state,
					const struct blocked *b, __u64 ns)
{
	__u32 thread = (__u32)task->pid;
	struct profile_woken woken = {
		.head = {.cgroup = state->found,
			 .process = (__u32)task->tgid,
			 .thread = thread,
			 .kind = PROFILE_WOKEN},
		.since_ns = b->since_ns,
		.ns = ns,
	};

	(void)bpf_map_delete_elem(&blocked_threads, &thread);
	if (bpf_ringbuf_output(&samples, &woken, sizeof(woken), BPF_RB_NO_WAKEUP) < 0)
		__sync_fetch_and_add(&c->lost_events, 1);
}

static __always_inline struct cpu_state *
find_blocked_state(struct task_struct *task, const struct profile_control *c)
{
	bool unified;
	struct cgroup *cgrp = unit_cgroup(task, &unified);
	struct cpu_state *state =
		cgrp ? find_wanted_by(number_of_group(cgrp->kn->id, unified), task, c)
		     : NULL;

	return state && state->off_cpu ? state : NULL;
}

static __always_inline void look_at_blocked(void *ctx, struct profile_control *c,
					    struct task_struct *task)
{
	__u32 thread = (__u32)task->pid, zero = 0;

	if (!thread || (task->flags & PF_KTHREAD))
		return;
	struct cpu_state *state = find_blocked_state(task, c);
	struct lot *of_cpu = state ? bpf_map_lookup_elem(&cpu_lots, &zero) : NULL;
	if (!state || !of_cpu)
		return;
	/* no clock is read for others */
	struct blocked now = {.since_ns = bpf_ktime_get_ns(),
			      .ran_ns = task->se.sum_exec_runtime};
	/* Kernels were seen that did not call this at a few of a thousand switches:
	 * what it has not run since it was blocked for. */
	struct blocked *before = bpf_map_lookup_elem(&blocked_threads, &thread);
	if (before)
		end_blocked(c, task, state, before,
			    now.since_ns - before->since_ns -
				    (now.ran_ns - before->ran_ns));
	__u32 n = draw_place(task, now.since_ns);
	if (n)
		n *= draw_lot(of_cpu, now.since_ns, LOT_CPU);
	if (n && send_sample(ctx, c, task, state, n, now.since_ns))
		(void)bpf_map_update_elem(&blocked_threads, &thread, &now, BPF_ANY);
}

static __always_inline void tell_woken(struct profile_control *c,
				       struct task_struct *task)
{
	__u32 thread = (__u32)task->pid;
	struct cpu_state *state = thread ? find_blocked_state(task, c) : NULL;
	struct blocked *b =
		state ? bpf_map_lookup_elem(&blocked_threads, &thread) : NULL;

	if (b)
		end_blocked(c, task, state, b, bpf_ktime_get_ns() - b->since_ns);
}

#endif
