/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Processes on devices: of a unit that was given it, of another one, of none. */
#include "daemon/gpus/gpu_processes.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "daemon/gpus/driver_gpus.h"
#include "daemon/gpus/gpu_maps.h"
#include "daemon/sources/child_link.h"
#include "lib/cgroup.h"

static const struct prom_family gpu_processes = {
	"ceems_gpu_processes", PROM_GAUGE,
	"Processes on the device: of a unit that was given it (holder), of another one "
	"(other_unit), of no unit (outside)"};
static const struct prom_family foreign_processes = {
	"ceems_compute_unit_gpu_foreign_processes", PROM_GAUGE,
	"Processes of the unit on a device that it was not given"};

enum process_owner { OF_HOLDER, OF_OTHER_UNIT, OF_NO_UNIT, PROCESS_OWNERS };

/* A unit and its processes on a device that it was not given */
struct gpu_intruder {
	uint32_t unit, processes;
};

struct process_tally {
	uint64_t owned[PROCESS_OWNERS];
	size_t count;
	struct gpu_intruder intruder[CHILD_GPU_PROCESSES_MAX];
};

/* Of what is not known it is assumed that it was given. */
static bool was_given(const struct env *env, const struct unit *unit, uint32_t device,
		      const struct child_gpu_process *p)
{
	struct gpu_use use[GPUS_MAX];

	if (unit->manager == MANAGER_LIBVIRT)
		return true;
	if (!unit->gpus[0])
		return unit->manager == MANAGER_K8S &&
		       !driver_gpus_told(env->driver_gpus);
	int n = gpu_maps_of(env->gpu_maps, unit, false, use, GPUS_MAX, NULL);
	for (int i = 0; i < n; i++) {
		const struct gpu *g = use[i].gpu;
		if (g->smi_index == GPUS_NONE)
			return true;
		if (g->smi_index != device)
			continue;
		if (g->instance == GPUS_NONE || p->gi == CHILD_GPU_NONE)
			return true;
		if (g->instance == p->gi &&
		    (g->compute == GPUS_NONE || p->ci == CHILD_GPU_NONE ||
		     g->compute == p->ci))
			return true;
	}
	return n < 0;
}

static void note_intruder(struct process_tally *t, uint32_t unit)
{
	size_t i = 0;

	while (i < t->count && t->intruder[i].unit != unit)
		i++;
	if (i == t->count)
		t->intruder[t->count++] = (struct gpu_intruder){.unit = unit};
	t->intruder[i].processes++;
}

static void tally_process(const struct env *env, struct units *units, uint32_t device,
			  const struct child_gpu_process *p, struct process_tally *t)
{
	char path[RECORD_CGROUP_MAX];

	cgroup_unit_of_pid(env->procfd, p->pid, path);
	uint32_t step = *path ? steps_find_path(units, path) : UNITS_NONE;
	if (step == UNITS_NONE) {
		t->owned[OF_NO_UNIT]++;
		return;
	}
	uint32_t unit = steps_unit(units, step);
	const struct unit *u = units_get(units, unit);
	bool given = was_given(env, u, device, p);
	t->owned[given ? OF_HOLDER : OF_OTHER_UNIT]++;
	if (!given)
		note_intruder(t, unit);
}

static void put_process_tally(const struct env *env, struct units *units,
			      const struct child_gpu_processes *in,
			      const struct process_tally *t, struct prom *out)
{
	static const char *const owners[PROCESS_OWNERS] = {"holder", "other_unit",
							   "outside"};
	char index[16];

	(void)snprintf(index, sizeof(index), "%u", in->index);
	prom_family(out, &gpu_processes);
	for (unsigned i = 0; i < PROCESS_OWNERS; i++) {
		const struct prom_label labels[] = {{"hostname", env->hostname},
						    {"index", index},
						    {"gpuuuid", in->uuid},
						    {"owner", owners[i]}};
		prom_put_u64(out, labels, 4, t->owned[i]);
	}
	prom_family(out, &foreign_processes);
	for (size_t i = 0; i < t->count; i++) {
		const struct unit *u = units_get(units, t->intruder[i].unit);
		const struct prom_label labels[] = {
			{"manager", record_manager_name((uint8_t)u->manager)},
			{"hostname", env->hostname},
			{"cgrouphostname", u->node},
			{"uuid", u->id},
			{"gpuindex", index},
			{"gpuuuid", in->uuid},
		};
		prom_put_u64(out, labels, 6, t->intruder[i].processes);
	}
}

void gpu_processes_export(const struct env *env, struct units *units, struct prom *out)
{
	union {
		struct child_gpu_processes m;
		char bytes[sizeof(struct child_gpu_processes) +
			   CHILD_GPU_PROCESSES_MAX * sizeof(struct child_gpu_process)];
	} in;
	char name[CHILD_NAME_BYTES];

	for (uint32_t i = 0; i < CHILD_GPUS_MAX && env->gpu; i++) {
		struct process_tally tally = {.count = 0};
		(void)snprintf(name, sizeof(name), "gpu%u", i);
		if (child_link_get(env->gpu, CHILD_GPU_PROCESSES, name, &in,
				   sizeof(in)) < 0 ||
		    env->boottime_ns() > in.m.read_ns + CHILD_GPU_STALE_NS)
			continue;
		for (uint32_t k = 0; k < in.m.head.count; k++) {
			if (!in.m.items[k].ended)
				tally_process(env, units, i, &in.m.items[k], &tally);
		}
		put_process_tally(env, units, &in.m, &tally, out);
	}
}
