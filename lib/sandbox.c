/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Restricts system calls. For the daemons it lists what is refused rather than what is
 * allowed, so that a future C library or name service does not stop a node's daemon. By
 * the bare system call, since a list needs no library. */
#include "lib/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef SECCOMP_FILTER_FLAG_LOG
#define SECCOMP_FILTER_FLAG_LOG (1UL << 1)
#endif
#if defined(__SANITIZE_ADDRESS__)
#define UNDER_SANITIZER
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define UNDER_SANITIZER
#endif
#endif

#if defined(__x86_64__)
#define OUR_ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define OUR_ARCH AUDIT_ARCH_AARCH64
#elif defined(__powerpc64__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define OUR_ARCH AUDIT_ARCH_PPC64LE
#elif defined(__riscv) && __riscv_xlen == 64
#define OUR_ARCH AUDIT_ARCH_RISCV64
#elif defined(__s390x__)
#define OUR_ARCH AUDIT_ARCH_S390X
#endif

#define OPERATIONS_MAX 300
#define REFUSED_EPERM (SECCOMP_RET_ERRNO | EPERM)
#define REFUSED_ENOSYS (SECCOMP_RET_ERRNO | ENOSYS)
/* CLONE_NEWTIME shares its bit with the exit signal: unshare(2) and clone3(2) only */
#define NEW_NAMESPACES                                                                 \
	(CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | \
	 CLONE_NEWPID | CLONE_NEWNET)
#define PERSONALITY_ASK 0xffffffffu

/* The lower half of argument n, which contains all flags */
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define ARGUMENT(n) ((uint32_t)offsetof(struct seccomp_data, args[n]))
#else
#define ARGUMENT(n) ((uint32_t)offsetof(struct seccomp_data, args[n]) + 4)
#endif
#if defined(__s390x__)
#define CLONE_FLAGS ARGUMENT(1)
#else
#define CLONE_FLAGS ARGUMENT(0)
#endif

/* systemd's groups (systemd-analyze syscall-filter) and some more. Calls unknown to
 * this architecture or its headers are left out. */
static const int refused[] = {
/* @privileged: with @chown and @setuid */
#ifdef SYS_acct
	SYS_acct,
#endif
#ifdef SYS_bpf
	SYS_bpf,
#endif
#ifdef SYS_capset
	SYS_capset,
#endif
#ifdef SYS_chown
	SYS_chown,
#endif
#ifdef SYS_lchown
	SYS_lchown,
#endif
	SYS_fchown,
	SYS_fchownat,
	SYS_chroot,
	SYS_fanotify_init,
	SYS_fanotify_mark,
	SYS_open_by_handle_at,
	SYS_quotactl,
#ifdef SYS_quotactl_fd
	SYS_quotactl_fd,
#endif
	SYS_setdomainname,
	SYS_sethostname,
	SYS_setfsgid,
	SYS_setfsuid,
	SYS_setgid,
	SYS_setgroups,
	SYS_setregid,
	SYS_setresgid,
	SYS_setresuid,
	SYS_setreuid,
	SYS_setuid,
	SYS_vhangup,
	/* @clock; adjtimex and clock_adjtime only tell who is nobody */
	SYS_clock_settime,
	SYS_settimeofday,
	/* @module, @reboot, @swap, the kernel's log */
	SYS_delete_module,
	SYS_finit_module,
	SYS_init_module,
	SYS_reboot,
	SYS_kexec_load,
#ifdef SYS_kexec_file_load
	SYS_kexec_file_load,
#endif
	SYS_swapoff,
	SYS_swapon,
	SYS_syslog,
	/* @mount */
	SYS_mount,
	SYS_umount2,
	SYS_pivot_root,
#ifdef SYS_fsopen
	SYS_fsconfig,
	SYS_fsmount,
	SYS_fsopen,
	SYS_fspick,
	SYS_move_mount,
	SYS_open_tree,
#endif
#ifdef SYS_mount_setattr
	SYS_mount_setattr,
#endif
	/* namespaces; clone(2) by its flags */
	SYS_setns,
	SYS_unshare,
	/* @debug, and other processes' memory. Sanitizers inspect their own threads. */
	SYS_perf_event_open,
#ifdef SYS_lookup_dcookie
	SYS_lookup_dcookie,
#endif
#ifdef SYS_pidfd_getfd
	SYS_pidfd_getfd,
#endif
#ifndef UNDER_SANITIZER
	SYS_process_vm_readv,
	SYS_process_vm_writev,
	SYS_ptrace,
#endif
	/* @keyring */
	SYS_add_key,
	SYS_keyctl,
	SYS_request_key,
	/* large and young parts of the kernel */
	SYS_userfaultfd,
#ifdef SYS_io_uring_setup
	SYS_io_uring_enter,
	SYS_io_uring_register,
	SYS_io_uring_setup,
#endif
/* @raw-io, @cpu-emulation */
#ifdef SYS_ioperm
	SYS_ioperm,
	SYS_iopl,
#endif
#ifdef SYS_modify_ldt
	SYS_modify_ldt,
#endif
#ifdef SYS_pciconfig_read
	SYS_pciconfig_iobase,
	SYS_pciconfig_read,
	SYS_pciconfig_write,
#endif
#ifdef SYS_s390_pci_mmio_read
	SYS_s390_pci_mmio_read,
	SYS_s390_pci_mmio_write,
#endif
#ifdef SYS_subpage_prot
	SYS_subpage_prot,
#endif
#ifdef SYS_switch_endian
	SYS_switch_endian,
#endif
#ifdef SYS_rtas
	SYS_rtas,
#endif
/* @obsolete, where a kernel still has them */
#ifdef SYS__sysctl
	SYS__sysctl,
#endif
#ifdef SYS_nfsservctl
	SYS_nfsservctl,
#endif
#ifdef SYS_sysfs
	SYS_sysfs,
#endif
#ifdef SYS_uselib
	SYS_uselib,
#endif
#ifdef SYS_ustat
	SYS_ustat,
#endif
};

