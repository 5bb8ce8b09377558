/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LIB_RECORDS_REPORT_H
#define CEEMS_LIB_RECORDS_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/err.h"
#include "lib/records/record.h"
#include "lib/records/report_counts.h"

/*
 * A node's report about a unit for the aggregator, as stored in the node's spool (form:
 * lib/records/tlv.h; when each is written and what may come twice: doc/reports.md).
 *
 *	START     the unit is here: who it is and what it was given. No numbers.
 *	INTERVAL  what it used in [t0, t1), as deltas. The intervals of an instance do
 *	          not overlap and leave no gap; their sums are the totals of FINAL.
 *	FINAL     how it ended, and the totals of its life. One with REPORT_PROVISIONAL
 *	          is followed by another when all of it is known; the later one counts.
 *
 * Every report contains all that is known of the unit by then, so none depends on
 * another. `instance` is the stable id of (unit, run, node). The keys of START,
 * INTERVAL and FINAL are (instance), (instance, t0_ns) and (instance): two reports with
 * the same key are the same report, or one knows more.
 *
 * Times are nanoseconds since 1970 with one base per unit: the node's CLOCK_REALTIME at
 * the unit's start, continued by CLOCK_BOOTTIME. So times of a unit never jump,
 * whatever is done to the node's clock, but they may all be off by the same amount.
 */

enum report_type {
	REPORT_START = 17,
	REPORT_INTERVAL = 18,
	REPORT_FINAL = 19,
};

#define REPORT_BYTES_MAX 61440u /* no report is longer */
#define REPORT_STEPS_MAX 256u   /* more are left out: REPORT_STEPS_CUT */
#define REPORT_ENERGIES_MAX 12u /* (domain, source) pairs */
#define REPORT_SOURCE_MAX 32u   /* "rapl", "redfish", "model", ... with the NUL */
#define REPORT_BOOT_ID_MAX 40u
#define REPORT_DOMAINS 8u /* of a step */

/* How a unit ended: the numbers of enum unit_end (daemon/units.h) */
enum report_end {
	REPORT_END_NONE = 0, /* it has not */
	REPORT_END_COMPLETED = 1,
	REPORT_END_FAILED = 2, /* a step's exit status was not 0 */
	REPORT_END_OOM = 3,
	REPORT_END_LOST = 4, /* its control group vanished without a stop record */
};

/* Numbers on the wire. `host` is the whole node by one sensor and contains package,
 * dram (and gpu, if so configured) and other; psys contains package: do not simply add
 * up domains. */
enum report_domain_id {
	REPORT_PACKAGE = 1,
	REPORT_DRAM = 2,
	REPORT_PSYS = 3,
	REPORT_GPU = 4,
	REPORT_HOST = 5,
	REPORT_OTHER = 6, /* host less its measured parts */
};

enum report_flag {
	REPORT_CUT = 1 << 0,          /* a text was too long and was cut */
	REPORT_STEPS_CUT = 1 << 1,    /* steps is incomplete: see steps_started */
	REPORT_DISCOVERED = 1 << 2,   /* known only from its control group: unit id and
					 restarts are a guess, uid and the like missing */
	REPORT_PROVISIONAL = 1 << 3,  /* FINAL: energy is not settled yet */
	REPORT_GPUS_TRUSTED = 1 << 4, /* gpus is from Slurm, not from the user */
	REPORT_FOUND = 1 << 5,        /* found while it ran: see struct report_before */
	REPORT_SLUID = 1 << 6, /* hints.sluid is the name of its control group, which a
				  job cannot forge */
};

/* Which members of struct report_use are known */
enum report_known {
	REPORT_HAS_CPU = 1 << 0,
	REPORT_HAS_MEMORY_AVERAGE = 1 << 1,
	REPORT_HAS_MEMORY_PEAK = 1 << 2,
	REPORT_HAS_IO = 1 << 3,
	REPORT_HAS_NETWORK = 1 << 4, /* later */
	REPORT_HAS_GPU_BUSY = 1 << 5,
	REPORT_HAS_GPU_MEMORY = 1 << 6,
};

struct report_use {
	uint32_t known; /* enum report_known; unknown members are 0 */
	uint64_t cpu_user_ns, cpu_system_ns, cpu_throttled_ns;
	uint64_t memory_average_bytes; /* resident, without page cache */
	uint64_t memory_peak_bytes; /* of readings; FINAL: the kernel's own peak, if any
				       (includes page cache) */
	uint64_t oom_kills;
	uint64_t io_read_bytes, io_write_bytes;
	uint64_t network_rx_bytes, network_tx_bytes;
	uint64_t gpu_busy_ns;      /* GPUs x time in which a kernel ran, by readings */
	uint64_t gpu_memory_bytes; /* of all GPUs together, average */
};

/* What the unit's control group on this node had counted before the first window of
 * this instance, including ended steps: absolute counter = before + sum of the windows.
 * The aggregator knows whether another instance has reported part of it. */
struct report_before {
	uint32_t known; /* REPORT_HAS_CPU, REPORT_HAS_IO; 0: nothing was before */
	uint64_t cpu_user_ns, cpu_system_ns;
	uint64_t io_read_bytes, io_write_bytes;
};

struct report_energy {
	uint32_t domain; /* enum report_domain_id; later versions may have others */
	char source[REPORT_SOURCE_MAX];
	uint64_t uj;
};

enum report_step_flag {
	REPORT_STEP_RUNNING = 1 << 0,    /* no end yet */
	REPORT_STEP_LOST = 1 << 1,       /* no stop record came */
	REPORT_STEP_SIGNALLED = 1 << 2,  /* exit_status is from a signal */
	REPORT_STEP_DISCOVERED = 1 << 3, /* found by its control group */
	/* LOST, and its counters were read when its control group had become empty */
	REPORT_STEP_POLLED = 1 << 4,
};

