/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/drm/drm_uses.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "lib/clock.h"
#include "lib/fs.h"
#include "test/unit/scratch.h"
#include "test/unit/unit.h"

static const struct drm_owner one = {.unit = 1, .serial = 11},
			      two = {.unit = 2, .serial = 22};
static struct drm_uses uses;
static uint64_t now_ns;

static int reset_uses(void **state)
{
	(void)state;
	drm_uses_done(&uses);
	now_ns = NSEC_PER_SEC;
	return 0;
}

static struct drm_fdinfo client_of(uint64_t number, uint64_t render_ns)
{
	struct drm_fdinfo f = {.driver = "i915",
			       .pdev = "0000:00:02.0",
			       .client = number,
			       .engine_count = 1,
			       .has_memory = true,
			       .memory_bytes = 4096};

	f.engines[0] = (struct drm_engine){.name = "render", .busy_ns = render_ns};
	return f;
}

static struct drm_fdinfo client_in_cycles(uint64_t number, uint64_t cycles,
					  uint64_t total)
{
	struct drm_fdinfo f = client_of(number, 0);

	f.engines[0] = (struct drm_engine){.name = "rcs",
					   .in_cycles = true,
					   .cycles = cycles,
					   .total_cycles = total};
	return f;
}

static void take_client(const struct drm_owner *owner, struct drm_fdinfo f)
{
	drm_uses_take(&uses, owner, &f, now_ns);
}

/* A round that sees one client alone */
static void see_client(const struct drm_owner *owner, struct drm_fdinfo f)
{
	now_ns += 5 * NSEC_PER_SEC;
	drm_uses_begin(&uses);
	take_client(owner, f);
	drm_uses_note_step(&uses, owner, true);
	drm_uses_end(&uses, true);
}

/* A round in which the unit's step has no client */
static void see_nothing(const struct drm_owner *owner, bool whole)
{
	drm_uses_begin(&uses);
	drm_uses_note_step(&uses, owner, whole);
	drm_uses_end(&uses, true);
}

static const struct drm_use *use_of(const struct drm_owner *owner)
{
	if (owner->unit < uses.unit_room && uses.units[owner->unit].use_count)
		return uses.units[owner->unit].uses;
	fail_msg("no use of unit %u", owner->unit);
	return NULL;
}

static uint64_t busy_of(const struct drm_owner *owner)
{
	const struct drm_use *use = use_of(owner);

	assert_int_equal(use->time_count, 1);
	return use->times[0].busy_ns;
}

static void a_client_counts_once_in_a_round(void **state)
{
	struct drm_fdinfo other = client_of(7, 50);
	(void)state;

	drm_uses_begin(&uses);
	take_client(&one, client_of(7, 100));
	take_client(&one, client_of(7, 100));
	take_client(&two, client_of(7, 130)); /* handed on to another unit's process */
	(void)snprintf(other.pdev, sizeof(other.pdev), "0000:03:00.0");
	take_client(&two, other); /* the same number of another device */
	drm_uses_end(&uses, true);
	assert_int_equal(busy_of(&one), 100);
	assert_int_equal(use_of(&one)->memory_bytes, 4096);
	assert_int_equal(uses.units[1].use_count, 1);
	assert_int_equal(uses.units[2].use_count, 1);
	assert_string_equal(use_of(&two)->pdev, "0000:03:00.0");
	assert_int_equal(busy_of(&two), 50);
}

static void clients_are_added_up_and_what_closed_ones_had_stays(void **state)
{
	(void)state;
	drm_uses_begin(&uses);
	take_client(&one, client_of(7, 100));
	take_client(&one, client_of(8, 1000));
	drm_uses_end(&uses, true);
	assert_int_equal(busy_of(&one), 1100);
	assert_int_equal(use_of(&one)->memory_bytes, 8192);
	see_client(&one, client_of(8, 1500));
	assert_int_equal(busy_of(&one), 1600);
	assert_int_equal(use_of(&one)->memory_bytes, 4096);
	see_nothing(&one, true);
	assert_int_equal(busy_of(&one), 1600);
	assert_int_equal(use_of(&one)->memory_bytes, 0);
}

