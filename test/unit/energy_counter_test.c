/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/sources/energy_counter.h"

#include <stdlib.h>
#include <string.h>

#include "daemon/sources/rapl_zone.h"
#include "lib/clock.h"
#include "test/unit/unit.h"

#define WATT 1000000ull

/* A register of 32 bits in units of nanojoules, seen through powercap */
struct hardware {
	uint64_t unit_nj;
	uint64_t used_nj;
};

static uint64_t hardware_uj(const struct hardware *h)
{
	return (h->used_nj / h->unit_nj & UINT32_MAX) * h->unit_nj / 1000;
}

static uint64_t hardware_max_uj(const struct hardware *h)
{
	return UINT32_MAX * h->unit_nj / 1000;
}

static void run_at_350_w(uint64_t unit_nj, uint64_t tick_ms, uint64_t start_nj)
{
	struct hardware h = {unit_nj, start_nj};
	struct energy_counter c = {
		.range_uj = rapl_zone_range_uj(hardware_max_uj(&h)),
		.worst_uw = rapl_zone_worst_uw("package", 0),
	};
	uint64_t now_ns = 5 * NSEC_PER_SEC, turns = 0, before = hardware_uj(&h);
	unsigned resets = 0;

	energy_counter_take(&c, before, now_ns);
	for (uint64_t ms = 0; ms < 2 * 3600 * 1000; ms += tick_ms) {
		h.used_nj += 350 * 1000000 * tick_ms; /* 1 W in 1 ms: 1e6 nJ */
		now_ns += tick_ms * NSEC_PER_MSEC;
		uint64_t raw = hardware_uj(&h);
		turns += raw < before;
		before = raw;
		resets += energy_counter_take(&c, raw, now_ns) != ENERGY_STEP_COUNTED;
	}
	uint64_t used_uj = (h.used_nj - start_nj) / 1000;
	uint64_t lost =
		used_uj > c.total_uj ? used_uj - c.total_uj : c.total_uj - used_uj;
	assert_int_equal(resets, 0);
	assert_true(turns > 2);
	/* the register's own unit at either end, and one microjoule of rounding a turn
	 */
	if (lost > 2 * unit_nj / 1000 + 2 + turns)
		fail_msg("tick %llu ms: %llu uJ off", (unsigned long long)tick_ms,
			 (unsigned long long)lost);
}

static void no_energy_is_lost_in_a_wrap_at_any_tick_up_to_60_s(void **state)
{
	(void)state;
	static const uint64_t units_nj[] = {61035, 15258}; /* 262 kJ and 65.5 kJ */
	for (size_t u = 0; u < 2; u++) {
		for (uint64_t tick_ms = 1000; tick_ms <= 60000; tick_ms += 977) {
			for (uint64_t k = 0; k < 4; k++)
				run_at_350_w(units_nj[u], tick_ms,
					     (k * 0x3fffffffull + 1) * units_nj[u]);
		}
		run_at_350_w(units_nj[u], 60000, 0);
		run_at_350_w(units_nj[u], 100, 0);
	}
}

static void samplings_are_a_third_of_the_fastest_turn_apart(void **state)
{
	(void)state;
	struct energy_counter c = {.range_uj = rapl_zone_range_uj(65532610987),
				   .worst_uw = rapl_zone_worst_uw("package", 0)};
	uint64_t turn_ms = c.range_uj / (c.worst_uw / 1000);
	assert_true(energy_counter_gap_ms(&c) * 3 <= turn_ms);
	assert_true(energy_counter_gap_ms(&c) * 3 > turn_ms - 3);
	c.range_uj = 0;
	assert_true(energy_counter_gap_ms(&c) == UINT64_MAX);
	/* firmware that speaks of more is believed, nonsense is not */
	assert_true(rapl_zone_worst_uw("package", 900 * WATT) == 1800 * WATT);
	assert_true(rapl_zone_worst_uw("package", UINT64_MAX) == 1000 * WATT);
	assert_true(rapl_zone_worst_uw("psys", 0) == 10000 * WATT);
}

static struct energy_counter package(uint64_t raw_uj)
{
	struct energy_counter c = {.range_uj = 262143328911, .worst_uw = 1000 * WATT};
	assert_int_equal(energy_counter_take(&c, raw_uj, NSEC_PER_SEC),
			 ENERGY_STEP_FIRST);
	return c;
}

static void a_fall_that_no_power_explains_adds_nothing(void **state)
{
	(void)state;
	struct energy_counter c = package(100000000000);
	assert_int_equal(energy_counter_take(&c, 99999999999, 2 * NSEC_PER_SEC),
			 ENERGY_STEP_RESET);
	assert_true(c.total_uj == 0);
	assert_int_equal(energy_counter_take(&c, 100000000049, 3 * NSEC_PER_SEC),
			 ENERGY_STEP_COUNTED);
	assert_true(c.total_uj == 50);
	/* set back by a suspend */
	assert_int_equal(energy_counter_take(&c, 10, 4 * NSEC_PER_SEC),
			 ENERGY_STEP_RESET);
	assert_true(c.total_uj == 50);
}

static void a_leap_of_2_to_the_32_adds_nothing(void **state)
{
	(void)state;
	struct energy_counter c = package(5000);
	assert_int_equal(energy_counter_take(&c, 5000 + (1ull << 32), 2 * NSEC_PER_SEC),
			 ENERGY_STEP_RESET);
	assert_true(c.total_uj == 0);
	assert_int_equal(energy_counter_take(&c, UINT64_MAX, 3 * NSEC_PER_SEC),
			 ENERGY_STEP_RESET);
	assert_int_equal(energy_counter_take(&c, 0, 4 * NSEC_PER_SEC),
			 ENERGY_STEP_RESET);
	assert_true(c.total_uj == 0);
}

