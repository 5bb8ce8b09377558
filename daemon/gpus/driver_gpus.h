/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_DAEMON_GPUS_DRIVER_GPUS_H
#define CEEMS_DAEMON_GPUS_DRIVER_GPUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/env.h"
#include "daemon/gpus/gpus.h"
#include "daemon/units.h"
#include "lib/records/record.h"

/*
 * GPUs of units whose manager names devices, not Slurm's indices: pods. A device plugin
 * gives NVIDIA's UUID of a GPU or of a MIG instance, AMD's PCI address or partition,
 * Intel's DRM card; the unit table keeps the driver's numbers, "0,1.3.0": device, GPU
 * instance, compute instance, as --collector.slurm.gpu-order-map has them. One that
 * several pods have (replicas of time slicing, MPS, two plugins that hand out the same
 * one) is held by each in an equal part; who uses how much of it its processes tell.
 *
 * Sources: NVIDIA k8s-device-plugin (internal/rm: UUIDs, "::" before the number of a
 * replica), the driver's "MIG-<UUID>" and, before 470, "MIG-GPU-<UUID>/<GI>/<CI>", in
 * records in two parts (CUDA C Programming Guide, "CUDA_VISIBLE_DEVICES"); Google's
 * container-engine-accelerators ("nvidia0/gi1/vgpu0"); ROCm k8s-device-plugin (PCI
 * address, "amdgpu_xcp_N" of a partition); Intel's gpu_plugin ("card0-0": card and
 * number of the share).
 *
 * All calls are serialised by the caller. d is NULL-safe: nothing is known then.
 */
struct driver_gpus;

#define DRIVER_GPUS_SHARED "shared" /* a unit's gpu_share: of all its devices */

struct driver_gpus *driver_gpus_new(const struct env *env); /* NULL: no memory */
void driver_gpus_free(struct driver_gpus *d);

/* The devices that r names, as r->gpus and r->gpu_share, which are trusted from then
 * on; what is no GPU is left out. Returns how many there are; err then names one more
 * that this host does not have, or is "". -EAGAIN: a MIG instance that ceems-gpu has
 * not told of yet, or one that is not known while the driver is asked; -ENODEV: the
 * host has none of them; -ENOSPC: there is no room. r is unchanged then. */
int driver_gpus_take(struct driver_gpus *d, struct record *r, struct err *err);

/* Looks which pods share a device now, if any pod has one, and learns at most once a
 * second which devices there are, from the driver's files once a minute. Before
 * driver_gpus_of(), at each tick and scrape. */
void driver_gpus_look(struct driver_gpus *d, struct units *u);

/* The devices of such a unit, as gpus_of(); valid until driver_gpus_look(). -EAGAIN:
 * ceems-gpu has not told yet what a device is divided into. */
int driver_gpus_of(const struct driver_gpus *d, const struct unit *unit,
		   struct gpu_use *ret, size_t max, struct err *err);

/* How many devices a unit's list of numbers has. */
uint32_t driver_gpus_count(const char *gpus);

/* Whether pods' devices are told at all: some pod has one. Else that a pod has none is
 * not known. */
bool driver_gpus_told(const struct driver_gpus *d);

#endif
