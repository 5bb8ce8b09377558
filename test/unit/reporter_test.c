/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is reported when, with a clock that the test moves. */
#include <math.h>

#include "test/unit/reporter_fixture.h"

static uint64_t run_to_the_end(const char *id, uint64_t cpu_ns)
{
	uint32_t i = units_find(u, MANAGER_SLURM, NODE, id, 0);
	uint64_t instance = unit_report(u, i)->instance;

	stop_ok(id, 0, cpu_ns, 0);
	stop_ok(id, RECORD_STEP_EXTERN, 0, 0);
	now += SEC;
	work();
	return instance;
}

static void a_start_is_told_once_and_again_unchanged_after_a_restart(void **state)
{
	(void)state;
	begin(16);
	start_ok("7", RECORD_STEP_EXTERN);
	now += SEC;
	work();
	assert_int_equal(count(REPORT_START), 1);
	work_until(now + 20 * SEC);
	assert_int_equal(count(REPORT_START), 1);
	restart();
	work();
	assert_int_equal(count(REPORT_START), 2);
	assert_int_equal(heard[0].len, heard[1].len);
	assert_memory_equal(heard[0].bytes, heard[1].bytes, heard[0].len);
}

static void a_start_that_knows_more_is_told_again(void **state)
{
	(void)state;
	begin(16);
	start_ok("7", RECORD_STEP_EXTERN);
	now += SEC;
	work();
	struct record rec_ = rec(RECORD_STEP_START, "7", RECORD_STEP_BATCH);
	rec_.cpus = 3;
	assert_int_equal(apply(&rec_), 0);
	now += SEC;
	work();
	assert_int_equal(count(REPORT_START), 2);
	assert_int_equal(heard[0].instance, heard[1].instance);
}

static void apply_pod(uint32_t millicpus)
{
	struct record rec_ = rec(RECORD_STEP_START, "p", 1);
	rec_.manager = MANAGER_K8S;
	rec_.flags = RECORD_MILLICPUS;
	rec_.cpus = millicpus;
	assert_int_equal(apply(&rec_), 0);
	now += SEC;
	work();
}

static void assert_sized(uint32_t millicpus, uint32_t cpus, uint64_t at)
{
	const struct heard *h = last(REPORT_START);

	assert_int_equal(report_decode(h->bytes, h->len, &r, &err), 0);
	assert_int_equal(r.millicpus, millicpus);
	assert_int_equal(r.cpus, cpus);
	assert_int_equal(r.sized_ns, at);
}

static void
a_pod_is_told_of_to_a_thousandth_of_a_cpu_and_when_it_is_resized(void **state)
{
	(void)state;
	begin(16);
	uint64_t start_ns = now;
	apply_pod(250);
	uint64_t since_ns = now - start_ns;
	uint64_t began_ns = units_get(u, units_find(u, MANAGER_K8S, NODE, "p", 0))
				    ->started_realtime_ns;
	assert_sized(250, 1, began_ns + since_ns);
	work_until(now + 20 * SEC);
	assert_int_equal(count(REPORT_START), 1);
	apply_pod(251); /* as many whole ones */
	assert_int_equal(count(REPORT_START), 2);
	assert_sized(251, 1, began_ns + now - start_ns);
	apply_pod(2000);
	assert_sized(2000, 2, began_ns + now - start_ns);
	/* a job's report is as it was */
	start_ok("7", RECORD_STEP_EXTERN);
	now += SEC;
	work();
	assert_sized(0, r.cpus, 0);
}

static void a_short_unit_has_one_interval_and_one_final_and_no_start(void **state)
{
	(void)state;
	begin(16);
	start_ok("7", RECORD_STEP_EXTERN);
	start_ok("7", 0);
	now += SEC / 50;
	uint64_t instance = run_to_the_end("7", 12345);
	work_until(now + 30 * SEC);
	assert_int_equal(count(REPORT_START), 0);
	assert_int_equal(count(REPORT_INTERVAL), 1);
	assert_int_equal(count(REPORT_FINAL), 1);
	assert_int_equal(last(REPORT_FINAL)->cpu_ns, 12345);
	assert_int_equal(last(REPORT_FINAL)->steps, 2);
	assert_int_equal(last(REPORT_INTERVAL)->t1_ns - last(REPORT_INTERVAL)->t0_ns,
			 SEC / 50);
	assert_adds_up(instance);
}

