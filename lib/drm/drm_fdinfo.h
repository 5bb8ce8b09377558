/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LIB_DRM_DRM_FDINFO_H
#define CEEMS_LIB_DRM_DRM_FDINFO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * What a DRM driver tells of a client: an open file of /dev/dri, which several
 * descriptors of several processes may share. Keys: the kernel's
 * Documentation/gpu/drm-usage-stats.rst, of which amdgpu, xe and i915 have those below.
 */

#define DRM_ENGINES_MAX 16u
#define DRM_REGIONS_MAX 16u
#define DRM_NAME_BYTES 24 /* of an engine, region or driver */
#define DRM_PDEV_BYTES 24 /* "0000:03:00.0" */

/* A kind of engine, all engines of which are counted together */
struct drm_engine {
	char name[DRM_NAME_BYTES]; /* "render", "vcs", "gfx" */
	bool in_cycles;            /* then the last two are told, else the first */
	uint64_t busy_ns;
	uint64_t cycles, total_cycles; /* busy; and passed, whoever was busy */
};

struct drm_fdinfo {
	char driver[DRM_NAME_BYTES];
	char pdev[DRM_PDEV_BYTES];
	uint64_t client;
	uint32_t engine_count;
	struct drm_engine engines[DRM_ENGINES_MAX];
	bool has_memory;
	/* Of the device's own memory ("vram0", "local0") what backs the client's
	 * buffers; of a device without any, of the machine's. Buffers that clients
	 * share are in each. */
	uint64_t memory_bytes;
};

/* Text of a file of /proc/PID/fdinfo; takes any bytes. -ENODATA: not of a DRM file, or
 * of a driver that does not tell device and client; -EINVAL: these are malformed. What
 * else is malformed, or beyond the bounds above, is left out. */
int drm_fdinfo_parse(const char *text, size_t len, struct drm_fdinfo *ret);

#endif
