/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "gpu/module_check.h"

#include <stdbool.h>

#define READINGS_MIN 15u
#define READINGS_MAX 600u
#define APART 1.25 /* least ratio of the two powers by which they are told apart */
#define NEAR 0.12  /* largest difference of the counter from what it is */

double module_check_watts(const struct module_check *c, uint64_t sum_uw)
{
	return c->readings ? (double)sum_uw / c->readings / 1e6 : 0;
}

static bool is_near(double watts, double of)
{
	return watts > of * (1 - NEAR) && watts < of * (1 + NEAR);
}

enum module_counter module_check_add(struct module_check *c, uint64_t now_ns,
				     uint64_t counter_uj, uint64_t gpu_uw,
				     uint64_t module_uw)
{
	if (!c->readings || counter_uj < c->first_uj) /* or it began anew */
		*c = (struct module_check){.first_ns = now_ns, .first_uj = counter_uj};
	c->readings++;
	c->gpu_uw += gpu_uw;
	c->module_uw += module_uw;
	if (c->readings < READINGS_MIN || now_ns <= c->first_ns)
		return MODULE_COUNTER_OPEN;
	double gpu = module_check_watts(c, c->gpu_uw);
	double module = module_check_watts(c, c->module_uw);
	/* microjoules per nanosecond are kilowatts */
	double watts = 1e3 * (double)(counter_uj - c->first_uj) /
		       (double)(now_ns - c->first_ns);
	bool apart = gpu > 0 && module > gpu * APART;
	if (apart && is_near(watts, gpu))
		return MODULE_COUNTER_GPU;
	if (apart && is_near(watts, module))
		return MODULE_COUNTER_MODULE;
	return c->readings < READINGS_MAX ? MODULE_COUNTER_OPEN
					  : MODULE_COUNTER_NEITHER;
}