static void windows_end_at_whole_multiples(void **state)
{
	(void)state;
	begin(16); /* at 1000 s: the first window ends at 1200 */
	start_ok("7", RECORD_STEP_EXTERN);
	start_ok("7", 0);
	work_until(1900 * SEC);
	uint64_t instance = run_to_the_end("7", 5 * SEC);
	assert_int_equal(count(REPORT_INTERVAL), 4);
	static const uint64_t ends[] = {1000, 1200, 1500, 1800, 1900};
	for (uint32_t i = 0, n = 0; i < heard_count; i++) {
		if (heard[i].type != REPORT_INTERVAL)
			continue;
		assert_int_equal(heard[i].t0_ns, ends[n] * SEC);
		assert_int_equal(heard[i].t1_ns, ends[++n] * SEC);
		assert_true(heard[i].observed_ns + 2 * SEC >
			    heard[i].t1_ns - heard[i].t0_ns);
	}
	assert_adds_up(instance);
}

/* What was watched after the end of a window, until it was closed, is the next one's.
 */
static void windows_that_end_between_two_rounds_are_observed_whole(void **state)
{
	(void)state;
	begin(16);
	now += 700 * NSEC_PER_MSEC;
	start_ok("7", RECORD_STEP_EXTERN);
	start_ok("7", 0);
	work_until(now + 900 * SEC);
	uint64_t instance = run_to_the_end("7", 5 * SEC);
	assert_int_equal(count(REPORT_INTERVAL), 4);
	assert_adds_up(instance);
	assert_int_equal(last(REPORT_FINAL)->observed_ns, 900 * SEC);
}

static void an_interval_that_death_interrupts_comes_again_to_the_byte(void **state)
{
	(void)state;
	begin(16);
	start_ok("7", RECORD_STEP_EXTERN);
	start_ok("7", 0);
	work_until(1199 * SEC);
	uint32_t s = steps_find(u, 0, 0);
	reading(s, 7 * SEC, SEC);
	now = 1200 * SEC;
	reporter_round(reporter, now);
	reporter_gather(reporter, &batch, now);
	assert_int_equal(batch.count, 1);
	keep(&batch.items[0]); /* in the spool, and then the lights go out */
	restart();
	reading(steps_find(u, 0, 0), 9 * SEC, SEC);
	now = 1230 * SEC;
	work();
	assert_int_equal(count(REPORT_INTERVAL), 2);
	const struct heard *first = NULL, *again = last(REPORT_INTERVAL);
	for (uint32_t i = 0; i < heard_count && !first; i++)
		first = heard[i].type == REPORT_INTERVAL ? &heard[i] : NULL;
	assert_int_equal(first->len, again->len);
	assert_memory_equal(first->bytes, again->bytes, first->len);
	assert_int_equal(first->cpu_ns, 8 * SEC);
	assert_adds_up(run_to_the_end("7", 20 * SEC));
}

static void time_without_a_daemon_is_not_observed(void **state)
{
	(void)state;
	begin(16);
	start_ok("7", RECORD_STEP_EXTERN);
	start_ok("7", 0);
	work_until(1020 * SEC);
	now = 1060 * SEC; /* down for 40 s */
	restart();
	work_until(1100 * SEC);
	uint64_t instance = run_to_the_end("7", SEC);
	assert_int_equal(last(REPORT_FINAL)->observed_ns, 60 * SEC);
	/* one that lived while nobody was there, told by the ring afterwards */
	now = 1140 * SEC;
	restart();
	now = 1110 * SEC;
	start_ok("8", RECORD_STEP_EXTERN);
	start_ok("8", 0);
	now = 1130 * SEC;
	stop_ok("8", 0, 3 * SEC, 0);
	stop_ok("8", RECORD_STEP_EXTERN, 0, 0);
	now = 1141 * SEC;
	work();
	assert_int_equal(last(REPORT_FINAL)->observed_ns, 0);
	assert_int_equal(last(REPORT_FINAL)->cpu_ns, 3 * SEC);
	assert_adds_up(instance);
}

