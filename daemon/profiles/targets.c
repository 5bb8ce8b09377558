/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Targets for a profiler of somebody else's. */
#include "daemon/profiles/targets.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/inhabited.h"
#include "daemon/options.h"

#define PROCESSES_MAX 4096u /* of a step */

struct target_step {
	char id[RECORD_ID_MAX];
	bool is_job;
	uint32_t cgroup_count;
	struct record_cgroup cgroups[RECORD_CGROUPS_MAX];
};

static bool is_wanted_step(const struct unit *unit, const struct step *s,
			   const struct options *o)
{
	const char *manager = record_manager_name((uint8_t)unit->manager);

	return s->state == UNIT_RUNNING && s->cgroup_count &&
	       (!o->profiling_env_vars.count || step_profile_hz(s)) &&
	       (!*o->targets_manager || strcmp(manager, o->targets_manager) == 0);
}

int targets_take(struct targets *t, struct units *u, const struct options *o)
{
	uint32_t room = 0;

	for (uint32_t i = units_next(u, 0); i != UNITS_NONE; i = units_next(u, i + 1)) {
		const struct unit *unit = units_get(u, i);
		for (uint32_t s = units_first_step(u, i); s != UNITS_NONE;
		     s = steps_after(u, s)) {
			const struct step *step = steps_get(u, s);
			if (!is_wanted_step(unit, step, o))
				continue;
			if (t->count == room) {
				room = room ? 2 * room : 16;
				struct target_step *more =
					realloc(t->steps, room * sizeof(*more));
				if (!more)
					return -ENOMEM;
				t->steps = more;
			}
			struct target_step *to = &t->steps[t->count++];
			memcpy(to->id, unit->id, sizeof(to->id));
			to->is_job = unit->manager == MANAGER_SLURM;
			to->cgroup_count = step->cgroup_count;
			memcpy(to->cgroups, step->cgroups, sizeof(to->cgroups));
		}
	}
	return 0;
}

static void put_target(struct buf *out, const char **comma, const char *target,
		       uint64_t pid, const char *service)
{
	buf_puts(out, *comma);
	buf_puts(out, "{\"targets\":[");
	buf_put_json(out, target, strlen(target));
	buf_printf(out, "],\"labels\":{\"__process_pid__\":\"%llu\",\"service_name\":",
		   (unsigned long long)pid);
	buf_put_json(out, service, strlen(service));
	buf_puts(out, "}}");
	*comma = ",";
}

/* Of a job without its slurmstepd, which is Slurm's */
static size_t list_processes(const struct env *env, const struct target_step *s,
			     uint64_t pids[PROCESSES_MAX])
{
	bool cut;

	return s->is_job ? inhabited_list(env, s->cgroups, s->cgroup_count, pids,
					  PROCESSES_MAX)
			 : inhabited_list_all(env, s->cgroups, s->cgroup_count, pids,
					      PROCESSES_MAX, &cut);
}

int targets_put_json(const struct targets *t, const struct env *env, struct buf *out)
{
	uint64_t *pids = calloc(PROCESSES_MAX, sizeof(*pids));
	const char *comma = "";

	if (!pids)
		return -ENOMEM;
	buf_putc(out, '[');
	for (uint32_t i = 0; i < t->count; i++) {
		const struct target_step *s = &t->steps[i];
		size_t n = list_processes(env, s, pids);
		for (size_t k = 0; k < n; k++)
			put_target(out, &comma, s->id, pids[k], s->id);
	}
	if (env->options->targets_self)
		put_target(out, &comma, "__internal_ceems_exporter", (uint64_t)getpid(),
			   "__internal_ceems_exporter");
	buf_puts(out, "]\n");
	free(pids);
	return buf_error(out);
}

void targets_done(struct targets *t)
{
	free(t->steps);
	*t = (struct targets){.count = 0};
}