struct syscall_filter {
	struct sock_filter ops[OPERATIONS_MAX];
	size_t count;
};

static void put_op(struct syscall_filter *f, struct sock_filter op)
{
	if (f->count < OPERATIONS_MAX)
		f->ops[f->count] = op;
	f->count++;
}

static void put_return(struct syscall_filter *f, uint32_t verdict)
{
	put_op(f, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, verdict));
}

/* Leaves the number of the call in the accumulator. */
static void put_head(struct syscall_filter *f, uint32_t arch)
{
	put_op(f, (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
					       offsetof(struct seccomp_data, arch)));
	put_op(f, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, arch, 1, 0));
	put_return(f, REFUSED_EPERM);
	put_op(f, (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
					       offsetof(struct seccomp_data, nr)));
#if defined(__x86_64__)
	/* the numbers of x32 */
	put_op(f, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 0x40000000, 0,
					       1));
	put_return(f, REFUSED_EPERM);
#endif
}

static void put_verdict(struct syscall_filter *f, int call, uint32_t verdict)
{
	put_op(f, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K,
					       (uint32_t)call, 0, 1));
	put_return(f, verdict);
}

/* Refuses a call if its argument has one of the bits (JSET), or is not the value (JEQ).
 */
static void put_argument(struct syscall_filter *f, int call, uint32_t argument,
			 uint16_t test, uint32_t value)
{
	uint8_t holds = test == BPF_JSET ? 0 : 1;

	put_op(f, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K,
					       (uint32_t)call, 0, 4));
	put_op(f, (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, argument));
	put_op(f, (struct sock_filter)BPF_JUMP(BPF_JMP | test | BPF_K, value, holds,
					       !holds));
	put_return(f, REFUSED_EPERM);
	put_return(f, SECCOMP_RET_ALLOW);
}

static int install_filter(struct syscall_filter *f, unsigned long flags)
{
	struct sock_fprog p = {.len = (unsigned short)f->count, .filter = f->ops};

	if (f->count > OPERATIONS_MAX)
		return -E2BIG;
	long rc = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
			  flags | SECCOMP_FILTER_FLAG_TSYNC, &p);
	if (rc < 0)
		return -errno;
	return rc == 0 ? 0 : -EBUSY; /* a thread has filters of its own */
}