static void a_window_after_downtime_ends_at_the_next_multiple(void **state)
{
	(void)state;
	begin(16);
	start_ok("7", RECORD_STEP_EXTERN);
	work_until(1100 * SEC);
	now = 1290 * SEC;
	restart();
	work_until(1499 * SEC);
	assert_int_equal(count(REPORT_INTERVAL), 0);
	work_until(1501 * SEC);
	assert_int_equal(count(REPORT_INTERVAL), 1);
	assert_int_equal(last(REPORT_INTERVAL)->t0_ns, 1000 * SEC);
	assert_int_equal(last(REPORT_INTERVAL)->t1_ns, 1500 * SEC);
}

/* Of the wall clock over the time since boot, in these */
#define BOOTED (100 * 86400 * SEC)

/* A record of a node whose clock is off by so much */
static void apply_off(enum record_type type, const char *id, uint32_t step,
		      int64_t off_ns, uint64_t cpu_ns)
{
	struct record a = rec(type, id, step);

	a.realtime_ns = (uint64_t)((int64_t)(BOOTED + now) + off_ns);
	if (type == RECORD_STEP_STOP) {
		a.counters.source = COUNTERS_CGROUP_V1;
		a.counters.cpu_user_ns = cpu_ns;
		a.flags = RECORD_LAST;
	}
	assert_int_equal(apply(&a), 0);
}

static void a_clock_that_leaps_moves_no_window_and_no_end(void **state)
{
	static const int64_t leaps_s[] = {5, -5, 3600, -3600, 30 * 86400, -30 * 86400};
	(void)state;
	for (size_t k = 0; k < sizeof(leaps_s) / sizeof(leaps_s[0]); k++) {
		const int64_t off = leaps_s[k] * (int64_t)SEC;
		begin(16);
		const uint64_t epoch = now;
		apply_off(RECORD_STEP_START, "7", RECORD_STEP_EXTERN, 0, 0);
		apply_off(RECORD_STEP_START, "7", 0, off, 0);
		apply_off(RECORD_STEP_START, "8", RECORD_STEP_EXTERN, off, 0);
		work_until(epoch + 250 * SEC);
		uint64_t one = unit_report(u, 0)->instance;
		uint64_t other = unit_report(u, 1)->instance;
		apply_off(RECORD_STEP_STOP, "7", 0, -off, 7 * SEC);
		apply_off(RECORD_STEP_STOP, "7", RECORD_STEP_EXTERN, -off, 0);
		apply_off(RECORD_STEP_STOP, "8", RECORD_STEP_EXTERN, 0, 8 * SEC);
		work_until(now + 60 * SEC);
		for (uint32_t i = 0; i < heard_count; i++) {
			if (heard[i].type != REPORT_FINAL)
				continue;
			uint64_t began = BOOTED + epoch;
			if (heard[i].instance == other)
				began = (uint64_t)((int64_t)began + off);
			assert_int_equal(heard[i].t0_ns, began);
			assert_int_equal(heard[i].ended_ns, began + 250 * SEC);
			assert_int_equal(heard[i].cpu_ns,
					 (heard[i].instance == one ? 7 : 8) * SEC);
		}
		assert_int_equal(count(REPORT_FINAL), 2);
		assert_adds_up(one);
		assert_adds_up(other);
	}
}

static void a_spool_that_fails_loses_nothing(void **state)
{
	(void)state;
	begin(16);
	start_ok("7", RECORD_STEP_EXTERN);
	start_ok("7", 0);
	for (; now < 1900 * SEC; now += SEC)
		work_most(now % (7 * SEC) ? 0 : 1);
	for (; now < 2600 * SEC; now += SEC)
		work_most(0);
	uint32_t i = units_find(u, MANAGER_SLURM, NODE, "7", 0);
	uint64_t instance = unit_report(u, i)->instance;
	stop_ok("7", 0, 5 * SEC, 0);
	stop_ok("7", RECORD_STEP_EXTERN, 0, 0);
	now += 10 * SEC;
	work_most(0);
	units_expire(u, now, &policy);
	work();
	assert_adds_up(instance);
	assert_int_equal(units_left_untold(u), 0);
}

