/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_DAEMON_SOURCES_SOURCE_H
#define CEEMS_DAEMON_SOURCES_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/env.h"
#include "daemon/sources/meter_checkpoint.h"
#include "lib/err.h"
#include "lib/prom.h"

/*
 * A source of energy readings (rapl, hwmon, ...). daemon/sources/sampler.h calls it on
 * its own thread at its own pace, never during a scrape, and keeps the last sample. The
 * collector of the same name exports that; the attribution uses the channels that have
 * a domain.
 */

/* The domain in which a channel counts when a node's energy is divided. Channels of a
 * source with the same domain add up, so nothing is in it twice: a sensor with both an
 * energy counter and power has the domain on its counter only. NONE: exported but not
 * divided, since it is contained in another channel or its meaning is unknown. */
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
	SOURCE_POWER_MIN, /* microwatts; this and the rest are only exported */
	SOURCE_POWER_MAX,
	SOURCE_POWER_AVG,
	SOURCE_POWER_LIMIT,
	SOURCE_POWER_IDLE,  /* what its domain draws when idle, from a source that knows
			       it */
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
	/* Energy: microjoules since the source was opened. Never decreases and has no
	 * wraps; energy that was missed (suspend, driver reload) is missing, not
	 * guessed. */
	uint64_t value;
	uint64_t raw; /* the hardware's value, in the unit of value */
	/* For energy whose raw continues across daemons: more than the component can
	 * ever draw, the range of raw (0: no wraps), and a number that changes when the
	 * hardware has reset it. worst_uw 0: raw begins with the source. */
	uint64_t worst_uw, range_uj, epoch;
	/* Boot time of the measurement, by the hardware's own clock if it has one, else
	 * of the reading. Unchanged: nothing new, do not integrate. */
	uint64_t measured_ns;
};

#define SOURCE_CHANNELS_MAX 1024u

/* The result of one sampling. */
struct source_snapshot {
	struct source_channel *channels; /* owned */
	size_t count, cap;
	uint64_t sampled_ns; /* boot time of the sampling */
	uint64_t news_ms; /* time between new readings, if that is longer than between
			     samplings; else 0 */
	uint64_t resets;  /* how often, since open, a counter was reset, jumped or may
			     have wrapped unseen */
	int filtering; /* rapl: 1: the hardware adds noise to its counters; 0: it does
			  not; -1: unknown */
	/* A part that could not be read, which is not fatal. */
	struct err partial;
	struct meter_checkpoint_mark mark; /* for resume() of a later daemon */
};

struct source {
	const char *name;
	/* Called before privileges are dropped; on failure it is retried each minute,
	 * without them. -ENODEV: not on this machine. */
	int (*open)(const struct env *env, void **ret_state, struct err *err);
	/* Fills an empty snapshot. -EINPROGRESS: nothing yet, and the reason is logged
	 * elsewhere. After any other failure the last snapshot stays in use and ages.
	 * Calls with one state are serialised, on a thread that must not take the
	 * daemon's lock. May block: nothing else waits for it. */
	int (*sample)(void *state, struct source_snapshot *out, struct err *err);
	/* The longest time in ms between two samplings that loses nothing; NULL: any.
	 * Called after each sampling. */
	uint64_t (*gap_ms)(const void *state);
	/* The shortest time in ms between two samplings, for a sensor that is slow,
	 * expensive or not answering; NULL: as configured. Called after each sampling,
	 * even if it failed. */
	uint64_t (*pace_ms)(const void *state);
	/* Continues from an earlier daemon of this boot: called once, after open and
	 * before the first sampling. NULL: it reads counters of the hardware. */
	void (*resume)(void *state, const struct meter_checkpoint_mark *mark);
	void (*close)(void *state); /* accepts NULL */
};

extern const struct source source_rapl, source_hwmon, source_cray_pm_counters,
	source_ipmi_dcmi, source_redfish, source_gpu;
/* Estimates instead of measuring: has channels only for what no other source
 * measures. */
extern const struct source source_model;

void source_snapshot_done(struct source_snapshot *s);  /* may be used again after it */
void source_snapshot_reset(struct source_snapshot *s); /* empties, keeps the memory */
/* A new channel, zeroed; NULL: no memory or too many. */
struct source_channel *source_snapshot_add(struct source_snapshot *s);
int source_snapshot_copy(struct source_snapshot *to,
			 const struct source_snapshot *from);

/* The newest measurement of energy or power, 0 when there is none. */
uint64_t source_newest_ns(const struct source_snapshot *s);

/* Whether the measurement is too old for its power to be meaningful */
bool source_is_stale(const struct source_channel *c, uint64_t now_ns);

/* ceems_energy_source_age_seconds and ceems_energy_source_resets_total */
void source_put_health(struct prom *out, const char *source,
		       const struct source_snapshot *s, uint64_t now_ns);

#endif
