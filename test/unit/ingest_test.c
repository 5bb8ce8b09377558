/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/ingest.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/options.h"
#include "daemon/units_found.h"
#include "lib/cleanup.h"
#include "lib/clock.h"
#include "lib/fs.h"
#include "test/ring_files.h"
#include "test/unit/unit.h"

#define SLOTS 64u
#define STEP_DIR "cpuacct/slurm/uid_1000/job_7/step_0"

static char folder[] = "/tmp/ceems-ingest-test.XXXXXX";
static char ring_path[64];
static int dirfd_ = -1;
static struct ring ring;
static struct units *units;
static struct sample *sample;
static struct ingest in;
static struct options options;
static uint64_t now;

static uint64_t fake_ns(void)
{
	return now;
}

static struct env env = {.procfd = -1,
			 .sysfd = -1,
			 .hostname = "h",
			 .options = &options,
			 .realtime_ns = fake_ns,
			 .boottime_ns = fake_ns};

static void open_ring(void)
{
	struct err err;
	bool made_new;
	assert_int_equal(ring_consumer_open(ring_path, SLOTS, &ring, &made_new, &err),
			 0);
	ingest_init(&in, &env, &ring, units, sample);
}

static int begin(void **state)
{
	(void)state;
	struct err err;
	bool made_new;
	remove_ring(ring_path);
	unlinkat(dirfd_, UNITS_PATH_NAME, 0);
	now = 1000 * NSEC_PER_SEC;
	if (units_open(dirfd_, 64, &units, &made_new, &err) < 0)
		return -1;
	env.units = units;
	sample = sample_new(&env);
	open_ring();
	return !sample;
}

static int end(void **state)
{
	(void)state;
	sample_free(sample);
	sample = NULL;
	ring_consumer_close(&ring);
	units_close(units);
	units = NULL;
	return 0;
}

static struct record rec(enum record_type type, const char *id)
{
	struct record r;
	record_init(&r, type, MANAGER_SLURM);
	snprintf(r.unit, sizeof(r.unit), "%s", id);
	r.step = 0;
	r.boottime_ns = r.realtime_ns = now;
	r.flags = type == RECORD_STEP_STOP ? RECORD_LAST : 0;
	return r;
}

static int send_record(const struct record *r)
{
	unsigned char data[RING_RECORD_MAX];
	int len = record_encode(r, data, sizeof(data));
	assert_true(len > 0);
	return ring_send(ring_path, geteuid(), data, (size_t)len, NULL);
}

static struct record stop(const char *id, uint64_t cpu)
{
	struct record r = rec(RECORD_STEP_STOP, id);
	r.counters.source = COUNTERS_CGROUP_V1;
	r.counters.cpu_user_ns = cpu;
	return r;
}

static struct node_totals node(void)
{
	struct node_totals n;
	units_node_totals(units, MANAGER_SLURM, &n);
	return n;
}

static void records_are_applied_and_released(void **state)
{
	(void)state;
	struct record r = rec(RECORD_STEP_START, "7");
	assert_int_equal(send_record(&r), 0);
	r = stop("7", 42);
	assert_int_equal(send_record(&r), 0);
	assert_int_equal(ingest_tick(&in, 0), 2);
	assert_int_equal(node().units.cpu_user_ns, 42);
	assert_int_equal(in.records, 2);
	assert_int_equal(in.drained_ns, now);
	assert_int_equal(ring.header->head, ring.header->tail);
	assert_true(ring.header->heartbeat_ns != 0);
	assert_int_equal(ingest_tick(&in, 0), 0);
	assert_false(in.want_walk);
}

static uint32_t flags_of(const char *id)
{
	uint32_t i = units_find_newest(units, MANAGER_SLURM, "", id);

	assert_int_not_equal(i, UNITS_NONE);
	return units_get(units, i)->flags;
}

static void a_variable_asks_for_performance_counters(void **state)
{
	const uint32_t all = RECORD_PERF_HW | RECORD_PERF_SW | RECORD_PERF_CACHE;
	char *names[] = {(char *)"OTHER", (char *)"ENABLE_PERF"};
	static const char *const variables[] = {"ENABLE_PERF", "ENABLE_PERF_NOT"};

	(void)state;
	options.perf_env_vars = (struct conf_list){.items = names, .count = 2};
	for (unsigned i = 0; i < 2; i++) {
		char id[2] = {(char)('1' + i), '\0'};
		struct record r = rec(RECORD_STEP_START, id);
		snprintf(r.env[0].name, sizeof(r.env[0].name), "%s", variables[i]);
		r.env_count = 1; /* with an empty value */
		assert_int_equal(send_record(&r), 0);
	}
	assert_int_equal(ingest_tick(&in, 0), 2);
	assert_int_equal(flags_of("1") & all, all);
	assert_int_equal(flags_of("2") & all, 0);
	options.perf_env_vars = (struct conf_list){0};
}

