/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/profiles/profile_steps.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "daemon/options.h"
#include "daemon/sources/child_link.h"
#include "daemon/units.h"
#include "lib/cgroup.h"
#include "lib/clock.h"
#include "lib/records/child_msg.h"
#include "lib/records/profile_sample.h"
#include "lib/records/profile_step.h"

#define WAIT_NS (100 * NSEC_PER_MSEC) /* spank/arm_wait.h */

struct told_step {
	uint64_t serial; /* step_serial(); 0: nothing was told of it */
	uint64_t starts; /* of the child that knows it */
	bool late;       /* from its start on it has not been sampled yet */
	struct profile_step step;
};

struct profile_steps {
	const struct env *env;
	struct child_link *link;
	uint32_t capacity;
	uint32_t told_count;
	uint64_t serial, in_force; /* of what was told last, and what is in force */
	uint64_t since_ns, late_ns;
	struct told_step *told; /* [capacity], by the step's place in the table */
};

int profile_steps_new(const struct env *env, struct child_link *link,
		      struct profile_steps **ret, struct err *err)
{
	struct profile_steps *p = calloc(1, sizeof(*p));

	if (p) {
		p->env = env;
		p->link = link;
		p->since_ns = clock_boottime_ns();
		p->capacity = steps_capacity(env->units);
		p->told = calloc(p->capacity, sizeof(*p->told));
	}
	if (!p || !p->told) {
		free(p);
		return err_set(err, -ENOMEM, "out of memory");
	}
	*ret = p;
	return 0;
}

void profile_steps_free(struct profile_steps *p)
{
	if (!p)
		return;
	free(p->told);
	free(p);
}

uint32_t profile_steps_hz(const struct options *o, const struct step *step)
{
	uint32_t hz = step_profile_hz(step), most = (uint32_t)o->profiling_max_hz;

	if (o->profiling_policy == PROFILING_DENY)
		return 0;
	if (o->profiling_policy == PROFILING_ALWAYS && !hz)
		hz = (uint32_t)o->profiling_hz;
	return hz < most ? hz : most;
}

static bool is_blocked_time_wanted(const struct options *o, const struct step *step)
{
	return o->profiling_off_cpu == PROFILING_ALWAYS ||
	       (o->profiling_off_cpu == PROFILING_ALLOW &&
		(step->flags & RECORD_OFF_CPU));
}

/* The inode of its directory in a hierarchy; 0: it is gone. */
static uint64_t inode_of_step(const struct env *env, const struct step *s,
			      uint32_t controller)
{
	const struct cgroup_layout *l = &env->cgroups;
	char path[sizeof(l->unified) + RECORD_CGROUP_MAX];
	struct stat st;

	for (uint32_t i = 0; i < s->cgroup_count && i < RECORD_CGROUPS_MAX; i++) {
		const struct record_cgroup *c = &s->cgroups[i];
		size_t len = strnlen(c->path, sizeof(c->path));
		if (!(c->controllers & controller) || !cgroup_path_ok(c->path, len))
			continue;
		int n = snprintf(path, sizeof(path), "%s%s", cgroup_dir(l, controller),
				 c->path);
		if (n > 0 && (size_t)n < sizeof(path) &&
		    fstatat(env->cgroupfd, path, &st, AT_SYMLINK_NOFOLLOW) == 0)
			return st.st_ino;
	}
	return 0;
}

/* What the kernel program knows the step's tasks by; 0: it is gone. */
static uint64_t cgroup_of_step(const struct env *env, const struct step *s)
{
	bool by_cpuacct = !env->cgroups.unified_only && *env->cgroups.cpuacct;
	uint64_t inode = by_cpuacct ? inode_of_step(env, s, CGROUP_CPUACCT) : 0;

	if (inode || (by_cpuacct && !*env->cgroups.unified))
		return inode;
	inode = inode_of_step(env, s, CGROUP_UNIFIED);
	return inode ? profile_group_number(inode, by_cpuacct) : 0;
}

static void send_step(struct profile_steps *p, struct told_step *t)
{
	uint64_t starts;

	t->step.serial = p->serial + 1;
	if (child_link_send(p->link, &t->step, sizeof(t->step), &starts) != 0)
		return;
	t->starts = starts;
	p->serial++;
}

