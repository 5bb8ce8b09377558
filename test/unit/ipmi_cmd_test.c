/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/sources/ipmi_cmd.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/sources/ipmi_tool.h"
#include "lib/clock.h"
#include "lib/fs.h"
#include "test/unit/scratch.h"
#include "test/unit/unit.h"

#define TOOLS "test/fixture/ipmi/tools/"

static int power_of(const char *text, struct ipmi_power *ret, struct err *err)
{
	*ret = (struct ipmi_power){.current_w = 77};
	int rc = ipmi_cmd_power(text, strlen(text), ret, err);
	if (rc < 0)
		assert_int_equal(ret->current_w, 77);
	return rc;
}

static void recorded(const char *name, struct buf *ret)
{
	buf_reset(ret);
	assert_int_equal(fs_read_buf_at(AT_FDCWD, name, 1 << 20, ret, NULL), 0);
}

static void outputs_of_the_tools_are_read(void **state)
{
	static const char *const files[] = {TOOLS "ipmi-dcmi.txt", TOOLS "ipmitool.txt",
					    TOOLS "ipmiutil.txt"};
	auto_buf struct buf text = BUF_INIT;
	(void)state;

	for (size_t i = 0; i < 3; i++) {
		struct ipmi_power p;
		recorded(files[i], &text);
		assert_int_equal(power_of(text.data, &p, NULL), 0);
		assert_int_equal(p.current_w, 312);
		assert_int_equal(p.min_w, 280);
		assert_int_equal(p.max_w, 400);
		assert_int_equal(p.avg_w, 300);
		assert_true(p.active);
	}
}

static void cut_outputs_are_errors(void **state)
{
	static const char *const files[] = {TOOLS "ipmi-dcmi.txt", TOOLS "ipmitool.txt",
					    TOOLS "ipmiutil.txt"};
	auto_buf struct buf text = BUF_INIT;
	(void)state;

	for (size_t i = 0; i < 3; i++) {
		recorded(files[i], &text);
		struct ipmi_power p;
		const char *state_at = strstr(text.data, i ? "activ" : "Active");
		/* up to the state of the reading nothing is one */
		for (size_t len = 0; len <= (size_t)(state_at - text.data); len++)
			assert_true(ipmi_cmd_power(text.data, len, &p, NULL) < 0);
	}
}

static void states_other_than_active_are_no_reading(void **state)
{
	static const char *const states[] = {
		"Power Measurement : Not Available",
		"Power reading state is: deactivated",
		"Power reading state is: not active",
		"Power reading state is: ", "Power reading state is: activated maybe"};
	struct ipmi_power p;
	char text[200];
	(void)state;

	for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++) {
		snprintf(text, sizeof(text), "Current Power : 312 Watts\n%s\n",
			 states[i]);
		assert_int_equal(power_of(text, &p, NULL), -ENODATA);
	}
}

static void garbage_is_no_reading(void **state)
{
	static const char *const texts[] = {
		"", "\n\n\n", "Current Power : 312 Watts\n",
		"Power Measurement : Active\n",
		"Current Power : Watts\nPower Measurement : Active\n",
		"Current Power : 312\nPower Measurement : Active\n",
		"Current Power : 312 Joules\nPower Measurement : Active\n",
		"Current Power : -312 Watts\nPower Measurement : Active\n",
		"Current Power : 312.5 Watts\nPower Measurement : Active\n",
		"Current Power : 0x138 Watts\nPower Measurement : Active\n",
		"Current Power : 99999999999999999999 Watts\nPower Measurement : "
		"Active\n",
		"Current Power : 312 Watts of it\nPower Measurement : Active\n",
		/* of two machines */
		"Current Power : 312 Watts\nPower Measurement : Active\n"
		"Current Power : 313 Watts\nPower Measurement : Active\n",
		"<html><body>Current Power</body></html>"};
	struct ipmi_power p;
	(void)state;

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		assert_int_equal(power_of(texts[i], &p, NULL), -EBADMSG);
	assert_int_equal(
		power_of("Current Power:0 Watts\nPower Measurement:Active\n", &p, NULL),
		-ERANGE);
	assert_int_equal(power_of("Current Power:65535 Watts\nPower Measurement:Active",
				  &p, NULL),
			 -ERANGE);
	assert_int_equal(power_of("Current Power:4294967296 Watts\n"
				  "Power Measurement:Active",
				  &p, NULL),
			 -ERANGE);
}

