/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What processes of units send and receive by TCP and UDP: bytes by the results of
 * calls on sockets, and for TCP the segments that the socket has counted since the last
 * look at it, which is kept with the socket. Who uses a socket is charged, whoever
 * opened it. */
#include "bpf/kernel.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "bpf/task_slot.h"
#include "lib/records/group_slots.h"
#include "lib/records/net_slots.h"

/* Set by the opener before it loads this. stripes: a power of two. */
const volatile unsigned stripes = 1;
const volatile unsigned slot_count = 1;

MAPPED_ARRAY_MAP(net_counts, struct net_counts);

/* As groups.bpf.c has it: whether a slot is still that of the same group */
MAPPED_ARRAY_MAP(slots, struct group_slot);

/* What the socket had counted at the last look, and who used it then */
struct seen {
	__u64 group; /* of the slot */
	__u32 slot, in, out, resent, resent_bytes, unused;
};

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct seen);
} sockets SEC(".maps");

#define AF_INET 2
#define AF_INET6 10
#define IPPROTO_TCP 6
#define IPPROTO_UDP 17
#define IPPROTO_MPTCP 262
#define MSG_PEEK 0x2
#define MSG_ERRQUEUE 0x2000
#define ADD(counter, n) __sync_fetch_and_add(&(counter), (n))

static __always_inline bool is_mapped(struct sock *sk)
{
	if (!bpf_core_field_exists(sk->__sk_common.skc_v6_daddr))
		return false; /* a kernel without IPv6 */
	__be32 *to = sk->__sk_common.skc_v6_daddr.in6_u.u6_addr32;

	return !to[0] && !to[1] && to[2] == bpf_htonl(0xffff);
}

/* NET_KINDS: what is not counted */
static __always_inline __u32 kind_of(struct sock *sk)
{
	unsigned short family = sk->__sk_common.skc_family;
	__u16 protocol = sk->sk_protocol;

	if (family != AF_INET && family != AF_INET6)
		return NET_KINDS;
	/* the kernel's own, which sends for whoever waits for it (NFS) */
	if (bpf_core_field_exists(sk->sk_kern_sock) &&
	    BPF_CORE_READ_BITFIELD(sk, sk_kern_sock))
		return NET_KINDS;
	bool six = family == AF_INET6 && !is_mapped(sk);
	if (protocol == IPPROTO_TCP || protocol == IPPROTO_MPTCP)
		return six ? NET_TCP6 : NET_TCP4;
	if (protocol == IPPROTO_UDP)
		return six ? NET_UDP6 : NET_UDP4;
	return NET_KINDS;
}

static __always_inline struct net_counts *counts_of(__u32 slot, __u32 kind)
{
	__u32 i = (slot * NET_KINDS + kind) * stripes +
		  (bpf_get_smp_processor_id() & (stripes - 1));

	return bpf_map_lookup_elem(&net_counts, &i);
}

/* What a count of the socket, which wraps, has grown by since the last look. Two CPUs
 * may look at one socket at once: only one of them adds it, and what the other read
 * before that is no step back. The rest is added at the next look. */
static __always_inline __u32 growth_since(__u32 *seen, __u32 now)
{
	__u32 was = *(volatile __u32 *)seen, n = now - was;

	if (!n || n >> 31 || __sync_val_compare_and_swap(seen, was, now) != was)
		return 0;
	return n;
}

static __always_inline void add_segments(struct sock *sk, struct seen *seen,
					 struct net_counts *to)
{
	struct tcp_sock *tcp = (struct tcp_sock *)sk;
	__u32 resent = BPF_CORE_READ(tcp, total_retrans);

	ADD(to->in_packets, growth_since(&seen->in, BPF_CORE_READ(tcp, segs_in)));
	ADD(to->out_packets, growth_since(&seen->out, BPF_CORE_READ(tcp, segs_out)));
	if (resent == seen->resent)
		return;
	ADD(to->resent_packets, growth_since(&seen->resent, resent));
	ADD(to->resent_bytes, growth_since(&seen->resent_bytes,
					   (__u32)BPF_CORE_READ(tcp, bytes_retrans)));
}

static __always_inline void look_at_socket(struct sock *sk, __u32 slot,
					   struct net_counts *to)
{
	struct group_slot *s = bpf_map_lookup_elem(&slots, &slot);
	struct seen *seen =
		bpf_sk_storage_get(&sockets, sk, NULL, BPF_SK_STORAGE_GET_F_CREATE);

	if (!s || !seen)
		return;
	seen->slot = slot;
	seen->group = s->cgroup;
	add_segments(sk, seen, to);
}

static __always_inline void count_call(struct sock *sk, int result, bool sent)
{
	__u32 kind = kind_of(sk);

	if (result < 0 || kind == NET_KINDS)
		return;
	__u32 slot = slot_of_task(bpf_get_current_task_btf());
	if (slot == SLOT_NONE)
		return;
	struct net_counts *to = counts_of(slot, kind);
	if (!to)
		return;
	if (sent)
		ADD(to->out_bytes, (__u64)result);
	else
		ADD(to->in_bytes, (__u64)result);
	if (kind == NET_UDP4 || kind == NET_UDP6) {
		if (sent)
			ADD(to->out_packets, 1);
		else
			ADD(to->in_packets, 1);
	} else if (sk->sk_protocol == IPPROTO_TCP) {
		look_at_socket(sk, slot, to);
	}
}

SEC("tp_btf/sock_send_length")
int BPF_PROG(call_sent, struct sock *sk, int result, int flags)
{
	count_call(sk, result, true);
	return 0;
}

SEC("tp_btf/sock_recv_length")
int BPF_PROG(call_received, struct sock *sk, int result, int flags)
{
	if (!(flags & (MSG_PEEK | MSG_ERRQUEUE)))
		count_call(sk, result, false);
	return 0;
}

SEC("tp_btf/tcp_destroy_sock")
int BPF_PROG(socket_destroyed, struct sock *sk)
{
	struct seen *seen = bpf_sk_storage_get(&sockets, sk, NULL, 0);
	__u32 kind = kind_of(sk);

	if (!seen || kind == NET_KINDS)
		return 0;
	__u32 slot = seen->slot;
	struct group_slot *s = bpf_map_lookup_elem(&slots, &slot);
	if (!s || s->cgroup != seen->group || s->state != GROUP_SLOT_LIVES)
		slot = slot_count; /* of nobody any more */
	struct net_counts *to = counts_of(slot, kind);
	if (to)
		add_segments(sk, seen, to);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
