/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LIB_RECORDS_IO_CELLS_H
#define CEEMS_LIB_RECORDS_IO_CELLS_H

/*
 * What processes read and wrote, and on which mount, as the kernel programs count it at
 * the end of each system call: plain arrays that ceemsd maps, as in group_slots.h, by
 * the slots of that header.
 *
 * A cell counts for one mount of one slot. A slot finds its cells in its row of
 * `io_rows`: an entry is mark << 32 | cell + 1, where the mark tells the mount; 0 is a
 * free place. At the first sight of a mount the kernel takes a place in the row, then a
 * cell from a queue, and writes its name; ceemsd adds up the cells when the slot has
 * ended, clears them and its row, and gives the cells back. Until then a cell only ever
 * counts up. What has no cell of its own - bad descriptors, mounts that found the row
 * full or the queue empty - counts in the slot's own cell, the one of number cells +
 * slot, which has no name: no unit can take what another counts in. Each cell, and each
 * slot's count of names, lies in stripes, so that CPUs seldom write to the same line:
 * its value is the sum over `stripes`.
 *
 * Kernel memory: cells * (stripes * 64 + sizeof(struct io_mount) + 8)
 * + slots * (stripes * 128 + IO_ROW * 8); with IO_COUNTED_TIMES also
 * (cells + slots) * (io_times_stripes(stripes) * 256 + 144) + IO_BEGUN_PLACES * 8.
 */

#define IO_STRIPES_MAX 16u   /* possible CPUs, up to this; a power of two */
#define IO_ROW 16u           /* mounts of a slot that have a cell */
#define IO_CELLS_PER_SLOT 2u /* on average */
#define IO_NAMES_BYTES 400u

/* The mark of a place that a CPU has taken and not filled yet; its cell is 0. Mounts'
 * marks are above. */
#define IO_MARK_TAKEN 1u

/* Instead of a cell: nothing is counted on this mount, which is the kernel's own
 * (/proc, /sys) or memory */
#define IO_CELL_IGNORED 0xfffffffeu

/* One stripe of a cell. A call that fails counts in calls and in errors. asked_*: bytes
 * that io_submit(2) was asked for, whatever came of it, in none of the others. */
struct io_counts {
	unsigned long long read_bytes, read_calls, read_errors;
	unsigned long long write_bytes, write_calls, write_errors;
	unsigned long long asked_read_bytes, asked_write_bytes;
};

/* One stripe of a slot's calls that have a name instead of a descriptor. create: files
 * that open(2) made, and directories; unlink: files and directories. */
struct io_names {
	unsigned long long opens, open_errors;
	unsigned long long creates, create_errors;
	unsigned long long unlinks, unlink_errors;
	unsigned long long reserved[2];
};

/* Calls by how long they took: bucket b has those of at most 4^b us, the last all
 * others. */
#define IO_BUCKETS 15u
enum io_direction { IO_READ, IO_WRITE, IO_DIRECTIONS };
struct io_bucketed {
	unsigned long long calls[IO_BUCKETS];
	unsigned long long ns; /* the sum */
};
/* One stripe of a cell */
struct io_times {
	struct io_bucketed of[IO_DIRECTIONS];
};
#define IO_TIMES_STRIPES_MAX 4u
static inline unsigned io_times_stripes(unsigned stripes)
{
	return stripes < IO_TIMES_STRIPES_MAX ? stripes : IO_TIMES_STRIPES_MAX;
}

/* Calls that failed, by why. Those that have a name instead of a descriptor count in
 * the slot's own cell. */
/* the first two as enum io_direction */
enum io_error_call { IO_ERROR_READ, IO_ERROR_WRITE, IO_ERROR_NAME, IO_ERROR_CALLS };
enum io_error_class {
	IO_ERROR_SPACE,   /* ENOSPC, EDQUOT, EFBIG */
	IO_ERROR_IO,      /* EIO, ESTALE, ETIMEDOUT */
	IO_ERROR_ACCESS,  /* EACCES, EPERM, EROFS */
	IO_ERROR_MISSING, /* ENOENT, ENOTDIR */
	IO_ERROR_AGAIN,   /* EAGAIN, EINTR */
	IO_ERROR_OTHER,
	IO_ERROR_CLASSES
};
struct io_errors {
	unsigned long long of[IO_ERROR_CALLS][IO_ERROR_CLASSES];
};

/* When a thread's call began: ns << 6 | its number >> 16, in the place of the lower 16
 * bits of its number. Two threads of one place take each other's time away. */
#define IO_BEGUN_PLACES 65536u

struct io_mount {
	unsigned int reserved;
	unsigned short bytes; /* of names, with their NULs */
	unsigned short cut;   /* 1: names are not the whole path */
	/* Of the folder that it is mounted on, as its mount namespace has it:
	 * "scratch", "lustre" for /lustre/scratch, each with its NUL; the root has
	 * none. */
	char names[IO_NAMES_BYTES];
};

struct io_control {
	unsigned long long cell_head; /* written by the kernel programs */
	unsigned long long no_cell;   /* calls that found the queue of cells empty */
	unsigned long long compat; /* calls of 32-bit programs, which are not counted */
	unsigned long long reserved1[5];
	unsigned long long cell_tail; /* written by ceemsd */
	unsigned long long reserved2[7];
};

/* The descriptors that the opener hands over; count is the number of cells, a power of
 * two. */
enum io_fd {
	IO_FD_COUNTS, /* [cells + slots][stripe] struct io_counts */
	IO_FD_MOUNTS, /* [cell] struct io_mount */
	IO_FD_NAMES,  /* [slot][stripe] struct io_names */
	IO_FD_ROWS,   /* [slot][IO_ROW] entries of 8 bytes */
	IO_FD_FREE,   /* cells, 8 bytes each */
	IO_FD_CONTROL,
	IO_FD_TIMES,  /* [cells + slots][io_times_stripes()] struct io_times; these two
			 have one element without IO_COUNTED_TIMES */
	IO_FD_ERRORS, /* [cells + slots] struct io_errors */
	IO_FD_CALLS,  /* the attached programs */
	IO_FD_URING,  /* as IO_FD_CALLS where io_uring cannot be counted */
	IO_FD_BEGUN,  /* as IO_FD_CALLS without IO_COUNTED_TIMES */
	IO_FDS
};
enum { IO_DETAIL_SLOTS, IO_DETAIL_STRIPES, IO_DETAIL_COUNTED };
/* What the running kernel lets us count, in IO_DETAIL_COUNTED */
enum { IO_COUNTED_URING = 1 << 0, IO_COUNTED_TIMES = 1 << 1 };

#endif