static void capmc_gives_the_energy_of_one_node(void **state)
{
	auto_buf struct buf text = BUF_INIT;
	struct capmc_energy e;
	struct err err;
	(void)state;

	recorded(TOOLS "capmc.txt", &text);
	assert_int_equal(capmc_energy(text.data, text.len, 24, &e, &err), 0);
	assert_true(e.joules == 14802226);
	assert_true(e.realtime_us == 1734094380000000);
	assert_int_equal(capmc_energy(text.data, text.len, 25, &e, &err), 0);
	assert_true(e.realtime_us == 1734094380886126);
	assert_int_equal(capmc_energy(text.data, text.len, 26, &e, &err), -ENODATA);
	assert_int_equal(capmc_energy(text.data, text.len, CAPMC_ANY_NID, &e, &err),
			 -ENODATA);
	/* cut anywhere it is an error */
	for (size_t len = 0; len < (size_t)(strrchr(text.data, '}') - text.data); len++)
		assert_true(capmc_energy(text.data, len, 24, &e, NULL) < 0);
}

static void capmc_errors_and_garbage_are_told(void **state)
{
	static const struct {
		const char *text;
		int rc;
	} cases[] = {
		{"", -EBADMSG},
		{"{}", -EBADMSG},
		{"no", -EBADMSG},
		{"{\"e\":0}", -ENODATA},
		{"{\"e\":22,\"err_msg\":\"Invalid argument\"}", -EREMOTEIO},
		{"{\"e\":-1,\"err_msg\":\"\"}", -EREMOTEIO},
		/* what the whole system draws is not this node's */
		{"{\"start_time\":\"2015-04-01 17:02:10\",\"avg\":5942,\"min\":5748,"
		 "\"max\":6132,\"window_len\":600,\"e\":0,\"err_msg\":\"\"}",
		 -ENODATA},
		{"{\"e\":0,\"nodes\":[{\"nid\":1,\"energy_ctr\":\"5\"}]}", -ENODATA},
		{"{\"e\":0,\"nodes\":[{\"nid\":1,\"energy_ctr\":-5}]}", -EBADMSG},
		{"{\"e\":0,\"nodes\":[{\"nid\":1,\"energy_ctr\":5}]}", 0},
		{"{\"nodes\":[{\"energy_ctr\":5,\"nid\":1}],\"e\":0}", 0},
		{"{\"e\":0,\"nodes\":[{\"nid\":1,\"energy_ctr\":5}]", -EBADMSG},
		{"{\"e\":0,\"nodes\":[{\"nid\":1,\"energy_ctr\":5}]}}", -EBADMSG},
		{"{\"e\":0,\"nodes\":[{\"nid\":1,\"energy_ctr\":5}]} \"", -EBADMSG},
		{"[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]",
		 -EBADMSG},
	};
	struct capmc_energy e;
	struct err err;
	(void)state;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		int rc =
			capmc_energy(cases[i].text, strlen(cases[i].text), 1, &e, &err);
		if (rc != cases[i].rc)
			print_message("# %s\n", cases[i].text);
		assert_int_equal(rc, cases[i].rc);
	}
	assert_int_equal(
		capmc_energy(cases[4].text, strlen(cases[4].text), 1, &e, &err),
		-EREMOTEIO);
	assert_string_equal(err.text, "CAPMC says: Invalid argument");
}

static void capmc_times_have_zones(void **state)
{
	static const struct {
		const char *text;
		int rc;
		uint64_t us;
	} cases[] = {
		{"2015-06-03 14:07:32.886126-05", 0, 1433358452886126},
		{"2015-06-03 14:07:32-05", 0, 1433358452000000},
		{"2015-06-03 19:07:32", 0, 1433358452000000},
		{"2015-06-04 00:37:32.5+05:30", 0, 1433358452500000},
		{"2015-06-03 14:07:32.1234567-05", -EINVAL, 0},
		{"2015-06-03T14:07:32", -EINVAL, 0},
		{"2015-13-03 14:07:32", -EINVAL, 0},
		{"2015-06-03 14:07", -EINVAL, 0},
		{"1969-06-03 14:07:32", -ERANGE, 0},
		{"2015-06-03 14:07:32-", -EINVAL, 0},
		{"", -EINVAL, 0},
	};
	(void)state;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint64_t us = 0;
		int rc = capmc_time(cases[i].text, strlen(cases[i].text), &us);
		if (rc != cases[i].rc || us != cases[i].us)
			print_message("# %s\n", cases[i].text);
		assert_int_equal(rc, cases[i].rc);
		assert_true(us == cases[i].us);
	}
}

