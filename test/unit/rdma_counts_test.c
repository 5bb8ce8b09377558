/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/rdma/rdma_counts.h"

#include "lib/clock.h"
#include "lib/fs.h"
#include "test/unit/rdma_kernel.h"
#include "test/unit/scratch.h"

#define WRITES 0u /* in rdma_counter_names */
#define READS 1u

static char folder[SCRATCH_PATH];
static struct units *units;
static struct rdma_counts counts;
static struct rdma_sample *sample;
static uint64_t pos, now_ns;

static int open_counts(void **state)
{
	bool made_new;
	struct err err;

	(void)state;
	scratch_make(folder);
	int dirfd = fs_opendir_at(AT_FDCWD, folder, &err);
	assert_int_equal(units_open(dirfd, 16, &units, &made_new, &err), 0);
	close(dirfd);
	now_ns = 100 * NSEC_PER_SEC;
	sample = NULL;
	return 0;
}

static int close_counts(void **state)
{
	(void)state;
	rdma_sample_free(sample);
	rdma_counts_done(&counts);
	units_close(units);
	scratch_remove(folder);
	return 0;
}

static uint32_t tell_of_step(enum record_type type, const char *id, uint32_t step,
			     uint32_t restarts)
{
	struct record r;
	char path[128];
	struct err err;

	record_init(&r, type, MANAGER_SLURM);
	record_set(&r, r.unit, sizeof(r.unit), id);
	(void)snprintf(path, sizeof(path), "/job_%s/step_%u", id, step);
	record_add_cgroup(&r, CGROUP_CPUACCT, path);
	r.step = step;
	r.restarts = restarts;
	r.boottime_ns = r.realtime_ns = now_ns;
	assert_int_equal(units_apply(units, &r, pos++, now_ns, now_ns, &err), 0);
	return units_find_newest(units, MANAGER_SLURM, "", id);
}

/* A new sample of devices mlx5_0 and mlx5_1 without counters yet */
static void begin_sample(void)
{
	rdma_sample_free(sample);
	sample = calloc(1, sizeof(*sample));
	assert_non_null(sample);
	sample->counters = calloc(8, sizeof(*sample->counters));
	assert_non_null(sample->counters);
	sample->device_count = 2;
	for (size_t i = 0; i < 2; i++) {
		(void)snprintf(sample->devices[i].name, RDMA_NAME_BYTES, "mlx5_%zu", i);
		sample->devices[i].known = 1u << RDMA_COUNTER;
	}
	now_ns += 5 * NSEC_PER_SEC;
	sample->ended_ns = now_ns;
}

static void put_counter(uint32_t device, uint32_t id, uint32_t pid, const char *path,
			uint64_t writes)
{
	struct rdma_counter *k = &sample->counters[sample->counter_count++];

	*k = (struct rdma_counter){.device = device,
				   .port = 1,
				   .id = id,
				   .pid = pid,
				   .has = 1u << WRITES | 1u << READS};
	(void)snprintf(k->path, sizeof(k->path), "%s", path);
	k->values[WRITES] = writes;
	k->values[READS] = 2 * writes;
}

static void end_sample(void)
{
	rdma_counts_update(&counts, sample);
}

static uint64_t writes_of(uint32_t unit, const char *device)
{
	uint64_t sum = 0, reads = 0;

	rdma_counts_settle(&counts, units);
	for (size_t i = 0; i < counts.count; i++) {
		const struct rdma_count *k = &counts.counts[i];
		if (!k->serial || k->unit != unit || strcmp(k->device, device) != 0)
			continue;
		sum += k->total[WRITES];
		reads += k->total[READS];
	}
	assert_int_equal(reads, 2 * sum);
	return sum;
}

