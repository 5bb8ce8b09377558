/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/ticker/energy_page_fill.h"

#include "test/unit/energy_lab.h"

static struct lab lab;
static struct energy_page_writer *writer;
static struct energy_page_fill *fill;
static struct energy_page page;
static const struct collector none = {.close = lab_close};

static int up(void **state)
{
	(void)state;
	char path[SCRATCH_PATH + 8];
	lab_init(&lab);
	static char idle[] = "package:8,dram:0,other:0";
	lab.tree.node.options.energy_idle_watts = idle;
	ticker_free(lab.ticker);
	lab_ticker_open(&lab);
	snprintf(path, sizeof(path), "%s/energy", lab.tree.root);
	assert_int_equal(
		energy_page_writer_open(path, ENERGY_PAGE_ROWS_MIN, &writer, NULL), 0);
	fill = energy_page_fill_new(&lab.tree.node.env, NULL, writer);
	assert_non_null(fill);
	assert_int_equal(energy_page_open(path, &page, NULL), 0);
	return 0;
}

static int down(void **state)
{
	(void)state;
	energy_page_close(&page);
	energy_page_fill_free(fill);
	energy_page_writer_free(writer);
	lab_done(&lab, &none);
	return 0;
}

static void tick(uint64_t uj, uint64_t system_ms)
{
	lab_set(LAB_RAPL, 0, SOURCE_ENERGY, SOURCE_DOMAIN_PACKAGE, 0,
		lab_sensors[LAB_RAPL].channels[0].value + uj);
	assert_true(lab_tick(&lab, 1000, system_ms));
	assert_int_equal(energy_page_fill_tick(fill, NULL), 0);
}

static void start(const char *id, uint32_t step, uint32_t pid, uint32_t cpus)
{
	lab_apply(&lab, RECORD_STEP_START, id, step, cpus, 0);
	steps_get(lab.units, steps_find(lab.units, lab_unit(&lab, id), step))
		->stepd_pid = pid;
}

static struct energy_page_row row(uint32_t job, uint32_t step, uint32_t pid)
{
	struct energy_page_node node;
	struct energy_page_row r;
	assert_int_equal(energy_page_find(&page, job, step, pid, &node, &r), 0);
	return r;
}

static struct energy_page_node node(void)
{
	struct energy_page_node n;
	int rc = energy_page_find(&page, 1, 1, 1, &n, NULL);
	assert_true(rc == 0 || rc == -ENOENT);
	return n;
}

static void rows_are_the_accounts_of_the_tick(void **state)
{
	(void)state;
	tick(0, 0);
	start("7", RECORD_STEP_EXTERN, 70, 2);
	start("7", 0, 71, 2);
	steps_get(lab.units, steps_find(lab.units, lab_unit(&lab, "7"), 0))->cpus = 1;
	start("8", 0, 80, 1);
	lab_used(&lab, "7", 0, 300);
	lab_used(&lab, "8", 0, 100);
	tick(16 * WATT, 400);
	struct energy_page_row job = row(7, ENERGY_PAGE_JOB, 70), step = row(7, 0, 71);
	assert_int_equal(job.uj[ENERGY_PAGE_PACKAGE],
			 lab_unit_uj(&lab, "7", ENERGY_PACKAGE));
	assert_int_equal(job.total_uj, (3 + 4) * WATT);
	assert_int_equal(step.total_uj, (3 + 2) * WATT);
	assert_int_equal(step.cpu_ns, 300 * NSEC_PER_MSEC);
	assert_int_equal(step.alloc_mcpu, 1000);
	assert_int_equal(job.provisional_uj, 0);
	assert_int_equal(row(8, 0, 80).total_uj, (1 + 2) * WATT);
	struct energy_page_node n = node();
	assert_int_equal(n.tick_ns, tree_boottime());
	assert_int_equal(n.uj[ENERGY_PAGE_PACKAGE], 16 * WATT);
	assert_int_equal(n.uw[ENERGY_PAGE_PACKAGE], 16 * WATT);
	assert_string_equal(n.source[ENERGY_PAGE_PACKAGE], "rapl");
	assert_int_equal(job.total_uj + row(8, ENERGY_PAGE_JOB, 0).total_uj +
				 n.idle_uj + n.system_uj,
			 energy_page_total(&n, n.uj));
}

