/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Questions over HTTP, to aggregators that answer well, not, or rudely. */
#include "lb/gate/ownership.h"

#include <errno.h>
#include <stdlib.h>

#include "test/unit/http_script.h"

static const struct str ids[] = {{"1", 1}, {"22", 2}};
static const struct ownership_ask question = {
	.login = "ann", .cluster = "al&pha", .ids = ids, .count = 2};

struct talk {
	unsigned status;
	const char *headers, *raw; /* raw: in place of an answer */
	char request[4096];
};

static bool answer(void *arg, const char *request, struct buf *out)
{
	struct talk *t = arg;

	snprintf(t->request, sizeof(t->request), "%s", request);
	if (t->raw) {
		buf_puts(out, t->raw);
		return false;
	}
	http_script_put(out, t->status, t->headers ? t->headers : "", "{\"x\":1}");
	return true;
}

static int ask_talk(struct talk *t, const struct ownership_ask *q, const char *before,
		    struct buf *ret, struct err *err)
{
	struct http_script s;
	const char *urls[2] = {before, NULL};
	struct site_api api = {.user = "lb",
			       .password = "correct horse",
			       .urls = urls,
			       .timeout_ms = 20000};
	struct ownership_link *link = NULL;
	atomic_bool stop = false;
	int rc;

	http_script_start(&s, answer, t);
	urls[before ? 1 : 0] = s.url;
	api.url_count = before ? 2 : 1;
	rc = ownership_link_ask(&link, &api, 1, "test", &stop, q, ret, err);
	ownership_link_free(link);
	http_script_stop(&s);
	return rc;
}

static void a_question_is_asked_as_the_user_by_the_front_end_that_we_are(void **state)
{
	struct talk t = {.status = 200};
	auto_buf struct buf body = BUF_INIT;
	const struct ownership_ask list = {.login = "ann",
					   .cluster = "alpha",
					   .own = true,
					   .from_ms = 1999,
					   .to_ms = 3001,
					   .most = 10};
	struct err err;

	(void)state;
	assert_int_equal(ask_talk(&t, &question, NULL, &body, &err), 0);
	assert_string_equal(body.data, "{\"x\":1}");
	assert_non_null(
		strstr(t.request, "POST /api/v1/units/verify?cluster_id=al%26pha "));
	assert_non_null(strstr(t.request, "\r\nX-Grafana-User: ann\r\n"));
	assert_null(strstr(t.request, "X-Ceems-Uid"));
	assert_non_null(strstr(t.request, "\r\nAuthorization: Basic "));
	assert_non_null(strstr(t.request, "\r\nContent-Type: text/plain\r\n"));
	assert_non_null(strstr(t.request, "\r\n\r\n1\n22\n"));
	/* and the number that was proved beside the name */
	struct ownership_ask numbered = question;
	numbered.has_uid = true;
	numbered.uid = 1001;
	assert_int_equal(ask_talk(&t, &numbered, NULL, &body, &err), 0);
	assert_non_null(strstr(t.request, "\r\nX-Ceems-Uid: 1001\r\n"));
	assert_non_null(strstr(t.request, "\r\nX-Grafana-User: ann\r\n"));
	assert_null(strstr(t.request, "X-Ceems-No-Role"));
	/* which is only a word: the aggregator hears that, too */
	numbered.named = true;
	assert_int_equal(ask_talk(&t, &numbered, NULL, &body, &err), 0);
	assert_non_null(strstr(t.request, "\r\nX-Ceems-No-Role: 1\r\n"));
	/* outwards to full seconds */
	assert_int_equal(ask_talk(&t, &list, NULL, &body, &err), 0);
	assert_non_null(strstr(t.request,
			       "GET /api/v1/units/own?cluster_id=alpha&from=1"
			       "&to=4&most=11 "));
}

struct old_talk {
	unsigned asked;
	char first[512], last[512];
};

/* An aggregator of before, which refuses a parameter that it does not know. */
static bool answer_as_before(void *arg, const char *request, struct buf *out)
{
	struct old_talk *t = arg;
	bool knows = !strstr(request, "latest=");

	snprintf(t->asked ? t->last : t->first, sizeof(t->last), "%s", request);
	t->asked++;
	http_script_put(out, knows ? 200 : 400, "", knows ? "{\"x\":1}" : "{}");
	return true;
}

