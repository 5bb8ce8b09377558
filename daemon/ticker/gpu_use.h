/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_DAEMON_TICKER_GPU_USE_H
#define CEEMS_DAEMON_TICKER_GPU_USE_H

#include "daemon/ticker/gpu_readings.h"
#include "daemon/ticker/usage_deltas.h"
#include "daemon/units_report.h"

/* Adds the new readings of devices, and of GPU instances (MIG), to the units that held
 * them as a whole at that moment (daemon/units_report.h). Each reading stands for the
 * time since the one before, or since the unit began. Of a device that several units
 * share each has what its processes did, as far as the driver tells; of a part of an
 * instance nothing is known. */
void gpu_use_add(struct units *u, const struct usage_deltas *w,
		 const struct gpu_readings *r, const struct gpu_sharing *s);

#endif
