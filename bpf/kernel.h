/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_BPF_KERNEL_H
#define CEEMS_BPF_KERNEL_H

/* The few kernel structures that our programs read, instead of a vmlinux.h of one
 * kernel: libbpf moves each access to where the running kernel has the member (CO-RE),
 * so order, gaps and what is left out do not matter. Names and types are the kernel's:
 * include/linux/cgroup-defs.h, kernfs.h, kernel/sched/cpuacct.c,
 * include/linux/memcontrol.h. */

typedef unsigned char __u8;
typedef unsigned short __u16;
typedef unsigned int __u32;
typedef unsigned long long __u64;
typedef signed char __s8;
typedef short __s16;
typedef int __s32;
typedef long long __s64;
typedef __u16 __be16;
typedef __u32 __be32;
typedef __u32 __wsum;
typedef _Bool bool;
#define true 1
#define false 0
#define NULL ((void *)0)

enum bpf_map_type_used {
	BPF_MAP_TYPE_HASH = 1,
	BPF_MAP_TYPE_ARRAY = 2,
	BPF_MAP_TYPE_PERF_EVENT_ARRAY = 4,
	BPF_MAP_TYPE_PERCPU_ARRAY = 6,
	BPF_MAP_TYPE_LRU_HASH = 9,
	BPF_MAP_TYPE_SK_STORAGE = 24,
	BPF_MAP_TYPE_RINGBUF = 27,
	BPF_MAP_TYPE_TASK_STORAGE = 29
};
enum { BPF_ANY = 0, BPF_NOEXIST = 1 };
enum { BPF_F_NO_PREALLOC = 1u << 0, BPF_F_MMAPABLE = 1u << 10 };

/* An array whose size the opener sets before it loads it. Mapped: ceemsd reads it
 * without bpf(). */
#define ARRAY_MAP_OF(name, value_type, kind, flags)                                    \
	struct {                                                                       \
		__uint(type, kind);                                                    \
		__uint(map_flags, flags);                                              \
		__uint(max_entries, 1);                                                \
		__type(key, __u32);                                                    \
		__type(value, value_type);                                             \
	} name SEC(".maps")
#define ARRAY_MAP(name, value_type)                                                    \
	ARRAY_MAP_OF(name, value_type, BPF_MAP_TYPE_ARRAY, 0)
#define MAPPED_ARRAY_MAP(name, value_type)                                             \
	ARRAY_MAP_OF(name, value_type, BPF_MAP_TYPE_ARRAY, BPF_F_MMAPABLE)
#define PERCPU_ARRAY_MAP(name, value_type)                                             \
	ARRAY_MAP_OF(name, value_type, BPF_MAP_TYPE_PERCPU_ARRAY, 0)

enum { BPF_SK_STORAGE_GET_F_CREATE = 1, BPF_LOCAL_STORAGE_GET_F_CREATE = 1 };

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct kernfs_node {
	const char *name;
	__u64 id;
};

struct cgroup_root {
	int hierarchy_id;
};

struct cgroup;

struct cgroup_subsys_state {
	struct cgroup *cgroup;
	struct cgroup_subsys_state *parent;
};

/* The number of each depends on the kernel's configuration: bpf_core_enum_value(). */
enum cgroup_subsys_id { cpuacct_cgrp_id = 1, memory_cgrp_id = 2 };

struct task_cputime {
	__u64 stime, utime, sum_exec_runtime;
};

struct cgroup_base_stat {
	struct task_cputime cputime;
};

struct cgroup_rstat_base_cpu { /* since 6.16 */
	struct cgroup_base_stat bstat;
};

struct cgroup {
	struct cgroup_subsys_state self;
	struct kernfs_node *kn;
	struct cgroup_subsys_state *subsys[16];
	struct cgroup_root *root;
	struct cgroup_rstat_base_cpu *rstat_base_cpu;
};

/* before 6.16 */
struct cgroup_rstat_cpu___old {
	struct cgroup_base_stat bstat;
};
struct cgroup___old {
	struct cgroup_rstat_cpu___old *rstat_cpu;
};

struct kernel_cpustat {
	__u64 cpustat[10];
};

struct cpuacct {
	struct cgroup_subsys_state css;
	__u64 *cpuusage; /* per CPU, ns */
	struct kernel_cpustat *cpustat;
};

/* enum cpu_usage_stat, include/linux/kernel_stat.h */
enum { CPUTIME_USER, CPUTIME_NICE, CPUTIME_SYSTEM, CPUTIME_SOFTIRQ, CPUTIME_IRQ };

struct page_counter {
	unsigned long watermark; /* pages */
};

typedef struct {
	long counter;
} atomic_long_t;

