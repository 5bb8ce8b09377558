/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LIB_RECORDS_RECORD_H
#define CEEMS_LIB_RECORDS_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/err.h"

/*
 * Records that plugins and adapters put into the ring: a type, then fields as (u16
 * type, u16 length, value), little-endian, unaligned. Unknown fields are skipped,
 * required ones are checked, so that plugins and daemons of neighbouring versions work
 * together. The decoder accepts any bytes: the result is a record or an error, never a
 * crash.
 */

enum record_type {
	RECORD_UNIT_START = 1,
	RECORD_UNIT_STOP = 2,
	RECORD_STEP_START = 3,
	RECORD_STEP_STOP = 4,
	RECORD_HELLO = 5,      /* an adapter's heartbeat */
	RECORD_PART_START = 6, /* a part of a step, with RECORD_PART, began_ns and a
				  command: daemons before it count it as unknown */
};

enum record_manager { MANAGER_SLURM = 1, MANAGER_LIBVIRT = 2, MANAGER_K8S = 3 };

/* Slurm's own numbers (slurm.h), repeated because libbase does not depend on Slurm */
#define RECORD_STEP_BATCH 0xfffffffbu
#define RECORD_STEP_EXTERN 0xfffffffcu
#define RECORD_STEP_INTERACTIVE 0xfffffffau
#define RECORD_NO_VAL 0xfffffffeu

#define RECORD_ID_MAX 64
#define RECORD_NAME_MAX 64 /* longer names are cut at a character and flagged */
#define RECORD_CGROUP_MAX 256
#define RECORD_CGROUPS_MAX 3 /* distinct paths over all hierarchies */
#define RECORD_GPUS_MAX 64   /* bytes of an index list such as "0,2-3" */
#define RECORD_DEVICES_MAX 16
#define RECORD_DEVICE_ID_MAX 48 /* "MIG-" and a UUID, a name of a device plugin */
#define RECORD_PCI_MAX 24       /* "0000:3b:00.0", its domain may be longer */
#define RECORD_MIG_MAX 16
#define RECORD_FIGURES_MAX 8 /* of one record; those of a unit may take several */
#define RECORD_FIGURES_NAME_MAX 32
#define RECORD_FIGURES_VALUES 8
#define RECORD_ENV_MAX 4
#define RECORD_ENV_NAME_MAX 32
#define RECORD_ENV_VALUE_MAX 64

/* cgroup controllers as bits: the hierarchies in which a path was seen */
enum record_cgroup_bit {
	CGROUP_UNIFIED = 1 << 0, /* the "0::" line, cgroup v2 */
	CGROUP_CPUACCT = 1 << 1,
	CGROUP_MEMORY = 1 << 2,
	CGROUP_CPUSET = 1 << 3,
	CGROUP_FREEZER = 1 << 4,
	CGROUP_CPU = 1 << 5,
	CGROUP_PIDS = 1 << 6,
	CGROUP_DEVICES = 1 << 7,
	CGROUP_BLKIO = 1 << 8,
};

/* Where the counters at stop were read, best first */
enum record_source {
	COUNTERS_NONE = 0,
	COUNTERS_CGROUP_V2 = 1,
	COUNTERS_CGROUP_V1 = 2,
	COUNTERS_RUSAGE = 3, /* wait4()'s rusage of the tasks: no page cache, no
				orphaned children */
};

struct record_counters {
	uint8_t source;       /* enum record_source; COUNTERS_NONE: the rest is void */
	bool has_memory;      /* memory_peak_bytes is known */
	bool has_io;          /* io_* are known */
	uint64_t cpu_user_ns; /* user + system = exact run time of the step's tasks */
	uint64_t cpu_system_ns;
	uint64_t memory_peak_bytes;
	uint64_t io_read_bytes;
	uint64_t io_write_bytes;
	uint64_t oom_kills;
	uint64_t read_ns; /* CLOCK_BOOTTIME of the reading */
};

/* What only an adapter can tell of a unit while it runs, as a guest's own view. The
 * numbers of kinds and of their values are on the wire. */
