/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_BPF_CALLS_H
#define CEEMS_BPF_CALLS_H

/* A system call where it ends, and a request of io_uring: its number, arguments, files
 * and result. */
#include "bpf/kernel.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#define ERRNO_MAX 4095ul
#define S_IFMT 0170000

#if defined(__TARGET_ARCH_x86)
#define TS_COMPAT 2u
static __always_inline bool is_compat(struct task_struct *task)
{
	return task->thread_info.status & TS_COMPAT;
}
/* the kernel looks at its lower half alone */
#define CALL_NUMBER(r) ((__u32)(r)->orig_ax)
#define FIRST_ARGUMENT(r) ((__u32)(r)->di)
#define SECOND_ARGUMENT(r) ((__u32)(r)->si)
#define THIRD_ARGUMENT(r) ((__u32)(r)->dx)
#define SECOND_POINTER(r) ((__u64)(r)->si)
#define THIRD_POINTER(r) ((__u64)(r)->dx)
#define FOURTH_ARGUMENT(r) ((__u32)(r)->r10)
#elif defined(__TARGET_ARCH_arm64)
#define TIF_32BIT (1ul << 22)
static __always_inline bool is_compat(struct task_struct *task)
{
	return task->thread_info.flags & TIF_32BIT;
}
#define CALL_NUMBER(r) ((__u64)(__u32)(r)->syscallno)
#define FIRST_ARGUMENT(r) ((__u32)(r)->orig_x0)
#define SECOND_ARGUMENT(r) ((__u32)(r)->regs[1])
#define THIRD_ARGUMENT(r) ((__u32)(r)->regs[2])
#define SECOND_POINTER(r) ((r)->regs[1])
#define THIRD_POINTER(r) ((r)->regs[2])
#define FOURTH_ARGUMENT(r) ((__u32)(r)->regs[3])
#else
#error "no registers of system calls for this processor"
#endif

static __always_inline struct file *file_of(struct task_struct *task, __u32 number)
{
	struct fdtable *table = task->files ? task->files->fdt : NULL;
	struct file *file = NULL;

	if (table && number < table->max_fds)
		bpf_probe_read_kernel(&file, sizeof(file), table->fd + number);
	return file;
}

/* -ERESTARTSYS and its like: the call is made again. */
static __always_inline bool is_made_again(long result)
{
	return result <= -512 && result >= -516;
}

/* A program may answer its own calls (seccomp) with whatever it likes. The kernel
 * itself never moves more than MAX_RW_COUNT. */
static __always_inline bool is_result(long result)
{
	return result >= -(long)ERRNO_MAX && result <= 0x7fffffff;
}

/* A request may end in another thread of its process, in the kernel's, or in whoever
 * else waits at the ring. */
static __always_inline struct task_struct *owner_of(struct io_kiocb *request)
{
	struct io_kiocb___old *old = (void *)request;

	return bpf_core_field_exists(request->tctx) ? BPF_CORE_READ(request, tctx, task)
						    : BPF_CORE_READ(old, task);
}

#endif