static struct env env_of(const char *proc, const char *hostname)
{
	struct env env = {.hostname = hostname};

	env.procfd = fs_opendir_at(AT_FDCWD, proc, NULL);
	return env;
}

static void commands_are_words_and_known_tools_get_their_arguments(void **state)
{
	struct env env = env_of("test/fixture/ipmi/proc", "x");
	struct ipmi_tool t;
	struct err err;
	(void)state;

	assert_int_equal(ipmi_tool_set("/usr/sbin/ipmi-dcmi", &env, &t, &err), 0);
	assert_string_equal(t.argv[1], "--get-system-power-statistics");
	assert_null(t.argv[2]);
	assert_int_equal(ipmi_tool_set("/usr/bin/ipmitool", &env, &t, &err), 0);
	assert_string_equal(t.argv[3], "reading");
	assert_int_equal(ipmi_tool_set("/usr/bin/ipmitool -I lan  dcmi power reading",
				       &env, &t, &err),
			 0);
	assert_string_equal(t.argv[2], "lan");
	assert_string_equal(t.argv[5], "reading");
	assert_null(t.argv[6]);
	assert_int_equal(ipmi_tool_set("/opt/site/power", &env, &t, &err), 0);
	assert_null(t.argv[1]);
	/* nothing is a shell's */
	assert_int_equal(ipmi_tool_set("/opt/site/power $(id);x", &env, &t, &err), 0);
	assert_string_equal(t.argv[1], "$(id);x");
	assert_int_equal(ipmi_tool_set("ipmitool dcmi power reading", &env, &t, &err),
			 -EINVAL);
	assert_int_equal(ipmi_tool_set(" ", &env, &t, &err), -EINVAL);
	assert_int_equal(
		ipmi_tool_set("/x 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 "
			      "19 20 21 22 23 24 25 26 27 28 29 30 31 32 33",
			      &env, &t, &err),
		-EINVAL);
	close(env.procfd);
}

static void capmc_is_asked_for_this_node_only(void **state)
{
	struct env env = env_of("test/fixture/ipmi/proc", "x");
	struct ipmi_tool t;
	struct err err;
	(void)state;

	assert_int_equal(ipmi_tool_set("/opt/bin/capmc", &env, &t, &err), 0);
	assert_string_equal(t.argv[1], "get_node_energy_counter");
	assert_string_equal(t.argv[2], "--nids");
	assert_string_equal(t.argv[3], "24");
	assert_true(t.nid == 24);
	assert_int_equal(
		ipmi_tool_set("/opt/bin/capmc get_system_power -w 600", &env, &t, &err),
		-EINVAL);
	assert_non_null(strstr(err.text, "whole system"));
	close(env.procfd);
	/* else by a name as Cray gives them */
	env = env_of("test/fixture/hwmon/proc", "nid00040.cluster");
	assert_int_equal(ipmi_tool_set("/opt/bin/capmc", &env, &t, &err), 0);
	assert_string_equal(t.argv[3], "40");
	env.hostname = "nidhogg";
	assert_int_equal(ipmi_tool_set("/opt/bin/capmc", &env, &t, &err), -EINVAL);
	assert_int_equal(
		ipmi_tool_set("/opt/bin/capmc get_node_energy_counter --nids 7", &env,
			      &t, &err),
		0);
	assert_true(t.nid == CAPMC_ANY_NID);
	close(env.procfd);
}

static char folder[64];

static void script(const char *name, const char *body)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	FILE *f = fopen(path, "we");
	assert_non_null(f);
	fprintf(f, "#!/bin/sh\n%s\n", body);
	fclose(f);
	assert_int_equal(chmod(path, 0755), 0);
}

static int run(const char *body, uint32_t deadline_ms, struct ipmi_power *p,
	       struct err *err)
{
	struct env env = {.procfd = -1, .hostname = "x"};
	struct ipmi_tool t;
	struct capmc_energy e;
	char line[128];

