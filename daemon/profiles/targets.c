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

static bool is_target_step(const struct unit *unit, const struct step *s,
			   const void *arg)
{
	const char *manager = record_manager_name((uint8_t)unit->manager);
	const struct options *o = arg;

	return s->cgroup_count &&
	       (!o->profiling_env_vars.count || step_profile_hz(s)) &&
	       (!*o->targets_manager || strcmp(manager, o->targets_manager) == 0);
}

int targets_take(struct running_steps *t, struct units *u, const struct options *o)
{
	return running_steps_take(t, u, is_target_step, o);
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
static size_t list_processes(const struct env *env, const struct running_step *s,
			     uint64_t pids[PROCESSES_MAX])
{
	bool cut;

	return s->manager == MANAGER_SLURM
		       ? inhabited_list(env, s->cgroups, s->cgroup_count, pids,
					PROCESSES_MAX)
		       : inhabited_list_all(env, s->cgroups, s->cgroup_count, pids,
					    PROCESSES_MAX, &cut);
}

int targets_put_json(const struct running_steps *t, const struct env *env,
		     struct buf *out)
{
	uint64_t *pids = calloc(PROCESSES_MAX, sizeof(*pids));
	const char *comma = "";

	if (!pids)
		return -ENOMEM;
	buf_putc(out, '[');
	for (size_t i = 0; i < t->count; i++) {
		const struct running_step *s = &t->step[i];
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
