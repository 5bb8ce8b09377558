/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Slurm's jobs, and the units of other managers. What they have used comes from the
 * unit table, which is fed by ring records and by sampling running steps; what they
 * hold at the moment (memory, tasks, pressure) is read here from the job's own control
 * group, through files that stay open. */
#include "daemon/collector_slurm.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/env.h"
#include "daemon/export.h"
#include "daemon/gpus/gpu_pause.h"
#include "daemon/gpus/gpu_processes.h"
#include "daemon/gpus/unit_gpus.h"
#include "daemon/options.h"
#include "daemon/units.h"
#include "daemon/units_report.h"
#include "daemon/units_totals.h"
#include "lib/cgroup.h"
#include "lib/cleanup.h"
#include "lib/clock.h"
#include "lib/fs.h"
#include "lib/log.h"
#include "lib/parse.h"

#define MEMINFO_MAX 16384
#define NEAR_LIMIT (4u << 20) /* the largest charge at once is a huge page */
/* how often what changes seldom is read: settings of an administrator, and memory.stat
 * while the usage is the same */
#define SETTLED_NS (60 * NSEC_PER_SEC)

/* State of a unit between scrapes, by its index in the table. */
struct job_view {
	uint32_t index;         /* in the table */
	uint64_t serial;        /* unit_serial() that this belongs to */
	char id[RECORD_ID_MAX]; /* a unit found by walking may get its real one later */
	struct buf labels;
	struct cgroup_fds *job; /* NULL while no step with a cgroup was seen */
	uint32_t job_steps;     /* unit's steps_started when it was found */
	uint32_t cpus;          /* last good count, 0: none yet */
	uint32_t cpus_steps;    /* unit's steps_started when it was read */
	uint64_t cpus_until_ns; /* read again then */
	bool replaced;          /* a newer run of the same job has the series now */
	bool memory_known;
	struct cgroup_memory memory; /* the last reading */
	uint64_t memory_cpu_ns;      /* the unit's CPU time before it */
	uint64_t memory_until_ns;    /* memory.stat is read again then */
	uint64_t peak_bytes, fail_count, oom_kills;
	struct unit_gpus gpus;
};

struct step_view {
	uint64_t serial;
	struct buf labels;
	struct cgroup_fds *fds;    /* of a part that runs */
	struct unit_totals totals; /* of a part: never less than before */
};

struct slurm {
	const struct env *env;
	struct unit_collector which;
	const char *manager;
	struct units *units;
	struct job_view **views;  /* by index; units_capacity() of them */
	struct step_view **steps; /* the same; NULL without --collector.*.steps */
	uint32_t view_count, step_count;
	uint64_t generation; /* of the table when views were last swept */
	bool swept;
	struct unit_values *values; /* room for one scrape */
	size_t value_cap;
	uint64_t host_memory_bytes, host_swap_bytes; /* 0: not known */
	struct unit_gpus_export gpus;
	struct log_repeat failing;
};

static void free_job_view(struct job_view *v)
{
	if (!v)
		return;
	cgroup_fds_free(v->job);
	buf_done(&v->labels);
	unit_gpus_done(&v->gpus);
	free(v);
}

static void step_view_free(struct step_view *v)
{
	if (!v)
		return;
	cgroup_fds_free(v->fds);
	buf_done(&v->labels);
	free(v);
}

void unit_collector_close(void *state)
{
	struct slurm *s = state;

	if (!s)
		return;
	for (uint32_t i = 0; i < s->view_count; i++)
		free_job_view(s->views[i]);
	for (uint32_t i = 0; i < s->step_count; i++)
		step_view_free(s->steps[i]);
	free(s->views);
	free(s->steps);
	free(s->values);
	unit_gpus_export_close(&s->gpus);
	free(s);
}

