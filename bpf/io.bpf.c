/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What processes of units read and wrote, counted at the end of each system call, and
 * of each request of io_uring: its result is the number of bytes that were moved, or
 * the error, however the file system did it. */
#include "bpf/kernel.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "bpf/calls.h"
#include "bpf/io_mounts.h"
#include "bpf/task_slot.h"
#include "lib/records/io_cells.h"

/* Set by the opener before it loads this; powers of two. */
const volatile unsigned stripes = 1;
/* Also how long calls take, and why they fail */
const volatile bool with_times = false;
const volatile unsigned times_stripes = 1;

MAPPED_ARRAY_MAP(io_counts, struct io_counts);

MAPPED_ARRAY_MAP(io_names, struct io_names);

MAPPED_ARRAY_MAP(io_times, struct io_times);

MAPPED_ARRAY_MAP(io_errors, struct io_errors);

ARRAY_MAP(io_begun, __u64);

/* ---- which call ------------------------------------------------------------------ */

enum call {
	CALL_NONE,
	CALL_READ,     /* first argument */
	CALL_WRITE,    /* first argument */
	CALL_SENDFILE, /* to the first argument, from the second */
	CALL_COPY,     /* from the first argument, to the third */
	CALL_OPEN,
	CALL_MKDIR,
	CALL_UNLINK,
	CALL_SUBMIT /* io_submit */
};

#if defined(__TARGET_ARCH_x86)
/* arch/x86/entry/syscalls/syscall_64.tbl */
static __always_inline enum call kind_of_call(__u64 nr)
{
	switch (nr) {
	case 0:   /* read */
	case 17:  /* pread64 */
	case 19:  /* readv */
	case 295: /* preadv */
	case 327: /* preadv2 */
		return CALL_READ;
	case 1:   /* write */
	case 18:  /* pwrite64 */
	case 20:  /* writev */
	case 296: /* pwritev */
	case 328: /* pwritev2 */
		return CALL_WRITE;
	case 40: /* sendfile */
		return CALL_SENDFILE;
	case 275: /* splice */
	case 326: /* copy_file_range */
		return CALL_COPY;
	case 2:   /* open */
	case 85:  /* creat */
	case 257: /* openat */
	case 437: /* openat2 */
		return CALL_OPEN;
	case 83:  /* mkdir */
	case 258: /* mkdirat */
		return CALL_MKDIR;
	case 84:  /* rmdir */
	case 87:  /* unlink */
	case 263: /* unlinkat */
		return CALL_UNLINK;
	case 209: /* io_submit */
		return CALL_SUBMIT;
	}
	return CALL_NONE;
}
#elif defined(__TARGET_ARCH_arm64)
/* include/uapi/asm-generic/unistd.h */
static __always_inline enum call kind_of_call(__u64 nr)
{
	switch (nr) {
	case 63:  /* read */
	case 65:  /* readv */
	case 67:  /* pread64 */
	case 69:  /* preadv */
	case 286: /* preadv2 */
		return CALL_READ;
	case 64:  /* write */
	case 66:  /* writev */
	case 68:  /* pwrite64 */
	case 70:  /* pwritev */
	case 287: /* pwritev2 */
		return CALL_WRITE;
	case 71: /* sendfile */
		return CALL_SENDFILE;
	case 76:  /* splice */
	case 285: /* copy_file_range */
		return CALL_COPY;
	case 56:  /* openat */
	case 437: /* openat2 */
		return CALL_OPEN;
	case 34: /* mkdirat */
		return CALL_MKDIR;
	case 35: /* unlinkat, with AT_REMOVEDIR too */
		return CALL_UNLINK;
	case 2: /* io_submit */
		return CALL_SUBMIT;
	}
	return CALL_NONE;
}
#else
#error "no table of system calls for this processor"
#endif

/* ---- counting -------------------------------------------------------------------- */

static __always_inline __u32 own_stripe(__u32 element)
{
	return element * stripes + (bpf_get_smp_processor_id() & (stripes - 1));
}

/* The verifier does not know that a bool is 0 or 1. */
static __always_inline enum io_direction direction_of(bool written)
{
	__u32 direction = written;

	asm volatile("%0 &= 1" : "+r"(direction));
	return (enum io_direction)direction;
}