static void processes_and_steps_of_a_unit_are_added_up(void **state)
{
	uint32_t seven = tell_of_step(RECORD_STEP_START, "7", 0, 0);
	uint32_t eight = tell_of_step(RECORD_STEP_START, "8", 0, 0);

	(void)state;
	(void)tell_of_step(RECORD_STEP_START, "7", 1, 0);
	begin_sample();
	put_counter(0, 17, 501, "/job_7/step_0", 100);
	put_counter(0, 18, 502, "/job_7/step_0", 20);
	put_counter(0, 19, 503, "/job_7/step_1", 3);
	put_counter(1, 17, 501, "/job_7/step_0", 5000);
	put_counter(1, 18, 601, "/job_8/step_0", 7);
	end_sample();
	assert_int_equal(writes_of(seven, "mlx5_0"), 123);
	assert_int_equal(writes_of(seven, "mlx5_1"), 5000);
	assert_int_equal(writes_of(eight, "mlx5_1"), 7);
	begin_sample();
	put_counter(0, 17, 501, "/job_7/step_0", 101);
	put_counter(0, 18, 502, "/job_7/step_0", 40);
	put_counter(0, 19, 503, "/job_7/step_1", 3);
	end_sample();
	assert_int_equal(writes_of(seven, "mlx5_0"), 144);
	assert_int_equal(writes_of(seven, "mlx5_1"), 5000);
}

static void what_a_dropped_counter_had_stays_the_units(void **state)
{
	uint32_t unit = tell_of_step(RECORD_STEP_START, "7", 0, 0);

	(void)state;
	begin_sample();
	put_counter(0, 17, 501, "/job_7/step_0", 100);
	put_counter(0, 18, 502, "/job_7/step_0", 10);
	end_sample();
	begin_sample(); /* both are gone */
	end_sample();
	assert_int_equal(writes_of(unit, "mlx5_0"), 110);
	assert_int_equal(counts.count, 1);
	begin_sample(); /* the process has new queue pairs */
	put_counter(0, 17, 501, "/job_7/step_0", 150);
	end_sample();
	assert_int_equal(writes_of(unit, "mlx5_0"), 260);
	begin_sample(); /* and it fell, which is one that began anew in between */
	put_counter(0, 17, 501, "/job_7/step_0", 1);
	end_sample();
	assert_int_equal(writes_of(unit, "mlx5_0"), 261);
}

static void a_device_that_does_not_answer_changes_nothing(void **state)
{
	uint32_t unit = tell_of_step(RECORD_STEP_START, "7", 0, 0);

	(void)state;
	begin_sample();
	put_counter(0, 17, 501, "/job_7/step_0", 100);
	end_sample();
	begin_sample();
	sample->devices[0].known = 0;
	end_sample();
	assert_int_equal(writes_of(unit, "mlx5_0"), 100);
	begin_sample();
	sample->device_count = 0;
	end_sample();
	begin_sample();
	put_counter(0, 17, 501, "/job_7/step_0", 101);
	end_sample();
	assert_int_equal(writes_of(unit, "mlx5_0"), 101);
}

static void runs_of_a_job_have_their_own(void **state)
{
	(void)state;
	uint32_t first = tell_of_step(RECORD_STEP_START, "7", 0, 0);
	begin_sample();
	put_counter(0, 17, 501, "/job_7/step_0", 100);
	end_sample();
	begin_sample();
	end_sample();
	now_ns += NSEC_PER_SEC;
	(void)tell_of_step(RECORD_STEP_STOP, "7", 0, 0);
	uint32_t second = tell_of_step(RECORD_STEP_START, "7", 0, 1);
	assert_int_not_equal(first, second);
	assert_int_equal(writes_of(first, "mlx5_0"), 100);
	assert_int_equal(writes_of(second, "mlx5_0"), 0);
	begin_sample();
	put_counter(0, 17, 777, "/job_7/step_0", 9);
	end_sample();
	assert_int_equal(writes_of(first, "mlx5_0"), 100);
	assert_int_equal(writes_of(second, "mlx5_0"), 9);
}

static void what_is_nobodys_is_forgotten_when_it_is_gone(void **state)
{
	(void)state;
	begin_sample();
	put_counter(0, 17, 501, "/job_7/step_0", 100);
	put_counter(0, 18, 502, "", 100);
	end_sample();
	rdma_counts_settle(&counts, units);
	assert_int_equal(counts.count, 2);
	begin_sample();
	end_sample();
	rdma_counts_settle(&counts, units);
	assert_int_equal(counts.count, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_counts, close_counts)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(processes_and_steps_of_a_unit_are_added_up),
		TEST(what_a_dropped_counter_had_stays_the_units),
		TEST(a_device_that_does_not_answer_changes_nothing),
		TEST(runs_of_a_job_have_their_own),
		TEST(what_is_nobodys_is_forgotten_when_it_is_gone),
	};
	return cmocka_run_group_tests_name("rdma_counts", tests, NULL, NULL);
}
