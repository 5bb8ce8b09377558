/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lb/site/backend.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "lb/site/backend_impl.h"
#include "test/unit/unit.h"

#define NOW_MS 1700000000000ll
#define DAY_MS 86400000ll
#define BOOT_MS 1000000ll

struct rig {
	struct backend *b[BACKENDS_MAX];
	size_t n;
	struct backend_set *set;
	bool of_prometheus; /* what is asked was proved for it alone */
};

static struct backend_params params(const char *name)
{
	return (struct backend_params){.cluster = "alpha",
				       .name = name,
				       .host = "localhost",
				       .port = 9090,
				       .base_path = "",
				       .from_ms = INT64_MIN,
				       .to_ms = INT64_MAX,
				       .dialect = -1};
}

static void add(struct rig *r, const struct backend_params *p)
{
	struct err err = {""};

	assert_int_equal(backend_new(p, &r->b[r->n], &err), 0);
	r->n++;
}

static void add_many(struct rig *r, size_t n, uint32_t max, uint32_t slow_ms)
{
	for (size_t i = 0; i < n; i++) {
		char name[48];
		struct backend_params p;

		snprintf(name, sizeof(name), "http://b%zu:9090", i);
		p = params(name);
		p.max_requests = max;
		p.care.slow_start_ms = slow_ms;
		add(r, &p);
	}
}

static void join(struct rig *r, enum backend_strategy strategy)
{
	struct err err = {""};

	assert_int_equal(backend_set_new(strategy, r->b, r->n, &r->set, &err), 0);
}

static void done(struct rig *r)
{
	backend_set_free(r->set);
}

static size_t index_of(const struct rig *r, const struct backend *b)
{
	for (size_t i = 0; i < r->n; i++) {
		if (r->b[i] == b)
			return i;
	}
	fail_msg("a server of another set");
	return 0;
}

/* The server's number, or a negative errno. */
static int pick_at(struct rig *r, int64_t from_ms, int64_t to_ms, int64_t boot_ms,
		   const struct backend *not_this)
{
	struct backend *b = NULL;
	struct err err = {""};
	const struct backend_need need = {
		.from_ms = from_ms,
		.to_ms = to_ms,
		.now_ms = NOW_MS,
		.dialect = r->of_prometheus ? PROMQL_2 : PROMQL_2 | PROMQL_OTHER,
		.not_this = not_this};
	int rc = backend_pick_at(r->set, &need, boot_ms, &b, &err);

	return rc < 0 ? rc : (int)index_of(r, b);
}

static int pick(struct rig *r)
{
	return pick_at(r, NOW_MS - 1000, NOW_MS, BOOT_MS, NULL);
}

static void end(struct rig *r, int i, enum backend_outcome how)
{
	backend_ended_at(r->b[i], how, 5, BOOT_MS);
}

static unsigned busy(struct rig *r, size_t i)
{
	return atomic_load(&backend_server(r->b[i])->in_flight);
}

static void down(struct rig *r, size_t i, bool is)
{
	backend_set_down(backend_server(r->b[i]), is, BOOT_MS);
}

static void round_robin_gives_each_the_same(void **state)
{
	struct rig r = {.n = 0};
	unsigned count[5] = {0};

	(void)state;
	add_many(&r, 5, 0, 0);
	join(&r, STRATEGY_ROUND_ROBIN);
	for (int i = 0; i < 1000; i++) {
		int k = pick(&r);
		count[k]++;
		end(&r, k, BACKEND_ANSWERED);
	}
	for (int i = 0; i < 5; i++)
		assert_int_equal(count[i], 200);
	done(&r);
}

static void load_of_one_that_is_down_is_shared_by_all_others(void **state)
{
	struct rig r = {.n = 0};
	unsigned count[5] = {0};

	(void)state;
	add_many(&r, 5, 0, 0);
	join(&r, STRATEGY_ROUND_ROBIN);
	down(&r, 2, true);
	for (int i = 0; i < 1000; i++) {
		int k = pick(&r);
		count[k]++;
		end(&r, k, BACKEND_ANSWERED);
	}
	for (int i = 0; i < 5; i++)
		assert_int_equal(count[i], i == 2 ? 0 : 250);
	done(&r);
}

