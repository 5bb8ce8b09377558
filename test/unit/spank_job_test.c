/* SPDX-License-Identifier: GPL-2.0-or-later */
/* spank_ceems_job.so's prolog and epilog on a pretended slurmd. */
#include <errno.h>

#include "test/unit/spank_world.h"

static int run(struct world *w, spank_f *hook, const char *more)
{
	char *argv[] = {w->ring_arg, (char *)more};
	fake.context = S_CTX_JOB_SCRIPT;
	return hook(fake_spank(), 1 + !!more, argv);
}

static int job_up(void **state)
{
	clearenv();
	setenv("SLURM_JOB_ACCOUNT", "proj", 1);
	setenv("SLURM_JOB_PARTITION", "gpu", 1);
	setenv("SLURM_JOB_USER", "ann", 1);
	setenv("SLURM_RESTART_COUNT", "2", 1);
	setenv("SLURM_HET_JOB_ID", "40", 1);
	setenv("SLURM_JOB_GPUS", "0,1,3", 1);
	/* the user's own come in with this prefix only */
	setenv("SPANK_SLURM_JOB_ACCOUNT", "evil", 1);
	setenv("SPANK_SLURM_JOB_GPUS", "7", 1);
	return world_up(state);
}

static void prolog_and_epilog_bracket_the_unit(void **state)
{
	struct world *w = *state;
	struct record r;
	assert_int_equal(run(w, slurm_spank_job_prolog, NULL), 0);
	world_expect(w, RECORD_UNIT_START, &r);
	assert_string_equal(r.unit, "41");
	assert_int_equal(r.uid, 1000);
	assert_int_equal(r.gid, 100);
	assert_int_equal(r.restarts, 2);
	assert_int_equal(r.het_job, 40);
	assert_string_equal(r.account, "proj");
	assert_string_equal(r.partition, "gpu");
	assert_string_equal(r.user, "ann");
	assert_string_equal(r.gpus, "0-1,3");
	assert_int_equal(r.flags, RECORD_GPUS_TRUSTED);
	setenv("SLURM_JOB_EXIT_CODE", "256", 1);
	assert_int_equal(run(w, slurm_spank_job_epilog, NULL), 0);
	world_expect(w, RECORD_UNIT_STOP, &r);
	assert_int_equal(r.exit_status, 256);
	assert_int_equal(r.flags, RECORD_GPUS_TRUSTED | RECORD_LAST);
	setenv("SLURM_JOB_EXIT_CODE", "9", 1);
	run(w, slurm_spank_job_epilog, NULL);
	world_expect(w, RECORD_UNIT_STOP, &r);
	assert_int_equal(r.flags & RECORD_SIGNALLED, RECORD_SIGNALLED);
}

