/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/web/scrape.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <zlib.h>

#include "lib/clock.h"
#include "lib/log.h"
#include "test/unit/unit.h"

/* Collectors of the test. What they do is told by the world, which is one per test. */
static struct world {
	atomic_uint runs, inside, most_inside, prepared, opens;
	atomic_bool fail, overflow, absent, open_fails, hold;
	atomic_ullong time_ns; /* what the daemon's clock says; 0: the real one */
	pthread_mutex_t lock;
	bool locked_when_run;
} world;

static const struct prom_family good_family = {"t_runs_total", PROM_COUNTER, "Runs"};
static const struct prom_family bad_family = {"t_bad", PROM_GAUGE, "Bad"};

static int test_open(const struct env *env, void **ret_state, struct err *err)
{
	(void)env;
	atomic_fetch_add(&world.opens, 1);
	if (world.absent)
		return err_set(err, -ENODEV, "no such thing");
	if (world.open_fails)
		return err_set(err, -EACCES, "open thing: Permission denied");
	*ret_state = &world;
	return 0;
}

static void test_close(void *state)
{
	(void)state;
}

static int good_collect(void *state, struct prom *out, struct err *err)
{
	(void)state;
	(void)err;
	unsigned inside = atomic_fetch_add(&world.inside, 1) + 1;
	if (inside > world.most_inside)
		world.most_inside = inside;
	unsigned run = atomic_fetch_add(&world.runs, 1) + 1;
	/* held by this thread: a normal mutex cannot be taken again */
	if (pthread_mutex_trylock(&world.lock) == EBUSY)
		world.locked_when_run = true;
	else
		pthread_mutex_unlock(&world.lock);
	prom_family(out, &good_family);
	prom_put_u64(out, NULL, 0, run);
	struct timespec pause = {.tv_nsec = 2000000};
	do {
		nanosleep(&pause, NULL);
	} while (world.hold);
	atomic_fetch_sub(&world.inside, 1);
	return 0;
}

static int bad_collect(void *state, struct prom *out, struct err *err)
{
	(void)state;
	prom_family(out, &bad_family);
	prom_put_u64(out, NULL, 0, 1);
	for (int i = 0; world.overflow && i < 1000; i++)
		prom_put_u64(out, NULL, 0, 1);
	if (world.fail)
		return err_set(err, -EIO, "read thing: Input/output error");
	return 0;
}

static const struct collector good = {.name = "good",
				      .open = test_open,
				      .collect = good_collect,
				      .close = test_close};
static const struct collector bad = {
	.name = "bad", .open = test_open, .collect = bad_collect, .close = test_close};

static uint64_t test_now(void)
{
	uint64_t ns = world.time_ns;
	return ns ? ns : clock_boottime_ns();
}

static void prepare(void *arg)
{
	(void)arg;
	atomic_fetch_add(&world.prepared, 1);
}

static struct env env = {.procfd = -1,
			 .sysfd = -1,
			 .cgroupfd = -1,
			 .hostname = "host",
			 .realtime_ns = clock_realtime_ns,
			 .boottime_ns = test_now};

static struct scrape *start(const struct collector *const *list, size_t n, size_t max)
{
	struct scrape *s = NULL;
	struct scrape_params p = {.env = &env,
				  .collectors = list,
				  .count = n,
				  .lock = &world.lock,
				  .prepare = prepare,
				  .exporter_metrics = true,
				  .max_bytes = max};
	assert_int_equal(scrape_new(&p, &s, NULL), 0);
	return s;
}

static int fresh_world(void **state)
{
	(void)state;
	memset(&world, 0, sizeof(world));
	pthread_mutex_init(&world.lock, NULL);
	log_init("scrape_test", LOG_LOGFMT, LOG_EMERG);
	return 0;
}

static const struct collector *const both[] = {&bad, &good};

/* The text of one scrape; freed by the caller. */
static char *text_of(struct scrape *s, enum prom_format format)
{
	struct scrape_result *r = NULL;
	const struct buf *body = NULL;
	assert_int_equal(scrape_get(s, &r, NULL), 0);
	assert_int_equal(scrape_result_body(r, format, false, &body), 0);
	char *copy = strdup(body->data);
	scrape_result_unref(r);
	assert_non_null(copy);
	return copy;
}

