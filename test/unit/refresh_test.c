/* SPDX-License-Identifier: GPL-2.0-or-later */
/* When a device refreshed its counter, from readings that come when they come. The
 * device is made up: it counts in steps. */
#include "gpu/refresh.h"

#include <stdlib.h>

#include "lib/clock.h"
#include "test/unit/unit.h"

#define MS NSEC_PER_MSEC
#define PERIOD (100 * MS)

/* A reader of a counter that is refreshed each `every` from `first` on */
struct reader {
	struct counter_refresh refresh;
	uint64_t every, first, now, value, readings;
};

static uint64_t last_refresh(const struct reader *x)
{
	return x->first + (x->now - x->first) / x->every * x->every;
}

/* Reads late_ns after it is due. Returns by how much the date of a changed value is
 * wrong; 0 of one that did not change, or was not taken. */
static uint64_t read_late(struct reader *x, uint64_t late_ns)
{
	uint64_t rest = refresh_rest_ns(&x->refresh, PERIOD);

	assert_true(rest && rest <= PERIOD);
	x->now += rest + late_ns;
	x->readings++;
	uint64_t value = last_refresh(x);
	uint64_t at =
		refresh_take(&x->refresh, x->now - 20000, x->now, value != x->value);
	if (!at || value == x->value)
		return 0;
	assert_true(at <= x->now);
	x->value = value;
	return at > value ? at - value : value - at;
}

static struct reader new_reader(uint64_t every_ms)
{
	return (struct reader){.every = every_ms * MS,
			       .first = 37 * MS,
			       .now = 1000 * MS + (uint64_t)(rand() % 100) * MS};
}

/* Lets it learn for some seconds of a machine with nothing else to do. */
static void learn(struct reader *x)
{
	for (uint64_t end = x->now + 5000 * MS; x->now < end;)
		(void)read_late(x, 100000);
}

/* Most readings are in time; some are late, by up to a quarter second. */
static unsigned count_wrong(struct reader *x, unsigned readings)
{
	unsigned wrong = 0;

	for (unsigned i = 0; i < readings; i++) {
		uint64_t late = rand() % 5 ? (uint64_t)rand() % MS
					   : (uint64_t)rand() % 250 * MS;
		wrong += read_late(x, late) > 25 * MS;
	}
	return wrong;
}

static void a_late_reading_is_dated_by_its_refresh(void **state)
{
	unsigned wrong = 0;

	(void)state;
	for (unsigned seed = 0; seed < 200; seed++) {
		srand(seed);
		struct reader x = new_reader(50 + seed % 3 * 25);
		learn(&x);
		wrong += count_wrong(&x, 500);
	}
	assert_in_range(wrong, 0, 200 * 500 / 10000);
}

static void a_counter_without_a_rhythm_is_dated_by_its_readings(void **state)
{
	(void)state;
	for (uint64_t every = 1; every <= 20; every += 19) {
		struct reader x = new_reader(every);
		learn(&x);
		for (unsigned i = 0; i < 300; i++)
			assert_true(read_late(&x, (uint64_t)rand() % 50 * MS) <=
				    every * MS);
	}
}

static void a_device_with_another_rhythm_is_learned_anew(void **state)
{
	(void)state;
	struct reader x = new_reader(100);
	learn(&x);
	x.every = 70 * MS;
	learn(&x);
	learn(&x);
	assert_in_range(count_wrong(&x, 300), 0, 3);
}

/* The driver's calls cost: some more than one for each refresh */
static void readings_are_few(void **state)
{
	(void)state;
	static const uint64_t every[] = {1, 20, 100, 100000};
	for (unsigned i = 0; i < 4; i++) {
		struct reader x = new_reader(every[i]);
		learn(&x);
		x.readings = 0;
		for (uint64_t end = x.now + 10000 * MS; x.now < end;)
			(void)read_late(&x, 0);
		assert_in_range(x.readings, 100, every[i] > 1000 ? 400 : 150);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_late_reading_is_dated_by_its_refresh),
		cmocka_unit_test(a_counter_without_a_rhythm_is_dated_by_its_readings),
		cmocka_unit_test(a_device_with_another_rhythm_is_learned_anew),
		cmocka_unit_test(readings_are_few),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
