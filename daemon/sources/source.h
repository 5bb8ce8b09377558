/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_DAEMON_SOURCES_SOURCE_H
#define CEEMS_DAEMON_SOURCES_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/env.h"
#include "daemon/sources/kept.h"
#include "lib/err.h"
#include "lib/prom.h"

/*
 * A source of energy readings (rapl, hwmon, ...). daemon/sources/sampler.h calls it
 * from a thread of its own at its own pace, never from within a scrape, and keeps what
 * it gave last. The collector of the same name exports that; the attribution takes from
 * it what has a domain.
 */

/* What a channel's value counts for when a node's energy is divided. All channels of a
 * source that have the same domain add up: nothing is in it twice, what has both an
 * energy counter and watts has the domain on its counter only. NONE: shown, not
 * divided, since it is contained in another or nobody knows what it measures. */
enum source_domain {
	SOURCE_DOMAIN_NONE,
	SOURCE_DOMAIN_PACKAGE,
	SOURCE_DOMAIN_DRAM,
	SOURCE_DOMAIN_PSYS,
	SOURCE_DOMAIN_GPU,
	SOURCE_DOMAIN_HOST,
	SOURCE_DOMAINS
};

enum source_kind {
	SOURCE_ENERGY,    /* cumulative microjoules, see value */
	SOURCE_POWER,     /* microwatts at measured_ns */
	SOURCE_POWER_MIN, /* microwatts, shown only, as are the rest */
	SOURCE_POWER_MAX,
	SOURCE_POWER_AVG,
	SOURCE_POWER_LIMIT,
	SOURCE_POWER_IDLE,  /* what its domain draws when nothing runs, from a source
			       that  knows it */
	SOURCE_TEMPERATURE, /* millidegrees Celsius */
	SOURCE_KINDS
};

struct source_channel {
	enum source_kind kind;
	enum source_domain domain;
	uint32_t index;     /* package, socket or accelerator */
	char name[40];      /* rapl: zone; hwmon: sensor; cray_pm_counters: domain;
			       model: host or vm */
	char chip[160];     /* rapl: path of the zone; hwmon: chip; model: where its
			       coefficients come from; else "" */
	char chip_name[64]; /* hwmon: name of the driver; else "" */
	/* Energy: microjoules since the source was opened. It never falls, has no wraps
	 * in it, and what was missed (suspend, driver reload) is missing, not guessed.
	 */
	uint64_t value;
	uint64_t raw; /* as the hardware said it, in the unit of value */
	/* Energy whose raw goes on when a daemon follows another: more than what it
	 * measures can ever draw, one turn of raw (0: none), and what is another number
	 * when the hardware has set it back. worst_uw 0: raw begins with the source. */
	uint64_t worst_uw, range_uj, epoch;
	/* Boot time of the measurement by the hardware's own clock where it has one,
	 * else of the reading. Unchanged: nothing new came, do not integrate. */
	uint64_t measured_ns;
};

#define SOURCE_CHANNELS_MAX 1024u

/* What a source gave at one sampling. */
struct source_snapshot {
	struct source_channel *channels; /* owned */
	size_t count, cap;
	uint64_t sampled_ns; /* boot time of the sampling */
	uint64_t news_ms;    /* how far apart new readings come, where that is more than
			      * between samplings; 0: it is not */
	uint64_t resets;     /* times that a counter was set back, leapt or may have
				turned unseen, since open */
	int filtering;       /* rapl: 1 the hardware blurs its counters, 0 it does not,
				-1 nobody knows */
	/* A part that could not be read while the rest could: said, not fatal. */
	struct err partial;
	struct kept_mark mark; /* for resume() of a later daemon */
};

struct source {
	const char *name;
	/* Called before privileges are dropped, and again each minute while it fails:
	 * then without them. -ENODEV: not on this machine. */
	int (*open)(const struct env *env, void **ret_state, struct err *err);
	/* Fills an empty snapshot. -EINPROGRESS: nothing has come yet, and whoever
	 * waits for it says why. Any other failure leaves the last one in force,
	 * ageing. Calls of one state are serialised, and are made by a thread that may
	 * not take the daemon's lock. May block: nothing else waits for it. */
	int (*sample)(void *state, struct source_snapshot *out, struct err *err);
	/* Most milliseconds between two samplings that lose nothing; NULL: any. Asked
	 * after each sampling. */
	uint64_t (*gap_ms)(const void *state);
	/* Fewest milliseconds between two samplings, for a sensor that is slow or dear
	 * to ask, or does not answer; NULL: as often as configured. Asked after each
	 * sampling, also one that failed. */
	uint64_t (*pace_ms)(const void *state);
	/* Goes on from where an earlier daemon of this boot stood: called once, after
	 * open and before the first sampling. NULL: reads what the hardware keeps. */
	void (*resume)(void *state, const struct kept_mark *mark);
	void (*close)(void *state); /* accepts NULL */
};

extern const struct source source_rapl, source_hwmon, source_cray_pm_counters,
	source_ipmi_dcmi, source_redfish;
/* Estimates, measures nothing: has channels only where no other source measures what it
 * would say. */
extern const struct source source_model;

void source_snapshot_done(struct source_snapshot *s);  /* may be used again after it */
void source_snapshot_reset(struct source_snapshot *s); /* empties, keeps the memory */
/* A new channel, zeroed; NULL: no memory or too many. */
struct source_channel *source_snapshot_add(struct source_snapshot *s);
int source_snapshot_copy(struct source_snapshot *to,
			 const struct source_snapshot *from);

/* The newest measurement of energy or power, 0 when there is none. */
uint64_t source_newest_ns(const struct source_snapshot *s);

/* Is the channel's measurement so old that its watts say nothing any more? */
bool source_is_stale(const struct source_channel *c, uint64_t now_ns);

/* ceems_energy_source_age_seconds and ceems_energy_source_resets_total */
void source_put_health(struct prom *out, const char *source,
		       const struct source_snapshot *s, uint64_t now_ns);

#endif
