/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/units_store.h"

#include <errno.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#include "test/unit/units_fixture.h"

/* ---- the file -------------------------------------------------------------------- */

static void everything_is_there_after_reopening(void **state)
{
	(void)state;
	fresh(64);
	start_ok("7", RECORD_STEP_EXTERN);
	start_ok("7", 0);
	stop_ok("7", 0, 100, 10);
	stop_ok("8", 0, 5, 5);
	struct node_totals before = node();
	uint64_t serial = unit_serial(u, units_find(u, MANAGER_SLURM, NODE, "7", 0));
	assert_true(serial != 0);
	reopen();
	struct node_totals after = node();
	assert_memory_equal(&before, &after, sizeof(before));
	assert_int_equal(units_capacity(u), 64);
	assert_int_equal(unit_of("7", 0)->steps_running, 1);
	assert_int_equal(total_of("7").cpu_user_ns, 100);
	stop_ok("7", RECORD_STEP_EXTERN, 1, 1);
	now += 61 * SEC;
	units_expire(u, now, &policy);
	assert_int_equal(units_used(u), 0);
	assert_int_equal(node().units.cpu_user_ns, 106);
}

static void a_second_daemon_is_kept_out(void **state)
{
	(void)state;
	bool made_new;
	struct err err;
	struct units *other = NULL;
	fresh(64);
	assert_int_equal(units_open(dirfd_, 64, &other, &made_new, &err), -EBUSY);
	assert_null(other);
	assert_non_null(strstr(err.text, "another ceemsd"));
}

static void write_at(off_t off, const void *data, size_t len)
{
	auto_close int fd = openat(dirfd_, UNITS_PATH_NAME, O_WRONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(pwrite(fd, data, len, off), (ssize_t)len);
}

static void a_damaged_or_foreign_file_is_replaced(void **state)
{
	(void)state;
	struct err err;
	for (int kind = 0; kind < 6; kind++) {
		fresh(16);
		start_ok("7", 0);
		off_t at = (unsigned char *)units_get(u, units_next(u, 0)) - u->map;
		units_close(u);
		u = NULL;
		uint32_t wild = 0x7fffffff;
		switch (kind) {
		case 0:
			write_at(0, "garbage!", 8);
			break;
		case 1:
			write_at(at + (off_t)offsetof(struct unit, first_step), &wild,
				 4);
			break;
		case 2:
			write_at(at + (off_t)offsetof(struct unit, state), &wild, 4);
			break;
		case 3: {
			/* a log that leads out of the file */
			uint32_t head[2] = {1, 24};
			uint64_t entry[3] = {1ull << 60, 8, 0};
			write_at(4096, head, sizeof(head));
			write_at(4096 + 8, entry, sizeof(entry));
			break;
		}
		case 4: {
			auto_close int fd = openat(dirfd_, UNITS_PATH_NAME,
						   O_WRONLY | O_TRUNC | O_CLOEXEC);
			assert_true(fd >= 0);
			break;
		}
		default:
			unlinkat(dirfd_, UNITS_PATH_NAME, 0);
			assert_int_equal(
				symlinkat("/etc/passwd", dirfd_, UNITS_PATH_NAME), 0);
		}
		bool made_new = false;
		err.text[0] = '\0';
		assert_int_equal(units_open(dirfd_, 16, &u, &made_new, &err), 0);
		assert_true(made_new);
		assert_true(strlen(err.text) > 10); /* why */
		assert_int_equal(units_used(u), 0);
		struct stat st;
		assert_int_equal(
			fstatat(dirfd_, UNITS_PATH_NAME, &st, AT_SYMLINK_NOFOLLOW), 0);
		assert_true(S_ISREG(st.st_mode) && (st.st_mode & 07777) == 0600);
	}
}

static const struct step_name *name_of(const char *id, uint32_t step)
{
	uint32_t i = units_find(u, MANAGER_SLURM, NODE, id, 0);
	assert_true(i != UNITS_NONE);
	uint32_t s = steps_find(u, i, step);
	assert_true(s != UNITS_NONE);
	return steps_name(u, s);
}

static void named_start(const char *id, uint32_t step, const char *command,
			const char *name)
{
	struct record r = rec(RECORD_STEP_START, id, step);
	snprintf(r.command, sizeof(r.command), "%s", command);
	snprintf(r.name, sizeof(r.name), "%s", name);
	assert_int_equal(apply(&r), 0);
}

static void names_of_steps_stay_with_them(void **state)
{
	(void)state;
	fresh(16);
	now = T0;
	start_ok("7", RECORD_STEP_EXTERN);
	named_start("7", 0, "burn", "job");
	named_start("7", 1, "sleep", "sleep");
	named_start("7", 1, "later", "word");
	start_ok("7", 2);
	named_start("7", 2, "at last", ""); /* its first start was found, say */
	reopen();
	assert_string_equal(name_of("7", 0)->command, "burn");
	assert_string_equal(name_of("7", 0)->label, "job");
	assert_string_equal(name_of("7", 1)->command, "sleep");
	assert_string_equal(name_of("7", 1)->label, "");
	assert_string_equal(name_of("7", 2)->command, "at last");
	assert_string_equal(name_of("7", RECORD_STEP_EXTERN)->command, "");
	/* a slot that another step gets has none of the first one's */
	stop_ok("7", 0, 1, 1);
	now += 61 * SEC;
	units_expire(u, now, &policy);
	uint32_t used = steps_used(u);
	start_ok("7", 3);
	assert_int_equal(steps_used(u), used + 1);
	assert_string_equal(name_of("7", 3)->command, "");
	assert_string_equal(name_of("7", 3)->label, "");
}

/* As the daemon of that version left it, its file ending at `end`; killed: the daemon
 * that takes it over has died on the way. */
static void make_older(uint32_t version, off_t end, bool killed)
{
	off_t all = (off_t)u->bytes;
	bool made_new = true;
	struct err err;

	write_at((off_t)offsetof(struct store_header, version), &version,
		 sizeof(version));
	units_close(u);
	u = NULL;
	auto_close int fd = openat(dirfd_, UNITS_PATH_NAME, O_WRONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, end), 0);
	if (killed)
		assert_int_equal(ftruncate(fd, all), 0);
	assert_int_equal(units_open(dirfd_, 16, &u, &made_new, &err), 0);
	assert_false(made_new);
}

