/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Samples of what units run: at each tick of a CPU's clock the stack of the program
 * that it is in, followed by the rows that profiler/files/unwind_table.c made of its
 * files' call frame information, since what compilers optimise has no frame pointers.
 * Nothing is loaded while no unit asks. */
#include "bpf/task_group.h"

#include <bpf/bpf_tracing.h>

#include "lib/records/profile_sample.h"

static inline bool unwind_read(void *memory, unsigned long long at,
			       unsigned long long *ret)
{
	(void)memory;
	return bpf_probe_read_user(ret, sizeof(*ret), (void *)at) == 0;
}
#include "profiler/unwind_step.h"

#define ROW_STEPS 21     /* 2^20 rows of a file, and one to find none */
#define MAPPING_STEPS 13 /* PROFILE_MAPPINGS_MAX, likewise */
#define GROUP_ABOVE_MAX 16
#define POINTER_REACH (1ul << 20) /* bytes of a frame */
#define PARENTS_MAX 4
#define WAKE_NS 2000000ull
#define VM_EXEC 0x4ul        /* include/linux/mm.h */
#define PF_KTHREAD 0x200000u /* include/linux/sched.h */
#define PF_FORKNOEXEC 0x40u
#define BPF_RB_NO_WAKEUP 1
#define BPF_RB_FORCE_WAKEUP 2

/* Set by the opener before it loads this: one less than the places */
const volatile unsigned process_mask = 0;

/* Two tables, of which profile_control.tables says which one is in force */
MAPPED_ARRAY_MAP(wanted, struct profile_group);
MAPPED_ARRAY_MAP(processes, struct profile_process);
MAPPED_ARRAY_MAP(mappings, struct profile_mapping);
MAPPED_ARRAY_MAP(modules, struct profile_module);
MAPPED_ARRAY_MAP(rows, struct unwind_row);
MAPPED_ARRAY_MAP(control, struct profile_control);

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 20);
} samples SEC(".maps");

/* [cpu]: no program uses it, it only keeps the events */
struct {
	__uint(type, BPF_MAP_TYPE_PERF_EVENT_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} ticks SEC(".maps");

PERCPU_ARRAY_MAP(scratch, struct profile_first);

/* What was found of a group on this CPU, and how many ticks it has had */
struct cpu_state {
	__u64 cgroup;     /* of the task */
	__u64 found;      /* the one in the table that it is in; 0: none */
	__u32 generation; /* of the table */
	__u32 hz, tick, off_cpu;
};
#define CPU_GROUPS 64
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, CPU_GROUPS);
	__type(key, __u32);
	__type(value, struct cpu_state);
} cpu_states SEC(".maps");

struct stack_walk {
	struct profile_sample *sample;
	struct unwind_place at;
	__u32 first, count; /* mappings */
	__u32 depth;
	__u32 end;
	__u32 pointers; /* steps by a frame pointer */
	__u32 guessed;  /* a frame pointer led here: why, + 1 */
	__u32 python;   /* the interpreter that a frame is in, profile_module */
	__u64 python_base;
};

static __always_inline struct profile_control *get_control(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&control, &zero);
}

#include "bpf/python.h"

/* The last mapping that starts at or below pc; a function of its own, which the
 * verifier looks at once and not for each frame */
