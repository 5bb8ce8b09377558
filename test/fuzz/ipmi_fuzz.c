/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a BMC replies: power reading, channel and LAN parameters. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/sources/ipmi_dcmi.h"
#include "daemon/sources/ipmi_lan.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct ipmi_power p = {.current_w = 70000};
	char v4[INET_ADDRSTRLEN] = "x", v6[INET6_ADDRSTRLEN] = "x";
	struct err err;

	int rc = ipmi_dcmi_power(data, size, &p, &err);
	if (rc > 0 || (rc < 0 && (p.current_w != 70000 || !err.text[0])))
		abort();
	/* no error reply is ever a reading */
	if (rc == 0 && (size != 19 || data[0] || !(data[18] & 0x40) || !p.current_w ||
			p.current_w >= 65535 || p.min_w >= 65535 || p.max_w >= 65535 ||
			p.avg_w >= 65535))
		abort();
	rc = ipmi_lan_ipv4(data, size, v4);
	if (rc > 0 || (rc == 0 && (data[0] || !strchr(v4, '.'))))
		abort();
	rc = ipmi_lan_ipv6(data, size, v6);
	if (rc > 0 || (rc == 0 && (data[0] || !strchr(v6, ':'))))
		abort();
	rc = ipmi_lan_is_lan(data, size);
	if (rc > 1 || (rc >= 0 && data[0]))
		abort();
	return 0;
}
