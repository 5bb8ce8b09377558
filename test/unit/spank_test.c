/* SPDX-License-Identifier: GPL-2.0-or-later */
/* spank_ceems.so's own files linked to a pretended Slurm: every order of hooks that the
 * real ones have (reference: src/slurmd/slurmstepd/mgr.c) and what must not happen. */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>

#include "lib/cleanup.h"
#include "test/unit/spank_world.h"

/* ---- orders of hooks ------------------------------------------------------------- */

static void step_sends_start_stop_and_a_last_stop(void **state)
{
	struct world *w = *state;
	struct record r;
	make_v1(w);
	assert_int_equal(init(w, NULL, NULL), 0);
	world_expect_nothing(w);
	fork_task(TASK_PID);
	world_expect(w, RECORD_STEP_START, &r);
	assert_int_equal(r.counters.source, COUNTERS_NONE);
	world_expect_nothing(w);
	end_task(0);
	world_expect(w, RECORD_STEP_STOP, &r);
	assert_int_equal(r.counters.source, COUNTERS_CGROUP_V1);
	assert_int_equal(r.counters.cpu_user_ns + r.counters.cpu_system_ns, 7000000);
	assert_true(r.counters.has_memory);
	assert_int_equal(r.counters.memory_peak_bytes, 4096);
	assert_int_equal(r.flags & RECORD_LAST, 0);
	drop_v1(w); /* 22.05 on v1 removes it before the exit hook */
	leave();
	world_expect(w, RECORD_STEP_STOP, &r);
	assert_int_equal(r.flags & RECORD_LAST, RECORD_LAST);
	assert_int_equal(r.counters.source, COUNTERS_CGROUP_V1);
	assert_int_equal(r.counters.cpu_user_ns + r.counters.cpu_system_ns, 7000000);
	leave();
	world_expect_nothing(w);
	assert_int_equal(fake_logged(FAKE_VERBOSE), 0);
}

static void start_holds_slurms_facts(void **state)
{
	struct world *w = *state;
	struct record r;
	make_v1(w);
	fake.step = 3;
	fake.restarts = 2;
	fake.tasks = 5;
	init(w, NULL, NULL);
	fork_task(TASK_PID);
	world_expect(w, RECORD_STEP_START, &r);
	assert_string_equal(r.unit, "41");
	assert_int_equal(r.manager, MANAGER_SLURM);
	assert_int_equal(r.step, 3);
	assert_int_equal(r.uid, 1000);
	assert_int_equal(r.gid, 100);
	assert_int_equal(r.restarts, 2);
	assert_int_equal(r.tasks, 5);
	assert_int_equal(r.cpus, 4);
	assert_int_equal(r.step_cpus, 2);
	assert_int_equal(r.memory_bytes, 2048ull << 20);
	assert_int_equal(r.stepd_pid, getpid());
	assert_int_equal(r.array_job, RECORD_NO_VAL);
	assert_int_equal(r.array_task, RECORD_NO_VAL);
	assert_int_equal(r.het_job, RECORD_NO_VAL);
	assert_string_equal(r.node, "n1");
	assert_string_equal(record_cgroup(&r, CGROUP_CPUACCT), V1_STEP);
	assert_string_equal(record_cgroup(&r, CGROUP_MEMORY), V1_STEP);
	assert_null(record_cgroup(&r, CGROUP_PIDS));
	assert_true(r.realtime_ns > 0 && r.boottime_ns > 0);
}

static void step_cpus_count_hardware_threads(void **state)
{
	struct world *w = *state;
	struct record r;
	fake.ncpus = 8; /* two threads on each of the job's cores 0-3 */
	init(w, NULL, NULL);
	fork_task(TASK_PID);
	world_expect(w, RECORD_STEP_START, &r);
	assert_int_equal(r.cpus, 8);
	assert_int_equal(r.step_cpus, 4);
}

static void array_task_and_requeue_are_facts(void **state)
{
	struct world *w = *state;
	struct record r;
	fake.array_job = 40;
	fake.array_task = 7;
	fake.restarts = 0xfffffffe;
	fake.step = RECORD_STEP_BATCH;
	init(w, NULL, NULL);
	fork_task(TASK_PID);
	world_expect(w, RECORD_STEP_START, &r);
	assert_int_equal(r.array_job, 40);
	assert_int_equal(r.array_task, 7);
	assert_int_equal(r.restarts, 0);
}

