/* SPDX-License-Identifier: GPL-2.0-or-later */
/* sacct's time syntax: by hand, and beside the parser in libslurm where it is here. */
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cacct/when.h"
#include "test/unit/unit.h"

#define NOON 1774526400 /* 2026-03-26T12:00:00 UTC, three days before summer time */

static const char *said(const char *text, time_t now)
{
	static char out[WHEN_SIZE];
	struct err err;
	time_t t;

	if (when_parse(text, now, &t, &err) < 0)
		return "refused";
	when_print(t, out);
	return out;
}

static void zone(const char *tz)
{
	(void)setenv("TZ", tz, 1);
	tzset();
}

static void each_form_of_sacct_is_read(void **state)
{
	static const char *const cases[][2] = {
		{"10:30", "2026-03-26T10:30:00"},
		{"9:05:07", "2026-03-26T09:05:07"},
		{"10:30 PM", "2026-03-26T22:30:00"},
		{"12:15am", "2026-03-26T00:15:00"},
		{"12:15 pm", "2026-03-26T12:15:00"},
		{"0211", "2026-02-11T00:00:00"},
		{"1231", "2025-12-31T00:00:00"}, /* yet to come: last year's */
		{"021124", "2024-02-11T00:00:00"},
		{"02/29/24", "2024-02-29T00:00:00"},
		{"2/9", "2026-02-09T00:00:00"},
		{"03.01", "2026-03-01T00:00:00"},
		{"2025-11-21", "2025-11-21T00:00:00"},
		{"2025-11-21T07:08", "2025-11-21T07:08:00"},
		{"2025-11-21T07:08:09", "2025-11-21T07:08:09"},
		{"2025-11-21 07:08:09", "2025-11-21T07:08:09"},
		{"today", "2026-03-26T00:00:00"},
		{"today 07:00", "2026-03-26T07:00:00"},
		{"midnight", "2026-03-26T00:00:00"},
		{"NOON", "2026-03-26T12:00:00"},
		{"fika", "2026-03-26T15:00:00"},
		{"teatime", "2026-03-26T16:00:00"},
		{"noon 02/01", "2026-02-01T12:00:00"},
		{"now", "2026-03-26T12:00:00"},
		{"now-90", "2026-03-26T11:58:30"},
		{"now - 2 hours", "2026-03-26T10:00:00"},
		{"now+1week", "2026-04-02T12:00:00"},
		{"now-3days", "2026-03-23T12:00:00"},
		{"now-15minutes", "2026-03-26T11:45:00"},
		{"uts1774526400", "2026-03-26T12:00:00"},
	};
	(void)state;
	zone("UTC");
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_string_equal(said(cases[i][0], NOON), cases[i][1]);
}

static void what_is_no_time_is_refused_and_named(void **state)
{
	static const char *const cases[] = {"",
					    " ",
					    "yesterday",
					    "25:00",
					    "12:60",
					    "1:2",
					    "13:00 PM",
					    "2025-13-01",
					    "2025-02-30",
					    "0230",
					    "2025-1",
					    "12345",
					    "now-",
					    "now*2",
					    "now-2fortnights",
					    "now-1day later",
					    "noon noon",
					    "today today",
					    "10:00 11:00",
					    "-5",
					    "2025-11-21X07:00",
					    "now-99999999999",
					    "uts",
					    "uts1x",
					    "02/30",
					    "2025-11-21T07:08:09Z",
					    "10:30;rm"};
	struct err err;
	time_t t = 42;
	(void)state;
	zone("UTC");
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		if (when_parse(cases[i], NOON, &t, &err) >= 0)
			fail_msg("\"%s\" is taken for a time", cases[i]);
		assert_int_equal(t, 42);
		assert_non_null(strstr(err.text, "not a time"));
	}
}

static void hours_that_summer_time_skips_or_doubles_are_times(void **state)
{
	(void)state;
	zone("Europe/Paris");
	assert_string_equal(said("2026-03-29T02:30", NOON), "2026-03-29T03:30:00");
	assert_string_equal(said("2026-10-25T02:30", NOON), "2026-10-25T02:30:00");
	assert_string_equal(said("now-1day", NOON), "2026-03-25T13:00:00");
	zone("UTC");
	assert_int_equal(when_midnight(NOON), NOON - 12 * 3600);
}