static void least_connection_takes_the_least_busy(void **state)
{
	struct rig r = {.n = 0};

	(void)state;
	add_many(&r, 4, 0, 0);
	join(&r, STRATEGY_LEAST_CONNECTION);
	for (int i = 0; i < 40; i++)
		pick(&r);
	for (size_t i = 0; i < 4; i++)
		assert_int_equal(busy(&r, i), 10);
	for (int i = 0; i < 5; i++)
		end(&r, 3, BACKEND_ANSWERED);
	for (int i = 0; i < 5; i++)
		assert_int_equal(pick(&r), 3);
	for (size_t i = 0; i < 4; i++) {
		while (busy(&r, i))
			end(&r, (int)i, BACKEND_ANSWERED);
	}
	done(&r);
}

static void a_server_never_has_more_than_it_may(void **state)
{
	struct rig r = {.n = 0};

	(void)state;
	add_many(&r, 2, 3, 0);
	join(&r, STRATEGY_ROUND_ROBIN);
	for (int i = 0; i < 6; i++)
		assert_true(pick(&r) >= 0);
	assert_int_equal(pick(&r), -EBUSY);
	assert_int_equal(busy(&r, 0), 3);
	assert_int_equal(busy(&r, 1), 3);
	end(&r, 1, BACKEND_ANSWERED);
	assert_int_equal(pick(&r), 1);
	for (int i = 0; i < 3; i++) {
		end(&r, 0, BACKEND_ANSWERED);
		end(&r, 1, BACKEND_ANSWERED);
	}
	done(&r);
}

static void the_one_that_failed_just_now_is_not_asked_again(void **state)
{
	struct rig r = {.n = 0};

	(void)state;
	add_many(&r, 2, 0, 0);
	join(&r, STRATEGY_ROUND_ROBIN);
	for (int i = 0; i < 10; i++) {
		assert_int_equal(pick_at(&r, 0, NOW_MS, BOOT_MS, r.b[0]), 1);
		end(&r, 1, BACKEND_ANSWERED);
	}
	down(&r, 1, true);
	assert_int_equal(pick_at(&r, 0, NOW_MS, BOOT_MS, r.b[0]), -EHOSTUNREACH);
	done(&r);
}

static void a_cancelled_client_ejects_nobody(void **state)
{
	struct rig r = {.n = 0};

	(void)state;
	add_many(&r, 2, 0, 0);
	join(&r, STRATEGY_ROUND_ROBIN);
	for (int i = 0; i < 1000; i++)
		end(&r, pick(&r), BACKEND_CANCELLED);
	for (size_t i = 0; i < 2; i++) {
		struct backend_server *s = backend_server(r.b[i]);

		assert_int_equal(atomic_load(&s->until_ms), 0);
		assert_int_equal(atomic_load(&s->ejected), 0);
		assert_false(atomic_load(&s->look));
		assert_int_equal(atomic_load(&s->ended[BACKEND_CANCELLED]), 500);
	}
	done(&r);
}

static void heavy_queries_that_time_out_eject_nobody_but_are_looked_into(void **state)
{
	struct rig r = {.n = 0};

	(void)state;
	add_many(&r, 1, 0, 0);
	join(&r, STRATEGY_ROUND_ROBIN);
	for (int i = 0; i < 100; i++)
		end(&r, pick(&r), BACKEND_TIMED_OUT);
	assert_int_equal(atomic_load(&backend_server(r.b[0])->until_ms), 0);
	assert_true(atomic_load(&backend_server(r.b[0])->look));
	done(&r);
}