static void array_ids_of_other_steps_are_the_users_word(void **state)
{
	struct world *w = *state;
	struct record r;
	fake.array_job = 40;
	fake.array_task = 7;
	init(w, NULL, NULL);
	fork_task(TASK_PID);
	world_expect(w, RECORD_STEP_START, &r);
	assert_int_equal(r.array_job, RECORD_NO_VAL);
	assert_int_equal(r.array_task, RECORD_NO_VAL);
}

static void
many_tasks_give_one_start_and_one_stop_with_the_largest_counters(void **state)
{
	struct world *w = *state;
	struct record r;
	make_v1(w);
	fake.tasks = 3;
	init(w, NULL, NULL);
	for (int i = 0; i < 3; i++)
		fork_task(TASK_PID);
	world_expect(w, RECORD_STEP_START, &r);
	world_expect_nothing(w);
	end_task(0x0300);
	put_v1_counters(w, "9000000\n", "1024\n"); /* peak was reset by someone */
	end_task(0x0100);
	world_expect_nothing(w);
	end_task(0);
	world_expect(w, RECORD_STEP_STOP, &r);
	assert_int_equal(r.counters.cpu_user_ns + r.counters.cpu_system_ns, 9000000);
	assert_int_equal(r.counters.memory_peak_bytes, 4096);
	assert_int_equal(r.exit_status, 0x0300);
	assert_int_equal(r.flags & RECORD_SIGNALLED, 0);
}

static void command_is(struct world *w, const char *const *argv, const char *command,
		       bool cut)
{
	struct record r;
	fake_reset();
	fake.argv = argv;
	assert_int_equal(init(w, NULL, NULL), 0);
	fork_task(TASK_PID);
	world_expect(w, RECORD_STEP_START, &r);
	assert_string_equal(r.command, command);
	assert_int_equal(r.flags & RECORD_CUT, cut ? RECORD_CUT : 0);
	end_task(0);
	world_expect(w, RECORD_STEP_STOP, &r);
	assert_string_equal(r.command, command);
	leave();
	world_expect(w, RECORD_STEP_STOP, &r);
}

static void a_numbered_step_is_called_what_it_runs(void **state)
{
	struct world *w = *state;
	char many[400] = "/opt/";
	memset(many + 5, 'm', 300);
	const char *const plain[] = {"burn", "300", NULL};
	const char *const path[] = {"/usr/local/bin/my prog", NULL};
	const char *const odd[] = {"./a\"b'\n\xff\xc3\xa4", NULL};
	const char *const folder[] = {"bin/", NULL};
	const char *const empty[] = {"", NULL};
	const char *const large[] = {many, NULL};
	const char *const none[] = {NULL};
	make_v1(w);
	command_is(w, plain, "burn", false);
	command_is(w, path, "my prog", false);
	command_is(w, odd, "a\"b'\n\xff\xc3\xa4", false);
	command_is(w, folder, "", false);
	command_is(w, empty, "", false);
	command_is(w, none, "", false);
	command_is(w, NULL, "", false);
	char cut[RECORD_NAME_MAX];
	memset(cut, 'm', sizeof(cut) - 1);
	cut[sizeof(cut) - 1] = '\0';
	command_is(w, large, cut, true);
}

static void slurms_own_steps_have_names_already(void **state)
{
	struct world *w = *state;
	struct record r;
	static const uint32_t steps[] = {RECORD_STEP_BATCH, RECORD_STEP_INTERACTIVE};
	const char *const argv[] = {"/var/spool/slurm_script", NULL};
	make_v1(w);
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		fake_reset();
		fake.argv = argv;
		fake.step = steps[i];
		assert_int_equal(init(w, NULL, NULL), 0);
		fork_task(TASK_PID);
		world_expect(w, RECORD_STEP_START, &r);
		assert_string_equal(r.command, "");
		leave();
		world_expect(w, RECORD_STEP_STOP, &r);
	}
}

static void step_that_dies_by_signal_says_so(void **state)
{
	struct world *w = *state;
	struct record r;
	make_v1(w);
	init(w, NULL, NULL);
	fork_task(TASK_PID);
	end_task(SIGKILL);
	world_expect(w, RECORD_STEP_START, &r);
	world_expect(w, RECORD_STEP_STOP, &r);
	assert_int_equal(r.exit_status, SIGKILL);
	assert_int_equal(r.flags & RECORD_SIGNALLED, RECORD_SIGNALLED);
}

