/* SPDX-License-Identifier: GPL-2.0-or-later */
/* io_ring FILE: reads and writes a file through io_uring, in each way that it has, with
 * the kernel's own calls (no liburing is needed), and prints what the completions say:
 * bytes, requests and errors written, then read. One more request names a descriptor
 * that is none. Exit status 77: no io_uring here. */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "test/fake/uring.h"

#define BYTES 4097u

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
	/* pages of its own: older kernels refuse to register what lies beside a file */
	static _Alignas(4096) char bytes[2 * 4096];
	struct iovec parts[] = {{bytes, 10}, {bytes + 10, 20}};
	struct iovec fixed = {bytes, BYTES};
	struct sums written = {0}, read = {0};
	struct uring r;

	if (argc != 2 || !uring_open(&r))
		return 77;
	int fd = open(argv[1], O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	int readable = open(argv[1], O_RDONLY | O_CLOEXEC);
	if (fd < 0 || readable < 0 ||
	    syscall(SYS_io_uring_register, r.fd, IORING_REGISTER_BUFFERS, &fixed, 1) <
		    0)
		return 77;
	struct io_uring_sqe one = {.fd = fd, .addr = (uintptr_t)bytes, .len = BYTES};
	struct io_uring_sqe some = {.fd = fd, .addr = (uintptr_t)parts, .len = 2};
	for (int i = 0; i < 1000; i++) {
		one.opcode = IORING_OP_WRITE;
		one.off = (uint64_t)i * BYTES;
		/* every third by another thread, of the kernel's making */
		one.flags = i % 3 ? 0 : IOSQE_ASYNC;
		add_result(&written, uring_do(&r, &one));
	}
	one.flags = 0;
	one.opcode = IORING_OP_WRITE_FIXED;
	add_result(&written, uring_do(&r, &one));
	some.opcode = IORING_OP_WRITEV;
	add_result(&written, uring_do(&r, &some));
	one.opcode = IORING_OP_WRITE;
	one.fd = readable;
	add_result(&written, uring_do(&r, &one));
	one.opcode = IORING_OP_READ;
	for (int i = 0; i < 100; i++) {
		one.off = (uint64_t)i * 1000 * BYTES / 99; /* the last finds the end */
		add_result(&read, uring_do(&r, &one));
	}
	one.opcode = IORING_OP_READ_FIXED;
	one.off = 0;
	add_result(&read, uring_do(&r, &one));
	some.opcode = IORING_OP_READV;
	add_result(&read, uring_do(&r, &some));
	one.fd = 9999;
	(void)uring_do(&r, &one);
	printf("%llu %llu %llu %llu %llu %llu\n", (unsigned long long)written.bytes,
	       (unsigned long long)written.requests, (unsigned long long)written.errors,
	       (unsigned long long)read.bytes, (unsigned long long)read.requests,
	       (unsigned long long)read.errors);
	return 0;
}
