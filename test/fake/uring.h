/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_TEST_FAKE_URING_H
#define CEEMS_TEST_FAKE_URING_H

/* One request of io_uring at a time, with the kernel's own calls (no liburing is
 * needed). */
#include <linux/io_uring.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define URING_ENTRIES 8u

struct uring {
	int fd;
	struct io_uring_params p;
	char *at; /* both queues */
	struct io_uring_sqe *entries;
};

static inline unsigned *uring_word(const struct uring *r, uint32_t offset)
{
	return (unsigned *)(r->at + offset);
}

static inline bool uring_open(struct uring *r)
{
	*r = (struct uring){0};
	r->fd = (int)syscall(SYS_io_uring_setup, URING_ENTRIES, &r->p);
	if (r->fd < 0 || !(r->p.features & IORING_FEAT_SINGLE_MMAP))
		return false;
	size_t bytes = r->p.cq_off.cqes + r->p.cq_entries * sizeof(struct io_uring_cqe);
	size_t least = r->p.sq_off.array + r->p.sq_entries * sizeof(unsigned);
	r->at = mmap(NULL, bytes > least ? bytes : least, PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_POPULATE, r->fd, IORING_OFF_SQ_RING);
	r->entries = mmap(NULL, r->p.sq_entries * sizeof(*r->entries),
			  PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, r->fd,
			  IORING_OFF_SQES);
	return r->at != MAP_FAILED && r->entries != MAP_FAILED;
}

/* One request and its result */
static inline int uring_do(struct uring *r, const struct io_uring_sqe *request)
{
	unsigned tail = *uring_word(r, r->p.sq_off.tail);
	unsigned at = tail & *uring_word(r, r->p.sq_off.ring_mask);

	r->entries[at] = *request;
	uring_word(r, r->p.sq_off.array)[at] = at;
	__atomic_store_n(uring_word(r, r->p.sq_off.tail), tail + 1, __ATOMIC_RELEASE);
	if (syscall(SYS_io_uring_enter, r->fd, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0) !=
	    1) {
		perror("io_uring_enter");
		exit(1);
	}
	unsigned head = *uring_word(r, r->p.cq_off.head);
	struct io_uring_cqe *ends = (struct io_uring_cqe *)(r->at + r->p.cq_off.cqes);
	int result = ends[head & *uring_word(r, r->p.cq_off.ring_mask)].res;
	__atomic_store_n(uring_word(r, r->p.cq_off.head), head + 1, __ATOMIC_RELEASE);
	return result;
}

#endif
