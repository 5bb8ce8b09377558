/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What processes of units send and receive by TCP and UDP: bytes by the results of
 * calls on sockets, and for TCP the segments that the socket has counted since the last
 * look at it, which is kept with the socket. Who uses a socket is charged, whoever
 * opened it. Either by the tracepoints of sockets (Linux 6.3) or by the system calls:
 * the opener loads one of the two. */
#include "bpf/kernel.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "bpf/net_sockets.h"

/* ---- by the tracepoints of sockets ----------------------------------------------- */

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct seen);
} sockets SEC(".maps");

static __always_inline void count_call(struct sock *sk, int result, bool sent)
{
	__u32 kind = kind_of(sk, true);

	if (result < 0 || kind == NET_KINDS)
		return;
	__u32 slot = slot_of_task(bpf_get_current_task_btf());
	if (slot == SLOT_NONE || is_left_out(sk))
		return;
	struct net_counts *to = counts_of(slot, kind);
	if (!to)
		return;
	add_moved(to, kind, sent, (__u64)result, 1);
	if (sk->sk_protocol != IPPROTO_TCP)
		return;
	struct seen *seen =
		bpf_sk_storage_get(&sockets, sk, NULL, BPF_SK_STORAGE_GET_F_CREATE);
	if (seen)
		look_at_segments(sk, seen, slot, to);
}

SEC("?tp_btf/sock_send_length")
int BPF_PROG(call_sent, struct sock *sk, int result, int flags)
{
	count_call(sk, result, true);
	return 0;
}

SEC("?tp_btf/sock_recv_length")
int BPF_PROG(call_received, struct sock *sk, int result, int flags)
{
	if (!(flags & (MSG_PEEK | MSG_ERRQUEUE)))
		count_call(sk, result, false);
	return 0;
}

SEC("?tp_btf/tcp_destroy_sock")
int BPF_PROG(socket_destroyed, struct sock *sk)
{
	struct seen *seen = bpf_sk_storage_get(&sockets, sk, NULL, 0);
	__u32 kind = kind_of(sk, true);

	if (seen && kind != NET_KINDS)
		add_last_segments(sk, kind, seen);
	return 0;
}

#include "bpf/net_calls.h"

char LICENSE[] SEC("license") = "GPL";