enum memcg_memory_event { MEMCG_OOM_KILL = 5 };

struct mem_cgroup {
	struct cgroup_subsys_state css;
	struct page_counter memory;
	atomic_long_t memory_events[16];
	atomic_long_t memory_events_local[16];
};

struct css_set {
	struct cgroup_subsys_state *subsys[16];
	struct cgroup *dfl_cgrp;
};

struct super_block {
	unsigned long s_magic;
};

struct inode {
	unsigned short i_mode;
	struct super_block *i_sb;
};

struct qstr {
	const unsigned char *name;
};

struct dentry {
	struct dentry *d_parent;
	struct qstr d_name;
};

struct vfsmount {
	struct dentry *mnt_root;
};

struct mnt_namespace;

struct mount {
	struct mount *mnt_parent;
	struct dentry *mnt_mountpoint;
	struct vfsmount mnt;
	int mnt_id;
	__u64 mnt_id_unique; /* since 6.8 */
	struct mnt_namespace *mnt_ns;
};

struct path {
	struct vfsmount *mnt;
};

struct file {
	unsigned int f_mode;
	struct path f_path;
	struct inode *f_inode;
	void *private_data;
};

struct fdtable {
	unsigned int max_fds;
	struct file **fd;
};

struct files_struct {
	struct fdtable *fdt;
};

struct io_cqe {
	__s32 res;
};

struct io_uring_task { /* since 6.13 */
	struct task_struct *task;
};

struct io_kiocb {
	struct file *file;
	__u8 opcode;
	struct io_cqe cqe;
	struct io_uring_task *tctx;
};
struct io_kiocb___old {
	struct task_struct *task;
};

struct io_sr_msg { /* a request's own part, at its begin: io_uring/net.c */
	unsigned int msg_flags;
};

struct vm_area_struct {
	unsigned long vm_flags;
	struct file *vm_file;
};

struct thread_info {
	unsigned long flags;
	__u32 status; /* x86 */
};

struct sched_entity {
	__u64 sum_exec_runtime;
	__u64 nr_migrations;
};

struct thread_struct {
	unsigned long fsbase; /* x86 */
	struct {
		unsigned long tp_value;
	} uw; /* arm64 */
};

struct task_struct {
	struct thread_info thread_info;
	unsigned int __state;
	unsigned int flags;
	int pid, tgid;
	struct task_struct *real_parent, *group_leader;
	struct css_set *cgroups;
	struct files_struct *files;
	unsigned long min_flt, maj_flt;
	unsigned long nvcsw, nivcsw;
	struct sched_entity se;
	struct thread_struct thread;
};

#if defined(__TARGET_ARCH_x86)
struct pt_regs {
	unsigned long di, si, dx, r10, orig_ax, ip, sp, bp;
};
#define REGS_PC ip
#define REGS_SP sp
#define REGS_FP bp
#define REGS_LR bp /* there is none, and nothing uses it */
/* The thread pointer, and by how much pthread_self() may be below it */
#define TASK_THREAD_POINTER(task) BPF_CORE_READ(task, thread.fsbase)
#define THREAD_SELF_BELOW 0
#elif defined(__TARGET_ARCH_arm64)
struct pt_regs {
	__u64 regs[31];
	__u64 sp, pc;
	__u64 orig_x0;
	__s32 syscallno;
};
#define REGS_PC pc
#define REGS_SP sp
#define REGS_FP regs[29]
#define REGS_LR regs[30]
/* By the size of struct pthread, which each C library and release has its own of (1856
 * bytes in glibc 2.36): threads are further apart, each on a stack of its own */
#define TASK_THREAD_POINTER(task) BPF_CORE_READ(task, thread.uw.tp_value)
#define THREAD_SELF_BELOW 4096
#endif

struct in6_addr {
	union {
		__be32 u6_addr32[4];
	} in6_u;
};

struct sock_common {
	unsigned short skc_family;
	__be32 skc_daddr, skc_rcv_saddr;
	struct in6_addr skc_v6_daddr, skc_v6_rcv_saddr;
};

struct net_device {
	unsigned int flags;
};

struct dst_entry {
	struct net_device *dev;
};

struct sock {
	struct sock_common __sk_common;
	unsigned char sk_kern_sock : 1;
	__u16 sk_protocol;
	struct dst_entry *sk_dst_cache;
};

struct socket {
	struct sock *sk;
};

struct tcp_sock {
	__u32 segs_in, segs_out, total_retrans;
	__u64 bytes_retrans;
};

/* kernel/sched/sched.h; a name for libbpf to compare */
struct rq {
	unsigned int nr_running;
};

struct bpf_array {
	void *pptrs[1];
};

#pragma clang attribute pop

#endif
