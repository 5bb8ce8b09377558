/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lb/site/health.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lb/site/backend_impl.h"
#include "test/unit/unit.h"

#define BUILD_3                                                                        \
	"{\"status\":\"success\",\"data\":{\"version\":\"3.5.0\",\"goVersion\":\"go1." \
	"24\"}}"
#define BUILD_OTHER "{\"status\":\"success\",\"data\":{\"version\":\"2.24.0\"}}"
#define BUILD_2                                                                        \
	"{\"status\":\"success\",\"data\":{\"version\":\"2.42.0\",\"goVersion\":"      \
	"\"go1.19\"}}"

/* A server that answers three paths, one connection after the other. */
struct server {
	int fd;
	uint16_t port;
	pthread_t thread;
	atomic_bool stop, silent;
	atomic_uint ready, build_status, query_status, asked, build_asked;
	_Atomic(const char *) build;
	char head[4096]; /* of the last request */
};

static void answer(struct server *s, int fd)
{
	char text[512];
	ssize_t n = read(fd, s->head, sizeof(s->head) - 1);
	const char *body = "";
	unsigned status;

	if (n <= 0)
		return;
	s->head[n] = '\0';
	atomic_fetch_add(&s->asked, 1);
	if (strncmp(s->head, "GET /base/api/v1/status/buildinfo ", 34) == 0) {
		atomic_fetch_add(&s->build_asked, 1);
		status = atomic_load(&s->build_status);
		body = atomic_load(&s->build);
	} else if (strncmp(s->head, "GET /base/-/ready ", 18) == 0 ||
		   strncmp(s->head, "GET /base/ready ", 16) == 0) {
		status = atomic_load(&s->ready);
	} else if (strncmp(s->head, "GET /base/api/v1/query?query=1 ", 31) == 0) {
		status = atomic_load(&s->query_status);
	} else {
		status = 404;
	}
	int len = snprintf(text, sizeof(text),
			   "HTTP/1.1 %u X\r\nContent-Length: %zu\r\nConnection: "
			   "close\r\n\r\n%s",
			   status, strlen(body), body);
	(void)!write(fd, text, (size_t)len);
}

static void *server_main(void *arg)
{
	struct server *s = arg;

	while (!atomic_load(&s->stop)) {
		struct pollfd p = {.fd = s->fd, .events = POLLIN};

		if (poll(&p, 1, 20) <= 0)
			continue;
		int fd = accept4(s->fd, NULL, NULL, SOCK_CLOEXEC);
		if (fd < 0)
			continue;
		while (atomic_load(&s->silent) && !atomic_load(&s->stop))
			usleep(5000);
		answer(s, fd);
		close(fd);
	}
	return NULL;
}

