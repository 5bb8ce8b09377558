/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LIB_RECORDS_CHILD_MSG_H
#define CEEMS_LIB_RECORDS_CHILD_MSG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/emissions/emission.h"
#include "lib/err.h"

/*
 * What ceems-courier and ceems-gpu tell ceemsd, one datagram each over a SOCK_SEQPACKET
 * pair: a head, a fixed part and head.count items of one size, in the machine's own
 * byte order. All come from the same build, but the courier talks to the network and
 * ceems-gpu runs other people's libraries, so the receiver trusts nothing before
 * child_msg_check().
 */

#define CHILD_MAGIC 0x31524f43u /* "COR1" */
#define CHILD_VERSION 1u
#define CHILD_MESSAGE_MAX 32768u
#define CHILD_NAME_BYTES 24
#define CHILD_CHANNELS_MAX 128u
#define CHILD_FACTORS_MAX 256u

enum child_kind {
	CHILD_HELLO = 1,     /* first message of a connection */
	CHILD_HEALTH,        /* of a task, when it changes */
	CHILD_SNAPSHOT,      /* of an energy source */
	CHILD_FACTORS,       /* of a provider of emission factors */
	CHILD_SHIPPING,      /* of the records that go to the aggregator */
	CHILD_GPU,           /* of a device: name is gpu<index> */
	CHILD_GPU_INSTANCES, /* of a divided device, likewise */
	CHILD_GPU_PROCESSES, /* on a device, likewise */
	CHILD_PROFILE,       /* what ceems-profiler does */
	CHILD_GPU_VGPUS,     /* of a device, as CHILD_GPU_INSTANCES */
	CHILD_KINDS
};

struct child_head {
	uint32_t magic;
	uint16_t version, kind;
	uint32_t bytes; /* of the whole message */
	uint32_t count;
	char name[CHILD_NAME_BYTES]; /* of the task or source; NUL-terminated */
};

struct child_hello {
	struct child_head head;
	char program[40]; /* its version */
};

struct child_health {
	struct child_head head;
	int32_t rc; /* result of the last poll: 0 or negative errno */
	uint32_t pad;
	uint64_t since_ns; /* boot time */
	char text[256];    /* why, without secrets */
};

enum child_channel_kind {
	CHILD_ENERGY, /* microjoules since the source was opened */
	CHILD_POWER,  /* microwatts */
	CHILD_POWER_MIN,
	CHILD_POWER_MAX,
	CHILD_POWER_AVG,
	CHILD_CHANNEL_KINDS
};

enum child_domain { CHILD_DOMAIN_NONE, CHILD_DOMAIN_HOST, CHILD_DOMAINS };

struct child_channel {
	uint8_t kind, domain;
	uint16_t pad;
	uint32_t index;
	uint64_t value, raw; /* as in struct source_channel */
	uint64_t measured_ns;
	char name[40], chip[64];
};

struct child_snapshot {
	struct child_head head;
	uint64_t sampled_ns;
	uint64_t period_ms; /* time between snapshots, the server's slowness included */
	struct child_channel channels[]; /* head.count */
};

/* Totals since the courier started */
struct child_shipping {
	struct child_head head;
	uint64_t accepted, refused, set_aside; /* records */
	uint64_t posts, failures;              /* requests; those without a 200 */
	uint64_t bytes;                        /* of bodies */
	uint64_t waiting;                      /* records read but not yet sent */
	uint64_t waiting_since_ns;             /* boot time; 0: none is waiting */
	uint64_t last_taken_s;                 /* CLOCK_REALTIME; 0: none yet */
};

/* Totals since ceems-profiler started, but for the first four and the last */
struct child_profile {
	struct child_head head;
	uint32_t steps, processes, files; /* that it knows now */
	uint32_t hz;                      /* of the CPUs' clocks; 0: there are none */
	uint64_t samples, whole, cut;     /* cut: the stack's beginning is missing */
	uint64_t lost;                    /* samples that there was no room for */
	uint64_t dropped;                 /* the same, when they were to be kept */
	uint64_t coarse;    /* profiles that lost detail for want of room */
	uint64_t evictions; /* files and processes that made place for others */
	uint64_t profiles, unwritten;
	uint64_t memory_bytes;  /* of tables and stacks */
	uint64_t told;          /* serial of the last profile_step that is in force */
	uint64_t openers;       /* how often its opener was started again */
	uint64_t blocked;       /* stacks of threads that blocked */
	uint64_t blocked_lost;  /* of which it is not known for how long */
	uint64_t debug_wanted;  /* debug files that were asked for */
	uint64_t debug_refused; /* that were not, being too many of one user */
};

