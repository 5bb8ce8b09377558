/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/gpus/unit_gpu_labels.h"

#include <stdio.h>
#include <string.h>

const struct prom_family unit_gpu_memory_used = {
	"ceems_compute_unit_gpu_memory_used_bytes", PROM_GAUGE,
	"Memory in use of a device that the unit holds as a whole, or of its instance; "
	"else by the unit's DRM clients"};

void unit_gpu_labels(struct unit_gpu_labels *ret, const struct env *env,
		     const struct unit *unit, uint32_t index, const char *uuid,
		     uint32_t instance)
{
	*ret->index = *ret->hindex = *ret->instance = '\0';
	if (index != GPUS_NONE) {
		(void)snprintf(ret->index, sizeof(ret->index), "%u", index);
		(void)snprintf(ret->hindex, sizeof(ret->hindex), "%s/gpu-%u",
			       env->hostname, index);
	}
	if (instance != GPUS_NONE)
		(void)snprintf(ret->instance, sizeof(ret->instance), "%u", instance);
	const struct prom_label labels[UNIT_GPU_LABELS] = {
		{"manager", record_manager_name((uint8_t)unit->manager)},
		{"hostname", env->hostname},
		{"cgrouphostname", unit->node},
		{"uuid", unit->id},
		{"index", ret->index},
		{"hindex", ret->hindex},
		{"gpuuuid", uuid},
		{"gpuiid", ret->instance},
	};
	memcpy(ret->label, labels, sizeof(labels));
}