static __always_inline __u32 bucket_of(__u64 ns)
{
	__u64 wide = (ns + 999) / 1000;
	__u32 us = wide > 0xffffffffu ? 0xffffffffu : (__u32)wide, log = 0;

	if (us <= 1)
		return 0;
	us--;
	for (__u32 bits = 16; bits; bits /= 2) {
		if (us >> bits) {
			us >>= bits;
			log += bits;
		}
	}
	log = log / 2 + 1;
	return log < IO_BUCKETS ? log : IO_BUCKETS - 1;
}

static __always_inline void count_time(__u32 cell, enum io_direction direction,
				       __u64 ns)
{
	__u32 i = cell * times_stripes +
		  (bpf_get_smp_processor_id() & (times_stripes - 1));
	struct io_times *times = bpf_map_lookup_elem(&io_times, &i);
	__u32 bucket = bucket_of(ns);

	if (!times || bucket >= IO_BUCKETS)
		return;
	ADD(times->of[direction].calls[bucket], 1);
	ADD(times->of[direction].ns, ns);
}

static __always_inline enum io_error_class class_of(long result)
{
	switch (-result) {
	case 28:  /* ENOSPC */
	case 122: /* EDQUOT */
	case 27:  /* EFBIG */
		return IO_ERROR_SPACE;
	case 5:   /* EIO */
	case 116: /* ESTALE */
	case 110: /* ETIMEDOUT */
		return IO_ERROR_IO;
	case 13: /* EACCES */
	case 1:  /* EPERM */
	case 30: /* EROFS */
		return IO_ERROR_ACCESS;
	case 2:  /* ENOENT */
	case 20: /* ENOTDIR */
		return IO_ERROR_MISSING;
	case 11: /* EAGAIN */
	case 4:  /* EINTR */
		return IO_ERROR_AGAIN;
	}
	return IO_ERROR_OTHER;
}

static __always_inline void count_error(__u32 cell, enum io_error_call call,
					long result)
{
	struct io_errors *errors = bpf_map_lookup_elem(&io_errors, &cell);
	enum io_error_class class = class_of(result);

	if (errors)
		ADD(errors->of[call][class], 1);
}

/* Global, as make_cell(). file: NULL for a bad descriptor; ns: how long it took, 0
 * where nobody knows */
__noinline int count_moved(__u32 slot, __u64 file, long result, bool written, __u64 ns)
{
	__u32 cell = cell_of_file(slot, (struct file *)file);

	if (cell == IO_CELL_IGNORED)
		return 0;
	__u32 i = own_stripe(cell);
	struct io_counts *counts = bpf_map_lookup_elem(&io_counts, &i);
	if (!counts)
		return 0;
	if (with_times && ns)
		count_time(cell, direction_of(written), ns);
	if (with_times && result < 0)
		count_error(cell, (enum io_error_call)direction_of(written), result);
	if (written) {
		ADD(counts->write_calls, 1);
		if (result < 0)
			ADD(counts->write_errors, 1);
		else
			ADD(counts->write_bytes, (__u64)result);
		return 0;
	}
	ADD(counts->read_calls, 1);
	if (result < 0)
		ADD(counts->read_errors, 1);
	else
		ADD(counts->read_bytes, (__u64)result);
	return 0;
}

static __always_inline void count_name(struct task_struct *task, __u32 slot,
				       enum call call, long result)
{
	__u32 i = own_stripe(slot);
	struct io_names *names = bpf_map_lookup_elem(&io_names, &i);

	if (!names)
		return;
	if (with_times && result < 0)
		count_error(cell_count + slot, IO_ERROR_NAME, result);
	switch (call) {
	case CALL_OPEN:
		ADD(names->opens, 1);
		if (result < 0)
			ADD(names->open_errors, 1);
		else if (BPF_CORE_READ(file_of(task, (__u32)result), f_mode) &
			 FMODE_CREATED)
			ADD(names->creates, 1);
		return;
	case CALL_MKDIR:
		ADD(names->creates, 1);
		if (result < 0)
			ADD(names->create_errors, 1);
		return;
	default:
		ADD(names->unlinks, 1);
		if (result < 0)
			ADD(names->unlink_errors, 1);
	}
}

/* ---- io_submit ------------------------------------------------------------------ */