static void a_client_is_forgotten_when_whole_rounds_have_missed_it_twice(void **state)
{
	(void)state;
	see_client(&one, client_of(7, 100));
	see_nothing(&one, true);
	see_client(&one, client_of(7, 110));
	assert_int_equal(busy_of(&one), 110);
	for (int i = 0; i < 3; i++)
		see_nothing(&one, false);
	see_client(&one, client_of(7, 120));
	assert_int_equal(busy_of(&one), 120);
	see_nothing(&one, true);
	see_nothing(&one, true);
	assert_int_equal(uses.client_count, 0);
}

static void a_unit_that_is_never_whole_keeps_nobody_elses_clients(void **state)
{
	(void)state;
	for (uint64_t i = 0; i < 10; i++) {
		drm_uses_begin(&uses);
		take_client(&one, client_of(i, 1));
		take_client(&two, client_of(100 + i, 1));
		drm_uses_note_step(&uses, &one, true);
		drm_uses_note_step(&uses, &one, i < 9); /* another step of it */
		drm_uses_note_step(&uses, &two, false);
		drm_uses_end(&uses, true);
	}
	/* of one the last two, and one that the last round leaves in doubt; all of two
	 */
	assert_int_equal(uses.client_count, 3 + 10);
	assert_int_equal(busy_of(&one), 10);
	/* nothing of two runs any more */
	see_nothing(&one, true);
	see_nothing(&one, true);
	assert_int_equal(uses.client_count, 0);
	assert_int_equal(busy_of(&two), 10);
}

static void a_round_that_was_broken_off_forgets_nothing(void **state)
{
	(void)state;
	see_client(&one, client_of(7, 100));
	for (int i = 0; i < 3; i++) {
		drm_uses_begin(&uses);
		drm_uses_end(&uses, false);
	}
	assert_int_equal(use_of(&one)->memory_bytes, 4096);
	see_client(&one, client_of(7, 120));
	assert_int_equal(busy_of(&one), 120);
}

/* Its number in the table is used again. */
static void the_next_unit_of_a_number_owes_nothing_for_the_one_before(void **state)
{
	const struct drm_owner next = {.unit = 1, .serial = 12, .is_older = true};
	(void)state;

	see_client(&one, client_of(7, 100)); /* a whole round, of the first */
	drm_uses_begin(&uses);
	take_client(&next, client_of(8, 1000));
	drm_uses_note_step(&uses, &next, false);
	drm_uses_end(&uses, true);
	assert_int_equal(busy_of(&next), 0);
	see_nothing(&next, false);
	assert_int_equal(uses.client_count, 1);
}

static void cycles_become_time_by_how_many_have_passed(void **state)
{
	(void)state;
	/* 20 MHz, 5 s between two rounds: 100 million cycles */
	see_client(&one, client_in_cycles(3, 10000000, 500000000));
	assert_int_equal(busy_of(&one), 0); /* how fast they pass is not known */
	see_client(&one, client_in_cycles(3, 60000000, 600000000));
	assert_int_equal(busy_of(&one), 3000000000);
	see_client(&one, client_in_cycles(3, 60000000, 700000000));
	assert_int_equal(busy_of(&one), 3000000000);
	/* a device that was reset counts anew: what it says is awaited */
	see_client(&one, client_in_cycles(3, 5, 100));
	see_client(&one, client_in_cycles(3, 80000000, 100000100));
	assert_int_equal(busy_of(&one), 4000000000);
}

static void a_counter_that_falls_behind_is_waited_for(void **state)
{
	(void)state;
	see_client(&one, client_of(7, 100));
	see_client(&one, client_of(7, 90));
	assert_int_equal(busy_of(&one), 100);
	see_client(&one, client_of(7, 120));
	assert_int_equal(busy_of(&one), 120);
}