static void a_unit_that_cannot_be_told_leaves_and_is_counted(void **state)
{
	const struct units_policy soon = {1000, 0, 2000};
	(void)state;
	begin(16);
	start_ok("7", RECORD_STEP_EXTERN);
	stop_ok("7", RECORD_STEP_EXTERN, 0, 0);
	for (int s = 0; s < 80; s++, now += SEC) {
		work_most(0);
		units_expire(u, now, &soon);
	}
	assert_int_equal(units_used(u), 1);
	now += 20 * SEC;
	units_expire(u, now, &soon);
	assert_int_equal(units_used(u), 0);
	assert_int_equal(units_left_untold(u), 1);
}

static void a_unit_leaves_once_it_is_told(void **state)
{
	const struct units_policy at_once = {0, 0, 2000};
	(void)state;
	begin(16);
	start_ok("7", RECORD_STEP_EXTERN);
	stop_ok("7", RECORD_STEP_EXTERN, 5, 0);
	now += SEC;
	units_expire(u, now, &at_once);
	assert_int_equal(units_used(u), 1);
	work();
	units_expire(u, now, &at_once);
	assert_int_equal(units_used(u), 0);
	assert_int_equal(units_left_untold(u), 0);
}

static void more_units_than_may_be_exported_stay_until_told(void **state)
{
	const struct units_policy few = {60000, 0, 2};
	char id[16];
	(void)state;
	begin(64);
	for (int n = 0; n < 20; n++) {
		snprintf(id, sizeof(id), "%d", n);
		start_ok(id, RECORD_STEP_EXTERN);
		stop_ok(id, RECORD_STEP_EXTERN, 1, 0);
	}
	units_expire(u, now, &few);
	assert_int_equal(units_used(u), 20);
	work();
	units_expire(u, now, &few);
	assert_int_equal(units_used(u), 2);
	assert_int_equal(count(REPORT_FINAL), 20);
	assert_int_equal(units_left_untold(u), 0);
}

static void energy_that_settles_late_is_in_the_last_interval(void **state)
{
	(void)state;
	begin(16);
	energy_on();
	start_ok("7", RECORD_STEP_EXTERN);
	start_ok("7", 0);
	now += SEC;
	tick(1000);
	work();
	stop_ok("7", 0, SEC, 0); /* no tick has seen this yet */
	stop_ok("7", RECORD_STEP_EXTERN, 0, 0);
	uint64_t instance = unit_report(u, 0)->instance;
	now += 2 * SEC;
	work();
	assert_int_equal(count(REPORT_FINAL), 0);
	now += SEC;
	work(); /* 3 s are enough: a first word */
	assert_int_equal(count(REPORT_FINAL), 1);
	assert_true(last(REPORT_FINAL)->provisional);
	assert_int_equal(count(REPORT_INTERVAL), 0);
	work_until(now + 5 * SEC);
	assert_int_equal(count(REPORT_FINAL), 1);
	tick(5000);
	now += SEC;
	work();
	assert_int_equal(count(REPORT_FINAL), 2);
	assert_int_equal(last(REPORT_FINAL)->uj,
			 unit_energy(u, 0)->account.settled_uj[ENERGY_PACKAGE]);
	assert_true(last(REPORT_FINAL)->uj > 1000);
	assert_adds_up(instance);
}

static void each_source_keeps_its_energy(void **state)
{
	(void)state;
	begin(16);
	energy_on();
	start_ok("7", RECORD_STEP_EXTERN);
	start_ok("7", 0);
	reading(steps_find(u, 0, 0), SEC, 0);
	now += SEC;
	tick(1000);
	work();
	/* another sensor from here on */
	struct energy_state *e = units_energy_draft(u);
	e->node.source[ENERGY_PACKAGE] = 2;
	e->node.changes++;
	units_energy_commit(u);
	now += SEC;
	work();
	e = units_energy_draft(u);
	e->node.measured_uj[ENERGY_PACKAGE] += 70;
	unit_energy_draft(u, 0)->account.settled_uj[ENERGY_PACKAGE] += 70;
	units_energy_commit(u);
	units_energy_ticking(u, false);
	uint64_t instance = run_to_the_end("7", SEC);
	uint64_t by[2] = {0, 0};
	for (uint32_t i = 0; i < r.energy_count; i++)
		by[strcmp(r.energy[i].source, "redfish") == 0] += r.energy[i].uj;
	assert_int_equal(r.type, REPORT_FINAL); /* r: what was kept last */
	assert_int_equal(by[0], 1000);
	assert_int_equal(by[1], 70);
	assert_adds_up(instance);
}

