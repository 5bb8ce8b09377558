/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>

#include "test/unit/energy_tree.h"
#include "test/unit/ipmi_fake.h"

extern const struct collector collector_ipmi_dcmi;
static const struct collector *const c = &collector_ipmi_dcmi;

static char command[512];

/* The node with a BMC behind /dev/ipmi0, asked each second */
static void init(struct energy_tree *t)
{
	tree_init(t, "test/fixture/ipmi");
	fake_reset(&tree_boot_ns);
	command[0] = '\0';
	t->node.env.ipmi = &fake_ops;
	t->node.options.ipmi_dcmi_cmd = command;
	t->node.options.ipmi_dcmi_interval_ms = 1000;
}

static struct source_channel power(struct energy_tree *t)
{
	return tree_channel(t, c->source, SOURCE_POWER, "node", 0);
}

static bool shows(struct energy_tree *t, const char *line)
{
	assert_int_equal(node_collect(&t->node, c), 0);
	return strstr(t->node.text.data, line);
}

static void a_reading_is_the_golden_scrape(void **state)
{
	(void)state;
	struct energy_tree t;
	init(&t);
	tree_open(&t, c);
	/* nothing is sent before root is given up, nor waited for */
	assert_int_equal(bmc.sent, 0);
	tree_sample_after(&t, 0);
	tree_turn_ms(250);
	node_golden(&t.node, c, "test/golden/collector_ipmi_dcmi.prom");
	assert_int_equal(power(&t).domain, SOURCE_DOMAIN_HOST);
	assert_true(power(&t).value == 312000000);
	assert_int_equal(
		tree_channel(&t, c->source, SOURCE_POWER_AVG, "node", 0).domain,
		SOURCE_DOMAIN_NONE);
	tree_done(&t, c);
	assert_int_equal(bmc.opened, 1);
	assert_int_equal(bmc.closed, 1);
	assert_int_equal(bmc.events, 0);
}

static uint32_t answer_w, answer_s;

static void watts_answer(const struct fake_message *request, struct fake_message *reply)
{
	uint8_t data[sizeof(good_power)];

	memcpy(data, good_power, sizeof(data));
	data[2] = (uint8_t)answer_w;
	data[3] = (uint8_t)(answer_w >> 8);
	memcpy(data + 10, &answer_s, 4);
	*reply = fake_reply_to(request, data, sizeof(data));
}

static void a_reading_counts_from_when_it_was_asked_for(void **state)
{
	(void)state;
	struct energy_tree t;
	init(&t);
	tree_open(&t, c);
	bmc.slow_ms = 3000;
	uint64_t asked = tree_boot_ns + 1000 * NSEC_PER_MSEC;
	tree_sample_after(&t, 1000);
	assert_true(power(&t).measured_ns == asked);
	assert_true(tree_boot_ns == asked + 3000 * NSEC_PER_MSEC);
	tree_done(&t, c);
}

static void the_bmc_is_asked_at_its_own_interval(void **state)
{
	(void)state;
	struct energy_tree t;
	init(&t);
	t.node.options.ipmi_dcmi_interval_ms = 5000;
	tree_open(&t, c);
	assert_true(sampler_period_ms(t.sampler, c->source) == 5000);
	tree_sample_after(&t, 0);
	assert_true(sampler_period_ms(t.sampler, c->source) == 5000);
	/* and more seldom while it does not answer */
	bmc.mute = true;
	tree_sample_after(&t, 5000);
	tree_sample_after(&t, 5000);
	assert_true(sampler_period_ms(t.sampler, c->source) == 10000);
	for (int i = 0; i < 20; i++)
		tree_sample_after(&t, 5000);
	assert_true(sampler_period_ms(t.sampler, c->source) == 60000);
	bmc.mute = false;
	tree_sample_after(&t, 5000);
	assert_true(sampler_period_ms(t.sampler, c->source) == 5000);
	tree_done(&t, c);
}

