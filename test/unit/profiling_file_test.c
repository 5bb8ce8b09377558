/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The peer's options for profiles as ours. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/profiling_file.h"
#include "test/unit/unit.h"

static struct err err;
static char file[] = "/tmp/ceems-profiling-test.XXXXXX";

static int load(struct options *ret, const char *text, const char *more)
{
	struct buf out = BUF_INIT, warnings = BUF_INIT;
	char option[80];
	char *argv[] = {(char *)"ceemsd", (char *)"--profiling.ebpf", option,
			(char *)more, NULL};
	FILE *f = fopen(file, "w");

	assert_non_null(f);
	fputs(text, f);
	fclose(f);
	snprintf(option, sizeof(option), "--profiling.ebpf.config.file=%s", file);
	int rc = options_load(more ? 4 : 3, argv, ret, &out, &warnings, &err);
	buf_done(&out);
	buf_done(&warnings);
	return rc;
}

static void file_sets_rate_interval_and_store(void **state)
{
	struct options o;

	(void)state;
	assert_int_equal(load(&o,
			      "ceems_profiler:\n"
			      "  ebpf: {sample_rate: 997, collect_interval: 30s}\n"
			      "  pyroscope:\n"
			      "    url: http://store:4040\n"
			      "    authorization: {credentials_file: /etc/t}\n"
			      "    tls_config: {ca_file: /etc/ca}\n",
			      NULL),
			 0);
	assert_int_equal(o.profiling_hz, 997);
	assert_int_equal(o.profiling_max_hz, 997);
	assert_int_equal(o.profiling_interval_ms, 30000);
	assert_string_equal(o.profiles_url, "http://store:4040");
	assert_string_equal(o.profiles_token_file, "/etc/t");
	assert_string_equal(o.profiles_ca_file, "/etc/ca");
	assert_string_equal(o.profiles_spool, "/var/spool/ceems/profiles");
	/* as there: without a variable everybody */
	assert_int_equal(o.profiling_policy, PROFILING_ALWAYS);
	options_release(&o);
}

static void variable_limits_it_to_those_who_ask(void **state)
{
	struct options o;

	(void)state;
	assert_int_equal(load(&o, "", "--profiling.ebpf.env-var=ENABLE_PROFILING"), 0);
	assert_int_equal(o.profiling_policy, PROFILING_ALLOW);
	assert_int_equal(o.profiling_env_vars.count, 1);
	options_release(&o);
}

static void what_is_ours_wins(void **state)
{
	struct options o;

	(void)state;
	assert_int_equal(load(&o,
			      "ceems_profiler: {pyroscope: {url: http://store:4040}}\n",
			      "--profiles.url=http://mine:4040"),
			 0);
	assert_string_equal(o.profiles_url, "http://mine:4040");
	options_release(&o);
}

static void mistakes_are_said_with_file_and_line(void **state)
{
	static const char *const wrong[] = {
		"ceems_profiler: {ebpf: {sample_rate: 0}}\n",
		"ceems_profiler: {ebpf: {collect_interval: soon}}\n",
		"ceems_profiler: {pyroscope: {basic_auth: {}}}\n",
		"ceems_profilers: {}\n",
		"- 1\n",
	};
	struct options o;

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		assert_int_equal(load(&o, wrong[i], NULL), -EINVAL);
		assert_non_null(strstr(err.text, file));
	}
}

static int make_file(void **state)
{
	int fd = mkstemp(file);

	(void)state;
	return fd < 0 ? -1 : close(fd);
}

static int remove_file(void **state)
{
	(void)state;
	return unlink(file);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(file_sets_rate_interval_and_store),
		cmocka_unit_test(variable_limits_it_to_those_who_ask),
		cmocka_unit_test(what_is_ours_wins),
		cmocka_unit_test(mistakes_are_said_with_file_and_line),
	};
	return cmocka_run_group_tests_name("profiling_file", tests, make_file,
					   remove_file);
}