static void a_late_stop_record_brings_another_interval_and_final(void **state)
{
	(void)state;
	begin(16);
	start_ok("7", RECORD_STEP_EXTERN);
	start_ok("7", 0);
	now += SEC;
	struct record early = stop("7", 0, 100, 0, false);
	assert_int_equal(apply(&early), 0);
	stop_ok("7", RECORD_STEP_EXTERN, 0, 0);
	work_until(now + 12 * SEC);
	assert_int_equal(count(REPORT_INTERVAL), 1);
	struct record late = stop("7", 0, 160, 0, true);
	assert_int_equal(apply(&late), 0);
	now += SEC;
	work();
	assert_int_equal(count(REPORT_INTERVAL), 2);
	assert_int_equal(last(REPORT_INTERVAL)->cpu_ns, 60);
	assert_int_equal(last(REPORT_FINAL)->cpu_ns, 160);
	assert_adds_up(last(REPORT_FINAL)->instance);
}

static void a_unit_that_goes_on_gets_another_final(void **state)
{
	(void)state;
	begin(16);
	start_ok("7", 0); /* no extern step: it may seem to be over */
	now += SEC;
	stop_ok("7", 0, 100, 0);
	work_until(now + 5 * SEC);
	assert_true(last(REPORT_FINAL)->provisional);
	start_ok("7", 1);
	now += 20 * SEC;
	work();
	stop_ok("7", 1, 50, 0);
	work_until(now + 15 * SEC);
	assert_int_equal(last(REPORT_FINAL)->cpu_ns, 150);
	assert_adds_up(last(REPORT_FINAL)->instance);
}

static void many_steps_are_all_told_and_leave(void **state)
{
	(void)state;
	begin(512);
	start_ok("7", RECORD_STEP_EXTERN);
	for (uint32_t s = 0; s < 1000; s++) {
		start_ok("7", s);
		stop_ok("7", s, 10, 0);
		now += SEC / 10;
		if (s % 10 == 0) {
			work();
			units_expire(u, now, &policy);
		}
	}
	work_until(now + 70 * SEC);
	assert_true(count(REPORT_INTERVAL) > 3);
	assert_in_range(steps_told, 870, 1000); /* the rest at the window's end */
	uint64_t instance = unit_report(u, 0)->instance;
	stop_ok("7", RECORD_STEP_EXTERN, 0, 0);
	now += SEC;
	work();
	assert_int_equal(last(REPORT_FINAL)->cpu_ns, 10000);
	assert_true(steps_told + last(REPORT_FINAL)->steps >= 1001);
	assert_adds_up(instance);
}

static void crowds_are_told_in_several_batches(void **state)
{
	char id[16];
	(void)state;
	begin(2048);
	for (int n = 0; n < 1500; n++) {
		snprintf(id, sizeof(id), "%d", n);
		start_ok(id, RECORD_STEP_EXTERN);
		stop_ok(id, RECORD_STEP_EXTERN, 1, 0);
	}
	now += SEC;
	work();
	assert_int_equal(count(REPORT_FINAL), 1500);
	assert_int_equal(count(REPORT_INTERVAL), 1500);
	assert_int_equal(reporter_written(reporter, REPORT_FINAL), 1500);
}

/* A second of readings of both its devices; NAN: the counter does not tell. */
static void read_gpus(double sm, double tensor)
{
	const struct unit_gpu_sums more = {.memory_of_ms = 2000};
	const double figures[UNIT_GPU_FIGURES] = {
		[UNIT_GPU_SM] = sm,         [UNIT_GPU_OCCUPANCY] = NAN,
		[UNIT_GPU_TENSOR] = tensor, [UNIT_GPU_FP64] = NAN,
		[UNIT_GPU_FP32] = NAN,      [UNIT_GPU_FP16] = NAN,
		[UNIT_GPU_DRAM] = NAN,
	};
	struct unit_gpu_figures f = {{0}, {0}};

	for (unsigned k = 0; k < UNIT_GPU_FIGURES; k++) {
		if (isnan(figures[k]))
			continue;
		f.ppm_ms[k] = (uint64_t)(figures[k] * 1000000 * 2000);
		f.of_ms[k] = 2000;
	}
	unit_report_gpus(u, 0, &more, &f, 1, 2);
}