/* Also when the daemon that took it over was killed on the way */
static void a_table_without_what_was_before_is_taken_over(void **state)
{
	(void)state;
	for (int killed = 0; killed < 2; killed++) {
		fresh(16);
		now = T0;
		named_start("7", 0, "burn", "job");
		make_older(6, (unsigned char *)u->befores - u->map, killed);
		assert_string_equal(name_of("7", 0)->command, "burn");
		assert_int_equal(unit_before(u, 0)->all.known, 0);
		assert_false(units_anew(u));
		reopen();
		assert_string_equal(name_of("7", 0)->command, "burn");
	}
}

static void a_table_without_gpus_is_taken_over(void **state)
{
	const struct unit_gpu_sums more = {3, 2, 1, 5, 4};
	const struct unit_gpu_figures figures = {{0}, {0}};

	(void)state;
	for (int killed = 0; killed < 2; killed++) {
		fresh(16);
		now = T0;
		named_start("7", 0, "burn", "job");
		make_older(7, (unsigned char *)u->gpu_uses - u->map, killed);
		assert_string_equal(name_of("7", 0)->command, "burn");
		assert_int_equal(unit_gpu_use(u, 0)->live.busy_of_ns, 0);
		unit_report_gpus(u, 0, &more, &figures, 20, 30);
		reopen();
		assert_int_equal(unit_gpu_use(u, 0)->live.idle_ns, 1);
		assert_int_equal(unit_gpu_use(u, 0)->memory_peak_kib, 20);
	}
}

/* What it says of performance counters goes on, and is not reported again. */
static void a_table_without_profiles_is_taken_over(void **state)
{
	(void)state;
	for (int killed = 0; killed < 2; killed++) {
		fresh(16);
		now = T0;
		named_start("7", 0, "burn", "job");
		u->gpu_uses[0].live.memory_of_ms = 2000;
		u->gpu_uses[0].figure_ppm_ms[UNIT_GPU_TENSOR] = 800000000 + 1;
		make_older(8, (unsigned char *)u->gpu_profiles - u->map, killed);
		for (int again = 0; again < 2; again++, reopen()) {
			const struct unit_gpu_profile *p = unit_gpu_profile(u, 0);
			assert_int_equal(p->live.ppm_ms[UNIT_GPU_TENSOR], 800000000);
			assert_int_equal(p->live.of_ms[UNIT_GPU_TENSOR], 2000);
			assert_int_equal(p->live.of_ms[UNIT_GPU_SM], 0);
			assert_memory_equal(&p->told, &p->live, sizeof(p->told));
			assert_memory_equal(&p->next, &p->live, sizeof(p->next));
		}
	}
}

static void a_table_without_names_is_taken_over(void **state)
{
	(void)state;
	for (int killed = 0; killed < 2; killed++) {
		fresh(16);
		now = T0;
		named_start("7", 0, "burn", "job");
		stop_ok("8", 0, 5, 5);
		make_older(5, (unsigned char *)u->step_names - u->map, killed);
		assert_int_equal(total_of("8").cpu_user_ns, 5);
		assert_string_equal(name_of("7", 0)->command, "");
		named_start("7", 1, "second", "");
		struct record r = stop("7", 0, 9, 9, true);
		snprintf(r.command, sizeof(r.command), "burn");
		assert_int_equal(apply(&r), 0);
		reopen();
		assert_string_equal(name_of("7", 0)->command, "burn");
		assert_string_equal(name_of("7", 1)->command, "second");
	}
}

