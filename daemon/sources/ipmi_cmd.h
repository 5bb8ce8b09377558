/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_DAEMON_SOURCES_IPMI_CMD_H
#define CEEMS_DAEMON_SOURCES_IPMI_CMD_H

#include <stddef.h>

#include "daemon/sources/ipmi_dcmi.h"
#include "lib/err.h"

/* Parsers for the output of tools that ask a BMC. Sources: FreeIPMI 1.6 ipmi-dcmi.c,
 * ipmitool 1.8 ipmi_dcmi.c, ipmiutil 3 idcmi.c. */

/* The text of `ipmi-dcmi --get-system-power-statistics`, `ipmitool dcmi power reading`
 * or `ipmiutil dcmi power`: one reading, with its state. -EBADMSG: anything else; and
 * as ipmi_power_check(). No time is taken from it. */
int ipmi_cmd_power(const char *text, size_t len, struct ipmi_power *ret,
		   struct err *err);

#endif
