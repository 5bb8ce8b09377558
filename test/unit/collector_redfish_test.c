/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>

#include "daemon/sources/child_link.h"
#include "test/unit/energy_tree.h"

extern const struct collector collector_redfish;
static const struct collector *const c = &collector_redfish;

/* What ceems-courier has said: nothing of it runs here. */
static union {
	struct child_snapshot m;
	char bytes[CHILD_MESSAGE_MAX];
} said;
static bool has_said;
static struct child_health health;

int __wrap_child_link_get(struct child_link *l, enum child_kind kind, const char *name,
			  void *buf, size_t size);
int __wrap_child_link_get(struct child_link *l, enum child_kind kind, const char *name,
			  void *buf, size_t size)
{
	(void)l;
	assert_string_equal(name, "redfish");
	if (kind == CHILD_HEALTH && health.head.bytes) {
		memcpy(buf, &health, sizeof(health));
		return (int)sizeof(health);
	}
	if (kind != CHILD_SNAPSHOT || !has_said)
		return -EAGAIN;
	assert_true(said.m.head.bytes <= size);
	assert_int_equal(child_msg_check(&said, said.m.head.bytes, NULL),
			 CHILD_SNAPSHOT);
	memcpy(buf, &said, said.m.head.bytes);
	return (int)said.m.head.bytes;
}

static void begin(void)
{
	memset(&said, 0, sizeof(said));
	has_said = true;
}

static struct child_channel *say_channel(enum child_channel_kind kind,
					 const char *chassis, bool counts, uint64_t raw)
{
	uint32_t n = said.m.head.count;
	struct child_channel *ch = &said.m.channels[n];
	ch->kind = (uint8_t)kind;
	ch->domain = counts ? CHILD_DOMAIN_HOST : CHILD_DOMAIN_NONE;
	ch->raw = raw;
	ch->measured_ns = tree_boot_ns;
	snprintf(ch->name, sizeof(ch->name), "chassis");
	snprintf(ch->chip, sizeof(ch->chip), "%s", chassis);
	child_msg_head(&said.m.head, CHILD_SNAPSHOT, "redfish", n + 1,
		       sizeof(said.m) + (n + 1) * sizeof(*ch));
	return ch;
}

static void start_tree(struct energy_tree *t)
{
	static int anything;
	has_said = false;
	memset(&health, 0, sizeof(health));
	tree_init(t, "test/fixture/redfish");
	t->node.env.courier = (struct child_link *)&anything;
	tree_open(t, c);
}

static void all_chassis_are_the_golden_scrape(void **state)
{
	(void)state;
	struct energy_tree t;
	start_tree(&t);
	begin();
	say_channel(CHILD_ENERGY, "System.Embedded.1", true, 1000000000000);
	say_channel(CHILD_POWER, "System.Embedded.1", false, 350500000);
	say_channel(CHILD_POWER_MIN, "System.Embedded.1", false, 120000000);
	say_channel(CHILD_POWER_MAX, "System.Embedded.1", false, 610000000);
	say_channel(CHILD_POWER_AVG, "System.Embedded.1", false, 340000000);
	say_channel(CHILD_POWER, "Enclosure", false, 40000000);
	tree_sample_after(&t, 0);
	said.m.channels[0].raw += 1753000000;
	for (unsigned i = 0; i < said.m.head.count; i++)
		said.m.channels[i].measured_ns += 5000 * NSEC_PER_MSEC;
	tree_sample_after(&t, 5500);
	node_golden(&t.node, c, "test/golden/collector_redfish.prom");
	tree_done(&t, c);
}

static void a_chassis_is_named_as_the_peer_names_it(void **state)
{
	static const char *const names[][2] = {
		{"System.Embedded.1", "System_Embedded_1"},
		{"a_.-_b", "a_b"},
		{"a__b", "a__b"},
		{"._.", "__"},
		{"Geh\xc3\xa4use 1", "Geh_use_1"},
		{"a__b.", "a__b_"},
		/* which another has by then: its own */
		{"Geh use 1", "Geh use 1"},
	};
	(void)state;
	struct energy_tree t;
	start_tree(&t);
	begin();
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		say_channel(CHILD_POWER, names[i][0], false, (i + 1) * 1000000);
	tree_sample_after(&t, 0);
	assert_int_equal(node_collect(&t.node, c), 0);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		char line[200];
		snprintf(line, sizeof(line),
			 "ceems_redfish_current_watts{hostname=\"host\",chassis="
			 "\"%s\"} %zu\n",
			 names[i][1], i + 1);
		assert_non_null(strstr(t.node.text.data, line));
	}
	tree_done(&t, c);
}

static void a_dead_bmc_ages_and_its_joules_stop(void **state)
{
	(void)state;
	struct energy_tree t;
	start_tree(&t);
	begin();
	say_channel(CHILD_ENERGY, "1", true, 1000000);
	say_channel(CHILD_POWER, "1", false, 350000000);
	tree_sample_after(&t, 0);
	said.m.channels[0].raw = 2000000;
	said.m.channels[0].measured_ns += NSEC_PER_SEC;
	said.m.channels[1].measured_ns += NSEC_PER_SEC;
	tree_sample_after(&t, 1000);
	uint64_t then = tree_boot_ns;
	for (int i = 0; i < 30; i++)
		tree_sample_after(&t, 5000);
	struct source_channel ch =
		tree_channel(&t, c->source, SOURCE_ENERGY, "chassis", 0);
	assert_true(ch.measured_ns == then && ch.value == 1000000);
	ch = tree_channel(&t, c->source, SOURCE_POWER, "chassis", 0);
	assert_true(ch.measured_ns == then);
	assert_int_equal(node_collect(&t.node, c), 0);
	assert_non_null(strstr(t.node.text.data,
			       "ceems_energy_source_age_seconds{source=\"redfish\"} "
			       "150\n"));
	assert_null(strstr(t.node.text.data, "ceems_redfish_current_watts{"));
	assert_non_null(strstr(t.node.text.data, "ceems_redfish_energy_joules_total{"
						 "hostname=\"host\",chassis=\"1\"} "
						 "1\n"));
	tree_done(&t, c);
}