	script("tool", body);
	snprintf(line, sizeof(line), "%s/tool an argument", folder);
	assert_int_equal(ipmi_tool_set(line, &env, &t, err), 0);
	return ipmi_tool_run(&t, deadline_ms, p, &e, err);
}

static void tools_are_run_with_a_deadline_and_limits(void **state)
{
	struct ipmi_power p;
	struct err err;
	(void)state;

	assert_int_equal(
		run("cat " TOOLS "ipmitool.txt; echo 'a warning' >&2", 60000, &p, &err),
		0);
	assert_int_equal(p.current_w, 312);
	/* what is on stderr is not a reading */
	assert_int_equal(run("cat " TOOLS "ipmitool.txt >&2", 60000, &p, &err),
			 -EBADMSG);
	assert_int_equal(run("echo 'cannot open device' >&2; cat " TOOLS
			     "ipmitool.txt; "
			     "exit 3",
			     60000, &p, &err),
			 -EIO);
	assert_non_null(strstr(err.text, "/tool: exit status 3: cannot open device"));
	assert_int_equal(run("kill -9 $$", 60000, &p, &err), -EIO);
	assert_non_null(strstr(err.text, "killed by signal 9"));
	uint64_t then = clock_boottime_ns();
	assert_int_equal(run("cat " TOOLS "ipmitool.txt; sleep 60", 200, &p, &err),
			 -ETIMEDOUT);
	assert_true(clock_boottime_ns() - then < 30 * NSEC_PER_SEC);
	assert_int_equal(run("exec cat /dev/zero", 60000, &p, &err), -EFBIG);
	assert_int_equal(run("exec cat /dev/zero >&2", 60000, &p, &err), -EFBIG);
	assert_int_equal(run("head -c 5000 /dev/urandom", 60000, &p, &err), -EBADMSG);
	assert_int_equal(run("true", 60000, &p, &err), -EBADMSG);
	assert_non_null(strstr(err.text, "no power reading in its output"));
}

static void tools_are_found_in_their_order(void **state)
{
	const char *const folders[] = {"/no/such/folder", folder, NULL};
	struct env env = {.procfd = -1, .hostname = "nid00040"};
	struct ipmi_tool tools[IPMI_TOOLS];
	char path[128];
	(void)state;

	assert_int_equal(ipmi_tool_find(folders, &env, tools), 0);
	script("capmc", "");
	script("ipmiutil", "");
	script("ipmitool", "");
	assert_int_equal(ipmi_tool_find(folders, &env, tools), 3);
	snprintf(path, sizeof(path), "%s/ipmitool", folder);
	assert_string_equal(tools[0].argv[0], path);
	assert_string_equal(tools[0].argv[1], "dcmi");
	assert_string_equal(tools[1].argv[1], "dcmi");
	assert_string_equal(tools[2].argv[1], "get_node_energy_counter");
	/* without a number of this node capmc cannot be asked */
	env.hostname = "x";
	assert_int_equal(ipmi_tool_find(folders, &env, tools), 2);
	script("ipmi-dcmi", "");
	assert_int_equal(ipmi_tool_find(folders, &env, tools), 3);
	snprintf(path, sizeof(path), "%s/ipmi-dcmi", folder);
	assert_string_equal(tools[0].argv[0], path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(outputs_of_the_tools_are_read),
		cmocka_unit_test(cut_outputs_are_errors),
		cmocka_unit_test(states_other_than_active_are_no_reading),
		cmocka_unit_test(garbage_is_no_reading),
		cmocka_unit_test(capmc_gives_the_energy_of_one_node),
		cmocka_unit_test(capmc_errors_and_garbage_are_told),
		cmocka_unit_test(capmc_times_have_zones),
		cmocka_unit_test(
			commands_are_words_and_known_tools_get_their_arguments),
		cmocka_unit_test(capmc_is_asked_for_this_node_only),
		cmocka_unit_test(tools_are_run_with_a_deadline_and_limits),
		cmocka_unit_test(tools_are_found_in_their_order),
	};
	snprintf(folder, sizeof(folder), "/tmp/ceems-ipmi-XXXXXX");
	if (!mkdtemp(folder))
		return 1;
	int rc = cmocka_run_group_tests_name("ipmi_cmd_test", tests, NULL, NULL);
	scratch_remove(folder);
	return rc;
}