static void steps_at_the_same_time_share_the_idle_power_that_goes_on(void **state)
{
	(void)state;
	tick(0, 0);
	start("7", RECORD_STEP_EXTERN, 70, 2);
	start("7", RECORD_STEP_BATCH, 71, 2);
	start("7", 0, 72, 2);
	tick(16 * WATT, 0);
	assert_int_equal(row(7, RECORD_STEP_BATCH, 71).alloc_mcpu, 1000);
	assert_int_equal(row(7, 0, 72).alloc_mcpu, 1000);
	assert_int_equal(row(7, RECORD_STEP_EXTERN, 70).alloc_mcpu, 0);
	assert_int_equal(row(7, ENERGY_PAGE_JOB, 70).alloc_mcpu, 2000);
}

static void the_rate_card_carries_a_step_to_the_next_tick(void **state)
{
	(void)state;
	tick(0, 0);
	start("7", 0, 71, 1);
	lab_used(&lab, "7", 0, 500);
	tick(16 * WATT, 500);
	struct energy_page_row step = row(7, 0, 71);
	struct energy_page_node n = node();
	assert_int_equal(n.dynamic_uj_per_cpu_s, 8 * WATT);
	assert_int_equal(n.idle_uw_per_cpu, 2 * WATT);
	struct energy_page_now now = {.boottime_ns = tree_boottime() + NSEC_PER_SEC,
				      .cpu_ns = 1000 * NSEC_PER_MSEC,
				      .has_cpu = true};
	uint64_t estimate;
	assert_int_equal(energy_page_estimate(&n, &step, &now, &estimate), 0);
	lab_used(&lab, "7", 0, 1000);
	tick(16 * WATT, 500);
	assert_int_equal(estimate, row(7, 0, 71).total_uj);
}

static void with_a_slow_host_sensor_rows_are_provisional_until_it_answers(void **state)
{
	(void)state;
	lab_set(LAB_IPMI, 0, SOURCE_POWER, SOURCE_DOMAIN_HOST, 0, 40 * WATT);
	tick(0, 0);
	start("7", 0, 71, 4);
	for (uint64_t i = 1; i <= 2; i++) {
		lab_used(&lab, "7", 0, i * 1000);
		tick(10 * WATT, 0);
	}
	assert_int_equal(row(7, 0, 71).total_uj, 80 * WATT);
	lab_sensors[LAB_IPMI].absent = true;
	lab_used(&lab, "7", 0, 3000);
	tick(10 * WATT, 0);
	struct energy_page_row step = row(7, 0, 71), job = row(7, ENERGY_PAGE_JOB, 0);
	assert_int_equal(job.total_uj, 120 * WATT);
	assert_int_equal(job.provisional_uj, 40 * WATT);
	assert_true(job.flags & ENERGY_PAGE_PROVISIONAL);
	assert_int_equal(step.total_uj, 120 * WATT);
	assert_int_equal(step.provisional_uj, 40 * WATT);
	assert_int_equal(node().uw[ENERGY_PAGE_HOST], 40 * WATT);
	lab_sensors[LAB_IPMI].absent = false;
	lab_used(&lab, "7", 0, 4000);
	tick(10 * WATT, 0);
	assert_int_equal(row(7, 0, 71).total_uj, 160 * WATT);
	assert_int_equal(row(7, 0, 71).provisional_uj, 0);
}

static void what_the_model_says_is_marked(void **state)
{
	(void)state;
	lab_set(LAB_MODEL, 0, SOURCE_ENERGY, SOURCE_DOMAIN_HOST, 0, 0);
	assert_true(lab_tick(&lab, 0, 0));
	start("7", 0, 71, 4);
	lab_used(&lab, "7", 0, 500);
	lab_add(LAB_MODEL, 0, 30 * WATT);
	assert_true(lab_tick(&lab, 1000, 0));
	assert_int_equal(energy_page_fill_tick(fill, NULL), 0);
	assert_true(row(7, 0, 71).flags & ENERGY_PAGE_MODELLED);
	assert_int_equal(row(7, 0, 71).total_uj, 30 * WATT);
	assert_true(node().flags[ENERGY_PAGE_HOST] & ENERGY_PAGE_MODELLED);
}

