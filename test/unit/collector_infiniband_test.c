/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>

#include "test/unit/node.h"

extern const struct collector collector_infiniband;
static const struct collector *const c = &collector_infiniband;

static void ports_are_the_golden_scrape(void **state)
{
	(void)state;
	struct node n;
	node_init(&n, "test/fixture/node_x86");
	node_open(&n, c);
	node_golden(&n, c, "test/golden/collector_infiniband.prom");
	node_done(&n, c);
}

static void data_counters_are_bytes_not_words(void **state)
{
	(void)state;
	struct node n;
	node_init(&n, "test/fixture/node_x86");
	node_open(&n, c);
	assert_int_equal(node_collect(&n, c), 0);
	assert_non_null(strstr(n.text.data,
			       "port_data_transmitted_bytes_total{device=\"mlx4_0\","
			       "port=\"1\"} 17179869180\n"));
	assert_non_null(strstr(n.text.data,
			       "rate_bytes_per_second{device=\"mlx4_0\",port=\"2\"} "
			       "312500000\n"));
	node_done(&n, c);
}

static void what_a_port_does_not_say_is_left_out(void **state)
{
	(void)state;
	struct node n;
	node_init(&n, "test/fixture/node_x86");
	node_open(&n, c);
	assert_int_equal(node_collect(&n, c), 0);
	/* "N/A (no PMA)", an empty file, a negative number, more than 64 bits of bytes
	 */
	assert_null(
		strstr(n.text.data, "port_errors_received_total{device=\"mlx4_0\""));
	assert_null(strstr(n.text.data, "symbol_error_total{device=\"mlx4_0\""));
	assert_null(strstr(n.text.data, "link_downed_total{device=\"mlx4_0\""));
	assert_null(strstr(n.text.data, "port_data_received_bytes_total{device="
					"\"mlx4_0\",port=\"2\"}"));
	assert_null(strstr(n.text.data, "state_id{device=\"mlx5_10\""));
	assert_null(strstr(n.text.data, "rate_bytes_per_second{device=\"mlx5_10\""));
	node_done(&n, c);
}

static void machine_without_the_class_is_no_device(void **state)
{
	(void)state;
	struct node n;
	struct err err;
	void *s = NULL;
	node_init(&n, "test/fixture/node_arm");
	assert_int_equal(c->open(&n.env, &s, &err), -ENODEV);
	assert_null(s);
	node_done(&n, c);
}

static void class_without_devices_gives_nothing(void **state)
{
	(void)state;
	struct node n;
	node_init(&n, "test/fixture/node_odd");
	node_open(&n, c);
	assert_int_equal(node_collect(&n, c), 0);
	assert_int_equal(prom_samples(n.prom), 0);
	node_done(&n, c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ports_are_the_golden_scrape),
		cmocka_unit_test(data_counters_are_bytes_not_words),
		cmocka_unit_test(what_a_port_does_not_say_is_left_out),
		cmocka_unit_test(machine_without_the_class_is_no_device),
		cmocka_unit_test(class_without_devices_gives_nothing),
	};
	return cmocka_run_group_tests_name("collector_infiniband_test", tests, NULL,
					   NULL);
}
