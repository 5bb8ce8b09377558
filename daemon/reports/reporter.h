/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_DAEMON_REPORTS_REPORTER_H
#define CEEMS_DAEMON_REPORTS_REPORTER_H

#include <stddef.h>

#include "daemon/reports/report_fill.h"

struct sample;

/*
 * Which report is due when (doc/reports.md). It has no thread, file or clock of its
 * own: daemon/reports/reports.h calls it and writes the batches. Everything here is
 * called under the daemon's lock, by one thread.
 *
 * reporter_round() once a second
 * reporter_gather() fills a batch; again while it is full
 * reporter_settle() when the batch, or a part of it, has been written
 */
struct reporter;

struct unit_finals;

/* What else final reports have (daemon/groups/unit_finals.h). finals NULL: nothing. */
struct reporter_counts {
	struct unit_finals *finals;
	void (*look)(struct unit_finals *f); /* before the others */
	/* they do not change any more */
	bool (*settled)(const struct unit_finals *f, uint32_t unit);
	void (*fill)(const struct unit_finals *f, uint32_t unit, struct report *r);
};

struct reporter_params {
	struct units *units;
	struct sample *sample; /* NULL: memory and IO of running units are not read */
	struct report_who who; /* borrowed texts */
	uint64_t interval_ns;
	struct reporter_counts counts;
};

#define REPORTER_ITEMS 256u
#define REPORTER_STEPS 1024u
#define REPORTER_BYTES (192u << 10) /* room for at least three of the longest */

struct report_batch {
	uint32_t count, steps;
	size_t len;
	bool more; /* the batch is full and there are more reports */
	struct report_item {
		uint64_t serial; /* of the unit */
		uint32_t unit;
		uint8_t type; /* enum report_type */
		bool provisional;
		uint32_t hash;      /* START */
		uint32_t steps_end; /* its steps: from the previous item's end */
		size_t at, len;     /* in data */
	} items[REPORTER_ITEMS];
	struct report_batch_step {
		uint64_t serial;
		uint32_t step;
	} told[REPORTER_STEPS];
	unsigned char data[REPORTER_BYTES];
};

/* Continues from the table; use while no daemon ran is marked as not observed.
 * -ENOMEM. */
int reporter_new(const struct reporter_params *p, uint64_t now_boottime_ns,
		 struct reporter **ret, struct err *err);
void reporter_free(struct reporter *r); /* accepts NULL */

/* Given the time (CLOCK_BOOTTIME): records that the daemon is alive, reads memory from
 * time to time, and closes windows that have ended. */
void reporter_round(struct reporter *r, uint64_t now_ns);

void reporter_gather(struct reporter *r, struct report_batch *b, uint64_t now_ns);
/* The first n items of the batch are in the spool, durably. */
void reporter_settle(struct reporter *r, const struct report_batch *b, uint32_t n);

/* Reports written by this process, by type - REPORT_START */
uint64_t reporter_written(const struct reporter *r, enum report_type type);

#endif
