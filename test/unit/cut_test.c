/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a window cuts of a job: the sums of a life whose course is known. */
#include <json-c/json.h>
#include <math.h>

#include "cli/cacct/cut.h"
#include "test/unit/unit.h"

/* Two hours from 1774512000 (a full hour) on; 100 J, 10 CPU seconds in the first, 20
 * and 5 in the second; intervals of ten minutes in the first alone. */
static const char life[] =
	"{\"uuid\":\"1\",\"state\":\"COMPLETED\",\"started_at_ts\":1774512000000,"
	"\"ended_at_ts\":1774519200000,\"allocation\":{\"cpus\":2,\"nodes\":1,"
	"\"mem\":1000},\"cpu_seconds\":15,\"cpu_user_seconds\":15,\"energy_joules\":{"
	"\"total\":120,\"host\":120},\"total_cpu_energy_usage_kwh\":{\"total\":"
	"0.00004},\"grams\":{\"owid\":12},\"memory_peak_bytes\":500}";
static const char course[] =
	"{\"series\":[{\"t0_ts\":1774512000000,\"t1_ts\":1774515600000,\"cpu_seconds\":"
	"10,\"memory_peak_bytes\":500,\"energy_joules\":{\"total\":100,\"host\":100},"
	"\"grams\":{\"owid\":10}},{\"t0_ts\":1774515600000,\"t1_ts\":1774519200000,"
	"\"cpu_seconds\":5,\"memory_peak_bytes\":300,\"energy_joules\":{\"total\":20,"
	"\"host\":20},\"grams\":{\"owid\":2}}]}";
static const char intervals[] =
	"{\"series\":[{\"t0_ts\":1774512000000,\"t1_ts\":1774513800000,\"cpu_seconds\":"
	"2,\"energy_joules\":{\"total\":20,\"host\":20}},{\"t0_ts\":1774513800000,"
	"\"t1_ts\":1774515600000,\"memory_peak_bytes\":450,\"cpu_seconds\":8,\"energy_"
	"joules\":{\"total\":80,"
	"\"host\":80}}]}";

static void read_cut_series(struct series *s, const char *text)
{
	struct json_object *o = json_tokener_parse(text);
	struct err err;

	assert_int_equal(series_add(s, o, &err), 0);
	json_object_put(o);
}

/* ret_unit's texts are not used; hour_j, if not 0: of the first hour */
static void cut_life(double from_s, double to_s, bool has_intervals, double hour_j,
		     struct unit *ret_unit)
{
	const double now_s = 1774600000;
	struct json_object *o = json_tokener_parse(life);
	struct cut cut = {.from_s = from_s, .to_s = to_s};

	unit_from_json(o, (int64_t)now_s, ret_unit);
	read_cut_series(&cut.hours, course);
	if (hour_j > 0)
		cut.hours.points[0].value[SERIES_TOTAL_J] = hour_j;
	for (int e = 0; has_intervals && e < 2; e++)
		read_cut_series(&cut.edges[e], intervals);
	assert_true(cut_needs(ret_unit, from_s, to_s, now_s));
	cut_sums(ret_unit, &cut, now_s);
	cut_times(ret_unit, from_s, to_s, now_s);
	unit_compare_use(ret_unit);
	series_done(&cut.hours);
	series_done(&cut.edges[0]);
	series_done(&cut.edges[1]);
	json_object_put(o);
}

static void cut_it(double from_s, double to_s, bool has_intervals,
		   struct unit *ret_unit)
{
	cut_life(from_s, to_s, has_intervals, 0, ret_unit);
}

static void cut_hours(double from_s, double to_s, double hour_j, struct unit *ret_unit)
{
	cut_life(from_s, to_s, true, hour_j, ret_unit);
}

