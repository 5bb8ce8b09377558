/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A flame graph as Pyroscope answers it: by function, on a terminal and on a page. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cacct/flame.h"
#include "lib/cleanup.h"
#include "test/unit/unit.h"

static struct err err;

static int take(const char *text, struct flame *ret)
{
	struct json_object *o = json_tokener_parse(text);

	assert_non_null(o);
	return flame_take(o, ret, &err);
}

/* main 100: work 60 (of it 20 in work called by itself), io 30 beside a hole of 10 */
#define GOOD                                                                           \
	"{\"flamebearer\":{\"names\":[\"total\",\"main\",\"work\",\"io <x>\"],"        \
	"\"levels\":[[0,100,0,0],[0,100,10,1],[0,60,40,2,10,30,30,3],[0,20,20,2]],"    \
	"\"numTicks\":100},\"metadata\":{\"sampleRate\":1000000000}}"

static void functions_have_self_and_total_once(void **state)
{
	struct flame f;
	auto_free struct flame_function *all = NULL;
	size_t n;

	(void)state;
	assert_int_equal(take(GOOD, &f), 0);
	assert_int_equal(f.ticks, 100);
	assert_int_equal(f.level_count, 4);
	assert_int_equal(flame_functions(&f, &all, &n), 0);
	assert_int_equal(n, 3);
	/* recursion counts once in total, both times in self */
	assert_string_equal(all[0].name, "work");
	assert_int_equal(all[0].self, 60);
	assert_int_equal(all[0].total, 60);
	assert_string_equal(all[1].name, "io <x>");
	assert_int_equal(all[1].self, 30);
	assert_string_equal(all[2].name, "main");
	assert_int_equal(all[2].self, 10);
	assert_int_equal(all[2].total, 100);
	flame_done(&f);
	flame_done(&f);
}

static void blocked_time_is_told_in_its_unit(void **state)
{
	auto_buf struct buf out = BUF_INIT;
	struct flame f;

	(void)state;
	assert_int_equal(
		take("{\"flamebearer\":{\"names\":[\"total\",\"read\"],"
		     "\"levels\":[[0,2500000000,0,0],[0,2500000000,2500000000,1]]},"
		     "\"metadata\":{\"sampleRate\":100,\"units\":\"nanoseconds\"}}",
		     &f),
		0);
	f.off_cpu = true;
	flame_put_text(&f, 2, false, &out);
	assert_string_equal(out.data, "Time blocked: 2.50 s\n\n"
				      "   self   total  function\n"
				      "100.0 % 100.0 %  read\n");
	flame_done(&f);
}

static void table_has_percents_and_what_is_left_out(void **state)
{
	auto_buf struct buf out = BUF_INIT;
	struct flame f;

	(void)state;
	assert_int_equal(take(GOOD, &f), 0);
	flame_put_text(&f, 2, false, &out);
	assert_string_equal(out.data,
			    "CPU time sampled: 0.00 s\n\n   self   total  function\n"
			    " 60.0 %  60.0 %  work\n 30.0 %  30.0 %  io <x>\n"
			    "... 1 more functions\n");
	flame_done(&f);
}

static void page_has_whole_names_and_no_markup_of_theirs(void **state)
{
	auto_buf struct buf out = BUF_INIT;
	struct flame f;

	(void)state;
	assert_int_equal(take(GOOD, &f), 0);
	flame_put_html(&f, &out);
	assert_non_null(strstr(out.data, "<text x=\"3\" y=\"12\">io &lt;x&gt;</text>"));
	assert_null(strstr(out.data, "<x>"));
	assert_null(strstr(out.data, "<script"));
	/* at 70 % of the width: after work and the hole */
	assert_non_null(strstr(out.data, "<svg x=\"532.0\" y=\"34\" width=\"228.0\""));
	flame_done(&f);
}

static void empty_profile_is_said(void **state)
{
	auto_buf struct buf out = BUF_INIT, page = BUF_INIT;
	struct flame f;

	(void)state;
	assert_int_equal(
		take("{\"flamebearer\":{\"names\":[\"total\"],\"levels\":[]}}", &f), 0);
	flame_put_text(&f, 20, false, &out);
	assert_non_null(strstr(out.data, "No profile"));
	flame_put_html(&f, &page);
	assert_int_equal(page.len, 0);
	flame_done(&f);
}

static void other_answers_are_refused(void **state)
{
#define LEVELS(text)                                                                   \
	"{\"flamebearer\":{\"names\":[\"total\",\"a\"],\"levels\":[" text "]}}"
	static const char *const wrong[] = {
		"{}",
		"{\"flamebearer\":{}}",
		"{\"flamebearer\":{\"names\":[1],\"levels\":[]}}",
		LEVELS("1"),
		LEVELS("[0,10,0]"),
		LEVELS("[0,10,11,0]"),
		LEVELS("[0,10,0,2]"),
		LEVELS("[0,-1,0,0]"),
		LEVELS("[0,\"1\",0,0]"),
		LEVELS("[0,10,0,0],[0,11,0,1]"),
		LEVELS("[0,10,0,0],[5,6,0,1]"),
		LEVELS("[0,10,0,0],[],[0,1,0,1]"),
		LEVELS("[9223372036854775807,10,0,0]"),
	};
	struct flame f;

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		assert_int_equal(take(wrong[i], &f), -EBADMSG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(functions_have_self_and_total_once),
		cmocka_unit_test(blocked_time_is_told_in_its_unit),
		cmocka_unit_test(table_has_percents_and_what_is_left_out),
		cmocka_unit_test(page_has_whole_names_and_no_markup_of_theirs),
		cmocka_unit_test(empty_profile_is_said),
		cmocka_unit_test(other_answers_are_refused),
	};
	return cmocka_run_group_tests_name("flame", tests, NULL, NULL);
}
