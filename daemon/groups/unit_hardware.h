/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_DAEMON_GROUPS_UNIT_HARDWARE_H
#define CEEMS_DAEMON_GROUPS_UNIT_HARDWARE_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/env.h"
#include "daemon/groups/opener_link.h"
#include "daemon/groups/unit_counts.h"
#include "lib/buf.h"
#include "lib/err.h"
#include "lib/records/hardware_cells.h"

/*
 * Hardware and cache events of units (lib/records/hardware_cells.h): ceemsd arms the
 * CPUs' events while a unit that asks for them runs, and disarms them when none has for
 * HARDWARE_IDLE_MS. The caller holds the daemon's lock.
 */
#define HARDWARE_IDLE_MS 10000u
/* So long before that a step that asks is told to wait again: its record is read before
 * the events are disarmed. */
#define HARDWARE_LEAVE_MS 1000u

/* The kernel's maps, mapped into ceemsd */
struct hardware_slots {
	struct slot_counts counts;
	struct hardware_control *control; /* NULL: not open */
	int leaders;                      /* counts owns it */
};

/* Takes what the opener has opened. -ENODEV: the CPUs have none of the events. */
int hardware_slots_open(struct hardware_slots *s, struct opened_part *part,
			struct err *err);
void hardware_slots_close(struct hardware_slots *s); /* accepts what was zeroed */
/* The names of the events that are counted and, after "; not ", of those that could
 * not be opened, with the reason. */
void hardware_slots_text(const struct hardware_slots *s, struct buf *out);

struct unit_hardware;

/* What a unit has by now: values that are scaled up for the time in which an event had
 * no counter, and never fall. */
struct hardware_total {
	uint64_t values[HARDWARE_EVENTS];
	uint32_t ran;    /* mask: those that have had a counter for some time */
	uint32_t events; /* of these, those that have ever counted on this node */
	/* of each event's group, unscaled */
	uint64_t enabled_ns[HARDWARE_EVENTS], running_ns[HARDWARE_EVENTS];
};

/* Takes ownership of slots, also on failure. env outlives it. */
int unit_hardware_new(const struct env *env, struct hardware_slots *slots,
		      struct unit_hardware **ret, struct err *err);
void unit_hardware_free(struct unit_hardware *u); /* accepts NULL */

/* The events that a unit is to have, by its wish and the options: mask */
uint32_t unit_hardware_asked(const struct options *o, const struct unit *unit);
/* Arms and disarms. */
void unit_hardware_tick(struct unit_hardware *u, uint64_t now_ns);
/* For which kinds a step that asks need not wait, as of the last tick: enum ring_armed.
 */
uint32_t unit_hardware_ready(const struct unit_hardware *u);
/* As unit_counts_end_slot() */
void unit_hardware_end_slot(struct unit_hardware *u, uint32_t slot, uint32_t unit);

/* Brings all units up to date; then unit_hardware_total() has them. */
void unit_hardware_update(struct unit_hardware *u);
/* events is 0 for one that has none. */
void unit_hardware_total(const struct unit_hardware *u, uint32_t unit,
			 struct hardware_total *ret);

/* What one slot has now, scaled as a whole. */
void unit_hardware_slot(const struct unit_hardware *u, uint32_t slot,
			struct hardware_total *ret);

enum hardware_state {
	HARDWARE_NOT_ASKED,
	HARDWARE_REFUSED, /* could not be opened */
	HARDWARE_SILENT,  /* had a counter, which never counted anything */
	HARDWARE_COUNTS   /* or has had no time yet */
};
enum hardware_state unit_hardware_state(const struct unit_hardware *u, uint32_t event);
bool unit_hardware_armed(const struct unit_hardware *u);

#endif
