/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include "test/unit/node.h"

extern const struct collector collector_netdev;
static const struct collector *const c = &collector_netdev;

static void all_interfaces_are_the_golden_scrape(void **state)
{
	(void)state;
	struct node n;
	node_init(&n, "test/fixture/node_x86");
	node_open(&n, c);
	node_golden(&n, c, "test/golden/collector_netdev.prom");
	node_done(&n, c);
}

static bool shows(struct node *n, const char *device)
{
	char key[64];
	snprintf(key, sizeof(key), "device=\"%s\"", device);
	return strstr(n->text.data, key);
}

static void patterns_match_anywhere_in_the_name_unless_anchored(void **state)
{
	(void)state;
	static char anywhere[] = "p0", anchored[] = "^e", whole[] = "^(lo|ib[0-9]+)$";
	struct {
		char *include, *exclude;
		bool lo, eth0, enp, ib0;
	} cases[] = {
		{anywhere, NULL, false, false, true, false},
		{NULL, anywhere, true, true, false, true},
		{anchored, NULL, false, true, true, false},
		{NULL, whole, false, true, true, false},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct node n;
		node_init(&n, "test/fixture/node_x86");
		n.options.netdev_include = cases[i].include;
		n.options.netdev_exclude = cases[i].exclude;
		node_open(&n, c);
		assert_int_equal(node_collect(&n, c), 0);
		assert_int_equal(shows(&n, "lo"), cases[i].lo);
		assert_int_equal(shows(&n, "eth0"), cases[i].eth0);
		assert_int_equal(shows(&n, "enp3s0f0np0"), cases[i].enp);
		assert_int_equal(shows(&n, "ib0"), cases[i].ib0);
		node_done(&n, c);
	}
}

static void bad_patterns_are_named(void **state)
{
	(void)state;
	static char bad[] = "eth[", good[] = "eth";
	struct node n;
	struct err err = {""};
	void *s = NULL;
	node_init(&n, "test/fixture/node_x86");
	n.options.netdev_include = bad;
	assert_int_equal(c->open(&n.env, &s, &err), -EINVAL);
	assert_non_null(strstr(err.text, "collector.netdev.device-include"));
	n.options.netdev_include = good;
	n.options.netdev_exclude = good;
	assert_int_equal(c->open(&n.env, &s, &err), -EINVAL);
	assert_non_null(strstr(err.text, "exclude each other"));
	assert_null(s);
	node_done(&n, c);
}

/* What stderr is told while the collector opens */
static void open_listening(struct node *n, char text[1000])
{
	int log = memfd_create("log", MFD_CLOEXEC), old = dup(STDERR_FILENO);

	assert_true(log >= 0 && old >= 0 && dup2(log, STDERR_FILENO) >= 0);
	node_open(n, c);
	assert_true(dup2(old, STDERR_FILENO) >= 0);
	close(old);
	ssize_t got = pread(log, text, 999, 0);
	text[got > 0 ? got : 0] = '\0';
	close(log);
}

static void a_pattern_that_leaves_no_interface_is_said(void **state)
{
	(void)state;
	static char digits[] = "eth\\d+", good[] = "eth[0-9]+";
	char text[1000];
	struct node n;

	node_init(&n, "test/fixture/node_x86");
	n.options.netdev_include = digits;
	open_listening(&n, text);
	assert_non_null(strstr(text, "leaves none of the"));
	assert_non_null(strstr(text, "[0-9]"));
	struct err err;
	assert_int_equal(c->look(&n.env, &err), -ENOENT); /* --check-config's */
	assert_non_null(strstr(err.text, "leaves none of the"));
	node_done(&n, c);
	node_init(&n, "test/fixture/node_x86");
	n.options.netdev_include = good;
	open_listening(&n, text);
	assert_string_equal(text, "");
	assert_int_equal(c->look(&n.env, &err), 0);
	node_done(&n, c);
}

static void file_without_interfaces_is_an_error(void **state)
{
	(void)state;
	struct node n;
	node_init(&n, "test/fixture/node_odd");
	node_open(&n, c);
	assert_int_equal(node_collect(&n, c), -EINVAL);
	node_done(&n, c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_interfaces_are_the_golden_scrape),
		cmocka_unit_test(patterns_match_anywhere_in_the_name_unless_anchored),
		cmocka_unit_test(bad_patterns_are_named),
		cmocka_unit_test(a_pattern_that_leaves_no_interface_is_said),
		cmocka_unit_test(file_without_interfaces_is_an_error),
	};
	return cmocka_run_group_tests_name("collector_netdev_test", tests, NULL, NULL);
}