static void a_window_has_what_happened_in_it(void **state)
{
	const double t0 = 1774512000;
	struct unit u;
	(void)state;

	/* the second half of the first hour, by intervals, and the second */
	cut_it(t0 + 1800, t0 + 9000, true, &u);
	assert_float_equal(u.number[UNIT_CPU_S], 13, 1e-9);
	assert_float_equal(u.number[UNIT_ENERGY_J], 100, 1e-9);
	assert_float_equal(u.number[UNIT_CPU_SIDE_J], 120, 1e-6); /* with the PUE */
	assert_float_equal(u.grams[0].grams, 8 + 2, 1e-9);
	assert_float_equal(u.number[UNIT_STARTED], t0 + 1800, 1e-9);
	assert_float_equal(u.number[UNIT_ENDED], t0 + 7200, 1e-9);
	assert_float_equal(u.number[UNIT_ELAPSED_S], 5400, 1e-9);
	assert_float_equal(u.number[UNIT_CPU_ALLOC_S], 10800, 1e-9);
	assert_float_equal(u.number[UNIT_CPU_RATIO], 13.0 / 10800, 1e-9);
	assert_float_equal(u.number[UNIT_WASTED_CPU_S], 10800 - 13, 1e-6);
	assert_float_equal(u.number[UNIT_MEMORY_PEAK_BYTES], 450, 1e-9);
	assert_true(isnan(u.number[UNIT_CPU_USER_S])); /* of the window nobody knows */
	/* hours know of more than intervals do: 200 J, of which they have 100 */
	const double hour_j = 200;
	cut_hours(t0 + 1800, t0 + 9000, hour_j, &u);
	assert_float_equal(u.number[UNIT_ENERGY_J], 160 + 20, 1e-9);
	cut_hours(t0 - 5, t0 + 1800, hour_j, &u);
	assert_float_equal(u.number[UNIT_ENERGY_J], 40, 1e-9);
	/* both edges in one hour: a sixth of an interval, and the other */
	cut_it(t0 + 1500, t0 + 2700, true, &u);
	assert_float_equal(u.number[UNIT_ENERGY_J], 20.0 / 6 + 40, 1e-6);
	assert_float_equal(u.grams[0].grams, (20.0 / 6 + 40) / 10, 1e-6);
	/* where intervals are not kept any more: the hour by time */
	cut_it(t0 + 1800, t0 + 9000, false, &u);
	assert_float_equal(u.number[UNIT_ENERGY_J], 50 + 20, 1e-9);
	assert_float_equal(u.grams[0].grams, 5 + 2, 1e-9);
	/* along hours nothing is estimated; what has no series is not known */
	cut_it(t0 + 3600, t0 + 7200, true, &u);
	assert_float_equal(u.number[UNIT_ENERGY_J], 20, 1e-9);
	assert_float_equal(u.number[UNIT_MEMORY_PEAK_BYTES], 300, 1e-9);
	assert_true(isnan(u.number[UNIT_IO_READ_BYTES]));
	assert_true(isnan(u.number[UNIT_GPU_J]));
	assert_int_equal(u.grams_count, 1);
}

/* Hours of a server that has no factors for them say nothing of grams: not 0. */
static void grams_that_no_hour_has_are_not_known(void **state)
{
	const double now_s = 1774600000, t0 = 1774512000;
	struct json_object *o = json_tokener_parse(life);
	struct cut cut = {.from_s = t0 + 1800, .to_s = now_s};
	struct unit u;
	(void)state;

	unit_from_json(o, (int64_t)now_s, &u);
	assert_int_equal(u.grams_count, 1);
	read_cut_series(&cut.hours, intervals); /* these have none */
	cut_sums(&u, &cut, now_s);
	assert_float_equal(u.number[UNIT_ENERGY_J], 80, 1e-9);
	assert_int_equal(u.grams_count, 0);
	series_done(&cut.hours);
	json_object_put(o);
}

static void windows_that_are_whole_cut_nothing(void **state)
{
	struct json_object *o = json_tokener_parse(life);
	struct unit u;
	(void)state;

	unit_from_json(o, 1774600000, &u);
	assert_false(cut_needs(&u, 1774512000, 1774519200, 1774600000));
	assert_true(cut_needs(&u, 1774512000, 1774519199, 1774600000));
	cut_times(&u, 0, 1774600000, 1774600000);
	assert_float_equal(u.number[UNIT_ELAPSED_S], 7200, 1e-9);
	/* one that runs ends now, as sacct -T has it, and is known as it is */
	u.number[UNIT_ENDED] = NAN;
	assert_false(cut_needs(&u, 0, 1774600000, 1774600000));
	cut_times(&u, 0, 1774600000, 1774600000);
	assert_float_equal(u.number[UNIT_ENDED], 1774600000, 1e-9);
	json_object_put(o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_window_has_what_happened_in_it),
		cmocka_unit_test(grams_that_no_hour_has_are_not_known),
		cmocka_unit_test(windows_that_are_whole_cut_nothing),
	};

	return cmocka_run_group_tests_name("cut", tests, NULL, NULL);
}