static void failed_launch_before_a_fork_sends_nothing(void **state)
{
	struct world *w = *state;
	make_v1(w);
	init(w, NULL, NULL);
	leave();
	world_expect_nothing(w);
	end_task(0); /* a task_exit out of nowhere is nothing either */
	world_expect_nothing(w);
}

static void tasks_that_never_exit_get_their_stop_from_the_exit_hook(void **state)
{
	struct world *w = *state;
	struct record r;
	make_v1(w);
	fake.tasks = 4;
	init(w, NULL, NULL);
	fork_task(TASK_PID);
	end_task(0x0100);
	leave();
	world_expect(w, RECORD_STEP_START, &r);
	world_expect(w, RECORD_STEP_STOP, &r);
	assert_int_equal(r.flags & RECORD_LAST, RECORD_LAST);
	assert_int_equal(r.exit_status, 0x0100);
	assert_int_equal(r.counters.cpu_user_ns, 7000000);
	world_expect_nothing(w);
}

static void extern_step_brackets_the_unit_and_has_no_task(void **state)
{
	struct world *w = *state;
	struct record r;
	static const char path[] = "/slurm_n1/uid_1000/job_41/step_extern";
	static const char *const env[] = {"SLURM_JOB_GPUS=0", "SLURM_STEP_GPUS=1",
					  NULL};
	/* as on v1: slurmstepd is in the root of cpuacct, freezer has the job only */
	world_put(w, "proc/self/cgroup",
		  "6:freezer:/slurm_n1/uid_1000/job_41\n5:cpuacct:/\n"
		  "4:memory:/slurm_n1/uid_1000/job_41/step_extern\n0::/\n");
	world_put(w,
		  "cgroup/cpuacct/slurm_n1/uid_1000/job_41/step_extern/cpuacct.usage",
		  "55\n");
	world_put(w, "cgroup/memory/slurm_n1/uid_1000/job_41/step_extern/x", "");
	fake.step = RECORD_STEP_EXTERN;
	fake.env = env;
	init(w, NULL, NULL);
	fork_task(0);
	world_expect(w, RECORD_UNIT_START, &r);
	world_expect(w, RECORD_STEP_START, &r);
	assert_int_equal(r.step, RECORD_STEP_EXTERN);
	assert_string_equal(record_cgroup(&r, CGROUP_MEMORY), path);
	assert_string_equal(record_cgroup(&r, CGROUP_CPUACCT), path);
	assert_string_equal(r.gpus, "");
	drop_v1(w);
	leave();
	world_expect(w, RECORD_STEP_STOP, &r);
	assert_int_equal(r.flags & RECORD_LAST, RECORD_LAST);
	/* slurmstepd's own children are not the step's processes */
	assert_int_equal(r.counters.source, COUNTERS_NONE);
	world_expect(w, RECORD_UNIT_STOP, &r);
	world_expect_nothing(w);
}

/* as Slurm's X11 clean-up does */
struct lender {
	atomic_bool seen;
	bool lent;
};
static void *lend_the_effective_id(void *arg)
{
	const struct timespec nap = {.tv_nsec = 30000000};
	struct lender *l = arg;
	l->lent = seteuid(65534) == 0;
	while (!atomic_load(&l->seen))
		usleep(100);
	l->lent = nanosleep(&nap, NULL) == 0 && seteuid(0) == 0 && l->lent;
	return NULL;
}

static void exit_hook_waits_out_an_effective_id_that_another_thread_lent(void **state)
{
	struct world *w = *state;
	struct record r;
	pthread_t thread;
	struct lender lender = {.lent = false};
	if (geteuid() != 0)
		skip();
	make_v1(w);
	init(w, NULL, NULL);
	fork_task(TASK_PID);
	world_expect(w, RECORD_STEP_START, &r);
	assert_int_equal(pthread_create(&thread, NULL, lend_the_effective_id, &lender),
			 0);
	for (int i = 0; i < 600000 && geteuid() == 0; i++)
		usleep(100);
	assert_int_equal(geteuid(), 65534);
	atomic_store(&lender.seen, true);
	leave();
	pthread_join(thread, NULL);
	assert_true(lender.lent);
	world_expect(w, RECORD_STEP_STOP, &r);
	assert_true(r.flags & RECORD_LAST);
}

