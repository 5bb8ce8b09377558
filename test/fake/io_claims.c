/* SPDX-License-Identifier: GPL-2.0-or-later */
/* io_claims FILE: writes 100 bytes with a call whose number has bits that the kernel
 * ignores, then a pwrite(2) whose result it makes up itself: 2^60 bytes. Exit status
 * 77: not possible here. */
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define CLAIM (1ll << 60)

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

/* The descriptor from which this process's calls of pwrite(2) are answered */
static int open_listener(void)
{
	struct sock_filter rows[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_pwrite64, 0, 1),
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
	struct seccomp_notif_resp answer = {.id = asked.id, .val = CLAIM};
	return ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &answer) < 0;
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
		_exit(answer_one(listener));
	if (pid < 0 || pwrite(fd, bytes, sizeof(bytes), 0) != CLAIM)
		return 1;
	int status;
	return waitpid(pid, &status, 0) != pid || status != 0;
}