static void assert_has(const char *text, const char *what, bool yes)
{
	if ((strstr(text, what) != NULL) != yes)
		fail_msg("%s %s in:\n%s", yes ? "not" : "still", what, text);
}

static void failing_collector_loses_its_own_samples_alone(void **state)
{
	(void)state;
	struct scrape *s = start(both, 2, 0);
	world.fail = true;
	char *text = text_of(s, PROM_TEXT);
	assert_has(text, "t_bad 1\n", false);
	assert_has(text, "t_runs_total 1\n", true);
	assert_has(text, "collector_success{collector=\"bad\"} 0\n", true);
	assert_has(text, "collector_success{collector=\"good\"} 1\n", true);
	assert_has(text, "duration_seconds{collector=\"bad\",subcollector=\"\"} 0.",
		   true);
	free(text);
	world.fail = false;
	text = text_of(s, PROM_TEXT);
	assert_has(text, "t_bad 1\n", true);
	assert_has(text, "collector_success{collector=\"bad\"} 1\n", true);
	free(text);
	scrape_free(s);
}

static void collector_over_the_limit_loses_its_own_samples_alone(void **state)
{
	(void)state;
	struct scrape *s = start(both, 2, 4096);
	world.overflow = true;
	char *text = text_of(s, PROM_TEXT);
	assert_has(text, "t_bad 1\n", false);
	assert_has(text, "t_runs_total 1\n", true);
	assert_has(text, "collector_success{collector=\"bad\"} 0\n", true);
	free(text);
	scrape_free(s);
}

static void absent_device_gives_no_series_and_is_found_later(void **state)
{
	(void)state;
	static const struct collector *const one[] = {&bad};
	world.absent = true;
	world.time_ns = 1000 * NSEC_PER_SEC;
	struct scrape *s = start(one, 1, 0);
	char *text = text_of(s, PROM_TEXT);
	assert_has(text, "collector=\"bad\"", false);
	assert_int_equal(world.opens, 1);
	free(text);
	/* it appears, but is looked for once a minute only */
	world.absent = false;
	text = text_of(s, PROM_TEXT);
	assert_has(text, "t_bad 1\n", false);
	free(text);
	world.time_ns = 1061 * NSEC_PER_SEC;
	text = text_of(s, PROM_TEXT);
	assert_has(text, "t_bad 1\n", true);
	assert_has(text, "collector_success{collector=\"bad\"} 1\n", true);
	free(text);
	scrape_free(s);
}

static void collector_that_cannot_open_is_off_and_tried_again(void **state)
{
	(void)state;
	static const struct collector *const one[] = {&bad};
	world.open_fails = true;
	world.time_ns = 1000 * NSEC_PER_SEC;
	struct scrape *s = start(one, 1, 0);
	char *text = text_of(s, PROM_TEXT);
	assert_has(text, "collector_success{collector=\"bad\"} 0\n", true);
	free(text);
	world.open_fails = false;
	world.time_ns = 1061 * NSEC_PER_SEC;
	text = text_of(s, PROM_TEXT);
	assert_has(text, "collector_success{collector=\"bad\"} 1\n", true);
	free(text);
	scrape_free(s);
}

static void collectors_run_under_the_lock_after_prepare(void **state)
{
	(void)state;
	struct scrape *s = start(both, 2, 0);
	free(text_of(s, PROM_TEXT));
	assert_true(world.locked_when_run);
	assert_int_equal(world.prepared, 1);
	assert_int_equal(pthread_mutex_trylock(&world.lock), 0);
	pthread_mutex_unlock(&world.lock);
	scrape_free(s);
}

static void longest_gap_is_remembered(void **state)
{
	(void)state;
	struct scrape *s = start(both, 2, 0);
	static const uint64_t at_s[] = {100, 110, 145, 150};
	assert_int_equal(scrape_longest_gap_ms(s), 0);
	for (size_t i = 0; i < 4; i++) {
		world.time_ns = at_s[i] * NSEC_PER_SEC;
		free(text_of(s, PROM_TEXT));
	}
	assert_int_equal(scrape_longest_gap_ms(s), 35000);
	assert_int_equal(scrape_count(s), 4);
	scrape_free(s);
}