/* The machine's memory, for units without a limit. */
static void read_host(struct slurm *s)
{
	char text[MEMINFO_MAX];
	ssize_t n = fs_read_at(s->env->procfd, "meminfo", text, sizeof(text), NULL);
	const char *p = text, *line;
	size_t len;

	if (n < 0)
		return;
	while (scan_line(&p, text + n, &line, &len)) {
		const char *v = line, *end = line + len, *key, *ignored;
		size_t key_len, ignored_len;
		uint64_t kib;
		if (!scan_word(&v, end, &key, &key_len) || !scan_blank(&v, end) ||
		    scan_u64(&v, end, &kib) < 0 || kib > UINT64_MAX >> 10 ||
		    !scan_word(&v, end, &ignored, &ignored_len))
			continue;
		if (key_len == 9 && memcmp(key, "MemTotal:", 9) == 0)
			s->host_memory_bytes = kib << 10;
		if (key_len == 10 && memcmp(key, "SwapTotal:", 10) == 0)
			s->host_swap_bytes = kib << 10;
	}
}

int unit_collector_open(const struct env *env, const struct unit_collector *which,
			void **ret_state, struct err *err)
{
	if (!env->units)
		return err_set(err, -ENODEV, "no unit table");
	struct slurm *s = calloc(1, sizeof(*s));
	if (!s)
		return err_set(err, -ENOMEM, "no memory");
	s->env = env;
	s->which = *which;
	s->manager = record_manager_name((uint8_t)which->manager);
	s->units = env->units;
	s->view_count = units_capacity(s->units);
	s->views = calloc(s->view_count, sizeof(*s->views));
	if (which->steps) {
		s->step_count = steps_capacity(s->units);
		s->steps = calloc(s->step_count, sizeof(*s->steps));
	}
	unit_gpus_export_open(&s->gpus, env);
	if (!s->views || (s->step_count && !s->steps)) {
		s->view_count = s->views ? s->view_count : 0;
		s->step_count = s->steps ? s->step_count : 0;
		unit_collector_close(s);
		return err_set(err, -ENOMEM, "no memory");
	}
	read_host(s);
	*ret_state = s;
	return 0;
}

/* Views of slots that were freed or reused keep files open. */
static void sweep_job_views(struct slurm *s)
{
	struct units *u = s->units;
	uint64_t generation = units_generation(u);

	if (s->swept && s->generation == generation)
		return;
	uint32_t next = units_next(u, 0);
	for (uint32_t i = 0; i < s->view_count; i++) {
		struct job_view *v = s->views[i];
		bool used = i == next;
		if (used)
			next = units_next(u, i + 1);
		if (!v)
			continue;
		if (!used || v->serial != unit_serial(u, i)) {
			free_job_view(v);
			s->views[i] = NULL;
			continue;
		}
		const struct unit *unit = units_get(u, i);
		v->replaced =
			units_find_newest(u, unit->manager, unit->node, unit->id) != i;
	}
	for (uint32_t i = 0; i < s->step_count; i++) {
		if (!s->steps[i] || steps_get(u, i))
			continue;
		step_view_free(s->steps[i]);
		s->steps[i] = NULL;
	}
	s->generation = generation;
	s->swept = true;
}

static int render_labels(const struct slurm *s, const struct unit *unit,
			 struct buf *out)
{
	const struct prom_label labels[] = {
		{"manager", s->manager},
		{"hostname", s->env->hostname},
		{"cgrouphostname", unit->node},
		{"uuid", unit->id},
	};

	prom_render_labels(out, labels, 4);
	return buf_error(out);
}

static struct job_view *find_job_view(struct slurm *s, uint32_t i,
				      const struct unit *unit)
{
	struct job_view *v = s->views[i];

	if (v && strcmp(v->id, unit->id) == 0)
		return v;
	free_job_view(v);
	s->views[i] = v = calloc(1, sizeof(*v));
	if (!v)
		return NULL;
	v->index = i;
	v->serial = unit_serial(s->units, i);
	memcpy(v->id, unit->id, sizeof(v->id));
	v->replaced =
		units_find_newest(s->units, unit->manager, unit->node, unit->id) != i;
	return render_labels(s, unit, &v->labels) < 0 ? NULL : v;
}

/* The job's control group is the parent of any of its steps'. Where a unit is one step
 * after the other, as a VM that is started again, it is the running one's. */
