/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_GPU_MODULE_CHECK_H
#define CEEMS_GPU_MODULE_CHECK_H

#include <stdint.h>

/*
 * A superchip (GH200, GB200) is a processor and GPUs on one module, whose power NVML
 * tells beside the GPU's (NVML_FI_DEV_POWER_INSTANT with the scope of the module). Of
 * the energy counter its documentation does not say which of the two it is: so it is
 * compared with both.
 */
struct module_check {
	uint32_t readings;
	uint64_t first_ns, first_uj;
	uint64_t gpu_uw, module_uw; /* sums over the readings */
};

enum module_counter {
	MODULE_COUNTER_OPEN, /* not known yet */
	MODULE_COUNTER_GPU,
	MODULE_COUNTER_MODULE,
	MODULE_COUNTER_NEITHER, /* or too much alike, after ten minutes */
};

/* A reading of both powers, and of the counter. Once it is not open any more nothing
 * changes it, and there is no need to go on. */
enum module_counter module_check_add(struct module_check *c, uint64_t now_ns,
				     uint64_t counter_uj, uint64_t gpu_uw,
				     uint64_t module_uw);
/* Means in watts, of what was compared. */
double module_check_watts(const struct module_check *c, uint64_t sum_uw);

#endif
