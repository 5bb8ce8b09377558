/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_DAEMON_UNITS_H
#define CEEMS_DAEMON_UNITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/err.h"
#include "lib/records/record.h"

/*
 * The unit table: /run/ceems/units, a mapping that survives kill -9 of the daemon (not
 * a reboot). Applying a ring record is one transaction, through a redo log of one entry
 * in the same file, together with the record's ring position: after a crash at any
 * instruction each record has been applied exactly once. Counters read from running
 * cgroups are plain, monotonic stores. The caller serialises (struct daemon's lock).
 *
 *	unit's value = sum of folded (ended) steps + its steps still in the table,
 *	               less those that are parts of others (containers of a pod)
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

enum unit_state {
	UNIT_FREE = 0,
	UNIT_RUNNING = 1,
	UNIT_ENDED = 2,
	UNIT_PART = 3, /* of a step: a part that runs. It has no counters here: whoever
			  exports it reads its group */
};
/* How a unit ended; label "state" of ceems_units_ended_total */
enum unit_end {
	UNIT_END_NONE = 0,
	UNIT_END_COMPLETED, /* every step's exit status 0 */
	UNIT_END_FAILED,    /* some step exited non-zero or by a signal */
	UNIT_END_OOM,
	UNIT_END_LOST, /* cgroup vanished, no stop record came */
	UNIT_END_STATES,
};

/* What the table records about a unit, besides what records say */
enum unit_mark {
	UNIT_ANCHORED = 1 << 0,   /* UNIT_START came, no UNIT_STOP or extern stop yet */
	UNIT_DEFINITE = 1 << 1,   /* had an extern step or UNIT_START: its end is final,
				     not just a moment without running steps */
	UNIT_COUNTED = 1 << 2,    /* its end is in node_totals.ended */
	UNIT_FAILED = 1 << 3,     /* some step's exit status was not 0 */
	UNIT_DISCOVERED = 1 << 4, /* known from its cgroup only: id and restarts are
				     guesses until a record comes */
	UNIT_FOUND = 1 << 5,      /* ran before the table existed: units_found.h */
	UNIT_UNREAD = 1 << 6,     /* what it had used by then is not known yet */
	UNIT_SLUID = 1 << 7,      /* sluid is its control group's name, not a hint */
};

struct unit {
	uint32_t state; /* enum unit_state */
	uint32_t manager;
	char id[RECORD_ID_MAX];
	char node[RECORD_NAME_MAX];
	uint32_t restarts; /* as recorded, or one more than the previous run's */
	uint32_t uid, gid;
	uint32_t array_job, array_task;
	uint32_t cpus;
	uint32_t end;        /* enum unit_end */
	uint32_t flags;      /* enum record_flag, union over steps */
	uint32_t first_step; /* index of its first step in the table, UNITS_NONE */
	uint32_t steps_running, steps_started;
	uint32_t steps_lost;   /* ended without a stop record so far */
	uint32_t marks;        /* enum unit_mark */
	uint32_t het_job;      /* a hint; RECORD_NO_VAL: none */
	uint64_t memory_bytes; /* allocated */
	uint64_t started_realtime_ns, started_boottime_ns;
	uint64_t ended_realtime_ns, ended_boottime_ns;
	uint64_t left_boottime_ns; /* when the table learnt of the end: linger counts
				      from here, so that a daemon that was down still
				      exports what it missed */
	char gpus[RECORD_GPUS_MAX];
	char gpu_share[RECORD_GPUS_MAX];
	char name[RECORD_NAME_MAX], account[RECORD_NAME_MAX],
		partition[RECORD_NAME_MAX];
	char sluid[RECORD_NAME_MAX];
	struct unit_totals folded; /* of steps that have left the table */
};

/* Of a step's flags, beside enum record_flag: its control group is empty, and was read
 * when it became so. */
#define STEP_POLLED (1u << 31)

/* A step whose cgroup vanished, and one for which a record came after all */
enum step_lost { STEP_NOT_LOST = 0, STEP_LOST, STEP_REVIVED };