static void find_job(struct slurm *s, struct job_view *v, const struct unit *unit)
{
	bool moves = unit->manager != MANAGER_SLURM;

	if (moves && v->job_steps != unit->steps_started) {
		cgroup_fds_free(v->job);
		v->job = NULL;
		v->memory_known = false;
		v->job_steps = unit->steps_started;
	}
	for (uint32_t i = units_first_step(s->units, v->index);
	     i != UNITS_NONE && !v->job; i = steps_after(s->units, i)) {
		const struct step *step = steps_get(s->units, i);
		if (step->cgroup_count && (!moves || step->state == UNIT_RUNNING))
			v->job =
				cgroup_fds_new(s->env->cgroupfd, &s->env->cgroups,
					       step->cgroups, step->cgroup_count, true);
	}
}

/* ENOENT and the like leave samples out; any other error is a failed reading, and then
 * nothing of the unit is exported. */
static bool is_failed_reading(int rc)
{
	return rc < 0 && rc != -ENODATA && rc != -ENODEV;
}

static uint64_t or_host(uint64_t limit, uint64_t allocated, uint64_t host)
{
	return limit != CGROUP_UNLIMITED ? limit : allocated ? allocated : host;
}

static void set_memory(const struct slurm *s, const struct unit *unit,
		       const struct cgroup_memory *m, struct unit_values *out)
{
	bool v2 = s->env->cgroups.unified_only;
	/* a pod may use more than it requests */
	bool bound = unit->manager != MANAGER_K8S;
	uint64_t total = or_host(m->limit_bytes, bound ? unit->memory_bytes : 0,
				 s->host_memory_bytes);

	unit_values_set(out, COL_MEMORY_RSS, m->rss_bytes);
	unit_values_set(out, COL_MEMORY_CACHE, m->cache_bytes);
	unit_values_set(out, COL_MEMORY_USED, m->used_bytes);
	if (total)
		unit_values_set(out, COL_MEMORY_TOTAL, total);
	if (!m->has_swap)
		return;
	unit_values_set(out, COL_MEMSW_USED, m->memsw_used_bytes);
	unit_values_set(out, COL_MEMSW_FAIL_COUNT, m->memsw_fail_count);
	/* v1 counts memory and swap together, v2 swap only; a machine may have no swap,
	 * and then the limit is its memory, as in the peer */
	bool memory_too = !v2 || !s->host_swap_bytes;
	total = or_host(m->memsw_limit_bytes, 0,
			s->host_swap_bytes + (memory_too ? s->host_memory_bytes : 0));
	if (total)
		unit_values_set(out, COL_MEMSW_TOTAL, total);
}

/* On v1 kills and failures are counted where they happen, below the job. If a job has
 * reached its limit its running steps are read, so that these show before the step
 * ends. */
static void read_steps_at_limit(const struct slurm *s, uint32_t unit,
				const struct cgroup_memory *job)
{
	if (s->env->cgroups.unified_only || !job->has_peak ||
	    job->peak_bytes + NEAR_LIMIT < job->limit_bytes)
		return;
	for (uint32_t i = units_first_step(s->units, unit); i != UNITS_NONE;
	     i = steps_after(s->units, i)) {
		const struct step *step = steps_get(s->units, i);
		struct cgroup_memory m;
		struct cgroup_fds *c = NULL;
		if (step->state == UNIT_RUNNING && step->cgroup_count)
			c = cgroup_fds_new(s->env->cgroupfd, &s->env->cgroups,
					   step->cgroups, step->cgroup_count, false);
		if (c && cgroup_read_memory(c, false, NULL, &m, NULL) == 0) {
			const struct unit_totals t = {
				.memory_fail_count = m.fail_count,
				.oom_kills = m.oom_kills,
				.memory_peak_bytes = m.peak_bytes,
			};
			units_step_reading(s->units, i, &t);
		}
		cgroup_fds_free(c);
	}
}