#ifdef OUR_ARCH
/* clone3(2)'s flags are in memory, which filters cannot read. Without it C libraries
 * use clone(2), which they try for each thread, so it is not logged. */
static int hide_clone3(void)
{
	struct syscall_filter f = {.count = 0};

	put_head(&f, OUR_ARCH);
#ifdef SYS_clone3
	put_verdict(&f, SYS_clone3, REFUSED_ENOSYS);
#endif
	put_return(&f, SECCOMP_RET_ALLOW);
	return install_filter(&f, 0);
}

static int refuse_calls(void)
{
	struct syscall_filter f = {.count = 0};

	put_head(&f, OUR_ARCH);
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++)
		put_verdict(&f, refused[i], REFUSED_EPERM);
	put_argument(&f, SYS_clone, CLONE_FLAGS, BPF_JSET, NEW_NAMESPACES);
	put_argument(&f, SYS_personality, ARGUMENT(0), BPF_JEQ, PERSONALITY_ASK);
	put_return(&f, SECCOMP_RET_ALLOW);
	int rc = install_filter(&f, SECCOMP_FILTER_FLAG_LOG);
	return rc == -EINVAL ? install_filter(&f, 0) : rc;
}
#endif

int sandbox_probe_calls(struct err *err)
{
#ifdef OUR_ARCH
	const uint32_t action = SECCOMP_RET_ERRNO;

	/* EFAULT: it would have read the filter. Kernels before 4.14 do not have this
	 * query. */
	if (syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) == 0)
		return 0;
	if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC,
		    NULL) < 0 &&
	    errno == EFAULT)
		return 0;
#endif
	return err_set(err, -ENOSYS,
		       "this kernel has no filters, or the service's systemd unit "
		       "forbids them (SystemCallFilter= must allow seccomp)");
}

int sandbox_filter_calls(struct err *err)
{
	int rc = sandbox_probe_calls(err);

	if (rc < 0)
		return rc;
#ifdef OUR_ARCH
	rc = hide_clone3();
	if (rc == 0)
		rc = refuse_calls();
	if (rc < 0)
		return err_set(err, rc, "system call filter: %s", strerror(-rc));
#endif
	return 0;
}

#if defined(OUR_ARCH) && !defined(UNDER_SANITIZER)
static int allow_calls(const int *calls, size_t count)
{
	const uint32_t writing = O_WRONLY | O_RDWR | O_CREAT | O_TRUNC | O_APPEND;
	struct syscall_filter f = {.count = 0};

	put_head(&f, OUR_ARCH);
	/* as refusals of these calls are put, they are allowed otherwise */
#ifdef SYS_open
	put_argument(&f, SYS_open, ARGUMENT(1), BPF_JSET, writing);
#endif
	put_argument(&f, SYS_openat, ARGUMENT(2), BPF_JSET, writing);
	put_argument(&f, SYS_mmap, ARGUMENT(2), BPF_JSET, PROT_EXEC);
	put_argument(&f, SYS_mprotect, ARGUMENT(2), BPF_JSET, PROT_EXEC);
	for (size_t i = 0; i < count; i++)
		put_verdict(&f, calls[i], SECCOMP_RET_ALLOW);
	put_return(&f, REFUSED_EPERM);
	int rc = install_filter(&f, SECCOMP_FILTER_FLAG_LOG);
	return rc == -EINVAL ? install_filter(&f, 0) : rc;
}
#endif

int sandbox_allow_only(const int *calls, size_t count, struct err *err)
{
	int rc = sandbox_probe_calls(err);

	if (rc < 0)
		return rc;
#if defined(OUR_ARCH) && !defined(UNDER_SANITIZER)
	rc = allow_calls(calls, count);
	if (rc < 0)
		return err_set(err, rc, "system call filter: %s", strerror(-rc));
#else
	(void)calls;
	(void)count;
#endif
	return 0;
}
