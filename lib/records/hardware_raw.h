/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LIB_RECORDS_HARDWARE_RAW_H
#define CEEMS_LIB_RECORDS_HARDWARE_RAW_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/buf.h"
#include "lib/records/hardware_cells.h"

/*
 * Events by number, as perf_event_open(2) takes them, which ceemsd passes to
 * ceems-opener in one argument:
 *
 *	TYPE:CONFIG:CONFIG1:CONFIG2:LEADS, decimal, several with a comma between
 */
struct hardware_raw {
	uint64_t config, config1, config2;
	uint32_t type; /* of the PMU */
	bool leads;    /* begins a group; else it belongs to the last that does */
};

/* Of one that is opened for a whole CPU: PERF_FORMAT_TOTAL_TIME_ENABLED and _RUNNING */
struct perf_reading {
	uint64_t value, enabled_ns, running_ns;
};

struct hardware_raws {
	struct hardware_raw event[HARDWARE_RAW_MAX];
	uint32_t count;
};

void hardware_raws_put(struct buf *out, const struct hardware_raws *raws);
/* "": none. -EINVAL: anything but the form above; -E2BIG: too many. */
int hardware_raws_parse(const char *text, struct hardware_raws *ret);
/* Mask of enum hardware_event */
uint32_t hardware_raws_mask(const struct hardware_raws *raws);

#endif
