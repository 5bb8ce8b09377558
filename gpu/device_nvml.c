/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "gpu/device_nvml.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpu/device.h"
#include "lib/clock.h"

#define EVENT_MS 1000u
#define STACK_BYTES ((size_t)256 << 10)

struct device_nvml *device_nvml_new(bool divided)
{
	struct device_nvml *v = calloc(1, sizeof(*v));

	if (v)
		v->divided = divided;
	return v;
}

void device_nvml_free(struct device_nvml *v, struct nvml *n)
{
	if (!v)
		return;
	nvml_profile_end(n, &v->gpm);
	for (size_t i = 0; i < CHILD_GPU_INSTANCES_MAX; i++)
		nvml_profile_end(n, &v->instance_gpm[i]);
	free(v);
}

static void keep_own_value(struct child_gpu *m, enum child_gpu_value which, uint64_t v)
{
	m->value[which] = v;
	m->have |= 1ull << which;
}

/* What a device does not have, or does not tell now, is left out; only its loss is an
 * error. */
static int only_loss(int rc)
{
	return rc == -ENODEV ? rc : 0;
}

static bool is_same_layout(const struct device_nvml *v, const struct nvml_instance *now,
			   uint32_t count)
{
	if (count != v->instance_count)
		return false;
	for (uint32_t i = 0; i < count; i++) {
		const struct child_gpu_instance *a = &v->instance[i].item,
						*b = &now[i].item;
		if (a->gi != b->gi || a->ci != b->ci || strcmp(a->uuid, b->uuid) != 0)
			return false;
	}
	return true;
}

static int read_mig_layout(struct device *d, struct err *err)
{
	struct device_nvml *v = d->more;
	struct nvml_instance now[CHILD_GPU_INSTANCES_MAX];
	uint32_t count = 0, slices = 0;
	bool divided = false;
	int rc = nvml_divided(d->nvml, d->handle, &divided, err);

	if (rc == 0 && divided != v->divided)
		return err_set(err, -ENODEV, "%s: MIG was switched %s", d->out.m.uuid,
			       divided ? "on" : "off");
	if (rc < 0 || !divided)
		return only_loss(rc);
	rc = nvml_instances(d->nvml, d->handle, now, &count, &slices, err);
	if (rc < 0)
		return only_loss(rc);
	if (v->layout_known && !is_same_layout(v, now, count))
		return err_set(err, -ENODEV, "%s: its instances have changed",
			       d->out.m.uuid);
	for (uint32_t i = 0; i < count; i++) {
		now[i].item.profile = v->layout_known ? v->instance[i].item.profile
						      : (struct child_gpu_profile){0};
		v->instance[i] = now[i];
	}
	v->instance_count = count;
	v->slices = slices;
	v->layout_known = true;
	return 0;
}

/* A figure of a GPU instance is that of all its compute instances. */
static int read_instance_profiles(struct device *d, struct err *err)
{
	struct device_nvml *v = d->more;
	int rc = 0;

	for (uint32_t i = 0; i < v->instance_count && rc == 0; i++) {
		struct child_gpu_instance *g = &v->instance[i].item;
		if (i && g->gi == v->instance[i - 1].item.gi)
			g->profile = v->instance[i - 1].item.profile;
		else
			rc = only_loss(nvml_profile(
				d->nvml, d->handle, g->gi, &v->instance_gpm[i],
				clock_boottime_ns(), &g->profile, err));
	}
	return rc;
}

static int read_busy(struct device *d, struct err *err)
{
	struct device_nvml *v = d->more;
	int rc = nvml_busy(d->nvml, d->handle, &v->busy, err);

	if (rc == 0)
		keep_own_value(&d->out.m, CHILD_GPU_BUSY_NS, v->busy.total_ns);
	return only_loss(rc);
}

static void take_xids(struct device *d)
{
	struct device_nvml *v = d->more;
	uint64_t xids = atomic_load(&v->xids);

	if (!atomic_load(&v->watched))
		return;
	keep_own_value(&d->out.m, CHILD_GPU_XIDS, xids);
	if (xids)
		keep_own_value(&d->out.m, CHILD_GPU_XID_LAST,
			       atomic_load(&v->xid_last));
}

/* Of a superchip: what its energy counter counts. */
static void look_at_module(struct device *d)
{
	static const char *const says[] = {
		[MODULE_COUNTER_GPU] = "the GPU's alone",
		[MODULE_COUNTER_MODULE] =
			"the whole module's: what its processor takes is in it, too",
		[MODULE_COUNTER_NEITHER] = "neither clearly the GPU's nor the module's",
	};
	struct device_nvml *v = d->more;
	const struct child_gpu *m = &d->out.m;
	uint64_t gpu_uw, module_uw;

	if (v->module_told || !m->head.count)
		return;
	if (nvml_module_power(d->nvml, d->handle, &gpu_uw, &module_uw, NULL) < 0) {
		v->module_told = !v->module.readings;
		return;
	}
	enum module_counter is =
		module_check_add(&v->module, m->points[m->head.count - 1].at_ns,
				 m->points[m->head.count - 1].uj, gpu_uw, module_uw);
	if (is == MODULE_COUNTER_OPEN)
		return;
	v->module_told = true;
	log_info("%s: is on a module with a processor: its energy counter is %s (GPU "
		 "%.0f W, module %.0f W)",
		 m->uuid, says[is], module_check_watts(&v->module, v->module.gpu_uw),
		 module_check_watts(&v->module, v->module.module_uw));
}

