/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_TEST_GPU_TREE_H
#define CEEMS_TEST_GPU_TREE_H

#include <fcntl.h>
#include <string.h>

#include "test/unit/scratch.h"

/* A /sys with devices of kernel drivers, laid out as the kernel documents and its
 * drivers write it; no such device was at hand. The driver's links are folders. */
struct gpu_tree {
	char path[SCRATCH_PATH];
	int sysfd;
};

static inline void gpu_tree_write(struct gpu_tree *t, const char *file,
				  const void *data, size_t len)
{
	char path[512];
	assert_true(snprintf(path, sizeof(path), "%s/%s", t->path, file) <
		    (int)sizeof(path));
	for (char *p = path + strlen(t->path) + 1; (p = strchr(p, '/')); p++) {
		*p = '\0';
		(void)mkdir(path, 0755);
		*p = '/';
	}
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	assert_true(fd >= 0);
	assert_true(write(fd, data, len) == (ssize_t)len);
	close(fd);
}

static inline void gpu_tree_put(struct gpu_tree *t, const char *file, const char *text)
{
	gpu_tree_write(t, file, text, strlen(text));
}

static inline void gpu_tree_make(struct gpu_tree *t)
{
	scratch_make(t->path);
	t->sysfd = open(t->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(t->sysfd >= 0);
}

static inline void gpu_tree_done(struct gpu_tree *t)
{
	close(t->sysfd);
	scratch_remove(t->path);
}

/* bus/pci/devices/<pci>/<file>; text NULL: a folder of that name */
static inline void gpu_tree_device(struct gpu_tree *t, const char *pci,
				   const char *file, const char *text)
{
	char path[256];
	(void)snprintf(path, sizeof(path), "bus/pci/devices/%s/%s%s", pci, file,
		       text ? "" : "/uevent");
	gpu_tree_put(t, path, text ? text : "");
}

/* A device of driver, with its device files */
static inline void gpu_tree_add(struct gpu_tree *t, const char *driver, const char *pci,
				const char *device_id, unsigned render, unsigned card)
{
	char name[64], path[256];
	(void)snprintf(path, sizeof(path), "bus/pci/drivers/%s/%s/uevent", driver, pci);
	gpu_tree_put(t, path, "");
	gpu_tree_device(t, pci, "device", device_id);
	(void)snprintf(name, sizeof(name), "drm/renderD%u", render);
	gpu_tree_device(t, pci, name, NULL);
	(void)snprintf(name, sizeof(name), "drm/card%u", card);
	gpu_tree_device(t, pci, name, NULL);
}

/* A node of kfd: location is bus << 8 | device << 3 | function, and the partition */
static inline void gpu_tree_node(struct gpu_tree *t, unsigned number, unsigned gpu_id,
				 unsigned location, unsigned render)
{
	char path[128], text[512];
	(void)snprintf(path, sizeof(path), "class/kfd/kfd/topology/nodes/%u/gpu_id",
		       number);
	(void)snprintf(text, sizeof(text), "%u\n", gpu_id);
	gpu_tree_put(t, path, text);
	(void)snprintf(path, sizeof(path), "class/kfd/kfd/topology/nodes/%u/properties",
		       number);
	(void)snprintf(text, sizeof(text),
		       "cpu_cores_count 0\nsimd_count 152\nmem_banks_count 1\n"
		       "simd_per_cu 4\nlocation_id %u\ndomain 0\n"
		       "drm_render_minor %u\nunique_id 7\nnum_xcc 1\n",
		       location, render);
	gpu_tree_put(t, path, text);
	(void)snprintf(path, sizeof(path),
		       "class/kfd/kfd/topology/nodes/%u/mem_banks/0/properties",
		       number);
	gpu_tree_put(t, path, "heap_type 1\nsize_in_bytes 25753026560\nwidth 8192\n");
}

#endif
