/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Samples of what units run: at each tick of a CPU's clock the stack of the program
 * that it is in, followed by the rows that profiler/unwind_table.c made of its files'
 * call frame information, since what compilers optimise has no frame pointers. */
#include "bpf/task_group.h"

#include <bpf/bpf_tracing.h>

#include "profiler/sample.h"

#define ROW_STEPS 21 /* 2^20 rows of a file, and one to find none */
#define GROUP_ABOVE_MAX 16

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1024);
	__type(key, __u64); /* number of a control group */
	__type(value, __u32);
} wanted SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 4096);
	__type(key, __u32);
	__type(value, struct profile_process);
} processes SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, PROFILE_MODULES_MAX);
	__type(key, __u32);
	__type(value, struct profile_module);
} modules SEC(".maps");

MAPPED_ARRAY_MAP(rows, struct unwind_row);

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 20);
} samples SEC(".maps");

PERCPU_ARRAY_MAP(scratch, struct sample);

/* Samples that the ring buffer had no room for */
__u64 lost = 0;

struct stack_walk {
	struct sample *sample;
	struct profile_process *process;
	__u64 pc, sp, fp;
	__u32 depth;
	__u32 end;
};

static __always_inline bool read_word(__u64 at, __u64 *ret)
{
	return bpf_probe_read_user(ret, sizeof(*ret), (void *)at) == 0;
}

