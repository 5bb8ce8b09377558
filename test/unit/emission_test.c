/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lib/emissions/emission.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "lib/rfc3339.h"
#include "test/unit/unit.h"

static void zones_stand_sorted_and_once(void **state)
{
	(void)state;
	struct emission_set s = {0};
	assert_int_equal(emission_set_put(&s, "FR", "France", 56.039, 100, NULL), 0);
	assert_int_equal(emission_set_put(&s, "DE", "Germany", 380.95, 100, NULL), 0);
	assert_int_equal(emission_set_put(&s, "US-CAL-CISO", NULL, 0.0, 100, NULL), 0);
	assert_int_equal(emission_set_put(&s, "FR", "France", 20.0004, 200, NULL), 0);
	assert_int_equal(emission_set_put(&s, "FR", "France", 99.0, 150, NULL), 0);
	assert_int_equal(s.count, 3);
	assert_string_equal(s.items[0].zone, "DE");
	assert_string_equal(s.items[1].zone, "FR");
	/* of two, the newer */
	assert_int_equal(s.items[1].mg_per_kwh, 20000);
	assert_int_equal(s.items[1].time_s, 200);
	assert_string_equal(s.items[2].country, "US-CAL-CISO");
	assert_ptr_equal(emission_set_find(&s, "DE"), &s.items[0]);
	assert_null(emission_set_find(&s, "D"));
	emission_set_done(&s);
}

static void values_that_cannot_be_are_refused(void **state)
{
	(void)state;
	static const double bad[] = {NAN, INFINITY, -INFINITY, -0.001, 3000.1, 1e300};
	static const char *const zones[] = {
		"",     "F R",      "FR\n",
		"F\"R", "\xc3\xa9", "A123456789012345678901234567890X"};
	struct emission_set s = {0};
	struct err err = {""};
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(emission_set_put(&s, "FR", "", bad[i], 1, &err),
				 -EINVAL);
	for (size_t i = 0; i < sizeof(zones) / sizeof(zones[0]); i++)
		assert_int_equal(emission_set_put(&s, zones[i], "", 1, 1, &err),
				 -EINVAL);
	assert_int_equal(s.count, 0);
	assert_int_equal(emission_set_put(&s, "FR", "", 3000.0, 1, &err), 0);
	emission_set_done(&s);
}

static void names_are_cut_between_characters(void **state)
{
	(void)state;
	struct emission_set s = {0};
	char name[80];
	memset(name, 'a', sizeof(name));
	memcpy(name + 62, "\xc3\xa9zz", 5);
	assert_int_equal(emission_set_put(&s, "A", name, 1, 1, NULL), 0);
	assert_int_equal(strlen(s.items[0].country), 62);
	assert_int_equal(emission_set_put(&s, "B", "a\nb\x7f", 1, 1, NULL), 0);
	assert_string_equal(emission_set_find(&s, "B")->country, "a b ");
	assert_int_equal(emission_set_put(&s, "C", "x\xf0\x9f", 1, 1, NULL), 0);
	assert_string_equal(emission_set_find(&s, "C")->country, "x  ");
	emission_set_done(&s);
}

static void there_is_an_end_to_the_zones(void **state)
{
	(void)state;
	struct emission_set s = {0};
	char zone[16];
	int rc = 0;
	unsigned i = 0;
	for (; rc == 0 && i < 5000; i++) {
		snprintf(zone, sizeof(zone), "Z%u", i);
		rc = emission_set_put(&s, zone, "", 1, 1, NULL);
	}
	assert_int_equal(rc, -E2BIG);
	assert_true(s.count <= EMISSION_FACTORS_MAX && s.count >= 350);
	emission_set_done(&s);
}

static void the_shipped_table_is_whole(void **state)
{
	(void)state;
	struct emission_set s = {0};
	struct err err = {""};
	uint64_t end_2023;
	if (emission_owid(&s, &err) < 0)
		fail_msg("%s", err.text);
	assert_true(s.count > 200);
	const struct emission_factor *fr = emission_set_find(&s, "FR");
	assert_non_null(fr);
	assert_string_equal(fr->country, "France");
	assert_int_equal(rfc3339_parse("2024-01-01T00:00:00Z", &end_2023), 0);
	assert_true(fr->time_s >= end_2023);
	/* France, Norway and Iceland are clean, Kosovo, Poland and South Africa not,
	 * whatever the year */
	assert_in_range(fr->mg_per_kwh, 15000, 90000);
	assert_in_range(emission_set_find(&s, "NO")->mg_per_kwh, 10000, 60000);
	assert_in_range(emission_set_find(&s, "ZA")->mg_per_kwh, 500000, 950000);
	for (size_t i = 0; i < s.count; i++) {
		assert_int_equal(strlen(s.items[i].zone), 2);
		assert_true(s.items[i].mg_per_kwh > 0);
	}
	emission_set_done(&s);
}

static void bad_tables_are_refused_with_the_line(void **state)
{
	(void)state;
	static const char *const texts[] = {
		"# head\nFR,FRA,France,2023\n",   "# head\nFR,FRA,France,2023,1,2\n",
		"# head\nFR,FRA,France,23,1\n",   "# head\nFR,FRA,France,2023,\n",
		"# head\nFR,FRA,France,2023,x\n", "# head\nFR,FRA,France,2023,-1\n",
		"# head\nFR,FRA,France,2023,nan", "# head\n<html>\n",
		"# head\n,FRA,France,2023,1\n"};
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct emission_set s = {0};
		struct err err = {""};
		assert_int_equal(
			emission_owid_parse(texts[i], strlen(texts[i]), &s, &err),
			-EINVAL);
		assert_non_null(strstr(err.text, "line 2"));
		emission_set_done(&s);
	}
	struct emission_set s = {0};
	const char *crlf = "FR,FRA,France,2023,56.039\r\n\r\n# end";
	assert_int_equal(emission_owid_parse(crlf, strlen(crlf), &s, NULL), 0);
	assert_int_equal(emission_set_find(&s, "FR")->mg_per_kwh, 56039);
	emission_set_done(&s);
}

static void the_world_is_one_zone(void **state)
{
	(void)state;
	struct emission_set s = {0};
	assert_int_equal(emission_global(&s, NULL), 0);
	assert_int_equal(s.count, 1);
	assert_int_equal(emission_set_find(&s, "ZZ")->mg_per_kwh, 475000);
	emission_set_done(&s);
}

static void providers_are_sorted_and_found(void **state)
{
	(void)state;
	for (size_t i = 0; i < emission_providers_count; i++) {
		assert_int_equal(emission_provider_find(emission_providers[i].name), i);
		if (i)
			assert_true(strcmp(emission_providers[i - 1].name,
					   emission_providers[i].name) < 0);
	}
	assert_int_equal(emission_provider_find("OWID"), -ENOENT);
	assert_int_equal(emission_provider_find(""), -ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(zones_stand_sorted_and_once),
		cmocka_unit_test(values_that_cannot_be_are_refused),
		cmocka_unit_test(names_are_cut_between_characters),
		cmocka_unit_test(there_is_an_end_to_the_zones),
		cmocka_unit_test(the_shipped_table_is_whole),
		cmocka_unit_test(bad_tables_are_refused_with_the_line),
		cmocka_unit_test(the_world_is_one_zone),
		cmocka_unit_test(providers_are_sorted_and_found),
	};
	return cmocka_run_group_tests_name("emission_test", tests, NULL, NULL);
}
