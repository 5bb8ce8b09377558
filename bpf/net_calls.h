/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_BPF_NET_CALLS_H
#define CEEMS_BPF_NET_CALLS_H

/* Sockets by the system calls on them, where they end. Part of net.bpf.c. The verifier
 * does not know a socket that is found in a process's files, so that what was seen of
 * it cannot be kept with it: it is kept by its address, until it is destroyed. */
#include "bpf/calls.h"
#include "bpf/net_sockets.h"

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, __u64);
	__type(value, struct seen);
} sockets_by_address SEC(".maps");

enum net_call {
	NET_CALL_NONE,
	NET_CALL_SEND,      /* first argument */
	NET_CALL_SEND_MANY, /* first argument; the second is a vector of messages */
	NET_CALL_RECV,      /* first argument */
	NET_CALL_RECV_FROM, /* first argument; the fourth are flags */
	NET_CALL_RECV_MSG,  /* first argument; the third are flags */
	NET_CALL_RECV_MANY, /* first argument; the fourth are flags */
	NET_CALL_SPLICE     /* from the first argument, to the third */
};

static __always_inline enum net_call kind_of_net_call(__u64 nr)
{
	switch (nr) {
#if defined(__TARGET_ARCH_x86)
	case 1:   /* write */
	case 20:  /* writev */
	case 328: /* pwritev2 */
	case 40:  /* sendfile */
	case 44:  /* sendto */
	case 46:  /* sendmsg */
		return NET_CALL_SEND;
	case 307: /* sendmmsg */
		return NET_CALL_SEND_MANY;
	case 0:   /* read */
	case 19:  /* readv */
	case 327: /* preadv2 */
		return NET_CALL_RECV;
	case 45: /* recvfrom */
		return NET_CALL_RECV_FROM;
	case 47: /* recvmsg */
		return NET_CALL_RECV_MSG;
	case 299: /* recvmmsg */
		return NET_CALL_RECV_MANY;
	case 275: /* splice */
		return NET_CALL_SPLICE;
#elif defined(__TARGET_ARCH_arm64)
	case 64:  /* write */
	case 66:  /* writev */
	case 287: /* pwritev2 */
	case 71:  /* sendfile */
	case 206: /* sendto */
	case 211: /* sendmsg */
		return NET_CALL_SEND;
	case 269: /* sendmmsg */
		return NET_CALL_SEND_MANY;
	case 63:  /* read */
	case 65:  /* readv */
	case 286: /* preadv2 */
		return NET_CALL_RECV;
	case 207: /* recvfrom */
		return NET_CALL_RECV_FROM;
	case 212: /* recvmsg */
		return NET_CALL_RECV_MSG;
	case 243: /* recvmmsg */
		return NET_CALL_RECV_MANY;
	case 76: /* splice */
		return NET_CALL_SPLICE;
#endif
	}
	return NET_CALL_NONE;
}

#define S_IFSOCK 0140000

static __always_inline struct sock *sock_of_file(struct file *file)
{
	if (!file || (BPF_CORE_READ(file, f_inode, i_mode) & S_IFMT) != S_IFSOCK)
		return NULL;
	struct socket *socket = BPF_CORE_READ(file, private_data);
	return BPF_CORE_READ(socket, sk);
}

static __always_inline struct seen *seen_of_address(__u64 address)
{
	const struct seen nothing = {0};
	struct seen *seen = bpf_map_lookup_elem(&sockets_by_address, &address);

	if (seen)
		return seen;
	bpf_map_update_elem(&sockets_by_address, &address, &nothing, BPF_NOEXIST);
	return bpf_map_lookup_elem(&sockets_by_address, &address);
}

/* Global, so that the verifier looks at it once. calls: that moved these bytes */
__noinline int count_on_file(__u32 slot, __u64 file, bool sent, __u64 bytes,
			     __u64 calls)
{
	struct sock *sk = sock_of_file((struct file *)file);
	__u32 kind = sk ? kind_of(sk, false) : NET_KINDS;

	if (kind >= NET_KINDS || is_left_out(sk))
		return 0;
	struct net_counts *to = counts_of(slot, kind);
	if (!to)
		return 0;
	add_moved(to, kind, sent, bytes, calls);
	if (BPF_CORE_READ(sk, sk_protocol) != IPPROTO_TCP)
		return 0;
	struct seen *seen = seen_of_address((__u64)sk);
	if (seen) {
		look_at_segments(sk, seen, slot, to);
		return 0;
	}
	to = counts_of(slot_count, kind);
	if (to)
		ADD(to->unseen_calls, 1);
	return 0;
}

/* ---- several messages in one call ----------------------------------------------- */

/* include/linux/socket.h, of 64 bits; the kernel has just written msg_len */
struct mmsghdr {
	__u64 msg_hdr[7];
	__u32 msg_len, padding;
};
/* Of a call (UIO_MAXIOV); more are not counted. A program may make up the result of its
 * own call (seccomp), and no other runs on this CPU while we look at what it says. */
#define MESSAGES_MAX 1024

struct messages {
	__u64 at, bytes;
};

static long add_message(__u32 i, struct messages *m)
{
	const struct mmsghdr *message = (void *)(m->at + i * sizeof(*message));
	__u32 bytes = 0;

	if (bpf_probe_read_user(&bytes, sizeof(bytes), &message->msg_len))
		return 1;
	/* atomic, so that the verifier does not follow the sum */
	ADD(m->bytes, bytes < 0x7fffffff ? bytes : 0);
	return 0;
}

