/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What units use of GPUs by DRM: the last round of daemon/drm/drm_reader.c. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/collector.h"
#include "daemon/drm/drm_reader.h"
#include "daemon/groups/step_groups.h"
#include "daemon/sources/child_link.h"
#include "daemon/units.h"
#include "lib/cleanup.h"
#include "lib/drm/drm_gpus.h"

struct drm_scrape {
	const struct env *env;
	uint32_t base; /* the number of the first device */
	struct drm_gpus gpus;
};

static void drm_close(void *state)
{
	free(state);
}

static int drm_open(const struct env *env, void **ret_state, struct err *err)
{
	auto_free struct drm_scrape *s = calloc(1, sizeof(*s));

	if (!env->drm)
		return err_set(err, -ENODEV, "no device of amdgpu, xe or i915");
	if (!s)
		return err_set(err, -ENOMEM, "out of memory");
	s->env = env;
	s->base = drm_gpus_base(env->procfd);
	int rc = drm_gpus_find(env->sysfd, &s->gpus, err);
	if (rc < 0)
		return rc;
	*ret_state = steal_ptr(&s);
	return 0;
}

/* As ceems-gpu counts it; DRM_NONE: it does not read it. */
static uint32_t index_of_device(const struct drm_scrape *s, const char *pdev)
{
	for (uint32_t i = 0; i < s->gpus.count; i++) {
		if (strcmp(s->gpus.gpu[i].pci, pdev) == 0)
			return s->base + i;
	}
	return DRM_NONE;
}

/* Then whoever holds the device has that. */
static bool is_memory_told(const struct env *env, uint32_t index)
{
	char name[CHILD_NAME_BYTES];
	_Alignas(8) char message[CHILD_MESSAGE_MAX];
	const struct child_gpu *m = (const struct child_gpu *)message;

	if (!env->gpu || index == DRM_NONE)
		return false;
	(void)snprintf(name, sizeof(name), "gpu%u", index);
	return child_link_get(env->gpu, CHILD_GPU, name, message, sizeof(message)) >
		       0 &&
	       child_gpu_has(m, CHILD_GPU_MEMORY_USED);
}

static void put_drm_use(const struct drm_scrape *s, const struct drm_use *use,
			struct prom *out)
{
	static const struct prom_family seconds = {
		"ceems_compute_unit_gpu_engine_seconds_total", PROM_COUNTER,
		"Time for which engines of the device worked for the unit, of several "
		"of a kind together (DRM fdinfo)"};
	static const struct prom_family memory = {
		"ceems_compute_unit_gpu_memory_used_bytes", PROM_GAUGE,
		"Memory in use of a device that the unit holds as a whole, or of its "
		"instance; else by the unit's DRM clients"};
	const struct env *env = s->env;
	const struct unit *unit = units_get(env->units, use->unit);
	uint32_t n = index_of_device(s, use->pdev);
	char index[16] = "", hindex[RECORD_NAME_MAX * 5] = "";

	if (n != DRM_NONE) {
		(void)snprintf(index, sizeof(index), "%u", n);
		(void)snprintf(hindex, sizeof(hindex), "%s/gpu-%s", env->hostname,
			       index);
	}
	struct prom_label labels[] = {
		{"manager", record_manager_name((uint8_t)unit->manager)},
		{"hostname", env->hostname},
		{"cgrouphostname", unit->node},
		{"uuid", unit->id},
		{"index", index},
		{"hindex", hindex},
		{"gpuuuid", use->pdev},
		{"engine", ""},
	};
	for (uint32_t i = 0; i < use->time_count; i++) {
		labels[7].value = use->times[i].name;
		prom_family(out, &seconds);
		prom_put_scaled(out, labels, 8, use->times[i].busy_ns, 9);
	}
	labels[7] = (struct prom_label){"gpuiid", ""};
	if (!use->has_memory || is_memory_told(env, n))
		return;
	prom_family(out, &memory);
	prom_put_u64(out, labels, 8, use->memory_bytes);
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
	struct drm_scrape *s = state;
	struct drm_left_out left_out;
	struct drm_uses *uses;
	int rc = drm_reader_take(s->env->drm, &uses, &left_out, err);

	if (rc < 0)
		return rc == -EAGAIN ? 0 : rc;
	drm_uses_settle(uses, s->env->units);
	for (size_t i = 0; i < uses->count; i++) {
		if (step_groups_exported(s->env, uses->uses[i].unit))
			put_drm_use(s, &uses->uses[i], out);
	}
	put_left_out(s->env, uses, &left_out, out);
	drm_reader_give(s->env->drm);
	return prom_error(out) ? err_set(err, prom_error(out), "no room for samples")
			       : 0;
}

const struct collector collector_drm = {
	.name = "drm",
	.open = drm_open,
	.collect = drm_collect,
	.close = drm_close,
};
