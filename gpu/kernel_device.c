/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What AMD's and Intel's devices have in common: files of sysfs. Units: the kernel's
 * Documentation/hwmon/sysfs-interface.rst. */
#include "gpu/kernel_device.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "gpu/device.h"
#include "lib/fs.h"

#define GENERATION "class/kfd/kfd/topology/generation_id"
#define PATH_BYTES (DRM_HWMON_BYTES + 64)

static uint64_t read_kfd_generation(int sysfd)
{
	uint64_t v = 0;

	return fs_read_u64_at(sysfd, GENERATION, &v, NULL) == 0 ? v : 0;
}

void kernel_device_open(struct kernel_device *k, int sysfd, const struct drm_gpu *g)
{
	*k = (struct kernel_device){.sysfd = sysfd, .gpu = *g};
	drm_gpu_folder(g, k->folder);
	if (drm_gpu_hwmon(sysfd, g, k->hwmon) < 0)
		k->hwmon[0] = '\0';
	k->generation = read_kfd_generation(sysfd);
}

static int number_in(const struct kernel_device *k, const char *folder,
		     const char *name, uint64_t *ret)
{
	char path[PATH_BYTES];
	int n = snprintf(path, sizeof(path), "%s/%s", folder, name);

	if (n < 0 || (size_t)n >= sizeof(path))
		return -ENAMETOOLONG;
	return fs_read_u64_at(k->sysfd, path, ret, NULL);
}

int kernel_device_number(const struct kernel_device *k, const char *name, uint64_t *ret)
{
	return number_in(k, k->folder, name, ret);
}

int kernel_device_hwmon(const struct kernel_device *k, const char *name, uint64_t *ret)
{
	return k->hwmon[0] ? number_in(k, k->hwmon, name, ret) : -ENOENT;
}

void kernel_device_keep(struct child_gpu *m, enum child_gpu_value which, int rc,
			uint64_t number, uint64_t scale)
{
	uint64_t v;

	if (rc < 0 || child_gpu_has(m, which) ||
	    __builtin_mul_overflow(number, scale, &v))
		return;
	m->value[which] = v;
	m->have |= 1ull << which;
}

int kernel_device_check(const struct kernel_device *k, struct err *err)
{
	if (faccessat(k->sysfd, k->folder, F_OK, 0) < 0)
		return err_set(err, -ENODEV, "%s: %s", k->gpu.pci, strerror(errno));
	if (k->gpu.driver == DRM_AMDGPU &&
	    read_kfd_generation(k->sysfd) != k->generation)
		return err_set(err, -ENODEV, "%s: the partitions have changed",
			       k->gpu.pci);
	return 0;
}

static bool is_suspended(const struct kernel_device *k)
{
	char path[PATH_BYTES], text[16];
	static const char suspended[] = "suspended";

	(void)snprintf(path, sizeof(path), "%s/power/runtime_status", k->folder);
	return fs_read_at(k->sysfd, path, text, sizeof(text), NULL) > 0 &&
	       strncmp(text, suspended, strlen(suspended)) == 0;
}

int kernel_device_look(struct kernel_device *k, struct err *err)
{
	int rc = kernel_device_check(k, err);

	k->sleeps = rc == 0 && is_suspended(k);
	return rc;
}

/* The board's name, where it has one; it is the vendor's text. */
static void read_model(const struct kernel_device *k, struct child_gpu *m)
{
	static const char *const drivers[DRM_DRIVERS] = {"amdgpu", "xe", "i915"};
	char path[PATH_BYTES], text[sizeof(m->model)] = "";

	(void)snprintf(path, sizeof(path), "%s/product_name", k->folder);
	ssize_t n = fs_read_at(k->sysfd, path, text, sizeof(text), NULL);
	for (ssize_t i = 0; i < n; i++)
		if (text[i] == '\n')
			text[i] = '\0';
		else if ((unsigned char)text[i] < 0x20 ||
			 (unsigned char)text[i] >= 0x7f)
			text[i] = '?';
	if (n > 0 && *text)
		memcpy(m->model, text, sizeof(text));
	else
		(void)snprintf(m->model, sizeof(m->model), "%s %04x",
			       drivers[k->gpu.driver], k->gpu.device_id);
}

void kernel_device_identify(const struct kernel_device *k, uint32_t index,
			    struct child_gpu *m)
{
	m->index = index;
	m->vendor = k->gpu.driver == DRM_AMDGPU ? CHILD_GPU_AMD : CHILD_GPU_INTEL;
	m->minor = k->gpu.render;
	m->mig = k->gpu.partition_count > 1;
	(void)snprintf(m->uuid, sizeof(m->uuid), "%s", k->gpu.pci);
	(void)snprintf(m->pci, sizeof(m->pci), "%s", k->gpu.pci);
	read_model(k, m);
}

void kernel_device_start(struct device *d, struct kernel_device *k, uint32_t index)
{
	static const struct device_ops amd = {
		.energy = amd_energy, .read = amd_read, .send = amd_send};
	static const struct device_ops intel = {.energy = intel_energy,
						.read = intel_read};

	d->ops = k->gpu.driver == DRM_AMDGPU ? &amd : &intel;
	d->kernel = k;
	d->has_counter = true;
	k->sleeps = is_suspended(k);
	kernel_device_identify(k, index, &d->out.m);
}
