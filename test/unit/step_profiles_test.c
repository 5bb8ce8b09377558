/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "profiler/step_profiles.h"

#include <errno.h>
#include <string.h>

#include "lib/clock.h"
#include "profiler/session.h"
#include "test/unit/unit.h"

static struct step_profiles p;
static const struct modules no_modules;

static int begin(void **state)
{
	(void)state;
	memset(&p, 0, sizeof(p));
	p.interval_ns = 60 * NSEC_PER_SEC;
	p.bytes_max = 1 << 20;
	return 0;
}

static int end(void **state)
{
	(void)state;
	step_profiles_free(&p);
	return 0;
}

static struct profile_step step_of(uint64_t key, uint32_t hz)
{
	return (struct profile_step){.magic = PROFILE_STEP_MAGIC,
				     .state = PROFILE_STEP_RUNS,
				     .key = key,
				     .cgroup = 1000 + key,
				     .hz = hz,
				     .unit = "42"};
}

/* A stack of so many frames that no other has */
static void add(uint64_t cgroup, uint32_t frames, uint64_t which)
{
	static struct session_stack s;

	s.cgroup = cgroup;
	s.count = frames;
	for (uint32_t i = 0; i < frames; i++)
		s.frames[i] = FRAME(1, which * 1000 + i);
	step_profiles_add(&p, &s, &no_modules);
}

static void a_step_is_sampled_from_its_start_until_its_profile_is_written(void **state)
{
	struct profile_group groups[PROFILE_GROUPS_MAX];
	struct profile_step s = step_of(1, 97);
	(void)state;

	assert_int_equal(step_profiles_told(&p, &s, 0, 500), 1);
	assert_int_equal(step_profiles_told(&p, &s, 0, 500), 0); /* told again */
	assert_int_equal(step_profiles_groups(&p, groups), 1);
	assert_int_equal(groups[0].cgroup, 1001);
	assert_int_equal(groups[0].hz, 97);
	assert_null(step_profiles_due(&p, 0));
	add(1001, 5, 1);
	add(1001, 5, 1);
	s.state = PROFILE_STEP_ENDED;
	assert_int_equal(step_profiles_told(&p, &s, 0, 600), 0);
	struct step_profile *due = step_profiles_due(&p, 0);
	assert_non_null(due);
	assert_int_equal(due->stacks.samples, 2);
	assert_int_equal(due->stacks.count, 1);
	step_profiles_next(&p, due, 0, 600);
	assert_int_equal(p.count, 0);
	assert_int_equal(p.bytes, 0);
}

static void an_interval_ends_and_the_next_begins_empty(void **state)
{
	struct profile_step s = step_of(1, 97);
	(void)state;

	(void)step_profiles_told(&p, &s, 0, 500);
	add(1001, 5, 1);
	struct step_profile *due = step_profiles_due(&p, p.interval_ns);
	assert_non_null(due);
	step_profiles_next(&p, due, p.interval_ns, 700);
	assert_int_equal(p.count, 1);
	assert_int_equal(p.all[0].begin_ns, 700);
	assert_int_equal(p.all[0].stacks.samples, 0);
	assert_null(step_profiles_due(&p, 2 * p.interval_ns - 1));
}

static void what_is_none_of_ours_is_refused(void **state)
{
	struct profile_step s = step_of(1, 0);
	(void)state;

	assert_int_equal(step_profiles_told(&p, &s, 0, 0), -EBADMSG);
	s = step_of(1, 1001);
	assert_int_equal(step_profiles_told(&p, &s, 0, 0), -EBADMSG);
	s = step_of(1, 19);
	s.magic++;
	assert_int_equal(step_profiles_told(&p, &s, 0, 0), -EBADMSG);
	s = step_of(1, 19);
	memset(s.unit, 'x', sizeof(s.unit));
	assert_int_equal(step_profiles_told(&p, &s, 0, 0), -EBADMSG);
	add(77, 3, 1); /* of no step */
	assert_int_equal(p.no_place, 1);
}

static void steps_beyond_a_users_share_of_the_table_are_counted(void **state)
{
	struct profile_step s;
	(void)state;

	for (uint64_t i = 1; i <= PROFILE_GROUPS_MAX + 3; i++) {
		s = step_of(i, 19);
		s.uid = 1001;
		(void)step_profiles_told(&p, &s, 0, 0);
	}
	assert_int_equal(p.count, PROFILE_GROUPS_MAX / 2);
	assert_int_equal(p.no_place, PROFILE_GROUPS_MAX / 2 + 3);
	/* there is a place for another user */
	s = step_of(PROFILE_GROUPS_MAX * 2, 19);
	s.uid = 1002;
	assert_int_equal(step_profiles_told(&p, &s, 0, 0), 1);
}