struct step {
	uint32_t state; /* enum unit_state */
	uint32_t unit;  /* index */
	uint32_t next;  /* of the same unit, UNITS_NONE */
	uint32_t step;
	uint32_t stepd_pid, tasks, cpus;
	uint32_t exit_status, flags;
	uint32_t discovered; /* found by a walk, or by its stop in a table that was
				created anew: no start record */
	uint32_t cgroup_count;
	uint32_t lost; /* enum step_lost */
	struct record_cgroup cgroups[RECORD_CGROUPS_MAX];
	uint64_t started_boottime_ns, ended_boottime_ns;
	uint64_t left_boottime_ns;   /* when the table learnt of the end */
	uint64_t gone_boottime_ns;   /* cgroup first seen gone without a stop record; 0:
					no */
	uint64_t unread_boottime_ns; /* since when its CPU time could not be read; 0: it
					could */
	struct unit_totals totals;   /* last reading, never decreasing; final at stop */
};

/* The rate at which it asked to be sampled, 0: it did not; in the upper bits of flags,
 * which records leave free */
#define STEP_PROFILE_SHIFT 20
static inline uint32_t step_profile_hz(const struct step *s)
{
	return s->flags >> STEP_PROFILE_SHIFT;
}

/* Its counters are in those of another step of its unit, too: they do not add up. Such
 * a step has them from its end on, and energy is not divided among them. Of a unit one
 * with the same command runs at a time. */
static inline bool step_is_part(const struct step *s)
{
	return s->flags & RECORD_PART;
}

/* A step's name, as two hints: the program that it runs, and SLURM_JOB_NAME if that
 * differs. The name is the latter if the job's differs too (srun -J), else the former;
 * this node need not know the job's. */
struct step_name {
	char command[RECORD_NAME_MAX];
	char label[RECORD_NAME_MAX];
};

/* Node counters over all units of a manager that ever existed (the folded ones). */
struct node_totals {
	struct unit_totals units;
	uint64_t started, ended[UNIT_END_STATES];
	uint64_t steps_started, steps_ended;
	uint64_t short_units; /* folded early: see struct units_policy */
	struct unit_totals short_totals;
	uint64_t records, records_bad;
	uint64_t stops_late; /* stop records whose step was not in the table */
	uint64_t refused; /* records without room; a stop's counters are in its unit, or
			     in `units` if there is no room for that either */
};

/* When units leave the table. Set at start and at reload. */
struct units_policy {
	uint64_t linger_ms;     /* an ended unit or step stays at least this long */
	uint64_t min_export_ms; /* units shorter than this are never exported
				   individually */
	uint32_t max_exported;  /* beyond it, units that ended first go early */
};

/* A stop record may be followed by a second, last one (RECORD_LAST). An ended step
 * without it is kept this long to merge it; if forced out earlier, it leaves a
 * tombstone for that. */
#define UNITS_LATE_MS 60000u
/* A unit without an extern step has ended when no step has run for this long. */
#define UNITS_GRACE_MS 10000u

/* A unit's CPUs in thousandths: a pod may have requested 250 of them. */
static inline uint64_t unit_mcpus(const struct unit *u)
{
	return u->flags & RECORD_MILLICPUS ? u->cpus : u->cpus * 1000ull;
}

/* Whole CPUs, rounded up. */
static inline uint32_t unit_cpus(const struct unit *u)
{
	return (uint32_t)((unit_mcpus(u) + 999) / 1000);
}

struct units;

/* Maps dir/units, mode 0600. It is created if it is missing, damaged, or of another
 * version or boot; err's text then says why the old one was not kept ("" if there was
 * none). capacity: units, with 4 times as many steps; an existing table keeps its own.
 * -EBUSY: another process has it. Disk space is allocated as slots are used, so that a
 * full tmpfs is -ENOSPC and not SIGBUS. */
int units_open(int dirfd, uint32_t capacity, struct units **ret, bool *ret_made_new,
	       struct err *err);
void units_close(struct units *u);
/* Gives the file to the user that the daemon is about to become. */
int units_chown(struct units *u, uid_t uid, gid_t gid, struct err *err);

/* Applies one ring record in one transaction. pos is its ring position, UINT64_MAX for
 * a synthetic record. -EEXIST: already applied (position not above the last one).
 * -EPROTO: malformed, counted. -ENOSPC: the table is full or cannot grow, although the
 * units that ended first have been folded. The counters of a stop count even then. */
int units_apply(struct units *u, const struct record *r, uint64_t pos,
		uint64_t now_boottime_ns, uint64_t now_realtime_ns, struct err *err);
