/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A ceems-opener answers from a /proc in which processes of steps have clients of i915
 * and xe, laid out as the kernel documents them: no such device was at hand. */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>

#include "daemon/drm/drm_reader.h"
#include "daemon/gpus/gpu_maps.h"
#include "daemon/units.h"
#include "lib/cleanup.h"
#include "lib/fd_pass.h"
#include "lib/fs.h"
#include "opener/profile.h"
#include "test/unit/node.h"
#include "test/unit/scratch.h"

#define FIXTURE "test/fixture/drm"

extern const struct collector collector_drm;
static const struct collector *const c = &collector_drm;

static char folder[SCRATCH_PATH], tree[SCRATCH_PATH];
static struct node n;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pid_t opener;
static uint64_t pos; /* in the ring */
static atomic_ullong clock_ns, clock_step_ns;

static pthread_t tester;

/* The step is the reader's, each time that it looks. */
static uint64_t read_test_clock(void)
{
	return pthread_equal(pthread_self(), tester)
		       ? atomic_load(&clock_ns)
		       : atomic_fetch_add(&clock_ns, atomic_load(&clock_step_ns));
}

static int start_opener(const char *root)
{
	char proc[SCRATCH_PATH + 8];
	int pair[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair),
			 0);
	(void)snprintf(proc, sizeof(proc), "%s/proc", root);
	opener = fork();
	if (opener == 0) {
		const struct profile_service service = {
			.link = pair[1],
			.procfd = fs_opendir_at(AT_FDCWD, proc, NULL),
			.requests = PROFILE_REQUESTS_OF_DRM,
		};
		close(pair[0]);
		_exit(profile_serve(&service) < 0);
	}
	close(pair[1]);
	return pair[0];
}