static void a_dead_bmc_ages_and_its_watts_end(void **state)
{
	(void)state;
	struct energy_tree t;
	init(&t);
	tree_open(&t, c);
	tree_sample_after(&t, 0);
	uint64_t then = power(&t).measured_ns;
	bmc.mute = true;
	while (tree_boot_ns < then + 60 * NSEC_PER_SEC)
		tree_sample_after(&t, 1000);
	assert_true(power(&t).measured_ns == then);
	assert_true(shows(&t, "ceems_ipmi_dcmi_current_watts"));
	while (tree_boot_ns < then + 180 * NSEC_PER_SEC)
		tree_sample_after(&t, 1000);
	assert_false(shows(&t, "ceems_ipmi_dcmi"));
	assert_true(shows(&t, "ceems_energy_source_age_seconds{source=\"ipmi_dcmi\"} "
			      "18"));
	bmc.mute = false;
	tree_sample_after(&t, 1000);
	assert_true(
		shows(&t, "ceems_ipmi_dcmi_current_watts{hostname=\"host\"} 312\n"));
	tree_done(&t, c);
}

static void what_a_bmc_says_twice_is_measured_once(void **state)
{
	(void)state;
	struct energy_tree t;
	init(&t);
	bmc.answer = watts_answer;
	answer_w = 200;
	answer_s = 1000;
	tree_open(&t, c);
	tree_sample_after(&t, 1000);
	/* a BMC without a clock of its own is believed each time */
	tree_sample_after(&t, 1000);
	assert_true(power(&t).measured_ns == tree_boot_ns);
	answer_s = 1002;
	tree_sample_after(&t, 1000);
	uint64_t then = tree_boot_ns;
	assert_true(power(&t).measured_ns == then);
	/* one with a clock is not, while that stands still */
	answer_w = 201;
	tree_sample_after(&t, 1000);
	assert_true(power(&t).measured_ns == then);
	assert_true(power(&t).value == 200000000);
	answer_s = 1003;
	tree_sample_after(&t, 1000);
	assert_true(power(&t).measured_ns == tree_boot_ns);
	assert_true(power(&t).value == 201000000);
	/* set back by its operator it is still a clock */
	answer_s = 5;
	tree_sample_after(&t, 1000);
	assert_true(power(&t).measured_ns == tree_boot_ns);
	tree_done(&t, c);
}

static uint8_t bad_code;
static size_t bad_len;

static void bad_answer(const struct fake_message *request, struct fake_message *reply)
{
	uint8_t data[64] = {0};

	memcpy(data, good_power, sizeof(good_power));
	data[0] = bad_code;
	*reply = fake_reply_to(request, data, bad_len);
}

static void bad_replies_leave_the_last_reading_to_age(void **state)
{
	static const struct {
		uint8_t code;
		size_t len;
	} cases[] = {{0xc1, 1}, {0xc3, 1}, {0xd4, 1},  {0xff, 19},
		     {0x00, 1}, {0x00, 2}, {0x00, 18}, {0x00, 20}};
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct energy_tree t;
		init(&t);
		tree_open(&t, c);
		tree_sample_after(&t, 0);
		uint64_t then = power(&t).measured_ns;
		bad_code = cases[i].code;
		bad_len = cases[i].len;
		bmc.answer = bad_answer;
		tree_sample_after(&t, 1000);
		tree_sample_after(&t, 1000);
		assert_true(bmc.sent >= 2);
		assert_true(power(&t).measured_ns == then);
		bmc.answer = NULL;
		tree_sample_after(&t, 3000);
		assert_true(power(&t).measured_ns == tree_boot_ns);
		tree_done(&t, c);
	}
}

static void a_driver_that_comes_back_is_opened_again(void **state)
{
	(void)state;
	struct energy_tree t;
	init(&t);
	tree_open(&t, c);
	tree_sample_after(&t, 0);
	bmc.gone = true;
	tree_sample_after(&t, 1000);
	assert_int_equal(bmc.closed, 1);
	tree_sample_after(&t, 1000);
	bmc.gone = false;
	tree_sample_after(&t, 3000);
	assert_int_equal(bmc.opened, 2);
	assert_true(power(&t).measured_ns == tree_boot_ns);
	tree_done(&t, c);
}

static int open_rc(struct energy_tree *t, struct err *err)
{
	tree_source(t, c->source);
	return c->open(&t->node.env, &t->node.state, err);
}

