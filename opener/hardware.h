/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_OPENER_HARDWARE_H
#define CEEMS_OPENER_HARDWARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/err.h"
#include "lib/records/hardware_raw.h"

/* The CPUs' hardware events (perf_event_open(2)): which there are, in which groups, and
 * one of each on each CPU. They are disabled until ceemsd enables them, and never
 * pinned: other users of the counters get their turn. */

struct hardware_source {
	uint32_t type;
	uint64_t config;
	bool leads; /* begins a group; else it belongs to the last that does */
};
extern const struct hardware_source hardware_sources[HARDWARE_NAMED];

struct hardware {
	struct hardware_raws raws;
	struct hardware_control layout;
	int leaders, leaders_put; /* the socket's two ends */
};

/* Finds out which of these events (mask of enum hardware_event, the raw ones of raws)
 * can be opened on this CPU, and how they can be grouped. -ENODEV: none of them; the
 * reason is in err. */
int hardware_probe(struct hardware *h, uint32_t mask, const struct hardware_raws *raws,
		   struct err *err);
/* The nth of the events that could be opened, its group and its place in that. */
enum hardware_event hardware_event_at(const struct hardware_control *c, uint32_t n,
				      uint32_t *ret_group, uint32_t *ret_member);
/* Opens them on all CPUs that are on, puts them into events_map (a
 * BPF_MAP_TYPE_PERF_EVENT_ARRAY of [event][cpu]), and the leaders into h->leaders.
 * -EMFILE, -ENOSPC, -EACCES and the like, with what to do in err. */
int hardware_open(struct hardware *h, int events_map, uint32_t cpus, struct err *err);
void hardware_close(struct hardware *h); /* accepts what was zeroed */

#endif
