/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "gpu/kfd.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "gpu/device.h"
#include "lib/cleanup.h"
#include "lib/fs.h"
#include "lib/parse.h"

#define PROCESSES "class/kfd/kfd/proc"
#define ENTRIES_MAX 65536u
/* Readings that are further apart say nothing of the time between. */
#define APART_NS CHILD_GPU_STALE_NS
#define ONE_PPM 1000000u

static uint32_t units_of(const struct kernel_device *k)
{
	uint32_t units = 0;

	for (uint32_t i = 0; i < k->gpu.partition_count; i++)
		units += k->gpu.partitions[i].units;
	return units;
}

/* Of one process on one partition: pid's folder is open as fd. */
static void read_kfd_process(const struct kernel_device *k, struct kfd_view *v, int fd,
			     uint32_t pid, uint32_t partition)
{
	uint32_t id = k->gpu.partitions[partition].gpu_id, units = units_of(k);
	bool divided = k->gpu.partition_count > 1;
	struct child_gpu_process p = {.pid = pid,
				      .gi = divided ? partition : CHILD_GPU_NONE,
				      .ci = divided ? 0 : CHILD_GPU_NONE,
				      .seen_ns = v->processes.now_ns};
	uint64_t bytes = 0, occupied = 0, between_ns = p.seen_ns - v->last_ns;
	char path[64];

	(void)snprintf(path, sizeof(path), "vram_%u", id);
	if (fs_read_u64_at(fd, path, &bytes, NULL) == 0)
		p.have |= 1u << CHILD_GPU_PROCESS_MEMORY;
	p.memory_bytes = bytes;
	(void)snprintf(path, sizeof(path), "stats_%u/cu_occupancy", id);
	if (units && fs_read_u64_at(fd, path, &occupied, NULL) == 0)
		p.have |= 1u << CHILD_GPU_PROCESS_BUSY;
	if (!bytes && !occupied) /* kfd lists each process with every device */
		return;
	struct child_gpu_process *known = process_list_add(&v->processes, &p);
	if (!known || !units)
		return;
	if (occupied > units)
		occupied = units;
	if (v->last_ns && between_ns <= APART_NS)
		known->busy_ns += between_ns * occupied / units;
}

void kfd_read_processes(const struct kernel_device *k, struct kfd_view *v)
{
	int fd = fs_opendir_at(k->sysfd, PROCESSES, NULL);
	auto_closedir DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
	uint32_t seen = 0, pid;

	if (!dir) {
		if (fd >= 0)
			close(fd);
		return;
	}
	process_list_begin(&v->processes);
	for (const struct dirent *e = readdir(dir); e && seen++ < ENTRIES_MAX;
	     e = readdir(dir)) {
		if (parse_u32(e->d_name, &pid) < 0 || !pid)
			continue;
		auto_close int process = fs_opendir_at(dirfd(dir), e->d_name, NULL);
		for (uint32_t i = 0; process >= 0 && i < k->gpu.partition_count; i++)
			read_kfd_process(k, v, process, pid, i);
	}
	process_list_end(&v->processes);
	v->last_ns = v->processes.now_ns;
}

void kfd_take_partitions(struct kfd_view *v, const uint32_t *busy_ppm, uint32_t count,
			 uint64_t now_ns)
{
	for (uint32_t i = 0; i < count && i < DRM_PARTITIONS_MAX; i++) {
		struct child_gpu_profile *p = &v->partitions[i];
		uint64_t between_ns = now_ns - p->at_ns;
		if (busy_ppm[i] == UINT32_MAX)
			continue;
		if (p->at_ns && between_ns <= APART_NS) {
			p->ppm[CHILD_GPU_GRAPHICS] = busy_ppm[i];
			p->covered_ns[CHILD_GPU_GRAPHICS] += between_ns;
			p->total_ns[CHILD_GPU_GRAPHICS] +=
				between_ns / ONE_PPM * busy_ppm[i];
			p->have = 1u << CHILD_GPU_GRAPHICS;
		}
		p->at_ns = now_ns;
	}
}

/* kfd tells what each process has on the partition. */
static void keep_partition_memory(struct child_gpu_instance *g, uint64_t total,
				  const struct process_list *l)
{
	for (uint32_t i = 0; i < l->count; i++)
		if (l->item[i].gi == g->gi && !l->item[i].ended)
			g->value[CHILD_GPU_INSTANCE_USED] += l->item[i].memory_bytes;
	g->have = 1u << CHILD_GPU_INSTANCE_USED;
	if (total) {
		g->value[CHILD_GPU_INSTANCE_TOTAL] = total;
		g->have |= 1u << CHILD_GPU_INSTANCE_TOTAL;
	}
}

static void send_partitions(const struct device *d, const struct kernel_device *k,
			    const struct kfd_view *v)
{
	union {
		struct child_gpu_instances m;
		char bytes[sizeof(struct child_gpu_instances) +
			   DRM_PARTITIONS_MAX * sizeof(struct child_gpu_instance)];
	} out;

	memset(&out, 0, sizeof(out));
	out.m.index = d->out.m.index;
	out.m.read_ns = d->out.m.read_ns;
	memcpy(out.m.uuid, d->out.m.uuid, sizeof(out.m.uuid));
	for (uint32_t i = 0; i < k->gpu.partition_count; i++) {
		const struct drm_partition *p = &k->gpu.partitions[i];
		struct child_gpu_instance *g = &out.m.items[i];
		*g = (struct child_gpu_instance){.gi = i,
						 .slices = p->dies,
						 .ci_slices = p->dies,
						 .sm_count = p->units,
						 .profile = v->partitions[i]};
		keep_partition_memory(g, p->memory_bytes, &v->processes);
		(void)snprintf(g->uuid, sizeof(g->uuid), "%s/%u", k->gpu.pci, i);
		out.m.slices += p->dies;
	}
	if (out.m.slices <= CHILD_GPU_SLICES_MAX)
		device_send(d, &out.m.head, CHILD_GPU_INSTANCES, k->gpu.partition_count,
			    sizeof(out.m) +
				    k->gpu.partition_count * sizeof(out.m.items[0]));
}

void kfd_send(const struct device *d, const struct kernel_device *k,
	      const struct kfd_view *v)
{
	if (k->gpu.partition_count > 1)
		send_partitions(d, k, v);
	if (k->gpu.partition_count)
		process_list_send(&v->processes, d);
}