enum record_figures_kind {
	FIGURES_MEMORY = 1,    /* bytes, as the guest sees it; no name */
	FIGURES_DISK = 2,      /* by the guest's name of it, since the guest's start */
	FIGURES_INTERFACE = 3, /* by the host's name of it; the guest's receive */
};
enum record_figures_memory {
	FIGURE_BALLOON, /* given to the guest now */
	FIGURE_TOTAL,   /* usable by its kernel */
	FIGURE_FREE,
	FIGURE_AVAILABLE, /* free, or can be freed without swapping */
	FIGURE_CACHE,
	FIGURE_SWAPPED_IN, /* since the guest's start */
	FIGURE_SWAPPED_OUT,
};
enum record_figures_transfer {
	FIGURE_IN_BYTES, /* read, received */
	FIGURE_IN,       /* requests, packets */
	FIGURE_OUT_BYTES,
	FIGURE_OUT,
};

enum record_flag {
	RECORD_CUT = 1 << 0,     /* a value was too long and was cut */
	RECORD_LAST = 1 << 1,    /* stop: sent by the exit hook; no later one follows */
	RECORD_PERF_HW = 1 << 2, /* --ceems-perf: hardware */
	RECORD_PERF_SW = 1 << 3, /* software */
	RECORD_PERF_CACHE = 1 << 4,
	RECORD_REPORT_TEXT = 1 << 5,
	RECORD_REPORT_JSON = 1 << 6,
	RECORD_GPUS_TRUSTED = 1
			      << 7, /* gpus was set by Slurm itself, not by the user */
	RECORD_SIGNALLED = 1 << 8,  /* exit_status is from a signal */
	RECORD_RUNNING = 1 << 9, /* start: it ran before the adapter looked; what it has
				    used by now is not of this moment */
	RECORD_MILLICPUS = 1 << 10, /* cpus and step_cpus are thousandths */
	RECORD_PART = 1 << 11, /* STEP_STOP, PART_START: a part of what another step of
				  the unit counts, as a container of a pod, with
				  began_ns */
	RECORD_GPU_PAUSE = 1 << 12, /* --ceems-perf: nogpu */
	RECORD_OFF_CPU = 1 << 13,   /* --ceems-profile: off-cpu */
};

/* All that a record can contain; absent: 0 or "" unless noted. Facts come from SPANK
 * items and the kernel; members below "hints" come from the job's environment, which
 * can forge them: they are shown, but never billed or used to decide access. */
struct record {
	uint8_t type;    /* enum record_type */
	uint8_t manager; /* enum record_manager */
	uint32_t flags;  /* enum record_flag */
	uint64_t realtime_ns, boottime_ns;
	uint64_t began_ns; /* CLOCK_BOOTTIME; RECORD_PART: when it began, else 0 */

	char unit[RECORD_ID_MAX]; /* raw job id, VM uuid, pod uid; HELLO may lack it */
	char node[RECORD_NAME_MAX]; /* slurmd's node name from the cgroup path, or "" */
	uint32_t step;     /* required in STEP_*; RECORD_STEP_* for the special ones */
	uint32_t restarts; /* Slurm restart count */
	uint32_t array_job, array_task; /* RECORD_NO_VAL: not an array */
	uint32_t uid, gid;
	uint32_t stepd_pid;    /* slurmstepd */
	uint32_t tasks;        /* on this node */
	uint32_t cpus;         /* allocated on this node, to the job; 0: not known */
	uint32_t step_cpus;    /* to the step */
	uint64_t memory_bytes; /* allocated on this node, to the job; 0: not known */
	uint32_t profile_hz;   /* --ceems-profile; 0: off */
	uint32_t exit_status;  /* wait status at stop */
	uint32_t cgroup_count;
	struct record_cgroup {
		uint32_t controllers;         /* enum record_cgroup_bit */
		char path[RECORD_CGROUP_MAX]; /* of the step, relative to the mount,
						 from "/" */
	} cgroups[RECORD_CGROUPS_MAX];
	char gpus[RECORD_GPUS_MAX];      /* gres indices as Slurm gave them */
	char gpu_share[RECORD_GPUS_MAX]; /* "shard:N" or "mps:PERCENT", "" = whole
					    devices */
	/* Devices that a unit holds whole or in part, where they are known by more than
	 * Slurm's index: VMs and pods. A name that is too long is left out, not cut. */
	uint32_t device_count;
	struct record_device {
		char uuid[RECORD_DEVICE_ID_MAX]; /* of the GPU, MIG instance or mdev */
		char pci[RECORD_PCI_MAX];        /* address on the host */
		char mig[RECORD_MIG_MAX];        /* "1/0": GPU and compute instance */
		uint16_t share_permille;         /* 1000: all of it; 0: not known */
	} devices[RECORD_DEVICES_MAX];
	/* with RECORD_HELLO and a unit */
	uint32_t figures_count;
	struct record_figures {
		uint8_t kind;  /* enum record_figures_kind */
		uint8_t known; /* bit per value */
		char name[RECORD_FIGURES_NAME_MAX];
		uint64_t values[RECORD_FIGURES_VALUES];
	} figures[RECORD_FIGURES_MAX];
	struct record_counters counters;

