/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>

#include "daemon/sources/child_link.h"
#include "test/unit/node.h"

extern const struct collector collector_profiler;
static const struct collector *const c = &collector_profiler;

/* What ceems-profiler has said: it does not run here. */
static struct child_profile said;

int __wrap_child_link_get(struct child_link *l, enum child_kind kind, const char *name,
			  void *buf, size_t size);
int __wrap_child_link_get(struct child_link *l, enum child_kind kind, const char *name,
			  void *buf, size_t size)
{
	(void)l;
	(void)name;
	assert_int_equal(kind, CHILD_PROFILE);
	if (!said.head.bytes)
		return -EAGAIN;
	assert_true(size >= sizeof(said));
	memcpy(buf, &said, sizeof(said));
	return (int)sizeof(said);
}

uint64_t __wrap_child_link_starts(struct child_link *l);
uint64_t __wrap_child_link_starts(struct child_link *l)
{
	(void)l;
	return 3;
}

static void begin(struct node *n)
{
	static int anything;

	memset(&said, 0, sizeof(said));
	node_init(n, "test/fixture/redfish");
	n->env.profiler = (struct child_link *)&anything;
	node_open(n, c);
}

static void what_it_samples_and_takes_is_the_golden_scrape(void **state)
{
	(void)state;
	struct node n;

	begin(&n);
	said = (struct child_profile){.steps = 2,
				      .processes = 17,
				      .hz = 97,
				      .samples = 12345,
				      .whole = 12300,
				      .cut = 45,
				      .lost = 3,
				      .dropped = 1,
				      .openers = 1,
				      .blocked = 99,
				      .coarse = 1,
				      .evictions = 6,
				      .profiles = 240,
				      .debug_wanted = 12,
				      .debug_refused = 3,
				      .memory_bytes = 40123456};
	child_msg_head(&said.head, CHILD_PROFILE, "profiler", 0, sizeof(said));
	node_golden(&n, c, "test/golden/collector_profiler.prom");
	node_done(&n, c);
}

static void before_it_has_said_anything_there_are_restarts_alone(void **state)
{
	(void)state;
	struct node n;

	begin(&n);
	assert_int_equal(node_collect(&n, c), 0);
	assert_non_null(strstr(n.text.data, "ceems_profiler_restarts_total{"));
	assert_null(strstr(n.text.data, "ceems_profiler_steps"));
	node_done(&n, c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_it_samples_and_takes_is_the_golden_scrape),
		cmocka_unit_test(before_it_has_said_anything_there_are_restarts_alone),
	};
	return cmocka_run_group_tests_name("collector_profiler_test", tests, NULL,
					   NULL);
}
