/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_CLI_CACCT_UNIT_H
#define CEEMS_CLI_CACCT_UNIT_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/buf.h"

/* A row of the API's units, or one of its steps, for cacct: only unit.c knows the API's
 * names. */

enum unit_text {
	UNIT_CLUSTER,
	UNIT_MANAGER, /* of its cluster: "slurm", "openstack", ... */
	UNIT_UUID,    /* raw job id */
	UNIT_NAME,
	UNIT_ACCOUNT,
	UNIT_USER,
	UNIT_GROUP,
	UNIT_FLAVOUR,   /* of a VM */
	UNIT_NAMESPACE, /* of a pod */
	UNIT_STATE,
	UNIT_REASON,
	UNIT_PARTITION,
	UNIT_QOS,
	UNIT_RESERVATION,
	UNIT_WCKEY,
	UNIT_NODE_LIST,
	UNIT_ALLOC_TRES,
	UNIT_REQ_TRES,
	UNIT_WORK_DIR,
	UNIT_COMMENT,
	UNIT_SLUID,
	UNIT_SOURCES,
	UNIT_EXIT, /* "0:0" */
	UNIT_DERIVED_EXIT,
	UNIT_FLAGS, /* from here: of slurmctld's record alone */
	UNIT_ADMIN_COMMENT,
	UNIT_SYSTEM_COMMENT,
	UNIT_EXTRA,
	UNIT_CONTAINER,
	UNIT_CONSTRAINTS,
	UNIT_LICENSES,
	UNIT_QOS_REQUESTED,
	UNIT_FAILED_NODE,
	UNIT_SUBMIT_LINE,
	UNIT_PEAK_NODE, /* of a step: where its memory was highest */
	UNIT_PERIOD,    /* of a row of usage: "2026-11", "2026-W48", "2026-11-23" */
	UNIT_TEXTS
};

/* Numbers; NAN: unknown. Times are seconds since 1970. */
enum unit_number {
	UNIT_ID, /* what /units/{id} wants */
	UNIT_RESTARTS,
	UNIT_UID,
	UNIT_GID,
	UNIT_ARRAY_JOB,
	UNIT_ARRAY_TASK,
	UNIT_HET_JOB,
	UNIT_HET_OFFSET,
	UNIT_SUBMITTED,
	UNIT_ELIGIBLE,
	UNIT_STARTED,
	UNIT_ENDED,
	UNIT_ELAPSED_S,
	UNIT_LIMIT_S,
	UNIT_SUSPENDED_S,
	UNIT_NODES,
	UNIT_CPUS,
	UNIT_MEMORY_BYTES, /* allocated */
	UNIT_GPUS,
	UNIT_CPU_USER_S,
	UNIT_CPU_SYSTEM_S,
	UNIT_CPU_S, /* both */
	UNIT_CPU_ALLOC_S,
	UNIT_CPU_RATIO,
	UNIT_MEMORY_RATIO,
	UNIT_MEMORY_MEAN_BYTES,
	UNIT_MEMORY_PEAK_BYTES,
	UNIT_MEMORY_PEAKS_BYTES, /* of a step: the peaks of its nodes together, */
	UNIT_AVE_RSS_BYTES,      /* and that by tasks */
	UNIT_GPU_RATIO,
	UNIT_GPU_MEMORY_RATIO,
	UNIT_GPU_MEMORY_MEAN_BYTES,
	UNIT_GPU_MEMORY_PEAK_BYTES,
	UNIT_GPU_SM_RATIO, /* by performance counters, as those to DRAM */
	UNIT_GPU_OCCUPANCY_RATIO,
	UNIT_GPU_TENSOR_RATIO,
	UNIT_GPU_FP64_RATIO,
	UNIT_GPU_FP32_RATIO,
	UNIT_GPU_FP16_RATIO,
	UNIT_GPU_DRAM_RATIO,
	UNIT_GPU_ALLOC_S, /* GPUs x time, */
	UNIT_GPU_IDLE_S,  /* and of that, when nothing ran on them */
	UNIT_IO_READ_BYTES,
	UNIT_IO_WRITE_BYTES,
	UNIT_NET_RX_BYTES,
	UNIT_NET_TX_BYTES,
	/* what the kernel programs of its nodes counted */
	UNIT_FILE_READ_BYTES,
	UNIT_FILE_READS,
	UNIT_FILE_READ_ERRORS,
	UNIT_FILE_WRITE_BYTES,
	UNIT_FILE_WRITES,
	UNIT_FILE_WRITE_ERRORS,
	UNIT_FILE_OPENS,
	UNIT_FILE_CREATES,
	UNIT_FILE_UNLINKS,
	UNIT_NET_RX_PACKETS,
	UNIT_NET_TX_PACKETS,
	UNIT_NET_RESENT_PACKETS,
	UNIT_TCP_RX_BYTES,
	UNIT_TCP_TX_BYTES,
	UNIT_UDP_RX_BYTES,
	UNIT_UDP_TX_BYTES,
	UNIT_MINOR_FAULTS,
	UNIT_MAJOR_FAULTS,
	UNIT_SWITCHES,
	UNIT_MIGRATIONS,
	UNIT_CYCLES,
	UNIT_INSTRUCTIONS,
	UNIT_CACHE_MISSES,
	UNIT_IPC,               /* instructions per cycle, */
	UNIT_FREQUENCY_GHZ,     /* and cycles by the time in which they were counted */
	UNIT_CACHE_MISS_RATIO,  /* of accesses to the last cache */
	UNIT_BRANCH_MISS_RATIO, /* of branches */
	UNIT_L1_MISS_RATIO,     /* of reads from the first cache */
	UNIT_LLC_MISS_RATIO,    /* of reads from the last one */
	UNIT_FP_OPERATIONS,
	UNIT_DRAM_READ_BYTES,
	UNIT_GFLOPS,       /* a second of its life, not of its CPU time */
	UNIT_EVENTS_RATIO, /* of its CPU time: in which these were counted */
	UNIT_ENERGY_J,   /* all of it: the host's, and GPUs that it does not include */
	UNIT_CPU_SIDE_J, /* the peer's "cpu" energy, with the building's share */
	UNIT_GPU_SIDE_J, /* the peer's "gpu" energy */
	UNIT_PACKAGE_J,
	UNIT_DRAM_J,
	UNIT_PSYS_J,
	UNIT_GPU_J,
	UNIT_HOST_J,
	UNIT_OTHER_J,
	UNIT_COVERAGE, /* 0-1 */
	UNIT_PRIORITY,
	UNIT_REQ_CPUS,
	UNIT_REQ_NODES,
	UNIT_REQ_MEMORY_BYTES,
	UNIT_PLANNED_S,         /* from when it could have started to when it did */
	UNIT_PLANNED_CPU_S,     /* that, times the CPUs it requested */
	UNIT_TASKS,             /* of a step */
	UNIT_AVE_CPU_S,         /* of a step: CPU time by tasks */
	UNIT_TIME_RATIO,        /* of its time limit */
	UNIT_MEMORY_PEAK_RATIO, /* highest on one node over its limit there */
	UNIT_WASTED_CPU_S,      /* allocated but not used */
	UNIT_WASTED_GPU_S,      /* likewise, */
	UNIT_WASTED_GPU_J,      /* and the idle share of their energy */
	UNIT_WASTED_J,          /* energy times the idle share of CPUs and GPUs */
	UNIT_AS_OF,
	UNIT_ENDED_ON_NODES, /* counts as running: slurmctld's record is awaited, */
	UNIT_AWAITED_UNTIL,  /* until then */
	UNIT_JOBS,           /* of a row of usage */
	UNIT_NUMBERS
};

