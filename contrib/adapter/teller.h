/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_CONTRIB_ADAPTER_TELLER_H
#define CEEMS_CONTRIB_ADAPTER_TELLER_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/cgroup.h"
#include "lib/log.h"
#include "lib/records/record.h"

/* What an adapter tells ceemsd by the ring (doc/ring.md). One thread. */

#define TELLER_FAILED_STATUS (1u << 8) /* exit(1), as wait(2) has it */

/* The hierarchies in which a unit's group may be, the best first; enum
 * record_cgroup_bit. */
#define TELLER_HIERARCHIES 8u
extern const uint32_t teller_hierarchies[TELLER_HIERARCHIES];

struct teller {
	const char *ring; /* path; borrowed */
	enum record_manager manager;
	uint64_t sent, refused; /* records */
	/* private */
	uint64_t ring_made_ns; /* of the ring that was told; 0: none yet */
	struct log_repeat log;
};

void teller_init(struct teller *t, enum record_manager manager, const char *ring);

/* A record of now. */
void teller_begin(struct record *r, enum record_type type, enum record_manager manager);

/* One record to the ring at path. 0 or negative errno. */
int teller_send_to(const char *ring, const struct record *r, struct err *err);

/* The same, counted, and logged if it is not possible. */
bool teller_send(struct teller *t, const struct record *r);
/* A sign of life. */
void teller_hello(struct teller *t);

/* Whether ceemsd has made a new ring, and with it a new table, since the last call: all
 * that runs must be told again. False at the first call. */
bool teller_ring_is_new(struct teller *t);

/* A number for this run of a unit, which outlives us: of the inode of the record's
 * control group, which the kernel does not use again. 0: there is no group. */
uint32_t teller_run(int cgroupfd, const struct cgroup_layout *layout,
		    const struct record *r);

#endif