static int open_drm_at(const char *root)
{
	bool made_new;
	struct err err;

	scratch_make(folder);
	node_init(&n, root);
	n.env.cgroupfd = openat(n.env.sysfd, "fs/cgroup", O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(cgroup_probe(n.env.cgroupfd, &n.env.cgroups, &err), 0);
	int dirfd = fs_opendir_at(AT_FDCWD, folder, &err);
	assert_int_equal(units_open(dirfd, 16, &n.env.units, &made_new, &err), 0);
	close(dirfd);
	n.env.boottime_ns = read_test_clock;
	atomic_store(&clock_ns, 100 * NSEC_PER_SEC);
	atomic_store(&clock_step_ns, 0);
	tester = pthread_self();
	n.options.unit_max_exported = 100;
	assert_int_equal(
		drm_reader_new(&n.env, &lock, start_opener(root), &n.env.drm, &err), 0);
	node_open(&n, c);
	return 0;
}

static int open_drm(void **state)
{
	(void)state;
	return open_drm_at(FIXTURE);
}

/* On a tree that the test may change */
static int open_own_drm(void **state)
{
	(void)state;
	scratch_copy(tree, FIXTURE);
	return open_drm_at(tree);
}

static int close_drm(void **state)
{
	(void)state;
	drm_reader_free(n.env.drm); /* closes the opener's socket */
	assert_int_equal(waitpid(opener, NULL, 0), opener);
	node_done(&n, c);
	close(n.env.cgroupfd);
	units_close(n.env.units);
	scratch_remove(folder);
	return 0;
}

static int close_own_drm(void **state)
{
	int rc = close_drm(state);

	scratch_remove(tree);
	return rc;
}

static void put_in_tree(const char *name, const char *text)
{
	char path[2 * SCRATCH_PATH];

	(void)snprintf(path, sizeof(path), "%s/%s", tree, name);
	auto_close int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(fs_write_all(fd, text, strlen(text)), 0);
}

static void tell_record(struct record *r)
{
	struct err err;

	assert_int_equal(units_apply(n.env.units, r, pos++, r->boottime_ns,
				     r->boottime_ns, &err),
			 0);
}

static void start_of_step(struct record *r, const char *id, uint32_t step,
			  uint64_t boottime_ns)
{
	char path[128];

	record_init(r, RECORD_STEP_START, MANAGER_SLURM);
	record_set(r, r->unit, sizeof(r->unit), id);
	record_set(r, r->node, sizeof(r->node), "n1");
	(void)snprintf(path, sizeof(path),
		       "/system.slice/slurmstepd.scope/job_%s/step_%u", id, step);
	record_add_cgroup(r, CGROUP_UNIFIED, path);
	r->step = step;
	r->boottime_ns = r->realtime_ns = boottime_ns;
}

static void start_step(const char *id, uint32_t step, uint64_t boottime_ns)
{
	struct record r;

	start_of_step(&r, id, step, boottime_ns);
	tell_record(&r);
}

/* No scrape waits for the first round, nor for slurmd. */
static void collect_until(const char *text)
{
	const struct timespec moment = {.tv_nsec = 10 * 1000 * 1000};

	for (unsigned i = 0; i < 6000; i++) {
		assert_int_equal(node_collect(&n, c), 0);
		if (strstr(n.text.data, text))
			return;
		(void)nanosleep(&moment, NULL);
	}
	fail_msg("no %s", text);
}

static void collect_until_read(void)
{
	collect_until("ceems_gpu_clients_left_out_total");
}

static void units_have_the_sum_of_their_clients_on_each_device(void **state)
{
	(void)state;
	start_step("7", 0, 101 * NSEC_PER_SEC);
	start_step("7", 1, 101 * NSEC_PER_SEC);
	start_step("8", 0, 101 * NSEC_PER_SEC);
	start_step("9", 0, 101 * NSEC_PER_SEC);
	collect_until_read();
	golden_equal(&n.text, "test/golden/collector_drm.prom");
	/* two clients, of one of which three descriptors tell */
	assert_non_null(strstr(n.text.data,
			       "uuid=\"7\",index=\"\",hindex=\"\",gpuuuid="
			       "\"0000:00:02.0\",engine=\"render\"} 1.5\n"));
	assert_non_null(strstr(n.text.data, "gpuuuid=\"0000:00:02.0\",gpuiid=\"\"} "
					    "1048576\n"));
}

static void of_units_that_were_there_before_only_what_comes_counts(void **state)
{
	(void)state;
	start_step("7", 0, 99 * NSEC_PER_SEC);
	collect_until_read();
	assert_non_null(strstr(n.text.data, "engine=\"render\"} 0\n"));
}

static void put_slurmd(const char *path)
{
	static const char script[] =
		"#!/bin/sh\necho 'slurmd: Gres Name=gpu Type=(null) Count=1 Index=0 "
		"ID=1 "
		"File=/dev/a (null)\nslurmd: Gres Name=gpu Type=(null) Count=1 Index=1 "
		"ID=1 File=/dev/b (null)' >&2\n";

	assert_int_equal(
		fs_write_atomic_at(AT_FDCWD, path, script, strlen(script), 0755, NULL),
		0);
}

static void a_device_has_the_index_that_slurm_gave_it_with(void **state)
{
	char slurmd[SCRATCH_PATH + 8], map[] = "1:0"; /* 0 is xe's, here */
	struct record r;
	(void)state;

	(void)snprintf(slurmd, sizeof(slurmd), "%s/slurmd", tree);
	put_slurmd(slurmd);
	n.options.slurmd_path = slurmd;
	n.options.gpu_order_map = map;
	n.env.gpu_maps = gpu_maps_new(&n.env);
	start_of_step(&r, "8", 0, 101 * NSEC_PER_SEC);
	record_set(&r, r.gpus, sizeof(r.gpus), "1");
	r.flags |= RECORD_GPUS_TRUSTED;
	tell_record(&r);
	collect_until("uuid=\"8\",index=\"1\"");
	gpu_maps_free(n.env.gpu_maps);
	assert_non_null(strstr(n.text.data,
			       "uuid=\"8\",index=\"1\",hindex=\"host/gpu-1\",gpuuuid="
			       "\"0000:03:00.0\",engine=\"rcs\"}"));
	assert_non_null(strstr(n.text.data,
			       "uuid=\"8\",index=\"1\",hindex=\"host/gpu-1\",gpuuuid="
			       "\"0000:03:00.0\",gpuiid=\"\"}"));
	assert_non_null(strstr(n.text.data, "uuid=\"8\",index=\"\",hindex=\"\",gpuuuid="
					    "\"0000:00:02.0\",engine=\"render\"}"));
}

/* Each minute slurmd is asked again. */
static void without_slurmd_what_a_device_did_is_shown_at_each_scrape(void **state)
{
	char none[] = "", slurmd[] = "/nonexistent/slurmd";
	struct record r;
	(void)state;

	n.options.slurmd_path = slurmd;
	n.options.gpu_order_map = none;
	n.env.gpu_maps = gpu_maps_new(&n.env);
	start_of_step(&r, "8", 0, 101 * NSEC_PER_SEC);
	record_set(&r, r.gpus, sizeof(r.gpus), "1");
	r.flags |= RECORD_GPUS_TRUSTED;
	tell_record(&r);
	collect_until("uuid=\"8\",index=\"\"");
	assert_int_equal(node_collect(&n, c), 0);
	assert_non_null(strstr(n.text.data, "uuid=\"8\",index=\"\""));
	gpu_maps_free(n.env.gpu_maps);
}

/* A process is in the list of a step, and has left it, or ended and lent its number to
 * another one, when it is looked at. */
static void what_a_process_of_another_unit_has_is_not_booked(void **state)
{
	(void)state;
	put_in_tree("proc/71/cgroup",
		    "0::/system.slice/slurmstepd.scope/job_8/step_0/user/task_0\n");
	start_step("7", 0, 101 * NSEC_PER_SEC);
	collect_until_read();
	assert_null(strstr(n.text.data, "uuid"));
}

static void files_without_a_name_are_counted_when_there_are_no_others(void **state)
{
	const char *const others[] = {"71/fd/3", "71/fd/4"};
	(void)state;

	for (size_t i = 0; i < 2; i++)
		assert_int_equal(unlinkat(n.env.procfd, others[i], 0), 0);
	put_in_tree("proc/71/fd/9", ""); /* readlink() fails */
	start_step("7", 0, 101 * NSEC_PER_SEC);
	collect_until_read();
	assert_non_null(strstr(n.text.data, "what=\"files\"} 1\n"));
}

/* Its user has seen to that. There is time for one of its two processes. */
static void a_unit_that_takes_too_long_keeps_no_other_waiting(void **state)
{
	(void)state;
	start_step("7", 0, 101 * NSEC_PER_SEC);
	start_step("7", 1, 101 * NSEC_PER_SEC);
	start_step("8", 0, 101 * NSEC_PER_SEC);
	atomic_store(&clock_step_ns, 1200 * NSEC_PER_MSEC);
	collect_until("uuid=\"8\"");
	assert_non_null(strstr(n.text.data, "what=\"processes\"} 1\n"));
}

/* Its number is free, and no other unit has it yet. */
static void a_unit_that_has_left_the_table_is_not_shown(void **state)
{
	const struct units_policy at_once = {.linger_ms = 0};
	struct record r;
	(void)state;

	start_step("7", 0, 101 * NSEC_PER_SEC);
	collect_until("uuid=\"7\"");
	start_of_step(&r, "7", 0, 102 * NSEC_PER_SEC);
	r.type = RECORD_STEP_STOP;
	tell_record(&r);
	units_expire(n.env.units, 103 * NSEC_PER_SEC, &at_once);
	assert_int_equal(units_used(n.env.units), 0);
	assert_int_equal(node_collect(&n, c), 0);
	assert_null(strstr(n.text.data, "uuid"));
}

static void a_step_without_a_group_has_no_processes(void **state)
{
	struct record r;
	(void)state;

	record_init(&r, RECORD_STEP_START, MANAGER_SLURM);
	record_set(&r, r.unit, sizeof(r.unit), "7");
	r.boottime_ns = r.realtime_ns = 101 * NSEC_PER_SEC;
	tell_record(&r);
	collect_until_read();
	assert_null(strstr(n.text.data, "uuid"));
	assert_non_null(strstr(n.text.data, "what=\"processes\"} 0\n"));
}

static void an_opener_that_has_ended_is_an_error_after_a_while(void **state)
{
	(void)state;
	collect_until_read();
	atomic_fetch_add(&clock_ns, 59 * NSEC_PER_SEC);
	assert_int_equal(node_collect(&n, c), 0);
	atomic_fetch_add(&clock_ns, 2 * NSEC_PER_SEC);
	assert_int_equal(node_collect(&n, c), -ETIMEDOUT);
}

static void without_a_device_there_is_nothing_to_read(void **state)
{
	struct drm_reader *reader = n.env.drm;
	struct err err = {""};
	void *none;
	(void)state;

	n.env.drm = NULL;
	assert_int_equal(c->open(&n.env, &none, &err), -ENODEV);
	n.env.drm = reader;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			units_have_the_sum_of_their_clients_on_each_device, open_drm,
			close_drm),
		cmocka_unit_test_setup_teardown(
			of_units_that_were_there_before_only_what_comes_counts,
			open_drm, close_drm),
		cmocka_unit_test_setup_teardown(
			a_unit_that_takes_too_long_keeps_no_other_waiting, open_drm,
			close_drm),
		cmocka_unit_test_setup_teardown(
			a_unit_that_has_left_the_table_is_not_shown, open_drm,
			close_drm),
		cmocka_unit_test_setup_teardown(a_step_without_a_group_has_no_processes,
						open_drm, close_drm),
		cmocka_unit_test_setup_teardown(
			a_device_has_the_index_that_slurm_gave_it_with, open_own_drm,
			close_own_drm),
		cmocka_unit_test_setup_teardown(
			without_slurmd_what_a_device_did_is_shown_at_each_scrape,
			open_drm, close_drm),
		cmocka_unit_test_setup_teardown(
			what_a_process_of_another_unit_has_is_not_booked, open_own_drm,
			close_own_drm),
		cmocka_unit_test_setup_teardown(
			files_without_a_name_are_counted_when_there_are_no_others,
			open_own_drm, close_own_drm),
		cmocka_unit_test_setup_teardown(
			an_opener_that_has_ended_is_an_error_after_a_while, open_drm,
			close_drm),
		cmocka_unit_test_setup_teardown(
			without_a_device_there_is_nothing_to_read, open_drm, close_drm),
	};
	return cmocka_run_group_tests_name("collector_drm_test", tests, NULL, NULL);
}
