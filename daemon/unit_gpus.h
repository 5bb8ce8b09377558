/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_DAEMON_UNIT_GPUS_H
#define CEEMS_DAEMON_UNIT_GPUS_H

#include <stdbool.h>
#include <stddef.h>

#include "daemon/env.h"
#include "daemon/gpus.h"
#include "daemon/units.h"
#include "lib/buf.h"
#include "lib/prom.h"

/*
 * ceems_compute_unit_gpu_index_flag. Each slurmd of this host (one, unless it runs with
 * -N) has its own devices: its map is made when its first unit with a gpu comes, and
 * retried each minute while that fails. It is made anew after a reload of the daemon
 * and when a unit starts ten minutes after the last time; units that started before
 * keep the devices that they had.
 */
struct gpu_maps;

struct gpu_maps *gpu_maps_new(const struct env *env); /* NULL: no memory */
void gpu_maps_free(struct gpu_maps *m);

/* gpus_of() with the map of the unit's slurmd, which is asked if needed; patient: and
 * given a moment, once a minute at most. -EAGAIN: no answer yet; other errors: there
 * will be none. Serialised by the caller. */
int gpu_maps_of(struct gpu_maps *m, const struct unit *unit, bool patient,
		struct gpu_use *ret, size_t max);

/* The samples of one unit; rendered once, since its devices never change. */
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

/* Before gpu_maps_export() of virtual machines: what ceems-gpu says of their parts of
 * devices now. */
void gpu_maps_read_vgpus(struct gpu_maps *m);
void gpu_maps_export(struct gpu_maps *m, const struct unit *unit, struct unit_gpus *u,
		     struct prom *out);

/* Processes on the devices: whose they are, and those on a device that their unit was
 * not given. */
void gpu_maps_export_processes(struct gpu_maps *m, struct units *units,
			       struct prom *out);

#endif