static void spans_are_written_as_slurm_does(void **state)
{
	static const struct {
		uint64_t s;
		const char *text;
	} cases[] = {{0, "00:00:00"},
		     {59, "00:00:59"},
		     {86399, "23:59:59"},
		     {86400, "1-00:00:00"},
		     {100 * 86400ull + 3723, "100-01:02:03"}};
	char out[WHEN_SIZE];
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		when_print_span(cases[i].s, out);
		assert_string_equal(out, cases[i].text);
	}
	when_print_span(UINT64_MAX, out); /* the longest one fits */
}

/* A date, a time, or both, of parts that are each valid or nearly so */
static void random_text(char *out, size_t size, unsigned *seed)
{
	static const char *const days[] = {"",      "today",      "0211",      "021124",
					   "02/11", "2/1/25",     "2025-11-2", "1231",
					   "03.26", "2025-02-28", "0326"};
	static const char *const times[] = {
		"",     "noon",     "midnight", "fika",     "teatime", "07:30",
		"7:30", "23:59:59", "12:01 PM", "12:01 AM", "00:00"};
	const char *d = days[rand_r(seed) % 11], *t = times[rand_r(seed) % 11];
	const char *sep = *d && *t ? " " : "";

	if (strncmp(d, "2025", 4) == 0 && *t >= '0' && *t <= '9' && !strchr(t, 'M'))
		sep = "T";
	switch (rand_r(seed) % 8) {
	case 0:
		(void)snprintf(out, size, "now%c%u%s", rand_r(seed) % 2 ? '+' : '-',
			       rand_r(seed) % 100,
			       (const char *[]){"", "seconds", "minutes", "hours",
						"days", "weeks", "minute",
						"day"}[rand_r(seed) % 8]);
		break;
	case 1:
		(void)snprintf(out, size, "%s%s%s", t, sep[0] ? " " : "", d);
		break;
	default:
		(void)snprintf(out, size, "%s%s%s", d, sep, t);
	}
}

static void libslurm_reads_the_same_moment(void **state)
{
	void *lib = NULL;
	static const char *const names[] = {"libslurm.so.38", "libslurm.so.42",
					    "libslurm.so.43", "libslurm.so"};
	unsigned seed = 1, compared = 0;
	(void)state;
	for (size_t i = 0; i < 4 && !lib; i++)
		lib = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
	time_t (*theirs)(char *, int) = NULL;
	if (lib)
		*(void **)&theirs = dlsym(lib, "slurm_parse_time");
	if (!theirs) {
		print_message("no slurm_parse_time here\n");
		skip();
	}
	for (int i = 0; i < 3000; i++) {
		char text[WHEN_TEXT_MAX], copy[WHEN_TEXT_MAX];
		struct err err;
		random_text(text, sizeof(text), &seed);
		/* across a change of the clocks Slurm is an hour off: now-30days */
		zone(strncmp(text, "now", 3) == 0 ? "UTC" : "Europe/Berlin");
		memcpy(copy, text, sizeof(copy));
		time_t now = time(NULL), mine = 0;
		if (!*text)
			continue;
		int rc = when_parse(text, now, &mine, &err);
		time_t slurm = theirs(copy, 1);
		if (time(NULL) != now)
			continue; /* the second changed between both */
		if (rc < 0)
			fail_msg("\"%s\": %s; Slurm reads %lld", text, err.text,
				 (long long)slurm);
		if (mine != slurm)
			fail_msg("\"%s\": %lld here, %lld in Slurm", text,
				 (long long)mine, (long long)slurm);
		compared++;
	}
	assert_true(compared > 1000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_form_of_sacct_is_read),
		cmocka_unit_test(what_is_no_time_is_refused_and_named),
		cmocka_unit_test(hours_that_summer_time_skips_or_doubles_are_times),
		cmocka_unit_test(spans_are_written_as_slurm_does),
		cmocka_unit_test(libslurm_reads_the_same_moment),
	};
	return cmocka_run_group_tests_name("when", tests, NULL, NULL);
}