int device_nvml_read(struct device *d, struct err *err)
{
	struct device_nvml *v = d->more;
	/* memory of instances comes before their profiles */
	int rc = read_mig_layout(d, err);

	if (rc == 0 && v->divided)
		rc = read_instance_profiles(d, err);
	else if (rc == 0)
		rc = only_loss(nvml_profile(d->nvml, d->handle, CHILD_GPU_NONE, &v->gpm,
					    clock_boottime_ns(), &d->out.m.profile,
					    err));
	if (rc == 0 && !v->divided)
		rc = read_busy(d, err);
	if (rc == 0)
		rc = only_loss(nvml_list_processes(
			d->nvml, d->handle, v->divided ? v->instance : NULL,
			v->instance_count, &v->processes, err));
	if (rc == 0)
		rc = only_loss(nvml_list_vgpus(d->nvml, d->handle, &v->vgpus, err));
	take_xids(d);
	look_at_module(d);
	return rc;
}

static void send_instances(struct device *d)
{
	const struct device_nvml *v = d->more;
	union {
		struct child_gpu_instances m;
		char bytes[sizeof(struct child_gpu_instances) +
			   CHILD_GPU_INSTANCES_MAX * sizeof(struct child_gpu_instance)];
	} out;

	memset(&out.m, 0, sizeof(out.m));
	out.m.index = d->out.m.index;
	out.m.slices = v->slices;
	out.m.read_ns = d->out.m.read_ns;
	memcpy(out.m.uuid, d->out.m.uuid, sizeof(out.m.uuid));
	for (uint32_t i = 0; i < v->instance_count; i++)
		out.m.items[i] = v->instance[i].item;
	device_send(d, &out.m.head, CHILD_GPU_INSTANCES, v->instance_count,
		    sizeof(out.m) + v->instance_count * sizeof(out.m.items[0]));
}

/* Nothing is told of a device that never had one. */
static void send_vgpus(struct device *d)
{
	struct device_nvml *v = d->more;
	union {
		struct child_gpu_vgpus m;
		char bytes[sizeof(struct child_gpu_vgpus) +
			   CHILD_GPU_VGPUS_MAX * sizeof(struct child_gpu_vgpu)];
	} out;
	size_t bytes = v->vgpus.count * sizeof(out.m.items[0]);

	v->hosts_vgpus |= v->vgpus.count > 0;
	if (!v->hosts_vgpus)
		return;
	memset(&out.m, 0, sizeof(out.m));
	out.m.index = d->out.m.index;
	out.m.read_ns = d->out.m.read_ns;
	memcpy(out.m.uuid, d->out.m.uuid, sizeof(out.m.uuid));
	memcpy(out.m.items, v->vgpus.item, bytes);
	device_send(d, &out.m.head, CHILD_GPU_VGPUS, v->vgpus.count,
		    sizeof(out.m) + bytes);
}

void device_nvml_send(struct device *d)
{
	send_vgpus(d);
	if (d->more->divided)
		send_instances(d);
	process_list_send(&d->more->processes.list, d);
}

static uint64_t take_event(void *arg)
{
	struct device_watch *w = arg;
	struct err err = {""};
	nvml_device handle = NULL;
	uint64_t xid = 0;
	int rc = nvml_events_wait(w->nvml, w->set, EVENT_MS, &handle, &xid, &err);

	for (uint32_t i = 0; i < w->count && rc == 0; i++) {
		struct device *d = &w->devices[i];
		if (!d->more || d->handle != handle)
			continue;
		atomic_store(&d->more->xid_last, xid);
		atomic_fetch_add(&d->more->xids, 1);
		log_warn("%s: the driver reports Xid %llu", d->out.m.uuid,
			 (unsigned long long)xid);
	}
	if (rc == 0 || rc == -EAGAIN)
		return 0;
	log_info("%s: Xids are not counted any more", err.text);
	for (uint32_t i = 0; i < w->count; i++) {
		if (w->devices[i].more)
			atomic_store(&w->devices[i].more->watched, false);
	}
	return PERIODIC_END;
}

int device_watch_start(struct device_watch *w, struct err *err)
{
	uint32_t watched = 0;
	int rc = nvml_events_open(w->nvml, &w->set, err);

	if (rc < 0)
		return rc;
	for (uint32_t i = 0; i < w->count; i++) {
		struct device *d = &w->devices[i];
		if (!d->more || nvml_events_add(w->nvml, w->set, d->handle, err) < 0)
			continue;
		atomic_store(&d->more->watched, true);
		watched++;
	}
	if (!watched)
		return err_set(err, -EOPNOTSUPP, "no device tells its Xids");
	periodic_init(&w->thread);
	rc = periodic_start(&w->thread, STACK_BYTES, take_event, NULL, w);
	return rc < 0 ? err_set(err, rc, "thread: %s", strerror(-rc)) : 0;
}
