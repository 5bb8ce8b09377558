/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_BPF_NET_SOCKETS_H
#define CEEMS_BPF_NET_SOCKETS_H

/* What is counted of a socket, whoever finds it: see lib/records/net_slots.h. Part of
 * net.bpf.c. Where the kernel hands a socket to the program (typed), its members are
 * read by plain loads; where the program found it in a process's files, by copies. */
#include "bpf/task_slot.h"

#include <bpf/bpf_endian.h>

#include "lib/records/group_slots.h"
#include "lib/records/net_slots.h"

/* Set by the opener before it loads this. stripes: a power of two. */
const volatile unsigned stripes = 1;
const volatile unsigned slot_count = 1;
/* What goes by the loopback device is not counted. */
const volatile bool without_loopback = false;

MAPPED_ARRAY_MAP(net_counts, struct net_counts);

/* As groups.bpf.c has it: whether a slot is still that of the same group */
MAPPED_ARRAY_MAP(slots, struct group_slot);

/* What the socket had counted at the last look, and who used it then */
struct seen {
	__u64 group; /* of the slot */
	__u32 slot, in, out, resent, resent_bytes, unused;
};

#define AF_INET 2
#define AF_INET6 10
#define IPPROTO_TCP 6
#define IPPROTO_UDP 17
#define IPPROTO_MPTCP 262
#define MSG_PEEK 0x2
#define MSG_ERRQUEUE 0x2000
#define ADD(counter, n) __sync_fetch_and_add(&(counter), (n))

/* typed: a constant */
#define SOCK_MEMBER(sk, typed, member)                                                 \
	((typed) ? (sk)->member : BPF_CORE_READ((sk), member))

static __always_inline bool is_mapped(struct sock *sk, bool typed)
{
	if (!bpf_core_field_exists(sk->__sk_common.skc_v6_daddr))
		return false; /* a kernel without IPv6 */
	struct in6_addr to = {0};
	if (typed)
		to = sk->__sk_common.skc_v6_daddr;
	else
		BPF_CORE_READ_INTO(&to, sk, __sk_common.skc_v6_daddr);
	__be32 *words = to.in6_u.u6_addr32;

	return !words[0] && !words[1] && words[2] == bpf_htonl(0xffff);
}

static __always_inline bool is_kernels(struct sock *sk, bool typed)
{
	if (!bpf_core_field_exists(sk->sk_kern_sock))
		return false;
	return typed ? BPF_CORE_READ_BITFIELD(sk, sk_kern_sock)
		     : BPF_CORE_READ_BITFIELD_PROBED(sk, sk_kern_sock);
}

/* NET_KINDS: what is not counted */
static __always_inline __u32 kind_of(struct sock *sk, bool typed)
{
	unsigned short family = SOCK_MEMBER(sk, typed, __sk_common.skc_family);
	__u16 protocol = SOCK_MEMBER(sk, typed, sk_protocol);

	if (family != AF_INET && family != AF_INET6)
		return NET_KINDS;
	/* the kernel's own, which sends for whoever waits for it (NFS) */
	if (is_kernels(sk, typed))
		return NET_KINDS;
	bool six = family == AF_INET6 && !is_mapped(sk, typed);
	if (protocol == IPPROTO_TCP || protocol == IPPROTO_MPTCP)
		return six ? NET_TCP6 : NET_TCP4;
	if (protocol == IPPROTO_UDP)
		return six ? NET_UDP6 : NET_UDP4;
	return NET_KINDS;
}

#define IFF_LOOPBACK 0x8 /* include/uapi/linux/if.h */

static __always_inline bool is_loopback4(__be32 address)
{
	return (bpf_ntohl(address) >> 24) == 127;
}

static __always_inline bool is_loopback6(const __be32 a[4])
{
	if (!a[0] && !a[1] && a[2] == bpf_htonl(0xffff))
		return is_loopback4(a[3]);
	return !a[0] && !a[1] && !a[2] && a[3] == bpf_htonl(1);
}

/* Without a route: a socket that is not connected, or one that looks for another. */
static __noinline bool has_loopback_address(struct sock *sk)
{
	struct in6_addr to = {0}, own = {0};

	if (BPF_CORE_READ(sk, __sk_common.skc_family) == AF_INET)
		return is_loopback4(BPF_CORE_READ(sk, __sk_common.skc_daddr)) ||
		       is_loopback4(BPF_CORE_READ(sk, __sk_common.skc_rcv_saddr));
	if (!bpf_core_field_exists(sk->__sk_common.skc_v6_daddr))
		return false;
	BPF_CORE_READ_INTO(&to, sk, __sk_common.skc_v6_daddr);
	BPF_CORE_READ_INTO(&own, sk, __sk_common.skc_v6_rcv_saddr);
	return is_loopback6(to.in6_u.u6_addr32) || is_loopback6(own.in6_u.u6_addr32);
}

/* By the device of the route, which also tells the host's own addresses */
static __always_inline bool is_left_out(struct sock *sk)
{
	if (!without_loopback)
		return false;
	struct dst_entry *route = BPF_CORE_READ(sk, sk_dst_cache);
	return route ? BPF_CORE_READ(route, dev, flags) & IFF_LOOPBACK
		     : has_loopback_address(sk);
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

static __always_inline void look_at_segments(struct sock *sk, struct seen *seen,
					     __u32 slot, struct net_counts *to)
{
	struct group_slot *s = bpf_map_lookup_elem(&slots, &slot);

	if (!s)
		return;
	seen->slot = slot;
	seen->group = s->cgroup;
	add_segments(sk, seen, to);
}

/* The socket is going: what it did since the last look. */
static __always_inline void add_last_segments(struct sock *sk, __u32 kind,
					      struct seen *seen)
{
	__u32 slot = seen->slot;
	struct group_slot *s = bpf_map_lookup_elem(&slots, &slot);

	if (!s || s->cgroup != seen->group || s->state != GROUP_SLOT_LIVES)
		slot = slot_count; /* of nobody any more */
	struct net_counts *to = counts_of(slot, kind);
	if (to)
		add_segments(sk, seen, to);
}

/* calls: that moved this many bytes */
static __always_inline void add_moved(struct net_counts *to, __u32 kind, bool sent,
				      __u64 bytes, __u64 calls)
{
	__u64 packets = kind == NET_UDP4 || kind == NET_UDP6 ? calls : 0;

	if (sent) {
		ADD(to->out_bytes, bytes);
		if (packets)
			ADD(to->out_packets, packets);
	} else {
		ADD(to->in_bytes, bytes);
		if (packets)
			ADD(to->in_packets, packets);
	}
}

#endif