static void machine_without_a_device_is_absent(void **state)
{
	(void)state;
	struct energy_tree t;
	struct err err = {""};
	init(&t);
	bmc.absent = true;
	t.node.options.ipmi_dcmi_native = true;
	/* a command is not run then, even if one is given */
	snprintf(command, sizeof(command), "/bin/true");
	assert_int_equal(open_rc(&t, &err), -ENODEV);
	assert_non_null(strstr(err.text, "no device ipmi0"));
	tree_done(&t, c);
	init(&t);
	bmc.open_rc = -EACCES;
	t.node.options.ipmi_dcmi_native = true;
	assert_int_equal(open_rc(&t, &err), -EACCES);
	assert_non_null(strstr(err.text, "ipmi0: Permission denied"));
	tree_done(&t, c);
}

static void a_chosen_command_is_asked_instead(void **state)
{
	static const char *const files[] = {"ipmi-dcmi", "ipmitool", "ipmiutil"};
	(void)state;
	for (size_t i = 0; i < 3; i++) {
		struct energy_tree t;
		init(&t);
		snprintf(command, sizeof(command), "/bin/cat %s/tools/%s.txt", t.root,
			 files[i]);
		tree_open(&t, c);
		tree_sample_after(&t, 0);
		tree_turn_ms(250);
		node_golden(&t.node, c, "test/golden/collector_ipmi_dcmi.prom");
		assert_int_equal(bmc.opened, 0);
		tree_done(&t, c);
	}
}

static void put_tool(const struct energy_tree *t, const char *name, const char *body)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/tools/%s", t->root, name);
	FILE *f = fopen(path, "we");
	assert_non_null(f);
	fprintf(f, "#!/bin/sh\n%s\n", body);
	fclose(f);
	assert_int_equal(chmod(path, 0755), 0);
}

static void without_a_device_the_first_tool_that_works_is_kept(void **state)
{
	(void)state;
	struct energy_tree t;
	struct err err = {""};
	init(&t);
	char folder[96], cat[160];
	snprintf(folder, sizeof(folder), "%s/tools", t.root);
	const char *const folders[] = {folder, NULL};
	t.node.env.tool_folders = folders;
	bmc.absent = true;
	assert_int_equal(open_rc(&t, &err), -ENODEV);
	assert_non_null(strstr(err.text, "no device ipmi0, and no tool"));
	tree_done(&t, c);

	init(&t);
	snprintf(folder, sizeof(folder), "%s/tools", t.root);
	t.node.env.tool_folders = folders;
	bmc.absent = true;
	put_tool(&t, "ipmi-dcmi", "echo no BMC >&2; exit 1");
	snprintf(cat, sizeof(cat), "cat %s/ipmitool.txt", folder);
	put_tool(&t, "ipmitool", cat);
	snprintf(cat, sizeof(cat), "exec touch %s/called", folder);
	put_tool(&t, "ipmiutil", cat);
	tree_open(&t, c);
	tree_sample_after(&t, 0);
	assert_true(sampler_get(t.sampler, c->source, &(struct source_snapshot){0},
				&err) == -EAGAIN);
	tree_sample_after(&t, 1000);
	assert_true(power(&t).value == 312000000);
	/* it stays, also when it fails */
	put_tool(&t, "ipmitool", "exit 1");
	tree_sample_after(&t, 1000);
	tree_sample_after(&t, 1000);
	snprintf(cat, sizeof(cat), "%s/called", folder);
	assert_int_equal(access(cat, F_OK), -1);
	tree_done(&t, c);
	/* a device that opens wins */
	init(&t);
	t.node.env.tool_folders = folders;
	tree_open(&t, c);
	assert_int_equal(bmc.opened, 1);
	tree_done(&t, c);
}

static void a_command_that_fails_ages(void **state)
{
	(void)state;
	struct energy_tree t;
	char from[128], to[128];
	init(&t);
	snprintf(command, sizeof(command), "/bin/cat %s/tools/ipmitool.txt", t.root);
	tree_open(&t, c);
	tree_sample_after(&t, 0);
	uint64_t then = power(&t).measured_ns;
	snprintf(from, sizeof(from), "%s/tools/ipmitool.txt", t.root);
	snprintf(to, sizeof(to), "%s/tools/gone", t.root);
	assert_int_equal(rename(from, to), 0);
	tree_sample_after(&t, 1000);
	assert_true(power(&t).measured_ns == then);
	assert_int_equal(rename(to, from), 0);
	tree_sample_after(&t, 2000);
	assert_true(power(&t).measured_ns == tree_boot_ns);
	tree_done(&t, c);
}