static void extern_step_does_not_invent_a_cpuacct_group(void **state)
{
	struct world *w = *state;
	struct record r;
	world_put(w, "proc/self/cgroup",
		  "5:cpuacct:/\n4:memory:/slurm_n1/uid_1000/job_41/step_extern\n");
	world_put(w, "cgroup/cpuacct/cpuacct.usage", "1\n");
	world_put(w, "cgroup/memory/x", "");
	fake.step = RECORD_STEP_EXTERN;
	init(w, NULL, NULL);
	fork_task(0);
	world_expect(w, RECORD_UNIT_START, &r);
	assert_null(record_cgroup(&r, CGROUP_CPUACCT));
}

static void items_that_fail_cost_facts_only(void **state)
{
	struct world *w = *state;
	struct record r;
	make_v1(w);
	init(w, NULL, NULL);
	fake.items_fail = true;
	fork_task(TASK_PID);
	end_task(0);
	leave();
	fake.items_fail = false;
	while (world_take(w, &r))
		assert_int_equal(r.cpus, 0);
	assert_int_equal(fake_logged(FAKE_INFO), 0);
}

/* ---- cgroups --------------------------------------------------------------------- */

static void v2_reads_the_users_part_and_again_in_the_exit_hook(void **state)
{
	struct world *w = *state;
	struct record r;
	make_v2(w);
	init(w, NULL, NULL);
	fork_task(TASK_PID);
	world_expect(w, RECORD_STEP_START, &r);
	assert_string_equal(record_cgroup(&r, CGROUP_UNIFIED), V2_STEP);
	assert_string_equal(r.node, "n1");
	end_task(0);
	world_expect(w, RECORD_STEP_STOP, &r);
	assert_int_equal(r.counters.source, COUNTERS_CGROUP_V2);
	assert_int_equal(r.counters.cpu_user_ns, 5000000);
	assert_int_equal(r.counters.oom_kills, 1);
	put_v2_counters(w, "6000"); /* what daemonised children used until their end */
	leave();
	world_expect(w, RECORD_STEP_STOP, &r);
	assert_int_equal(r.counters.cpu_user_ns, 6000000);
	assert_int_equal(r.counters.memory_peak_bytes, 8192);
}

static void joint_mounts_without_links_are_found_by_looking(void **state)
{
	struct world *w = *state;
	struct record r;
	world_put(w, "proc/4711/cgroup", "5:cpu,cpuacct:" V1_STEP "/task_0\n0::/\n");
	world_put(w, "cgroup/cpu,cpuacct" V1_STEP "/cpuacct.usage", "77\n");
	init(w, NULL, NULL);
	fork_task(TASK_PID);
	end_task(0);
	world_expect(w, RECORD_STEP_START, &r);
	world_expect(w, RECORD_STEP_STOP, &r);
	assert_int_equal(r.counters.source, COUNTERS_CGROUP_V1);
	assert_int_equal(r.counters.cpu_user_ns, 77);
}

static void exit_hook_reads_what_ran_after_the_last_task(void **state)
{
	struct world *w = *state;
	struct record r;
	make_v1(w);
	init(w, NULL, NULL);
	fork_task(TASK_PID);
	end_task(0);
	put_v1_counters(w, "8000000\n", "8192\n"); /* a daemonised child */
	leave();
	world_expect(w, RECORD_STEP_START, &r);
	world_expect(w, RECORD_STEP_STOP, &r);
	world_expect(w, RECORD_STEP_STOP, &r);
	assert_int_equal(r.counters.cpu_user_ns + r.counters.cpu_system_ns, 8000000);
	assert_int_equal(r.counters.memory_peak_bytes, 8192);
}

