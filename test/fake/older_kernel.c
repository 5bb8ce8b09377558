/* SPDX-License-Identifier: GPL-2.0-or-later */
/* older_kernel landlock|seccomp COMMAND...: runs COMMAND as on a kernel without these
 * system calls (ENOSYS).
 * older_kernel bpf COMMAND...: runs it so that bpf() and perf_event_open() kill it.
 * older_kernel verifier|lockdown COMMAND...: as on one that refuses each BPF program,
 * as invalid or for want of a right. */
#include <errno.h>
#include <linux/audit.h>
#include <linux/bpf.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* the same on every architecture */
#define LANDLOCK_FIRST 444u
#define LANDLOCK_LAST 446u
#define NO_SUCH_CALL (SECCOMP_RET_ERRNO | ENOSYS)

static int filter_calls(unsigned first, unsigned last, unsigned verdict)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, first, 0, 2),
		BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, last, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, verdict),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog program = {.len = sizeof(code) / sizeof(code[0]),
					   .filter = code};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -1;
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

static int refuse_programs(unsigned error)
{
	/* the lower half of the first argument */
	const unsigned at = offsetof(struct seccomp_data, args[0]) +
			    (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? 4 : 0);
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_bpf, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, at),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, BPF_PROG_LOAD, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog program = {.len = sizeof(code) / sizeof(code[0]),
					   .filter = code};

	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

int main(int argc, char *argv[])
{
	int rc = -1;

	if (argc < 3) {
		fprintf(stderr, "usage: older_kernel "
				"landlock|seccomp|bpf|verifier|lockdown COMMAND...\n");
		return 2;
	}
	errno = EINVAL;
	if (strcmp(argv[1], "landlock") == 0)
		rc = filter_calls(LANDLOCK_FIRST, LANDLOCK_LAST, NO_SUCH_CALL);
	else if (strcmp(argv[1], "seccomp") == 0)
		rc = filter_calls(SYS_seccomp, SYS_seccomp, NO_SUCH_CALL);
	else if (strcmp(argv[1], "bpf") == 0 &&
		 filter_calls(SYS_bpf, SYS_bpf, SECCOMP_RET_KILL_PROCESS) == 0)
		rc = filter_calls(SYS_perf_event_open, SYS_perf_event_open,
				  SECCOMP_RET_KILL_PROCESS);
	else if (strcmp(argv[1], "verifier") == 0)
		rc = refuse_programs(EINVAL);
	else if (strcmp(argv[1], "lockdown") == 0)
		rc = refuse_programs(EPERM);
	if (rc == 0)
		execvp(argv[2], argv + 2);
	fprintf(stderr, "older_kernel: %s: %s\n", argv[1], strerror(errno));
	return 126;
}
