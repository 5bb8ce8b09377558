/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Intel's devices, by the files of xe and i915: hwmon's energy of the card, else of its
 * package (kernel Documentation/ABI/testing/sysfs-driver-intel-xe-hwmon and
 * sysfs-driver-intel-i915-hwmon). The driver widens the device's 32-bit counter, as
 * long as it is read more often than that wraps. */
#include <errno.h>
#include <stdio.h>

#include "gpu/device.h"
#include "gpu/kernel_device.h"
#include "lib/clock.h"

#define MHZ_HZ 1000000u

int intel_energy(struct device *d, uint64_t *ret_uj, struct err *err)
{
	struct kernel_device *k = d->kernel;

	if (k->sleeps) {
		*ret_uj = k->last_uj;
		return k->last_uj ? 0 : err_set(err, -EAGAIN, "it sleeps");
	}
	int rc = kernel_device_hwmon(k, "energy1_input", ret_uj);
	if (rc == -ENOENT && kernel_device_check(k, err) < 0)
		return -ENODEV;
	if (rc == -ENOENT)
		rc = kernel_device_hwmon(k, "energy2_input", ret_uj);
	if (rc < 0)
		return err_set(err, rc == -ENOENT ? -EOPNOTSUPP : rc,
			       "%s: energy counter", k->hwmon);
	k->last_uj = *ret_uj;
	return 0;
}

/* There is no sensor of it: what the counter rose since the last reading. */
static void keep_mean_power(struct kernel_device *k, struct child_gpu *m)
{
	uint64_t now_ns = clock_boottime_ns(), between_ns = now_ns - k->power_ns;

	if (k->power_ns && k->last_uj >= k->power_uj && between_ns >= NSEC_PER_SEC / 10)
		kernel_device_keep(
			m, CHILD_GPU_POWER, 0,
			(k->last_uj - k->power_uj) * 1000 / (between_ns / 1000000), 1);
	k->power_uj = k->last_uj;
	k->power_ns = k->last_uj ? now_ns : 0;
}

int intel_read(struct device *d, struct err *err)
{
	struct kernel_device *k = d->kernel;
	struct child_gpu *m = &d->out.m;
	char name[48];
	uint64_t v = 0;
	int rc = kernel_device_look(k, err);

	m->have = 0;
	if (rc < 0 || k->sleeps)
		return rc;
	keep_mean_power(k, m);
	rc = kernel_device_hwmon(k, "power1_max", &v);
	if (rc == 0 && !v) /* 0: no limit is in force */
		rc = -ENODATA;
	kernel_device_keep(m, CHILD_GPU_POWER_LIMIT, rc, v, 1);
	rc = kernel_device_hwmon(k, "temp2_input", &v); /* of the package */
	kernel_device_keep(m, CHILD_GPU_TEMPERATURE, rc, v, 1);
	rc = kernel_device_hwmon(k, "temp3_input", &v);
	kernel_device_keep(m, CHILD_GPU_MEMORY_TEMPERATURE, rc, v, 1);
	(void)snprintf(name, sizeof(name), "drm/card%u/gt_act_freq_mhz", k->gpu.card);
	rc = kernel_device_number(k, name, &v);
	if (rc < 0)
		rc = kernel_device_number(k, "tile0/gt0/freq0/act_freq", &v);
	kernel_device_keep(m, CHILD_GPU_SM_CLOCK, rc, v, MHZ_HZ);
	return 0;
}
