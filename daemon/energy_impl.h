/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_DAEMON_ENERGY_IMPL_H
#define CEEMS_DAEMON_ENERGY_IMPL_H

#include "daemon/energy.h"

/* Shared by energy.c (ticks) and energy_host.c (host intervals). */

enum slot { SLOT_IDLE, SLOT_SYSTEM, SLOT_ENDED, SLOT_UNITS };
_Static_assert(SLOT_UNITS == ENERGY_KEYS_RESERVED, "keys of idle, system, ended");

typedef unsigned __int128 u128;

/* What an amount is split by */
enum by {
	BY_NOBODY,
	BY_CPU_TIME,
	BY_ACTIVITY, /* CPU time x activity */
	BY_CPUS,     /* allocated, the rest of the node is idle */
	BY_CPUS_RUNNING,
	BY_MEMORY,
	BY_MEMORY_ALLOCATED, /* the unallocated rest goes to idle */
	BY_GPU,              /* the rest of the device is idle */
	BY_GPU_HELD,
	BY_GPU_USED,
	BY_GPU_DRAWN, /* by part used, or held, at each moment, x energy of its history;
			 that of moments when nobody held it is idle */
	BY_GPU_ABOVE_IDLE, /* the same of what is above its idle power */
};

/* One tick, or one host interval when tick is NULL */
struct split {
	struct energy_node *node;
	const struct energy_config *c;
	const struct energy_tick *tick;
	const struct energy_use *uses;
	struct energy_account *const *accounts;
	size_t n;
	uint32_t gpu;
	const struct energy_history *history; /* of this device; NULL: not covered */
	uint64_t gpu_idle_uw;
	struct energy_work *w;
};

struct rule {
	enum by allocation, usage; /* of idle energy, by policy */
	enum by dynamic;
};

static inline uint64_t add_sat(uint64_t a, uint64_t b)
{
	return a + b < a ? UINT64_MAX : a + b;
}

static inline uint64_t to_u64(u128 v)
{
	return v > UINT64_MAX ? UINT64_MAX : (uint64_t)v;
}

/* The unit's part of the device of this split: of its use, or of what is held */
uint64_t energy_gpu_part_ppm(const struct split *s, const struct energy_use *u,
			     bool used);
/* Weights of BY_GPU_DRAWN and, with its power, of BY_GPU_ABOVE_IDLE, which are 0 before
 * (energy_split.c) */
void energy_weigh_drawn(const struct split *s, uint64_t idle_uw);

/* Everybody who can be charged: SLOT_*, then the units */
struct energy_account *energy_party(const struct split *s, size_t i);
/* Leaves everybody's share of uj in w->shares. */
void energy_divide(const struct split *s, enum by by, uint64_t uj);
/* What idle energy is split by under the policy */
enum by energy_idle_by(const struct split *s, const struct rule *rule);
struct rule energy_other_rule(const struct split *s, const struct energy_interval *i);
/* A source appears, goes or changes, and what was learned about the old one is lost. A
 * source that only pauses keeps it. */
void energy_set_source(struct energy_node *node, enum energy_domain d, uint32_t source);

#endif
