/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The list has what libbpf 1.1 to 1.5 and the C libraries of the same years make, also
 * on architectures that have only the newer call of two. */
#include "opener/limits.h"

#include <linux/capability.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "lib/fs.h"
#include "lib/parse.h"
#include "lib/privileges.h"
#include "lib/sandbox.h"

#ifndef CAP_PERFMON
#define CAP_PERFMON 38
#endif
#ifndef CAP_BPF
#define CAP_BPF 39
#endif
#ifndef CAP_CHECKPOINT_RESTORE
#define CAP_CHECKPOINT_RESTORE 40
#endif
#define BIT(capability) (UINT64_C(1) << (capability))

/* Of one that opens what is the kernel's */
static const int program_calls[] = {SYS_bpf, SYS_perf_event_open};

static const int allowed_calls[] = {
	SYS_ioctl,
	SYS_socketpair, /* for descriptors that wait to be taken */
	SYS_sendmsg,
	/* files and folders, for reading */
	SYS_read,
	SYS_pread64,
	SYS_readv,
	SYS_lseek,
	SYS_close,
	SYS_dup,
	SYS_dup3,
	SYS_fcntl,
	SYS_fstat,
	SYS_statx,
	SYS_fstatfs,
	SYS_statfs,
	SYS_getdents64,
	SYS_faccessat,
	SYS_readlinkat,
#ifdef SYS_faccessat2
	SYS_faccessat2,
#endif
#ifdef SYS_newfstatat
	SYS_newfstatat,
#endif
#ifdef SYS_access
	SYS_access,
#endif
#ifdef SYS_stat
	SYS_stat,
	SYS_lstat,
#endif
#ifdef SYS_readlink
	SYS_readlink,
#endif
#ifdef SYS_dup2
	SYS_dup2,
#endif
	/* its log */
	SYS_write,
	SYS_writev,
	/* memory */
	SYS_brk,
	SYS_munmap,
	SYS_mremap,
	SYS_madvise,
	SYS_memfd_create,
	/* about itself and the machine */
	SYS_prctl,
	SYS_prlimit64,
#ifdef SYS_setrlimit
	SYS_setrlimit,
	SYS_getrlimit,
#endif
	SYS_uname,
	SYS_sysinfo,
	SYS_getcpu,
	SYS_sched_getaffinity,
	SYS_getpid,
	SYS_gettid,
	SYS_getuid,
	SYS_geteuid,
	SYS_getgid,
	SYS_getegid,
	SYS_getrandom,
	SYS_capget,
	/* the C library, time and the end */
	SYS_futex,
	SYS_clock_gettime,
	SYS_clock_nanosleep,
	SYS_nanosleep,
	SYS_gettimeofday,
	SYS_sched_yield,
	SYS_rt_sigaction,
	SYS_rt_sigprocmask,
	SYS_rt_sigreturn,
	SYS_restart_syscall,
	SYS_set_robust_list,
	SYS_tgkill,
	SYS_exit,
	SYS_exit_group,
};

/* Of one that serves: it is asked, and starts processes that open files */
static const int serving_calls[] = {
	SYS_recvmsg, SYS_ppoll,
#ifdef SYS_poll
	SYS_poll,
#endif
	SYS_clone,
#ifdef SYS_fork
	SYS_fork,
#endif
	SYS_wait4,   SYS_kill,  SYS_capset, SYS_getppid, SYS_set_tid_address,
#ifdef SYS_rseq
	SYS_rseq,
#endif
};
#define CALLS(list) (sizeof(list) / sizeof((list)[0]))

/* Debian's and Ubuntu's kernels have levels above 2, from which CAP_PERFMON does not
 * do. */
#define PARANOID_USUAL 2

bool limits_perf_takes_admin(int procfd)
{
	char text[16];
	int64_t level;

	if (fs_read_at(procfd, "sys/kernel/perf_event_paranoid", text, sizeof(text),
		       NULL) <= 0)
		return false;
	text[strcspn(text, "\n")] = '\0';
	return parse_s64(text, &level) == 0 && level > PARANOID_USUAL;
}

/* Linux 5.8 took the two that we want out of CAP_SYS_ADMIN. */
static uint64_t for_programs(bool perf, int procfd)
{
	uint64_t kept = BIT(CAP_BPF) | BIT(CAP_PERFMON);

	if (prctl(PR_CAPBSET_READ, CAP_BPF, 0, 0, 0) < 0)
		kept = BIT(CAP_SYS_ADMIN) | BIT(CAP_SYS_RESOURCE);
	if (perf && limits_perf_takes_admin(procfd))
		kept |= BIT(CAP_SYS_ADMIN);
	return kept;
}

static uint64_t for_users_files(void)
{
	return BIT(CAP_SYS_PTRACE) | BIT(CAP_DAC_READ_SEARCH);
}

static uint64_t for_mapped_files(void)
{
	bool old = prctl(PR_CAPBSET_READ, CAP_CHECKPOINT_RESTORE, 0, 0, 0) < 0;

	return for_users_files() | BIT(old ? CAP_SYS_ADMIN : CAP_CHECKPOINT_RESTORE);
}

struct call_list {
	int calls[CALLS(program_calls) + CALLS(allowed_calls) + CALLS(serving_calls)];
	size_t count;
};

static void add_calls(struct call_list *l, const int *calls, size_t count)
{
	memcpy(l->calls + l->count, calls, count * sizeof(*calls));
	l->count += count;
}

/* What can be given up is. */
static int give_up_rest(uint64_t kept, bool opens_programs, bool serves,
			struct err *err)
{
	struct call_list l = {.count = 0};

	add_calls(&l, allowed_calls, CALLS(allowed_calls));
	if (opens_programs)
		add_calls(&l, program_calls, CALLS(program_calls));
	if (serves)
		add_calls(&l, serving_calls, CALLS(serving_calls));
	int rc = privileges_limit(err);
	if (!rc)
		rc = privileges_keep(kept, err);
	int filtered = sandbox_allow_only(l.calls, l.count, rc < 0 ? NULL : err);
	return rc < 0 ? rc : filtered;
}

int limits_apply(bool perf, int procfd, struct err *err)
{
	return give_up_rest(for_programs(perf, procfd), true, false, err);
}

int limits_apply_serving(int procfd, struct err *err)
{
	return give_up_rest(for_programs(true, procfd) | for_mapped_files(), true, true,
			    err);
}

int limits_apply_reading(struct err *err)
{
	return give_up_rest(for_users_files(), false, true, err);
}

int limits_keep_for_files(struct err *err)
{
	return privileges_keep(for_mapped_files(), err);
}
