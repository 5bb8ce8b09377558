/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LIB_RECORDS_COURIER_MSG_H
#define CEEMS_LIB_RECORDS_COURIER_MSG_H

#include <stddef.h>
#include <stdint.h>

#include "lib/emissions/emission.h"
#include "lib/err.h"

/*
 * What ceems-courier tells ceemsd, one datagram each over a SOCK_SEQPACKET pair: a
 * head, a fixed part and head.count items of one size, in the machine's own byte order.
 * Both come from the same build, but the courier talks to the network, so the receiver
 * trusts nothing before courier_msg_check().
 */

#define COURIER_MAGIC 0x31524f43u /* "COR1" */
#define COURIER_VERSION 1u
#define COURIER_MESSAGE_MAX 32768u
#define COURIER_NAME_BYTES 24
#define COURIER_CHANNELS_MAX 128u
#define COURIER_FACTORS_MAX 256u

enum courier_kind {
	COURIER_HELLO = 1, /* first message of a connection */
	COURIER_HEALTH,    /* of a task, when it changes */
	COURIER_SNAPSHOT,  /* of an energy source */
	COURIER_FACTORS,   /* of a provider of emission factors */
	COURIER_SHIPPING,  /* of the records that go to the aggregator */
	COURIER_KINDS
};

struct courier_head {
	uint32_t magic;
	uint16_t version, kind;
	uint32_t bytes; /* of the whole message */
	uint32_t count;
	char name[COURIER_NAME_BYTES]; /* of the task or source; NUL-terminated */
};

struct courier_hello {
	struct courier_head head;
	char program[40]; /* its version */
};

struct courier_health {
	struct courier_head head;
	int32_t rc; /* result of the last poll: 0 or negative errno */
	uint32_t pad;
	uint64_t since_ns; /* boot time */
	char text[256];    /* why, without secrets */
};

enum courier_channel_kind {
	COURIER_ENERGY, /* microjoules since the source was opened */
	COURIER_POWER,  /* microwatts */
	COURIER_POWER_MIN,
	COURIER_POWER_MAX,
	COURIER_POWER_AVG,
	COURIER_CHANNEL_KINDS
};

enum courier_domain { COURIER_DOMAIN_NONE, COURIER_DOMAIN_HOST, COURIER_DOMAINS };

struct courier_channel {
	uint8_t kind, domain;
	uint16_t pad;
	uint32_t index;
	uint64_t value, raw; /* as in struct source_channel */
	uint64_t measured_ns;
	char name[40], chip[64];
};

struct courier_snapshot {
	struct courier_head head;
	uint64_t sampled_ns;
	uint64_t period_ms; /* time between snapshots, the server's slowness included */
	struct courier_channel channels[]; /* head.count */
};

/* Totals since the courier started */
struct courier_shipping {
	struct courier_head head;
	uint64_t accepted, refused, set_aside; /* records */
	uint64_t posts, failures;              /* requests; those without a 200 */
	uint64_t bytes;                        /* of bodies */
	uint64_t waiting;                      /* records read but not yet sent */
	uint64_t waiting_since_ns;             /* boot time; 0: none is waiting */
	uint64_t last_taken_s;                 /* CLOCK_REALTIME; 0: none yet */
};

/* What struct emission_factor is in the program */
struct courier_factor {
	char zone[EMISSION_ZONE_BYTES];
	char country[EMISSION_COUNTRY_BYTES];
	uint64_t mg_per_kwh, time_s;
};

struct courier_factors {
	struct courier_head head;
	struct courier_factor factors[]; /* head.count */
};

_Static_assert(sizeof(struct courier_factor) == 112, "layout");
_Static_assert(sizeof(struct courier_factors) +
			       COURIER_FACTORS_MAX * sizeof(struct courier_factor) <=
		       COURIER_MESSAGE_MAX,
	       "the longest message fits");
_Static_assert(sizeof(struct courier_head) == 40, "layout");
_Static_assert(sizeof(struct courier_hello) == 80, "layout");
_Static_assert(sizeof(struct courier_health) == 312, "layout");
_Static_assert(sizeof(struct courier_shipping) == 112, "layout");
_Static_assert(sizeof(struct courier_channel) == 136, "layout");
_Static_assert(sizeof(struct courier_snapshot) == 56, "layout");
_Static_assert(sizeof(struct courier_snapshot) +
			       COURIER_CHANNELS_MAX * sizeof(struct courier_channel) <=
		       COURIER_MESSAGE_MAX,
	       "the longest message fits");

/* Whether it is a whole message of this version with every length, enum and string
 * within bounds. data is aligned to 8. Returns its kind or -EBADMSG. */
int courier_msg_check(const void *data, size_t len, struct err *err);

/* Fills a head of a message that the caller has zeroed. bytes: of the whole message. */
void courier_msg_head(struct courier_head *h, enum courier_kind kind, const char *name,
		      uint32_t count, size_t bytes);

#endif
