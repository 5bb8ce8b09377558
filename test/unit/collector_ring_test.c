/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>

#include "daemon/ingest.h"
#include "test/unit/node.h"
#include "test/unit/ring_fixture.h"

extern const struct collector collector_ring;
static const struct collector *const c = &collector_ring;

static void publish_start(struct fixture *f, const char *id)
{
	unsigned char bytes[RING_RECORD_MAX];
	struct record r;

	record_init(&r, RECORD_STEP_START, MANAGER_SLURM);
	snprintf(r.unit, sizeof(r.unit), "%s", id);
	r.step = 0;
	r.boottime_ns = r.realtime_ns = NSEC_PER_SEC;
	int len = record_encode(&r, bytes, sizeof(bytes));
	assert_true(len > 0);
	assert_int_equal(ring_publish(&f->producer, bytes, (size_t)len), 0);
}

/* One good and one bad record taken, a full ring that refused one, the rest waiting. */
static void what_was_lost_is_in_the_golden_scrape(void **state)
{
	struct fixture *f = *state;
	struct node n;
	struct ingest in;
	bool made;

	node_init(&n, "test/fixture/node_x86");
	int dirfd = fs_opendir_at(AT_FDCWD, f->folder, NULL);
	assert_true(dirfd >= 0);
	assert_int_equal(units_open(dirfd, 64, &n.env.units, &made, NULL), 0);
	ingest_init(&in, &n.env, &f->consumer, n.env.units, NULL);
	n.env.ingest = &in;
	publish_start(f, "4711");
	assert_int_equal(ring_publish(&f->producer, "nonsense", 8), 0);
	assert_int_equal(ingest_tick(&in, 0), 2);
	for (unsigned i = 0; i < SLOTS; i++)
		publish_start(f, "4712");
	assert_int_equal(ring_publish(&f->producer, "one too many", 12), -ENOBUFS);
	node_open(&n, c);
	node_golden(&n, c, "test/golden/collector_ring.prom");
	c->close(n.state);
	n.state = NULL;
	units_close(n.env.units);
	unlinkat(dirfd, UNITS_PATH_NAME, 0);
	close(dirfd);
	node_done(&n, c);
}

static void daemon_without_a_ring_has_no_such_collector(void **state)
{
	struct node n;
	void *s = NULL;
	struct err err;

	(void)state;
	node_init(&n, "test/fixture/node_x86");
	assert_int_equal(c->open(&n.env, &s, &err), -ENODEV);
	assert_null(s);
	node_done(&n, c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(what_was_lost_is_in_the_golden_scrape,
						fixture_up, fixture_down),
		cmocka_unit_test(daemon_without_a_ring_has_no_such_collector),
	};
	log_init("collector_ring_test", LOG_LOGFMT, LOG_EMERG);
	return cmocka_run_group_tests_name("collector_ring_test", tests, NULL, NULL);
}
