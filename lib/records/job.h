/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LIB_RECORDS_JOB_H
#define CEEMS_LIB_RECORDS_JOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/err.h"

/*
 * A job's completion record: what slurmctld passed to its jobcomp plugin in one call.
 * Record type 33 of the spool: u16 type, then fields as (u16 type, u16 length, value),
 * little-endian, unaligned. Unknown fields are skipped, required ones checked; the
 * decoder accepts any bytes.
 *
 * A job has several records in its life: at its start (Slurm 25.05 and later), for each
 * run that was requeued, for each part before a resize, and at its end. Each component
 * of a heterogeneous job and each array task is a job of its own. A record is
 * identified by (cluster, job_id, restarts, submit_s, job_part_s(), state); the same
 * record may come twice.
 */

#define JOB_RECORD_TYPE 33u
#define JOB_RECORD_MAX (192u << 10) /* bytes: every record fits */

#define JOB_NO_VAL 0xfffffffeu   /* Slurm's NO_VAL: not known, not an array, ... */
#define JOB_INFINITE 0xffffffffu /* Slurm's INFINITE: no time limit */

/* Limits of texts in bytes; longer ones are cut and the record is flagged. */
#define JOB_NAME_MAX 256u
#define JOB_LONG_MAX 4096u   /* comments, work dir, TRES */
#define JOB_GRES_MAX 16384u  /* gres, tasks of an array */
#define JOB_LINE_MAX 16384u  /* submit line */
#define JOB_NODES_MAX 65535u /* as a host list: far more than 10 000 nodes need */

enum job_event {
	JOB_EVENT_ENDED = 1,             /* it ran and is over */
	JOB_EVENT_REQUEUED = 2,          /* this run is over, another will follow */
	JOB_EVENT_RESIZED = 3,           /* this part is over, the job continues */
	JOB_EVENT_CANCELLED_PENDING = 4, /* it never ran */
	JOB_EVENT_ARRAY_REMAINDER = 5,   /* array tasks that never ran, together */
	JOB_EVENT_REVOKED = 6,           /* another cluster of the federation ran it */
	JOB_EVENT_STARTED = 7,           /* it runs; no end is known */
	JOB_EVENTS,
};

/* Slurm's numbers (slurm.h, enum job_states and the flags beside it), repeated here
 * because lib/ does not depend on Slurm; the plugin checks at compile time that they
 * agree. */
enum job_state {
	JOB_STATE_PENDING = 0,
	JOB_STATE_RUNNING = 1,
	JOB_STATE_SUSPENDED = 2,
	JOB_STATE_COMPLETED = 3,
	JOB_STATE_CANCELLED = 4,
	JOB_STATE_FAILED = 5,
	JOB_STATE_TIMEOUT = 6,
	JOB_STATE_NODE_FAIL = 7,
	JOB_STATE_PREEMPTED = 8,
	JOB_STATE_BOOT_FAIL = 9,
	JOB_STATE_DEADLINE = 10,
	JOB_STATE_OUT_OF_MEMORY = 11,
};
#define JOB_STATE_BASE_MASK 0xffu
#define JOB_FLAG_REQUEUE (1u << 10)
#define JOB_FLAG_REQUEUE_HOLD (1u << 11)
#define JOB_FLAG_SPECIAL_EXIT (1u << 12)
#define JOB_FLAG_RESIZING (1u << 13)
#define JOB_FLAG_COMPLETING (1u << 15)
#define JOB_FLAG_REVOKED (1u << 19)
#define JOB_FLAG_REQUEUE_FED (1u << 20)

/* slurmdbd's flags of a job (slurmdb.h) */
#define JOB_DB_FLAG_NOTSET (1u << 0)
#define JOB_DB_FLAG_SUBMIT (1u << 1)
#define JOB_DB_FLAG_SCHED (1u << 2)
#define JOB_DB_FLAG_BACKFILL (1u << 3)
#define JOB_DB_FLAG_START_R (1u << 4)

enum job_flag {
	JOB_CUT = 1 << 0,      /* a text was too long and was cut */
	JOB_BY_SRUN = 1 << 1,  /* srun made the job for a step, which has its name */
	JOB_LINE_CUT = 1 << 2, /* of the texts that were cut one is submit_line */
};

/* Texts are never NULL after job_init() or job_decode(); "" is unknown. Times are in
 * seconds since 1970; 0 is unknown. */
struct job {
	uint8_t event;     /* enum job_event */
	uint32_t flags;    /* enum job_flag */
	uint32_t job_id;   /* raw: an array task has its own */
	uint32_t restarts; /* of the run that this record is of */
	uint32_t state;    /* Slurm's number with its flags */
	uint32_t uid, gid;
	uint64_t recorded_ns; /* CLOCK_REALTIME of the call */
	uint64_t sluid;       /* 0: none; job_sluid_text() */
	uint64_t db_index;    /* slurmdbd's row of this part; 0: none */

