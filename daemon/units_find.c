/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which unit, and which run of it, a record is about: restart counts, and units known
 * from their directory only. */
#include "daemon/units_find.h"

#include <string.h>

#include "daemon/units_store.h"

/* Limit of runs of one job searched for a record's step */
#define RUNS_MAX 16

/* The slurmstepd of unit's step with r's number, 0: not in the table or unknown */
static uint32_t stepd_of(const struct units *u, uint32_t unit, const struct record *r)
{
	uint32_t i = unit == UNITS_NONE ? UNITS_NONE : steps_find(u, unit, r->step);
	return i == UNITS_NONE ? 0 : u->steps[i].stepd_pid;
}

/* A job's prolog and epilog are the first and the last records of a run. */
static uint32_t run_of_job(const struct unit *newest, const struct record *r)
{
	bool over = newest->state == UNIT_ENDED && (newest->marks & UNIT_DEFINITE);
	if (r->type == RECORD_UNIT_STOP)
		return newest->restarts;
	if (r->type != RECORD_UNIT_START)
		return r->restarts;
	return newest->restarts + over;
}

/* The restart count that r belongs to. In the slurmstepd of 22.05 and 24.11 it is 0 in
 * any run, so a record's count is only a lower bound. Within a run step ids are unique,
 * and a step has one slurmstepd: another one with the same id means that the job was
 * requeued. */
uint32_t find_run(const struct units *u, const struct record *r)
{
	uint32_t newest = units_find_newest(u, r->manager, r->node, r->unit);
	if (newest == UNITS_NONE || (u->units[newest].marks & UNIT_DISCOVERED) ||
	    u->units[newest].restarts < r->restarts)
		return r->restarts;
	if (!r->stepd_pid)
		return run_of_job(&u->units[newest], r);
	uint32_t run = u->units[newest].restarts, last = run;
	for (unsigned i = 0; i < RUNS_MAX; i++, run--) {
		uint32_t unit = units_find(u, r->manager, r->node, r->unit, run);
		if (stepd_of(u, unit, r) == r->stepd_pid)
			return run; /* a late record of an earlier run, in most cases
				       not */
		if (run == r->restarts)
			break;
	}
	return last + (stepd_of(u, newest, r) != 0);
}

/* A discovered unit's id or restart count was a guess: find the one that r is about. */
static uint32_t find_guessed(const struct units *u, const struct record *r)
{
	if (!u->discovered)
		return UNITS_NONE;
	uint32_t i = units_find_newest(u, r->manager, r->node, r->unit);
	if (i != UNITS_NONE && (u->units[i].marks & UNIT_DISCOVERED))
		return i;
	/* Slurm 26.05 names the directory by SLUID: same directory, same job */
	for (uint32_t c = 0; c < r->cgroup_count; c++) {
		char job[RECORD_CGROUP_MAX];
		memcpy(job, r->cgroups[c].path, sizeof(job));
		char *slash = strrchr(job, '/');
		if (!slash)
			continue;
		*slash = '\0';
		uint32_t s = steps_find_job_path(u, job);
		if (s != UNITS_NONE &&
		    (u->units[steps_unit(u, s)].marks & UNIT_DISCOVERED))
			return steps_unit(u, s);
	}
	return UNITS_NONE;
}

uint32_t find_unit_of(const struct units *u, const struct record *r, bool synthetic)
{
	uint32_t i;

	if (synthetic) {
		/* A directory does not have the restart count: take the newest run,
		 * unless it is known to be a later one */
		i = units_find_newest(u, r->manager, r->node, r->unit);
		return i != UNITS_NONE && u->units[i].restarts >= r->restarts
			       ? i
			       : UNITS_NONE;
	}
	i = units_find(u, r->manager, r->node, r->unit, r->restarts);
	return i != UNITS_NONE ? i : find_guessed(u, r);
}

/* Only for directories without a record, which are few: no index. */
uint32_t steps_find_job_path(const struct units *u, const char *path)
{
	size_t len = strlen(path);
	for (uint32_t i = steps_next(u, 0); i != UNITS_NONE; i = steps_next(u, i + 1)) {
		const struct step *s = &u->steps[i];
		uint32_t paths = u->places[i].part ? 0 : u->places[i].paths;
		for (uint32_t c = 0; c < paths; c++) {
			const char *p = s->cgroups[c].path;
			if (strncmp(p, path, len) == 0 && p[len] == '/' &&
			    !strchr(p + len + 1, '/'))
				return i;
		}
	}
	return UNITS_NONE;
}