static void failures_in_a_row_eject_for_a_time_that_doubles(void **state)
{
	struct rig r = {.n = 0};
	int64_t boot = BOOT_MS;

	(void)state;
	add_many(&r, 2, 0, 0);
	join(&r, STRATEGY_ROUND_ROBIN);
	struct backend_server *s = backend_server(r.b[0]);
	for (int64_t gap = 1000; gap <= 60000; gap *= 2) {
		for (int i = 0; i < 3; i++) {
			assert_int_equal(pick_at(&r, 0, NOW_MS, boot, r.b[1]), 0);
			backend_ended_at(r.b[0], BACKEND_FAILED, 0, boot);
		}
		assert_int_equal(atomic_load(&s->until_ms), boot + gap);
		for (int i = 0; i < 6; i++) {
			assert_int_equal(pick_at(&r, 0, NOW_MS, boot, NULL), 1);
			end(&r, 1, BACKEND_ANSWERED);
		}
		boot += gap; /* and it is asked again */
	}
	/* one good answer, and all is forgotten */
	assert_int_equal(pick_at(&r, 0, NOW_MS, boot, r.b[1]), 0);
	backend_ended_at(r.b[0], BACKEND_ANSWERED, 1, boot);
	assert_int_equal(atomic_load(&s->until_ms), 0);
	assert_int_equal(atomic_load(&s->ejections), 0);
	done(&r);
}

static void failures_with_answers_between_them_eject_nobody(void **state)
{
	struct rig r = {.n = 0};

	(void)state;
	add_many(&r, 1, 0, 0);
	join(&r, STRATEGY_ROUND_ROBIN);
	for (int i = 0; i < 100; i++)
		end(&r, pick(&r), i % 3 == 2 ? BACKEND_ANSWERED : BACKEND_FAILED);
	assert_int_equal(atomic_load(&backend_server(r.b[0])->ejected), 0);
	done(&r);
}

static void ejection_alone_is_never_an_outage(void **state)
{
	struct rig r = {.n = 0};

	(void)state;
	add_many(&r, 2, 0, 0);
	join(&r, STRATEGY_ROUND_ROBIN);
	for (int i = 0; i < 20; i++) {
		int k = pick(&r);
		assert_true(k >= 0);
		end(&r, k, BACKEND_FAILED);
	}
	assert_true(atomic_load(&backend_server(r.b[0])->ejected) > 0);
	assert_true(atomic_load(&backend_server(r.b[1])->ejected) > 0);
	assert_true(pick(&r) >= 0);
	down(&r, 0, true);
	down(&r, 1, true);
	assert_int_equal(pick(&r), -EHOSTUNREACH);
	end(&r, busy(&r, 0) ? 0 : 1, BACKEND_FAILED);
	done(&r);
}

static void who_comes_back_gets_its_share_little_by_little(void **state)
{
	struct rig r = {.n = 0};
	unsigned share[3];

	(void)state;
	add_many(&r, 4, 0, 10000);
	join(&r, STRATEGY_ROUND_ROBIN);
	down(&r, 1, true);
	backend_set_down(backend_server(r.b[1]), false, BOOT_MS);
	for (int k = 0; k < 3; k++) {
		unsigned count = 0;

		for (int i = 0; i < 4000; i++) {
			int b = pick_at(&r, 0, NOW_MS, BOOT_MS + 1 + k * 5000, NULL);

			count += b == 1;
			end(&r, b, BACKEND_CANCELLED);
		}
		share[k] = count;
	}
	assert_in_range(share[0], 50, 200);
	assert_in_range(share[1], 400, 700);
	assert_int_equal(share[2], 1000);
	done(&r);
}

/* ---- time ------------------------------------------------------------------------ */

static struct rig times(void)
{
	struct rig r = {.n = 0};
	struct backend_params hot = params("http://hot:9090");
	struct backend_params hot2 = params("http://hot2:9090");
	struct backend_params year = params("http://year:9090");
	struct backend_params old = params("http://archive:9090");

	hot.retention_ms = hot2.retention_ms = 15 * DAY_MS;
	year.retention_ms = 365 * DAY_MS;
	old.to_ms = NOW_MS - 300 * DAY_MS;
	add(&r, &hot);
	add(&r, &hot2);
	add(&r, &year);
	add(&r, &old);
	join(&r, STRATEGY_ROUND_ROBIN);
	return r;
}

static int at(struct rig *r, int64_t from_days, int64_t to_days)
{
	int k = pick_at(r, NOW_MS - from_days * DAY_MS, NOW_MS - to_days * DAY_MS,
			BOOT_MS, NULL);
	if (k >= 0)
		end(r, k, BACKEND_CANCELLED);
	return k;
}

