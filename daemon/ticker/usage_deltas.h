/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_DAEMON_TICKER_USAGE_DELTAS_H
#define CEEMS_DAEMON_TICKER_USAGE_DELTAS_H

#include "daemon/energy.h"
#include "daemon/gpus/gpu_maps.h"
#include "daemon/gpus/gpu_vgpus.h"
#include "daemon/gpus/gpus.h"
#include "daemon/sample.h"
#include "daemon/ticker/gpu_sharing.h"
#include "daemon/ticker/gpu_weights.h"
#include "daemon/units_energy.h"

/* Which part of a device a unit was given */
struct gpu_part {
	uint32_t instance;  /* GPU instance (MIG); GPUS_NONE: the device is whole */
	uint32_t share_ppm; /* of the instance, or of the whole device */
	bool by_mps;
	const struct gpu_vgpu *vgpu; /* a virtual machine's part; NULL: none */
	bool is_compute; /* one of several compute instances of the instance */
};

/* What the table's units used in one tick, as input of the attribution. Memory is kept
 * from tick to tick; {0} is valid. */
struct usage_deltas {
	struct energy_use *use;
	size_t count, cap;
	struct energy_account **accounts; /* of all units in the table, in order */
	size_t account_count;
	struct energy_gpu_share *gpus;
	struct gpu_part *parts; /* of each of gpus */
	size_t gpu_count, gpu_cap;
	bool gpus_unclear; /* somebody's are not known (yet) */
	struct gpus *map;  /* made when a GPU is first used */

	uint64_t cpu_ns;        /* of all units and leavers in this tick */
	uint64_t memory_kib_ms; /* likewise */
};

struct usage_deltas_params {
	struct units *units;
	struct sample *sample; /* NULL: memory use is unknown */
	uint64_t t0_ns, t1_ns;
	uint32_t gpus; /* devices that are measured; further ones are left out */
	struct gpu_maps *gpu_maps;             /* NULL: shares of GPUs are unknown */
	const struct gpu_weights *gpu_weights; /* NULL: those of instances (MIG) are */
	const struct gpu_vgpus *gpu_vgpus;     /* NULL: there are none */
	const struct gpu_sharing *gpu_sharing; /* NULL: shares of a device say it all */
	/* boot time from which on GPUs are charged in this tick, if that is before t0;
	 * 0: from t0 on */
	uint64_t gpus_from_ns;
	const uint32_t *activity_ppm; /* by unit; NULL: 1 for all */
	bool gpus_by_driver; /* devices have the driver's numbers, not Slurm's */
};

/* Fills w from the table and the draft, and records there what is now charged.
 * -ENOMEM. */
int usage_deltas_fill(struct usage_deltas *w, const struct usage_deltas_params *p,
		      struct energy_state *draft, struct err *err);
/* The same without charging anybody: use up to now belongs to no tick. */
void usage_deltas_skip(const struct usage_deltas_params *p, struct energy_state *draft);
/* Fills in the accounts only. -ENOMEM */
int usage_deltas_accounts(struct usage_deltas *w, struct units *u, struct err *err);
void usage_deltas_done(struct usage_deltas *w);

#endif
