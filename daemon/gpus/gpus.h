/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_DAEMON_GPUS_GPUS_H
#define CEEMS_DAEMON_GPUS_GPUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/err.h"

/*
 * Maps Slurm's GPU index to a device. SLURM_JOB_GPUS and SLURM_STEP_GPUS hold gres
 * indices: positions among the gpu devices of gres.conf, neither device minors nor NVML
 * indices. `slurmd -G` lists those devices in that order; the NVIDIA driver's procfs
 * says which UUID a device file has, and sysfs which of AMD's or Intel's devices
 * (lib/drm/drm_gpus.h), whose UUID here is the PCI address and whose instance the
 * partition. Made once at start, then only read; no locks.
 *
 * Sources: Slurm src/interfaces/gres.c (_log_gres_slurmd_conf: what -G prints),
 * src/plugins/gres/common/gres_common.c; NVIDIA driver README "procfs interface",
 * /proc/driver/nvidia-caps/mig-minors (MIG user guide, "Device nodes and
 * capabilities").
 */

#define GPUS_MAX 128
#define GPUS_UUID_MAX 48
#define GPUS_NAME_MAX 32
#define GPUS_FILE_MAX 64
#define GPUS_NONE UINT32_MAX

struct gpu {
	uint32_t index;     /* Slurm's: position in this table */
	uint32_t smi_index; /* of the physical device as nvidia-smi counts; GPUS_NONE */
	uint32_t minor;     /* of /dev/nvidiaN; GPUS_NONE */
	uint32_t instance;  /* MIG gpu instance id; GPUS_NONE: a whole device */
	uint32_t compute;   /* compute instance id in that; GPUS_NONE: not known */
	char uuid[GPUS_UUID_MAX]; /* of the physical device ("GPU-..."), "" not known */
	char type[GPUS_NAME_MAX]; /* gres type, "" none */
	char file[GPUS_FILE_MAX]; /* first device file, "" when gres.conf has none */
	char cap[GPUS_FILE_MAX];  /* MIG: the capability device of the gpu instance */
	char compute_cap[GPUS_FILE_MAX]; /* and that of the compute instance */
	uint32_t shards;                 /* gres shards on this device, 0: none */
	uint32_t parts; /* MIG instances of its physical device in this table; 0: whole
			 */
	uint32_t siblings; /* of these, those of the same GPU instance, itself too */
};

/* A physical device as the driver knows it, in PCI order as nvidia-smi counts. */
struct gpu_device {
	uint32_t minor;
	char pci[24];
	char uuid[GPUS_UUID_MAX];
};

struct gpus {
	bool managed; /* this node's Slurm has gres gpu: it sets the variables itself */
	bool shards, mps; /* gres shard / mps are configured here */
	bool cut; /* there are more than GPUS_MAX devices: the rest is not known */
	uint32_t count;
	uint64_t shard_count; /* shards on the whole node; per device: / count */
	struct gpu gpu[GPUS_MAX];
	uint32_t device_count; /* by gpus_resolve() */
	struct gpu_device device[GPUS_MAX];
};

/* Text of `slurmd -G` (stdout and stderr together: it prints to stderr). Other lines
 * than gres are skipped; accepts any bytes. -EINVAL names a malformed gres line; *ret
 * is untouched. No gpu line is not an error: managed = false. */
int gpus_parse(const char *text, size_t len, struct gpus *ret, struct err *err);

/* Runs slurmd -G (path: absolute; node: -N's argument or NULL) and parses it.
 * -ENOENT: no slurmd here. Takes at most 10 s. Of our environment slurmd gets only
 * SLURM_CONF. */
int gpus_probe(const char *slurmd, const char *node, struct gpus *ret, struct err *err);

/* Fills minor, uuid, instance and smi_index from procfd and sysfd (an open /proc and
 * /sys, or fixtures). Devices that no driver knows keep their "not known". -ENODEV: no
 * driver. */
int gpus_resolve(struct gpus *g, int procfd, int sysfd, struct err *err);

/* --collector.slurm.gpu-order-map: "slurm:smi[.instance[.compute]],..." such as
 * "0:1,1:0.3,2:0.4,3:0.5,4:0.6". Overrides smi_index, instance, compute and (by
 * smi_index) uuid of the devices named; indices beyond count are added. -EINVAL says
 * which entry. "" is nothing to do. */
int gpus_apply_order_map(struct gpus *g, const char *map, struct err *err);

/* A GPU of a unit, for ceems_compute_unit_gpu_index_flag. */
struct gpu_use {
	const struct gpu *gpu; /* borrowed from g */
	double share;          /* 0 < share <= 1 */
};

/* gpus and gpu_share are struct record's (flags & RECORD_GPUS_TRUSTED already checked).
 * Writes at most max uses and returns how many; 0 when Slurm does not manage gpus here
 * (the variables are then the user's own); -EINVAL for a malformed list, -ERANGE for an
 * index that this node does not have. */
int gpus_of(const struct gpus *g, const char *gpus, const char *gpu_share,
	    struct gpu_use *ret, size_t max, struct err *err);

#endif
