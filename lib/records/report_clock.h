/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LIB_RECORDS_REPORT_CLOCK_H
#define CEEMS_LIB_RECORDS_REPORT_CLOCK_H

#include <stddef.h>
#include <stdint.h>

#include "lib/boot.h"
#include "lib/err.h"
#include "lib/records/record.h"

/*
 * The sender's clocks at the time of sending: the first record of each batch of reports
 * (lib/records/batch.h), made anew for each POST and never spooled. It tells the reader
 * how long ago a unit of the same boot began, by a clock that nobody sets. Readers that
 * do not know it refuse this one record.
 */

#define REPORT_CLOCK 20u /* its type, beside enum report_type */
#define REPORT_CLOCK_BYTES_MAX 192u

struct report_clock {
	char node[RECORD_NAME_MAX]; /* for people: the sender's name for itself */
	char boot_id[BOOT_ID_BYTES];
	uint64_t boottime_ns, realtime_ns;
};

/* Reads the clocks of this machine. */
void report_clock_read(struct report_clock *ret, const char *node);
/* REPORT_CLOCK_BYTES_MAX bytes always suffice. Returns the length or -EMSGSIZE. */
int report_clock_encode(const struct report_clock *c, void *buf, size_t size);
/* Decodes any bytes: a clock, or -EPROTO with a text. Unknown fields are skipped; both
 * times must be there and below 2^63. */
int report_clock_decode(const void *data, size_t len, struct report_clock *ret,
			struct err *err);

#endif
