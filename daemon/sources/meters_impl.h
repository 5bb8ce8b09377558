/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_DAEMON_SOURCES_METERS_IMPL_H
#define CEEMS_DAEMON_SOURCES_METERS_IMPL_H

#include "daemon/sources/meters.h"

/* What meters.c (readings) and meters_resume.c (from one daemon to the next) share. */

#define SOURCES METERS_SOURCES
enum number { NONE, RAPL, CRAY, HWMON, IPMI, REDFISH, MODEL };

struct track {
	struct source_channel channel; /* as last seen */
	unsigned slot;
	bool seen;                    /* in this snapshot */
	uint64_t taken_raw, taken_ns; /* when the slot was taken last, or it began */
};

struct sum {
	uint64_t total_uj, taken_uj; /* since begin, at the last take */
	uint64_t measured_ns;
	uint64_t rest_uw_ns; /* of watts, less than a microjoule */
	/* since the last take: something was measured; something was not */
	bool gained, partial;
};

struct feed {
	const struct source *source; /* NULL: not sampled */
	struct source_snapshot snapshot;
	struct track *tracks;
	size_t count, cap;
	struct sum sums[METERS_SLOTS];
	uint64_t gap_ns;
	uint64_t sampled_ns; /* of the snapshot that was taken in last */
	uint64_t gaps;       /* meters_gaps() */
};

struct meters {
	struct sampler *sampler;
	uint32_t only_host; /* number, 0: by order; SOURCES: none */
	struct feed feeds[SOURCES];
	struct meter meters[METERS_SLOTS];
	uint32_t cut;                               /* meters_cut() */
	struct kept_channel waiting[KEPT_CHANNELS]; /* of an earlier daemon, unread */
	size_t waiting_count;
	uint64_t resumed_ns;
};

/* An average is one of the sensor's own last moments; a source gives it a domain where
 * it has nothing better. */
static inline bool is_power(enum source_kind kind)
{
	return kind == SOURCE_POWER || kind == SOURCE_POWER_AVG;
}

/* What a later daemon goes on from */
static inline uint64_t raw_of(const struct source_channel *c)
{
	return is_power(c->kind) ? c->value : c->raw;
}

/* METERS_SLOTS: counts for nothing */
unsigned meters_slot_in(enum source_kind kind, enum source_domain domain,
			uint32_t index);
/* Readings that are further apart are of different intervals. */
uint64_t meters_gap_ns(const struct meters *m, const struct feed *f);

/* Is a channel of the slot waited for? */
bool meters_waits(const struct meters *m, uint32_t source, unsigned slot);
/* The channel that nobody followed yet may be one that an earlier daemon followed.
 * True: what it measured meanwhile is known. */
bool meters_take_up(struct meters *m, uint32_t source, struct track *t);
/* After each reading, and when a slot is taken */
void meters_give_up(struct meters *m, uint64_t now_ns);
void meters_drop(struct meters *m, unsigned slot);

#endif