/* What the last reading still says is not read again: see cgroup_read_memory(). */
static int read_job_memory(const struct slurm *s, struct job_view *v,
			   const struct unit_totals *t, struct err *err)
{
	uint64_t now = s->env->boottime_ns(),
		 cpu_ns = t->cpu_user_ns + t->cpu_system_ns;
	const struct cgroup_memory_known known = {
		.last = &v->memory,
		.idle = cpu_ns == v->memory_cpu_ns,
	};
	bool usable = v->memory_known && now < v->memory_until_ns;
	int rc = cgroup_read_memory(v->job, s->which.swap, usable ? &known : NULL,
				    &v->memory, err);

	if (rc < 0)
		return rc;
	v->memory_known = true;
	v->memory_cpu_ns = cpu_ns;
	if (v->memory.stat_read)
		v->memory_until_ns = now + SETTLED_NS;
	return 0;
}

static int read_unit_memory(const struct slurm *s, const struct unit *unit,
			    struct job_view *v, struct unit_totals *t,
			    struct unit_values *out, struct err *err)
{
	const struct cgroup_memory *m = &v->memory;
	int rc = read_job_memory(s, v, t, err);

	if (rc < 0)
		return is_failed_reading(rc) ? rc : 0;
	set_memory(s, unit, m, out);
	read_steps_at_limit(s, v->index, m);
	unit_total(s->units, v->index, t);
	if (m->has_peak && m->peak_bytes > v->peak_bytes)
		v->peak_bytes = m->peak_bytes;
	/* v1 counts a failure at the level whose limit was reached, v2 also at all
	 * levels above */
	uint64_t fails = s->env->cgroups.unified_only
				 ? m->fail_count
				 : m->fail_count + t->memory_fail_count;
	if (fails > v->fail_count)
		v->fail_count = fails;
	if (m->oom_kills > v->oom_kills)
		v->oom_kills = m->oom_kills;
	return 0;
}

static int read_pressure(struct job_view *v, const char *resource,
			 enum unit_column full, enum unit_column some,
			 struct unit_values *out, struct err *err)
{
	struct cgroup_psi psi;
	int rc = cgroup_read_psi(v->job, resource, &psi, err);

	if (rc < 0)
		return is_failed_reading(rc) ? rc : 0;
	unit_values_set(out, some, psi.some_ns);
	if (psi.has_full)
		unit_values_set(out, full, psi.full_ns);
	return 0;
}

static int read_pids(struct job_view *v, struct unit_values *out, struct err *err)
{
	uint64_t pids;
	int rc = cgroup_read_pids(v->job, &pids, err);

	if (rc < 0)
		return is_failed_reading(rc) ? rc : 0;
	unit_values_set(out, COL_PIDS, pids);
	return 0;
}

/* A cpuset changes when a step starts or by an administrator, so it is read then and
 * once a minute. A failed reading does not change the allocation. */
static void read_unit_cpus(const struct slurm *s, struct job_view *v,
			   const struct unit *unit, struct unit_values *out)
{
	uint64_t now = s->env->boottime_ns();
	uint32_t cpus;

	if (v->job &&
	    (now >= v->cpus_until_ns || v->cpus_steps != unit->steps_started)) {
		if (cgroup_read_cpus(v->job, &cpus, NULL) == 0)
			v->cpus = cpus;
		v->cpus_steps = unit->steps_started;
		v->cpus_until_ns = now + SETTLED_NS;
	}
	/* a VM may run on all CPUs of the host, but has its own number of them */
	bool by_group = v->cpus && unit->manager == MANAGER_SLURM;
	uint64_t mcpus = by_group || !unit->cpus ? v->cpus * 1000ull : unit_mcpus(unit);
	if (mcpus)
		unit_values_set(out, COL_CPUS, mcpus);
}

static int read_job(const struct slurm *s, const struct unit *unit, struct job_view *v,
		    struct unit_totals *t, struct unit_values *out, struct err *err)
{
	int rc = read_unit_memory(s, unit, v, t, out, err);

	if (rc == 0)
		rc = read_pids(v, out, err);
	if (rc < 0 || !s->which.psi)
		return rc;
	rc = read_pressure(v, "cpu", COL_CPU_PSI, COL_CPU_PSI_SOME, out, err);
	if (rc == 0)
		rc = read_pressure(v, "memory", COL_MEMORY_PSI, COL_MEMORY_PSI_SOME,
				   out, err);
	if (rc == 0)
		rc = read_pressure(v, "io", COL_IO_PSI, COL_IO_PSI_SOME, out, err);
	return rc;
}