static void server_start(struct server *s)
{
	struct sockaddr_in a = {.sin_family = AF_INET,
				.sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(a);

	memset(s, 0, sizeof(*s));
	atomic_store(&s->ready, 200);
	atomic_store(&s->build_status, 200);
	atomic_store(&s->query_status, 404);
	atomic_store(&s->build, BUILD_3);
	s->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_true(s->fd >= 0);
	assert_int_equal(bind(s->fd, (struct sockaddr *)&a, sizeof(a)), 0);
	assert_int_equal(listen(s->fd, 8), 0);
	assert_int_equal(getsockname(s->fd, (struct sockaddr *)&a, &len), 0);
	s->port = ntohs(a.sin_port);
	assert_int_equal(pthread_create(&s->thread, NULL, server_main, s), 0);
}

static void server_stop(struct server *s)
{
	atomic_store(&s->stop, true);
	pthread_join(s->thread, NULL);
	close(s->fd);
}

static struct backend *backend_of(const struct server *s, bool pyroscope)
{
	static const struct http_header more[] = {{"X-Scope-OrgID", "site"}};
	struct backend *b = NULL;
	char name[64];
	struct backend_params p = {.cluster = "alpha",
				   .pyroscope = pyroscope,
				   .name = name,
				   .host = "127.0.0.1",
				   .port = s->port,
				   .base_path = "/base",
				   .authorization = "Bearer t0ken",
				   .headers = more,
				   .header_count = 1,
				   .from_ms = INT64_MIN,
				   .to_ms = INT64_MAX,
				   .dialect = -1,
				   .promql_flags = PROMQL_FLAGS,
				   .care = {.timeout_ms = 2000}};

	snprintf(name, sizeof(name), "http://127.0.0.1:%u/base", s->port);
	assert_int_equal(backend_new(&p, &b, NULL), 0);
	return b;
}

static int look(struct backend *b, bool want, int *ret_dialect)
{
	struct err err = {""};

	*ret_dialect = -1;
	return health_check(b, "test", want, ret_dialect, &err);
}

static void a_prometheus_that_is_ready_is_well_and_says_its_dialect(void **state)
{
	struct server s;
	int dialect;

	(void)state;
	server_start(&s);
	struct backend *b = backend_of(&s, false);
	assert_int_equal(look(b, true, &dialect), 0);
	assert_int_equal(dialect, PROMQL_3);
	atomic_store(&s.build, BUILD_2);
	assert_int_equal(look(b, true, &dialect), 0);
	assert_int_equal(dialect, PROMQL_2);
	assert_non_null(strstr(s.head, "Authorization: Bearer t0ken\r\n"));
	assert_non_null(strstr(s.head, "X-Scope-OrgID: site\r\n"));
	/* older than any that is served: of something else */
	atomic_store(&s.build, BUILD_OTHER);
	assert_int_equal(look(b, true, &dialect), 0);
	assert_int_equal(dialect, PROMQL_2 | PROMQL_OTHER);
	/* a number of Prometheus', but not its */
	atomic_store(&s.build,
		     "{\"status\":\"success\",\"data\":{\"version\":\"3.1.0\","
		     "\"goVersion\":\"go1.24\",\"application\":\"Grafana Mimir\"}}");
	assert_int_equal(look(b, true, &dialect), 0);
	assert_int_equal(dialect, PROMQL_2 | PROMQL_OTHER);
	/* a number alone, as VictoriaMetrics gives one for Grafana */
	atomic_store(&s.build,
		     "{\"status\":\"success\",\"data\":{\"version\":\"3.1.0\"}}");
	assert_int_equal(look(b, true, &dialect), 0);
	assert_int_equal(dialect, PROMQL_2 | PROMQL_OTHER);
	/* nonsense is not what Prometheus says, and no illness */
	atomic_store(&s.build, "<html>");
	assert_int_equal(look(b, true, &dialect), 0);
	assert_int_equal(dialect, PROMQL_2 | PROMQL_OTHER);
	/* a failure says nothing */
	atomic_store(&s.build_status, 503);
	assert_int_equal(look(b, true, &dialect), 0);
	assert_int_equal(dialect, -1);
	unsigned asked = atomic_load(&s.build_asked);
	assert_int_equal(look(b, false, &dialect), 0);
	assert_int_equal(atomic_load(&s.build_asked), asked);
	backend_unref(b);
	server_stop(&s);
}

static void one_that_is_not_ready_is_ill(void **state)
{
	struct server s;
	int dialect;

	(void)state;
	server_start(&s);
	struct backend *b = backend_of(&s, false);
	atomic_store(&s.ready, 503);
	assert_int_equal(look(b, true, &dialect), -EPROTO);
	assert_int_equal(atomic_load(&s.build_asked), 0);
	backend_unref(b);
	server_stop(&s);
	b = backend_of(&s, false);
	assert_int_equal(look(b, true, &dialect), -ECONNREFUSED);
	backend_unref(b);
}

static void what_is_like_prometheus_is_well_by_its_build_info(void **state)
{
	struct server s;
	int dialect;

	(void)state;
	server_start(&s);
	struct backend *b = backend_of(&s, false);
	atomic_store(&s.ready, 404);
	assert_int_equal(look(b, false, &dialect), 0);
	assert_int_equal(dialect, PROMQL_3);
	atomic_store(&s.build_status, 401);
	assert_int_equal(look(b, false, &dialect), -EPROTO);
	backend_unref(b);
	server_stop(&s);
}

static void what_tells_no_build_info_is_well_by_a_query(void **state)
{
	struct server s;
	int dialect;

	(void)state;
	server_start(&s);
	struct backend *b = backend_of(&s, false);
	atomic_store(&s.ready, 404);
	atomic_store(&s.build_status, 404);
	assert_int_equal(look(b, true, &dialect), -EPROTO);
	atomic_store(&s.query_status, 200);
	assert_int_equal(look(b, true, &dialect), 0);
	assert_int_equal(dialect, PROMQL_2 | PROMQL_OTHER);
	atomic_store(&s.query_status, 401);
	assert_int_equal(look(b, true, &dialect), -EPROTO);
	/* one that denies its build info is not asked */
	atomic_store(&s.query_status, 200);
	atomic_store(&s.build_status, 403);
	assert_int_equal(look(b, true, &dialect), -EPROTO);
	backend_unref(b);
	server_stop(&s);
}

static void pyroscope_is_asked_by_its_own_path(void **state)
{
	struct server s;
	int dialect;

	(void)state;
	server_start(&s);
	struct backend *b = backend_of(&s, true);
	assert_int_equal(look(b, true, &dialect), 0);
	assert_non_null(strstr(s.head, "GET /base/ready "));
	assert_int_equal(dialect, -1);
	atomic_store(&s.ready, 500);
	assert_int_equal(look(b, true, &dialect), -EPROTO);
	backend_unref(b);
	server_stop(&s);
}

static void one_that_says_nothing_is_ill_in_time(void **state)
{
	struct server s;
	int dialect;

	(void)state;
	server_start(&s);
	struct backend *b = backend_of(&s, false);
	atomic_store(&s.silent, true);
	assert_int_equal(look(b, true, &dialect), -ETIMEDOUT);
	backend_unref(b);
	server_stop(&s);
}

/* ---- the threads ----------------------------------------------------------------- */

static bool soon(atomic_bool *what, bool is)
{
	for (int i = 0; i < 6000; i++) {
		if (atomic_load(what) == is)
			return true;
		usleep(10000);
	}
	return false;
}

static void start_threads(const struct server *s, const char *more, struct health **ret,
			  struct site **ret_site)
{
	struct err err = {""};
	char text[512];

	*ret_site = NULL;
	snprintf(text, sizeof(text),
		 "ceems_lb:\n  health: {interval: 100ms, timeout: 5s}\n  backends:\n"
		 "    - id: a\n      tsdb: [{web: {url: "
		 "\"http://127.0.0.1:%u/base\"}%s}]\n",
		 s->port, more);
	assert_int_equal(
		site_parse(text, strlen(text), "x", false, NULL, ret_site, NULL, &err),
		0);
	assert_int_equal(health_new("test", ret, &err), 0);
	health_set_site(*ret, *ret_site);
	assert_int_equal(health_start(*ret, &err), 0);
}

static void free_threads(struct health *h, struct site *site)
{
	health_stop(h);
	health_free(h);
	site_unref(site);
}

static void threads_find_who_went_and_who_came_back(void **state)
{
	struct server s;
	struct site *site = NULL;
	struct health *h = NULL;

	(void)state;
	server_start(&s);
	start_threads(&s, "", &h, &site);
	struct backend_server *b = backend_set_at(site->clusters[0].backends[0], 0);
	atomic_store(&s.ready, 503);
	assert_true(soon(&b->down, true));
	atomic_store(&s.ready, 200);
	assert_true(soon(&b->down, false));
	assert_true(atomic_load(&b->since_ms) > 0);
	for (int i = 0; i < 6000; i++) {
		if (backend_set_dialect(site->clusters[0].backends[0]) == PROMQL_3)
			break;
		usleep(10000);
	}
	assert_int_equal(backend_set_dialect(site->clusters[0].backends[0]), PROMQL_3);
	assert_true(atomic_load(&b->checks_failed) > 0);
	free_threads(h, site);
	server_stop(&s);
}

/* The site's word is about the grammar. */
static void a_dialect_that_is_given_makes_no_prometheus(void **state)
{
	struct server s;
	struct site *site = NULL;
	struct health *h = NULL;

	(void)state;
	server_start(&s);
	atomic_store(&s.build, BUILD_OTHER);
	start_threads(&s, ", dialect: \"3\"", &h, &site);
	struct backend_set *set = site->clusters[0].backends[0];
	assert_int_equal(backend_set_dialect(set), PROMQL_3 | PROMQL_OTHER);
	while (!atomic_load(&s.build_asked))
		usleep(10000);
	assert_int_equal(backend_set_dialect(set), PROMQL_3 | PROMQL_OTHER);
	free_threads(h, site);
	atomic_store(&s.build, BUILD_2);
	start_threads(&s, ", dialect: \"3\"", &h, &site);
	set = site->clusters[0].backends[0];
	for (int i = 0; i < 6000 && backend_set_dialect(set) != PROMQL_3; i++)
		usleep(10000);
	assert_int_equal(backend_set_dialect(set), PROMQL_3);
	free_threads(h, site);
	server_stop(&s);
}

/* Behind its address another has taken its place. */
static void one_that_is_prometheus_no_more_is_known_as_such(void **state)
{
	struct server s;
	struct site *site = NULL;
	struct health *h = NULL;

	(void)state;
	server_start(&s);
	start_threads(&s, "", &h, &site);
	struct backend_set *set = site->clusters[0].backends[0];
	for (int i = 0; i < 6000 && backend_set_dialect(set) != PROMQL_3; i++)
		usleep(10000);
	assert_int_equal(backend_set_dialect(set), PROMQL_3);
	atomic_store(&s.build_status, 404);
	atomic_store(&s.ready, 503);
	assert_true(soon(&backend_set_at(set, 0)->down, true));
	atomic_store(&s.ready, 200);
	assert_true(soon(&backend_set_at(set, 0)->down, false));
	assert_int_equal(backend_set_dialect(set), PROMQL_2 | PROMQL_OTHER);
	free_threads(h, site);
	server_stop(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			a_prometheus_that_is_ready_is_well_and_says_its_dialect),
		cmocka_unit_test(one_that_is_not_ready_is_ill),
		cmocka_unit_test(what_is_like_prometheus_is_well_by_its_build_info),
		cmocka_unit_test(what_tells_no_build_info_is_well_by_a_query),
		cmocka_unit_test(pyroscope_is_asked_by_its_own_path),
		cmocka_unit_test(one_that_says_nothing_is_ill_in_time),
		cmocka_unit_test(threads_find_who_went_and_who_came_back),
		cmocka_unit_test(a_dialect_that_is_given_makes_no_prometheus),
		cmocka_unit_test(one_that_is_prometheus_no_more_is_known_as_such),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