	uint64_t submit_s, eligible_s;
	uint64_t start_s;  /* 0: it never ran */
	uint64_t end_s;    /* of a part: when it was resized */
	uint64_t resize_s; /* last resize: the beginning of this part or (RESIZED) its
			      end */
	uint64_t suspended_s; /* duration: elapsed = end - start - suspended */

	uint32_t array_job, array_task;        /* JOB_NO_VAL: not an array */
	uint32_t array_task_count;             /* JOB_EVENT_ARRAY_REMAINDER: how many */
	uint32_t het_job, het_offset;          /* JOB_NO_VAL: not a component */
	uint32_t exit_code, derived_exit_code; /* as of wait(2); JOB_NO_VAL: unknown */
	uint32_t reason;                       /* Slurm's number */
	uint32_t cancelled_by;                 /* uid; JOB_NO_VAL: nobody */
	uint32_t time_limit_min;               /* JOB_INFINITE: none; JOB_NO_VAL */
	uint32_t node_count, cpus;             /* allocated; 0: it never ran */
	uint32_t tasks;                        /* requested; 0: not known */
	uint32_t priority;                     /* scheduler's; 0: unknown, or held */

	const char *cluster;
	const char *user, *group, *account, *qos, *partition, *reservation, *wckey;
	const char *name, *comment, *admin_comment, *work_dir;
	const char *system_comment, *extra, *container, *constraints, *licenses;
	const char *qos_requested, *failed_node;
	const char *slurm_flags;    /* sacct's words: "SchedBackfill,StartReceived" */
	const char *submit_line;    /* may hold secrets: only where the site wants it */
	const char *reason_name;    /* "NonZeroExitCode"; "None" is "" */
	const char *array_tasks;    /* JOB_EVENT_ARRAY_REMAINDER: "3-9,12" */
	const char *nodes;          /* host list: "n[1-4,7]" */
	const char *tres_requested; /* "cpu=4,mem=8G,node=1,billing=4,gres/gpu=2": as */
	const char *tres_allocated; /* sacct prints it, without energy */
	/* GPUs and other GRES per node in the order of the host list; ";" separates
	 * nodes, "x*3" means x three times:
	 * "gpu:a100:4(IDX:0-3)*2;gpu:a100:1(IDX:0)" */
	const char *gres;

	char *memory; /* holds the texts after job_decode(); NULL otherwise */
};

/* Everything unknown: optional ids are JOB_NO_VAL, texts "". */
void job_init(struct job *j);
/* Frees the memory of job_decode(); NULL-safe, idempotent. */
void job_done(struct job *j);

/* Encodes into buf; JOB_RECORD_MAX bytes always suffice. Long texts are cut at a
 * character, host lists and gres at an element, and flagged. Returns the length;
 * -EMSGSIZE: no room; -EINVAL: a required field (cluster, job_id, submit_s, event,
 * recorded_ns) is missing. */
int job_encode(const struct job *j, void *buf, size_t size);

/* Adds names to an encoded record without them; "" and NULL: unknown. size is buf's:
 * len + JOB_NAMES_ROOM always suffices. Returns the new length or -EMSGSIZE. For names
 * whose look-up must not delay the encoder. */
#define JOB_NAMES_ROOM ((size_t)2 * (4 + JOB_NAME_MAX))
int job_add_names(void *buf, size_t len, size_t size, const char *user,
		  const char *group);

/* Decodes any bytes: 0, -EPROTO with a text naming the field, or -ENOMEM. Texts are
 * valid UTF-8 (other bytes became '?') without NULs, and belong to ret until
 * job_done(). On failure ret is untouched. */
int job_decode(const void *data, size_t len, struct job *ret, struct err *err);

/* Distinguishes the parts of a run: the last resize, which began this part or, in
 * JOB_EVENT_RESIZED, ended it; else the start; else (it never ran) the end. */
uint64_t job_part_s(const struct job *j);

/* The event for a state in a call of the plugin. ran: it has had nodes; array: it
 * stands for the rest of an array. */
enum job_event job_event_of(uint32_t state, bool ran, bool array);
const char *job_event_name(uint8_t event); /* "ended" "requeued" ..., "?" */

/* sacct's word: "COMPLETED", "REQUEUED", "RESIZING", ...; "?" for an unknown base
 * state. */
const char *job_state_name(uint32_t state);

/* Words of slurmdbd's flags of a job, as sacct prints them (slurmdb.h,
 * SLURMDB_JOB_FLAG_*); flags that are not known are left out. Returns ret. */
#define JOB_FLAGS_SIZE 64
const char *job_flags_text(uint32_t flags, char ret[JOB_FLAGS_SIZE]);

/* "s" and 13 characters, as sacct prints it; "" for 0. Returns ret. */
const char *job_sluid_text(uint64_t sluid, char ret[16]);

/* Extracts an amount from a TRES text: "mem" in bytes, others as they are. -ENODATA:
 * not in it; -EINVAL: not a number. */
int job_tres_get(const char *tres, const char *name, uint64_t *ret)
	__attribute__((warn_unused_result));

#endif