/* Counters, also of an ended unit until it leaves the table. */
static void set_counters(struct job_view *v, const struct unit_totals *t,
			 struct unit_values *out)
{
	unit_values_set(out, COL_CPU_USER, t->cpu_user_ns);
	unit_values_set(out, COL_CPU_SYSTEM, t->cpu_system_ns);
	unit_values_set(out, COL_CPU_THROTTLED, t->throttled_ns);
	unit_values_set(out, COL_CPU_THROTTLED_PERIODS, t->throttled_periods);
	if (t->memory_fail_count > v->fail_count)
		v->fail_count = t->memory_fail_count;
	if (t->memory_peak_bytes > v->peak_bytes)
		v->peak_bytes = t->memory_peak_bytes;
	if (!v->memory_known && !v->peak_bytes)
		return;
	unit_values_set(out, COL_MEMORY_FAIL_COUNT, v->fail_count);
	if (t->oom_kills > v->oom_kills)
		v->oom_kills = t->oom_kills;
	unit_values_set(out, COL_OOM_KILLS, v->oom_kills);
	if (v->peak_bytes)
		unit_values_set(out, COL_MEMORY_PEAK, v->peak_bytes);
}

/* Where a group has no such file, its devices are not known. */
static void export_unit_devices(struct slurm *s, const struct unit *unit,
				struct job_view *v, struct prom *out)
{
	struct cgroup_io io;

	if (s->which.blkio && v->job && cgroup_read_io_devices(v->job, &io, NULL) == 0)
		export_devices(s->env, s->manager, unit, &io, out);
}

static void say_unit_failure(struct slurm *s, const struct unit *unit,
			     const struct err *err)
{
	if (log_repeat_due(&s->failing, s->env->boottime_ns()))
		log_warn("%s: unit %s: %s: its samples are left out of this scrape",
			 s->manager, unit->id, err->text);
}

/* Whether the CPU time of a step could not be read, so that the unit's sum would be
 * old. */
static bool has_unread_step(struct slurm *s, uint32_t unit)
{
	for (uint32_t i = units_first_step(s->units, unit); i != UNITS_NONE;
	     i = steps_after(s->units, i)) {
		const struct step *step = steps_get(s->units, i);
		if (step->state == UNIT_RUNNING && step->unread_boottime_ns)
			return true;
	}
	return false;
}

/* All that is exported of one unit, or just that reading it failed. */
static void read_unit_values(struct slurm *s, uint32_t i, const struct unit *unit,
			     struct job_view *v, struct unit_values *out,
			     bool *any_failed)
{
	struct unit_totals totals;
	struct err err;
	int rc = 0;

	*out = (struct unit_values){.labels = &v->labels};
	unit_total(s->units, i, &totals);
	if (unit->state == UNIT_RUNNING) {
		find_job(s, v, unit);
		if (v->job)
			rc = read_job(s, unit, v, &totals, out, &err);
		read_unit_cpus(s, v, unit, out);
		if (rc >= 0 && has_unread_step(s, i))
			rc = err_set(&err, -EIO,
				     "CPU time of a step could not be read");
	} else {
		cgroup_fds_free(v->job);
		v->job = NULL;
	}
	if (rc < 0) {
		say_unit_failure(s, unit, &err);
		*any_failed = true;
		out->has = 0;
		unit_values_set(out, COL_COLLECT_ERROR, 1);
		return;
	}
	set_counters(v, &totals, out);
	const struct unit_gpu_use *use = unit_gpu_use(s->units, i);
	const struct unit_gpu_sums *gpus = &use->live;
	if (use->memory_peak_kib)
		unit_values_set(out, COL_GPU_MEMORY_PEAK, use->memory_peak_kib * 1024);
	if (!gpus->busy_of_ns)
		return;
	unit_values_set(out, COL_GPU_OBSERVED, gpus->busy_of_ns);
	unit_values_set(out, COL_GPU_BUSY, gpus->busy_ns);
	unit_values_set(out, COL_GPU_IDLE, gpus->idle_ns);
}

