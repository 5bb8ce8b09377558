/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_DAEMON_ENERGY_H
#define CEEMS_DAEMON_ENERGY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/err.h"

/*
 * Attribution: splits what a node's sensors measured between the units of that time.
 * Arithmetic only: no files, clocks, globals, or allocation (except energy_work). The
 * caller serialises.
 *
 * Every domain has one invariant, true between any two calls, to the microjoule:
 *
 *	node->measured_uj[d] = sum over units of account.settled_uj[d]
 *		+ node->ended.settled_uj[d] + node->idle.settled_uj[d]
 *		+ node->system.settled_uj[d]
 *
 * package, dram, psys and gpu are closed at each tick. host and other are closed when a
 * fresh reading of the host sensor ends a host interval, often many ticks later: other
 * = host - (package + dram + gpu if the sensor includes them). If that is negative,
 * other is 0 and the difference a deficit that the next intervals pay back:
 *
 *	parts in closed host intervals + measured_uj[OTHER]
 *		= measured_uj[HOST] + deficit_uj + forgiven_uj
 *	all parts = those + given_up_uj + those of open intervals
 *
 * A unit's host energy is its share of the host reading by (its parts + its other), so
 * it differs from that sum only while there is a deficit.
 *
 * Each closed amount E is idle + dynamic. Idle = idle power x time (never above E) is
 * charged by policy; dynamic is split by weights (see enum energy_domain). Energy that
 * cannot be charged to anybody goes to `idle`, that of processes outside of units to
 * `system`. Results do not depend on the order of units: ties go to the lower key.
 */

enum energy_domain {
	ENERGY_PACKAGE, /* dynamic by CPU time x activity, idle by CPUs */
	ENERGY_DRAM,    /* by resident memory in ticks in which it ran; by memory */
	ENERGY_PSYS,    /* the platform sensor, contains package: as package */
	ENERGY_GPU,     /* each device by the share held of it, over its history */
	ENERGY_HOST,    /* the whole node, see above */
	ENERGY_OTHER,   /* enum energy_other; idle by CPUs */
	ENERGY_DOMAINS,
};

/* "package", "dram", ...: the label and the name in --energy.idle-watts */
const char *energy_domain_name(enum energy_domain d);

/* Who is charged for power that would flow without any load */
enum energy_idle {
	ENERGY_IDLE_ALLOCATION, /* units, by their share of the node's allocation; the
				   rest to idle */
	ENERGY_IDLE_USAGE,      /* by CPU time, dram by resident memory, a GPU by
				   share held */
	ENERGY_IDLE_NONE,       /* nobody: all of it is idle */
};

/* What the dynamic part of other is split by */
enum energy_other {
	ENERGY_OTHER_AUTO, /* allocation; CPU time x activity where idle is not charged
			      by allocation, and without a package sensor */
	ENERGY_OTHER_ALLOCATION, /* allocated CPUs x time, of those that ran at all */
	ENERGY_OTHER_CPU,
};

#define ENERGY_LEARN UINT64_MAX /* as idle power: the learned one, 0 until then */
#define ENERGY_ONE_PPM 1000000u /* a factor or share of 1 */

struct energy_config {
	enum energy_idle idle;
	enum energy_other other;
	bool host_includes_gpu;
	uint64_t idle_uw[ENERGY_DOMAINS]; /* microwatts or ENERGY_LEARN. HOST: unused;
					     GPU: of each device */
};
/* allocation, auto, no GPU in host, all idle powers learned */
void energy_config_defaults(struct energy_config *ret);

/* ---- state: fixed width, no pointers, may live in a mapping. All zero = new ------ */

/* A participant's part of a host interval that is not closed yet */
struct energy_open {
	uint64_t alloc_us;  /* allocated CPUs x microseconds lived */
	uint64_t used_ns;   /* CPU time; saturates after 584 CPU-years */
	uint64_t active_ns; /* CPU time x activity, saturates too */
	uint64_t parts_uj;  /* settled from package, dram (and gpu) meanwhile */
	uint64_t idle_uj;   /* the idle power in parts_uj */
	uint64_t other_uj;  /* provisional share of other */
};

/* key: unique per unit as long as its energy is open, from ENERGY_KEYS_RESERVED on. The
 * use of a folded unit has node->ended. */
