/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The BMC's own network address by raw IPMI, for those who talk to it over the network
 * without a configured one. */
#include "daemon/sources/ipmi_lan.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "lib/clock.h"

#define NETFN_APP 0x06
#define CMD_CHANNEL_INFO 0x42
#define NETFN_TRANSPORT 0x0c
#define CMD_LAN_PARAMETER 0x02
#define PARAMETER_IPV4 3
#define PARAMETER_IPV6_STATIC 56
#define PARAMETER_IPV6_DYNAMIC 59
#define MEDIUM_LAN 4   /* 802.3 */
#define MEDIUM_OTHER 6 /* other LAN */
#define CHANNELS 11    /* 1 to 11 may be LANs */
#define IPV6_SETS 4    /* addresses tried of each kind */

int ipmi_lan_is_lan(const uint8_t *reply, size_t len)
{
	int rc = len ? ipmi_completion(reply[0], NULL) : -EBADMSG;

	if (rc < 0)
		return rc;
	if (len < 3)
		return -EBADMSG;
	uint8_t medium = reply[2] & 0x7f;
	return medium == MEDIUM_LAN || medium == MEDIUM_OTHER;
}

int ipmi_lan_ipv4(const uint8_t *reply, size_t len, char ret[INET_ADDRSTRLEN])
{
	static const uint8_t none[4], all[4] = {255, 255, 255, 255};
	int rc = len ? ipmi_completion(reply[0], NULL) : -EBADMSG;

	if (rc < 0)
		return rc;
	if (len != 6) /* code, revision, address */
		return -EBADMSG;
	if (memcmp(reply + 2, none, 4) == 0 || memcmp(reply + 2, all, 4) == 0)
		return -ENODATA;
	return inet_ntop(AF_INET, reply + 2, ret, INET_ADDRSTRLEN) ? 0 : -EINVAL;
}

int ipmi_lan_ipv6(const uint8_t *reply, size_t len, char ret[INET6_ADDRSTRLEN])
{
	struct in6_addr a;
	int rc = len ? ipmi_completion(reply[0], NULL) : -EBADMSG;

	if (rc < 0)
		return rc;
	/* code, revision, set selector, source, address, prefix, status */
	if (len != 22)
		return -EBADMSG;
	memcpy(&a, reply + 4, sizeof(a));
	if (reply[21] != 0 || IN6_IS_ADDR_UNSPECIFIED(&a) ||
	    IN6_IS_ADDR_LINKLOCAL(&a) || IN6_IS_ADDR_MULTICAST(&a) ||
	    IN6_IS_ADDR_LOOPBACK(&a))
		return -ENODATA;
	return inet_ntop(AF_INET6, &a, ret, INET6_ADDRSTRLEN) ? 0 : -EINVAL;
}

/* A walk over channels and parameters within one deadline. */
struct asker {
	struct ipmi *dev;
	uint64_t until_ns;
	struct ipmi_reply reply;
	int rc; /* of the last message without a reply */
	struct err *err;
};

static bool ask_lan_parameter(struct asker *a, const struct ipmi_request *req)
{
	uint64_t now_ns = a->dev->now_ns();

	/* do not ask a BMC that does not answer for the rest */
	if (a->rc < 0)
		return false;
	uint64_t left_ms =
		now_ns < a->until_ns ? (a->until_ns - now_ns) / NSEC_PER_MSEC : 0;
	a->rc = ipmi_ask(a->dev, req, (uint32_t)left_ms, &a->reply, a->err);
	return a->rc == 0;
}

static bool ask_parameter(struct asker *a, uint8_t channel, uint8_t parameter,
			  uint8_t set)
{
	struct ipmi_request req = {.netfn = NETFN_TRANSPORT,
				   .cmd = CMD_LAN_PARAMETER,
				   .data = {channel, parameter, set, 0},
				   .len = 4};
	return ask_lan_parameter(a, &req);
}

static void ask_ipv6(struct asker *a, uint8_t channel, struct ipmi_lan *ret)
{
	static const uint8_t parameters[] = {PARAMETER_IPV6_STATIC,
					     PARAMETER_IPV6_DYNAMIC};

	for (size_t p = 0; p < sizeof(parameters); p++) {
		for (uint8_t set = 0; set < IPV6_SETS; set++) {
			if (!ask_parameter(a, channel, parameters[p], set))
				return;
			int rc = ipmi_lan_ipv6(a->reply.data, a->reply.len, ret->ipv6);
			if (rc == 0)
				return;
			if (rc != -ENODATA)
				break; /* unknown, or no more of them */
		}
	}
}

int ipmi_lan_address(struct ipmi *dev, uint32_t deadline_ms, struct ipmi_lan *ret,
		     struct err *err)
{
	struct asker a = {.dev = dev,
			  .until_ns = dev->now_ns() + deadline_ms * NSEC_PER_MSEC,
			  .err = err};
	struct ipmi_lan lan = {"", ""};

	for (uint8_t c = 1; c <= CHANNELS && !lan.ipv4[0] && !lan.ipv6[0]; c++) {
		struct ipmi_request info = {.netfn = NETFN_APP,
					    .cmd = CMD_CHANNEL_INFO,
					    .data = {c},
					    .len = 1};
		if (!ask_lan_parameter(&a, &info))
			break;
		int is_lan = ipmi_lan_is_lan(a.reply.data, a.reply.len);
		/* if channel info is not available, 1 is the usual LAN channel */
		if (is_lan == 0 || (is_lan < 0 && c != 1))
			continue;
		if (!ask_parameter(&a, c, PARAMETER_IPV4, 0))
			break;
		(void)ipmi_lan_ipv4(a.reply.data, a.reply.len, lan.ipv4);
		ask_ipv6(&a, c, &lan);
	}
	if (lan.ipv4[0] || lan.ipv6[0]) {
		*ret = lan;
		return 0;
	}
	if (a.rc < 0)
		return a.rc;
	return err_set(err, -ENODATA, "%s: the BMC reports no network address",
		       dev->path);
}

int ipmi_lan_address_of(const struct env *env, unsigned dev_num, uint32_t deadline_ms,
			struct ipmi_lan *ret, struct err *err)
{
	struct ipmi dev;
	int rc = ipmi_open(env, dev_num, &dev, err);

	if (rc < 0)
		return rc;
	rc = ipmi_lan_address(&dev, deadline_ms, ret, err);
	ipmi_close(&dev);
	return rc;
}
