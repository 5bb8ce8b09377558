/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads the counters of running steps. Files stay open between readings, so a step
 * costs one or two preads. A vanished step is only marked here; whether it is lost is
 * decided when the ring has had time to deliver its stop. */
#include "daemon/sample.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "daemon/inhabited.h"
#include "daemon/units.h"
#include "lib/clamp.h"
#include "lib/clock.h"
#include "lib/log.h"

#define CPUS_NS (60 * NSEC_PER_SEC)

struct sampled {
	uint64_t serial; /* of the step that the fds belong to */
	struct cgroup_fds *fds;
	uint64_t rss_bytes;     /* by sample_memory(); 0: not known */
	uint64_t cpus_until_ns; /* of a job: read again then */
	uint32_t cpus;          /* 0: not known */
	uint32_t steps;         /* of a job: steps_started when fds were opened */
};

struct sample {
	const struct env *env;
	struct units *units;
	struct sampled *steps; /* by slot, grown as slots are used */
	uint32_t count;
	struct sampled *jobs; /* by slot of units */
	uint32_t job_count;
	struct log_repeat failing;
};

struct sample *sample_new(const struct env *env)
{
	struct sample *s = calloc(1, sizeof(*s));
	if (!s)
		return NULL;
	s->env = env;
	s->units = env->units;
	return s;
}

void sample_free(struct sample *s)
{
	if (!s)
		return;
	for (uint32_t i = 0; i < s->count; i++)
		cgroup_fds_free(s->steps[i].fds);
	for (uint32_t i = 0; i < s->job_count; i++)
		cgroup_fds_free(s->jobs[i].fds);
	free(s->steps);
	free(s->jobs);
	free(s);
}

static bool grow_sampled_list(struct sampled **list, uint32_t *count, uint32_t i)
{
	if (i < *count)
		return true;
	uint32_t n = (i + 64) / 64 * 64;
	struct sampled *p = realloc(*list, n * sizeof(*p));
	if (!p)
		return false;
	memset(p + *count, 0, (n - *count) * sizeof(*p));
	*list = p;
	*count = n;
	return true;
}

/* The step's fds, opened when the slot has a new step. NULL: no memory or no paths. */
static struct cgroup_fds *fds_of(struct sample *s, uint32_t i, const struct step *step)
{
	if (!grow_sampled_list(&s->steps, &s->count, i))
		return NULL;
	struct sampled *d = &s->steps[i];
	uint64_t serial = step_serial(s->units, i);
	if (d->serial != serial || !d->fds) {
		cgroup_fds_free(d->fds);
		d->serial = serial;
		d->fds = NULL;
		d->rss_bytes = 0;
		if (step->cgroup_count)
			d->fds = cgroup_fds_new(s->env->cgroupfd, &s->env->cgroups,
						step->cgroups, step->cgroup_count,
						false);
		if (d->fds)
			cgroup_fds_seed_cpu(d->fds, step->totals.cpu_user_ns,
					    step->totals.cpu_system_ns);
	}
	return d->fds;
}

/* Whether the step's directory exists in any hierarchy that it was seen in */
static bool cgroup_is_there(const struct env *env, const struct step *step)
{
	for (uint32_t c = 0; c < step->cgroup_count && c < RECORD_CGROUPS_MAX; c++) {
		uint32_t bits = step->cgroups[c].controllers;
		for (uint32_t bit = 1; bit && bit <= bits; bit <<= 1) {
			const char *dir =
				bits & bit ? cgroup_dir(&env->cgroups, bit) : "";
			char path[RECORD_CGROUP_MAX + 40];
			struct stat st;
			int n = *dir ? snprintf(path, sizeof(path), "%s%s", dir,
						step->cgroups[c].path)
				     : -1;
			if (n > 0 && (size_t)n < sizeof(path) &&
			    fstatat(env->cgroupfd, path, &st, 0) == 0)
				return true;
		}
	}
	return false;
}

static bool stepd_is_there(const struct env *env, const struct step *step)
{
	char name[16];
	struct stat st;
	if (!step->stepd_pid)
		return true; /* no way to know */
	snprintf(name, sizeof(name), "%u", step->stepd_pid);
	return fstatat(env->procfd, name, &st, 0) == 0 || errno != ENOENT;
}