#define ENERGY_KEYS_RESERVED 3u
struct energy_account {
	uint64_t key;
	uint64_t settled_uj[ENERGY_DOMAINS]; /* final, never falls */
	uint64_t idle_uj[ENERGY_DOMAINS];    /* the idle power in settled_uj */
	struct energy_open open;             /* since the last mark */
	struct energy_open waiting;          /* marked, not answered yet */
	/* Over all closed host intervals: settled_uj[d] = told + correction, exactly */
	uint64_t told_other_uj, told_host_uj; /* provisional when the interval closed */
	int64_t correction_other_uj, correction_host_uj;
};

_Static_assert(sizeof(struct energy_account) == 232, "part of a file format");

#define ENERGY_LEARN_WINDOWS 16u
struct energy_learner {
	uint64_t window_ns, window_uj; /* quiet time collected for the next window */
	uint64_t power_uw[ENERGY_LEARN_WINDOWS]; /* the last windows */
	uint64_t windows;                        /* ever */
};

struct energy_interval {
	uint64_t elapsed_ns, capacity_us, quiet_ns;
	uint64_t parts_uj;
	uint64_t package_ticks; /* ticks in which the package was measured */
};

struct energy_node {
	uint64_t measured_uj[ENERGY_DOMAINS];
	struct energy_account idle, system;
	struct energy_account ended; /* folded units */
	struct energy_interval open, waiting;
	uint64_t marked;      /* a reading of the host sensor is pending */
	uint64_t host_uw;     /* other's power in the last closed host interval, for */
	uint64_t host_known;  /* provisional shares */
	uint64_t deficit_uj;  /* other's energy still to be paid back */
	uint64_t forgiven_uj; /* deficits of sources that are gone */
	uint64_t given_up_uj; /* parts in host intervals that were never closed */
	uint64_t last_ns;     /* end of the last tick */
	uint32_t source[ENERGY_DOMAINS]; /* the caller's tag, ENERGY_NO_SOURCE */
	uint64_t changes;                /* number of source changes */
	struct energy_learner learner[ENERGY_DOMAINS];
};
_Static_assert(sizeof(struct energy_node) == 1824, "part of a file format");
#define ENERGY_NO_SOURCE 0u

void energy_node_init(struct energy_node *node);
void energy_account_init(struct energy_account *a, uint64_t key);

/* ---- one tick -------------------------------------------------------------------- */

struct energy_meter {
	uint32_t
		source; /* ENERGY_NO_SOURCE: absent, stale or unreadable in this tick */
	uint64_t energy_uj; /* measured (or modelled) in [t0, t1), wrap-corrected */
};

/* Readings of a device's counter. The meter's energy is what the counter grew from
 * from_ns to to_ns, which lie behind the tick's ends by as much as the device is slow.
 * Where the readings cover that, a unit is charged what the device took while it held
 * it; else by the part of the tick. */
struct energy_point {
	uint64_t at_ns, uj;
};
struct energy_history {
	const struct energy_point *points; /* borrowed, in order of time */
	size_t count;
	uint64_t from_ns, to_ns;
};

struct energy_gpu_share {
	uint32_t gpu;       /* index into energy_tick.gpus */
	uint32_t share_ppm; /* of the device: 1 / shares, or SM slices of a MIG one */
	/* How much of it was used, on a scale of all who share the device: it divides
	 * what the device took beyond idle. 0 of all of them: share_ppm does. */
	uint32_t use_ppm;
};

struct energy_use {
	struct energy_account *account;
	uint64_t started_ns, ended_ns; /* ended 0: still running. Its own timestamps on
					  the tick's clock; the tick clips them */
	uint64_t cpu_ns; /* used since the last tick; for a unit that stopped: up to its
			    final counters, even if it ended before t0 */
	uint32_t activity_ppm;  /* of its CPU time; ENERGY_ONE_PPM: unknown */
	uint32_t alloc_mcpu;    /* allocated thousandths of a CPU */
	uint64_t alloc_kib;     /* allocated memory; 0: proportional to its CPUs */
	uint64_t memory_kib_ms; /* resident without page cache, x time */
	const struct energy_gpu_share *gpus;
	size_t gpu_count;
};

struct energy_tick {
	uint64_t t0_ns, t1_ns;
	struct energy_meter package, dram, psys; /* sums over packages */
	const struct energy_meter *gpus;         /* one per device */
	const struct energy_history *histories;  /* one per device; NULL: none */
	const uint64_t *gpu_idle_uw;             /* learned, one per device; NULL: 0 */
	size_t gpu_count;
	bool host_fresh; /* the host sensor is answering: give provisional shares */
	bool partial;    /* part of the use is not measured, so nothing is learned about
			    idle power */
	uint64_t node_mcpu, node_memory_kib;
	/* outside of units */
	uint64_t system_cpu_ns, system_memory_kib_ms;
};