static void a_query_goes_where_its_whole_time_is_held(void **state)
{
	struct rig r = times();

	(void)state;
	assert_in_range(at(&r, 1, 0), 0, 1);
	assert_int_not_equal(at(&r, 1, 0), at(&r, 1, 0)); /* both share */
	assert_in_range(at(&r, 15, 14), 0, 1);
	assert_int_equal(at(&r, 16, 0), 2);
	assert_int_equal(at(&r, 365, 0), 2);
	assert_int_equal(at(&r, 500, 400), 3);
	assert_int_equal(at(&r, 350, 310), 2);     /* both hold it: the earlier one */
	assert_int_equal(at(&r, 366, 0), -ERANGE); /* in two parts */
	done(&r);
}

static void the_next_tier_helps_out(void **state)
{
	struct rig r = times();

	(void)state;
	down(&r, 0, true);
	assert_int_equal(at(&r, 1, 0), 1);
	down(&r, 1, true);
	assert_int_equal(at(&r, 1, 0), 2);
	down(&r, 2, true);
	assert_int_equal(at(&r, 1, 0), -EHOSTUNREACH);
	assert_int_equal(at(&r, 500, 400), 3);
	done(&r);
}

static void what_names_no_time_goes_where_most_is(void **state)
{
	struct rig r = times();
	int k = pick_at(&r, INT64_MIN, INT64_MAX, BOOT_MS, NULL);

	(void)state;
	assert_int_equal(k, 2);
	end(&r, k, BACKEND_ANSWERED);
	/* as times that are not there are read of Prometheus' API */
	k = pick_at(&r, 0, 253402300799999, BOOT_MS, NULL);
	assert_int_equal(k, 2);
	end(&r, k, BACKEND_ANSWERED);
	assert_int_equal(pick_at(&r, 0, NOW_MS, BOOT_MS, NULL), -ERANGE);
	done(&r);
}

static void the_refusal_says_where_what_there_is_begins(void **state)
{
	struct rig r = {.n = 0};
	struct backend_params hot = params("http://hot:9090");
	struct backend *b = NULL;
	struct err err = {""};

	(void)state;
	hot.retention_ms = DAY_MS;
	add(&r, &hot);
	join(&r, STRATEGY_ROUND_ROBIN);
	const struct backend_need need = {
		.from_ms = NOW_MS - 2 * DAY_MS, .to_ms = NOW_MS, .now_ms = NOW_MS};
	assert_int_equal(backend_pick_at(r.set, &need, BOOT_MS, &b, &err), -ERANGE);
	assert_non_null(
		strstr(err.text, "the oldest data begin at 2023-11-13T22:13:20Z"));
	done(&r);
}

/* ---- threads --------------------------------------------------------------------- */

#define THREADS 8
#define ROUNDS 40000

struct crowd {
	struct rig *r;
	unsigned seed;
	unsigned *most;
	unsigned long picked[8];
	bool bad;
};

static void *crowd_main(void *arg)
{
	struct crowd *c = arg;
	int held[4] = {-1, -1, -1, -1};
	unsigned x = c->seed;

	for (int i = 0; i < ROUNDS; i++) {
		x = x * 1664525u + 1013904223u;
		unsigned h = x >> 30;
		if (held[h] >= 0) {
			end(c->r, held[h], (enum backend_outcome)(x >> 20 & 3));
			held[h] = -1;
			continue;
		}
		held[h] = pick(c->r);
		if (held[h] < 0) {
			c->bad |= held[h] != -EBUSY;
			held[h] = -1;
			continue;
		}
		c->picked[held[h]]++;
		c->bad |= held[h] == 3; /* is down */
	}
	for (int h = 0; h < 4; h++) {
		if (held[h] >= 0)
			end(c->r, held[h], BACKEND_ANSWERED);
	}
	return NULL;
}

