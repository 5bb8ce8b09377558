/* SPDX-License-Identifier: GPL-2.0-or-later */
/* DCMI's power reading: bytes to watts, and plausibility. */
#include "daemon/sources/ipmi_dcmi.h"

#include <errno.h>

#define NETFN_GROUP 0x2c
#define GROUP_DCMI 0xdc
#define CMD_POWER_READING 0x02
#define MODE_STATISTICS 0x01
#define POWER_REPLY_BYTES 19u
#define STATE_ACTIVE 0x40
#define NOTHING_W 0xffffu

void ipmi_dcmi_power_request(struct ipmi_request *ret)
{
	*ret = (struct ipmi_request){
		.netfn = NETFN_GROUP,
		.cmd = CMD_POWER_READING,
		.data = {GROUP_DCMI, MODE_STATISTICS, 0, 0},
		.len = 4,
	};
}

static uint32_t u16_at(const uint8_t *p)
{
	return p[0] | (uint32_t)p[1] << 8;
}

static uint32_t plausible_watts(uint32_t watts)
{
	return watts >= NOTHING_W ? 0 : watts;
}

int ipmi_power_check(struct ipmi_power *p, struct err *err)
{
	if (!p->active)
		return err_set(err, -ENODATA, "the BMC does not measure power now");
	if (p->current_w == 0 || p->current_w >= NOTHING_W)
		return err_set(err, -ERANGE, "the BMC says %u W", p->current_w);
	p->min_w = plausible_watts(p->min_w);
	p->max_w = plausible_watts(p->max_w);
	p->avg_w = plausible_watts(p->avg_w);
	return 0;
}

int ipmi_dcmi_power(const uint8_t *reply, size_t len, struct ipmi_power *ret,
		    struct err *err)
{
	if (len == 0)
		return err_set(err, -EBADMSG, "empty reply");
	int rc = ipmi_completion(reply[0], err);
	if (rc < 0)
		return rc;
	if (len != POWER_REPLY_BYTES)
		return err_set(err, -EBADMSG,
			       "power reading of %zu bytes, DCMI defines %u", len,
			       POWER_REPLY_BYTES);
	if (reply[1] != GROUP_DCMI)
		return err_set(err, -EBADMSG, "reply of group 0x%02x, DCMI is 0x%02x",
			       reply[1], GROUP_DCMI);
	struct ipmi_power p = {
		.current_w = u16_at(reply + 2),
		.min_w = u16_at(reply + 4),
		.max_w = u16_at(reply + 6),
		.avg_w = u16_at(reply + 8),
		.timestamp_s = u16_at(reply + 10) | u16_at(reply + 12) << 16,
		.active = reply[18] & STATE_ACTIVE,
	};
	rc = ipmi_power_check(&p, err);
	if (rc == 0)
		*ret = p;
	return rc;
}
