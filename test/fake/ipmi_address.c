/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Prints what daemon/sources/ipmi_lan.h finds out at the device ipmi0 of /dev: the
 * BMC's IPv4 and IPv6 address, "-" for none. For tests that have a real device. */
#include <fcntl.h>
#include <stdio.h>

#include "daemon/sources/ipmi_lan.h"
#include "lib/clock.h"
#include "lib/fs.h"

static uint64_t now_ns(void)
{
	return clock_boottime_ns();
}

int main(void)
{
	struct env env = {.boottime_ns = now_ns};
	struct ipmi_lan lan;
	struct err err;

	env.devfd = fs_opendir_at(AT_FDCWD, "/dev", NULL);
	if (ipmi_lan_address_of(&env, 0, IPMI_DEADLINE_MS, &lan, &err) < 0) {
		printf("%s\n", err.text);
		return 1;
	}
	printf("%s %s\n", lan.ipv4[0] ? lan.ipv4 : "-", lan.ipv6[0] ? lan.ipv6 : "-");
	return 0;
}