/* Replaces what capmc says of the node: joules at a second of the fixture's day */
static void capmc_says(const struct energy_tree *t, uint64_t joules, unsigned second)
{
	tree_write(t, "../tools/capmc.txt",
		   "{\"e\":0,\"err_msg\":\"\",\"nid_count\":1,\"nodes\":[{\"nid\":24,"
		   "\"energy_ctr\":%llu,\"time\":\"2024-12-13 12:53:%02u.0+00\"}]}\n",
		   (unsigned long long)joules, second);
}

static void capmc_is_this_nodes_energy_at_capmcs_time(void **state)
{
	(void)state;
	struct energy_tree t;
	char script[192];
	init(&t);
	snprintf(script, sizeof(script),
		 "[ \"$*\" = 'get_node_energy_counter --nids 24' ] && "
		 "exec cat %s/tools/capmc.txt\nexit 1",
		 t.root);
	put_tool(&t, "capmc", script);
	snprintf(command, sizeof(command), "%s/tools/capmc", t.root);
	tree_open(&t, c);
	/* the tree's wall clock stands at 12:53:07, the reading is of 12:53:00 */
	tree_sample_after(&t, 0);
	struct source_channel e = tree_channel(&t, c->source, SOURCE_ENERGY, "node", 0);
	assert_int_equal(e.domain, SOURCE_DOMAIN_HOST);
	assert_true(e.value == 0);
	assert_true(e.measured_ns == tree_boot_ns - 7 * NSEC_PER_SEC);
	assert_false(shows(&t, "ceems_ipmi_dcmi_current_watts"));
	/* one for all nodes, and late: not asked as often as a BMC */
	assert_true(sampler_period_ms(t.sampler, c->source) == 10000);
	/* the same again is nothing new */
	tree_sample_after(&t, 1000);
	assert_true(tree_channel(&t, c->source, SOURCE_ENERGY, "node", 0).measured_ns ==
		    e.measured_ns);
	capmc_says(&t, 14802226 + 1500, 5);
	tree_sample_after(&t, 1000);
	e = tree_channel(&t, c->source, SOURCE_ENERGY, "node", 0);
	assert_true(e.value == 1500000000);
	assert_true(
		shows(&t, "ceems_ipmi_dcmi_current_watts{hostname=\"host\"} 300\n"));
	assert_int_equal(power(&t).domain, SOURCE_DOMAIN_NONE);
	/* a counter that was set back adds nothing */
	capmc_says(&t, 3, 6);
	tree_sample_after(&t, 1000);
	e = tree_channel(&t, c->source, SOURCE_ENERGY, "node", 0);
	assert_true(e.value == 1500000000);
	assert_int_equal(tree_resets(&t, c->source), 1);
	tree_done(&t, c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_reading_is_the_golden_scrape),
		cmocka_unit_test(a_reading_counts_from_when_it_was_asked_for),
		cmocka_unit_test(the_bmc_is_asked_at_its_own_interval),
		cmocka_unit_test(a_dead_bmc_ages_and_its_watts_end),
		cmocka_unit_test(what_a_bmc_says_twice_is_measured_once),
		cmocka_unit_test(bad_replies_leave_the_last_reading_to_age),
		cmocka_unit_test(a_driver_that_comes_back_is_opened_again),
		cmocka_unit_test(machine_without_a_device_is_absent),
		cmocka_unit_test(a_chosen_command_is_asked_instead),
		cmocka_unit_test(without_a_device_the_first_tool_that_works_is_kept),
		cmocka_unit_test(a_command_that_fails_ages),
		cmocka_unit_test(capmc_is_this_nodes_energy_at_capmcs_time),
	};
	return cmocka_run_group_tests_name("collector_ipmi_dcmi_test", tests, NULL,
					   NULL);
}
