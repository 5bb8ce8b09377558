/* SPDX-License-Identifier: GPL-2.0-or-later */
/* AMD's devices, by the files of amdgpu: gpu_metrics for energy and throttling, hwmon
 * and the device's own files, whose units are documented, for all else (kernel
 * Documentation/gpu/amdgpu/thermal.rst and driver-misc.rst). */
#include <errno.h>
#include <stdio.h>

#include "gpu/amd_metrics.h"
#include "gpu/device.h"
#include "gpu/kernel_device.h"
#include "gpu/kfd.h"
#include "lib/clock.h"
#include "lib/fs.h"

#define PERCENT_PPM 10000u
#define FROZEN_NS                                                                      \
	(10 * NSEC_PER_SEC) /* no device that is awake takes nothing so long */

/* Accelerators whose accumulator counts 2^-16 J although their table's version does not
 * say so: 15.3 uJ is the resolution that ROCm SMI gives for them
 * (rsmi_dev_energy_count_get). MI100, MI200, MI300, MI350. */
static const uint16_t counts_in_joules[] = {
	0x738c, 0x738e, 0x7408, 0x740c, 0x740f, 0x7410, 0x74a0,
	0x74a1, 0x74a2, 0x74a5, 0x74a8, 0x74a9, 0x75a0, 0x75a3,
};

static bool is_in_joules(const struct kernel_device *k, const struct amd_metrics *m)
{
	size_t n = sizeof(counts_in_joules) / sizeof(counts_in_joules[0]);

	for (size_t i = 0; i < n; i++)
		if (counts_in_joules[i] == k->gpu.device_id)
			return true;
	return m->energy_in_joules;
}

/* MI250 and MI250X: two devices to the kernel, one module */
static bool is_die(const struct kernel_device *k)
{
	return k->gpu.device_id == 0x7408 || k->gpu.device_id == 0x740c;
}

static int read_metrics(const struct kernel_device *k, struct amd_metrics *ret,
			struct err *err)
{
	char path[DRM_FOLDER_BYTES + 16], data[AMD_METRICS_MAX + 1];

	(void)snprintf(path, sizeof(path), "%s/gpu_metrics", k->folder);
	ssize_t n = fs_read_at(k->sysfd, path, data, sizeof(data), err);
	return n < 0 ? (int)n : amd_metrics_parse(data, (size_t)n, ret, err);
}

/* 1: the device tells neither power nor energy; negative errno: it cannot be read */
static int tells_no_power(const struct kernel_device *k, struct err *err)
{
	struct amd_metrics m;
	int rc = read_metrics(k, &m, err);

	if (rc < 0)
		return rc;
	return m.have >> AMD_ENERGY & 1 && m.have >> AMD_POWER & 1 &&
	       !m.value[AMD_ENERGY] && !m.value[AMD_POWER];
}

void amd_find_neighbours(struct kernel_device *devices, uint32_t count)
{
	struct kernel_device *first = NULL;
	uint32_t dies = 0;

	for (uint32_t i = 0; i < count; i++)
		dies += is_die(&devices[i]);
	if (dies % 2) /* one is not ours to see: whose neighbour is whose? */
		return;
	for (uint32_t i = 0; i < count; i++) {
		struct kernel_device *k = &devices[i];
		if (!is_die(k))
			continue;
		if (first) {
			first->neighbour = k;
			k->neighbour = first;
		}
		first = first ? NULL : k;
	}
}

/* Here and not at the start, since a read can hang. The dies of a module have addresses
 * beside each other. */
static int find_module(struct kernel_device *k, struct err *err)
{
	if (!k->neighbour || k->is_paired)
		return 0;
	int own = tells_no_power(k, err);
	int other = own < 0 ? own : tells_no_power(k->neighbour, err);
	if (other < 0)
		return other;
	if (own != other) {
		k->module = own ? k->neighbour : k;
		k->second_half = own;
	}
	k->is_paired = true;
	return 0;
}