static void the_latest_are_asked_for_where_the_aggregator_knows_of_that(void **state)
{
	struct talk t = {.status = 200};
	struct old_talk old = {.asked = 0};
	auto_buf struct buf body = BUF_INIT;
	struct ownership_ask more = question;
	struct http_script s;
	const char *urls[1];
	struct site_api api = {.user = "lb",
			       .password = "correct horse",
			       .urls = urls,
			       .url_count = 1,
			       .timeout_ms = 20000};
	struct ownership_link *link = NULL;
	atomic_bool stop = false;
	struct err err;

	(void)state;
	more.latest = 64;
	assert_int_equal(ask_talk(&t, &more, NULL, &body, &err), 0);
	assert_non_null(strstr(t.request,
			       "/units/verify?cluster_id=al%26pha&latest=64 HTTP/1.1"));
	http_script_start(&s, answer_as_before, &old);
	urls[0] = s.url;
	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(ownership_link_ask(&link, &api, 1, "test", &stop,
						    &more, &body, &err),
				 0);
		assert_string_equal(body.data, "{\"x\":1}");
	}
	ownership_link_free(link);
	http_script_stop(&s);
	assert_int_equal(old.asked, 3);
	assert_non_null(strstr(old.first, "latest=64"));
	assert_null(strstr(old.last, "latest"));
}

static void the_next_one_is_asked_when_one_does_not_answer(void **state)
{
	struct talk t = {.status = 200};
	auto_buf struct buf body = BUF_INIT;
	struct err err;

	(void)state;
	assert_int_equal(ask_talk(&t, &question, "http://127.0.0.1:1", &body, &err), 0);
	assert_string_equal(body.data, "{\"x\":1}");
}

static void whatever_is_no_answer_is_an_error(void **state)
{
	static const struct {
		unsigned status;
		const char *headers, *raw;
		int rc;
	} ways[] = {
		{500, NULL, NULL, -EHOSTDOWN},
		{503, NULL, NULL, -EHOSTDOWN},
		{404, NULL, NULL, -EHOSTDOWN},
		{204, NULL, NULL, -EHOSTDOWN},
		{302, "Location: http://127.0.0.1:1/\r\n", NULL, -EHOSTDOWN},
		{401, NULL, NULL, -EACCES},
		{403, NULL, NULL, -EACCES},
		{0, NULL, "", -EHOSTDOWN},
		{0, NULL, "not HTTP\r\n\r\n", -EHOSTDOWN},
		{0, NULL, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{\"cut",
		 -EHOSTDOWN},
		{0, NULL, "HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n{",
		 -EHOSTDOWN},
		{0, NULL, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
		 -EHOSTDOWN},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		struct talk t = {.status = ways[i].status,
				 .headers = ways[i].headers,
				 .raw = ways[i].raw};
		auto_buf struct buf body = BUF_INIT;
		struct err err = {""};
		int rc = ask_talk(&t, &question, NULL, &body, &err);

		if (rc != ways[i].rc)
			fail_msg("%zu: %d %s", i, rc, err.text);
		assert_int_equal(body.len, 0);
		assert_null(strstr(err.text, "correct horse"));
	}
}

/* Says nothing until it is let go. */
static bool silent(void *arg, const char *request, struct buf *out)
{
	(void)request;
	(void)out;
	for (int i = 0; i < 200 && !atomic_load((atomic_bool *)arg); i++)
		usleep(20000);
	return false;
}

static void one_that_is_silent_is_left(void **state)
{
	struct http_script s;
	atomic_bool gone = false, stop = false;
	const char *urls[1];
	struct site_api api = {.urls = urls, .url_count = 1, .timeout_ms = 200};
	struct ownership_link *link = NULL;
	auto_buf struct buf body = BUF_INIT;
	struct err err;

	(void)state;
	http_script_start(&s, silent, &gone);
	urls[0] = s.url;
	assert_int_equal(ownership_link_ask(&link, &api, 1, "test", &stop, &question,
					    &body, &err),
			 -EHOSTDOWN);
	assert_false(atomic_load(&gone));
	atomic_store(&gone, true);
	ownership_link_free(link);
	http_script_stop(&s);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			a_question_is_asked_as_the_user_by_the_front_end_that_we_are),
		cmocka_unit_test(
			the_latest_are_asked_for_where_the_aggregator_knows_of_that),
		cmocka_unit_test(the_next_one_is_asked_when_one_does_not_answer),
		cmocka_unit_test(whatever_is_no_answer_is_an_error),
		cmocka_unit_test(one_that_is_silent_is_left),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
