/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The parsers of what providers of emission factors answer, good and bad. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "lib/emissions/emissions.h"
#include "lib/rfc3339.h"
#include "test/unit/unit.h"

static uint64_t at(const char *time)
{
	uint64_t t = 0;
	assert_int_equal(rfc3339_parse(time, &t), 0);
	return t;
}

typedef int (*parse_f)(const char *, size_t, struct emission_set *, struct err *);

static int parse_emaps(const char *json, size_t len, struct emission_set *ret,
		       struct err *err)
{
	return emissions_emaps_parse(json, len, "DE", "Germany", ret, err);
}

static int parse_wt(const char *json, size_t len, struct emission_set *ret,
		    struct err *err)
{
	return emissions_wt_parse(json, len, "CAISO_NORTH", ret, err);
}

static int parse_file(const char *text, size_t len, struct emission_set *ret,
		      struct err *err)
{
	return emissions_file_parse(text, len, 1754560800, ret, err);
}

static void expect(parse_f f, const char *text, const char *zone, const char *country,
		   uint64_t mg, const char *time)
{
	struct emission_set s = {0};
	struct err err = {""};
	if (f(text, strlen(text), &s, &err) < 0)
		fail_msg("%s: %s", text, err.text);
	const struct emission_factor *e = emission_set_find(&s, zone);
	assert_non_null(e);
	assert_string_equal(e->country, country);
	assert_true(e->mg_per_kwh == mg);
	assert_true(e->time_s == at(time));
	emission_set_done(&s);
}

/* A refusal adds nothing and says something. */
static void refuse(parse_f f, const char *text, int rc, const char *says)
{
	struct emission_set s = {0};
	struct err err = {""};
	int got = f(text, strlen(text), &s, &err);
	if (got != rc || !strstr(err.text, says))
		fail_msg("%s: %d %s", text, got, err.text);
	emission_set_done(&s);
}

static void rte_gives_the_newest_value(void **state)
{
	(void)state;
	expect(emissions_rte_parse,
	       "{\"total_count\": 41, \"results\": [{\"taux_co2\": 23, \"date_heure\": "
	       "\"2025-08-07T10:45:00+00:00\"}]}",
	       "FR", "France", 23000, "2025-08-07T10:45:00Z");
	/* in Paris' time, rows still empty, not sorted */
	expect(emissions_rte_parse,
	       "{\"results\":[{\"date_heure\":\"2025-08-07T13:00:00+02:00\","
	       "\"taux_co2\":null},{\"date_heure\":\"2025-08-07T12:30:00+02:00\","
	       "\"taux_co2\":21.5},{\"date_heure\":\"2025-08-07T12:15:00+02:00\","
	       "\"taux_co2\":20}]}",
	       "FR", "France", 21500, "2025-08-07T10:30:00Z");
}

static void rte_nonsense_is_refused(void **state)
{
	(void)state;
	parse_f f = emissions_rte_parse;
	refuse(f, "", -EBADMSG, "empty");
	refuse(f, " \n", -EBADMSG, "empty");
	refuse(f, "<!DOCTYPE html><html>", -EBADMSG, "web page");
	refuse(f, "{\"results\": [{\"taux_co2\": 23, \"date_heure\": \"2025-08",
	       -EBADMSG, "cut short");
	refuse(f, "{\"results\": []}", -ENODATA, "no value");
	refuse(f, "{\"results\": [{\"taux_co2\": null, \"date_heure\": \"x\"}]}",
	       -ENODATA, "no value");
	refuse(f, "[]", -EBADMSG, "not a JSON object");
	refuse(f, "null ", -EBADMSG, "not a JSON object");
	refuse(f, "{\"results\": {}}", -EBADMSG, "array");
	refuse(f, "{\"results\": [7]}", -EBADMSG, "taux_co2");
	refuse(f, "{\"results\": [null]}", -EBADMSG, "taux_co2");
	refuse(f, "{\"error_code\": \"ODSQLError\"}", -EBADMSG, "results");
	refuse(f, "{\"results\": [{\"taux_co2\": \"23\"}]}", -EBADMSG, "not a number");
	refuse(f, "{\"results\": [{\"taux_co2\": 23}]}", -EBADMSG, "date_heure");
	refuse(f,
	       "{\"results\": [{\"taux_co2\": 23, \"date_heure\": "
	       "\"2025-08-07T10:45:00\"}]}",
	       -EBADMSG, "zone");
	refuse(f,
	       "{\"results\": [{\"taux_co2\": 23, \"date_heure\": "
	       "\"2025-08-07T10:45:00\\u0000Z\"}]}",
	       -EBADMSG, "NUL");
	refuse(f, "{} trailing", -EBADMSG, "not JSON");
	refuse(f, "{\"results\": [{\"taux_co2\": 0x17}]}", -EBADMSG, "not JSON");
	static const char *const values[] = {"NaN", "-NaN", "Infinity", "-1",
					     "0",   "3001", "1e308",    "1e999"};
	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		char text[128];
		snprintf(text, sizeof(text),
			 "{\"results\": [{\"taux_co2\": %s, \"date_heure\": "
			 "\"2025-08-07T10:45:00Z\"}]}",
			 values[i]);
		struct emission_set s = {0};
		assert_true(f(text, strlen(text), &s, NULL) < 0);
		assert_int_equal(s.count, 0);
		emission_set_done(&s);
	}
}

