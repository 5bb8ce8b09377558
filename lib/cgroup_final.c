/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The final counters of a step, read in slurmstepd from as few files as possible. */
#include <errno.h>

#include "lib/cgroup_impl.h"
#include "lib/clock.h"

static void cleanup_fds(struct cgroup_fds **c)
{
	cgroup_fds_free(*c);
}

struct place { /* of a step's control groups */
	int rootfd;
	const char *root;
	const struct cgroup_layout *layout;
	const struct record_cgroup *paths;
	size_t count;
};

/* in slurmstepd nothing stays open, so descriptors are not kept */
static struct cgroup_fds *make_fds(const struct place *p, bool job)
{
	return cgroup_fds_make(p->rootfd, p->root, p->layout, p->paths, p->count, job,
			       0);
}

/* Whether the step reached a limit, its own or its job's. The latter is not the lower
 * one, so one number less has to be read. */
static bool v1_limit_reached(struct cgroup_fds *step, const struct place *place,
			     uint64_t step_peak)
{
	uint64_t limit, peak;

	if (cgroup_read_limit(step, MEM_LIMIT, &limit, NULL) < 0 ||
	    limit == CGROUP_UNLIMITED)
		return false;
	if (cgroup_reached(step_peak, limit))
		return true;
	__attribute__((cleanup(cleanup_fds))) struct cgroup_fds *job =
		make_fds(place, true);
	return job && (cgroup_read_number(job, MEM_PEAK, &peak, NULL) == 0 &&
		       cgroup_reached(peak, limit));
}

/* Read only if a kill was possible; the job's limits are read only then. */
static bool may_have_been_killed(struct cgroup_fds *step, const struct place *place,
				 const struct record_counters *r,
				 uint64_t harmless_peak_bytes)
{
	if (cgroup_on_v2(step, MEM_EVENTS) || !r->has_memory)
		return true;
	return r->memory_peak_bytes >= harmless_peak_bytes &&
	       v1_limit_reached(step, place, r->memory_peak_bytes);
}

static uint64_t oom_kills(struct cgroup_fds *step)
{
	struct cgroup_memory m = {0};

	if (cgroup_read_events(step, &m, NULL) < 0)
		m.oom_kills = 0;
	return m.oom_kills +
	       (cgroup_on_v2(step, MEM_EVENTS) ? 0 : cgroup_kills_below(step));
}

static int read_final_cpu(struct cgroup_fds *c, const struct cgroup_known *known,
			  struct cgroup_cpu *ret, struct err *err)
{
	uint64_t before_ns = known->cpu_user_ns + known->cpu_system_ns;

	if (known->has_cpu) {
		cgroup_fds_seed_cpu(c, known->cpu_user_ns, known->cpu_system_ns);
		c->ticks_at_ns = before_ns;
	}
	c->ratio_user = known->ratio_user_ns;
	c->ratio_system = known->ratio_system_ns;
	int rc = cgroup_read_cpu(c, ret, err);
	if (rc < 0)
		return rc;
	return known->has_cpu && ret->user_ns + ret->system_ns == before_ns;
}

int cgroup_final_counters(int rootfd, const char *root,
			  const struct cgroup_layout *layout,
			  const struct record_cgroup *paths, size_t count,
			  const struct cgroup_known *known, struct record_counters *ret,
			  struct err *err)
{
	const struct place place = {rootfd, root, layout, paths, count};
	__attribute__((cleanup(cleanup_fds))) struct cgroup_fds *c =
		make_fds(&place, false);
	struct record_counters r = {0};
	struct cgroup_cpu cpu;

	if (!c)
		return err_set(err, -ENOMEM, "control group: no memory");
	int rc = read_final_cpu(c, known, &cpu, err);
	if (rc)
		return rc;
	r.read_ns = clock_boottime_ns();
	r.source = cgroup_on_v2(c, CPU_USAGE) ? COUNTERS_CGROUP_V2 : COUNTERS_CGROUP_V1;
	r.cpu_user_ns = cpu.user_ns;
	r.cpu_system_ns = cpu.system_ns;
	/* from here on missing values are not errors: the CPU time counts */
	r.has_memory = cgroup_read_number(c, MEM_PEAK, &r.memory_peak_bytes, NULL) == 0;
	if (may_have_been_killed(c, &place, &r, known->harmless_peak_bytes))
		r.oom_kills = oom_kills(c);
	r.has_io = cgroup_read_io(c, &r.io_read_bytes, &r.io_write_bytes, NULL) == 0;
	*ret = r;
	return 0;
}