	/* hints */
	char sluid[RECORD_NAME_MAX];
	char name[RECORD_NAME_MAX];
	char account[RECORD_NAME_MAX];
	char partition[RECORD_NAME_MAX];
	char user[RECORD_NAME_MAX];
	char command[RECORD_NAME_MAX]; /* program of a numbered step, without its
					  folder: Slurm's name of the step, except with
					  srun -J, which is in name */
	uint32_t het_job;              /* RECORD_NO_VAL: none */
	uint32_t env_count;
	struct record_env {
		char name[RECORD_ENV_NAME_MAX];
		char value[RECORD_ENV_VALUE_MAX];
	} env[RECORD_ENV_MAX];
};

/* A record with everything absent (array ids RECORD_NO_VAL and so on). */
void record_init(struct record *r, enum record_type type, enum record_manager manager);

/* Copies s into a fixed field: cut at a UTF-8 character, control characters kept as
 * they are; sets RECORD_CUT when it was cut. dst_size includes the NUL. */
void record_set(struct record *r, char *dst, size_t dst_size, const char *s);

/* Adds path for a controller, sharing an entry when the path is already there. Returns
 * false (and sets RECORD_CUT) when there is no room or the path is too long, and false
 * for what is not a path from "/". */
bool record_add_cgroup(struct record *r, uint32_t controller, const char *path);
/* Adds a device; NULL and "" are not known. False (and RECORD_CUT): no room, or a text
 * is too long, which cut would name another device. */
bool record_add_device(struct record *r, const char *uuid, const char *pci,
		       const char *mig, uint16_t share_permille);
/* Adds a set of figures. False (and RECORD_CUT): no room, or its name is too long. */
bool record_add_figures(struct record *r, uint8_t kind, const char *name, uint8_t known,
			const uint64_t values[RECORD_FIGURES_VALUES]);
/* The path for a controller or NULL. Borrowed. */
const char *record_cgroup(const struct record *r, uint32_t controller);

/* Encodes into buf. RING_RECORD_MAX bytes always suffice for the required fields; if
 * there is no room, optional ones are left out from the end, hints first, with
 * RECORD_CUT. Returns the length or -EMSGSIZE. */
int record_encode(const struct record *r, void *buf, size_t size);

/* Decodes; unknown fields are skipped. -EPROTO with a text naming the field. */
int record_decode(const void *data, size_t len, struct record *ret, struct err *err);

const char *record_type_name(uint8_t type);       /* "step_start", "?" */
const char *record_manager_name(uint8_t manager); /* "slurm", "libvirt", "k8s", "?" */
/* Whether it is a step that the job started with srun, not one of Slurm's own. */
bool record_step_is_numbered(uint32_t step);
/* "batch" "extern" "interactive" or the number; into buf, returned. */
const char *record_step_name(uint32_t step, char buf[16]);

#endif