/* Index of the last mapping that starts at or below pc, + 1 */
static __always_inline __u32 find_mapping(const struct profile_process *p, __u64 pc)
{
	__u32 low = 0, high = p->count;

	for (int i = 0; i < 9 && low < high; i++) {
		__u32 middle = (low + high) / 2;
		if (middle >= PROFILE_MAPPINGS_MAX)
			break;
		if (p->mappings[middle].start <= pc)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* The row for an address of a file; a function of its own, which the verifier looks at
 * once and not for each frame */
__noinline int find_row(__u32 first, __u32 count, __u32 pc)
{
	__u32 low = 0, high = count;

	for (int i = 0; i < ROW_STEPS && low < high; i++) {
		__u32 middle = low + (high - low) / 2, at = first + middle;
		struct unwind_row *row = bpf_map_lookup_elem(&rows, &at);
		if (!row)
			return -1;
		if (row->pc <= pc)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? (int)(first + low - 1) : -1;
}

static __always_inline __u64 cfa_of(const struct stack_walk *w,
				    const struct unwind_row *row)
{
	__u64 cfa = 0;

	switch (UNWIND_RULE_CFA(row->rule)) {
	case UNWIND_CFA_SP:
		return w->sp + (__s64)row->cfa_words * 8;
	case UNWIND_CFA_FP:
		return w->fp + (__s64)row->cfa_words * 8;
	case UNWIND_CFA_AT_FP:
		return read_word(w->fp + (__s64)row->cfa_words * 8, &cfa) ? cfa : 0;
	case UNWIND_CFA_PLT:
		return w->sp + 8 + ((w->pc & 15) >= 11) * 8;
	}
	return 0;
}

/* From a frame to its caller. 0: go on */
static __always_inline int step_frame(struct stack_walk *w,
				      const struct unwind_row *row)
{
	__u64 cfa = cfa_of(w, row), at = 0, fp = w->fp;

	if (UNWIND_RULE_CFA(row->rule) == UNWIND_CFA_END)
		return SAMPLE_COMPLETE + 1;
	if (!cfa)
		return SAMPLE_NO_ROW + 1;
	if (UNWIND_RULE_FP(row->rule) == UNWIND_FP_AT_CFA)
		at = cfa + (__s64)row->fp_words * 8;
	else if (UNWIND_RULE_FP(row->rule) == UNWIND_FP_AT_FP)
		at = fp + (__s64)row->fp_words * 8;
	if ((at && !read_word(at, &fp)) || !read_word(cfa - 8, &w->pc))
		return SAMPLE_NO_MEMORY + 1;
	w->sp = cfa;
	w->fp = fp;
	return w->pc ? 0 : SAMPLE_COMPLETE + 1;
}

static long walk_frame(__u32 i, void *arg)
{
	struct stack_walk *w = arg;
	__u32 n = w->depth + w->sample->kernel_frames;
	/* a call may be the last instruction of its function */
	__u64 pc = i ? w->pc - 1 : w->pc;

	w->end = SAMPLE_TOO_DEEP;
	if (n >= SAMPLE_KERNEL_MAX + SAMPLE_FRAMES_MAX)
		return 1;
	w->sample->pcs[n] = w->pc;
	w->depth++;
	w->end = SAMPLE_NO_MAPPING;
	__u32 m = find_mapping(w->process, pc) - 1;
	if (m >= PROFILE_MAPPINGS_MAX)
		return 1;
	struct profile_mapping *mapping = &w->process->mappings[m];
	struct profile_module *module = bpf_map_lookup_elem(&modules, &mapping->module);
	if (pc >= mapping->end || !module)
		return 1;
	w->end = SAMPLE_NO_ROW;
	__u32 at = (__u32)find_row(module->first, module->count,
				   (__u32)(pc - mapping->base));
	struct unwind_row *row = bpf_map_lookup_elem(&rows, &at);
	if (!row)
		return 1;
	int end = step_frame(w, row);
	w->end = end ? end - 1 : SAMPLE_TOO_DEEP;
	return end != 0;
}

static __always_inline bool is_wanted(struct task_struct *task)
{
	struct cgroup *cgrp = counted_cgroup_of_any(task);

	for (int i = 0; i < GROUP_ABOVE_MAX && cgrp; i++) {
		__u64 id = BPF_CORE_READ(cgrp, kn, id);
		if (bpf_map_lookup_elem(&wanted, &id))
			return true;
		struct cgroup_subsys_state *above = BPF_CORE_READ(cgrp, self.parent);
		cgrp = above ? BPF_CORE_READ(above, cgroup) : NULL;
	}
	return false;
}

static __always_inline void walk_program(struct sample *s, struct task_struct *task)
{
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(task);
	struct stack_walk w = {.sample = s};

	w.pc = BPF_CORE_READ(regs, ip);
	w.sp = BPF_CORE_READ(regs, sp);
	w.fp = BPF_CORE_READ(regs, bp);
	if (!w.pc) {
		s->end = SAMPLE_NO_PROGRAM;
		return;
	}
	w.process = bpf_map_lookup_elem(&processes, &s->process);
	if (!w.process) {
		__u32 n = s->kernel_frames;
		if (n < SAMPLE_KERNEL_MAX)
			s->pcs[n] = w.pc;
		s->frames = 1;
		s->end = SAMPLE_NEW_PROCESS;
		return;
	}
	bpf_loop(SAMPLE_FRAMES_MAX, walk_frame, &w, 0);
	s->frames = (__u8)w.depth;
	s->end = (__u8)w.end;
}

SEC("perf_event")
int clock_ticked(void *ctx)
{
	struct task_struct *task = (struct task_struct *)bpf_get_current_task_btf();
	__u32 zero = 0;
	__u64 id = bpf_get_current_pid_tgid();

	if (!(__u32)id || !is_wanted(task))
		return 0;
	struct sample *s = bpf_map_lookup_elem(&scratch, &zero);
	if (!s)
		return 0;
	s->process = (__u32)(id >> 32);
	s->thread = (__u32)id;
	s->cpu = bpf_get_smp_processor_id();
	s->kernel_frames = s->frames = 0;
	long size =
		bpf_get_stack(ctx, s->pcs, SAMPLE_KERNEL_MAX * sizeof(s->pcs[0]), 0);
	if (size > 0)
		s->kernel_frames = (__u8)((__u32)size / sizeof(s->pcs[0]));
	walk_program(s, task);
	__u32 pcs = s->kernel_frames + s->frames;
	if (pcs > SAMPLE_KERNEL_MAX + SAMPLE_FRAMES_MAX)
		return 0;
	if (bpf_ringbuf_output(&samples, s,
			       __builtin_offsetof(struct sample, pcs) +
				       pcs * sizeof(s->pcs[0]),
			       0) < 0)
		__sync_fetch_and_add(&lost, 1);
	return 0;
}

/* What a process was mapped before it is no more. */
SEC("tp_btf/sched_process_exec")
int BPF_PROG(program_changed, struct task_struct *task)
{
	__u32 process = (__u32)(bpf_get_current_pid_tgid() >> 32);

	bpf_map_delete_elem(&processes, &process);
	return 0;
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(process_ended, struct task_struct *task)
{
	__u64 id = bpf_get_current_pid_tgid();
	__u32 process = (__u32)(id >> 32);

	if (process == (__u32)id)
		bpf_map_delete_elem(&processes, &process);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
