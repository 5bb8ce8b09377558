/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/units_energy.h"

#include <errno.h>

#include "test/unit/units_fixture.h"

#define TICK_UJ 1000000u
#define NODE_CPUS 4u

static struct energy_config config;
static struct energy_work work;

/* One tick of one second that took TICK_UJ, split by CPU time over what is in the table
 * and what has left it. system_ns is used outside of units. */
static int tick(struct units *t, uint64_t t0, uint64_t system_ns)
{
	struct energy_use uses[16 + ENERGY_LEAVERS];
	size_t n = 0;
	struct energy_state *e = units_energy_draft(t);
	for (uint32_t i = units_next(t, 0); i != UNITS_NONE; i = units_next(t, i + 1)) {
		struct unit_energy *ue = unit_energy_draft(t, i);
		struct unit_totals sum;
		unit_total(t, i, &sum);
		uint64_t used = sum.cpu_user_ns + sum.cpu_system_ns;
		uses[n++] = (struct energy_use){
			.account = &ue->account,
			.started_ns = units_get(t, i)->started_boottime_ns,
			.ended_ns = units_get(t, i)->ended_boottime_ns,
			.cpu_ns = used - ue->charged_cpu_ns,
			.activity_ppm = ENERGY_ONE_PPM};
		ue->charged_cpu_ns = used;
	}
	for (uint64_t l = 0; l < e->leavers; l++)
		uses[n++] = (struct energy_use){.account = &e->node.ended,
						.started_ns = e->leaver[l].started_ns,
						.ended_ns = e->leaver[l].ended_ns,
						.cpu_ns = e->leaver[l].cpu_ns,
						.activity_ppm = ENERGY_ONE_PPM};
	e->leavers = 0;
	struct energy_tick k = {.t0_ns = t0,
				.t1_ns = t0 + SEC,
				.package = {.source = 1, .energy_uj = TICK_UJ},
				.node_mcpu = NODE_CPUS * 1000,
				.node_memory_kib = 1 << 20,
				.system_cpu_ns = system_ns};
	int rc = energy_tick(&e->node, &config, &k, uses, n, &work, NULL);
	if (rc == 0)
		units_energy_commit(t);
	return rc;
}

static uint64_t units_uj(const struct units *t)
{
	uint64_t sum = 0;
	for (uint32_t i = units_next(t, 0); i != UNITS_NONE; i = units_next(t, i + 1))
		sum += unit_energy(t, i)->account.settled_uj[ENERGY_PACKAGE];
	return sum;
}

static uint64_t measured(const struct units *t)
{
	return units_energy(t)->node.measured_uj[ENERGY_PACKAGE];
}

static bool adds_up(const struct units *t)
{
	const struct energy_node *n = &units_energy(t)->node;
	return units_uj(t) + n->ended.settled_uj[ENERGY_PACKAGE] +
		       n->idle.settled_uj[ENERGY_PACKAGE] +
		       n->system.settled_uj[ENERGY_PACKAGE] ==
	       measured(t);
}

static uint64_t unit_uj(const char *id)
{
	uint32_t i = units_find(u, MANAGER_SLURM, NODE, id, 0);
	assert_true(i != UNITS_NONE);
	return unit_energy(u, i)->account.settled_uj[ENERGY_PACKAGE];
}

static void a_tick_counts_once_it_is_in_place(void **state)
{
	(void)state;
	fresh(16);
	start_ok("1", 0);
	stop_ok("1", 0, 300, 100);
	assert_int_equal(tick(u, T0, 1200), 0);
	assert_int_equal(unit_uj("1"), TICK_UJ / 4);
	assert_true(adds_up(u));
	/* begun, not finished */
	struct energy_state *e = units_energy_draft(u);
	e->node.measured_uj[ENERGY_PACKAGE] += 7;
	assert_int_equal(measured(u), TICK_UJ);
	reopen();
	assert_int_equal(measured(u), TICK_UJ);
	assert_int_equal(unit_uj("1"), TICK_UJ / 4);
	assert_true(adds_up(u));
}

static void a_folded_unit_leaves_its_energy_to_the_node(void **state)
{
	(void)state;
	fresh(16);
	start_ok("1", 0);
	stop_ok("1", 0, 400, 0);
	assert_int_equal(tick(u, T0, 0), 0);
	now += 61 * SEC;
	units_expire(u, now, &policy);
	assert_int_equal(units_used(u), 0);
	assert_int_equal(units_energy(u)->node.ended.settled_uj[ENERGY_PACKAGE],
			 TICK_UJ);
	assert_true(adds_up(u));
	/* whoever has its slot next begins with nothing */
	start_ok("2", 0);
	assert_int_equal(unit_uj("2"), 0);
	assert_true(adds_up(u));
}

static void an_ended_unit_waits_for_the_tick_that_sees_its_end(void **state)
{
	(void)state;
	const struct units_policy at_once = {0, 0, 2000};
	fresh(16);
	units_energy_ticking(u, true);
	start_ok("1", RECORD_STEP_EXTERN);
	stop_ok("1", RECORD_STEP_EXTERN, 400, 0);
	now += SEC / 2;
	units_expire(u, now, &at_once);
	assert_int_equal(units_used(u), 1);
	assert_int_equal(tick(u, T0, 0), 0);
	units_expire(u, now, &at_once);
	assert_int_equal(units_used(u), 0);
	assert_int_equal(units_energy(u)->node.ended.settled_uj[ENERGY_PACKAGE],
			 TICK_UJ);
}