uint64_t units_ring_pos(const struct units *u); /* last applied, UINT64_MAX: none */
void units_set_ring(struct units *u,
		    uint64_t ring_id); /* a new ring: positions restart */

/* Folds what ended long enough ago: steps into their unit, units into the node. Cheap;
 * once a second is often enough. */
void units_expire(struct units *u, uint64_t now_boottime_ns,
		  const struct units_policy *policy);
/* Whether this unit is exported individually: it has lived for
 * policy->min_export_ms. */
bool units_exported(const struct units *u, uint32_t i, uint64_t now_boottime_ns,
		    const struct units_policy *policy);

/* Stores a reading of a running step's cgroup, merged so that nothing ever decreases
 * and user + system stays the exact CPU time. */
void units_step_reading(struct units *u, uint32_t step,
			const struct unit_totals *reading);
/* The step's cgroup is gone and no stop record came: it ends with the last reading. */
void units_step_lost(struct units *u, uint32_t step, uint64_t now_boottime_ns,
		     uint64_t now_realtime_ns);
/* Records were lost, possibly a UNIT_STOP: units without a running step no longer wait
 * for one. They continue if another record of theirs comes. */
void units_drop_anchors(struct units *u, uint64_t now_boottime_ns,
			uint64_t now_realtime_ns);

/* Iteration: the next slot in use at or after i, UNITS_NONE at the end. */
uint32_t units_next(const struct units *u, uint32_t i);
struct unit *units_get(struct units *u, uint32_t i);
uint32_t steps_next(const struct units *u, uint32_t i);
struct step *steps_get(struct units *u, uint32_t i);
/* i: a slot in use */
const struct step_name *steps_name(const struct units *u, uint32_t i);
/* The steps of a unit that are in the table, newest first; UNITS_NONE: no more. The
 * file's members first_step, next and unit are for the next daemon only. */
uint32_t units_first_step(const struct units *u, uint32_t i);
uint32_t steps_after(const struct units *u, uint32_t step);
uint32_t steps_unit(const struct units *u, uint32_t step);
/* Number of values in the file that were out of bounds and have been corrected:
 * something else has written to it. */
uint64_t units_mended(const struct units *u);
/* Whether the file has no name any more, so that a restart would begin anew. */
bool units_removed(const struct units *u);
/* Where the file is mapped */
const void *units_mapping(const struct units *u, size_t *ret_bytes);
uint32_t units_capacity(const struct units *u);
uint32_t steps_capacity(const struct units *u);
uint32_t units_used(const struct units *u);
uint32_t steps_used(const struct units *u);
/* Changes whenever a slot is taken or freed; caches with indices as keys check it. */
uint64_t units_generation(const struct units *u);
/* For caches: never used again; 0 while nobody has the number. */
uint64_t unit_serial(const struct units *u, uint32_t i);
uint64_t step_serial(const struct units *u, uint32_t i);

uint32_t units_find(const struct units *u, uint32_t manager, const char *node,
		    const char *id, uint32_t restarts);
/* The highest restart count of (manager, node, id), UNITS_NONE: none */
uint32_t units_find_newest(const struct units *u, uint32_t manager, const char *node,
			   const char *id);
uint32_t steps_find(const struct units *u, uint32_t unit, uint32_t step);
uint32_t steps_find_path(const struct units *u,
			 const char *path); /* by step cgroup path */
/* Of those that had started by then: the one that runs, else the newest. */
uint32_t steps_find_path_by(const struct units *u, const char *path, uint64_t by_ns);
/* Iteration over all with this path: *cursor is UNITS_NONE at first. */
uint32_t steps_next_path(const struct units *u, const char *path, uint32_t *cursor);
/* A step in the table whose job has this cgroup path, UNITS_NONE: none */
uint32_t steps_find_job_path(const struct units *u, const char *path);

/* folded + steps in the table */
void unit_total(const struct units *u, uint32_t i, struct unit_totals *ret);
/* of one manager: folded units + units in the table; exact sum of what is exported */
void units_node_totals(const struct units *u, uint32_t manager,
		       struct node_totals *ret);

/* The same without walking the table: `units` does not include those still in it, all
 * other members are complete. Borrowed. */
const struct node_totals *units_node_counts(const struct units *u, uint32_t manager);

#endif
