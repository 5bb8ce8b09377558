/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_DAEMON_UNITS_H
#define CEEMS_DAEMON_UNITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/err.h"
#include "lib/record.h"

/*
 * The unit table: /run/ceems/units, a mapping that survives kill -9 of the daemon (not
 *a reboot). What a ring record does is one transaction through a redo log of one entry
 *in the same file, together with the record's ring position: after a crash at any
 * instruction each record has been applied exactly once. Counters read from live
 *cgroups are plain monotone stores. The caller serialises (struct daemon's lock).
 *
 *	unit's value = sum of folded (ended) steps + its steps still in the table
 *	node's value = units folded out of the table + units in the table
 */

#define UNITS_PATH_NAME "units"
#define UNITS_NONE UINT32_MAX

struct unit_totals {
	uint64_t cpu_user_ns, cpu_system_ns;
	uint64_t throttled_periods, throttled_ns;
	uint64_t memory_fail_count, oom_kills;
	uint64_t io_read_bytes, io_write_bytes;
	uint64_t memory_peak_bytes; /* a maximum, not a sum */
};

enum unit_state { UNIT_FREE = 0, UNIT_RUNNING = 1, UNIT_ENDED = 2 };
/* How a unit ended, label "state" of ceems_units_ended_total */
enum unit_end {
	UNIT_END_NONE = 0,
	UNIT_END_COMPLETED, /* every step's exit status 0 */
	UNIT_END_FAILED,    /* some step exited non-zero or by a signal */
	UNIT_END_OOM,
	UNIT_END_LOST, /* cgroup vanished, no stop record came */
	UNIT_END_STATES,
};

struct unit {
	uint32_t state; /* enum unit_state */
	uint32_t manager;
	char id[RECORD_ID_MAX];
	char node[RECORD_NAME_MAX];
	uint32_t restarts;
	uint32_t uid, gid;
	uint32_t array_job, array_task;
	uint32_t cpus;
	uint32_t end;        /* enum unit_end */
	uint32_t flags;      /* enum record_flag, union over steps */
	uint32_t first_step; /* index of its first step in the table, UNITS_NONE */
	uint32_t steps_running, steps_started;
	uint32_t pad;
	uint64_t memory_bytes; /* allocated */
	uint64_t started_realtime_ns, started_boottime_ns;
	uint64_t ended_realtime_ns, ended_boottime_ns;
	char gpus[RECORD_GPUS_MAX];
	char gpu_share[RECORD_GPUS_MAX];
	char name[RECORD_NAME_MAX], account[RECORD_NAME_MAX],
		partition[RECORD_NAME_MAX];
	char sluid[RECORD_NAME_MAX];
	struct unit_totals folded; /* of steps that have left the table */
};

struct step {
	uint32_t state; /* enum unit_state */
	uint32_t unit;  /* index */
	uint32_t next;  /* of the same unit, UNITS_NONE */
	uint32_t step;
	uint32_t stepd_pid, tasks, cpus;
	uint32_t exit_status, flags;
	uint32_t discovered; /* found by walking, no start record */
	uint32_t cgroup_count;
	uint32_t pad;
	struct record_cgroup cgroups[RECORD_CGROUPS_MAX];
	uint64_t started_boottime_ns, ended_boottime_ns;
	uint64_t gone_boottime_ns; /* cgroup first seen gone without a stop record; 0:
				      no */
	struct unit_totals totals; /* last reading, never decreasing; final at stop */
};

/* Counters of the node over all units of a manager that ever were (folded ones). */
struct node_totals {
	struct unit_totals units;
	uint64_t started, ended[UNIT_END_STATES];
	uint64_t steps_started, steps_ended;
	uint64_t short_units; /* folded without having been exported one by one */
	struct unit_totals short_totals;
	uint64_t records, records_bad, stops_late;
};

struct units;

/* Maps dir/units (made when missing, of another version or another boot; the daemon
 * says so), mode 0600. capacity: most units; steps are 4 times as many. */
int units_open(int dirfd, uint32_t capacity, struct units **ret, bool *ret_made_new,
	       struct err *err);
void units_close(struct units *u);

/* Applies one ring record in one transaction. pos is its ring position, UINT64_MAX for
 * a synthetic record. -EEXIST: already applied (position not above the last one).
 * -EPROTO: makes no sense, counted. -ENOSPC: table full; the oldest ended unit is
 * folded first. */
int units_apply(struct units *u, const struct record *r, uint64_t pos,
		uint64_t now_boottime_ns, uint64_t now_realtime_ns, struct err *err);
uint64_t units_ring_pos(const struct units *u); /* last applied, UINT64_MAX: none */
void units_set_ring(struct units *u,
		    uint64_t ring_inode); /* a new ring: positions restart */

/* Folds steps ended longer than linger_ms ago into their unit and units ended longer
 * than that into the node. max_exported bounds the units kept: the oldest ended go
 * first. */
void units_expire(struct units *u, uint64_t now_boottime_ns, uint64_t linger_ms,
		  uint32_t max_exported);

/* Iteration: index of the next used slot at or after i, UNITS_NONE at the end. */
uint32_t units_next(const struct units *u, uint32_t i);
struct unit *units_get(struct units *u, uint32_t i);
uint32_t steps_next(const struct units *u, uint32_t i);
struct step *steps_get(struct units *u, uint32_t i);
uint32_t units_capacity(const struct units *u);
uint32_t steps_capacity(const struct units *u);
/* Changes whenever a slot is taken or freed: caches keyed by index compare it. */
uint64_t units_generation(const struct units *u);
uint64_t unit_serial(const struct units *u,
		     uint32_t i); /* unique per unit ever, for caches */
uint64_t step_serial(const struct units *u, uint32_t i);

uint32_t units_find(const struct units *u, uint32_t manager, const char *node,
		    const char *id, uint32_t restarts);
uint32_t steps_find_path(const struct units *u,
			 const char *path); /* by step cgroup path */

/* folded + steps in the table */
void unit_total(const struct units *u, uint32_t i, struct unit_totals *ret);
/* of one manager: folded units + units in the table; exact sum of what is exported */
void units_node_totals(const struct units *u, uint32_t manager,
		       struct node_totals *ret);

#endif
