/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/groups/unit_activity.h"

#include <errno.h>
#include <stdlib.h>

#include "daemon/energy.h"
#include "daemon/groups/unit_hardware.h"
#include "daemon/units.h"

/* Cycles in which a CPU waits take power, too: one that executes an instruction in each
 * is taken for half as much again. An assumption, see doc/energy.md. */
#define CYCLE_WEIGHT 2u
#define INSTRUCTION_WEIGHT 1u

struct unit_work {
	uint64_t serial; /* unit_serial() that it belongs to */
	uint64_t cycles, instructions, enabled_ns;
	uint64_t work, ns; /* since the last look */
};

struct unit_activity {
	const struct env *env;
	uint32_t capacity;
	struct unit_work *units;
	uint32_t *ppm;
};

int unit_activity_new(const struct env *env, struct unit_activity **ret,
		      struct err *err)
{
	struct unit_activity *a = calloc(1, sizeof(*a));

	if (a) {
		a->env = env;
		a->capacity = units_capacity(env->units);
		a->units = calloc(a->capacity, sizeof(*a->units));
		a->ppm = calloc(a->capacity, sizeof(*a->ppm));
	}
	if (!a || !a->units || !a->ppm) {
		unit_activity_free(a);
		return err_set(err, -ENOMEM, "out of memory");
	}
	for (uint32_t i = 0; i < a->capacity; i++)
		a->ppm[i] = ENERGY_ONE_PPM;
	*ret = a;
	return 0;
}

void unit_activity_free(struct unit_activity *a)
{
	if (!a)
		return;
	free(a->units);
	free(a->ppm);
	free(a);
}

static void look_at_unit(struct unit_activity *a, uint32_t i)
{
	const uint32_t both = 1u << HARDWARE_CYCLES | 1u << HARDWARE_INSTRUCTIONS;
	struct unit_work *u = &a->units[i];
	struct hardware_total t;

	if (u->serial != unit_serial(a->env->units, i))
		*u = (struct unit_work){.serial = unit_serial(a->env->units, i)};
	u->work = u->ns = 0;
	unit_hardware_total(a->env->unit_hardware, i, &t);
	if ((t.events & both) != both)
		return;
	u->ns = t.enabled_ns[HARDWARE_CYCLES] - u->enabled_ns;
	u->work = CYCLE_WEIGHT * (t.values[HARDWARE_CYCLES] - u->cycles) +
		  INSTRUCTION_WEIGHT *
			  (t.values[HARDWARE_INSTRUCTIONS] - u->instructions);
	u->enabled_ns = t.enabled_ns[HARDWARE_CYCLES];
	u->cycles = t.values[HARDWARE_CYCLES];
	u->instructions = t.values[HARDWARE_INSTRUCTIONS];
	if (u->ns < ACTIVITY_LEAST_NS)
		u->work = u->ns = 0;
}

/* Units that are not counted, and the system, are as the mean of those that are. */
static uint32_t ppm_of(const struct unit_work *u, unsigned __int128 work,
		       unsigned __int128 ns)
{
	if (!u->work || !work)
		return ENERGY_ONE_PPM;
	double ppm = (double)u->work / (double)u->ns * ((double)ns / (double)work) *
		     ENERGY_ONE_PPM;
	if (ppm < ACTIVITY_LEAST_PPM)
		return ACTIVITY_LEAST_PPM;
	return ppm > ACTIVITY_MOST_PPM ? ACTIVITY_MOST_PPM : (uint32_t)ppm;
}

void unit_activity_look(struct unit_activity *a)
{
	struct units *units = a->env->units;
	unsigned __int128 work = 0, ns = 0;

	if (!a->env->unit_hardware)
		return;
	unit_hardware_update(a->env->unit_hardware);
	for (uint32_t i = units_next(units, 0); i != UNITS_NONE;
	     i = units_next(units, i + 1)) {
		look_at_unit(a, i);
		work += a->units[i].work;
		ns += a->units[i].ns;
	}
	for (uint32_t i = units_next(units, 0); i != UNITS_NONE;
	     i = units_next(units, i + 1))
		a->ppm[i] = ppm_of(&a->units[i], work, ns);
}

const uint32_t *unit_activity_ppm(const struct unit_activity *a)
{
	return a->ppm;
}