__noinline int find_mapping(__u32 first, __u32 count, __u64 pc)
{
	__u32 low = 0, high = count;

	for (int i = 0; i < MAPPING_STEPS && low < high; i++) {
		__u32 middle = low + (high - low) / 2, at = first + middle;
		struct profile_mapping *m = bpf_map_lookup_elem(&mappings, &at);
		if (!m)
			return -1;
		if (m->start <= pc)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? (int)(first + low - 1) : -1;
}

/* The row for an address of a file; likewise */
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

/* Code of no file, which a compiler of Java, JavaScript or Julia has written as it ran,
 * and files without rows, as Go's: they keep frame pointers. A pointer that does not
 * lead upwards by a sensible way is none. */
static __always_inline int step_by_pointer(struct stack_walk *w)
{
	unsigned long long fp = 0, pc = 0;

	if (!w->at.fp && w->pointers) /* the ABI's mark of the outermost frame */
		return SAMPLE_COMPLETE + 1;
	if (w->at.fp < w->at.sp || w->at.fp - w->at.sp > POINTER_REACH ||
	    (w->at.fp & 7) || !unwind_read(NULL, w->at.fp, &fp) ||
	    !unwind_read(NULL, w->at.fp + 8, &pc))
		return -1;
	if (!pc)
		return w->pointers ? SAMPLE_COMPLETE + 1 : -1;
	w->at.sp = w->at.fp + 16;
	w->at.fp = fp;
	w->at.pc = pc;
	w->pointers++;
	return 0;
}

static __always_inline int leave_frame(struct stack_walk *w, __u32 end)
{
	int rc = step_by_pointer(w);

	w->guessed = end + 1;
	w->end = rc < 0 ? end : rc ? (__u32)rc - 1 : SAMPLE_TOO_DEEP;
	return rc != 0;
}

static long walk_frame(__u32 i, void *arg)
{
	struct stack_walk *w = arg;
	__u32 n = w->depth + w->sample->kernel_frames;
	/* a call may be the last instruction of its function */
	__u64 pc = i ? w->at.pc - 1 : w->at.pc;

	w->end = SAMPLE_TOO_DEEP;
	if (n >= SAMPLE_KERNEL_MAX + SAMPLE_FRAMES_MAX)
		return 1;
	__u32 at = (__u32)find_mapping(w->first, w->count, pc);
	struct profile_mapping *mapping = bpf_map_lookup_elem(&mappings, &at);
	struct profile_module *module =
		mapping && pc < mapping->end
			? bpf_map_lookup_elem(&modules, &mapping->module)
			: NULL;
	w->sample->pcs[n] = w->at.pc;
	w->depth++;
	if (!mapping || !module) {
		__u32 guessed = w->guessed;
		int rc = leave_frame(w, SAMPLE_NO_MAPPING);
		if (guessed && w->end == SAMPLE_NO_MAPPING) {
			w->depth--; /* it was no frame pointer that led here */
			w->end = guessed - 1;
		}
		return rc;
	}
	w->guessed = 0;
	if (module->python) {
		w->python = module->python;
		w->python_base = mapping->base;
	}
	at = (__u32)find_row(module->first, module->count, (__u32)(pc - mapping->base));
	struct unwind_row *row = bpf_map_lookup_elem(&rows, &at);
	int end = row ? unwind_step(&w->at, row, NULL) : SAMPLE_NO_ROW + 1;
	if (end == SAMPLE_NO_ROW + 1 && module->count && unwind_undescribed(&w->at))
		end = 0;
	if (end == SAMPLE_NO_ROW + 1)
		return leave_frame(w, SAMPLE_NO_ROW);
	w->end = end ? end - 1 : SAMPLE_TOO_DEEP;
	return end != 0;
}

/* ---- who is sampled -------------------------------------------------------------- */

static __always_inline struct profile_group *find_wanted_group(__u32 table,
							       __u64 cgroup)
{
	__u32 place = profile_place(cgroup, PROFILE_GROUPS_MAX - 1);

	for (int i = 0; i < PROFILE_PROBES; i++) {
		__u32 at = table * PROFILE_GROUPS_MAX +
			   ((place + i) & (PROFILE_GROUPS_MAX - 1));
		struct profile_group *g = bpf_map_lookup_elem(&wanted, &at);
		if (!g || !g->cgroup)
			return NULL;
		if (g->cgroup == cgroup)
			return g;
	}
	return NULL;
}

static __always_inline __u64 number_of_group(__u64 id, bool unified)
{
	return profile_group_number(id, by_cpuacct && unified);
}

static __noinline int look_up_groups(struct cpu_state *s, struct task_struct *task,
				     __u32 table)
{
	bool unified;
	struct cgroup *cgrp = unit_cgroup_of_any(task, &unified);

	if (!s)
		return 0;
	s->found = 0;
	for (int i = 0; i < GROUP_ABOVE_MAX && cgrp; i++) {
		struct profile_group *g = find_wanted_group(
			table & 1,
			number_of_group(BPF_CORE_READ(cgrp, kn, id), unified));
		if (g) {
			s->found = g->cgroup;
			s->hz = g->hz;
			s->off_cpu = g->off_cpu;
			return 0;
		}
		struct cgroup_subsys_state *above = BPF_CORE_READ(cgrp, self.parent);
		cgrp = above ? BPF_CORE_READ(above, cgroup) : NULL;
	}
	return 0;
}

/* What this CPU knows of the group of a number, which the task is in; NULL: it is not
 * sampled. */
static __always_inline struct cpu_state *
find_wanted_by(__u64 id, struct task_struct *task, const struct profile_control *c)
{
	__u32 at = profile_place(id, CPU_GROUPS - 1);
	struct cpu_state *s = bpf_map_lookup_elem(&cpu_states, &at);

	if (!s)
		return NULL;
	if (s->cgroup != id || s->generation != c->generation) {
		look_up_groups(s, task, c->tables);
		s->cgroup = id;
		s->generation = c->generation;
	}
	return s->found ? s : NULL;
}

static __always_inline struct cpu_state *find_wanted(struct task_struct *task,
						     const struct profile_control *c)
{
	bool unified;
	struct cgroup *cgrp = unit_cgroup_of_any(task, &unified);

	return cgrp ? find_wanted_by(
			      number_of_group(BPF_CORE_READ(cgrp, kn, id), unified),
			      task, c)
		    : NULL;
}

/* Of the ticks of a CPU the share that its unit asked for, evenly */
static __always_inline bool is_tick_due(struct cpu_state *s, __u32 hz)
{
	__u64 n = s->tick++;

	return s->hz >= hz || (n + 1) * s->hz / hz != n * s->hz / hz;
}

/* ---- processes ------------------------------------------------------------------- */

static __noinline struct profile_process *find_process(__u32 pid)
{
	__u32 place = profile_place(pid, process_mask);

	for (int i = 0; i < PROFILE_PROBES; i++) {
		__u32 at = (place + i) & process_mask;
		struct profile_process *p = bpf_map_lookup_elem(&processes, &at);
		if (p && p->pid == pid)
			return p;
	}
	return NULL;
}

/* A process that was forked and executes nothing of its own has its parent's
 * mappings. */
static __always_inline struct profile_process *find_known(struct task_struct *task)
{
	struct profile_process *p = NULL;

	for (int i = 0; i < PARENTS_MAX && task; i++) {
		p = find_process((__u32)BPF_CORE_READ(task, tgid));
		if (p || !(BPF_CORE_READ(task, flags) & PF_FORKNOEXEC))
			break;
		task = BPF_CORE_READ(task, group_leader, real_parent);
	}
	return p;
}

/* The reader looks by itself many times a second; it is woken for what it should look
 * at soon, but not for each of many. */
static __always_inline __u64 wake_reader(struct profile_control *c)
{
	__u64 now = bpf_ktime_get_ns();

	if (now - c->woken_ns <= WAKE_NS)
		return BPF_RB_NO_WAKEUP;
	c->woken_ns = now;
	return BPF_RB_FORCE_WAKEUP;
}

static __always_inline void send_event(struct profile_control *c, __u64 cgroup,
				       __u32 process, __u8 kind, bool wake)
{
	struct {
		__u64 cgroup;
		__u32 process, thread, serial;
		__u8 kind, end, kernel_frames, frames;
	} event = {.cgroup = cgroup, .process = process, .kind = kind};

	if (bpf_ringbuf_output(&samples, &event, sizeof(event),
			       wake ? wake_reader(c) : BPF_RB_NO_WAKEUP) < 0)
		__sync_fetch_and_add(&c->lost_events, 1);
}

static __always_inline bool forget_process(__u32 pid)
{
	struct profile_process *p = find_process(pid);

	return p && __sync_val_compare_and_swap(&p->pid, pid, 0) == pid;
}

/* ---- what happens ---------------------------------------------------------------- */

/* As much as there is above the stack pointer, of these lengths */
static __always_inline void copy_stack(struct profile_first *f,
				       const struct unwind_place *at)
{
	f->sp = at->sp;
	f->fp = at->fp;
	f->lr = at->lr;
	f->bytes = 0;
	if (bpf_probe_read_user(f->stack, PROFILE_STACK_BYTES, (void *)at->sp) == 0)
		f->bytes = PROFILE_STACK_BYTES;
	else if (bpf_probe_read_user(f->stack, 2048, (void *)at->sp) == 0)
		f->bytes = 2048;
	else if (bpf_probe_read_user(f->stack, 512, (void *)at->sp) == 0)
		f->bytes = 512;
}

static __always_inline void walk_program(struct profile_first *f,
					 struct task_struct *task)
{
	struct profile_sample *s = &f->sample;
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(task);
	struct stack_walk w = {.sample = s};

	w.at.pc = BPF_CORE_READ(regs, REGS_PC);
	w.at.sp = BPF_CORE_READ(regs, REGS_SP);
	w.at.fp = BPF_CORE_READ(regs, REGS_FP);
	w.at.lr = BPF_CORE_READ(regs, REGS_LR);
	if (!w.at.pc || (BPF_CORE_READ(task, flags) & PF_KTHREAD)) {
		s->end = SAMPLE_NO_PROGRAM;
		return;
	}
	struct profile_process *p = find_known(task);
	if (!p) {
		__u32 n = s->kernel_frames;
		if (n < SAMPLE_KERNEL_MAX)
			s->pcs[n] = w.at.pc;
		s->frames = 1;
		s->end = SAMPLE_NEW_PROCESS;
		s->kind = PROFILE_FIRST;
		copy_stack(f, &w.at);
		return;
	}
	s->serial = p->serial;
	w.first = p->first;
	w.count = p->count;
	bpf_loop(SAMPLE_FRAMES_MAX, walk_frame, &w, 0);
	s->frames = (__u8)w.depth;
	s->end = (__u8)w.end;
	__u64 pointer = TASK_THREAD_POINTER(task);
	if (w.python && pointer)
		(void)walk_python(s, w.python, w.python_base, pointer);
}

/* The first section, since a kernel that refuses one of them refuses this: before it
 * has looked for long at the next. */
SEC("fentry/perf_event_mmap")
int BPF_PROG(code_mapped, struct vm_area_struct *vma)
{
	if (!(vma->vm_flags & VM_EXEC) || !vma->vm_file)
		return 0;
	struct task_struct *task = (struct task_struct *)bpf_get_current_task_btf();
	struct profile_control *c = get_control();
	struct cpu_state *state = c ? find_wanted(task, c) : NULL;

	if (c && state)
		send_event(c, state->found, (__u32)(bpf_get_current_pid_tgid() >> 32),
			   PROFILE_MAPPED, true);
	return 0;
}

/* Sends the stack of the current task, whose group is state's. since_ns: from when on
 * it is blocked; 0: it runs. False: it could not be sent. */
static __always_inline bool send_sample(void *ctx, struct profile_control *c,
					struct task_struct *task,
					const struct cpu_state *state, __u32 one_in,
					__u64 since_ns)
{
	__u64 id = bpf_get_current_pid_tgid();
	__u32 zero = 0;
	/* no clock ticks while a CPU changes to another task: one user at a time */
	struct profile_first *f = bpf_map_lookup_elem(&scratch, &zero);

	if (!f)
		return false;
	struct profile_sample *s = &f->sample;
	s->cgroup = state->found;
	s->process = (__u32)(id >> 32);
	s->thread = (__u32)id;
	s->serial = 0;
	s->one_in = one_in;
	s->since_ns = since_ns;
	s->kind = PROFILE_SAMPLE;
	s->kernel_frames = s->frames = s->python_frames = 0;
	/* of one that blocks without this program and what calls it */
	long size = bpf_get_stack(ctx, s->pcs, SAMPLE_KERNEL_MAX * sizeof(s->pcs[0]),
				  since_ns ? 2 : 0);
	if (size > 0)
		s->kernel_frames = (__u8)((__u32)size / sizeof(s->pcs[0]));
	walk_program(f, task);
	__u32 pcs = s->kernel_frames + s->frames + s->python_frames;
	if (pcs > SAMPLE_PCS_MAX)
		return false;
	long rc = s->kind == PROFILE_FIRST
			  ? bpf_ringbuf_output(&samples, f, sizeof(*f), wake_reader(c))
			  : bpf_ringbuf_output(
				    &samples, s,
				    __builtin_offsetof(struct profile_sample, pcs) +
					    pcs * sizeof(s->pcs[0]),
				    BPF_RB_NO_WAKEUP);
	if (rc < 0)
		__sync_fetch_and_add(&c->lost, 1);
	return rc == 0;
}

SEC("perf_event")
int clock_ticked(void *ctx)
{
	struct task_struct *task = (struct task_struct *)bpf_get_current_task_btf();
	struct profile_control *c = get_control();

	if (!(__u32)bpf_get_current_pid_tgid() || !c)
		return 0;
	struct cpu_state *state = find_wanted(task, c);
	if (state && is_tick_due(state, c->hz))
		(void)send_sample(ctx, c, task, state, 0, 0);
	return 0;
}

#include "bpf/blocked.h"

SEC("tp_btf/sched_switch")
int BPF_PROG(task_switched, bool preempt, struct task_struct *prev,
	     struct task_struct *next)
{
	struct profile_control *c = get_control();

	if (!c)
		return 0;
	tell_woken(c, next);
	/* whoever is made to wait for a CPU is not blocked */
	if (!preempt && (prev->__state & TASK_BLOCKED))
		look_at_blocked(ctx, c, prev);
	return 0;
}

/* What a process was mapped before it is no more. */
SEC("tp_btf/sched_process_exec")
int BPF_PROG(program_changed, struct task_struct *task)
{
	__u32 process = (__u32)(bpf_get_current_pid_tgid() >> 32);
	struct profile_control *c = get_control();
	struct cpu_state *state = c ? find_wanted(task, c) : NULL;

	(void)forget_process(process);
	if (c && state)
		send_event(c, state->found, process, PROFILE_EXEC, true);
	return 0;
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(process_ended, struct task_struct *task)
{
	__u64 id = bpf_get_current_pid_tgid();
	__u32 process = (__u32)(id >> 32);
	struct profile_control *c = get_control();

	if (process != (__u32)id || !c)
		return 0;
	struct cpu_state *state = find_wanted(task, c);
	/* also one that is not known yet: what is about to be learnt is for nothing */
	if (forget_process(process) || state)
		send_event(c, 0, process, PROFILE_EXIT, false);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