static void one_call_takes_a_bounded_number(void **state)
{
	(void)state;
	struct record r = stop("7", 1);
	for (unsigned i = 0; i < 10; i++)
		assert_int_equal(send_record(&r), 0);
	uint64_t before = in.drained_ns;
	assert_int_equal(ingest_tick(&in, 4), 4);
	assert_int_equal(in.drained_ns, before);
	assert_int_equal(ingest_tick(&in, 100), 6);
}

static void a_bad_record_is_counted_and_passed(void **state)
{
	(void)state;
	assert_int_equal(ring_send(ring_path, geteuid(), "\xff\xff\xff", 3, NULL), 0);
	struct record r = stop("7", 5);
	assert_int_equal(send_record(&r), 0);
	assert_int_equal(ingest_tick(&in, 0), 2);
	assert_int_equal(in.bad, 1);
	assert_int_equal(node().units.cpu_user_ns, 5);
}

/* The daemon died between applying a record and releasing it. */
static void an_applied_record_is_released_not_applied_again(void **state)
{
	(void)state;
	unsigned char data[RING_RECORD_MAX];
	struct record r = stop("7", 5), got;
	size_t len;
	uint64_t pos;
	assert_int_equal(send_record(&r), 0);
	assert_int_equal(ring_peek(&ring, data, &len, &pos), 1);
	assert_int_equal(record_decode(data, len, &got, NULL), 0);
	assert_int_equal(units_apply(units, &got, pos, now, now, NULL), 0);
	assert_int_equal(ingest_tick(&in, 0), 1);
	assert_int_equal(in.records, 0);
	assert_int_equal(node().records, 1);
	assert_int_equal(ring.header->head, ring.header->tail);
}

static void a_full_ring_asks_for_a_walk(void **state)
{
	(void)state;
	struct record r = stop("7", 5);
	unsigned sent = 0;
	while (send_record(&r) == 0)
		assert_true(++sent <= SLOTS);
	assert_int_equal(ingest_tick(&in, 0), sent);
	assert_true(in.want_walk);
	assert_int_equal(in.dropped, 1);
	in.want_walk = false;
	ingest_tick(&in, 0);
	assert_false(in.want_walk);
}

static void a_new_ring_begins_anew(void **state)
{
	(void)state;
	struct record r = stop("7", 5);
	for (int i = 0; i < 3; i++)
		assert_int_equal(send_record(&r), 0);
	ingest_tick(&in, 0);
	ring_consumer_close(&ring);
	remove_ring(ring_path);
	open_ring();
	r = stop("8", 10); /* at position 0 again */
	assert_int_equal(send_record(&r), 0);
	assert_int_equal(ingest_tick(&in, 0), 1);
	assert_int_equal(node().units.cpu_user_ns, 15);
	/* and the same ring again goes on */
	ring_consumer_close(&ring);
	open_ring();
	assert_int_equal(units_ring_pos(units), 0);
}

static void begin_table_anew(void)
{
	struct err err;
	bool made_new;

	units_close(units);
	unlinkat(dirfd_, UNITS_PATH_NAME, 0);
	assert_int_equal(units_open(dirfd_, 64, &units, &made_new, &err), 0);
	assert_true(made_new);
	env.units = units;
	units_set_anew(units, now);
	ingest_init(&in, &env, &ring, units, sample);
}

/* The CPU time that reports call before, once it has been read */
static uint64_t before_of(const char *id)
{
	uint32_t i = units_find(units, MANAGER_SLURM, "", id, 0);

	assert_int_not_equal(i, UNITS_NONE);
	units_found_read(units, i, NULL);
	assert_true(units_get(units, i)->marks & UNIT_FOUND);
	return unit_before(units, i)->all.cpu_user_ns;
}