static void without_ticks_nothing_waits_for_one(void **state)
{
	(void)state;
	const struct units_policy at_once = {0, 0, 2000};
	fresh(16);
	start_ok("1", RECORD_STEP_EXTERN);
	stop_ok("1", RECORD_STEP_EXTERN, 400, 0);
	units_expire(u, now, &at_once);
	assert_int_equal(units_used(u), 0);
	assert_int_equal(units_energy(u)->leavers, 0);
}

static void who_had_to_go_before_a_tick_is_charged_by_the_next(void **state)
{
	(void)state;
	fresh(2);
	units_energy_ticking(u, true);
	stop_ok("1", 0, 100, 0);
	stop_ok("2", 0, 200, 0);
	stop_ok("3", 0, 100, 0); /* room for it is made by folding 1 */
	assert_int_equal(units_energy(u)->leavers, 1);
	reopen();
	assert_int_equal(tick(u, T0, 0), 0);
	assert_int_equal(units_energy(u)->leavers, 0);
	assert_int_equal(units_energy(u)->node.ended.settled_uj[ENERGY_PACKAGE],
			 TICK_UJ / 4);
	assert_int_equal(unit_uj("2"), TICK_UJ / 2);
	assert_true(adds_up(u));
}

static void leavers_beyond_what_is_remembered_keep_their_cpu_time(void **state)
{
	(void)state;
	fresh(1);
	units_energy_ticking(u, true);
	for (unsigned i = 0; i < 2 * ENERGY_LEAVERS + 1; i++) {
		char id[16];
		snprintf(id, sizeof(id), "%u", i);
		stop_ok(id, 0, 5, 0);
	}
	assert_int_equal(units_energy(u)->leavers, ENERGY_LEAVERS);
	assert_int_equal(tick(u, T0, 10 * ENERGY_LEAVERS - 5), 0);
	assert_int_equal(units_energy(u)->node.ended.settled_uj[ENERGY_PACKAGE],
			 TICK_UJ / 2);
	assert_true(adds_up(u));
}

static void accounts_that_are_not_ours_are_not_trusted(void **state)
{
	(void)state;
	bool made_new = false;
	struct err err;
	fresh(16);
	start_ok("1", 0);
	units_energy_draft(u);
	unit_energy_draft(u, 0)->account.key = 77;
	units_energy_commit(u);
	units_close(u);
	u = NULL;
	assert_int_equal(units_open(dirfd_, 16, &u, &made_new, &err), 0);
	assert_true(made_new);
	assert_non_null(strstr(err.text, "damaged energy accounts"));
}

/* ---- every instruction ----------------------------------------------------------- */

static uint64_t last_uj;
static unsigned ticks_seen;

static void make_a_state(struct units *t)
{
	uint64_t n = 0;
	struct record r = rec(RECORD_STEP_START, "7", RECORD_STEP_EXTERN);
	units_apply(t, &r, n++, now, now, NULL);
	r = stop("8", 0, 100, 10, true);
	units_apply(t, &r, n++, now, now, NULL);
	units_energy_ticking(t, true);
	tick(t, T0, 50);
}

/* Ticks between records; units that are charged and ones that are not leave. */
static void go_on(struct units *t)
{
	struct units_policy soon = {0, 0, 1}, later = {0, 0, 100};
	struct record r = stop("7", 0, 70, 0, true);
	units_apply(t, &r, 2, now, now, NULL);
	tick(t, T0 + SEC, 0);
	units_expire(t, now, &later); /* 8 leaves, all of it charged */
	r = stop("9", 0, 1000, 0, true);
	units_apply(t, &r, 3, now, now, NULL);
	units_expire(t, now, &soon); /* 9 leaves before a tick */
	tick(t, T0 + 2 * SEC, 10);
	r = stop("7", RECORD_STEP_EXTERN, 1, 1, true);
	units_apply(t, &r, 4, now, now, NULL);
	tick(t, T0 + 3 * SEC, 0);
	units_expire(t, now, &later);
}

static void no_joule_is_lost_or_doubled(unsigned steps)
{
	uint64_t uj = measured(u);
	if (!adds_up(u) || uj < last_uj || uj > last_uj + TICK_UJ || uj % TICK_UJ)
		fail_msg("after %u instructions: %llu of %llu uJ", steps,
			 (unsigned long long)units_uj(u), (unsigned long long)uj);
	ticks_seen += uj != last_uj;
	last_uj = uj;
}

static void every_instruction_of_a_tick_is_a_safe_place_to_die(void **state)
{
	(void)state;
	now = T0;
	last_uj = TICK_UJ;
	ticks_seen = 0;
	if (!die_everywhere(make_a_state, go_on, no_joule_is_lost_or_doubled)) {
		skip();
		return;
	}
	assert_int_equal(ticks_seen, 3);
}

static int begin(void **state)
{
	energy_config_defaults(&config);
	config.idle_uw[ENERGY_PACKAGE] = 0;
	return energy_work_reserve(&work, 16 + ENERGY_LEAVERS) < 0 || setup(state);
}

static int end(void **state)
{
	energy_work_done(&work);
	return teardown(state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_tick_counts_once_it_is_in_place),
		cmocka_unit_test(a_folded_unit_leaves_its_energy_to_the_node),
		cmocka_unit_test(an_ended_unit_waits_for_the_tick_that_sees_its_end),
		cmocka_unit_test(without_ticks_nothing_waits_for_one),
		cmocka_unit_test(who_had_to_go_before_a_tick_is_charged_by_the_next),
		cmocka_unit_test(leavers_beyond_what_is_remembered_keep_their_cpu_time),
		cmocka_unit_test(accounts_that_are_not_ours_are_not_trusted),
		cmocka_unit_test(every_instruction_of_a_tick_is_a_safe_place_to_die),
	};
	return cmocka_run_group_tests_name("units_energy", tests, begin, end);
}