/* What struct emission_factor is in the program */
struct child_factor {
	char zone[EMISSION_ZONE_BYTES];
	char country[EMISSION_COUNTRY_BYTES];
	uint64_t mg_per_kwh, time_s;
};

struct child_factors {
	struct child_head head;
	struct child_factor factors[]; /* head.count */
};

#define CHILD_GPUS_MAX 64u       /* indices are below it */
#define CHILD_GPU_POINTS_MAX 64u /* the newest readings of the energy counter */
#define CHILD_GPU_INSTANCES_MAX 16u
#define CHILD_GPU_SLICES_MAX 64u /* of a device */
#define CHILD_GPU_PROCESSES_MAX 256u
#define CHILD_GPU_VGPUS_MAX 64u
#define CHILD_GPU_UUID_BYTES 48
#define CHILD_GPU_NONE UINT32_MAX /* not known, or not there */

/* A value that is read each second and older than this is not shown. */
#define CHILD_GPU_STALE_NS 10000000000ull

enum child_gpu_vendor {
	CHILD_GPU_NVIDIA,
	CHILD_GPU_AMD,
	CHILD_GPU_INTEL,
	CHILD_GPU_VENDORS
};

/* Index into child_gpu.value, and as 1 << value in child_gpu.have: what the device does
 * not tell is absent, not 0. */
enum child_gpu_value {
	CHILD_GPU_POWER,        /* microwatts, as all powers */
	CHILD_GPU_POWER_LIMIT,  /* in force */
	CHILD_GPU_BUSY,         /* share of the driver's last period in which a kernel
				   ran, in parts per million */
	CHILD_GPU_MEMORY_BUSY,  /* ... in which memory was read or written */
	CHILD_GPU_MEMORY_USED,  /* bytes, without what the driver reserves if that is
				   told apart */
	CHILD_GPU_MEMORY_TOTAL, /* bytes */
	CHILD_GPU_TEMPERATURE,  /* millidegrees Celsius */
	CHILD_GPU_SM_CLOCK,     /* hertz */
	CHILD_GPU_MEMORY_CLOCK, /* hertz */
	CHILD_GPU_POWER_NOW,    /* CHILD_GPU_POWER is a mean of the last second */
	CHILD_GPU_MEMORY_TEMPERATURE,
	CHILD_GPU_SLOWDOWN_TEMPERATURE, /* at which it slows down, as temperatures */
	CHILD_GPU_SHUTDOWN_TEMPERATURE,
	CHILD_GPU_SM_COUNT,     /* multiprocessors, or compute units */
	CHILD_GPU_ENCODER_BUSY, /* as CHILD_GPU_BUSY */
	CHILD_GPU_DECODER_BUSY,
	CHILD_GPU_CLOCK_REASONS, /* bits of enum child_gpu_reason: why clocks are low */
	CHILD_GPU_POWER_THROTTLED,   /* ns in which the power limit held it down */
	CHILD_GPU_THERMAL_THROTTLED, /* ns, ... its temperature */
	CHILD_GPU_ECC_CORRECTED,     /* errors since the driver was loaded */
	CHILD_GPU_ECC_UNCORRECTED,
	CHILD_GPU_ECC_CORRECTED_EVER, /* in the device's life */
	CHILD_GPU_ECC_UNCORRECTED_EVER,
	CHILD_GPU_ROWS_CORRECTED, /* rows of memory that were replaced */
	CHILD_GPU_ROWS_UNCORRECTED,
	CHILD_GPU_ROWS_PENDING, /* 1: a reset will replace some */
	CHILD_GPU_ROWS_FAILED,  /* 1: one could not be replaced */
	CHILD_GPU_XIDS,         /* errors that the driver reported to ceems-gpu */
	CHILD_GPU_XID_LAST,     /* number of the last one */
	CHILD_GPU_PCIE_REPLAYS,
	CHILD_GPU_PCIE_TX, /* bytes sent by the device since an unknown time */
	CHILD_GPU_PCIE_RX,
	CHILD_GPU_LINK_TX, /* likewise, to other devices (NVLink) */
	CHILD_GPU_LINK_RX,
	CHILD_GPU_BUSY_NS, /* ns in which a kernel ran, since ceems-gpu started */
	CHILD_GPU_VALUES
};