static __always_inline __u64 bytes_of_messages(__u64 at, __u32 count)
{
	struct messages m = {.at = at};

	bpf_loop(count, add_message, &m, 0);
	return m.bytes;
}

/* ---- calls ----------------------------------------------------------------------- */

static __always_inline bool takes_nothing(enum net_call call, struct pt_regs *regs)
{
	__u32 flags = 0;

	if (call == NET_CALL_RECV_MSG)
		flags = THIRD_ARGUMENT(regs);
	else if (call == NET_CALL_RECV_FROM || call == NET_CALL_RECV_MANY)
		flags = FOURTH_ARGUMENT(regs);
	return flags & (MSG_PEEK | MSG_ERRQUEUE);
}

SEC("?tp_btf/sys_exit")
int BPF_PROG(net_call_ended, struct pt_regs *regs, long result)
{
	struct task_struct *task = bpf_get_current_task_btf();
	enum net_call call = kind_of_net_call(CALL_NUMBER(regs));

	if (call == NET_CALL_NONE || result < 0 || !is_result(result) ||
	    is_compat(task))
		return 0;
	__u32 slot = slot_of_task(task);
	if (slot == SLOT_NONE || takes_nothing(call, regs))
		return 0;
	__u64 file = (__u64)file_of(task, FIRST_ARGUMENT(regs));
	switch (call) {
	case NET_CALL_SEND:
		count_on_file(slot, file, true, (__u64)result, 1);
		return 0;
	case NET_CALL_SEND_MANY:
	case NET_CALL_RECV_MANY: {
		__u32 n = result < MESSAGES_MAX ? (__u32)result : MESSAGES_MAX;
		count_on_file(slot, file, call == NET_CALL_SEND_MANY,
			      bytes_of_messages(SECOND_POINTER(regs), n), n);
		return 0;
	}
	case NET_CALL_SPLICE:
		count_on_file(slot, (__u64)file_of(task, THIRD_ARGUMENT(regs)), true,
			      (__u64)result, 1);
		/* the other may be a socket as well */
	default:
		count_on_file(slot, file, false, (__u64)result, 1);
	}
	return 0;
}

/* ---- io_uring ------------------------------------------------------------------- */

/* include/uapi/linux/io_uring.h */
enum io_uring_net_op {
	IORING_OP_READV = 1,
	IORING_OP_WRITEV = 2,
	IORING_OP_READ_FIXED = 4,
	IORING_OP_WRITE_FIXED = 5,
	IORING_OP_SENDMSG = 9,
	IORING_OP_RECVMSG = 10,
	IORING_OP_READ = 22,
	IORING_OP_WRITE = 23,
	IORING_OP_SEND = 26,
	IORING_OP_RECV = 27,
	IORING_OP_SPLICE = 30,
	IORING_OP_SEND_ZC = 47,
	IORING_OP_SENDMSG_ZC = 48
};

static __always_inline enum net_call kind_of_net_request(__u8 op)
{
	switch (op) {
	case IORING_OP_WRITEV:
	case IORING_OP_WRITE_FIXED:
	case IORING_OP_WRITE:
	case IORING_OP_SENDMSG:
	case IORING_OP_SEND:
	case IORING_OP_SPLICE:
	case IORING_OP_SEND_ZC:
	case IORING_OP_SENDMSG_ZC:
		return NET_CALL_SEND;
	case IORING_OP_READV:
	case IORING_OP_READ_FIXED:
	case IORING_OP_READ:
		return NET_CALL_RECV;
	case IORING_OP_RECVMSG:
	case IORING_OP_RECV:
		return NET_CALL_RECV_MSG;
	}
	return NET_CALL_NONE;
}

static __always_inline bool request_takes_nothing(struct io_kiocb *request)
{
	struct io_sr_msg *message = (struct io_sr_msg *)request;

	if (!bpf_core_field_exists(message->msg_flags))
		return false;
	return BPF_CORE_READ(message, msg_flags) & (MSG_PEEK | MSG_ERRQUEUE);
}

/* request: NULL for one of several completions of a request (multishot), whose socket
 * nobody names here */
SEC("?tp_btf/io_uring_complete")
int BPF_PROG(net_request_ended, void *ring, struct io_kiocb *request)
{
	enum net_call call =
		request ? kind_of_net_request(BPF_CORE_READ(request, opcode))
			: NET_CALL_NONE;

	if (call == NET_CALL_NONE ||
	    (call == NET_CALL_RECV_MSG && request_takes_nothing(request)))
		return 0;
	long result = BPF_CORE_READ(request, cqe.res);
	__u32 slot = slot_of_any_task(owner_of(request));
	if (slot == SLOT_NONE || result < 0)
		return 0;
	count_on_file(slot, (__u64)BPF_CORE_READ(request, file), call == NET_CALL_SEND,
		      (__u64)result, 1);
	return 0;
}

SEC("?tp_btf/tcp_destroy_sock")
int BPF_PROG(socket_forgotten, struct sock *sk)
{
	__u64 address = (__u64)sk;
	struct seen *seen = bpf_map_lookup_elem(&sockets_by_address, &address);
	__u32 kind = kind_of(sk, true);

	if (!seen)
		return 0;
	if (kind != NET_KINDS)
		add_last_segments(sk, kind, seen);
	bpf_map_delete_elem(&sockets_by_address, &address);
	return 0;
}

#endif