static uint64_t half_of(const struct kernel_device *k, uint64_t v)
{
	if (!k->module)
		return v;
	return k->second_half ? v - v / 2 : v / 2;
}

/* For good: the device is not asked again. */
static int end_counter(const struct kernel_device *k, struct err *err, const char *why)
{
	int rc = err_set(err, -EOPNOTSUPP, "%s: %s", k->gpu.pci, why);

	log_warn("%s: its power is integrated instead", err->text);
	return rc;
}

/* A counter that stands still while the device draws power is broken. */
static bool is_frozen(struct kernel_device *k, const struct amd_metrics *m)
{
	uint64_t now_ns = clock_boottime_ns(), counts = m->value[AMD_ENERGY];

	if (!k->has_moved || counts != k->counts || !(m->have >> AMD_POWER & 1) ||
	    !m->value[AMD_POWER]) {
		k->has_moved = true;
		k->counts = counts;
		k->moved_ns = now_ns;
	}
	return now_ns - k->moved_ns > FROZEN_NS;
}

int amd_energy(struct device *d, uint64_t *ret_uj, struct err *err)
{
	struct kernel_device *k = d->kernel;
	struct amd_metrics m;
	struct err table = {""};

	if (k->sleeps) {
		k->has_moved = false;
		*ret_uj = k->last_uj;
		return k->last_uj ? 0 : err_set(err, -EAGAIN, "it sleeps");
	}
	int rc = find_module(k, &table);
	if (rc == 0)
		rc = read_metrics(k->module ? k->module : k, &m, &table);
	if (rc == -ENOENT && kernel_device_check(k, err) < 0)
		return -ENODEV;
	if (rc == -EPROTO || rc == -EBADMSG || rc == -ENOENT)
		return end_counter(k, err, table.text);
	if (rc < 0)
		return err_set(err, rc, "%s: %s", k->gpu.pci, table.text);
	if (!(m.have >> AMD_ENERGY & 1) || !is_in_joules(k, &m))
		return end_counter(k, err, "no energy counter of known unit");
	if (is_frozen(k, &m))
		return end_counter(k, err, "the energy counter stands still");
	*ret_uj = k->last_uj = half_of(k, amd_metrics_uj(m.value[AMD_ENERGY]));
	return 0;
}

/* bits of SMU_THROTTLER_* in the kernel's amdgpu_smu.h */
static uint64_t reasons_of(uint64_t throttle)
{
	uint64_t reasons = 0;

	if (throttle & 0xff00ffull) /* power, and current by the clocks' limits */
		reasons |= 1u << CHILD_GPU_REASON_POWER_CAP;
	if (throttle >> 32 & 0xfff)
		reasons |= 1u << CHILD_GPU_REASON_THERMAL;
	if (throttle >> 44 & 0xf)
		reasons |= 1u << CHILD_GPU_REASON_HARDWARE |
			   1u << CHILD_GPU_REASON_THERMAL_HARDWARE;
	return reasons;
}

static void read_power(const struct kernel_device *k, struct child_gpu *m)
{
	const struct kernel_device *from = k->module ? k->module : k;
	uint64_t v = 0;

	int rc = kernel_device_hwmon(from, "power1_average", &v);
	kernel_device_keep(m, CHILD_GPU_POWER, rc, half_of(k, v), 1);
	rc = kernel_device_hwmon(from, "power1_input", &v);
	kernel_device_keep(m, CHILD_GPU_POWER_NOW, rc, half_of(k, v), 1);
	kernel_device_keep(m, CHILD_GPU_POWER, rc, half_of(k, v), 1);
	rc = kernel_device_hwmon(from, "power1_cap", &v);
	kernel_device_keep(m, CHILD_GPU_POWER_LIMIT, rc, half_of(k, v), 1);
}