static bool is_step_there(const struct env *env, const struct step *step)
{
	return step->cgroup_count ? cgroup_is_there(env, step)
				  : stepd_is_there(env, step);
}

static void note_presence(struct sample *s, struct step *step, bool there)
{
	if (there)
		step->gone_boottime_ns = 0;
	else if (!step->gone_boottime_ns)
		step->gone_boottime_ns = s->env->boottime_ns();
}

static bool read_step(struct sample *s, uint32_t i, struct step *step)
{
	struct cgroup_fds *fds = fds_of(s, i, step);
	struct cgroup_cpu cpu;
	struct err err;
	int rc = fds ? cgroup_read_cpu(fds, &cpu, &err) : -ENODATA;

	if (rc == -ENODEV || rc == -ENODATA) {
		note_presence(s, step, rc == -ENODATA && is_step_there(s->env, step));
		return false;
	}
	if (rc < 0) {
		if (log_repeat_due(&s->failing, s->env->boottime_ns()))
			log_warn("unit %s: %s: not read this time",
				 units_get(s->units, steps_unit(s->units, i))->id,
				 err_text(&err));
		step->unread_boottime_ns = s->env->boottime_ns();
		return false;
	}
	struct unit_totals t = {.cpu_user_ns = cpu.user_ns,
				.cpu_system_ns = cpu.system_ns};
	if (cpu.has_throttling) {
		t.throttled_periods = cpu.throttled_periods;
		t.throttled_ns = cpu.throttled_ns;
	}
	step->gone_boottime_ns = step->unread_boottime_ns = 0;
	units_step_reading(s->units, i, &t);
	return true;
}

static void close_ended(struct sample *s)
{
	for (uint32_t i = 0; i < s->count; i++) {
		if (!s->steps[i].fds)
			continue;
		const struct step *step = steps_get(s->units, i);
		if (step && step->state == UNIT_RUNNING &&
		    s->steps[i].serial == step_serial(s->units, i))
			continue;
		cgroup_fds_free(s->steps[i].fds);
		s->steps[i].fds = NULL;
	}
	for (uint32_t i = 0; i < s->job_count; i++) {
		const struct unit *unit = units_get(s->units, i);
		if (!s->jobs[i].fds || (unit && unit->state == UNIT_RUNNING &&
					s->jobs[i].serial == unit_serial(s->units, i)))
			continue;
		cgroup_fds_free(s->jobs[i].fds);
		s->jobs[i].fds = NULL;
	}
}

int sample_steps(struct sample *s)
{
	struct units *u = s->units;
	int n = 0;
	for (uint32_t i = steps_next(u, 0); i != UNITS_NONE; i = steps_next(u, i + 1)) {
		struct step *step = steps_get(u, i);
		if (step->state == UNIT_RUNNING)
			n += read_step(s, i, step);
	}
	close_ended(s);
	return n;
}

/* The job's control group is the parent of any of its steps'. */
static struct cgroup_fds *job_fds(struct sample *s, uint32_t i)
{
	struct units *u = s->units;

	if (!grow_sampled_list(&s->jobs, &s->job_count, i))
		return NULL;
	struct sampled *d = &s->jobs[i];
	if (d->serial != unit_serial(u, i)) {
		cgroup_fds_free(d->fds);
		d->fds = NULL;
		d->serial = unit_serial(u, i);
		d->cpus_until_ns = d->cpus = 0;
	}
	/* the control group of a VM that was started again is another one */
	const struct unit *unit = units_get(u, i);
	bool moves = unit->manager != MANAGER_SLURM;
	if (moves && d->steps != unit->steps_started) {
		cgroup_fds_free(d->fds);
		d->fds = NULL;
		d->steps = unit->steps_started;
	}
	for (uint32_t k = units_first_step(u, i); k != UNITS_NONE && !d->fds;
	     k = steps_after(u, k)) {
		const struct step *step = steps_get(u, k);
		if (step->cgroup_count && (!moves || step->state == UNIT_RUNNING))
			d->fds =
				cgroup_fds_new(s->env->cgroupfd, &s->env->cgroups,
					       step->cgroups, step->cgroup_count, true);
	}
	return d->fds;
}