/* The node of a job's own records must be that of its steps', or it is two units. */
static void node_is_the_one_in_the_cgroup_paths_of_steps(void **state)
{
	struct world *w = *state;
	struct record r;
	setenv("SLURMD_NODENAME", "n1", 1);
	world_put(w, "cgroup/freezer/slurm/tasks", "");
	run(w, slurm_spank_job_prolog, NULL);
	world_expect(w, RECORD_UNIT_START, &r);
	assert_string_equal(r.node, "");
	world_put(w, "cgroup/freezer/slurm_n1/tasks", "");
	run(w, slurm_spank_job_prolog, NULL);
	world_expect(w, RECORD_UNIT_START, &r);
	assert_string_equal(r.node, "n1");
	/* v2 */
	world_put(w, "cgroup/cgroup.controllers", "cpu\n");
	run(w, slurm_spank_job_epilog, NULL);
	world_expect(w, RECORD_UNIT_STOP, &r);
	assert_string_equal(r.node, "");
	world_put(w, "cgroup/system.slice/n1_slurmstepd.scope/tasks", "");
	run(w, slurm_spank_job_epilog, NULL);
	world_expect(w, RECORD_UNIT_STOP, &r);
	assert_string_equal(r.node, "n1");
	/* CgroupSlice= */
	setenv("SLURMD_NODENAME", "n2", 1);
	run(w, slurm_spank_job_epilog, NULL);
	world_expect(w, RECORD_UNIT_STOP, &r);
	assert_string_equal(r.node, "");
	world_put(w, "cgroup/slurm.slice/n2_slurmstepd.scope/tasks", "");
	run(w, slurm_spank_job_epilog, NULL);
	world_expect(w, RECORD_UNIT_STOP, &r);
	assert_string_equal(r.node, "n2");
	/* of systemd's in each other: hpc-batch-long.slice */
	setenv("SLURMD_NODENAME", "n3", 1);
	world_put(w, "cgroup/hpc.slice/a.scope/n3_slurmstepd.scope/tasks", "");
	world_put(w, "cgroup/hpc.slice/hpc-batch.slice/tasks", "");
	run(w, slurm_spank_job_epilog, NULL);
	world_expect(w, RECORD_UNIT_STOP, &r);
	assert_string_equal(r.node, "");
	world_put(w,
		  "cgroup/hpc.slice/hpc-batch.slice/hpc-batch-long.slice/"
		  "n3_slurmstepd.scope/tasks",
		  "");
	run(w, slurm_spank_job_epilog, NULL);
	world_expect(w, RECORD_UNIT_STOP, &r);
	assert_string_equal(r.node, "n3");
	setenv("SLURMD_NODENAME", "../n1", 1);
	run(w, slurm_spank_job_epilog, NULL);
	world_expect(w, RECORD_UNIT_STOP, &r);
	assert_string_equal(r.node, "");
}

static void odd_environment_costs_only_what_is_odd(void **state)
{
	struct world *w = *state;
	struct record r;
	clearenv();
	setenv("SLURM_RESTART_COUNT", "many", 1);
	setenv("SLURM_HET_JOB_ID", "", 1);
	setenv("SLURM_JOB_GPUS", "0,x", 1);
	setenv("SLURM_JOB_EXIT_CODE", "-1", 1);
	run(w, slurm_spank_job_epilog, NULL);
	world_expect(w, RECORD_UNIT_STOP, &r);
	assert_int_equal(r.restarts, 0);
	assert_int_equal(r.het_job, RECORD_NO_VAL);
	assert_string_equal(r.gpus, "");
	assert_int_equal(r.exit_status, 0);
	assert_int_equal(r.flags, RECORD_LAST);
}

/* a non-zero return of a prolog drains the node */
static void success_whatever_happens(void **state)
{
	struct world *w = *state;
	remove_ring(w->ring);
	assert_int_equal(run(w, slurm_spank_job_prolog, "colour=blue"), 0);
	assert_int_equal(run(w, slurm_spank_job_epilog, NULL), 0);
	fake.items_fail = true;
	assert_int_equal(run(w, slurm_spank_job_prolog, NULL), 0);
	assert_int_equal(run(w, slurm_spank_job_epilog, NULL), 0);
	assert_int_equal(fake_logged(FAKE_INFO), 0);
}

static void no_job_id_no_record(void **state)
{
	struct world *w = *state;
	fake.items_fail = true;
	run(w, slurm_spank_job_prolog, NULL);
	world_expect_nothing(w);
}

#define FOR_A_JOB(test) cmocka_unit_test_setup_teardown(test, job_up, world_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		FOR_A_JOB(prolog_and_epilog_bracket_the_unit),
		FOR_A_JOB(node_is_the_one_in_the_cgroup_paths_of_steps),
		FOR_A_JOB(odd_environment_costs_only_what_is_odd),
		FOR_A_JOB(success_whatever_happens),
		FOR_A_JOB(no_job_id_no_record),
	};
	/* clearenv() takes cmocka's own variable away */
	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
