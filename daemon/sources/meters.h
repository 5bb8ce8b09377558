/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_DAEMON_SOURCES_METERS_H
#define CEEMS_DAEMON_SOURCES_METERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/energy.h"
#include "daemon/sources/meter_checkpoint.h"
#include "daemon/sources/sampler.h"

/*
 * Measurements of the energy sources as microjoules per domain, for the attribution:
 * the growth of counters, and power integrated between fresh readings. Of several
 * sources of a domain it takes the best one that answers. Everything else about sources
 * is the sampler's. Not thread safe.
 */

#define METERS_GPUS 64u /* further ones are not divided: meters_cut() */

enum meters_slot {
	METERS_PACKAGE,
	METERS_DRAM,
	METERS_PSYS,
	METERS_HOST,
	METERS_GPU, /* the first of METERS_GPUS */
	METERS_SLOTS = METERS_GPU + METERS_GPUS,
};

/* One domain (or GPU), from its best source */
struct meter {
	/* meters_source_name(); 0: nothing measures it now */
	uint32_t source;
	/* there is a measurement since the last take */
	bool fresh;
	/* counters of an earlier daemon have not been read again yet */
	bool waits;
	bool partial;         /* part of the energy is missing */
	uint64_t energy_uj;   /* since the last take */
	uint64_t measured_ns; /* boot time of the newest measurement */
	uint64_t asked_ns;    /* when its sampling began */
	uint64_t idle_uw;     /* idle power if the source knows it, else ENERGY_LEARN */
};

struct meters;

/* host: the source for the whole node, or "auto" or "none". Sources that are not
 * sampled are simply absent. NULL: no memory. */
struct meters *meters_new(struct sampler *sampler, const char *host);
void meters_free(struct meters *m); /* accepts NULL */

/* Call before the sampler starts, with what an earlier daemon of this boot left. Its
 * counters continue from there; its power is integrated from its last reading if that
 * is recent. What has not been read again after METERS_RESUME_NS begins anew. */
#define METERS_RESUME_NS 45000000000u
void meters_resume(struct meters *m, const struct meter_checkpoint *from,
		   uint64_t now_ns);

/* Saves what the next daemon needs into to's channels and mark, when the energy of
 * these slots has been taken. */
void meters_keep(const struct meters *m, const bool take[METERS_SLOTS],
		 struct meter_checkpoint *to);

/* Number of the source's counters for which the energy of a time without a daemon is
 * unknown. */
uint64_t meters_gaps(const struct meters *m, uint32_t source);
/* The highest GPU measured by a source that has no slot; 0: none. */
uint32_t meters_cut(const struct meters *m);
/* Whether the machine has or had the source. Numbers are below METERS_SOURCES. */
#define METERS_SOURCES 8u
bool meters_has(const struct meters *m, uint32_t source);

/* Takes in the latest samples. Never waits for a sensor. */
void meters_read(struct meters *m, uint64_t now_ns);
/* Borrowed until the next read or take. */
const struct meter *meters_get(const struct meters *m, enum meters_slot slot);
/* Whether there is anything to divide. */
bool meters_any(const struct meters *m);
/* Restarts energy_uj of the slot. */
void meters_take(struct meters *m, enum meters_slot slot);
/* When the running sampling of the slot's source began; 0: none is running. */
uint64_t meters_asking_ns(const struct meters *m, enum meters_slot slot);

/* Stable numbers of sources, part of a file format. 0 and unknown ones: "". */
const char *meters_source_name(uint32_t source);
uint32_t meters_source_number(const char *name); /* 0: no such source */

#endif