static void linger_is_three_gaps_and_never_more_than_an_hour_of_its_own(void **state)
{
	(void)state;
	struct scrape *s = start(both, 2, 0);
	const uint64_t day_s = 86400;

	assert_int_equal(scrape_linger_ms(s, 60000), 60000); /* nobody scraped yet */
	world.time_ns = 100 * NSEC_PER_SEC;
	free(text_of(s, PROM_TEXT));
	world.time_ns += 15 * NSEC_PER_SEC;
	free(text_of(s, PROM_TEXT));
	assert_int_equal(scrape_linger_ms(s, 60000), 60000);
	world.time_ns += 40 * NSEC_PER_SEC;
	free(text_of(s, PROM_TEXT));
	assert_int_equal(scrape_linger_ms(s, 60000), 120000);
	world.time_ns += day_s * NSEC_PER_SEC;
	free(text_of(s, PROM_TEXT));
	assert_int_equal(scrape_linger_ms(s, 60000), 3600000);
	assert_int_equal(scrape_linger_ms(s, 7200000), 7200000);
	scrape_free(s);
}

struct client {
	pthread_t thread;
	struct scrape *s;
	atomic_uint *begun;
	uint64_t run;            /* what it got */
	unsigned started_before; /* collections begun when it asked */
};

static uint64_t run_of(const char *text)
{
	const char *at = strstr(text, "\nt_runs_total ");
	return at ? strtoull(at + 14, NULL, 10) : 0;
}

static void *client_main(void *arg)
{
	struct client *c = arg;
	c->started_before = world.runs;
	atomic_fetch_add(c->begun, 1);
	char *text = text_of(c->s, PROM_TEXT);
	c->run = run_of(text);
	free(text);
	return NULL;
}

#define CLIENTS 8

/* While one collection is held up, more requests arrive: they all wait for the next one
 * and share it; none gets the one that began before it asked. */
static void requests_share_a_collection_that_began_after_them(void **state)
{
	(void)state;
	struct scrape *s = start(both, 2, 0);
	struct client c[CLIENTS] = {{0}};
	atomic_uint begun = 0;
	struct timespec pause = {.tv_nsec = 1000000};
	world.hold = true;
	for (size_t i = 0; i < CLIENTS; i++) {
		c[i].s = s;
		c[i].begun = &begun;
		assert_int_equal(pthread_create(&c[i].thread, NULL, client_main, &c[i]),
				 0);
		/* the first is being collected before the others ask */
		while (world.runs == 0)
			nanosleep(&pause, NULL);
	}
	while (begun < CLIENTS)
		nanosleep(&pause, NULL);
	/* begun is counted before the wait: give the last one time to get there */
	struct timespec settle = {.tv_nsec = 500000000};
	nanosleep(&settle, NULL);
	world.hold = false;
	for (size_t i = 0; i < CLIENTS; i++)
		pthread_join(c[i].thread, NULL);
	for (size_t i = 0; i < CLIENTS; i++)
		assert_true(c[i].run > c[i].started_before);
	assert_int_equal(c[0].run, 1);
	/* all others in one more; a thread that was late to wait may need a third */
	assert_in_range(world.runs, 2, 3);
	assert_int_equal(world.most_inside, 1);
	scrape_free(s);
}

static void *hammer_main(void *arg)
{
	struct client *c = arg;
	for (int i = 0; i < 50; i++) {
		struct scrape_result *r = NULL;
		const struct buf *body = NULL;
		unsigned before = world.runs;
		if (scrape_get(c->s, &r, NULL) != 0 ||
		    scrape_result_body(r, i % 2 ? PROM_TEXT : PROM_OPENMETRICS,
				       i % 3 == 0, &body) != 0 ||
		    body->len == 0)
			return NULL;
		if (scrape_result_body(r, PROM_TEXT, false, &body) == 0 &&
		    run_of(body->data) > before)
			c->run++;
		scrape_result_unref(r);
	}
	return NULL;
}