/* CHILD_GPU_CLOCK_REASONS, as 1 << reason */
enum child_gpu_reason {
	CHILD_GPU_REASON_IDLE,
	CHILD_GPU_REASON_SETTING, /* somebody set the clocks */
	CHILD_GPU_REASON_POWER_CAP,
	CHILD_GPU_REASON_HARDWARE, /* any of power brake and thermal, by hardware */
	CHILD_GPU_REASON_SYNC,     /* with other devices */
	CHILD_GPU_REASON_THERMAL,
	CHILD_GPU_REASON_THERMAL_HARDWARE,
	CHILD_GPU_REASON_POWER_BRAKE,
	CHILD_GPU_REASON_DISPLAY,
	CHILD_GPU_REASONS
};

/* Figures of the device's performance counters (NVIDIA's GPM), parts of what is
 * possible */
enum child_gpu_figure {
	CHILD_GPU_GRAPHICS,  /* any engine was active */
	CHILD_GPU_SM,        /* multiprocessors with a warp */
	CHILD_GPU_OCCUPANCY, /* warps on them */
	CHILD_GPU_TENSOR,
	CHILD_GPU_FP64,
	CHILD_GPU_FP32,
	CHILD_GPU_FP16,
	CHILD_GPU_DRAM, /* bandwidth */
	CHILD_GPU_FIGURES
};

/* A figure is known from the second sample on. */
struct child_gpu_profile {
	uint32_t have; /* bits 1 << enum child_gpu_figure */
	uint32_t pad;
	uint64_t at_ns; /* boot time of the later sample; 0: there is none */
	/* of the time between the last two samples, in parts per million */
	uint32_t ppm[CHILD_GPU_FIGURES];
	/* since ceems-gpu started: the time between samples, and figure x time */
	uint64_t covered_ns[CHILD_GPU_FIGURES], total_ns[CHILD_GPU_FIGURES];
};

struct child_gpu_point {
	uint64_t at_ns; /* boot time */
	uint64_t uj;    /* the device's counter */
};

struct child_gpu {
	struct child_head head;
	uint32_t index;   /* the vendor's */
	uint32_t minor;   /* of the device file; CHILD_GPU_NONE: unknown */
	uint32_t vendor;  /* enum child_gpu_vendor */
	uint32_t mig;     /* 1: the device is divided into instances */
	uint64_t have;    /* bits 1 << enum child_gpu_value */
	uint64_t read_ns; /* boot time of value */
	uint64_t value[CHILD_GPU_VALUES];
	uint64_t serial; /* of the newest of points: counts them all */
	struct child_gpu_profile profile;
	char uuid[CHILD_GPU_UUID_BYTES], pci[32], model[64];
	struct child_gpu_point points[]; /* head.count, times and serials ascending */
};

static inline bool child_gpu_has(const struct child_gpu *m, enum child_gpu_value which)
{
	return m->have >> which & 1;
}

enum child_gpu_instance_value {
	CHILD_GPU_INSTANCE_USED, /* bytes; of the GPU instance, as all of these */
	CHILD_GPU_INSTANCE_TOTAL,
	CHILD_GPU_INSTANCE_VALUES
};

/* A compute instance. Several of one GPU instance have its memory and its profile. */
struct child_gpu_instance {
	uint32_t gi, ci;
	uint32_t slices;    /* of the GPU instance; 0: unknown, as the next two */
	uint32_t ci_slices; /* of this compute instance */
	uint32_t sm_count;  /* likewise */
	uint32_t have;      /* bits 1 << enum child_gpu_instance_value */
	uint64_t value[CHILD_GPU_INSTANCE_VALUES];
	char uuid[CHILD_GPU_UUID_BYTES];
	struct child_gpu_profile profile;
};

struct child_gpu_instances {
	struct child_head head;
	uint32_t index;  /* of the device */
	uint32_t slices; /* that it has; 0: unknown */
	uint64_t read_ns;
	char uuid[CHILD_GPU_UUID_BYTES];
	struct child_gpu_instance items[]; /* head.count, ascending by gi and ci */
};

/* bits of child_gpu_process.have */
enum child_gpu_process_value {
	CHILD_GPU_PROCESS_MEMORY,
	CHILD_GPU_PROCESS_BUSY,
	CHILD_GPU_PROCESS_PEAK,
	CHILD_GPU_PROCESS_VALUES
};