static const struct amd_file {
	bool is_hwmon;
	const char *name;
	enum child_gpu_value value;
	uint64_t scale;
} amd_files[] = {
	{false, "gpu_busy_percent", CHILD_GPU_BUSY, PERCENT_PPM},
	{false, "mem_busy_percent", CHILD_GPU_MEMORY_BUSY, PERCENT_PPM},
	{false, "mem_info_vram_used", CHILD_GPU_MEMORY_USED, 1},
	{false, "mem_info_vram_total", CHILD_GPU_MEMORY_TOTAL, 1},
	{false, "pcie_replay_count", CHILD_GPU_PCIE_REPLAYS, 1},
	/* 1 is the edge, 2 the hottest spot, 3 the memory */
	{true, "temp2_input", CHILD_GPU_TEMPERATURE, 1},
	{true, "temp1_input", CHILD_GPU_TEMPERATURE, 1},
	{true, "temp3_input", CHILD_GPU_MEMORY_TEMPERATURE, 1},
	{true, "temp2_crit", CHILD_GPU_SLOWDOWN_TEMPERATURE, 1},
	{true, "temp2_emergency", CHILD_GPU_SHUTDOWN_TEMPERATURE, 1},
	{true, "freq1_input", CHILD_GPU_SM_CLOCK, 1},
	{true, "freq2_input", CHILD_GPU_MEMORY_CLOCK, 1},
};

/* What those files have not told */
static void keep_metrics(const struct kernel_device *k, const struct amd_metrics *t,
			 struct child_gpu *m)
{
	static const struct {
		enum amd_value from;
		enum child_gpu_value to;
	} same[] = {
		{AMD_BUSY, CHILD_GPU_BUSY},
		{AMD_MEMORY_BUSY, CHILD_GPU_MEMORY_BUSY},
		{AMD_TEMPERATURE, CHILD_GPU_TEMPERATURE},
		{AMD_CLOCK, CHILD_GPU_SM_CLOCK},
		{AMD_MEMORY_CLOCK, CHILD_GPU_MEMORY_CLOCK},
	};

	for (size_t i = 0; i < sizeof(same) / sizeof(same[0]); i++)
		if (t->have >> same[i].from & 1)
			kernel_device_keep(m, same[i].to, 0, t->value[same[i].from], 1);
	if (t->have >> AMD_POWER & 1 && !k->module)
		kernel_device_keep(m, CHILD_GPU_POWER, 0, t->value[AMD_POWER], 1);
	if (t->have >> AMD_THROTTLE & 1)
		kernel_device_keep(m, CHILD_GPU_CLOCK_REASONS, 0,
				   reasons_of(t->value[AMD_THROTTLE]), 1);
}

int amd_read(struct device *d, struct err *err)
{
	struct kernel_device *k = d->kernel;
	struct child_gpu *m = &d->out.m;
	struct amd_metrics table;
	uint64_t units = 0;
	int rc = kernel_device_look(k, err);

	m->have = 0;
	for (uint32_t i = 0; i < k->gpu.partition_count; i++)
		units += k->gpu.partitions[i].units;
	kernel_device_keep(m, CHILD_GPU_SM_COUNT, units ? 0 : -ENODATA, units, 1);
	if (rc < 0 || k->sleeps)
		return rc;
	read_power(k, m);
	for (size_t i = 0; i < sizeof(amd_files) / sizeof(amd_files[0]); i++) {
		const struct amd_file *f = &amd_files[i];
		uint64_t v = 0;
		rc = f->is_hwmon ? kernel_device_hwmon(k, f->name, &v)
				 : kernel_device_number(k, f->name, &v);
		if (f->scale == PERCENT_PPM && v > 100)
			v = 100;
		kernel_device_keep(m, f->value, rc, v, f->scale);
	}
	bool is_read = read_metrics(k, &table, NULL) == 0;
	if (is_read)
		keep_metrics(k, &table, m);
	if (is_read && k->kfd && k->gpu.partition_count > 1)
		kfd_take_partitions(k->kfd, table.partition_busy,
				    k->gpu.partition_count, clock_boottime_ns());
	if (k->kfd)
		kfd_read_processes(k, k->kfd);
	return 0;
}

void amd_send(struct device *d)
{
	if (d->kernel->kfd)
		kfd_send(d, d->kernel, d->kernel->kfd);
}