/* Scratch space of one caller. {0} is valid. */
struct energy_work {
	size_t capacity;
	struct energy_slot *slots;
	uint64_t *shares, *others, *idles;
	uint32_t *order;
};
int energy_work_reserve(struct energy_work *w, size_t units);
void energy_work_done(struct energy_work *w);

/* Closes [t0, t1) for package, dram, psys and gpu. Ticks must not overlap; a gap is
 * unmeasured time. A change of source is a fresh start: no jump, and its learned idle
 * power is forgotten. -EINVAL: an interval that runs backwards or overlaps, a GPU index
 * or key out of range, no capacity; -ENOMEM; nothing has changed then. To survive kill
 * -9 without half a tick, work on a copy and swap. */
int energy_tick(struct energy_node *node, const struct energy_config *c,
		const struct energy_tick *t, const struct energy_use *uses, size_t n,
		struct energy_work *w, struct err *err);

/* The first reading of a host sensor, or the first after a gap: a host interval begins
 * at the end of the last tick. ENERGY_NO_SOURCE: the sensor is stale or gone, and
 * integration ends. The open interval will never be measured, so its provisional shares
 * are taken back (as corrections). accounts, here and below: all units whose
 * energy_account_open() is true, running or ended, each once. */
void energy_host_restart(struct energy_node *node, uint32_t source,
			 struct energy_account *const *accounts, size_t n);
/* The host sensor samples now, at the end of the last tick; its answer may come ticks
 * later. A second mark before the answer joins the first. */
void energy_host_mark(struct energy_node *node, struct energy_account *const *accounts,
		      size_t n);
/* Withdraws a mark whose answer will not come: the intervals before and after it become
 * one again. */
void energy_host_unmark(struct energy_node *node,
			struct energy_account *const *accounts, size_t n);
/* A fresh reading: the node used energy_uj from the last close (or restart) to the
 * mark, or to the last tick if there is no mark. -ESTALE: not the source of the last
 * restart; -ENOMEM; nothing has changed then. */
int energy_host_close(struct energy_node *node, const struct energy_config *c,
		      uint64_t energy_uj, uint32_t source,
		      struct energy_account *const *accounts, size_t n,
		      struct energy_work *w);

/* Whether it has a share of an open host interval: keep the account until that is
 * closed. */
bool energy_account_open(const struct energy_account *a);
/* Settled + provisional: the best value now. *ret_provisional_uj: the part that closing
 * the host interval may change; it is marked wherever it is shown. */
uint64_t energy_account_now(const struct energy_account *a, enum energy_domain d,
			    uint64_t *ret_provisional_uj);
/* The unit leaves the table; its open shares are settled in node->ended. */
void energy_fold(struct energy_node *node, const struct energy_account *a);

/* Adds quiet time and the energy it took to a window. */
void energy_learn(struct energy_learner *l, uint64_t uj, uint64_t ns);
/* False: not known yet */
bool energy_learned(const struct energy_learner *l, uint64_t *ret_uw);

/* The idle power in use, microwatts. *ret_known false: neither configured nor learned
 * yet. Learning: quiet ticks (or host intervals), with less than 2 % of the node's CPU
 * time used, are joined to windows of at least 10 s; the result is the fourth lowest of
 * the last 16 windows, or the lowest of fewer than four. */
uint64_t energy_idle_uw(const struct energy_node *node, const struct energy_config *c,
			enum energy_domain d, bool *ret_known);

/* ---- daemon/energy_split.c ------------------------------------------------------- */

struct energy_slot {
	unsigned __int128 weight, remainder;
	uint64_t key;
};
/* Splits total by weight into shares[n] with exactly that sum: largest remainder, ties
 * to the lower key. False: all weights are 0, and so are the shares. order: scratch of
 * n. The sum of weights must be below 2^128; above 2^63 they lose their last bits. */
bool energy_split(uint64_t total, struct energy_slot *slots, size_t n, uint64_t *shares,
		  uint32_t *order);
/* microwatts x ns in microjoules, rounded down, at most UINT64_MAX */
uint64_t energy_of_power(uint64_t uw, uint64_t ns);
uint64_t energy_power_of(uint64_t uj, uint64_t ns); /* ns > 0 */

/* Whether the readings cover from_ns to to_ns, and never fall. */
bool energy_history_covers(const struct energy_history *h);
/* What the device took between two times that are covered: a straight line between
 * readings. */
uint64_t energy_history_uj(const struct energy_history *h, uint64_t from_ns,
			   uint64_t to_ns);

#endif