static struct unit_values *value_room(struct slurm *s, size_t n)
{
	if (n == s->value_cap) {
		size_t cap = n ? n * 2 : 64;
		struct unit_values *v =
			reallocarray(s->values, cap, sizeof(*s->values));
		if (!v)
			return NULL;
		s->values = v;
		s->value_cap = cap;
	}
	return &s->values[n];
}

static int collect_units(struct slurm *s, const struct units_policy *policy,
			 struct prom *out, uint64_t *ret_running)
{
	uint64_t now = s->env->boottime_ns(), running = 0;
	struct units *u = s->units;
	bool any_failed = false;
	size_t n = 0;

	unit_gpus_export_begin(&s->gpus, s->which.manager);
	for (uint32_t i = units_next(u, 0); i != UNITS_NONE; i = units_next(u, i + 1)) {
		const struct unit *unit = units_get(u, i);
		if (unit->manager != (uint32_t)s->which.manager)
			continue;
		running += unit->state == UNIT_RUNNING;
		if (!units_exported(u, i, now, policy))
			continue;
		struct job_view *v = find_job_view(s, i, unit);
		struct unit_values *values = value_room(s, n);
		if (!v || !values)
			return -ENOMEM;
		if (v->replaced)
			continue;
		read_unit_values(s, i, unit, v, values, &any_failed);
		n++;
		export_unit_devices(s, unit, v, out);
		if (unit->state == UNIT_RUNNING)
			unit_gpus_put(&s->gpus, unit, &v->gpus, out);
	}
	if (!any_failed && log_repeat_over(&s->failing))
		log_info("%s: the control groups of all units can be read again",
			 s->manager);
	export_units(out, s->values, n);
	*ret_running = running;
	return 0;
}

static struct step_view *step_view_of(struct slurm *s, uint32_t i,
				      const struct step *step, const struct unit *unit)
{
	struct step_view *v = s->steps[i];
	char number[16];

	if (v && v->serial == step_serial(s->units, i))
		return v;
	if (!v)
		v = s->steps[i] = calloc(1, sizeof(*v));
	if (!v)
		return NULL;
	v->serial = step_serial(s->units, i);
	cgroup_fds_free(v->fds);
	v->fds = NULL;
	v->totals = (struct unit_totals){0};
	buf_reset(&v->labels);
	const struct prom_label labels[] = {
		{"manager", s->manager},
		{"hostname", s->env->hostname},
		{"cgrouphostname", unit->node},
		{"uuid", unit->id},
		{"step", step_is_part(step) ? steps_name(s->units, i)->command
					    : record_step_name(step->step, number)},
	};
	prom_render_labels(&v->labels, labels, 5);
	return v;
}

static void set_step(const struct unit_totals *t, const struct step_view *v,
		     struct step_values *out)
{
	*out = (struct step_values){.labels = &v->labels};
	out->v[STEP_CPU_USER] = t->cpu_user_ns;
	out->v[STEP_CPU_SYSTEM] = t->cpu_system_ns;
	out->v[STEP_OOM_KILLS] = t->oom_kills;
	out->has = 1u << STEP_CPU_USER | 1u << STEP_CPU_SYSTEM | 1u << STEP_OOM_KILLS;
	if (t->memory_peak_bytes) {
		out->v[STEP_MEMORY_PEAK] = t->memory_peak_bytes;
		out->has |= 1u << STEP_MEMORY_PEAK;
	}
}

/* A pod's step is all of the pod, whose series has it; its parts are containers. Of a
 * container that was started again the last one counts, from 0. */
static bool is_exported_step(struct slurm *s, uint32_t i, uint32_t unit)
{
	const struct step *step = steps_get(s->units, i);
	const char *name = steps_name(s->units, i)->command;

	if (s->which.manager != MANAGER_K8S)
		return true;
	if (!step_is_part(step))
		return false;
	for (uint32_t k = units_first_step(s->units, unit); k != i && k != UNITS_NONE;
	     k = steps_after(s->units, k)) { /* newest first */
		if (step_is_part(steps_get(s->units, k)) &&
		    strcmp(steps_name(s->units, k)->command, name) == 0)
			return false;
	}
	return true;
}

