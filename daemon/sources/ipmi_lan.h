/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_DAEMON_SOURCES_IPMI_LAN_H
#define CEEMS_DAEMON_SOURCES_IPMI_LAN_H

#include <netinet/in.h>

#include "daemon/sources/ipmi.h"

/* The BMC's network address, from the BMC. Source: IPMI 2.0 specification 22.24 (Get
 * Channel Info), 23.2 (Get LAN Configuration Parameters), table 23-4. */

struct ipmi_lan {
	char ipv4[INET_ADDRSTRLEN];  /* "" when it has none */
	char ipv6[INET6_ADDRSTRLEN]; /* "" if it has none; link-local ones do not count,
					since they need a zone */
};

/* Asks an open device; the first LAN channel with an address wins. -ENODATA: none; else
 * the last error. Takes at most deadline_ms in all. */
int ipmi_lan_address(struct ipmi *dev, uint32_t deadline_ms, struct ipmi_lan *ret,
		     struct err *err);

/* The same for device dev_num, opening and closing it. Call before root is given up. */
int ipmi_lan_address_of(const struct env *env, unsigned dev_num, uint32_t deadline_ms,
			struct ipmi_lan *ret, struct err *err);

/* Its parts, for replies that begin with the completion code. 0 or negative errno;
 * -ENODATA: no address there, or not in use. */
int ipmi_lan_is_lan(const uint8_t *reply, size_t len); /* 1, 0 or negative errno */
int ipmi_lan_ipv4(const uint8_t *reply, size_t len, char ret[INET_ADDRSTRLEN]);
int ipmi_lan_ipv6(const uint8_t *reply, size_t len, char ret[INET6_ADDRSTRLEN]);

#endif
