/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_DAEMON_SOURCES_METERS_IMPL_H
#define CEEMS_DAEMON_SOURCES_METERS_IMPL_H

#include "daemon/sources/meters.h"

/* Shared by meters.c (readings) and meters_resume.c (from one daemon to the next). */

#define SOURCES METERS_SOURCES
enum number { NONE, RAPL, CRAY, HWMON, IPMI, REDFISH, MODEL, GPU };

struct track {
	struct source_channel channel; /* as last seen */
	unsigned slot;
	bool seen; /* in this snapshot */
	uint64_t taken_raw,
		taken_ns; /* when the slot was last taken, or tracking began */
};

struct sum {
	uint64_t total_uj, taken_uj; /* since begin, at the last take */
	uint64_t measured_ns;
	uint64_t rest_uw_ns; /* remainder of integrated power, below a microjoule */
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
	uint64_t sampled_ns; /* of the last snapshot that was taken in */
	uint64_t gaps;       /* meters_gaps() */
};

struct meters {
	struct sampler *sampler;
	uint32_t only_host; /* number, 0: by order; SOURCES: none */
	struct feed feeds[SOURCES];
	struct meter meters[METERS_SLOTS];
	uint32_t cut; /* meters_cut() */
	struct meter_checkpoint_channel
		waiting[METER_CHECKPOINT_CHANNELS]; /* of an earlier daemon, unread */
	size_t waiting_count;
	uint64_t resumed_ns;
};

/* An average counts as power of the last moments; sources set its domain only where
 * they have nothing better. */
static inline bool is_power(enum source_kind kind)
{
	return kind == SOURCE_POWER || kind == SOURCE_POWER_AVG;
}

/* The value a later daemon continues from */
static inline uint64_t raw_of(const struct source_channel *c)
{
	return is_power(c->kind) ? c->value : c->raw;
}

/* METERS_SLOTS: not divided */
unsigned meters_slot_in(enum source_kind kind, enum source_domain domain,
			uint32_t index);
/* Readings further apart than this are not integrated over. */
uint64_t meters_gap_ns(const struct meters *m, const struct feed *f);

/* Whether a channel of the slot is still missing */
bool meters_waits(const struct meters *m, uint32_t source, unsigned slot);
/* Matches a channel that is not tracked yet with one of an earlier daemon. True: what
 * it measured meanwhile is known. */
bool meters_take_up(struct meters *m, uint32_t source, struct track *t);
/* Call after each reading, and when a slot is taken */
void meters_give_up(struct meters *m, uint64_t now_ns);
void meters_drop(struct meters *m, unsigned slot);

#endif
