/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_DAEMON_GPUS_UNIT_GPUS_H
#define CEEMS_DAEMON_GPUS_UNIT_GPUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/env.h"
#include "daemon/gpus/gpu_vgpus.h"
#include "daemon/units.h"
#include "lib/buf.h"
#include "lib/log.h"
#include "lib/prom.h"

/* ceems_compute_unit_gpu_*: which devices the units of one manager have, and what those
 * do that a unit has as a whole. */
struct unit_gpus_export {
	const struct env *env;
	struct gpu_vgpus *vgpus; /* NULL: of Slurm's units alone */
	struct log_repeat unknown;
};

void unit_gpus_export_open(struct unit_gpus_export *x, const struct env *env);
void unit_gpus_export_close(struct unit_gpus_export *x);
/* Before the units of a scrape: which parts of devices virtual machines have now, and
 * which pods share one. */
void unit_gpus_export_begin(struct unit_gpus_export *x, enum record_manager manager);

/* The samples of one unit; of a job rendered once, since its devices never change. */
struct unit_gpus {
	bool done;
	size_t count;
	struct unit_gpu {
		struct buf labels;
		double share;
		uint32_t device;   /* the driver's number; GPUS_NONE: not known, or not
				      held as a whole, nor an instance of it */
		uint32_t instance; /* of the device (MIG); GPUS_NONE: all of it */
		uint32_t compute;  /* in that; GPUS_NONE: not known */
		bool is_part;      /* others hold compute instances of it, too */
	} * use;
};
void unit_gpus_done(struct unit_gpus *u);
void unit_gpus_put(struct unit_gpus_export *x, const struct unit *unit,
		   struct unit_gpus *u, struct prom *out);

#endif
