/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What units use of GPUs by DRM: the last round of daemon/drm/drm_reader.c. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "daemon/collector.h"
#include "daemon/drm/drm_reader.h"
#include "daemon/gpus/gpu_maps.h"
#include "daemon/gpus/unit_gpu_labels.h"
#include "daemon/groups/step_groups.h"
#include "daemon/sources/child_link.h"
#include "daemon/units.h"

/* Devices whose memory ceems-gpu tells: whoever holds one has that. */
struct told_memory {
	uint32_t count;
	char pci[CHILD_GPUS_MAX][DRM_PDEV_BYTES];
};

static int drm_open(const struct env *env, void **ret_state, struct err *err)
{
	if (!env->drm)
		return err_set(err, -ENODEV, "no device of amdgpu, xe or i915");
	*ret_state = (void *)(uintptr_t)env;
	return 0;
}

static void find_told_memory(const struct env *env, struct told_memory *ret)
{
	char name[CHILD_NAME_BYTES];
	_Alignas(8) char message[CHILD_MESSAGE_MAX];
	const struct child_gpu *m = (const struct child_gpu *)message;

	ret->count = 0;
	for (uint32_t i = 0; env->gpu && i < CHILD_GPUS_MAX; i++) {
		(void)snprintf(name, sizeof(name), "gpu%u", i);
		if (child_link_get(env->gpu, CHILD_GPU, name, message,
				   sizeof(message)) > 0 &&
		    child_gpu_has(m, CHILD_GPU_MEMORY_USED))
			(void)snprintf(ret->pci[ret->count++], DRM_PDEV_BYTES, "%.23s",
				       m->pci);
	}
}

static bool is_memory_told(const struct told_memory *t, const char *pdev)
{
	for (uint32_t i = 0; i < t->count; i++) {
		if (strcmp(t->pci[i], pdev) == 0)
			return true;
	}
	return false;
}

/* The device's place among those that the unit was given; GPUS_NONE: it was not, or
 * slurmd has not told yet what it was given. */
static uint32_t index_in_unit(const struct env *env, const struct unit *unit,
			      const char *pdev)
{
	struct gpu_use use[GPUS_MAX];
	bool is_given = unit->manager != MANAGER_LIBVIRT && unit->gpus[0];
	int n = is_given ? gpu_maps_of(env->gpu_maps, unit, true, use, GPUS_MAX, NULL)
			 : 0;

	for (int i = 0; i < n; i++) {
		if (strcmp(use[i].gpu->uuid, pdev) == 0)
			return use[i].gpu->index;
	}
	return GPUS_NONE;
}

static void put_drm_use(const struct env *env, const struct told_memory *told,
			const struct unit *unit, const struct drm_use *use,
			struct prom *out)
{
	static const struct prom_family seconds = {
		"ceems_compute_unit_gpu_engine_seconds_total", PROM_COUNTER,
		"Time for which engines of the device worked for the unit, of several "
		"of a kind together (DRM fdinfo)"};
	struct unit_gpu_labels l;

	unit_gpu_labels(&l, env, unit, index_in_unit(env, unit, use->pdev), use->pdev,
			GPUS_NONE);
	if (use->has_memory && !is_memory_told(told, use->pdev)) {
		prom_family(out, &unit_gpu_memory_used);
		prom_put_u64(out, l.label, UNIT_GPU_LABELS, use->memory_bytes);
	}
	for (uint32_t i = 0; i < use->time_count; i++) {
		l.label[UNIT_GPU_LABELS - 1] =
			(struct prom_label){"engine", use->times[i].name};
		prom_family(out, &seconds);
		prom_put_scaled(out, l.label, UNIT_GPU_LABELS, use->times[i].busy_ns,
				9);
	}
}

static void put_left_out(const struct env *env, const struct drm_uses *u,
			 const struct drm_left_out *l, struct prom *out)
{
	static const struct prom_family family = {
		"ceems_gpu_clients_left_out_total", PROM_COUNTER,
		"Users of GPUs that were not looked at: beyond the bounds, or of a "
		"driver that did not answer in time"};
	const struct {
		const char *what;
		uint64_t count;
	} rows[] = {{"processes", l->processes},
		    {"files", l->files},
		    {"refused", l->refused},
		    {"clients", u->left_out}};

	prom_family(out, &family);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct prom_label labels[] = {{"hostname", env->hostname},
						    {"what", rows[i].what}};
		prom_put_u64(out, labels, 2, rows[i].count);
	}
}

static int drm_collect(void *state, struct prom *out, struct err *err)
{
	const struct env *env = state;
	struct drm_left_out left_out;
	struct told_memory told;
	struct drm_uses *uses;
	int rc = drm_reader_take(env->drm, &uses, &left_out, err);

	if (rc < 0)
		return rc == -EAGAIN ? 0 : rc;
	find_told_memory(env, &told);
	drm_uses_settle(uses, env->units);
	for (uint32_t i = 0; i < uses->unit_room; i++) {
		const struct drm_unit *unit = &uses->units[i];
		for (uint32_t k = 0; k < unit->use_count; k++) {
			if (step_groups_exported(env, i))
				put_drm_use(env, &told, units_get(env->units, i),
					    &unit->uses[k], out);
		}
	}
	put_left_out(env, uses, &left_out, out);
	drm_reader_give(env->drm);
	return prom_error(out) ? err_set(err, prom_error(out), "no room for samples")
			       : 0;
}

static void drm_close(void *state)
{
	(void)state;
}

const struct collector collector_drm = {
	.name = "drm",
	.open = drm_open,
	.collect = drm_collect,
	.close = drm_close,
};
