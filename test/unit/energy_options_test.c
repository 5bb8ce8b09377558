/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/energy_options.h"

#include <stdio.h>
#include <string.h>

#include "test/unit/unit.h"

static struct buf out, warnings;
static struct options o;
static struct err err;

/* As on the command line; the configuration that the attribution gets */
static int load(const char *arg, struct energy_config *ret)
{
	char text[128], *argv[] = {(char *)"ceemsd", text};

	options_release(&o);
	buf_reset(&out);
	buf_reset(&warnings);
	snprintf(text, sizeof(text), "%s", arg);
	int rc = options_load(*arg ? 2 : 1, argv, &o, &out, &warnings, &err);
	return rc ? rc : energy_options(&o, ret, &err);
}

static void defaults_learn_and_charge_by_allocation(void **state)
{
	(void)state;
	struct energy_config c;
	assert_int_equal(load("", &c), 0);
	assert_int_equal(c.idle, ENERGY_IDLE_ALLOCATION);
	assert_int_equal(c.idle_uw[ENERGY_PACKAGE], ENERGY_LEARN);
	assert_int_equal(c.idle_uw[ENERGY_GPU], ENERGY_LEARN);
	assert_false(c.host_includes_gpu);
	assert_string_equal(energy_host_source(&o), "auto");
}

static void policies_and_the_hosts_source_by_name(void **state)
{
	(void)state;
	struct energy_config c;
	assert_int_equal(load("--energy.idle=usage", &c), 0);
	assert_int_equal(c.idle, ENERGY_IDLE_USAGE);
	assert_int_equal(load("--energy.idle=none", &c), 0);
	assert_int_equal(c.idle, ENERGY_IDLE_NONE);
	assert_int_equal(load("--energy.host-includes-gpu=yes", &c), 0);
	assert_true(c.host_includes_gpu);
	assert_int_equal(load("--energy.host-source=ipmi_dcmi", &c), 0);
	assert_string_equal(energy_host_source(&o), "ipmi_dcmi");
	assert_true(load("--energy.host-source=thermometer", &c) < 0);
	assert_true(load("--energy.idle=somebody", &c) < 0);
}

static void idle_watts_per_domain(void **state)
{
	(void)state;
	struct energy_config c;
	assert_int_equal(
		load("--energy.idle-watts=package:20.5,gpu:0.000001,other:7", &c), 0);
	assert_int_equal(c.idle_uw[ENERGY_PACKAGE], 20500000);
	assert_int_equal(c.idle_uw[ENERGY_GPU], 1);
	assert_int_equal(c.idle_uw[ENERGY_OTHER], 7000000);
	assert_int_equal(c.idle_uw[ENERGY_DRAM], ENERGY_LEARN);
}

static void idle_watts_that_make_no_sense_are_refused(void **state)
{
	(void)state;
	static const char *const bad[] = {"package",    "package:",     "package:x",
					  "package:-1", "host:5",       ":5",
					  "package:5;", "package:1e30", "packag:5",
					  "dram:5,gpu", "dram:5,,gpu:1"};
	struct energy_config c;
	char arg[96];
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		snprintf(arg, sizeof(arg), "--energy.idle-watts=%s", bad[i]);
		if (load(arg, &c) >= 0)
			fail_msg("%s was taken", bad[i]);
		assert_non_null(strstr(err.text, "--energy.idle-watts"));
	}
}

static int end(void **state)
{
	(void)state;
	options_release(&o);
	buf_done(&out);
	buf_done(&warnings);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(defaults_learn_and_charge_by_allocation),
		cmocka_unit_test(policies_and_the_hosts_source_by_name),
		cmocka_unit_test(idle_watts_per_domain),
		cmocka_unit_test(idle_watts_that_make_no_sense_are_refused),
	};
	return cmocka_run_group_tests_name("energy_options", tests, NULL, end);
}