static void disk_space_is_taken_as_used(void **state)
{
	(void)state;
	struct stat st;
	fresh(4096);
	start_ok("7", 0);
	assert_int_equal(fstatat(dirfd_, UNITS_PATH_NAME, &st, 0), 0);
	assert_true(st.st_size > 10 << 20);
	assert_true(st.st_blocks * 512 < 1 << 20);
}
/* ---- death ----------------------------------------------------------------------- */

#define CRASH_UNITS 40u
#define CRASH_STEPS 6u

struct truth {
	uint64_t cpu_ns, io_bytes;
};

static uint64_t rng(uint64_t *s)
{
	*s ^= *s << 13;
	*s ^= *s >> 7;
	*s ^= *s << 17;
	return *s;
}

/* The n-th record of the seed's stream. Counters of a step grow from stop to stop; the
 * last ones are its truth. */
static struct record crash_record(uint64_t seed, uint64_t n)
{
	uint64_t s = seed * 0x9e3779b97f4a7c15ull + n * 0xd1342543de82ef95ull + 1;
	for (int i = 0; i < 4; i++)
		rng(&s);
	/* a window of jobs that moves on, so that old ones are over */
	uint64_t job = n / 20 + rng(&s) % CRASH_UNITS;
	uint32_t step = (uint32_t)(rng(&s) % CRASH_STEPS);
	char id[24];
	snprintf(id, sizeof(id), "%llu", (unsigned long long)job);
	struct record r;
	record_init(&r, rng(&s) % 3 ? RECORD_STEP_STOP : RECORD_STEP_START,
		    MANAGER_SLURM);
	memcpy(r.unit, id, sizeof(id));
	r.step = step == 5 ? RECORD_STEP_EXTERN : step;
	r.boottime_ns = r.realtime_ns = T0 + n * 1000000;
	r.counters.source = COUNTERS_CGROUP_V2;
	r.counters.cpu_user_ns = 3 * (n + 1);
	r.counters.cpu_system_ns = n + 1;
	r.counters.has_io = true;
	r.counters.io_read_bytes = 7 * (n + 1);
	return r;
}

static struct truth crash_truth(uint64_t seed, uint64_t count)
{
	uint64_t jobs = count / 20 + CRASH_UNITS + 1;
	uint64_t *last = calloc(jobs * CRASH_STEPS, sizeof(*last));
	assert_non_null(last);
	struct truth t = {0};
	for (uint64_t n = 0; n < count; n++) {
		struct record r = crash_record(seed, n);
		if (r.type != RECORD_STEP_STOP)
			continue;
		uint32_t step = r.step == RECORD_STEP_EXTERN ? 5 : r.step;
		last[strtoull(r.unit, NULL, 10) * CRASH_STEPS + step] = n + 1;
	}
	for (uint64_t i = 0; i < jobs * CRASH_STEPS; i++) {
		t.cpu_ns += 4 * last[i];
		t.io_bytes += 7 * last[i];
	}
	free(last);
	return t;
}

/* What a daemon does, until it is killed or has applied all. */
static void crash_child(uint64_t seed, uint64_t count, uint32_t capacity)
{
	struct units *t = NULL;
	bool made_new;
	struct err err;
	struct units_policy p = {20, 5, capacity / 2};
	if (units_open(dirfd_, capacity, &t, &made_new, &err) < 0)
		_exit(2);
	for (uint64_t n = units_ring_pos(t) + 1; n < count; n++) {
		struct record r = crash_record(seed, n);
		int rc = units_apply(t, &r, n, r.boottime_ns, r.realtime_ns, &err);
		if (rc != 0 && rc != -ENOSPC)
			_exit(3);
		if (n % 16 == 0)
			units_expire(t, r.boottime_ns, &p);
	}
	_exit(0);
}

static unsigned crash_stream(uint64_t seed, uint64_t count, uint32_t capacity,
			     uint64_t *dice)
{
	unsigned kills = 0;
	unlinkat(dirfd_, UNITS_PATH_NAME, 0);
	for (;;) {
		pid_t pid = fork();
		assert_true(pid >= 0);
		if (pid == 0)
			crash_child(seed, count, capacity);
		struct timespec nap = {0, (long)(100000 + rng(dice) % 900000)};
		nanosleep(&nap, NULL);
		kill(pid, SIGKILL);
		int status;
		assert_int_equal(waitpid(pid, &status, 0), pid);
		if (WIFEXITED(status)) {
			assert_int_equal(WEXITSTATUS(status), 0);
			return kills;
		}
		kills++;
		assert_true(kills < 100000);
	}
}