static void crowd(enum backend_strategy strategy, uint32_t max)
{
	struct rig r = {.n = 0};
	struct crowd c[THREADS];
	pthread_t t[THREADS];
	unsigned long total = 0, ended = 0;

	add_many(&r, 8, max, 0);
	join(&r, strategy);
	down(&r, 3, true);
	for (int i = 0; i < THREADS; i++) {
		c[i] = (struct crowd){.r = &r, .seed = (unsigned)i * 7919u + 1};
		assert_int_equal(pthread_create(&t[i], NULL, crowd_main, &c[i]), 0);
	}
	for (int i = 0; i < THREADS; i++) {
		pthread_join(t[i], NULL);
		assert_false(c[i].bad);
		for (int k = 0; k < 8; k++)
			total += c[i].picked[k];
	}
	for (size_t i = 0; i < r.n; i++) {
		struct backend_server *s = backend_server(r.b[i]);

		assert_int_equal(busy(&r, i), 0);
		assert_int_equal(atomic_load(&s->refs), 1);
		for (int k = 0; k < 4; k++)
			ended += atomic_load(&s->ended[k]);
	}
	assert_int_equal(total, ended);
	done(&r);
}

static void many_threads_lose_no_count_and_never_get_one_that_is_down(void **state)
{
	(void)state;
	crowd(STRATEGY_ROUND_ROBIN, 0);
	crowd(STRATEGY_LEAST_CONNECTION, 0);
	crowd(STRATEGY_ROUND_ROBIN, 2);
	crowd(STRATEGY_LEAST_CONNECTION, 2);
}

struct even {
	struct rig *r;
	unsigned long picked[5];
};

static void *even_main(void *arg)
{
	struct even *e = arg;

	for (int i = 0; i < ROUNDS; i++) {
		int k = pick(e->r);
		e->picked[k]++;
		end(e->r, k, BACKEND_ANSWERED);
	}
	return NULL;
}

static void round_robin_of_many_threads_is_even_to_one(void **state)
{
	struct rig r = {.n = 0};
	struct even e[THREADS];
	pthread_t t[THREADS];

	(void)state;
	add_many(&r, 5, 0, 0);
	join(&r, STRATEGY_ROUND_ROBIN);
	for (int i = 0; i < THREADS; i++) {
		e[i] = (struct even){.r = &r};
		assert_int_equal(pthread_create(&t[i], NULL, even_main, &e[i]), 0);
	}
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	for (int k = 0; k < 5; k++) {
		unsigned long n = 0;

		for (int i = 0; i < THREADS; i++)
			n += e[i].picked[k];
		assert_int_equal(n, THREADS * ROUNDS / 5);
	}
	done(&r);
}

/* ---- what it is ------------------------------------------------------------------ */

static void headers_are_as_they_go_over_the_wire(void **state)
{
	const struct http_header more[] = {{"X-Scope-OrgID", "site"}};
	struct rig r = {.n = 0};
	struct backend_params p = params("https://[::1]:9090/prometheus");

	(void)state;
	p.host = "::1";
	p.tls = true;
	p.authorization = "Basic YTpi";
	p.headers = more;
	p.header_count = 1;
	add(&r, &p);
	assert_string_equal(r.b[0]->fixed_headers, "Host: [::1]:9090\r\n"
						   "Authorization: Basic YTpi\r\n"
						   "X-Scope-OrgID: site\r\n");
	p.port = 443;
	p.authorization = NULL;
	p.header_count = 0;
	add(&r, &p);
	assert_string_equal(r.b[1]->fixed_headers, "Host: [::1]\r\n");
	backend_unref(r.b[0]);
	backend_unref(r.b[1]);
}

static void any_difference_makes_another_server(void **state)
{
	struct rig r = {.n = 0};
	struct backend_params p = params("http://a:1"), q = p;

	(void)state;
	add(&r, &p);
	assert_true(backend_same(r.b[0], &q));
	q.authorization = "";
	assert_false(backend_same(r.b[0], &q));
	q = p;
	q.max_requests = 1;
	assert_false(backend_same(r.b[0], &q));
	q = p;
	q.cluster = "beta";
	assert_false(backend_same(r.b[0], &q));
	q = p;
	q.retention_ms = 1;
	assert_false(backend_same(r.b[0], &q));
	q = p;
	q.care.interval_ms = 1;
	assert_false(backend_same(r.b[0], &q));
	backend_unref(r.b[0]);
}