static uint32_t age_s(enum energy_page_domain d)
{
	return node().flags[d] >> ENERGY_PAGE_AGE_SHIFT;
}

static void how_long_ago_a_sensor_was_read_is_told(void **state)
{
	(void)state;
	lab_set(LAB_IPMI, 0, SOURCE_POWER, SOURCE_DOMAIN_HOST, 0, 40 * WATT);
	tick(0, 0);
	tick(10 * WATT, 0);
	assert_int_equal(age_s(ENERGY_PAGE_PACKAGE), 0);
	assert_int_equal(age_s(ENERGY_PAGE_HOST), 0);
	assert_int_equal(age_s(ENERGY_PAGE_DRAM), 0);
	/* the BMC answers no more: its last reading is used, and grows old */
	lab_sensors[LAB_IPMI].absent = true;
	for (int i = 0; i < 7; i++)
		tick(10 * WATT, 0);
	assert_int_equal(age_s(ENERGY_PAGE_PACKAGE), 0);
	assert_int_equal(age_s(ENERGY_PAGE_HOST), 7);
	assert_int_equal(age_s(ENERGY_PAGE_OTHER), 7);
	assert_true(node().flags[ENERGY_PAGE_HOST] & ENERGY_PAGE_PROVISIONAL);
}

static void what_has_ended_stays_as_it_was_and_is_marked(void **state)
{
	(void)state;
	tick(0, 0);
	start("7", RECORD_STEP_EXTERN, 70, 4);
	start("7", 0, 71, 4);
	lab_used(&lab, "7", 0, 500);
	tick(10 * WATT, 0);
	lab_apply(&lab, RECORD_STEP_STOP, "7", 0, 4, 500);
	lab_apply(&lab, RECORD_STEP_STOP, "7", RECORD_STEP_EXTERN, 4, 0);
	tick(10 * WATT, 1000);
	struct energy_page_row r = row(7, 0, 71);
	assert_true(r.flags & ENERGY_PAGE_ENDED);
	assert_int_equal(r.alloc_mcpu, 0);
	uint64_t uj = r.total_uj;
	tick(10 * WATT, 1000);
	assert_int_equal(row(7, 0, 71).total_uj, uj);
	assert_true(row(7, ENERGY_PAGE_JOB, 70).flags & ENERGY_PAGE_ENDED);
}

static void a_full_page_keeps_the_jobs(void **state)
{
	(void)state;
	char id[16];
	tick(0, 0);
	for (uint32_t i = 1; i <= ENERGY_PAGE_ROWS_MIN; i++) {
		snprintf(id, sizeof(id), "%u", i);
		start(id, 0, i, 1);
	}
	tick(10 * WATT, 10);
	assert_int_equal(node().rows_lost, ENERGY_PAGE_ROWS_MIN);
	for (uint32_t i = 1; i <= ENERGY_PAGE_ROWS_MIN; i++)
		assert_int_equal(row(i, ENERGY_PAGE_JOB, 0).job, i);
}

static void without_ticks_the_page_stays_as_it_was(void **state)
{
	(void)state;
	struct energy_page_node n;
	assert_int_equal(energy_page_fill_tick(fill, NULL), 0);
	assert_int_equal(energy_page_find(&page, 1, 1, 1, &n, NULL), -ENODATA);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, up, down)
	const struct CMUnitTest tests[] = {
		T(rows_are_the_accounts_of_the_tick),
		T(steps_at_the_same_time_share_the_idle_power_that_goes_on),
		T(the_rate_card_carries_a_step_to_the_next_tick),
		T(with_a_slow_host_sensor_rows_are_provisional_until_it_answers),
		T(what_the_model_says_is_marked),
		T(how_long_ago_a_sensor_was_read_is_told),
		T(what_has_ended_stays_as_it_was_and_is_marked),
		T(a_full_page_keeps_the_jobs),
		T(without_ticks_the_page_stays_as_it_was),
	};
	return cmocka_run_group_tests_name("page_fill", tests, NULL, NULL);
}