static void killed_at_random_times_each_record_counts_once(void **state)
{
	(void)state;
	units_close(u);
	u = NULL;
	uint64_t seed = clock_realtime_ns(), dice = seed | 1;
	const char *given = getenv("SEED");
	if (given)
		seed = strtoull(given, NULL, 10);
	unsigned kills = 0, want = getenv("CHECK_LONG") ? 20000 : 2000;
	for (unsigned round = 0; kills < want && round < 10 * want; round++, seed++) {
		uint64_t count = 2000;
		uint32_t capacity = round % 2 ? 24 : 256;
		kills += crash_stream(seed, count, capacity, &dice);
		bool made_new;
		struct err err;
		struct units_policy p = {20, 5, capacity / 2};
		assert_int_equal(units_open(dirfd_, capacity, &u, &made_new, &err), 0);
		assert_false(made_new);
		for (int at_end = 0; at_end < 2; at_end++) {
			struct node_totals n = node();
			struct truth t = crash_truth(seed, count);
			if (n.records != count ||
			    n.units.cpu_user_ns + n.units.cpu_system_ns != t.cpu_ns ||
			    n.units.io_read_bytes != t.io_bytes)
				fail_msg("SEED=%llu capacity %u: records %llu of %llu, "
					 "cpu %llu not %llu",
					 (unsigned long long)seed, capacity,
					 (unsigned long long)n.records,
					 (unsigned long long)count,
					 (unsigned long long)(n.units.cpu_user_ns +
							      n.units.cpu_system_ns),
					 (unsigned long long)t.cpu_ns);
			units_expire(u, T0 + 3600 * SEC, &p);
		}
		units_close(u);
		u = NULL;
	}
	print_message("# %u kills, last seed %llu\n", kills,
		      (unsigned long long)seed - 1);
	assert_true(kills >= want);
}

/* ---- every instruction ----------------------------------------------------------- */

static struct record all[8];

static void make_all(void)
{
	now = T0;
	all[0] = rec(RECORD_STEP_START, "7", RECORD_STEP_EXTERN);
	all[1] = rec(RECORD_STEP_START, "7", 0);
	all[2] = stop("7", 0, 100, 10, false);
	all[3] = stop("7", 0, 110, 10, false);
	all[4] = stop("8", 0, 1000, 0, true);
	all[5] = stop("7", RECORD_STEP_EXTERN, 1, 1, true);
	all[6] = stop("7", 0, 120, 10, true);
}

static void make_a_state(struct units *t)
{
	for (uint64_t n = 0; n < 3; n++)
		units_apply(t, &all[n], n, now, now, NULL);
}

static void go_on(struct units *t)
{
	struct units_policy soon = {0, 0, 1};
	for (uint64_t n = 3; n < 7; n++) {
		units_apply(t, &all[n], n, now, now, NULL);
		units_expire(t, now, &soon);
	}
}

static uint64_t last_position;
static unsigned positions;

static void each_record_counts_once(unsigned steps)
{
	static const uint64_t cpu[] = {0, 0, 0, 110, 120, 1120, 1122, 1132};
	uint64_t at = units_ring_pos(u);
	struct node_totals n = node();
	uint64_t used = n.units.cpu_user_ns + n.units.cpu_system_ns;

	if (at < last_position || at > 6 || used != cpu[at + 1] || n.records != at + 1)
		fail_msg("after %u instructions: position %llu, cpu %llu", steps,
			 (unsigned long long)at, (unsigned long long)used);
	positions += at != last_position;
	last_position = at;
}

static void every_instruction_is_a_safe_place_to_die(void **state)
{
	(void)state;
	make_all();
	last_position = 2;
	positions = 0;
	if (!die_everywhere(make_a_state, go_on, each_record_counts_once)) {
		skip();
		return;
	}
	assert_int_equal(positions, 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(everything_is_there_after_reopening),
		cmocka_unit_test(a_second_daemon_is_kept_out),
		cmocka_unit_test(a_damaged_or_foreign_file_is_replaced),
		cmocka_unit_test(names_of_steps_stay_with_them),
		cmocka_unit_test(a_table_without_gpus_is_taken_over),
		cmocka_unit_test(a_table_without_profiles_is_taken_over),
		cmocka_unit_test(a_table_without_names_is_taken_over),
		cmocka_unit_test(a_table_without_what_was_before_is_taken_over),
		cmocka_unit_test(disk_space_is_taken_as_used),
		cmocka_unit_test(killed_at_random_times_each_record_counts_once),
		cmocka_unit_test(every_instruction_is_a_safe_place_to_die),
	};
	return cmocka_run_group_tests_name("units_store", tests, setup, teardown);
}
