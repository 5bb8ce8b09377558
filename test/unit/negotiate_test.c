/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lib/http/negotiate.h"

#include <errno.h>
#include <string.h>

#include "lib/buf.h"
#include "lib/http/target.h"
#include "test/unit/unit.h"

#define OM1 "application/openmetrics-text; version=1.0.0; charset=utf-8"
#define OM0 "application/openmetrics-text; version=0.0.1; charset=utf-8"
#define TXT "text/plain; version=0.0.4; charset=utf-8"

static void format_is_what_the_client_prefers(void **state)
{
	(void)state;
	static const struct {
		const char *accept, *want;
	} cases[] = {
		{NULL, TXT},
		{"", TXT},
		{"*/*", TXT},
		{"text/html,*/*;q=0.8", TXT},
		{"application/json", TXT},
		/* Prometheus 2.42 */
		{"application/openmetrics-text;version=1.0.0,application/"
		 "openmetrics-text;version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,"
		 "*/*;q=0.1",
		 OM1},
		/* Prometheus 3 */
		{"application/"
		 "openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,"
		 "application/openmetrics-text;version=0.0.1;q=0.5,text/plain;version="
		 "1.0.0;escaping=allow-utf-8;q=0.4,text/plain;version=0.0.4;q=0.3,*/"
		 "*;q=0.2",
		 OM1},
		{"application/openmetrics-text;version=0.0.1,text/plain;q=0.5", OM0},
		{"application/openmetrics-text; version=0.0.1; charset=utf-8", OM0},
		{"application/openmetrics-text", OM1},
		{"APPLICATION/OpenMetrics-Text ; VERSION=\"1.0.0\"", OM1},
		{"application/openmetrics-text;version=2.0.0", TXT},
		{"application/openmetrics-text;q=0", TXT},
		{"application/openmetrics-text;q=0.4,text/plain;q=0.5", TXT},
		{"application/openmetrics-text;q=0.5,text/plain;q=0.5", OM1},
		{"text/plain;q=0.5,application/openmetrics-text;q=0.5", TXT},
		{"*/*,application/openmetrics-text", OM1},
		{"text/plain;q=0.2,*/*;q=0.9,application/openmetrics-text;q=0.3", OM1},
		/* a quality that is none leaves its range out */
		{"application/openmetrics-text;q=high", TXT},
		{"application/openmetrics-text;q=1.5", TXT},
		{"application/openmetrics-text;q=0.1234", TXT},
		{"application/openmetrics-text;q=", TXT},
		{"application/openmetrics-text;q=-1", TXT},
		/* commas and semicolons in quotes separate nothing */
		{"text/plain;x=\",application/openmetrics-text;\"", TXT},
		{"x;y=\"\\\",\",application/openmetrics-text", OM1},
		{",,;;=,", TXT},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const char *type = NULL;
		enum prom_format f = negotiate_format(cases[i].accept, &type);
		if (strcmp(type, cases[i].want) != 0)
			print_message("# Accept: %s\n",
				      cases[i].accept ? cases[i].accept : "(none)");
		assert_string_equal(type, cases[i].want);
		assert_int_equal(f,
				 strcmp(type, TXT) == 0 ? PROM_TEXT : PROM_OPENMETRICS);
	}
}

static void gzip_only_when_it_is_welcome(void **state)
{
	(void)state;
	static const struct {
		const char *accept;
		bool want;
	} cases[] = {
		{NULL, false},
		{"", false},
		{"gzip", true},
		{"GZIP", true},
		{"x-gzip", true},
		{"deflate, gzip;q=0.5, br", true},
		{"gzip;q=0", false},
		{"gzip; q=0.000", false},
		{"*", true},
		{"*;q=0", false},
		{"gzip;q=0, *", false},
		{"identity", false},
		{"identity;q=1, gzip;q=0.5", false},
		{"identity;q=0.5, gzip;q=1.0", true},
		{"identity, gzip", true},
		{"gzipp", false},
		{"deflate", false},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		if (negotiate_gzip(cases[i].accept) != cases[i].want)
			fail_msg("Accept-Encoding: %s", cases[i].accept);
	}
}

static void lists_beyond_the_bound_are_not_read(void **state)
{
	(void)state;
	auto_buf struct buf b = BUF_INIT;
	const char *type;
	for (int i = 0; i < NEGOTIATE_RANGES_MAX; i++)
		buf_puts(&b, "x/y,");
	buf_puts(&b, "application/openmetrics-text");
	assert_int_equal(negotiate_format(b.data, &type), PROM_TEXT);
	assert_int_equal(negotiate_format(b.data + 4, &type), PROM_OPENMETRICS);
}

static void targets_have_one_path_each(void **state)
{
	(void)state;
	static const struct {
		const char *target, *path; /* NULL: refused */
	} cases[] = {
		{"/", "/"},
		{"/metrics", "/metrics"},
		{"/metrics?collect[]=cpu", "/metrics"},
		{"/metrics#x", NULL},
		{"/metrics?a#b", NULL},
		{"/m%65trics", NULL},
		{"/api/v1/%71uery", NULL},
		{"/api/v1/quer%79", NULL},
		{"/api/v1%2fquery", NULL},
		{"/a%2Fb", NULL},
		{"/a%5Cb", NULL},
		{"/a%2e", NULL},
		{"/%2571uery", NULL},
		{"/a%3Ab", "/a:b"},
		{"//metrics", "//metrics"},
		{"/./metrics", "/./metrics"},
		{"/a%20b", "/a b"},
		{"/a b", NULL},
		{"/%", NULL},
		{"/%4", NULL},
		{"/%zz", NULL},
		{"/%00", NULL},
		{"/metrics%00", NULL},
		{"/%0a", NULL},
		{"/\x7f", NULL},
		{"/\xc3\xa9", NULL},
		{"/%c3%a9", NULL},
		{"metrics", NULL},
		{"", NULL},
		{"*", NULL},
		{"http://host/metrics", NULL},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char path[64] = "untouched";
		int rc = target_path(cases[i].target, path, sizeof(path));
		if ((rc == 0) != (cases[i].path != NULL))
			fail_msg("%s", cases[i].target);
		if (cases[i].path)
			assert_string_equal(path, cases[i].path);
	}
	char small[4];
	assert_int_equal(target_path("/abc", small, sizeof(small)), -ENAMETOOLONG);
	assert_int_equal(target_path("/ab", small, sizeof(small)), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(format_is_what_the_client_prefers),
		cmocka_unit_test(gzip_only_when_it_is_welcome),
		cmocka_unit_test(lists_beyond_the_bound_are_not_read),
		cmocka_unit_test(targets_have_one_path_each),
	};
	return cmocka_run_group_tests_name("negotiate_test", tests, NULL, NULL);
}
