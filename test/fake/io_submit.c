/* SPDX-License-Identifier: GPL-2.0-or-later */
/* io_submit FILE: reads and writes a file by io_submit(2), singly, several in a call
 * and with vectors, and prints how many bytes it has asked to be written and read. Exit
 * status 77: this kernel has no io_submit(2). */
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define BYTES 4097u
#define TOGETHER 8

static aio_context_t context;

/* Submits them and waits for their ends */
static void do_requests(struct iocb **requests, long count)
{
	struct io_event ends[TOGETHER];

	if (syscall(SYS_io_submit, context, count, requests) != count ||
	    syscall(SYS_io_getevents, context, count, count, ends, NULL) != count) {
		perror("io_submit");
		exit(1);
	}
}

int main(int argc, char *argv[])
{
	static char bytes[BYTES];
	struct iovec parts[] = {{bytes, 10}, {bytes + 10, 20}, {bytes, 3000}};
	uint64_t written = 0, read = 0;
	int ends[2];

	if (argc != 2 || syscall(SYS_io_setup, TOGETHER, &context) < 0)
		return 77;
	int fd = open(argv[1], O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0 || pipe(ends) < 0)
		return 1;
	struct iocb one = {.aio_fildes = (uint32_t)fd,
			   .aio_buf = (uintptr_t)bytes,
			   .aio_nbytes = BYTES,
			   .aio_lio_opcode = IOCB_CMD_PWRITE};
	struct iocb vector = {.aio_fildes = (uint32_t)fd,
			      .aio_buf = (uintptr_t)parts,
			      .aio_nbytes = 3,
			      .aio_lio_opcode = IOCB_CMD_PWRITEV};
	struct iocb piped = {.aio_fildes = (uint32_t)ends[1],
			     .aio_buf = (uintptr_t)bytes,
			     .aio_nbytes = 100,
			     .aio_lio_opcode = IOCB_CMD_PWRITE};
	struct iocb *all[TOGETHER] = {&one, &vector};
	for (int i = 0; i < 100; i++, written += BYTES + 3030)
		do_requests(all, 2);
	all[1] = &piped; /* no file */
	do_requests(all, 2);
	written += BYTES;
	one.aio_lio_opcode = IOCB_CMD_PREAD;
	vector.aio_lio_opcode = IOCB_CMD_PREADV;
	for (int i = 0; i < TOGETHER; i++)
		all[i] = i % 2 ? &vector : &one;
	for (int i = 0; i < 50; i++, read += TOGETHER / 2 * (BYTES + 3030))
		do_requests(all, TOGETHER);
	printf("%llu %llu\n", (unsigned long long)written, (unsigned long long)read);
	return 0;
}