struct child_gpu_process {
	uint32_t pid;    /* in the host's namespace */
	uint32_t gi, ci; /* CHILD_GPU_NONE: none */
	uint16_t have, ended;
	uint64_t memory_bytes, peak_bytes;
	/* ns of the whole device's time, since ceems-gpu saw it first */
	uint64_t busy_ns;
	uint64_t seen_ns; /* boot time at which it was on the device */
};

struct child_gpu_processes {
	struct child_head head;
	uint32_t index;    /* of the device */
	uint32_t left_out; /* there was no room for so many */
	uint64_t read_ns;
	char uuid[CHILD_GPU_UUID_BYTES];
	struct child_gpu_process items[]; /* head.count, ascending by pid, gi and ci */
};

/* bits of child_gpu_vgpu.have */
enum child_gpu_vgpu_value {
	CHILD_GPU_VGPU_USED,
	CHILD_GPU_VGPU_SIZE,
	CHILD_GPU_VGPU_BUSY,
	CHILD_GPU_VGPU_VALUES
};

/* A part of the device that a virtual machine has (vGPU) */
struct child_gpu_vgpu {
	uint32_t id;       /* the driver's number, until the machine ends */
	uint32_t gi;       /* GPU instance that it is in; CHILD_GPU_NONE: none */
	uint32_t have;     /* bits 1 << enum child_gpu_vgpu_value */
	uint32_t busy_ppm; /* of the device, in the time since the last reading */
	uint64_t used_bytes, size_bytes; /* of its frame buffer */
	char vm[CHILD_GPU_UUID_BYTES];   /* UUID of the machine, in small letters; "":
					    not known, or only a number */
	char type[64];
};

struct child_gpu_vgpus {
	struct child_head head;
	uint32_t index; /* of the device */
	uint32_t pad;
	uint64_t read_ns;
	char uuid[CHILD_GPU_UUID_BYTES];
	struct child_gpu_vgpu items[]; /* head.count, ascending by id */
};

_Static_assert(CHILD_GPU_VALUES <= 64, "they fit into child_gpu.have");
_Static_assert(sizeof(struct child_gpu_profile) == 176, "layout");
_Static_assert(sizeof(struct child_gpu) == 680, "layout");
_Static_assert(sizeof(struct child_gpu_instance) == 264, "layout");
_Static_assert(sizeof(struct child_gpu_instances) == 104, "layout");
_Static_assert(sizeof(struct child_gpu_process) == 48, "layout");
_Static_assert(sizeof(struct child_gpu_processes) == 104, "layout");
_Static_assert(sizeof(struct child_gpu_processes) +
			       CHILD_GPU_PROCESSES_MAX *
				       sizeof(struct child_gpu_process) <=
		       CHILD_MESSAGE_MAX,
	       "the longest message fits");
_Static_assert(sizeof(struct child_gpu_vgpu) == 144, "layout");
_Static_assert(sizeof(struct child_gpu_vgpus) == 104, "layout");
_Static_assert(sizeof(struct child_factor) == 112, "layout");
_Static_assert(sizeof(struct child_factors) +
			       CHILD_FACTORS_MAX * sizeof(struct child_factor) <=
		       CHILD_MESSAGE_MAX,
	       "the longest message fits");
_Static_assert(sizeof(struct child_head) == 40, "layout");
_Static_assert(sizeof(struct child_hello) == 80, "layout");
_Static_assert(sizeof(struct child_health) == 312, "layout");
_Static_assert(sizeof(struct child_shipping) == 112, "layout");
_Static_assert(sizeof(struct child_profile) == 184, "layout");
_Static_assert(sizeof(struct child_channel) == 136, "layout");
_Static_assert(sizeof(struct child_snapshot) == 56, "layout");
_Static_assert(sizeof(struct child_snapshot) +
			       CHILD_CHANNELS_MAX * sizeof(struct child_channel) <=
		       CHILD_MESSAGE_MAX,
	       "the longest message fits");

/* Whether it is a whole message of this version with every length, enum and string
 * within bounds. data is aligned to 8. Returns its kind or -EBADMSG. */
int child_msg_check(const void *data, size_t len, struct err *err);

/* Fills a head of a message that the caller has zeroed. bytes: of the whole message. */
void child_msg_head(struct child_head *h, enum child_kind kind, const char *name,
		    uint32_t count, size_t bytes);

#endif