static void emaps_gives_the_zone_that_was_asked_for(void **state)
{
	(void)state;
	expect(parse_emaps,
	       "{\"zone\":\"DE\",\"carbonIntensity\":302,\"datetime\":"
	       "\"2018-04-25T18:07:00.350Z\",\"updatedAt\":"
	       "\"2018-04-25T18:07:01.000Z\",\"emissionFactorType\":\"lifecycle\","
	       "\"isEstimated\":true,\"estimationMethod\":\"TIME_SLICER_AVERAGE\"}",
	       "DE", "Germany", 302000, "2018-04-25T18:07:00Z");
}

static void emaps_nonsense_is_refused(void **state)
{
	(void)state;
	refuse(parse_emaps, "{\"error\":\"Invalid auth-token\"}", -EBADMSG, "zone");
	refuse(parse_emaps,
	       "{\"zone\":\"FR\",\"carbonIntensity\":302,\"datetime\":"
	       "\"2018-04-25T18:07:00Z\"}",
	       -EBADMSG, "not asked for");
	refuse(parse_emaps,
	       "{\"zone\":\"DE\",\"carbonIntensity\":null,\"datetime\":"
	       "\"2018-04-25T18:07:00Z\"}",
	       -EBADMSG, "not a number");
	refuse(parse_emaps,
	       "{\"zone\":\"DE\",\"carbonIntensity\":0,\"datetime\":"
	       "\"2018-04-25T18:07:00Z\"}",
	       -EBADMSG, "out of range");
	refuse(parse_emaps,
	       "{\"zone\":\"DE\",\"carbonIntensity\":302000,\"datetime\":"
	       "\"2018-04-25T18:07:00Z\"}",
	       -EINVAL, "out of range");
	refuse(parse_emaps, "{\"zone\":\"DE\",\"carbonIntensity\":302}", -EBADMSG,
	       "datetime");
	refuse(parse_emaps, "{\"zone\":\"DE\",\"carbonIntensity\":30", -EBADMSG,
	       "cut short");
}

static void take(void *arg, const char *zone, const char *name)
{
	struct buf *b = arg;
	buf_printf(b, "%s=%s;", zone, name);
}

static int zones(const char *json, struct buf *b, struct err *err)
{
	buf_reset(b);
	return emissions_emaps_zones_parse(json, strlen(json), take, b, err);
}

static void emaps_zones_are_listed_with_their_names(void **state)
{
	(void)state;
	auto_buf struct buf b = BUF_INIT;
	struct err err = {""};
	assert_int_equal(zones("{\"DE\":{\"zoneName\":\"Germany\"},\"US-CAL-CISO\":{"
			       "\"countryName\":\"USA\",\"zoneName\":\"CAISO\","
			       "\"access\":[\"*\"]},\"X\":{}}",
			       &b, &err),
			 0);
	assert_string_equal(b.data, "DE=Germany;US-CAL-CISO=USA CAISO;X=;");
	assert_int_equal(zones("{}", &b, &err), -ENODATA);
	assert_int_equal(zones("{\"error\":\"no\"}", &b, &err), -EBADMSG);
	assert_int_equal(zones("{\"../x\":{}}", &b, &err), -EBADMSG);
	assert_int_equal(zones("[\"DE\"]", &b, &err), -EBADMSG);
	auto_buf struct buf many = BUF_INIT;
	for (int i = 0; i < 2000; i++)
		buf_printf(&many, "%s\"Z%d\":{}", i ? "," : "{", i);
	buf_puts(&many, "}");
	assert_int_equal(zones(many.data, &b, &err), -EBADMSG);
}

