/* SPDX-License-Identifier: GPL-2.0-or-later */
/* spank_ceems.so's own files linked to a pretended Slurm: every order of hooks that the
 * real ones have (reference: src/slurmd/slurmstepd/mgr.c) and what must not happen. */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
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
	init(w, NULL, NULL);
	fork_task(TASK_PID);
	world_expect(w, RECORD_STEP_START, &r);
	assert_int_equal(r.array_job, 40);
	assert_int_equal(r.array_task, 7);
	assert_int_equal(r.restarts, 0);
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
static void *lend_the_effective_id(void *ret_ok)
{
	const struct timespec nap = {.tv_nsec = 30000000};
	bool *ok = ret_ok;
	*ok = seteuid(65534) == 0 && nanosleep(&nap, NULL) == 0 && seteuid(0) == 0;
	return NULL;
}

static void exit_hook_waits_out_an_effective_id_that_another_thread_lent(void **state)
{
	struct world *w = *state;
	struct record r;
	pthread_t lender;
	bool lent = false;
	if (geteuid() != 0)
		skip();
	make_v1(w);
	init(w, NULL, NULL);
	fork_task(TASK_PID);
	world_expect(w, RECORD_STEP_START, &r);
	assert_int_equal(pthread_create(&lender, NULL, lend_the_effective_id, &lent),
			 0);
	for (int i = 0; i < 1000 && geteuid() == 0; i++)
		usleep(100);
	assert_int_equal(geteuid(), 65534);
	leave();
	pthread_join(lender, NULL);
	assert_true(lent);
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

/* ---- the ring is not there, or not ours ------------------------------------------ */

static void whole_step(struct world *w)
{
	make_v1(w);
	assert_int_equal(init(w, NULL, NULL), 0);
	fork_task(TASK_PID);
	end_task(0);
	leave();
}

/* one line at verbose, the others at debug, none that a user would see */
static void expect_quiet_failure(void)
{
	assert_int_equal(fake_logged(FAKE_INFO), 0);
	assert_int_equal(fake_logged(FAKE_VERBOSE), 1);
	assert_int_equal(fake_logged(FAKE_DEBUG), 3);
	assert_non_null(fake_log_line("not recorded"));
}

static void missing_ring_costs_a_log_line(void **state)
{
	struct world *w = *state;
	unlink(w->ring);
	whole_step(w);
	expect_quiet_failure();
	assert_int_equal(access(w->ring, F_OK), -1); /* a plugin never makes one */
}

static void things_that_are_no_ring_are_left_alone(void **state)
{
	struct world *w = *state;
	char other[128];
	snprintf(other, sizeof(other), "%s/other", w->folder);
	for (int kind = 0; kind < 6; kind++) {
		fake_reset();
		remove(w->ring);
		switch (kind) {
		case 0: /* a fifo must not block the launch */
			assert_int_equal(mkfifo(w->ring, 0600), 0);
			break;
		case 1:
			assert_int_equal(mkdir(w->ring, 0700), 0);
			break;
		case 2:
			world_put(w, "ring", "CEEMSRNG");
			chmod(w->ring, 0600);
			break;
		case 3:
			world_put(w, "ring", "");
			chmod(w->ring, 0600);
			assert_int_equal(truncate(w->ring, 4198400), 0);
			break;
		case 4:
			world_put(w, "other", "kept");
			assert_int_equal(symlink(other, w->ring), 0);
			break;
		case 5:
			assert_int_equal(symlink("/dev/full", w->ring), 0);
			break;
		}
		whole_step(w);
		expect_quiet_failure();
	}
}

static void ring_of_another_owner_or_mode_is_not_touched(void **state)
{
	struct world *w = *state;
	chmod(w->ring, 0666);
	whole_step(w);
	expect_quiet_failure();
	world_expect_nothing(w);
	if (geteuid() != 0)
		return;
	fake_reset();
	chmod(w->ring, 0600);
	assert_int_equal(chown(w->ring, 65534, 65534), 0);
	whole_step(w);
	expect_quiet_failure();
	world_expect_nothing(w);
}

static void full_ring_is_counted_and_costs_a_log_line(void **state)
{
	struct world *w = *state;
	struct record r;
	for (unsigned i = 0; i < WORLD_SLOTS; i++) {
		fake_reset();
		init(w, NULL, NULL);
		fork_task(TASK_PID);
	}
	fake_reset();
	whole_step(w);
	expect_quiet_failure();
	assert_int_equal(w->consumer.header->dropped, 3);
	for (unsigned i = 0; i < WORLD_SLOTS; i++)
		world_expect(w, RECORD_STEP_START, &r);
	world_expect_nothing(w);
}

static void ring_replaced_during_a_step_gets_its_stop(void **state)
{
	struct world *w = *state;
	struct record r;
	bool made;
	make_v1(w);
	init(w, NULL, NULL);
	fork_task(TASK_PID);
	unlink(w->ring);
	ring_consumer_close(&w->consumer);
	assert_int_equal(
		ring_consumer_open(w->ring, WORLD_SLOTS, &w->consumer, &made, &w->err),
		0);
	assert_true(made);
	end_task(0);
	world_expect(w, RECORD_STEP_STOP, &r);
	assert_int_equal(r.uid, 1000); /* all facts are in the stop too */
	assert_string_equal(record_cgroup(&r, CGROUP_CPUACCT), V1_STEP);
}

static void hooks_as_the_user_do_not_touch_the_ring(void **state)
{
	struct world *w = *state;
	if (geteuid() != 0)
		skip();
	make_v1(w);
	chmod(w->folder, 0755);
	init(w, NULL, NULL);
	assert_int_equal(seteuid(65534), 0);
	fork_task(TASK_PID);
	end_task(0);
	leave();
	assert_int_equal(seteuid(0), 0);
	world_expect_nothing(w);
	assert_int_equal(fake_logged(FAKE_VERBOSE), 1); /* but it is said, once */
}

/* ---- other contexts -------------------------------------------------------------- */

static void slurmd_gets_nothing_and_clients_get_options_only(void **state)
{
	struct world *w = *state;
	static const enum spank_context contexts[] = {S_CTX_SLURMD, S_CTX_LOCAL,
						      S_CTX_ALLOCATOR, S_CTX_JOB_SCRIPT,
						      S_CTX_ERROR};
	make_v1(w);
	for (size_t i = 0; i < sizeof(contexts) / sizeof(contexts[0]); i++) {
		bool client =
			contexts[i] == S_CTX_LOCAL || contexts[i] == S_CTX_ALLOCATOR;
		fake_reset();
		fake.context = contexts[i];
		assert_int_equal(init(w, "perf=always", NULL), 0);
		if (client)
			assert_int_equal(fake.option_count, 3);
		if (contexts[i] == S_CTX_SLURMD)
			assert_int_equal(fake.option_count, 0);
		fork_task(TASK_PID);
		end_task(0);
		leave();
		world_expect_nothing(w);
		assert_int_equal(fake.log_count, 0);
	}
}

/* ---- what hooks leave behind ----------------------------------------------------- */

struct traces {
	char maps[1 << 16];
	char fds[4096];
	size_t threads;
	char **environment;
	void (*handlers[NSIG])(int);
	int handler_flags[NSIG];
};

static void list_folder(const char *path, char *ret, size_t size, size_t *ret_count)
{
	auto_closedir DIR *d = opendir(path);
	struct dirent *e;
	size_t used = 0, n = 0;
	assert_non_null(d);
	ret[0] = '\0';
	while ((e = readdir(d)) && used < size) {
		used += (size_t)snprintf(ret + used, size - used, "%s ", e->d_name);
		n++;
	}
	*ret_count = n;
}

static void take_traces(struct traces *t)
{
	size_t n;
	char names[4096];
	memset(t, 0, sizeof(*t));
	list_folder("/proc/self/fd", t->fds, sizeof(t->fds), &n);
	list_folder("/proc/self/task", names, sizeof(names), &t->threads);
	t->environment = environ;
	for (int s = 1; s < NSIG; s++) {
		struct sigaction a = {0};
		if (sigaction(s, NULL, &a) < 0)
			continue; /* the C library's own */
		t->handlers[s] = a.sa_handler;
		t->handler_flags[s] = a.sa_flags;
	}
	auto_close int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	size_t used = 0;
	ssize_t got;
	while ((got = read(fd, t->maps + used, sizeof(t->maps) - 1 - used)) > 0)
		used += (size_t)got;
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
static unsigned mentions(const char *text, const char *what)
{
	unsigned n = 0;
	while ((text = strstr(text, what))) {
		text++;
		n++;
	}
	return n;
}
#endif

static void expect_same_traces(const struct traces *a, const struct traces *b)
{
	assert_string_equal(a->fds, b->fds);
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
	/* their own allocators map as they go */
	assert_int_equal(mentions(a->maps, "/ring"), mentions(b->maps, "/ring"));
#else
	assert_string_equal(a->maps, b->maps);
#endif
	assert_int_equal(a->threads, b->threads);
	assert_ptr_equal(a->environment, b->environment);
	assert_memory_equal(a->handlers, b->handlers, sizeof(a->handlers));
	assert_memory_equal(a->handler_flags, b->handler_flags,
			    sizeof(a->handler_flags));
}

static void hooks_leave_no_descriptor_mapping_thread_handler_or_variable(void **state)
{
	struct world *w = *state;
	static struct traces before, after;
	void (*const makers[])(struct world *) = {make_v1, make_v2};
	whole_step(w); /* the first round may grow the heap */
	for (int round = 0; round < 3; round++) {
		struct record r;
		while (world_take(w, &r))
			continue;
		if (round < 2)
			makers[round](w);
		else
			unlink(w->ring);
		fake_reset();
		take_traces(&before);
		init(w, "env=HOME", NULL);
		take_traces(&after);
		expect_same_traces(&before, &after);
		fork_task(TASK_PID);
		take_traces(&after);
		expect_same_traces(&before, &after);
		end_task(0);
		take_traces(&after);
		expect_same_traces(&before, &after);
		leave();
		take_traces(&after);
		expect_same_traces(&before, &after);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		ON_A_NODE(step_sends_start_stop_and_a_last_stop),
		ON_A_NODE(start_holds_slurms_facts),
		ON_A_NODE(step_cpus_count_hardware_threads),
		ON_A_NODE(array_task_and_requeue_are_facts),
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
		ON_A_NODE(without_cgroups_the_reaped_tasks_rusage_counts),
		ON_A_NODE(better_source_wins_and_equal_ones_keep_maxima),
		ON_A_NODE(contained_hooks_share_the_step_and_name_slurmstepd),
		ON_A_NODE(contained_hook_without_cgroup_does_not_report_its_own_zero),
		ON_A_NODE(missing_ring_costs_a_log_line),
		ON_A_NODE(things_that_are_no_ring_are_left_alone),
		ON_A_NODE(ring_of_another_owner_or_mode_is_not_touched),
		ON_A_NODE(full_ring_is_counted_and_costs_a_log_line),
		ON_A_NODE(ring_replaced_during_a_step_gets_its_stop),
		ON_A_NODE(hooks_as_the_user_do_not_touch_the_ring),
		ON_A_NODE(slurmd_gets_nothing_and_clients_get_options_only),
		ON_A_NODE(hooks_leave_no_descriptor_mapping_thread_handler_or_variable),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