static void a_table_begun_anew_takes_what_the_ring_still_has(void **state)
{
	(void)state;
	const uint64_t used = 5 * NSEC_PER_SEC;
	struct record r = rec(RECORD_STEP_START, "7");

	assert_int_equal(send_record(&r), 0);
	r = stop("7", used);
	assert_int_equal(send_record(&r), 0);
	assert_int_equal(ingest_tick(&in, 0), 2);
	/* and one that waits, of which all is told in windows */
	r = rec(RECORD_STEP_START, "8");
	assert_int_equal(send_record(&r), 0);
	begin_table_anew();
	assert_int_equal(ingest_recall(&in), 2);
	assert_int_equal(ingest_tick(&in, 0), 1);
	assert_int_equal(before_of("7"), used);
	assert_int_equal(node().units.cpu_user_ns, used);
	assert_int_equal(
		units_get(units, units_find(units, MANAGER_SLURM, "", "7", 0))->state,
		UNIT_ENDED);
	/* what has been taken twice over is there once */
	assert_int_equal(ingest_tick(&in, 0), 0);
	begin_table_anew();
	assert_int_equal(ingest_recall(&in), 3);
	assert_int_equal(before_of("7"), used);
}

static void places_that_were_taken_again_are_not_recalled(void **state)
{
	(void)state;
	for (unsigned i = 0; i < SLOTS + 5; i++) {
		struct record r = stop("7", 5);
		assert_int_equal(send_record(&r), 0);
		assert_int_equal(ingest_tick(&in, 0), 1);
	}
	for (unsigned i = 0; i < 3; i++) {
		struct record r = stop("7", 5);
		assert_int_equal(send_record(&r), 0);
	}
	begin_table_anew();
	assert_int_equal(ingest_recall(&in), SLOTS - 3);
	assert_int_equal(ingest_tick(&in, 0), 3);
}

static void a_full_table_stops_nothing(void **state)
{
	(void)state;
	char id[16];
	for (int i = 0; i < 80; i++) {
		snprintf(id, sizeof(id), "%d", i);
		struct record r = rec(RECORD_STEP_START, id);
		assert_int_equal(send_record(&r), 0);
		ingest_tick(&in, 0);
	}
	for (int i = 0; i < 80; i++) {
		snprintf(id, sizeof(id), "%d", i);
		struct record r = stop(id, 1);
		assert_int_equal(send_record(&r), 0);
		ingest_tick(&in, 0);
	}
	assert_int_equal(node().units.cpu_user_ns, 80);
	assert_true(node().refused > 0);
}

/* ---- with a control group -------------------------------------------------------- */