/* Totals of a step. INTERVAL reports contain those that have ended; the latest report
 * about a step counts. */
struct report_step {
	uint32_t step;        /* number or RECORD_STEP_* */
	uint32_t flags;       /* enum report_step_flag */
	uint32_t exit_status; /* wait status */
	uint32_t tasks, cpus; /* on this node, 0: not known */
	uint64_t started_ns, ended_ns;
	uint64_t cpu_user_ns, cpu_system_ns;
	uint64_t memory_peak_bytes;
	uint64_t io_read_bytes, io_write_bytes;
	uint64_t oom_kills;
	uint64_t energy_uj[REPORT_DOMAINS]; /* by enum report_domain_id */
	/* Hints, "": unknown: the program of a numbered step, and the job's name in its
	 * environment if that differs. The step's name is the latter if it also differs
	 * from the job's (srun -J), else the former. */
	char command[RECORD_NAME_MAX];
	char label[RECORD_NAME_MAX];
};

struct report {
	uint8_t type;      /* enum report_type */
	uint8_t manager;   /* enum record_manager */
	uint32_t flags;    /* enum report_flag */
	uint64_t instance; /* 1 .. 2^63 - 1 */

	char cluster[RECORD_NAME_MAX];
	char node[RECORD_NAME_MAX];       /* Slurm's name of the node */
	char boot_id[REPORT_BOOT_ID_MAX]; /* of the kernel */
	char unit[RECORD_ID_MAX];         /* raw job id, VM uuid, pod uid */
	uint32_t restarts;
	uint32_t uid, gid;              /* RECORD_NO_VAL: not known */
	uint32_t array_job, array_task; /* RECORD_NO_VAL: none */

	uint32_t cpus;                   /* allocated on this node, 0: not known */
	uint64_t memory_bytes;           /* the same */
	uint32_t gpu_count;              /* the same, as far as gpus says */
	char gpus[RECORD_GPUS_MAX];      /* indices, "0,2-3" */
	char gpu_share[RECORD_GPUS_MAX]; /* "shard:N", "mps:PERCENT", "": whole ones */

	uint32_t millicpus; /* pods: of which cpus is the number rounded up; 0: cpus is
			       all there is to say */
	uint64_t sized_ns;  /* START: when it had these; 0: not known */

	uint64_t started_ns;
	uint64_t
		started_boottime_ns; /* the same moment by CLOCK_BOOTTIME, 0: unknown */
	uint64_t ended_ns;           /* 0: it has not ended */
	uint8_t end;                 /* enum report_end */

	/* INTERVAL: the window. FINAL: the whole life. START: 0 */
	uint64_t t0_ns, t1_ns;
	/* The part of t1 - t0 during which ceemsd ran. For the rest the kernel or the
	 * plugin supplied the counters afterwards; memory is missing, and energy was
	 * divided in one piece, if at all */
	uint64_t observed_ns;
	struct report_use use;
	struct report_before before;
	uint32_t energy_count;
	struct report_energy energy[REPORT_ENERGIES_MAX];
	/* FINAL: what was counted in the whole life. One with counts
	 * replaces those of an earlier FINAL; one without leaves them.
	 * INTERVAL: those from COUNT_GPU_FIGURE on, of the window */
	struct report_counts counts;
	uint32_t mount_count; /* 0 unless counts has those of files */
	struct report_mount mounts[REPORT_MOUNTS_MAX]; /* most bytes first */

	/* Hints from the job's own environment, which can forge them. Shown, but never
	 * billed or used for access control. */
	struct report_hints {
		char sluid[RECORD_NAME_MAX];
		char name[RECORD_NAME_MAX];
		char account[RECORD_NAME_MAX];
		char partition[RECORD_NAME_MAX];
		uint32_t het_job; /* RECORD_NO_VAL: none */
	} hints;

	uint32_t steps_started; /* on this node so far */
	uint32_t step_count;
	/* Only the first step_count are valid; the rest is neither written nor read. */
	struct report_step steps[REPORT_STEPS_MAX];
};

/* Everything absent. Leaves steps alone: the struct is large. */
void report_init(struct report *r, enum report_type type, enum record_manager manager);

/* Copies s into a text of r, cut at a character with REPORT_CUT. */
void report_set(struct report *r, char *dst, size_t dst_size, const char *s);

/* Adds to the entry of (domain, source), creating it if needed. False: no room, nothing
 * added. */
bool report_add_energy(struct report *r, uint32_t domain, const char *source,
		       uint64_t uj);

/* Encodes into buf: REPORT_BYTES_MAX bytes always suffice. If there is no room, names
 * of steps are left out first (REPORT_CUT), then steps from the end (REPORT_STEPS_CUT).
 * Returns the length or -EMSGSIZE. */
int report_encode(const struct report *r, void *buf, size_t size);

/* Decodes any bytes: 0, or -EPROTO with a text naming the field. Unknown fields are
 * skipped; required ones (all: manager, instance, cluster, node, unit, started;
 * INTERVAL: t0 < t1, observed <= t1 - t0; FINAL: those, ended and end) is checked. On
 * failure *ret is void. */
int report_decode(const void *data, size_t len, struct report *ret, struct err *err);

/* Equal in everything, steps included */
bool report_equal(const struct report *a, const struct report *b);

const char *report_type_name(uint8_t type);      /* "start", "interval", "final", "?" */
const char *report_end_name(uint8_t end);        /* "", "completed", ..., "?" */
const char *report_domain_name(uint32_t domain); /* "package", ..., "?" */

#endif