static void where_there_is_no_room_the_largest_profile_loses_detail(void **state)
{
	struct profile_step old = step_of(1, 19), young = step_of(2, 19);
	(void)state;

	(void)step_profiles_told(&p, &old, 0, 500);
	(void)step_profiles_told(&p, &young, 0, 900);
	for (uint64_t i = 0; i < 3000; i++) {
		add(1001, 100, i);
		add(1002, 3, i);
	}
	assert_true(p.cuts >= 1);
	assert_true(p.bytes <= 2 * p.bytes_max + (1 << 20)); /* one more of each */
	assert_int_equal(p.all[1].dropped + p.all[1].stacks.samples, 3000);
	assert_int_equal(p.all[0].dropped + p.all[0].stacks.samples, 3000);
	assert_true(p.all[0].stacks.frame_count < p.all[0].stacks.count * 100);
	assert_int_equal(p.all[1].stacks.frame_count, p.all[1].stacks.count * 3);
}

static void no_user_keeps_all_room_for_stacks_from_others(void **state)
{
	struct profile_step greedy = step_of(1, 19), other = step_of(2, 19);
	(void)state;

	greedy.uid = 1001;
	other.uid = 1002;
	(void)step_profiles_told(&p, &greedy, 0, 500);
	(void)step_profiles_told(&p, &other, 0, 900);
	/* which cannot be cut */
	for (uint64_t i = 0; i < 100000 && !p.all[0].dropped; i++)
		add(1001, 10, i);
	assert_true(p.all[0].dropped > 0); /* nobody else's are there to make room */
	for (uint64_t i = 0; i < 100; i++)
		add(1002, 10, i);
	assert_int_equal(p.all[1].stacks.samples, 100);
	assert_int_equal(p.all[1].dropped, 0);
	assert_int_equal(p.all[0].dropped + p.all[0].stacks.samples, p.all[0].samples);
	assert_true(p.bytes <= p.bytes_max + (1 << 20));
}

static void its_hottest_places_are_told_by_file_and_address(void **state)
{
	struct module file = {.name = (char *)"solver", .fd = -1};
	struct modules m = {.all = &file, .count = 1};
	struct profile_step told = step_of(1, 97);
	struct session_stack s = {.cgroup = 1001, .count = 1};
	struct hot_page_row row = {0};
	(void)state;

	told.stepd_pid = 5;
	assert_int_equal(step_profiles_told(&p, &told, 0, 0), 1);
	assert_null(step_profiles_page_due(&p, NSEC_PER_SEC)); /* nothing yet */
	for (uint64_t i = 0; i < 100000; i++) {
		/* one address in half of the samples, among many */
		s.frames[0] = FRAME(0, i % 2 ? 0x40 : 0x1000 + i * 16);
		step_profiles_add(&p, &s, &m);
	}
	struct step_profile *due = step_profiles_page_due(&p, NSEC_PER_SEC);
	assert_non_null(due);
	assert_null(step_profiles_page_due(&p, NSEC_PER_SEC));
	hottest_fill(due->hottest, &m, &row);
	assert_int_equal(row.samples, 100000);
	assert_int_equal(row.count, HOT_FUNCTIONS);
	assert_string_equal(row.functions[0].name, "[solver+0x40]");
	assert_int_equal(row.functions[0].samples, 50000);
	assert_true(row.functions[1].samples < 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			a_step_is_sampled_from_its_start_until_its_profile_is_written,
			begin, end),
		cmocka_unit_test_setup_teardown(
			an_interval_ends_and_the_next_begins_empty, begin, end),
		cmocka_unit_test_setup_teardown(what_is_none_of_ours_is_refused, begin,
						end),
		cmocka_unit_test_setup_teardown(
			steps_beyond_a_users_share_of_the_table_are_counted, begin,
			end),
		cmocka_unit_test_setup_teardown(
			where_there_is_no_room_the_largest_profile_loses_detail, begin,
			end),
		cmocka_unit_test_setup_teardown(
			no_user_keeps_all_room_for_stacks_from_others, begin, end),
		cmocka_unit_test_setup_teardown(
			its_hottest_places_are_told_by_file_and_address, begin, end),
	};
	return cmocka_run_group_tests_name("step_profiles_test", tests, NULL, NULL);
}
