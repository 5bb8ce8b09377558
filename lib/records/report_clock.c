/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The sender's clocks as bytes. */
#include "lib/records/report_clock.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "lib/clock.h"
#include "lib/records/tlv.h"

#define FIELD(id, kind, member) TLV_MEMBER(struct report_clock, id, kind, member, false)

/* Numbers on the wire: never change or reuse one. */
static const struct tlv_member clock_fields[] = {
	FIELD(1, TLV_TEXT, node),
	FIELD(2, TLV_TEXT, boot_id),
	FIELD(3, TLV_U64, boottime_ns),
	FIELD(4, TLV_U64, realtime_ns),
};
#define FIELDS (sizeof(clock_fields) / sizeof(clock_fields[0]))
#define WHAT "clock"

void report_clock_read(struct report_clock *ret, const char *node)
{
	memset(ret, 0, sizeof(*ret));
	snprintf(ret->node, sizeof(ret->node), "%s", node);
	/* without it all reports count as from an earlier boot */
	if (boot_id(ret->boot_id, NULL) < 0)
		ret->boot_id[0] = '\0';
	ret->boottime_ns = clock_boottime_ns();
	ret->realtime_ns = clock_realtime_ns();
}

int report_clock_encode(const struct report_clock *c, void *buf, size_t size)
{
	struct tlv_out o;
	int rc = tlv_begin(&o, buf, size, REPORT_CLOCK);

	for (size_t i = 0; rc == 0 && i < FIELDS; i++)
		tlv_put_member(&o, c, &clock_fields[i], false);
	if (rc < 0 || o.full)
		return -EMSGSIZE;
	return (int)o.len;
}

int report_clock_decode(const void *data, size_t len, struct report_clock *ret,
			struct err *err)
{
	struct tlv_value v;
	struct tlv_in in;
	uint16_t type;
	int rc;

	memset(ret, 0, sizeof(*ret));
	if (tlv_open(&in, data, len, &type) < 0 || type != REPORT_CLOCK)
		return err_set(err, -EPROTO, "clock: no record of that type");
	while ((rc = tlv_next(&in, &v)) > 0) {
		const struct tlv_member *f = tlv_find(clock_fields, FIELDS, v.id, NULL);
		if (f && tlv_get_member(ret, f, &v, WHAT, NULL, err) < 0)
			return -EPROTO;
	}
	if (rc < 0)
		return err_set(err, -EPROTO, "clock: cut short");
	if (!ret->boottime_ns || !ret->realtime_ns || ret->boottime_ns > INT64_MAX ||
	    ret->realtime_ns > INT64_MAX)
		return err_set(err, -EPROTO, "clock: no time");
	return 0;
}