static void of_an_older_unit_what_comes_after_our_start_counts(void **state)
{
	const struct drm_owner older = {.unit = 3, .serial = 33, .is_older = true};
	(void)state;

	drm_uses_begin(&uses);
	take_client(&older, client_of(7, 1000));
	drm_uses_note_step(&uses, &older, false); /* not all were seen */
	drm_uses_end(&uses, true);
	drm_uses_begin(&uses);
	take_client(&older, client_of(7, 1100));
	take_client(&older, client_of(8, 500));
	take_client(&older, client_in_cycles(9, 10000000, 500000000));
	take_client(&one, client_of(10, 5));
	drm_uses_note_step(&uses, &older, true);
	drm_uses_end(&uses, true);
	assert_int_equal(use_of(&older)->times[0].busy_ns, 100);
	assert_int_equal(busy_of(&one), 5);
	see_client(&older, client_of(11, 30));
	see_client(&older, client_in_cycles(9, 11000000, 600000000));
	assert_int_equal(use_of(&older)->times[0].busy_ns, 130);
	/* 1 of 100 million, of the 10 s since */
	assert_int_equal(use_of(&older)->times[1].busy_ns, 100000000);
}

static void one_unit_cannot_use_up_the_places_of_others(void **state)
{
	const uint64_t most = DRM_CLIENTS_MAX / (DRM_UNIT_SHARE + 1);
	(void)state;

	drm_uses_begin(&uses);
	for (uint64_t i = 0; i < most + 3; i++)
		take_client(&one, client_of(i, 1));
	assert_int_equal(uses.client_count, most);
	assert_int_equal(uses.left_out, 3);
	assert_int_equal(busy_of(&one), most);
	/* nor can a user's many units */
	for (uint32_t unit = 3; unit < 20; unit++) {
		const struct drm_owner more = {.unit = unit, .serial = unit};
		for (uint64_t i = 0; i < most; i++)
			take_client(&more, client_of(unit * most + i, 1));
	}
	take_client(&two, client_of(UINT32_MAX, 70));
	assert_int_equal(busy_of(&two), 70);
	drm_uses_end(&uses, true);
}

static void a_unit_that_has_left_the_table_is_forgotten(void **state)
{
	char folder[SCRATCH_PATH];
	struct units *units;
	bool made_new;
	(void)state;

	scratch_make(folder);
	int dirfd = fs_opendir_at(AT_FDCWD, folder, NULL);
	assert_int_equal(units_open(dirfd, 16, &units, &made_new, NULL), 0);
	close(dirfd);
	see_client(&one, client_of(7, 100));
	drm_uses_settle(&uses, units);
	assert_int_equal(uses.units[1].use_count, 0);
	/* a client that lives on elsewhere has only what comes */
	see_client(&two, client_of(7, 130));
	assert_int_equal(busy_of(&two), 30);
	units_close(units);
	scratch_remove(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(a_client_counts_once_in_a_round, reset_uses),
		cmocka_unit_test_setup(
			clients_are_added_up_and_what_closed_ones_had_stays,
			reset_uses),
		cmocka_unit_test_setup(
			a_client_is_forgotten_when_whole_rounds_have_missed_it_twice,
			reset_uses),
		cmocka_unit_test_setup(cycles_become_time_by_how_many_have_passed,
				       reset_uses),
		cmocka_unit_test_setup(a_counter_that_falls_behind_is_waited_for,
				       reset_uses),
		cmocka_unit_test_setup(
			of_an_older_unit_what_comes_after_our_start_counts, reset_uses),
		cmocka_unit_test_setup(one_unit_cannot_use_up_the_places_of_others,
				       reset_uses),
		cmocka_unit_test_setup(
			a_unit_that_is_never_whole_keeps_nobody_elses_clients,
			reset_uses),
		cmocka_unit_test_setup(a_round_that_was_broken_off_forgets_nothing,
				       reset_uses),
		cmocka_unit_test_setup(
			the_next_unit_of_a_number_owes_nothing_for_the_one_before,
			reset_uses),
		cmocka_unit_test_setup(a_unit_that_has_left_the_table_is_forgotten,
				       reset_uses),
	};
	int rc = cmocka_run_group_tests_name("drm_uses_test", tests, NULL, NULL);

	drm_uses_done(&uses);
	return rc;
}
