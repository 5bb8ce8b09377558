/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>

#include "test/unit/node.h"

extern const struct collector collector_meminfo;
static const struct collector *const c = &collector_meminfo;

static void three_lines_by_default(void **state)
{
	(void)state;
	struct node n;
	node_init(&n, "test/fixture/node_x86");
	node_open(&n, c);
	node_golden(&n, c, "test/golden/collector_meminfo.prom");
	node_done(&n, c);
}

static void all_stats_gives_every_line(void **state)
{
	(void)state;
	struct node n;
	node_init(&n, "test/fixture/node_x86");
	n.options.meminfo_all = true;
	node_open(&n, c);
	node_golden(&n, c, "test/golden/collector_meminfo-all.prom");
	/* a second reading knows the fields already */
	node_golden(&n, c, "test/golden/collector_meminfo-all.prom");
	node_done(&n, c);
}

static void missing_line_is_missing_and_not_zero(void **state)
{
	(void)state;
	struct node n;
	node_init(&n, "test/fixture/node_arm");
	node_open(&n, c);
	assert_int_equal(node_collect(&n, c), 0);
	assert_null(strstr(n.text.data, "MemAvailable"));
	assert_non_null(strstr(n.text.data, "MemTotal_bytes{hostname=\"host\"} "
					    "1024000\n"));
	node_done(&n, c);
}

static void text_instead_of_numbers_is_an_error(void **state)
{
	(void)state;
	struct node n;
	node_init(&n, "test/fixture/node_odd");
	n.options.meminfo_all = true;
	node_open(&n, c);
	assert_int_equal(node_collect(&n, c), -EINVAL);
	node_done(&n, c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(three_lines_by_default),
		cmocka_unit_test(all_stats_gives_every_line),
		cmocka_unit_test(missing_line_is_missing_and_not_zero),
		cmocka_unit_test(text_instead_of_numbers_is_an_error),
	};
	return cmocka_run_group_tests_name("collector_meminfo_test", tests, NULL, NULL);
}