/* include/uapi/linux/aio_abi.h, uio.h */
struct iocb {
	__u64 aio_data;
	__u32 aio_key, aio_rw_flags;
	__u16 aio_lio_opcode;
	__s16 aio_reqprio;
	__u32 aio_fildes;
	__u64 aio_buf, aio_nbytes;
	__s64 aio_offset;
	__u64 aio_reserved2;
	__u32 aio_flags, aio_resfd;
};
struct iovec {
	__u64 iov_base, iov_len;
};
enum {
	IOCB_CMD_PREAD = 0,
	IOCB_CMD_PWRITE = 1,
	IOCB_CMD_PREADV = 7,
	IOCB_CMD_PWRITEV = 8
};
/* Of a call; more are not counted. A program may make up the result of its own call
 * (seccomp), and no other runs on this CPU while we look at what it says. */
#define SUBMITTED_MAX 1024
#define PARTS_MAX 4096
#define BYTES_MAX 0x7ffff000ull

struct vector {
	__u64 at, bytes;
};

static long add_part(__u32 i, struct vector *v)
{
	struct iovec part;

	if (bpf_probe_read_user(&part, sizeof(part),
				(void *)(v->at + i * sizeof(part))))
		return 1;
	/* cut, so that no sum goes round; atomic, so that the verifier does not follow
	 * the sum */
	ADD(v->bytes, part.iov_len < BYTES_MAX ? part.iov_len : BYTES_MAX);
	return 0;
}

/* *parts: that may still be looked at */
static __always_inline __u64 asked_bytes(const struct iocb *iocb, __u32 *parts)
{
	struct vector v = {iocb->aio_buf, iocb->aio_nbytes};

	if (iocb->aio_lio_opcode == IOCB_CMD_PREADV ||
	    iocb->aio_lio_opcode == IOCB_CMD_PWRITEV) {
		__u32 left = *parts;
		__u32 n = iocb->aio_nbytes < left ? (__u32)iocb->aio_nbytes : left;
		v.bytes = 0;
		bpf_loop(n, add_part, &v, 0);
		*parts = left - n;
	}
	return v.bytes < BYTES_MAX ? v.bytes : BYTES_MAX;
}

/* Global, as make_cell() */
__noinline int count_asked(__u32 slot, __u64 file, __u64 bytes, bool written)
{
	__u32 cell = cell_of_file(slot, (struct file *)file);

	if (cell == IO_CELL_IGNORED)
		return 0;
	__u32 i = own_stripe(cell);
	struct io_counts *counts = bpf_map_lookup_elem(&io_counts, &i);
	if (!counts)
		return 0;
	if (written)
		ADD(counts->asked_write_bytes, bytes);
	else
		ADD(counts->asked_read_bytes, bytes);
	return 0;
}

struct submitted {
	__u64 list; /* of pointers */
	__u32 slot, parts;
};

static long count_submitted(__u32 i, struct submitted *s)
{
	struct iocb iocb;
	__u64 at;

	if (bpf_probe_read_user(&at, sizeof(at), (void *)(s->list + i * sizeof(at))) ||
	    bpf_probe_read_user(&iocb, sizeof(iocb), (void *)at))
		return 1;
	bool written = iocb.aio_lio_opcode == IOCB_CMD_PWRITE ||
		       iocb.aio_lio_opcode == IOCB_CMD_PWRITEV;
	if (!written && iocb.aio_lio_opcode != IOCB_CMD_PREAD &&
	    iocb.aio_lio_opcode != IOCB_CMD_PREADV)
		return 0;
	struct file *file = file_of(bpf_get_current_task_btf(), iocb.aio_fildes);
	if (file) /* else it was closed meanwhile */
		count_asked(s->slot, (__u64)file, asked_bytes(&iocb, &s->parts),
			    written);
	return 0;
}

/* ---- calls ----------------------------------------------------------------------- */

#define BEGUN_BITS 6
#define BEGUN_MASK ((1u << BEGUN_BITS) - 1)

static __always_inline __u64 *begun_of(struct task_struct *task)
{
	__u32 place = (__u32)task->pid & (IO_BEGUN_PLACES - 1);

	return bpf_map_lookup_elem(&io_begun, &place);
}

static __always_inline __u64 begun_tag(struct task_struct *task)
{
	return (__u32)task->pid / IO_BEGUN_PLACES & BEGUN_MASK;
}

/* How long the call that ends now took; 0: nobody knows. */
static __always_inline __u64 time_of_call(struct task_struct *task)
{
	__u64 *begun = with_times ? begun_of(task) : NULL;
	__u64 word = begun ? *begun : 0;

	if (!word || (word & BEGUN_MASK) != begun_tag(task))
		return 0;
	*begun = 0;
	__u64 ns = (bpf_ktime_get_ns() & ~0ull >> BEGUN_BITS) - (word >> BEGUN_BITS);
	return ns ? ns : 1;
}

