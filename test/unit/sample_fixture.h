/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_TEST_UNIT_SAMPLE_FIXTURE_H
#define CEEMS_TEST_UNIT_SAMPLE_FIXTURE_H

/* A table and its reader on the recorded tree of cgroup v1, for tests of one program.
 */
#include "daemon/sample.h"

#include "lib/fs.h"
#include "test/unit/units_fixture.h"

#define JOB "/slurm_n1/uid_1000/job_41"
#define ALL (CGROUP_CPUACCT | CGROUP_MEMORY | CGROUP_CPUSET | CGROUP_CPU | CGROUP_PIDS)

static struct env env;
static struct sample *s;

static uint64_t fixture_boottime(void)
{
	return now;
}

static int sample_up(void **state)
{
	(void)state;
	fresh(16);
	env = (struct env){.units = u, .boottime_ns = fixture_boottime, .procfd = -1};
	env.cgroupfd = fs_opendir_at(AT_FDCWD, "test/fixture/v1/sys/fs/cgroup", NULL);
	if (env.cgroupfd < 0 || cgroup_probe(env.cgroupfd, &env.cgroups, NULL) < 0)
		return -1;
	s = sample_new(&env);
	return s ? 0 : -1;
}

static int sample_down(void **state)
{
	(void)state;
	sample_free(s);
	close(env.cgroupfd);
	return 0;
}

#endif
