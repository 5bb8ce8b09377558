/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LIB_NETADDR_H
#define CEEMS_LIB_NETADDR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

/* IP addresses in one form: IPv4 is mapped to IPv6 (::ffff:a.b.c.d), so that a client
 * has the same address whatever socket it came through. */

struct netaddr {
	uint8_t b[16];
};

/* A range, "10.0.0.0/8"; a single address has 128 bits. */
struct netrange {
	struct netaddr addr;
	unsigned bits; /* 0-128 */
};

#define NETADDR_TEXT_MAX 46

/* "10.0.0.1", "fd00::1". No name, port, brackets, zone or blank. -EINVAL. */
int netaddr_parse(const char *s, struct netaddr *ret);
/* -EAFNOSUPPORT: neither IPv4 nor IPv6. */
int netaddr_from(const struct sockaddr *sa, struct netaddr *ret);
/* How many leading bits identify a client's network. */
struct netaddr_prefix {
	uint8_t ipv4; /* 1-32 */
	uint8_t ipv6; /* 1-64 */
};
/* One IPv4 address, or an IPv6 /64, in which a single host can choose any address (RFC
 * 7421). */
#define NETADDR_PREFIX_OF_HOST                                                         \
	(struct netaddr_prefix)                                                        \
	{                                                                              \
		.ipv4 = 32, .ipv6 = 64                                                 \
	}

/* A key of the network that a client can choose addresses from; no two networks have
 * the same. */
uint64_t netaddr_key(const struct netaddr *a, struct netaddr_prefix prefix);
bool netaddr_equal(const struct netaddr *a, const struct netaddr *b);
/* 127.0.0.0/8 or ::1: a connection from there is from this host. */
bool netaddr_is_loopback(const struct netaddr *a);
/* Loopback, or of one of this host's interfaces now. */
bool netaddr_is_own(const struct netaddr *a);
void netaddr_text(const struct netaddr *a, char ret[NETADDR_TEXT_MAX]);

/* An address or a range. -EINVAL, also for bits set beyond the prefix: such a typing
 * error would admit more than it says. */
int netrange_parse(const char *s, struct netrange *ret);
bool netrange_has(const struct netrange *r, const struct netaddr *a);

#endif