bool sample_job_cpu(struct sample *s, uint32_t i, uint64_t *ret_ns)
{
	const struct unit *unit = units_get(s->units, i);
	struct cgroup_cpu cpu;
	struct cgroup_fds *fds =
		unit && unit->state == UNIT_RUNNING ? job_fds(s, i) : NULL;

	if (!fds || cgroup_read_cpu(fds, &cpu, NULL) < 0)
		return false;
	*ret_ns = cpu.user_ns + cpu.system_ns;
	return true;
}

/* Slurm does not tell an extern step the CPUs of its job, only its cores. */
static uint32_t extern_cpus(struct units *u, uint32_t i)
{
	uint32_t s = steps_find(u, i, RECORD_STEP_EXTERN);

	return s == UNITS_NONE ? 0 : steps_get(u, s)->cpus;
}

uint32_t sample_job_cpus(struct sample *s, uint32_t i)
{
	const struct unit *unit = units_get(s->units, i);
	uint64_t now_ns = s->env->boottime_ns();
	struct cgroup_fds *fds =
		unit && unit->state == UNIT_RUNNING ? job_fds(s, i) : NULL;
	uint32_t cpus;

	if (i >= s->job_count || s->jobs[i].serial != unit_serial(s->units, i))
		return extern_cpus(s->units, i);
	struct sampled *d = &s->jobs[i];
	if (fds && now_ns >= d->cpus_until_ns) {
		int rc = cgroup_read_cpus(fds, &cpus, NULL);
		if (rc == 0)
			d->cpus = cpus;
		/* a job's group has none yet just after its start */
		d->cpus_until_ns = now_ns + (rc == 0 ? CPUS_NS : NSEC_PER_SEC);
	}
	return d->cpus ? d->cpus : extern_cpus(s->units, i);
}

bool sample_job_rss(struct sample *s, uint32_t i, uint64_t *ret_bytes)
{
	const struct unit *unit = units_get(s->units, i);
	struct cgroup_memory m;
	struct cgroup_fds *fds =
		unit && unit->state == UNIT_RUNNING ? job_fds(s, i) : NULL;

	if (!fds || cgroup_read_memory(fds, false, NULL, &m, NULL) < 0)
		return false;
	*ret_bytes = m.rss_bytes;
	return true;
}

void sample_unit_io(struct sample *s, uint32_t i)
{
	for (uint32_t k = units_first_step(s->units, i); k != UNITS_NONE;
	     k = steps_after(s->units, k)) {
		const struct step *step = steps_get(s->units, k);
		struct unit_totals t = {0};
		struct cgroup_fds *fds =
			step->state == UNIT_RUNNING ? fds_of(s, k, step) : NULL;
		if (fds &&
		    cgroup_read_io(fds, &t.io_read_bytes, &t.io_write_bytes, NULL) == 0)
			units_step_reading(s->units, k, &t);
	}
}

void sample_memory(struct sample *s)
{
	struct units *u = s->units;
	for (uint32_t i = steps_next(u, 0); i != UNITS_NONE; i = steps_next(u, i + 1)) {
		const struct step *step = steps_get(u, i);
		struct cgroup_fds *fds =
			step->state == UNIT_RUNNING ? fds_of(s, i, step) : NULL;
		struct cgroup_memory m;
		if (fds && cgroup_read_memory(fds, false, NULL, &m, NULL) == 0)
			s->steps[i].rss_bytes = m.rss_bytes;
	}
}

uint64_t sample_rss_bytes(const struct sample *s, uint32_t i)
{
	return i < s->count && s->steps[i].serial == step_serial(s->units, i)
		       ? s->steps[i].rss_bytes
		       : 0;
}

void sample_step(struct sample *s, uint32_t i)
{
	struct step *step = steps_get(s->units, i);
	if (step && step->state == UNIT_RUNNING)
		read_step(s, i, step);
}

bool sample_step_last(struct sample *s, uint32_t i)
{
	struct step *step = steps_get(s->units, i);
	struct unit_totals t = {0};
	struct cgroup_memory m;

	if (!step || step->state != UNIT_RUNNING || !read_step(s, i, step))
		return false;
	struct cgroup_fds *fds = fds_of(s, i, step);
	if (cgroup_read_memory(fds, false, NULL, &m, NULL) == 0) {
		t.memory_peak_bytes = m.has_peak ? m.peak_bytes : 0;
		t.memory_fail_count = m.fail_count;
		t.oom_kills = m.oom_kills;
	}
	(void)cgroup_read_io(fds, &t.io_read_bytes, &t.io_write_bytes, NULL);
	units_step_reading(s->units, i, &t);
	return true;
}