#define META                                                                           \
	",\"meta\":{\"data_point_period_seconds\":300,\"region\":\"CAISO_NORTH\","     \
	"\"warnings\":[],\"signal_type\":\"co2_moer\",\"units\":\"lbs_co2_per_mwh\"}}"

static void wt_pounds_per_mwh_become_grams_per_kwh(void **state)
{
	(void)state;
	/* 870 lb/MWh; a pound has 453.59237 g */
	expect(parse_wt,
	       "{\"data\":[{\"point_time\":\"2025-08-07T09:50:00+00:00\",\"value\":1},"
	       "{\"point_time\":\"2025-08-07T09:55:00+00:00\",\"value\":870.0}]" META,
	       "CAISO_NORTH", "CAISO_NORTH", 394625, "2025-08-07T09:55:00Z");
	/* the newest, wherever it stands; nothing at the margin is a value */
	expect(parse_wt,
	       "{\"data\":[{\"point_time\":\"2025-08-07T09:55:00Z\",\"value\":0},"
	       "{\"point_time\":\"2025-08-07T09:50:00Z\",\"value\":870.0}]" META,
	       "CAISO_NORTH", "CAISO_NORTH", 0, "2025-08-07T09:55:00Z");
}

static void wt_nonsense_is_refused(void **state)
{
	(void)state;
	refuse(parse_wt, "{\"data\":[]" META, -ENODATA, "no value");
	refuse(parse_wt, "{\"data\":[{\"point_time\":\"x\",\"value\":1}]" META,
	       -EBADMSG, "point_time");
	refuse(parse_wt, "{\"data\":[1]" META, -EBADMSG, "value");
	refuse(parse_wt, "{\"data\":{}" META, -EBADMSG, "array");
	refuse(parse_wt, "{\"data\":[]}", -EBADMSG, "meta");
	refuse(parse_wt,
	       "{\"data\":[{\"point_time\":\"2025-08-07T09:55:00Z\",\"value\":-3}"
	       "]" META,
	       -EINVAL, "out of range");
	refuse(parse_wt,
	       "{\"data\":[{\"point_time\":\"2025-08-07T09:55:00Z\",\"value\":1}],"
	       "\"meta\":{\"region\":\"CAISO_NORTH\",\"signal_type\":\"co2_moer\","
	       "\"units\":\"kg_co2_per_mwh\"}}",
	       -EBADMSG, "kg_co2_per_mwh");
	refuse(parse_wt,
	       "{\"data\":[{\"point_time\":\"2025-08-07T09:55:00Z\",\"value\":1}],"
	       "\"meta\":{\"region\":\"PJM_DC\",\"signal_type\":\"co2_moer\","
	       "\"units\":\"lbs_co2_per_mwh\"}}",
	       -EBADMSG, "not asked for");
	refuse(parse_wt,
	       "{\"data\":[{\"point_time\":\"2025-08-07T09:55:00Z\",\"value\":1}],"
	       "\"meta\":{\"region\":\"CAISO_NORTH\",\"signal_type\":\"health_damage\","
	       "\"units\":\"lbs_co2_per_mwh\"}}",
	       -EBADMSG, "not asked for");
}