/* A figure's share of the devices' time in the newest report of a type; NAN: absent */
static double told_figure(enum report_type type, enum unit_gpu_figure k)
{
	const struct heard *h = last(type);

	assert_int_equal(report_decode(h->bytes, h->len, &r, &err), 0);
	return report_count_known(&r.counts, COUNT_GPU_FIGURE + k)
		       ? (double)r.counts.values[COUNT_GPU_FIGURE + k] /
				 (double)(2 * (r.t1_ns - r.t0_ns))
		       : NAN;
}

static void gpu_counters_are_of_the_window_as_far_as_they_were_told(void **state)
{
	(void)state;
	begin(16);
	struct record a = rec(RECORD_STEP_START, "7", RECORD_STEP_EXTERN);
	snprintf(a.gpus, sizeof(a.gpus), "0,3");
	a.flags |= RECORD_GPUS_TRUSTED;
	assert_int_equal(apply(&a), 0);
	start_ok("7", 0);
	read_gpus(0.25, 0);
	read_gpus(NAN, 0.5);
	read_gpus(0.75, NAN);
	work_until(1200 * SEC);
	assert_float_equal(told_figure(REPORT_INTERVAL, UNIT_GPU_SM), 0.5, 1e-6);
	assert_float_equal(told_figure(REPORT_INTERVAL, UNIT_GPU_TENSOR), 0.25, 1e-6);
	assert_true(isnan(told_figure(REPORT_INTERVAL, UNIT_GPU_DRAM)));
	/* nothing was told: absent, not what it was before, and not 0 */
	read_gpus(NAN, NAN);
	restart();
	reading(steps_find(u, 0, 0), SEC, 0);
	work_until(1500 * SEC);
	assert_true(isnan(told_figure(REPORT_INTERVAL, UNIT_GPU_SM)));
	/* told, and 0 */
	read_gpus(0, NAN);
	reading(steps_find(u, 0, 0), 2 * SEC, 0);
	work_until(1800 * SEC);
	assert_float_equal(told_figure(REPORT_INTERVAL, UNIT_GPU_SM), 0, 1e-6);
	run_to_the_end("7", 5 * SEC);
	assert_float_equal(told_figure(REPORT_FINAL, UNIT_GPU_SM), 1.0 / 3, 1e-6);
	assert_true(isnan(told_figure(REPORT_FINAL, UNIT_GPU_DRAM)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			a_start_is_told_once_and_again_unchanged_after_a_restart),
		cmocka_unit_test(a_start_that_knows_more_is_told_again),
		cmocka_unit_test(
			a_pod_is_told_of_to_a_thousandth_of_a_cpu_and_when_it_is_resized),
		cmocka_unit_test(
			a_short_unit_has_one_interval_and_one_final_and_no_start),
		cmocka_unit_test(windows_end_at_whole_multiples),
		cmocka_unit_test(
			an_interval_that_death_interrupts_comes_again_to_the_byte),
		cmocka_unit_test(
			windows_that_end_between_two_rounds_are_observed_whole),
		cmocka_unit_test(time_without_a_daemon_is_not_observed),
		cmocka_unit_test(a_window_after_downtime_ends_at_the_next_multiple),
		cmocka_unit_test(a_clock_that_leaps_moves_no_window_and_no_end),
		cmocka_unit_test(a_spool_that_fails_loses_nothing),
		cmocka_unit_test(a_unit_that_cannot_be_told_leaves_and_is_counted),
		cmocka_unit_test(a_unit_leaves_once_it_is_told),
		cmocka_unit_test(more_units_than_may_be_exported_stay_until_told),
		cmocka_unit_test(energy_that_settles_late_is_in_the_last_interval),
		cmocka_unit_test(each_source_keeps_its_energy),
		cmocka_unit_test(a_late_stop_record_brings_another_interval_and_final),
		cmocka_unit_test(a_unit_that_goes_on_gets_another_final),
		cmocka_unit_test(many_steps_are_all_told_and_leave),
		cmocka_unit_test(crowds_are_told_in_several_batches),
		cmocka_unit_test(
			gpu_counters_are_of_the_window_as_far_as_they_were_told),
	};
	return cmocka_run_group_tests_name("reporter", tests, setup, end_reporter);
}