#define UNIT_PROVIDERS_MAX 8
#define UNIT_PROVIDER_BYTES 24

struct unit_grams {
	char provider[UNIT_PROVIDER_BYTES]; /* without the peer's "_total" */
	double grams;
};

struct unit {
	char id[64];   /* as sacct shows it: 12, 12_3, 12+1, 12.batch */
	bool is_step;  /* then state, energy and the like are the step's */
	bool line_cut; /* its submit line was too long */
	const char *text[UNIT_TEXTS]; /* NULL: unknown; borrowed from the JSON */
	double number[UNIT_NUMBERS];
	struct unit_grams grams[UNIT_PROVIDERS_MAX]; /* by provider's name */
	size_t grams_count;
	char exit_text[2][16];
	char raw_id[64]; /* of a step, 4711.batch */
	/* sacct's sort keys of jobs; for a step those of its job */
	double submitted, array_job, array_task;
};

/* Missing members, or those of another type, are unknown; never fails. now: end of the
 * elapsed time of running units. */
void unit_from_json(struct json_object *row, int64_t now, struct unit *ret);

/* A step, from an object in the steps of /units/{id}. */
void unit_step_from_json(const struct unit *of, struct json_object *step, int64_t now,
			 struct unit *ret);

/* The steps of /units/{id} in sacct's order: interactive, batch, extern, 0, 1. NULL:
 * none. Borrowed from detail. */
struct json_object *unit_steps(struct json_object *detail);

/* {"owid": 1.5}, added to its grams. */
void unit_read_grams(struct unit *u, struct json_object *map);
/* ,"grams":{"owid":1.5}: a member that is not the first. */
void unit_put_grams(struct buf *out, const struct unit_grams *grams, size_t count);

/* Computes MEMORY_PEAK_RATIO, WASTED_CPU_S and WASTED_J from its other numbers; NAN
 * where one of these is unknown. */
void unit_compare_use(struct unit *u);

/* The source of a domain's energy ("host", "package"): "redfish", "model"; "" if
 * unknown. */
void unit_energy_source(const struct unit *u, const char *domain, char *ret,
			size_t size);
/* Joules of its energy that were not measured by a sensor. */
double unit_modelled_joules(const struct unit *u);

bool unit_is_running(const struct unit *u);
/* Whether it counts as running although all its nodes have reported its end. */
bool unit_is_awaited(const struct unit *u);

/* The member at a path like "tags.qos"; of several paths, separated by '|', the first
 * that exists and is not null. NULL: none. */
struct json_object *unit_json_at(struct json_object *o, const char *paths);
double unit_json_number(struct json_object *o, const char *paths);    /* NAN: none */
const char *unit_json_text(struct json_object *o, const char *paths); /* NULL: none */

#endif
