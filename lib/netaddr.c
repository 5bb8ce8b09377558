/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Addresses for access decisions. */
#include "lib/netaddr.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <string.h>

#include "lib/parse.h"

static const uint8_t mapped[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

int netaddr_parse(const char *s, struct netaddr *ret)
{
	struct netaddr a;

	if (inet_pton(AF_INET6, s, a.b) == 1) {
		*ret = a;
		return 0;
	}
	memcpy(a.b, mapped, sizeof(mapped));
	if (inet_pton(AF_INET, s, a.b + 12) != 1)
		return -EINVAL;
	*ret = a;
	return 0;
}

int netaddr_from(const struct sockaddr *sa, struct netaddr *ret)
{
	if (sa && sa->sa_family == AF_INET) {
		struct sockaddr_in in;
		memcpy(&in, sa, sizeof(in));
		memcpy(ret->b, mapped, sizeof(mapped));
		memcpy(ret->b + 12, &in.sin_addr, 4);
		return 0;
	}
	if (sa && sa->sa_family == AF_INET6) {
		struct sockaddr_in6 in;
		memcpy(&in, sa, sizeof(in));
		memcpy(ret->b, &in.sin6_addr, 16);
		return 0;
	}
	return -EAFNOSUPPORT;
}

/* IPv4's keys are below 2^48, where no IPv6 address except unspecified ones begins. */
uint64_t netaddr_key(const struct netaddr *a, struct netaddr_prefix prefix)
{
	bool v4 = memcmp(a->b, mapped, sizeof(mapped)) == 0;
	uint64_t key = 0;

	for (unsigned i = 0; i < 8; i++)
		key = key << 8 | a->b[v4 ? 8 + i : i];
	return key & UINT64_MAX << (v4 ? 32u - prefix.ipv4 : 64u - prefix.ipv6);
}

bool netaddr_equal(const struct netaddr *a, const struct netaddr *b)
{
	return memcmp(a->b, b->b, sizeof(a->b)) == 0;
}

bool netaddr_is_loopback(const struct netaddr *a)
{
	static const struct netaddr one = {.b = {[15] = 1}};

	return netaddr_equal(a, &one) ||
	       (memcmp(a->b, mapped, sizeof(mapped)) == 0 && a->b[12] == 127);
}

bool netaddr_is_own(const struct netaddr *a)
{
	struct ifaddrs *list = NULL;
	struct netaddr one;
	bool own = netaddr_is_loopback(a);

	if (own || getifaddrs(&list) < 0)
		return own;
	for (const struct ifaddrs *i = list; i && !own; i = i->ifa_next)
		own = netaddr_from(i->ifa_addr, &one) == 0 && netaddr_equal(a, &one);
	freeifaddrs(list);
	return own;
}

void netaddr_text(const struct netaddr *a, char ret[NETADDR_TEXT_MAX])
{
	bool v4 = memcmp(a->b, mapped, sizeof(mapped)) == 0;

	if (!inet_ntop(v4 ? AF_INET : AF_INET6, v4 ? a->b + 12 : a->b, ret,
		       NETADDR_TEXT_MAX))
		ret[0] = '\0';
}

static bool address_bit(const struct netaddr *a, unsigned i)
{
	return a->b[i / 8] >> (7 - i % 8) & 1;
}

int netrange_parse(const char *s, struct netrange *ret)
{
	const char *slash = strchr(s, '/');
	char text[NETADDR_TEXT_MAX + 1];
	struct netrange r = {.bits = 128};
	uint32_t bits;

	size_t len = slash ? (size_t)(slash - s) : strlen(s);
	if (len >= sizeof(text))
		return -EINVAL;
	memcpy(text, s, len);
	text[len] = '\0';
	if (netaddr_parse(text, &r.addr) < 0)
		return -EINVAL;
	if (slash) {
		bool v4 = !strchr(text, ':');
		if (parse_u32(slash + 1, &bits) < 0 || bits > (v4 ? 32u : 128u))
			return -EINVAL;
		r.bits = v4 ? bits + 96 : bits;
	}
	for (unsigned i = r.bits; i < 128; i++) {
		if (address_bit(&r.addr, i))
			return -EINVAL;
	}
	*ret = r;
	return 0;
}

bool netrange_has(const struct netrange *r, const struct netaddr *a)
{
	size_t whole = r->bits / 8;
	unsigned rest = r->bits % 8;

	if (memcmp(r->addr.b, a->b, whole) != 0)
		return false;
	return !rest || (r->addr.b[whole] ^ a->b[whole]) >> (8 - rest) == 0;
}
