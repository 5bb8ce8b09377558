/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LIB_RECORDS_CHILD_MSG_H
#define CEEMS_LIB_RECORDS_CHILD_MSG_H

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
	CHILD_HELLO = 1, /* first message of a connection */
	CHILD_HEALTH,    /* of a task, when it changes */
	CHILD_SNAPSHOT,  /* of an energy source */
	CHILD_FACTORS,   /* of a provider of emission factors */
	CHILD_SHIPPING,  /* of the records that go to the aggregator */
	CHILD_GPU,       /* of a device: name is gpu<index> */
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

/* A value that is read each second and older than this is not shown. */
#define CHILD_GPU_STALE_NS 10000000000ull

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
	CHILD_GPU_VALUES
};

struct child_gpu_point {
	uint64_t at_ns; /* boot time */
	uint64_t uj;    /* the device's counter */
};

struct child_gpu {
	struct child_head head;
	uint32_t index;   /* the vendor's */
	uint32_t minor;   /* of the device file; UINT32_MAX: unknown */
	uint32_t have;    /* bits 1 << enum child_gpu_value */
	uint32_t mig;     /* 1: the device is divided into instances */
	uint64_t read_ns; /* boot time of value */
	uint64_t value[CHILD_GPU_VALUES];
	uint64_t serial; /* of the newest of points: counts them all */
	char uuid[48], pci[32], model[64];
	struct child_gpu_point points[]; /* head.count, times and serials ascending */
};

_Static_assert(sizeof(struct child_gpu) == 288, "layout");
_Static_assert(sizeof(struct child_factor) == 112, "layout");
_Static_assert(sizeof(struct child_factors) +
			       CHILD_FACTORS_MAX * sizeof(struct child_factor) <=
		       CHILD_MESSAGE_MAX,
	       "the longest message fits");
_Static_assert(sizeof(struct child_head) == 40, "layout");
_Static_assert(sizeof(struct child_hello) == 80, "layout");
_Static_assert(sizeof(struct child_health) == 312, "layout");
_Static_assert(sizeof(struct child_shipping) == 112, "layout");
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