static void wt_logins_give_a_token_that_can_stand_in_a_header(void **state)
{
	(void)state;
	char token[16] = "old";
	struct err err = {""};
#define LOGIN(text)                                                                    \
	emissions_wt_login_parse(text, strlen(text), token, sizeof(token), &err)
	assert_int_equal(LOGIN("{\"token\":\"ab.cd-ef\"}"), 0);
	assert_string_equal(token, "ab.cd-ef");
	assert_int_equal(LOGIN("{\"token\":\"\"}"), -EBADMSG);
	assert_int_equal(LOGIN("{\"token\":\"a\\r\\nX: y\"}"), -EBADMSG);
	assert_int_equal(LOGIN("{\"token\":\"0123456789abcdef\"}"), -EBADMSG);
	assert_int_equal(LOGIN("{\"token\":7}"), -EBADMSG);
	assert_int_equal(LOGIN("{}"), -EBADMSG);
	assert_int_equal(LOGIN("<html>"), -EBADMSG);
	assert_string_equal(token, "ab.cd-ef");
	/* what was refused is not repeated */
	assert_int_equal(LOGIN("{\"token\":\"a planted one\"}"), -EBADMSG);
	assert_null(strstr(err.text, "planted"));
#undef LOGIN
}

static void files_give_the_newest_line_that_is_not_in_the_future(void **state)
{
	(void)state;
	/* now is 2025-08-07T10:00:00Z */
	const char *text = "time,zone,grams\n"
			   "# a forecast\r\n"
			   "2025-08-07T09:00:00Z,FR,30\n"
			   "2025-08-07T11:30:00+02:00 , FR , 25.5 , France, by us\n"
			   "\n"
			   "2025-08-07T10:00:01Z,FR,99\n"
			   "1754557200,DE,300";
	expect(parse_file, text, "FR", "France, by us", 25500, "2025-08-07T09:30:00Z");
	expect(parse_file, text, "DE", "DE", 300000, "2025-08-07T09:00:00Z");
}

static void bad_files_are_refused_with_the_line(void **state)
{
	(void)state;
	refuse(parse_file, "", -ENODATA, "nothing in it");
	refuse(parse_file, "2025-08-07T10:00:01Z,FR,99\n", -ENODATA, "future");
	refuse(parse_file, "\n2025-08-07T10:00:00,FR,99\n", -EBADMSG, "line 2");
	refuse(parse_file, "2025-08-07,FR,99\n", -EBADMSG, "zone");
	refuse(parse_file, "1,FR\n", -EBADMSG, "line 1");
	refuse(parse_file, "1,FR,x\n", -EBADMSG, "not a number");
	refuse(parse_file, "1,FR,nan\n", -EBADMSG, "not a number");
	refuse(parse_file, "1,FR,-1\n", -EINVAL, "out of range");
	refuse(parse_file, "1,FR,56 g\n", -EBADMSG, "not a number");
	refuse(parse_file, "1,F R,56\n", -EINVAL, "not a zone");
	refuse(parse_file, "<html>\n", -EBADMSG, "line 1");
	struct emission_set s = {0};
	assert_int_equal(parse_file("1,FR\0,1", 8, &s, NULL), -EBADMSG);
	emission_set_done(&s);
}

static void depth_and_size_are_bounded(void **state)
{
	(void)state;
	auto_buf struct buf b = BUF_INIT;
	buf_puts(&b, "{\"results\":");
	for (int i = 0; i < 100000; i++)
		buf_putc(&b, '[');
	refuse(emissions_rte_parse, b.data, -EBADMSG, "not JSON");
	buf_reset(&b);
	buf_puts(&b, "{\"results\": []");
	while (b.len <= EMISSIONS_BODY_MAX)
		buf_puts(&b, "                                                    ");
	buf_puts(&b, "}");
	refuse(emissions_rte_parse, b.data, -EBADMSG, "too long");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rte_gives_the_newest_value),
		cmocka_unit_test(rte_nonsense_is_refused),
		cmocka_unit_test(emaps_gives_the_zone_that_was_asked_for),
		cmocka_unit_test(emaps_nonsense_is_refused),
		cmocka_unit_test(emaps_zones_are_listed_with_their_names),
		cmocka_unit_test(wt_pounds_per_mwh_become_grams_per_kwh),
		cmocka_unit_test(wt_nonsense_is_refused),
		cmocka_unit_test(wt_logins_give_a_token_that_can_stand_in_a_header),
		cmocka_unit_test(files_give_the_newest_line_that_is_not_in_the_future),
		cmocka_unit_test(bad_files_are_refused_with_the_line),
		cmocka_unit_test(depth_and_size_are_bounded),
	};
	return cmocka_run_group_tests_name("emissions_parse_test", tests, NULL, NULL);
}