static void kills_are_looked_for_in_steps_that_failed_or_came_near(void **state)
{
	struct world *w = *state;
	struct record r;
	static const struct {
		const char *peak;
		int status;
		uint64_t kills;
	} cases[] = {
		/* an eighth of the job's 2 GiB, and one byte less */
		{"268435456\n", 0, 3},
		{"268435455\n", 0, 0},
		/* killed for what another step of its job has taken */
		{"4096\n", SIGKILL, 3},
		{"4096\n", 0x0100, 3},
	};
	make_v1(w);
	world_put(w, "cgroup/memory" V1_STEP "/memory.limit_in_bytes", "2147483648\n");
	world_put(w, "cgroup/memory" V1_STEP "/memory.oom_control", "oom_kill 3\n");
	world_put(w, "cgroup/memory/slurm_n1/uid_1000/job_41/memory.max_usage_in_bytes",
		  "2147483648\n");
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		fake_reset();
		put_v1_counters(w, "7000000\n", cases[i].peak);
		init(w, NULL, NULL);
		fork_task(TASK_PID);
		end_task(cases[i].status);
		world_expect(w, RECORD_STEP_START, &r);
		world_expect(w, RECORD_STEP_STOP, &r);
		assert_int_equal(r.counters.oom_kills, cases[i].kills);
	}
}

static void hybrid_takes_cpu_time_from_v1(void **state)
{
	struct world *w = *state;
	struct record r;
	make_v1(w);
	world_put(w, "cgroup/unified/cgroup.controllers", "\n");
	world_put(w, "proc/4711/cgroup",
		  "5:cpuacct:" V1_STEP "/task_0\n4:memory:" V1_STEP
		  "/task_0\n0::" V1_STEP "/task_0\n");
	init(w, NULL, NULL);
	fork_task(TASK_PID);
	end_task(0);
	world_expect(w, RECORD_STEP_START, &r);
	world_expect(w, RECORD_STEP_STOP, &r);
	assert_int_equal(r.counters.source, COUNTERS_CGROUP_V1);
	assert_int_equal(r.counters.cpu_user_ns + r.counters.cpu_system_ns, 7000000);
}

static void heterogeneous_step_keeps_the_name_the_kernel_gives(void **state)
{
	struct world *w = *state;
	struct record r;
	static const char *const env[] = {"SLURM_HET_JOB_ID=40", NULL};
	world_put(w, "proc/4711/cgroup",
		  "5:cpuacct:/slurm_n1/uid_1000/job_41/step_0+1/task_2\n");
	world_put(w, "cgroup/cpuacct/slurm_n1/uid_1000/job_41/step_0+1/cpuacct.usage",
		  "123\n");
	fake.env = env;
	init(w, NULL, NULL);
	fork_task(TASK_PID);
	end_task(0);
	world_expect(w, RECORD_STEP_START, &r);
	assert_string_equal(record_cgroup(&r, CGROUP_CPUACCT),
			    "/slurm_n1/uid_1000/job_41/step_0+1");
	assert_int_equal(r.het_job, 40);
	world_expect(w, RECORD_STEP_STOP, &r);
	assert_int_equal(r.counters.cpu_user_ns + r.counters.cpu_system_ns, 123);
}

static void environment_counts_by_whole_names_and_the_first_of_two(void **state)
{
	struct world *w = *state;
	struct record r;
	char gpus[1200] = "SLURM_STEP_GPUS=0";
	const char *const env[] = {"SLURM_JOB_NAMES=more", "SLURM_JOB_NAM=less",
				   "SLURM_JOB_ACCOUNT",    "",
				   "SLURM_JOB_NAME=first", "SLURM_JOB_NAME=second",
				   "SLURM_JOB_USER=",      gpus,
				   "SLURM_HET_JOB_ID=4x",  NULL};
	/* cut anywhere it would be another list */
	for (size_t i = strlen(gpus); i < sizeof(gpus) - 2; i += 2)
		memcpy(gpus + i, ",1", 3);
	fake.env = env;
	init(w, NULL, NULL);
	fork_task(0);
	world_expect(w, RECORD_STEP_START, &r);
	assert_string_equal(r.name, "first");
	assert_string_equal(r.account, "");
	assert_string_equal(r.user, "");
	assert_string_equal(r.gpus, "");
	assert_int_equal(r.flags & RECORD_GPUS_TRUSTED, 0);
	assert_int_equal(r.het_job, RECORD_NO_VAL);
}