/* Steps that are sampled from now on */
static void count_late(struct profile_steps *p, uint64_t now_ns)
{
	for (uint32_t i = 0; i < p->capacity; i++) {
		struct told_step *t = &p->told[i];
		const struct step *s = steps_get(p->env->units, i);
		if (!t->late || t->step.serial > p->in_force)
			continue;
		t->late = false;
		uint64_t from_ns = s ? s->started_boottime_ns + WAIT_NS : now_ns;
		if (now_ns > from_ns)
			__atomic_fetch_add(&p->late_ns, now_ns - from_ns,
					   __ATOMIC_RELAXED);
	}
}

static bool is_all_in_force(struct profile_steps *p)
{
	struct child_profile m;

	if (p->in_force == p->serial)
		return true;
	if (child_link_get(p->link, CHILD_PROFILE, "profiler", &m, sizeof(m)) <= 0 ||
	    m.told <= p->in_force)
		return false;
	p->in_force = m.told < p->serial ? m.told : p->serial;
	count_late(p, clock_boottime_ns());
	return p->in_force == p->serial;
}

static void tell_start(struct profile_steps *p, struct told_step *t, uint32_t i,
		       uint32_t hz)
{
	struct step *s = steps_get(p->env->units, i);
	const struct unit *u = units_get(p->env->units, steps_unit(p->env->units, i));

	*t = (struct told_step){
		.serial = step_serial(p->env->units, i),
		.step = {.magic = PROFILE_STEP_MAGIC,
			 .state = PROFILE_STEP_RUNS,
			 .key = step_serial(p->env->units, i),
			 .cgroup = cgroup_of_step(p->env, s),
			 .hz = hz,
			 .uid = u->uid,
			 .manager = u->manager,
			 .step = s->step,
			 .restarts = u->restarts,
			 .off_cpu = is_blocked_time_wanted(p->env->options, s)},
	};
	if (u->flags & (RECORD_REPORT_TEXT | RECORD_REPORT_JSON))
		t->step.stepd_pid = s->stepd_pid;
	memcpy(t->step.unit, u->id, sizeof(t->step.unit));
	memcpy(t->step.node, u->node, sizeof(t->step.node));
	p->told_count++;
	t->late = s->started_boottime_ns >= p->since_ns;
	if (t->step.cgroup)
		send_step(p, t);
}

static void tell_end(struct profile_steps *p, struct told_step *t)
{
	t->step.state = PROFILE_STEP_ENDED;
	if (t->step.cgroup)
		send_step(p, t);
	*t = (struct told_step){0};
	p->told_count--;
}

static bool is_running(struct profile_steps *p, uint32_t i)
{
	const struct step *s = steps_get(p->env->units, i);

	return s && s->state == UNIT_RUNNING;
}

/* What was told of steps that have ended, or whose place another one has */
static void tell_ends(struct profile_steps *p)
{
	for (uint32_t i = 0; p->told_count && i < p->capacity; i++) {
		struct told_step *t = &p->told[i];
		if (t->serial &&
		    (!is_running(p, i) || step_serial(p->env->units, i) != t->serial))
			tell_end(p, t);
	}
}

bool profile_steps_tick(struct profile_steps *p)
{
	struct units *units = p->env->units;
	uint64_t starts = child_link_starts(p->link);

	tell_ends(p);
	for (uint32_t i = steps_next(units, 0); i != UNITS_NONE;
	     i = steps_next(units, i + 1)) {
		struct told_step *t = &p->told[i];
		if (!is_running(p, i))
			continue;
		uint32_t hz = profile_steps_hz(p->env->options, steps_get(units, i));
		if (hz && !t->serial)
			tell_start(p, t, i, hz);
		else if (t->serial && t->step.cgroup && t->starts != starts)
			send_step(p, t); /* ceems-profiler was started anew */
	}
	return is_all_in_force(p);
}

uint64_t profile_steps_late_ns(const struct profile_steps *p)
{
	return __atomic_load_n(&p->late_ns, __ATOMIC_RELAXED);
}
