/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>

#include "daemon/sources/child_link.h"
#include "test/unit/node.h"

extern const struct collector collector_courier;
static const struct collector *const c = &collector_courier;

/* What ceems-courier has said: nothing of it runs here. */
static struct child_shipping said, profiles, debuginfod;
static uint64_t starts;

int __wrap_child_link_get(struct child_link *l, enum child_kind kind, const char *name,
			  void *buf, size_t size);
int __wrap_child_link_get(struct child_link *l, enum child_kind kind, const char *name,
			  void *buf, size_t size)
{
	(void)l;
	assert_int_equal(kind, CHILD_SHIPPING);
	const struct child_shipping *m = strcmp(name, "profiles") == 0     ? &profiles
					 : strcmp(name, "debuginfod") == 0 ? &debuginfod
									   : &said;
	if (!m->head.bytes)
		return -EAGAIN;
	assert_true(size >= sizeof(*m));
	memcpy(buf, m, sizeof(*m));
	return (int)sizeof(*m);
}

uint64_t __wrap_child_link_starts(struct child_link *l);
uint64_t __wrap_child_link_starts(struct child_link *l)
{
	(void)l;
	return starts;
}

static uint64_t boottime(void)
{
	return 1000 * NSEC_PER_SEC;
}

static void begin(struct node *n)
{
	static int anything;

	memset(&said, 0, sizeof(said));
	memset(&profiles, 0, sizeof(profiles));
	memset(&debuginfod, 0, sizeof(debuginfod));
	node_init(n, "test/fixture/redfish");
	n->env.boottime_ns = boottime;
	n->env.courier = (struct child_link *)&anything;
	node_open(n, c);
}

static void what_was_sent_is_the_golden_scrape(void **state)
{
	(void)state;
	struct node n;

	begin(&n);
	starts = 3;
	said = (struct child_shipping){.accepted = 12345,
				       .refused = 3,
				       .set_aside = 1,
				       .posts = 78,
				       .failures = 5,
				       .bytes = 901234,
				       .waiting = 17,
				       .waiting_since_ns = 958 * NSEC_PER_SEC,
				       .last_taken_s = 1790000000};
	child_msg_head(&said.head, CHILD_SHIPPING, "ship", 0, sizeof(said));
	profiles = (struct child_shipping){.accepted = 240,
					   .refused = 1,
					   .set_aside = 2,
					   .failures = 4,
					   .waiting = 7};
	child_msg_head(&profiles.head, CHILD_SHIPPING, "profiles", 0, sizeof(profiles));
	debuginfod = (struct child_shipping){.accepted = 31,
					     .refused = 2,
					     .set_aside = 18,
					     .posts = 57,
					     .failures = 6,
					     .bytes = 45678901};
	child_msg_head(&debuginfod.head, CHILD_SHIPPING, "debuginfod", 0,
		       sizeof(debuginfod));
	node_golden(&n, c, "test/golden/collector_courier.prom");
	node_done(&n, c);
}

static void one_that_sends_nothing_has_its_restarts_alone(void **state)
{
	(void)state;
	struct node n;

	begin(&n);
	starts = 1;
	assert_int_equal(node_collect(&n, c), 0);
	assert_non_null(strstr(n.text.data,
			       "ceems_courier_restarts_total{hostname=\"host\"} 0\n"));
	assert_null(strstr(n.text.data, "ceems_courier_posts_total"));
	starts = 0; /* not yet */
	assert_int_equal(node_collect(&n, c), 0);
	assert_non_null(strstr(n.text.data, "restarts_total{hostname=\"host\"} 0\n"));
	node_done(&n, c);
}

static void without_a_courier_there_is_nothing(void **state)
{
	(void)state;
	struct node n;
	struct err err;

	begin(&n);
	n.env.courier = NULL;
	assert_int_equal(c->open(&n.env, &n.state, &err), -ENODEV);
	node_done(&n, c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_was_sent_is_the_golden_scrape),
		cmocka_unit_test(one_that_sends_nothing_has_its_restarts_alone),
		cmocka_unit_test(without_a_courier_there_is_nothing),
	};
	return cmocka_run_group_tests_name("collector_courier_test", tests, NULL, NULL);
}