SEC("?tp_btf/sys_enter")
int BPF_PROG(call_begun, struct pt_regs *regs, long number)
{
	struct task_struct *task = bpf_get_current_task_btf();
	enum call call = kind_of_call(CALL_NUMBER(regs));

	if (call < CALL_READ || call > CALL_COPY || is_compat(task) ||
	    slot_of_task(task) == SLOT_NONE)
		return 0;
	__u64 *begun = begun_of(task);
	if (begun)
		*begun = bpf_ktime_get_ns() << BEGUN_BITS | begun_tag(task);
	return 0;
}

SEC("tp_btf/sys_exit")
int BPF_PROG(call_ended, struct pt_regs *regs, long result)
{
	struct task_struct *task = bpf_get_current_task_btf();
	/* a 32-bit program's numbers are of another table */
	bool compat = is_compat(task);
	enum call call = kind_of_call(CALL_NUMBER(regs));

	if (call == CALL_NONE && !compat)
		return 0;
	__u32 slot = slot_of_task(task);
	if (slot == SLOT_NONE || is_made_again(result) || !is_result(result))
		return 0;
	if (compat) {
		__u32 zero = 0;
		struct io_control *c = bpf_map_lookup_elem(&io_control, &zero);
		if (c)
			ADD(c->compat, 1);
		return 0;
	}
	__u64 ns = call <= CALL_COPY ? time_of_call(task) : 0;
	switch (call) {
	case CALL_READ:
		count_moved(slot, (__u64)file_of(task, FIRST_ARGUMENT(regs)), result,
			    false, ns);
		return 0;
	case CALL_WRITE:
		count_moved(slot, (__u64)file_of(task, FIRST_ARGUMENT(regs)), result,
			    true, ns);
		return 0;
	case CALL_SENDFILE:
		count_moved(slot, (__u64)file_of(task, SECOND_ARGUMENT(regs)), result,
			    false, ns);
		count_moved(slot, (__u64)file_of(task, FIRST_ARGUMENT(regs)), result,
			    true, ns);
		return 0;
	case CALL_COPY:
		count_moved(slot, (__u64)file_of(task, FIRST_ARGUMENT(regs)), result,
			    false, ns);
		count_moved(slot, (__u64)file_of(task, THIRD_ARGUMENT(regs)), result,
			    true, ns);
		return 0;
	case CALL_SUBMIT: {
		struct submitted all = {THIRD_POINTER(regs), slot, PARTS_MAX};
		if (result > 0)
			bpf_loop(result < SUBMITTED_MAX ? result : SUBMITTED_MAX,
				 count_submitted, &all, 0);
		return 0;
	}
	default:
		count_name(task, slot, call, result);
	}
	return 0;
}

/* ---- io_uring ------------------------------------------------------------------- */

/* include/uapi/linux/io_uring.h */
enum io_uring_op {
	IORING_OP_READV = 1,
	IORING_OP_WRITEV = 2,
	IORING_OP_READ_FIXED = 4,
	IORING_OP_WRITE_FIXED = 5,
	IORING_OP_READ = 22,
	IORING_OP_WRITE = 23,
	IORING_OP_READV_FIXED = 60,
	IORING_OP_WRITEV_FIXED = 61
};

static __always_inline enum call kind_of_request(__u8 op)
{
	switch (op) {
	case IORING_OP_READV:
	case IORING_OP_READ_FIXED:
	case IORING_OP_READ:
	case IORING_OP_READV_FIXED:
		return CALL_READ;
	case IORING_OP_WRITEV:
	case IORING_OP_WRITE_FIXED:
	case IORING_OP_WRITE:
	case IORING_OP_WRITEV_FIXED:
		return CALL_WRITE;
	}
	return CALL_NONE;
}

/* request: NULL for a message that is no request's end */
SEC("?tp_btf/io_uring_complete")
int BPF_PROG(request_ended, void *ring, struct io_kiocb *request)
{
	enum call call =
		request ? kind_of_request(BPF_CORE_READ(request, opcode)) : CALL_NONE;

	if (call == CALL_NONE)
		return 0;
	__u32 slot = slot_of_any_task(owner_of(request));
	long result = BPF_CORE_READ(request, cqe.res);
	if (slot == SLOT_NONE || !is_result(result))
		return 0;
	count_moved(slot, (__u64)BPF_CORE_READ(request, file), result,
		    call == CALL_WRITE, 0);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