bool sample_unit(struct sample *s, uint32_t i)
{
	for (uint32_t k = units_first_step(s->units, i); k != UNITS_NONE;
	     k = steps_after(s->units, k)) {
		struct step *step = steps_get(s->units, k);
		if (step->state == UNIT_RUNNING && !read_step(s, k, step))
			return false;
	}
	return true;
}

/* v2 cuts the CPU time of each control group to whole microseconds: without a step's
 * and its slurmstepd's, a job's seems up to two more than it is. */
#define ROUNDED_NS 2000u

/* The sum stays exact: each group splits its own by its own ratio. */
static void take_off_cpu(struct unit_totals *t, const struct cgroup_cpu *less)
{
	uint64_t used = clamp_minus(t->cpu_user_ns + t->cpu_system_ns,
				    less->user_ns + less->system_ns + ROUNDED_NS);
	uint64_t user = clamp_minus(t->cpu_user_ns, less->user_ns);

	t->cpu_user_ns = user < used ? user : used;
	t->cpu_system_ns = used - t->cpu_user_ns;
}

bool sample_job_totals(struct sample *s, uint32_t i, struct unit_totals *ret)
{
	const struct unit *unit = units_get(s->units, i);
	struct unit_totals t = {0};
	struct cgroup_cpu cpu;
	struct cgroup_fds *fds =
		unit && unit->state == UNIT_RUNNING ? job_fds(s, i) : NULL;

	if (!fds || cgroup_read_cpu(fds, &cpu, NULL) < 0)
		return false;
	t.cpu_user_ns = cpu.user_ns;
	t.cpu_system_ns = cpu.system_ns;
	(void)cgroup_read_io(fds, &t.io_read_bytes, &t.io_write_bytes, NULL);
	for (uint32_t k = units_first_step(s->units, i); k != UNITS_NONE;
	     k = steps_after(s->units, k)) {
		const struct step *step = steps_get(s->units, k);
		fds = step->state == UNIT_RUNNING ? fds_of(s, k, step) : NULL;
		if (fds && cgroup_read_stepd_cpu(fds, &cpu, NULL) == 0 &&
		    cpu.user_ns + cpu.system_ns)
			take_off_cpu(&t, &cpu);
	}
	*ret = t;
	return true;
}

static void end_lost(struct sample *s, uint32_t i, const struct step *step)
{
	char name[16];
	const struct unit *unit = units_get(s->units, steps_unit(s->units, i));

	log_info("unit %s step %s: gone without a stop record, ended as lost with what "
		 "was read %s",
		 unit->id, record_step_name(step->step, name),
		 step->flags & STEP_POLLED ? "when its control group became empty"
					   : "last");
	units_step_lost(s->units, i, s->env->boottime_ns(), s->env->realtime_ns());
}

int sample_end_lost(struct sample *s, uint64_t drained_boottime_ns)
{
	struct units *u = s->units;
	int n = 0;
	for (uint32_t i = steps_next(u, 0); i != UNITS_NONE; i = steps_next(u, i + 1)) {
		const struct step *step = steps_get(u, i);
		if (step->state != UNIT_RUNNING || !step->gone_boottime_ns ||
		    step->gone_boottime_ns + SAMPLE_LOST_MS * NSEC_PER_MSEC >
			    drained_boottime_ns)
			continue;
		end_lost(s, i, step);
		n++;
	}
	return n;
}

int sample_end_abandoned(struct sample *s)
{
	struct units *u = s->units;
	int n = 0;
	for (uint32_t i = steps_next(u, 0); i != UNITS_NONE; i = steps_next(u, i + 1)) {
		struct step *step = steps_get(u, i);
		if (step->state != UNIT_RUNNING || !inhabited_by_nobody(s->env, step))
			continue;
		read_step(s, i, step);
		/* already removed: sample_end_lost()'s, when its last counters may have
		 * come */
		if (step->gone_boottime_ns)
			continue;
		end_lost(s, i, step);
		n++;
	}
	return n;
}
