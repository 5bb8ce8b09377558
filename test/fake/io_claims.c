/* SPDX-License-Identifier: GPL-2.0-or-later */
/* io_claims FILE: writes 100 bytes with a call whose number has bits that the kernel
 * ignores, then a pwrite(2) whose result it makes up itself: 2^60 bytes; then an
 * io_submit(2) that claims to have taken 4096 requests to read 1024 parts of a byte.
 * Exit status 77: not possible here. */
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#define CLAIM (1ll << 60)
#define REQUESTS 4096
#define PARTS 1024

static long write_oddly(int fd, const char *bytes, size_t n)
{
#ifdef __x86_64__
	long rc = (1ll << 32) | SYS_write;

	__asm__ volatile("syscall"
			 : "+a"(rc)
			 : "D"((long)fd), "S"(bytes), "d"(n)
			 : "rcx", "r11", "memory");
	return rc;
#else
	return write(fd, bytes, n);
#endif
}

/* The descriptor from which this process's calls of pwrite(2) and io_submit(2) are
 * answered */
static int open_listener(void)
{
	struct sock_filter rows[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_pwrite64, 1, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_io_submit, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog filter = {.len = sizeof(rows) / sizeof(rows[0]),
				    .filter = rows};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -1;
	return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
			    SECCOMP_FILTER_FLAG_NEW_LISTENER, &filter);
}

static int answer_one(int listener)
{
	struct seccomp_notif asked = {0};

	if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &asked) < 0)
		return 1;
	struct seccomp_notif_resp answer = {
		.id = asked.id,
		.val = asked.data.nr == SYS_pwrite64 ? CLAIM : REQUESTS};
	return ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &answer) < 0;
}

static long submit_many(int fd)
{
	static struct iovec parts[PARTS];
	static struct iocb request, *all[REQUESTS];

	for (unsigned i = 0; i < PARTS; i++)
		parts[i].iov_len = 1;
	request = (struct iocb){.aio_lio_opcode = IOCB_CMD_PREADV,
				.aio_fildes = (uint32_t)fd,
				.aio_buf = (uintptr_t)parts,
				.aio_nbytes = PARTS};
	for (unsigned i = 0; i < REQUESTS; i++)
		all[i] = &request;
	return syscall(SYS_io_submit, 1, REQUESTS, all);
}

int main(int argc, char *argv[])
{
	char bytes[100] = {0};
	int fd = argc == 2 ? open(argv[1], O_CREAT | O_WRONLY | O_CLOEXEC, 0600) : -1;

	if (fd < 0 || write_oddly(fd, bytes, sizeof(bytes)) != sizeof(bytes))
		return 1;
	int listener = open_listener();
	if (listener < 0)
		return 77;
	pid_t pid = fork();
	if (pid == 0)
		_exit(answer_one(listener) || answer_one(listener));
	if (pid < 0 || pwrite(fd, bytes, sizeof(bytes), 0) != CLAIM ||
	    submit_many(fd) != REQUESTS)
		return 1;
	int status;
	return waitpid(pid, &status, 0) != pid || status != 0;
}