static void a_second_turn_that_was_missed_is_known(void **state)
{
	(void)state;
	struct energy_counter c = package(1000);
	/* 10 minutes at up to 1 kW: two turns are possible, one is seen */
	assert_int_equal(energy_counter_take(&c, 900, 601 * NSEC_PER_SEC),
			 ENERGY_STEP_LATE);
	assert_true(c.total_uj == 262143328911 - 100);
}

static void a_counter_without_a_turn_only_restarts(void **state)
{
	(void)state;
	struct energy_counter c = {.worst_uw = 20000 * WATT};
	energy_counter_take(&c, 1000, NSEC_PER_SEC);
	assert_int_equal(energy_counter_take(&c, 3000, 2 * NSEC_PER_SEC),
			 ENERGY_STEP_COUNTED);
	assert_int_equal(energy_counter_take(&c, 7, 3 * NSEC_PER_SEC),
			 ENERGY_STEP_RESET);
	assert_int_equal(energy_counter_take(&c, 8, 400 * NSEC_PER_SEC),
			 ENERGY_STEP_COUNTED);
	assert_true(c.total_uj == 2001);
	energy_counter_restart(&c);
	assert_int_equal(energy_counter_take(&c, 5000, 401 * NSEC_PER_SEC),
			 ENERGY_STEP_FIRST);
	assert_true(c.total_uj == 2001);
}

static void a_counter_that_never_moves_is_dead_until_it_does(void **state)
{
	(void)state;
	struct energy_counter c = package(0);
	for (uint64_t s = 2; s < 11; s++) {
		energy_counter_take(&c, 0, s * NSEC_PER_SEC);
		assert_false(energy_counter_is_dead(&c));
	}
	energy_counter_take(&c, 0, 11 * NSEC_PER_SEC);
	assert_true(energy_counter_is_dead(&c));
	energy_counter_take(&c, 1, 12 * NSEC_PER_SEC);
	assert_false(energy_counter_is_dead(&c));
	energy_counter_take(&c, 1, 100 * NSEC_PER_SEC);
	assert_false(energy_counter_is_dead(&c));
}

static void zone_names_are_split_as_the_peer_does(void **state)
{
	(void)state;
	static const struct {
		const char *text, *name;
		uint32_t index;
		bool indexed;
		int rc;
	} cases[] = {
		{"package-0\n", "package", 0, true, 0},
		{"package-17", "package", 17, true, 0},
		{"core\n", "core", 0, false, 0},
		{"psys\n", "psys", 0, false, 0},
		{"package-0-die-1\n", "package-0-die-1", 0, false, 0},
		{"package-x\n", "package-x", 0, false, 0},
		{"-1\n", "-1", 0, false, 0},
		{"\n", NULL, 0, false, -22},
		{"", NULL, 0, false, -22},
		{"two words\n", NULL, 0, false, -22},
		{"\"x\"}\001", NULL, 0, false, -22},
		{"0123456789012345678901234567890123456789", NULL, 0, false, -22},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char name[RAPL_NAME_BYTES] = "";
		uint32_t index = 9;
		bool indexed = false;
		int rc = rapl_zone_name(cases[i].text, strlen(cases[i].text), name,
					&index, &indexed);
		assert_int_equal(rc, cases[i].rc);
		if (rc < 0)
			continue;
		assert_string_equal(name, cases[i].name);
		assert_int_equal(index, cases[i].index);
		assert_int_equal(indexed, cases[i].indexed);
	}
}

static void zones_count_for_the_right_domain(void **state)
{
	(void)state;
	static const struct {
		const char *folder, *name;
		enum source_domain domain;
	} cases[] = {
		{"intel-rapl:0", "package", SOURCE_DOMAIN_PACKAGE},
		{"intel-rapl:1", "package-0-die-1", SOURCE_DOMAIN_PACKAGE},
		{"intel-rapl:0:0", "core", SOURCE_DOMAIN_NONE},
		{"intel-rapl:0:1", "dram", SOURCE_DOMAIN_DRAM},
		{"intel-rapl:1", "psys", SOURCE_DOMAIN_PSYS},
		{"intel-rapl-mmio:0", "package", SOURCE_DOMAIN_NONE},
		{"intel-rapl", "package", SOURCE_DOMAIN_NONE},
		{"intel-rapl:", "package", SOURCE_DOMAIN_NONE},
		{"intel-rapl:0x", "package", SOURCE_DOMAIN_NONE},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_int_equal(rapl_zone_domain(cases[i].folder, cases[i].name),
				 cases[i].domain);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_energy_is_lost_in_a_wrap_at_any_tick_up_to_60_s),
		cmocka_unit_test(samplings_are_a_third_of_the_fastest_turn_apart),
		cmocka_unit_test(a_fall_that_no_power_explains_adds_nothing),
		cmocka_unit_test(a_leap_of_2_to_the_32_adds_nothing),
		cmocka_unit_test(a_second_turn_that_was_missed_is_known),
		cmocka_unit_test(a_counter_without_a_turn_only_restarts),
		cmocka_unit_test(a_counter_that_never_moves_is_dead_until_it_does),
		cmocka_unit_test(zone_names_are_split_as_the_peer_does),
		cmocka_unit_test(zones_count_for_the_right_domain),
	};
	return cmocka_run_group_tests_name("energy_counter_test", tests, NULL, NULL);
}