static void a_counter_that_is_reset_adds_nothing(void **state)
{
	(void)state;
	struct energy_tree t;
	start_tree(&t);
	begin();
	struct child_channel *ch = say_channel(CHILD_ENERGY, "1", true, 5000000);
	static const uint64_t raws[] = {6000000, 1000, 1001000, UINT64_MAX, 3, 500003};
	static const uint64_t totals[] = {1000000, 1000000, 2000000,
					  2000000, 2000000, 2500000};
	tree_sample_after(&t, 0);
	for (size_t i = 0; i < 6; i++) {
		ch->raw = raws[i];
		ch->measured_ns += NSEC_PER_SEC;
		tree_sample_after(&t, 1000);
		assert_true(tree_channel(&t, c->source, SOURCE_ENERGY, "chassis", 0)
				    .value == totals[i]);
	}
	assert_int_equal(tree_resets(&t, c->source), 3);
	tree_done(&t, c);
}

static void a_time_that_is_not_yet_is_now(void **state)
{
	(void)state;
	struct energy_tree t;
	start_tree(&t);
	begin();
	say_channel(CHILD_POWER, "1", true, 350000000)->measured_ns = UINT64_MAX;
	tree_sample_after(&t, 0);
	struct source_channel ch =
		tree_channel(&t, c->source, SOURCE_POWER, "chassis", 0);
	assert_true(ch.measured_ns == tree_boot_ns);
	assert_int_equal(ch.domain, SOURCE_DOMAIN_HOST);
	tree_done(&t, c);
}

static void how_seldom_readings_come_is_told(void **state)
{
	(void)state;
	struct energy_tree t;
	struct source_snapshot s = {0};
	start_tree(&t);
	begin();
	say_channel(CHILD_POWER, "1", true, 350000000);
	said.m.period_ms = 12000;
	tree_sample_after(&t, 0);
	assert_int_equal(sampler_get(t.sampler, c->source, &s, NULL), 0);
	assert_true(s.news_ms == 12000);
	said.m.period_ms = UINT64_MAX;
	tree_sample_after(&t, 1000);
	assert_int_equal(sampler_get(t.sampler, c->source, &s, NULL), 0);
	assert_true(s.news_ms == 60000);
	source_snapshot_done(&s);
	tree_done(&t, c);
}

static void nothing_yet_is_a_failure_that_says_why(void **state)
{
	(void)state;
	struct energy_tree t;
	struct err err = {""};
	start_tree(&t);
	tree_sample_after(&t, 0);
	assert_int_equal(c->collect(t.node.state, t.node.prom, &err), -EAGAIN);
	health.rc = -ETIMEDOUT;
	snprintf(health.text, sizeof(health.text), "GET https://bmc/: timed out");
	child_msg_head(&health.head, CHILD_HEALTH, "redfish", 0, sizeof(health));
	assert_int_equal(c->collect(t.node.state, t.node.prom, &err), -EAGAIN);
	assert_string_equal(err.text, "GET https://bmc/: timed out");
	tree_done(&t, c);
}

static void what_is_read_seldom_is_sampled_seldom(void **state)
{
	struct energy_tree t;

	(void)state;
	begin();
	tree_init(&t, "test/fixture/redfish");
	t.node.options.redfish_interval_ms = 30000;
	t.node.env.courier = (struct child_link *)&t;
	tree_open(&t, c);
	/* three of these must cover two readings */
	assert_true(sampler_period_ms(t.sampler, c->source) == 20000);
	tree_done(&t, c);
	tree_init(&t, "test/fixture/redfish");
	t.node.options.redfish_interval_ms = 5000;
	t.node.env.courier = (struct child_link *)&t;
	tree_open(&t, c);
	assert_true(sampler_period_ms(t.sampler, c->source) == 1000);
	tree_done(&t, c);
}

static void without_a_courier_it_is_absent(void **state)
{
	(void)state;
	struct energy_tree t;
	struct err err = {""};
	tree_init(&t, "test/fixture/redfish");
	tree_source(&t, c->source);
	assert_int_equal(c->open(&t.node.env, &t.node.state, &err), -ENODEV);
	tree_done(&t, c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_chassis_are_the_golden_scrape),
		cmocka_unit_test(a_chassis_is_named_as_the_peer_names_it),
		cmocka_unit_test(a_dead_bmc_ages_and_its_joules_stop),
		cmocka_unit_test(a_counter_that_is_reset_adds_nothing),
		cmocka_unit_test(a_time_that_is_not_yet_is_now),
		cmocka_unit_test(how_seldom_readings_come_is_told),
		cmocka_unit_test(nothing_yet_is_a_failure_that_says_why),
		cmocka_unit_test(what_is_read_seldom_is_sampled_seldom),
		cmocka_unit_test(without_a_courier_it_is_absent),
	};
	return cmocka_run_group_tests_name("collector_redfish_test", tests, NULL, NULL);
}
