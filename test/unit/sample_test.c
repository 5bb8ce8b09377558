/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is read of jobs and steps between scrapes, on a recorded tree. */
#include "daemon/sample.h"

#include "test/unit/sample_fixture.h"

static uint32_t start(const char *id, const char *path)
{
	struct record r = rec(RECORD_STEP_START, id, 0);
	assert_true(record_add_cgroup(&r, ALL, path));
	assert_int_equal(apply(&r), 0);
	return units_find(u, MANAGER_SLURM, NODE, id, 0);
}

static void a_jobs_cpus_are_those_of_its_cpuset(void **state)
{
	(void)state;
	uint32_t i = start("41", JOB "/step_0");
	assert_int_equal(sample_job_cpus(s, i), 5);
	/* as long as it is known it is not asked for again */
	assert_int_equal(sample_job_cpus(s, i), 5);
	assert_int_equal(sample_job_cpus(s, start("1", "/slurm_n1/uid_0/job_1/step_0")),
			 0);
}

/* As Slurm tells an extern step, where no cpuset holds the job */
static void without_a_cpuset_a_jobs_cores_are_those_of_its_extern_step(void **state)
{
	(void)state;
	struct record r = rec(RECORD_STEP_START, "1", RECORD_STEP_EXTERN);
	r.step_cpus = 3;
	assert_true(record_add_cgroup(&r, ALL, "/slurm_n1/uid_0/job_1/step_extern"));
	assert_int_equal(apply(&r), 0);
	uint32_t i = units_find(u, MANAGER_SLURM, NODE, "1", 0);
	assert_int_equal(units_get(u, i)->cpus, 0);
	assert_int_equal(sample_job_cpus(s, i), 3);
}

static void a_jobs_cpu_time_is_that_of_its_own_group(void **state)
{
	(void)state;
	uint64_t job = 0, step;
	uint32_t i = start("41", JOB "/step_0");
	assert_true(sample_job_cpu(s, i, &job));
	assert_int_equal(sample_steps(s), 1);
	step = total_of("41").cpu_user_ns + total_of("41").cpu_system_ns;
	assert_true(step > 0);
	assert_true(job > step);
	assert_false(
		sample_job_cpu(s, start("1", "/slurm_n1/uid_0/job_1/step_0"), &job));
}

static void a_job_that_ended_is_not_read_any_more(void **state)
{
	(void)state;
	uint64_t ns;
	uint32_t i = start("41", JOB "/step_0");
	assert_true(sample_job_cpu(s, i, &ns));
	stop_ok("41", 0, 1, 1);
	(void)sample_steps(s); /* closes what it kept open */
	assert_false(sample_job_cpu(s, i, &ns));
}

static void resident_memory_is_known_once_it_was_read(void **state)
{
	(void)state;
	start("41", JOB "/step_0");
	uint32_t step = steps_find(u, 0, 0);
	assert_int_equal(sample_rss_bytes(s, step), 0);
	sample_memory(s);
	assert_true(sample_rss_bytes(s, step) > 0);
	assert_int_equal(sample_rss_bytes(s, step + 1), 0);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, sample_up, sample_down)
	const struct CMUnitTest tests[] = {
		T(a_jobs_cpus_are_those_of_its_cpuset),
		T(without_a_cpuset_a_jobs_cores_are_those_of_its_extern_step),
		T(a_jobs_cpu_time_is_that_of_its_own_group),
		T(a_job_that_ended_is_not_read_any_more),
		T(resident_memory_is_known_once_it_was_read),
	};
	return cmocka_run_group_tests_name("sample", tests, setup, teardown);
}