static void the_dialect_is_the_oldest_of_a_set(void **state)
{
	struct rig r = {.n = 0};

	(void)state;
	add_many(&r, 2, 0, 0);
	join(&r, STRATEGY_ROUND_ROBIN);
	/* until it is known it may be no Prometheus */
	assert_int_equal(backend_set_dialect(r.set), PROMQL_2 | PROMQL_OTHER);
	atomic_store(&backend_server(r.b[0])->seen_dialect, PROMQL_3);
	assert_int_equal(backend_set_dialect(r.set), PROMQL_2 | PROMQL_OTHER);
	atomic_store(&backend_server(r.b[1])->seen_dialect, PROMQL_3);
	assert_int_equal(backend_set_dialect(r.set), PROMQL_3);
	atomic_store(&backend_server(r.b[1])->seen_dialect, PROMQL_VERSION(3, 16));
	assert_int_equal(backend_set_dialect(r.set), PROMQL_VERSION(3, 5));
	/* who is away is no reason to refuse */
	atomic_store(&backend_server(r.b[0])->down, true);
	assert_int_equal(backend_set_dialect(r.set), PROMQL_VERSION(3, 16));
	atomic_store(&backend_server(r.b[1])->down, true);
	assert_int_equal(backend_set_dialect(r.set), PROMQL_VERSION(3, 5));
	done(&r);
}

/* Between the proof and the choice a server may come back, or be known as another. */
static void what_was_proved_for_prometheus_goes_to_no_other(void **state)
{
	struct rig r = {.n = 0, .of_prometheus = true};

	(void)state;
	add_many(&r, 2, 0, 0);
	join(&r, STRATEGY_ROUND_ROBIN);
	atomic_store(&backend_server(r.b[0])->seen_dialect, PROMQL_3);
	atomic_store(&backend_server(r.b[1])->seen_dialect, PROMQL_2 | PROMQL_OTHER);
	down(&r, 1, true);
	assert_int_equal(backend_set_dialect(r.set), PROMQL_3);
	down(&r, 1, false);
	for (int i = 0; i < 4; i++)
		assert_int_equal(pick(&r), 0);
	/* nor where the one that it was proved for has just failed */
	assert_int_equal(pick_at(&r, NOW_MS - 1000, NOW_MS, BOOT_MS, r.b[0]), -EBUSY);
	atomic_store(&backend_server(r.b[0])->seen_dialect, -1);
	assert_int_equal(pick(&r), -EBUSY);
	r.of_prometheus = false;
	assert_true(pick(&r) >= 0);
	done(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(round_robin_gives_each_the_same),
		cmocka_unit_test(load_of_one_that_is_down_is_shared_by_all_others),
		cmocka_unit_test(least_connection_takes_the_least_busy),
		cmocka_unit_test(a_server_never_has_more_than_it_may),
		cmocka_unit_test(the_one_that_failed_just_now_is_not_asked_again),
		cmocka_unit_test(a_cancelled_client_ejects_nobody),
		cmocka_unit_test(
			heavy_queries_that_time_out_eject_nobody_but_are_looked_into),
		cmocka_unit_test(failures_in_a_row_eject_for_a_time_that_doubles),
		cmocka_unit_test(failures_with_answers_between_them_eject_nobody),
		cmocka_unit_test(ejection_alone_is_never_an_outage),
		cmocka_unit_test(who_comes_back_gets_its_share_little_by_little),
		cmocka_unit_test(a_query_goes_where_its_whole_time_is_held),
		cmocka_unit_test(the_next_tier_helps_out),
		cmocka_unit_test(what_names_no_time_goes_where_most_is),
		cmocka_unit_test(the_refusal_says_where_what_there_is_begins),
		cmocka_unit_test(
			many_threads_lose_no_count_and_never_get_one_that_is_down),
		cmocka_unit_test(round_robin_of_many_threads_is_even_to_one),
		cmocka_unit_test(headers_are_as_they_go_over_the_wire),
		cmocka_unit_test(any_difference_makes_another_server),
		cmocka_unit_test(the_dialect_is_the_oldest_of_a_set),
		cmocka_unit_test(what_was_proved_for_prometheus_goes_to_no_other),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
