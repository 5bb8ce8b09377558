/* SPDX-License-Identifier: GPL-2.0-or-later */
/* io_ring FILE: reads and writes a file through io_uring, in each way that it has, with
 * the kernel's own calls (no liburing is needed), and prints what the completions say:
 * bytes, requests and errors written, then read. One more request names a descriptor
 * that is none. Exit status 77: no io_uring here. */
#include <fcntl.h>
#include <linux/io_uring.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define ENTRIES 8u
#define BYTES 4097u

struct ring {
	int fd;
	struct io_uring_params p;
	char *at; /* both queues */
	struct io_uring_sqe *entries;
};

static unsigned *word_at(const struct ring *r, uint32_t offset)
{
	return (unsigned *)(r->at + offset);
}

static bool open_ring(struct ring *r)
{
	*r = (struct ring){0};
	r->fd = (int)syscall(SYS_io_uring_setup, ENTRIES, &r->p);
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
static int do_request(struct ring *r, const struct io_uring_sqe *request)
{
	unsigned tail = *word_at(r, r->p.sq_off.tail);
	unsigned at = tail & *word_at(r, r->p.sq_off.ring_mask);

	r->entries[at] = *request;
	word_at(r, r->p.sq_off.array)[at] = at;
	__atomic_store_n(word_at(r, r->p.sq_off.tail), tail + 1, __ATOMIC_RELEASE);
	if (syscall(SYS_io_uring_enter, r->fd, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0) !=
	    1) {
		perror("io_uring_enter");
		exit(1);
	}
	unsigned head = *word_at(r, r->p.cq_off.head);
	struct io_uring_cqe *ends = (struct io_uring_cqe *)(r->at + r->p.cq_off.cqes);
	int result = ends[head & *word_at(r, r->p.cq_off.ring_mask)].res;
	__atomic_store_n(word_at(r, r->p.cq_off.head), head + 1, __ATOMIC_RELEASE);
	return result;
}

struct sums {
	uint64_t bytes, requests, errors;
};

static void add_result(struct sums *s, int result)
{
	s->requests++;
	if (result < 0)
		s->errors++;
	else
		s->bytes += (uint64_t)result;
}

int main(int argc, char *argv[])
{
	static char bytes[BYTES];
	struct iovec parts[] = {{bytes, 10}, {bytes + 10, 20}};
	struct iovec fixed = {bytes, sizeof(bytes)};
	struct sums written = {0}, read = {0};
	struct ring r;

	if (argc != 2 || !open_ring(&r))
		return 77;
	int fd = open(argv[1], O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	int readable = open(argv[1], O_RDONLY | O_CLOEXEC);
	if (fd < 0 || readable < 0 ||
	    syscall(SYS_io_uring_register, r.fd, IORING_REGISTER_BUFFERS, &fixed, 1) <
		    0)
		return 77;
	struct io_uring_sqe one = {
		.fd = fd, .addr = (uintptr_t)bytes, .len = sizeof(bytes)};
	struct io_uring_sqe some = {.fd = fd, .addr = (uintptr_t)parts, .len = 2};
	for (int i = 0; i < 1000; i++) {
		one.opcode = IORING_OP_WRITE;
		one.off = (uint64_t)i * BYTES;
		/* every third by another thread, of the kernel's making */
		one.flags = i % 3 ? 0 : IOSQE_ASYNC;
		add_result(&written, do_request(&r, &one));
	}
	one.flags = 0;
	one.opcode = IORING_OP_WRITE_FIXED;
	add_result(&written, do_request(&r, &one));
	some.opcode = IORING_OP_WRITEV;
	add_result(&written, do_request(&r, &some));
	one.opcode = IORING_OP_WRITE;
	one.fd = readable;
	add_result(&written, do_request(&r, &one));
	one.opcode = IORING_OP_READ;
	for (int i = 0; i < 100; i++) {
		one.off = (uint64_t)i * 1000 * BYTES / 99; /* the last finds the end */
		add_result(&read, do_request(&r, &one));
	}
	one.opcode = IORING_OP_READ_FIXED;
	one.off = 0;
	add_result(&read, do_request(&r, &one));
	some.opcode = IORING_OP_READV;
	add_result(&read, do_request(&r, &some));
	one.fd = 9999;
	(void)do_request(&r, &one);
	printf("%llu %llu %llu %llu %llu %llu\n", (unsigned long long)written.bytes,
	       (unsigned long long)written.requests, (unsigned long long)written.errors,
	       (unsigned long long)read.bytes, (unsigned long long)read.requests,
	       (unsigned long long)read.errors);
	return 0;
}
