/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_DAEMON_SOURCES_METERS_H
#define CEEMS_DAEMON_SOURCES_METERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/energy.h"
#include "daemon/sources/kept.h"
#include "daemon/sources/sampler.h"

/*
 * What the energy sources measured, as microjoules per domain for the attribution:
 * counters by their growth, watts integrated between two fresh readings, and of several
 * sources of a domain the best one that answers. Everything else about sources is the
 * sampler's. Not thread safe.
 */

#define METERS_GPUS 64u /* those beyond are not divided: meters_cut() */

enum meters_slot {
	METERS_PACKAGE,
	METERS_DRAM,
	METERS_PSYS,
	METERS_HOST,
	METERS_GPU, /* the first of METERS_GPUS */
	METERS_SLOTS = METERS_GPU + METERS_GPUS,
};

/* One domain (or GPU) as its best source has it */
struct meter {
	/* meters_source_name(); 0: nothing measures it (any more) */
	uint32_t source;
	/* a measurement came since the last take */
	bool fresh;
	/* an earlier daemon's counters are known, and have not been read again yet */
	bool waits;
	bool partial;         /* of the energy something is missing */
	uint64_t energy_uj;   /* since the last take */
	uint64_t measured_ns; /* boot time of the newest measurement */
	uint64_t asked_ns;    /* and when its sampling began */
	uint64_t idle_uw;     /* idle power as the source knows it, else ENERGY_LEARN */
};

struct meters;

/* host: the source that the whole node is taken from; "auto" and "none" are what they
 * say. Sources that are not sampled are no error, only absent. NULL: no memory. */
struct meters *meters_new(struct sampler *sampler, const char *host);
void meters_free(struct meters *m); /* accepts NULL */

/* Before the sampler starts: an earlier daemon of this boot left this. Its counters are
 * counted from where they stood, its watts integrated from its last reading if that was
 * not too long ago. What has not been read again METERS_RESUME_NS from now begins anew.
 */
#define METERS_RESUME_NS 45000000000u
void meters_resume(struct meters *m, const struct kept *from, uint64_t now_ns);

/* What a later daemon has to know, when the energy of these slots has been taken: to's
 * channels and mark. */
void meters_keep(const struct meters *m, const bool take[METERS_SLOTS],
		 struct kept *to);

/* Counters of the source of which it is not known what they measured while no daemon
 * ran. */
uint64_t meters_gaps(const struct meters *m, uint32_t source);
/* The highest GPU that a source measures and that has no slot; 0: none. */
uint32_t meters_cut(const struct meters *m);
/* Is the source one of this machine, or was it? Numbers are below METERS_SOURCES. */
#define METERS_SOURCES 7u
bool meters_has(const struct meters *m, uint32_t source);

/* Looks at what was sampled last. Never waits for a sensor. */
void meters_read(struct meters *m, uint64_t now_ns);
/* Borrowed until the next read or take. */
const struct meter *meters_get(const struct meters *m, enum meters_slot slot);
/* Is there anything to divide at all? */
bool meters_any(const struct meters *m);
/* energy_uj of the slot counts from here. */
void meters_take(struct meters *m, enum meters_slot slot);
/* When the sampling began that the slot's source is at now; 0: it is not. */
uint64_t meters_asking_ns(const struct meters *m, enum meters_slot slot);

/* Sources have numbers that stay the same over restarts; part of a file format. 0 and
 * unknown ones: "". */
const char *meters_source_name(uint32_t source);
uint32_t meters_source_number(const char *name); /* 0: no such source */

#endif
