/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_DAEMON_SOURCES_METER_CHECKPOINT_H
#define CEEMS_DAEMON_SOURCES_METER_CHECKPOINT_H

#include <stdbool.h>
#include <stdint.h>

struct source_channel;

/*
 * The counter readings that an energy tick leaves for the next daemon, so that what
 * sensors counted while none ran is divided too. Valid within a boot, since they are
 * part of the unit table. Fixed width, all zero: nothing is known.
 */

#define METER_CHECKPOINT_CHANNELS 128u /* further ones begin anew with each daemon */
#define METER_CHECKPOINT_MARK_WORDS 11u

/* A channel when its energy was last divided */
struct meter_checkpoint_channel {
	uint32_t source; /* meters_source_name() */
	uint32_t index;
	uint16_t kind, domain; /* enum source_kind, source_domain */
	uint32_t pad;
	uint64_t id;          /* a hash of its name, chip and epoch */
	uint64_t raw;         /* microjoules from the hardware, or microwatts */
	uint64_t range_uj;    /* range of raw; 0: no wraps */
	uint64_t measured_ns; /* boot time */
};
_Static_assert(sizeof(struct meter_checkpoint_channel) == 48, "part of a file format");

/* For a source with its own counter (the model): its last state; at_ns 0: none. */
struct meter_checkpoint_mark {
	uint64_t at_ns;
	uint64_t words[METER_CHECKPOINT_MARK_WORDS];
};

struct meter_checkpoint {
	uint64_t known;   /* 0: no tick has been made */
	uint64_t cpu_ns;  /* used by the node up to the end of the tick */
	int64_t ahead_ns; /* struct node_use */
	struct meter_checkpoint_mark mark;
	uint64_t count;
	struct meter_checkpoint_channel channel[METER_CHECKPOINT_CHANNELS];
};
_Static_assert(sizeof(struct meter_checkpoint) == 6272, "part of a file format");

/* The state of c with this raw value. */
struct meter_checkpoint_channel meter_checkpoint_of(uint32_t source,
						    const struct source_channel *c,
						    uint64_t raw, uint64_t measured_ns);
bool meter_checkpoint_is(const struct meter_checkpoint_channel *k, uint32_t source,
			 const struct source_channel *c);

/* Microjoules between the kept reading and this one of the same counter. False:
 * unknown, since the counter restarted, grew by more than the hardware can draw, has
 * another range, or may have wrapped more than once. */
bool meter_checkpoint_gain(const struct meter_checkpoint_channel *k,
			   const struct source_channel *c, uint64_t *ret_uj);

#endif