/* Burns CPU in a child, which is reaped before task_exit, as slurmstepd does. */
static void burn_in_a_child(void)
{
	pid_t pid = fork();
	if (pid == 0) {
		struct timespec t;
		do
			clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
		while (t.tv_sec == 0 && t.tv_nsec < 30000000);
		_exit(0);
	}
	assert_true(pid > 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void time_of_a_step_is_divided_as_that_of_its_reaped_processes(void **state)
{
	struct world *w = *state;
	struct record r;
	make_v1(w);
	put_v1_counters(w, "1000\n", "4096\n");
	world_put(w, "cgroup/cpuacct" V1_STEP "/cpuacct.usage_user", "not read\n");
	world_put(w, "cgroup/cpuacct" V1_STEP "/cpuacct.usage_sys", "not read\n");
	init(w, NULL, NULL);
	fork_task(TASK_PID);
	burn_in_a_child();
	end_task(0);
	world_expect(w, RECORD_STEP_START, &r);
	world_expect(w, RECORD_STEP_STOP, &r);
	assert_int_equal(r.counters.source, COUNTERS_CGROUP_V1);
	assert_int_equal(r.counters.cpu_user_ns + r.counters.cpu_system_ns, 1000);
	assert_true(r.counters.has_memory);
}

static void without_cgroups_the_reaped_tasks_rusage_counts(void **state)
{
	struct world *w = *state;
	struct record r;
	burn_in_a_child(); /* before the step: not the step's */
	init(w, NULL, NULL);
	fork_task(TASK_PID);
	world_expect(w, RECORD_STEP_START, &r);
	assert_int_equal(r.cgroup_count, 0);
	burn_in_a_child();
	end_task(0);
	world_expect(w, RECORD_STEP_STOP, &r);
	assert_int_equal(r.counters.source, COUNTERS_RUSAGE);
	uint64_t cpu = r.counters.cpu_user_ns + r.counters.cpu_system_ns;
	/* what the kernel itself has counted since the fork, not a time of ours: at
	 * least what the child measured, and the first child's 30 ms not in it twice
	 * over */
	assert_true(cpu >= 25000000);
	assert_true(r.counters.has_memory && r.counters.memory_peak_bytes > 0);
	struct rusage all;
	getrusage(RUSAGE_CHILDREN, &all);
	assert_true(cpu + 25000000 <=
		    (uint64_t)all.ru_utime.tv_sec * 1000000000 +
			    (uint64_t)all.ru_utime.tv_usec * 1000 +
			    (uint64_t)all.ru_stime.tv_sec * 1000000000 +
			    (uint64_t)all.ru_stime.tv_usec * 1000);
}

static void better_source_wins_and_equal_ones_keep_maxima(void **state)
{
	struct record_counters best = {0};
	struct record_counters rusage = {.source = COUNTERS_RUSAGE, .cpu_user_ns = 900};
	struct record_counters v1 = {.source = COUNTERS_CGROUP_V1,
				     .cpu_user_ns = 10,
				     .cpu_system_ns = 5,
				     .oom_kills = 2};
	struct record_counters later = {.source = COUNTERS_CGROUP_V1,
					.cpu_user_ns = 8,
					.cpu_system_ns = 9,
					.has_memory = true,
					.memory_peak_bytes = 7};
	struct record_counters none = {0};
	(void)state;
	step_keep_largest(&best, &rusage);
	assert_int_equal(best.source, COUNTERS_RUSAGE);
	step_keep_largest(&best, &v1);
	assert_int_equal(best.cpu_user_ns, 10);
	step_keep_largest(&best, &later);
	assert_int_equal(best.cpu_user_ns, 8); /* 17 > 15: the pair goes together */
	assert_int_equal(best.cpu_system_ns, 9);
	assert_int_equal(best.oom_kills, 2);
	assert_true(best.has_memory && best.memory_peak_bytes == 7);
	step_keep_largest(&best, &rusage);
	step_keep_largest(&best, &none);
	assert_int_equal(best.source, COUNTERS_CGROUP_V1);
}

/* ---- contain_spank: hooks in a clone(CLONE_VM) child ----------------------------- */

#define CONTAINED_STACK (64u << 10) /* far less than Slurm gives it */

static int contained_fork(void *arg)
{
	(void)arg;
	return slurm_spank_task_post_fork(fake_spank(), 0, NULL);
}

static int contained_exit(void *arg)
{
	(void)arg;
	return slurm_spank_task_exit(fake_spank(), 0, NULL);
}

static void run_contained(int (*hook)(void *))
{
	int status;
#ifdef __SANITIZE_THREAD__
	skip(); /* it knows no process that shares memory */
#endif
	/* a guard page below: an overflow would be a SIGSEGV of the child */
	char *stack = mmap(NULL, CONTAINED_STACK + 4096, PROT_NONE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_true(stack != MAP_FAILED);
	assert_int_equal(
		mprotect(stack + 4096, CONTAINED_STACK, PROT_READ | PROT_WRITE), 0);
	pid_t pid =
		clone(hook, stack + 4096 + CONTAINED_STACK, CLONE_VM | SIGCHLD, NULL);
	assert_true(pid > 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	munmap(stack, CONTAINED_STACK + 4096);
}

static void contained_hooks_share_the_step_and_name_slurmstepd(void **state)
{
	struct world *w = *state;
	struct record r;
	make_v1(w);
	init(w, NULL, NULL);
	fake.task_pid = TASK_PID;
	fake.task_exited = true;
	run_contained(contained_fork);
	world_expect(w, RECORD_STEP_START, &r);
	assert_int_equal(r.stepd_pid, getpid());
	run_contained(contained_exit);
	world_expect(w, RECORD_STEP_STOP, &r);
	assert_int_equal(r.counters.cpu_user_ns + r.counters.cpu_system_ns, 7000000);
	leave();
	world_expect(w, RECORD_STEP_STOP, &r);
	assert_int_equal(r.flags & RECORD_LAST, RECORD_LAST);
}

static void contained_hook_without_cgroup_does_not_report_its_own_zero(void **state)
{
	struct world *w = *state;
	struct record r;
	init(w, NULL, NULL);
	fake.task_pid = TASK_PID;
	fake.task_exited = true;
	run_contained(contained_fork);
	burn_in_a_child();
	run_contained(contained_exit);
	leave();
	world_expect(w, RECORD_STEP_START, &r);
	world_expect(w, RECORD_STEP_STOP, &r);
	assert_int_equal(r.counters.source, COUNTERS_NONE);
	world_expect(w, RECORD_STEP_STOP, &r); /* from slurmstepd itself */
	assert_int_equal(r.counters.source, COUNTERS_RUSAGE);
	assert_true(r.counters.cpu_user_ns + r.counters.cpu_system_ns > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		ON_A_NODE(step_sends_start_stop_and_a_last_stop),
		ON_A_NODE(start_holds_slurms_facts),
		ON_A_NODE(step_cpus_count_hardware_threads),
		ON_A_NODE(array_task_and_requeue_are_facts),
		ON_A_NODE(array_ids_of_other_steps_are_the_users_word),
		ON_A_NODE(a_numbered_step_is_called_what_it_runs),
		ON_A_NODE(slurms_own_steps_have_names_already),
		ON_A_NODE(
			many_tasks_give_one_start_and_one_stop_with_the_largest_counters),
		ON_A_NODE(step_that_dies_by_signal_says_so),
		ON_A_NODE(failed_launch_before_a_fork_sends_nothing),
		ON_A_NODE(tasks_that_never_exit_get_their_stop_from_the_exit_hook),
		ON_A_NODE(extern_step_brackets_the_unit_and_has_no_task),
		ON_A_NODE(exit_hook_waits_out_an_effective_id_that_another_thread_lent),
		ON_A_NODE(extern_step_does_not_invent_a_cpuacct_group),
		ON_A_NODE(items_that_fail_cost_facts_only),
		ON_A_NODE(v2_reads_the_users_part_and_again_in_the_exit_hook),
		ON_A_NODE(joint_mounts_without_links_are_found_by_looking),
		ON_A_NODE(exit_hook_reads_what_ran_after_the_last_task),
		ON_A_NODE(time_of_a_step_is_divided_as_that_of_its_reaped_processes),
		ON_A_NODE(kills_are_looked_for_in_steps_that_failed_or_came_near),
		ON_A_NODE(hybrid_takes_cpu_time_from_v1),
		ON_A_NODE(heterogeneous_step_keeps_the_name_the_kernel_gives),
		ON_A_NODE(environment_counts_by_whole_names_and_the_first_of_two),
		ON_A_NODE(without_cgroups_the_reaped_tasks_rusage_counts),
		ON_A_NODE(better_source_wins_and_equal_ones_keep_maxima),
		ON_A_NODE(contained_hooks_share_the_step_and_name_slurmstepd),
		ON_A_NODE(contained_hook_without_cgroup_does_not_report_its_own_zero),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
