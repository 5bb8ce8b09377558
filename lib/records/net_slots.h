/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LIB_RECORDS_NET_SLOTS_H
#define CEEMS_LIB_RECORDS_NET_SLOTS_H

/*
 * What processes sent and received by TCP and UDP, as the kernel programs count it at
 * the end of each call on a socket: one plain array that ceemsd maps, by the slots of
 * group_slots.h, with one slot more for what TCP did when nobody was left to count it
 * for. Each counter lies in stripes, as in io_cells.h.
 *
 * Kernel memory: (slots + 1) * NET_KINDS * stripes * 64.
 */

#define NET_STRIPES_MAX 8u /* possible CPUs, up to this; a power of two */

/* IPv4 in an IPv6 socket is IPv4. */
enum net_kind { NET_TCP4, NET_TCP6, NET_UDP4, NET_UDP6, NET_KINDS };

/* One stripe of a kind. Bytes are those that calls moved, exact when the call has
 * returned; packets of UDP are calls. Packets of TCP are segments, as the socket has
 * counted them by then: what is still on its way is added at the next call, or when the
 * socket is destroyed. */
struct net_counts {
	unsigned long long in_bytes, in_packets;
	unsigned long long out_bytes, out_packets;
	unsigned long long resent_bytes,
		resent_packets; /* of TCP, both also in out_packets */
	/* of nobody's slot: calls on TCP sockets for whose segments there was no room
	 */
	unsigned long long unseen_calls;
	unsigned long long reserved;
};

/* The descriptors that the opener hands over; count is the number of slots, without the
 * one more. */
enum net_fd {
	NET_FD_COUNTS, /* [slot][kind][stripe] struct net_counts */
	/* the attached programs: of the two tracepoints, or of the end of system calls
	 * and of requests of io_uring (without these the first once more) */
	NET_FD_SENT,
	NET_FD_RECEIVED,
	NET_FD_DESTROYED,
	NET_FDS
};
enum { NET_DETAIL_STRIPES, NET_DETAIL_COUNTED };

/* How they count */
enum net_counted {
	NET_COUNTED_CALLS = 1, /* by system calls, not by the sockets' tracepoints */
	NET_COUNTED_URING = 2, /* with it: also requests of io_uring */
};

/* By system calls, TCP sockets that live and whose segments are counted: some 100 bytes
 * each */
#define NET_SOCKETS_MAX 32768u

#endif