static void many_scrapers_at_once_each_get_a_whole_fresh_answer(void **state)
{
	(void)state;
	struct scrape *s = start(both, 2, 0);
	struct client c[CLIENTS] = {{0}};
	for (size_t i = 0; i < CLIENTS; i++) {
		c[i].s = s;
		assert_int_equal(pthread_create(&c[i].thread, NULL, hammer_main, &c[i]),
				 0);
	}
	for (size_t i = 0; i < CLIENTS; i++)
		pthread_join(c[i].thread, NULL);
	for (size_t i = 0; i < CLIENTS; i++)
		assert_int_equal(c[i].run, 50);
	assert_int_equal(world.most_inside, 1);
	assert_true(world.runs < CLIENTS * 50);
	scrape_free(s);
}

static void gzip_holds_the_same_bytes(void **state)
{
	(void)state;
	struct scrape *s = start(both, 2, 0);
	struct scrape_result *r = NULL;
	const struct buf *plain = NULL, *gzip = NULL;
	assert_int_equal(scrape_get(s, &r, NULL), 0);
	assert_int_equal(scrape_result_body(r, PROM_OPENMETRICS, true, &gzip), 0);
	assert_int_equal(scrape_result_body(r, PROM_OPENMETRICS, false, &plain), 0);
	char *out = calloc(1, plain->len + 1);
	assert_non_null(out);
	z_stream z = {.next_in = (Bytef *)gzip->data,
		      .avail_in = (uInt)gzip->len,
		      .next_out = (Bytef *)out,
		      .avail_out = (uInt)plain->len + 1};
	assert_int_equal(inflateInit2(&z, 15 + 16), Z_OK);
	assert_int_equal(inflate(&z, Z_FINISH), Z_STREAM_END);
	assert_int_equal(z.total_out, plain->len);
	inflateEnd(&z);
	assert_memory_equal(out, plain->data, plain->len);
	free(out);
	scrape_result_unref(r);
	scrape_free(s);
}

static void requests_are_counted_by_status(void **state)
{
	(void)state;
	struct scrape *s = start(both, 2, 0);
	assert_int_equal(scrape_http_begin(s), 1);
	scrape_http_end(s, 200);
	assert_int_equal(scrape_http_begin(s), 1);
	assert_int_equal(scrape_http_begin(s), 2);
	scrape_http_end(s, 503);
	char *text = text_of(s, PROM_TEXT);
	assert_has(text, "requests_total{code=\"200\"} 1\n", true);
	assert_has(text, "requests_total{code=\"500\"} 0\n", true);
	assert_has(text, "requests_total{code=\"503\"} 1\n", true);
	assert_has(text, "requests_in_flight 1\n", true);
	free(text);
	scrape_free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(failing_collector_loses_its_own_samples_alone,
				       fresh_world),
		cmocka_unit_test_setup(
			collector_over_the_limit_loses_its_own_samples_alone,
			fresh_world),
		cmocka_unit_test_setup(absent_device_gives_no_series_and_is_found_later,
				       fresh_world),
		cmocka_unit_test_setup(
			collector_that_cannot_open_is_off_and_tried_again, fresh_world),
		cmocka_unit_test_setup(collectors_run_under_the_lock_after_prepare,
				       fresh_world),
		cmocka_unit_test_setup(longest_gap_is_remembered, fresh_world),
		cmocka_unit_test_setup(
			linger_is_three_gaps_and_never_more_than_an_hour_of_its_own,
			fresh_world),
		cmocka_unit_test_setup(
			requests_share_a_collection_that_began_after_them, fresh_world),
		cmocka_unit_test_setup(
			many_scrapers_at_once_each_get_a_whole_fresh_answer,
			fresh_world),
		cmocka_unit_test_setup(gzip_holds_the_same_bytes, fresh_world),
		cmocka_unit_test_setup(requests_are_counted_by_status, fresh_world),
	};
	return cmocka_run_group_tests_name("scrape_test", tests, NULL, NULL);
}