/* What a part has used: read now while it runs, then its record's. False: nothing is
 * known of it. */
static bool read_part(struct slurm *s, const struct step *step, struct step_view *v)
{
	struct unit_totals t = step->totals;
	struct cgroup_memory m;
	struct cgroup_cpu cpu;

	if (step->state == UNIT_PART) {
		if (!v->fds)
			v->fds = cgroup_fds_new(s->env->cgroupfd, &s->env->cgroups,
						step->cgroups, step->cgroup_count,
						false);
		if (!v->fds || cgroup_read_cpu(v->fds, &cpu, NULL) < 0)
			return false;
		t.cpu_user_ns = cpu.user_ns;
		t.cpu_system_ns = cpu.system_ns;
		if (cgroup_read_memory(v->fds, false, NULL, &m, NULL) == 0) {
			t.memory_peak_bytes = m.has_peak ? m.peak_bytes : 0;
			t.oom_kills = m.oom_kills;
		}
	} else {
		cgroup_fds_free(v->fds);
		v->fds = NULL;
	}
	totals_merge(&v->totals, &t);
	return true;
}

static int collect_steps(struct slurm *s, struct prom *out)
{
	struct units *u = s->units;
	auto_free struct step_values *values =
		calloc(steps_used(u) + 1u, sizeof(*values));
	size_t n = 0, room = steps_used(u);

	if (!values)
		return -ENOMEM;
	for (uint32_t i = steps_next(u, 0); i != UNITS_NONE && n < room;
	     i = steps_next(u, i + 1)) {
		const struct step *step = steps_get(u, i);
		uint32_t unit = steps_unit(u, i);
		const struct job_view *v = s->views[unit];
		/* only along with its unit, which is not exported without a view */
		if (!v || v->replaced || v->serial != unit_serial(u, unit) ||
		    !is_exported_step(s, i, unit))
			continue;
		struct step_view *sv = step_view_of(s, i, step, units_get(u, unit));
		if (!sv)
			return -ENOMEM;
		bool part = step_is_part(step);
		if (!part || read_part(s, step, sv))
			set_step(part ? &sv->totals : &step->totals, sv, &values[n++]);
	}
	export_steps(out, values, n);
	return 0;
}

int unit_collector_collect(void *state, struct prom *out, struct err *err)
{
	struct slurm *s = state;
	const struct options *o = s->env->options;
	const struct units_policy policy = {
		.linger_ms = o->unit_linger_ms,
		.min_export_ms = o->unit_min_export_ms,
		.max_exported = (uint32_t)o->unit_max_exported,
	};
	struct node_totals totals;
	uint64_t running;

	sweep_job_views(s);
	int rc = collect_units(s, &policy, out, &running);
	if (rc == 0 && s->steps)
		rc = collect_steps(s, out);
	if (rc < 0)
		return err_set(err, rc, "no memory");
	if (s->which.manager == MANAGER_SLURM ||
	    (s->which.manager == MANAGER_K8S && !options_collector(o, "slurm")))
		gpu_processes_export(s->env, s->units, out);
	if (s->which.manager == MANAGER_SLURM)
		gpu_pause_export(s->env->gpu_pause, s->env->hostname, out);
	units_node_totals(s->units, (uint32_t)s->which.manager, &totals);
	export_node(out, s->manager, s->env->hostname, running, &totals);
	return prom_error(out) ? err_set(err, prom_error(out), "scrape too large") : 0;
}

static int slurm_open(const struct env *env, void **ret_state, struct err *err)
{
	const struct options *o = env->options;

	return unit_collector_open(env,
				   &(struct unit_collector){.manager = MANAGER_SLURM,
							    .steps = o->slurm_steps,
							    .swap = o->slurm_swap,
							    .psi = o->slurm_psi},
				   ret_state, err);
}

const struct collector collector_slurm = {
	.name = "slurm",
	.open = slurm_open,
	.collect = unit_collector_collect,
	.close = unit_collector_close,
};
