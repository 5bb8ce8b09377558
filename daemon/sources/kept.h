/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_DAEMON_SOURCES_KEPT_H
#define CEEMS_DAEMON_SOURCES_KEPT_H

#include <stdbool.h>
#include <stdint.h>

struct source_channel;

/*
 * What an energy tick leaves behind for a daemon that comes after this one, so that
 * what sensors counted while none ran is divided too: where each of their counters
 * stood. Within one boot only, since it is part of the unit table. Fixed width, all
 * zero: nothing is known.
 */

#define KEPT_CHANNELS 128u /* those beyond it begin anew with the daemon */
#define KEPT_MARK_WORDS 11u

/* A channel when its energy was divided last */
struct kept_channel {
	uint32_t source; /* meters_source_name() */
	uint32_t index;
	uint16_t kind, domain; /* enum source_kind, source_domain */
	uint32_t pad;
	uint64_t id;          /* a hash of its name, chip and epoch */
	uint64_t raw;         /* microjoules as the hardware said, or microwatts */
	uint64_t range_uj;    /* one turn of raw; 0: none */
	uint64_t measured_ns; /* boot time */
};
_Static_assert(sizeof(struct kept_channel) == 48, "part of a file format");

/* Where a source stood that makes its own counter (the model); at_ns 0: nowhere. */
struct kept_mark {
	uint64_t at_ns;
	uint64_t words[KEPT_MARK_WORDS];
};

struct kept {
	uint64_t known;   /* 0: no tick has been made */
	uint64_t cpu_ns;  /* that the node had used by the end of the tick */
	int64_t ahead_ns; /* struct node_use */
	struct kept_mark mark;
	uint64_t count;
	struct kept_channel channel[KEPT_CHANNELS];
};
_Static_assert(sizeof(struct kept) == 6272, "part of a file format");

/* c as it was when it said raw. */
struct kept_channel kept_of(uint32_t source, const struct source_channel *c,
			    uint64_t raw, uint64_t measured_ns);
bool kept_is(const struct kept_channel *k, uint32_t source,
	     const struct source_channel *c);

/* Microjoules from the moment that was kept to this reading of the same counter. False:
 * it cannot be known, since the counter began anew, leapt beyond what the hardware can
 * draw, has another range, or may have turned more than once at the most that it can
 * draw. */
bool kept_gain(const struct kept_channel *k, const struct source_channel *c,
	       uint64_t *ret_uj);

#endif
