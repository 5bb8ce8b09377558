/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/running_steps.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int add_running_step(struct running_steps *r, const struct units *u,
			    uint32_t unit, const struct unit *of, const struct step *s)
{
	if (r->count == r->room) {
		size_t room = r->room ? 2 * r->room : 16;
		struct running_step *more = reallocarray(r->step, room, sizeof(*more));
		if (!more)
			return -ENOMEM;
		r->step = more;
		r->room = room;
	}
	struct running_step *to = &r->step[r->count++];
	*to = (struct running_step){
		.unit = unit,
		.serial = unit_serial(u, unit),
		.manager = of->manager,
		.started_boottime_ns = s->started_boottime_ns,
		.cgroup_count = s->cgroup_count,
	};
	memcpy(to->id, of->id, sizeof(to->id));
	memcpy(to->cgroups, s->cgroups, sizeof(to->cgroups));
	return 0;
}

int running_steps_take(struct running_steps *r, struct units *u,
		       running_steps_f *is_wanted, const void *arg)
{
	for (uint32_t i = units_next(u, 0); i != UNITS_NONE; i = units_next(u, i + 1)) {
		const struct unit *unit = units_get(u, i);
		for (uint32_t s = units_first_step(u, i); s != UNITS_NONE;
		     s = steps_after(u, s)) {
			const struct step *step = steps_get(u, s);
			if (step->state != UNIT_RUNNING ||
			    (is_wanted && !is_wanted(unit, step, arg)))
				continue;
			int rc = add_running_step(r, u, i, unit, step);
			if (rc < 0)
				return rc;
		}
	}
	return 0;
}

void running_steps_done(struct running_steps *r)
{
	free(r->step);
	*r = (struct running_steps){.step = NULL};
}