static void put_usage(uint64_t ns)
{
	char text[32];
	snprintf(text, sizeof(text), "%llu\n", (unsigned long long)ns);
	static const char *const files[] = {"cpuacct.usage", "cpuacct.usage_user"};
	auto_close int dir =
		openat(dirfd_, STEP_DIR, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(dir >= 0);
	for (int i = 0; i < 2; i++) {
		auto_close int fd = openat(
			dir, files[i], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
		assert_int_equal(fs_write_all(fd, text, strlen(text)), 0);
	}
	auto_close int fd = openat(dir, "cpuacct.usage_sys",
				   O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	assert_int_equal(fs_write_all(fd, "0\n", 2), 0);
	auto_close int stat = openat(dir, "cpuacct.stat",
				     O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	assert_int_equal(fs_write_all(stat, "user 1\nsystem 0\n", 16), 0);
}

static void make_step(void)
{
	char path[] = STEP_DIR;
	for (char *p = path; (p = strchr(p, '/')); *p++ = '/') {
		*p = '\0';
		mkdirat(dirfd_, path, 0700);
	}
	mkdirat(dirfd_, path, 0700);
	put_usage(0);
}

static void remove_step(void)
{
	static const char *const files[] = {"cpuacct.usage", "cpuacct.usage_user",
					    "cpuacct.usage_sys", "cpuacct.stat"};
	char path[128];
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", STEP_DIR, files[i]);
		unlinkat(dirfd_, path, 0);
	}
	char dir[] = STEP_DIR;
	for (char *slash = dir + strlen(dir); slash; slash = strrchr(dir, '/')) {
		*slash = '\0';
		unlinkat(dirfd_, dir, AT_REMOVEDIR);
	}
}

static void start_with_cgroup(void)
{
	struct err err;
	make_step();
	env.cgroupfd = dirfd_;
	assert_int_equal(cgroup_probe(dirfd_, &env.cgroups, &err), 0);
	struct record r = rec(RECORD_STEP_START, "7");
	assert_true(record_add_cgroup(&r, CGROUP_CPUACCT, strchr(STEP_DIR, '/')));
	assert_int_equal(send_record(&r), 0);
	assert_int_equal(ingest_tick(&in, 0), 1);
}

static void a_stop_without_counters_is_read_from_the_cgroup(void **state)
{
	(void)state;
	start_with_cgroup();
	put_usage(700);
	struct record r = rec(RECORD_STEP_STOP, "7");
	assert_int_equal(send_record(&r), 0);
	assert_int_equal(ingest_tick(&in, 0), 1);
	struct node_totals n = node();
	assert_int_equal(n.units.cpu_user_ns + n.units.cpu_system_ns, 700);
	assert_int_equal(n.steps_ended, 1);
	remove_step();
}

static void a_running_step_grows_with_its_readings(void **state)
{
	(void)state;
	start_with_cgroup();
	put_usage(100);
	assert_int_equal(sample_steps(sample), 1);
	put_usage(900);
	assert_int_equal(sample_steps(sample), 1);
	struct node_totals n = node();
	assert_int_equal(n.units.cpu_user_ns + n.units.cpu_system_ns, 900);
	remove_step();
}

static void a_vanished_step_is_lost_only_when_the_ring_had_its_chance(void **state)
{
	(void)state;
	start_with_cgroup();
	put_usage(100);
	sample_steps(sample);
	remove_step();
	/* the files of a plain folder can still be read when they are open */
	sample_free(sample);
	sample = sample_new(&env);
	sample_steps(sample);
	uint64_t gone = now;
	now += 10 * NSEC_PER_SEC;
	/* ten seconds gone, but the ring was last empty long ago */
	assert_int_equal(sample_end_lost(sample, gone + 2 * NSEC_PER_SEC), 0);
	assert_int_equal(units_get(units, 0)->state, UNIT_RUNNING);
	assert_int_equal(sample_end_lost(sample, now), 1);
	assert_int_equal(units_get(units, 0)->end, UNIT_END_LOST);
	assert_int_equal(units_get(units, 0)->ended_boottime_ns, gone);
	struct node_totals n = node();
	assert_int_equal(n.units.cpu_user_ns + n.units.cpu_system_ns, 100);
}

static void without_a_cgroup_slurmstepd_is_the_witness(void **state)
{
	(void)state;
	auto_close int proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	env.procfd = proc;
	struct record r = rec(RECORD_STEP_START, "7");
	r.stepd_pid = (uint32_t)getpid();
	assert_int_equal(send_record(&r), 0);
	r = rec(RECORD_STEP_START, "8");
	r.stepd_pid = 0x7ffffff0; /* above any pid_max */
	assert_int_equal(send_record(&r), 0);
	ingest_tick(&in, 0);
	sample_steps(sample);
	now += 4 * NSEC_PER_SEC;
	assert_int_equal(sample_end_lost(sample, now), 1);
	uint32_t i = units_find(units, MANAGER_SLURM, "", "8", 0);
	assert_int_equal(units_get(units, i)->state, UNIT_ENDED);
	i = units_find(units, MANAGER_SLURM, "", "7", 0);
	assert_int_equal(units_get(units, i)->state, UNIT_RUNNING);
	env.procfd = -1;
}

static int setup(void **state)
{
	(void)state;
	if (!mkdtemp(folder))
		return -1;
	snprintf(ring_path, sizeof(ring_path), "%s/ring", folder);
	dirfd_ = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	env.cgroupfd = dirfd_;
	log_init("test", LOG_LOGFMT, LOG_EMERG);
	return dirfd_ < 0;
}

static int teardown(void **state)
{
	(void)state;
	remove_step();
	remove_ring(ring_path);
	unlinkat(dirfd_, UNITS_PATH_NAME, 0);
	close(dirfd_);
	return rmdir(folder);
}

#define T(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(records_are_applied_and_released),
		T(a_variable_asks_for_performance_counters),
		T(one_call_takes_a_bounded_number),
		T(a_bad_record_is_counted_and_passed),
		T(an_applied_record_is_released_not_applied_again),
		T(a_full_ring_asks_for_a_walk),
		T(a_new_ring_begins_anew),
		T(a_table_begun_anew_takes_what_the_ring_still_has),
		T(places_that_were_taken_again_are_not_recalled),
		T(a_full_table_stops_nothing),
		T(a_stop_without_counters_is_read_from_the_cgroup),
		T(a_running_step_grows_with_its_readings),
		T(a_vanished_step_is_lost_only_when_the_ring_had_its_chance),
		T(without_a_cgroup_slurmstepd_is_the_witness),
	};
	return cmocka_run_group_tests_name("ingest", tests, setup, teardown);
}
