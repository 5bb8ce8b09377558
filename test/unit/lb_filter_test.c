/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lb/proxy/filter.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <zlib.h>

#include "lb/site/backend_impl.h"
#include "lib/cleanup.h"
#include "test/unit/unit.h"

static const char *const hidden[] = {"instance", "hostname"};
static const struct backend backend = {.filter_labels = hidden,
				       .filter_label_count = 2};

/* Feeds text in steps of so many bytes; 0 or a negative errno. */
static int feed(const char *target, const char *encoding, const void *text, size_t len,
		size_t step, struct buf *out)
{
	struct buf part = BUF_INIT;
	struct filter *f = NULL;
	struct err err = {""};
	int rc = filter_new(&backend, target, strlen(target), encoding, &f, &err);

	for (size_t at = 0; rc == 0 && (at < len || filter_pending(f));) {
		size_t n = len - at < step ? len - at : step;
		ssize_t took = filter_put(f, (const char *)text + at, n, &part, &err);

		if (took < 0) {
			rc = (int)took;
			break;
		}
		at += (size_t)took;
		assert_true(part.len <= FILTER_OUT_BYTES + 200000);
		buf_put(out, part.data ? part.data : "", part.len);
		buf_reset(&part);
	}
	if (rc == 0)
		rc = filter_end(f, &err);
	filter_free(f);
	buf_done(&part);
	return rc;
}

static void becomes(const char *target, const char *text, const char *want)
{
	for (size_t step = 1; step <= strlen(text); step += step < 9 ? 1 : 97) {
		auto_buf struct buf out = BUF_INIT;

		assert_int_equal(feed(target, NULL, text, strlen(text), step, &out), 0);
		assert_string_equal(out.data, want);
	}
}

static void stays(const char *target, const char *text)
{
	becomes(target, text, text);
}

static void is_refused(const char *text)
{
	auto_buf struct buf out = BUF_INIT;

	assert_int_equal(feed("/api/v1/query", NULL, text, strlen(text), 3, &out),
			 -EBADMSG);
}

#define HEAD "{\"status\":\"success\",\"data\":{\"resultType\":\"vector\",\"result\":["

static void labels_are_taken_out_of_results(void **state)
{
	(void)state;
	becomes("/api/v1/query",
		HEAD "{\"metric\":{\"__name__\":\"x\",\"instance\":\"n1:9010\","
		     "\"uuid\":\"1\"},"
		     "\"value\":[1,\"2\"]}]}}",
		HEAD "{\"metric\":{\"__name__\":\"x\",\"uuid\":\"1\"},\"value\":[1,"
		     "\"2\"]}]}}");
	becomes("/api/v1/query_range?x",
		HEAD "{\"metric\":{\"hostname\":\"n1\",\"instance\":\"n1:9010\"},"
		     "\"values\":[[1,\"2\"],[2,\"3\"]]}]}}",
		HEAD "{\"metric\":{},\"values\":[[1,\"2\"],[2,\"3\"]]}]}}");
	becomes("/api/v1/query",
		HEAD "{\"metric\":{\"instance\":\"a\",\"b\":\"c\"}},"
		     "{\"metric\":{\"b\":\"c\",\"hostname\":\"d\"}}]}}",
		HEAD "{\"metric\":{\"b\":\"c\"}},{\"metric\":{\"b\":\"c\"}}]}}");
}

static void labels_are_found_whatever_their_spelling(void **state)
{
	(void)state;
	becomes("/api/v1/query",
		HEAD "{\"metric\":{\"\\u0069nstance\":\"n1\",\"in\\u0073tance\" : "
		     "\"n,}]\\\"2\"}}]}}",
		HEAD "{\"metric\":{}}]}}");
	/* a name is compared whole */
	stays("/api/v1/query", HEAD
	      "{\"metric\":{\"instance2\":\"x\",\"ainstance\":\"y\",\"Instance\":\"z\","
	      "\"instance\\u0000\":\"w\"}}]}}");
	/* members in another order, blanks, the member twice */
	becomes("/api/v1/query",
		" { \"data\" : { \"result\" : [ { \"values\" : [ ] , \"metric\" : { "
		"\"instance\" : \"n\" , \"u\" : \"1\" } , \"metric\":{\"instance\":1} "
		"} ] } } ",
		" { \"data\" : { \"result\" : [ { \"values\" : [ ] , \"metric\" : {  "
		"\"u\" : \"1\" } , \"metric\":{} } ] } } ");
}

static void the_rest_stays_byte_for_byte(void **state)
{
	(void)state;
	/* a native histogram, statistics, members of later releases */
	stays("/api/v1/query", HEAD
	      "{\"metric\":{\"uuid\":\"1\"},\"histogram\":[1.5,{\"count\":\"3\","
	      "\"sum\":"
	      "\"1e-3\",\"buckets\":[[0,\"-1\",\"NaN\",\"1\"]],\"instance\":\"x\"}]}],"
	      "\"stats\":{\"timings\":{\"evalTotalTime\":0.0001},\"instance\":null},"
	      "\"analysis\":{}},\"later\":[true,false,null,-1.5E+3,{\"instance\":"
	      "[\"instance\"]}],\"warnings\":[\"w\"]}\n");
	stays("/api/v1/query",
	      "{\"status\":\"success\",\"data\":{\"resultType\":\"scalar\","
	      "\"result\":[1700000000.123,\"1\"]}}");
	stays("/api/v1/query",
	      "{\"status\":\"success\",\"data\":{\"resultType\":\"string\","
	      "\"result\":[1,\"instance\"]}}");
	stays("/api/v1/query", "{}");
	stays("/api/v1/query", "[]");
}

static void series_and_names_and_exemplars(void **state)
{
	(void)state;
	becomes("/api/v1/series",
		"{\"status\":\"success\",\"data\":[{\"__name__\":\"x\",\"instance\":"
		"\"a\"},"
		"{\"hostname\":\"b\"}]}",
		"{\"status\":\"success\",\"data\":[{\"__name__\":\"x\"},{}]}");
	becomes("/api/v1/labels",
		"{\"status\":\"success\",\"data\":[\"__name__\",\"hostname\","
		"\"instance\","
		"\"uuid\"]}",
		"{\"status\":\"success\",\"data\":[\"__name__\",\"uuid\"]}");
	becomes("/api/v1/labels",
		"{\"data\":[\"hostname\",\"in\\u0073tance\",\"uuid\",1,{\"a\":[]},"
		"\"hostname\"]}",
		"{\"data\":[\"uuid\",1,{\"a\":[]}]}");
	becomes("/api/v1/labels", "{\"data\":[\"hostname\"]}", "{\"data\":[]}");
	becomes("/api/v1/query_exemplars",
		"{\"data\":[{\"seriesLabels\":{\"instance\":\"a\",\"b\":\"c\"},"
		"\"exemplars\":"
		"[{\"labels\":{\"traceID\":\"t\",\"hostname\":\"h\"},\"value\":\"6\"}]}"
		"]}",
		"{\"data\":[{\"seriesLabels\":{\"b\":\"c\"},\"exemplars\":"
		"[{\"labels\":{\"traceID\":\"t\"},\"value\":\"6\"}]}]}");
	/* values of another label are no names */
	stays("/api/v1/label/uuid/values", "{\"data\":[\"instance\",\"1\"]}");
}

static void messages_that_name_such_labels_are_replaced(void **state)
{
	(void)state;
	becomes("/api/v1/query",
		"{\"status\":\"error\",\"errorType\":\"execution\",\"error\":\"found "
		"duplicate "
		"series for the match group {uuid=\\\"1\\\"}: "
		"[{instance=\\\"n1\\\"}]\"}",
		"{\"status\":\"error\",\"errorType\":\"execution\",\"error\":\"(a "
		"message that names labels which are hidden here)\"}");
	becomes("/api/v1/query",
		"{\"warnings\":[\"ok\",\"{\\u0069nstance=x}\"],\"infos\":[\"{"
		"\\\"hostname\\\"="
		"1}\"]}",
		"{\"warnings\":[\"ok\",\"(a message that names labels which are hidden "
		"here)\"],\"infos\":[\"(a message that names labels which are hidden "
		"here)\"]}");
	stays("/api/v1/query", "{\"error\":\"query timed out in instance 5\"}");
}

static void a_message_longer_than_is_held_is_replaced(void **state)
{
	auto_buf struct buf text = BUF_INIT, out = BUF_INIT;

	(void)state;
	buf_puts(&text, "{\"error\":\"");
	for (int i = 0; i < 200000; i++)
		buf_putc(&text, 'x');
	buf_puts(&text, "\",\"a\":1}");
	assert_int_equal(feed("/api/v1/query", NULL, text.data, text.len, 1000, &out),
			 0);
	assert_string_equal(out.data, "{\"error\":\"(a message that names labels which "
				      "are hidden here)\",\"a\":1}");
}

static void what_is_not_json_is_refused(void **state)
{
	(void)state;
	is_refused("");
	is_refused("{");
	is_refused("{\"a\":1}}");
	is_refused("{\"a\" 1}");
	is_refused("{\"a\":1,}");
	is_refused("{1:1}");
	is_refused("{]");
	is_refused("[1}");
	is_refused("\"abc");
	is_refused("\"abc\":1");
	is_refused("1,2");
	is_refused("{\"a\":\"\n\"}");
	is_refused("<html>");
	is_refused("{\"\\x\":1}");
	is_refused("{\"\\u12\":1}");
	is_refused("{} {}");
}

static void depth_and_names_are_bounded(void **state)
{
	auto_buf struct buf text = BUF_INIT, out = BUF_INIT;

	(void)state;
	for (int i = 0; i < 65; i++)
		buf_putc(&text, '[');
	assert_int_equal(feed("/api/v1/query", NULL, text.data, text.len, 7, &out),
			 -EFBIG);
	buf_reset(&text);
	buf_puts(&text, "{\"");
	for (int i = 0; i < 70000; i++)
		buf_putc(&text, 'x');
	assert_int_equal(feed("/api/v1/query", NULL, text.data, text.len, 1000, &out),
			 -EFBIG);
}

/* ---- compressed ------------------------------------------------------------------ */

static void pack(const void *data, size_t len, int bits, struct buf *out)
{
	z_stream z = {.next_in = (unsigned char *)(uintptr_t)data,
		      .avail_in = (unsigned)len};
	static unsigned char room[1 << 22];

	assert_int_equal(deflateInit2(&z, 6, Z_DEFLATED, bits, 8, 0), Z_OK);
	z.next_out = room;
	z.avail_out = sizeof(room);
	assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
	buf_put(out, room, sizeof(room) - z.avail_out);
	deflateEnd(&z);
}

static void compressed_answers_come_out_plain(void **state)
{
	static const char text[] =
		HEAD "{\"metric\":{\"instance\":\"n\",\"u\":\"1\"}}]}}";
	static const char want[] = HEAD "{\"metric\":{\"u\":\"1\"}}]}}";

	(void)state;
	for (size_t step = 1; step < 80; step++) {
		for (int gzip = 0; gzip < 2; gzip++) {
			auto_buf struct buf packed = BUF_INIT, out = BUF_INIT;

			pack(text, strlen(text), gzip ? 31 : 15, &packed);
			assert_int_equal(feed("/api/v1/query",
					      gzip ? "gzip" : "deflate", packed.data,
					      packed.len, step, &out),
					 0);
			assert_string_equal(out.data, want);
		}
	}
}

static void a_compressed_answer_that_is_cut_or_wrong_is_refused(void **state)
{
	static const char text[] = HEAD "{\"metric\":{}}]}}";
	auto_buf struct buf packed = BUF_INIT, out = BUF_INIT;
	struct filter *f = NULL;

	(void)state;
	pack(text, strlen(text), 31, &packed);
	assert_int_equal(
		feed("/api/v1/query", "gzip", packed.data, packed.len - 1, 5, &out),
		-EBADMSG);
	assert_int_equal(feed("/api/v1/query", "gzip", text, strlen(text), 5, &out),
			 -EBADMSG);
	packed.data[packed.len - 6] ^= 1; /* its checksum */
	assert_int_equal(
		feed("/api/v1/query", "gzip", packed.data, packed.len, 5, &out),
		-EBADMSG);
	assert_int_equal(filter_new(&backend, "/api/v1/query", 13, "br", &f, NULL),
			 -EOPNOTSUPP);
	assert_null(f);
}

static void a_bomb_comes_out_in_pieces(void **state)
{
	auto_buf struct buf text = {.max = 1 << 26}, packed = BUF_INIT,
			    out = {.max = 1 << 26};
	struct buf part = BUF_INIT;
	struct filter *f = NULL;
	size_t at = 0, most = 0, total = 0;

	(void)state;
	buf_puts(&text, "{\"a\":\"");
	for (int i = 0; i < 20000000; i++)
		buf_putc(&text, 'x');
	buf_puts(&text, "\"}");
	pack(text.data, text.len, 31, &packed);
	assert_true(packed.len < 30000);
	assert_int_equal(filter_new(&backend, "/api/v1/query", 13, "gzip", &f, NULL),
			 0);
	while (at < packed.len || filter_pending(f)) {
		ssize_t n =
			filter_put(f, packed.data + at, packed.len - at, &part, NULL);
		assert_true(n >= 0);
		at += (size_t)n;
		most = part.len > most ? part.len : most;
		total += part.len;
		buf_reset(&part);
	}
	assert_int_equal(filter_end(f, NULL), 0);
	assert_int_equal(total, text.len);
	assert_true(most < 2ul * FILTER_OUT_BYTES);
	filter_free(f);
	buf_done(&part);
}

/* ---- pulled ---------------------------------------------------------------------- */

struct source {
	const char *text;
	size_t at, step;
	bool later;
	int fails; /* at its end */
};

static ssize_t pull(void *arg, void *buf, size_t max)
{
	struct source *s = arg;
	size_t n = strlen(s->text + s->at);

	s->later = !s->later;
	if (s->later)
		return -EAGAIN;
	n = n < s->step ? n : s->step;
	n = n < max ? n : max;
	if (!n)
		return s->fails;
	memcpy(buf, s->text + s->at, n);
	s->at += n;
	return (ssize_t)n;
}

/* 0 at the end, or the error; how often it had to wait. */
static ssize_t drain(struct source *s, size_t max, struct buf *out, unsigned *ret_waits)
{
	struct filtered *f = NULL;
	char part[64];
	ssize_t n;

	*ret_waits = 0;
	assert_int_equal(
		filtered_new(&backend, "/api/v1/query", 13, NULL, pull, s, &f, NULL),
		0);
	do {
		n = filtered_read(f, part, max);
		*ret_waits += n == -EAGAIN;
		buf_put(out, part, n > 0 ? (size_t)n : 0);
	} while (n > 0 || n == -EAGAIN);
	filtered_free(f);
	return n;
}

static void a_stream_is_filtered_as_it_is_pulled(void **state)
{
	static const char text[] =
		HEAD "{\"metric\":{\"instance\":\"n\",\"u\":\"1\"}}]}}";
	static const char want[] = HEAD "{\"metric\":{\"u\":\"1\"}}]}}";

	(void)state;
	for (size_t step = 1; step < 70; step += 3) {
		for (size_t max = 1; max <= 64; max += 9) {
			struct source s = {.text = text, .step = step};
			auto_buf struct buf out = BUF_INIT;
			unsigned waits;

			assert_int_equal(drain(&s, max, &out, &waits), 0);
			assert_string_equal(out.data, want);
			assert_true(waits > 0);
		}
	}
}

static void a_stream_that_fails_or_is_cut_says_so(void **state)
{
	struct source cut = {.text = "{\"a\":1", .step = 3};
	struct source broken = {.text = "{\"a\":1", .step = 3, .fails = -ECONNRESET};
	struct source page = {.text = "<html>", .step = 3};
	auto_buf struct buf out = BUF_INIT;
	unsigned waits;

	(void)state;
	assert_int_equal(drain(&cut, 64, &out, &waits), -EBADMSG);
	assert_int_equal(drain(&broken, 64, &out, &waits), -ECONNRESET);
	assert_int_equal(drain(&page, 64, &out, &waits), -EBADMSG);
}

/* ---- at random ------------------------------------------------------------------- */

static unsigned seed;

static unsigned draw(unsigned n)
{
	seed = seed * 1664525u + 1013904223u;
	return (seed >> 16) % n;
}

static void both(struct buf *in, struct buf *out, const char *s)
{
	buf_puts(in, s);
	if (out)
		buf_puts(out, s);
}

static void random_value(struct buf *in, struct buf *out, unsigned depth)
{
	static const char *const words[] = {
		"1",           "-2.5e-3",      "null",       "true",
		"\"\"",        "\"instance\"", "\"a\\\"b\"", "\"}],{\\\\\"",
		"\"\\u00e9\"", "\"\xc3\xa9\""};

	if (depth == 0 || draw(3)) {
		both(in, out, words[draw(10)]);
		return;
	}
	bool list = draw(2);
	both(in, out, list ? "[" : "{");
	for (unsigned i = 0, n = draw(4); i < n; i++) {
		both(in, out, i ? "," : "");
		if (!list)
			both(in, out, draw(2) ? "\"instance\":" : "\"k\" : ");
		random_value(in, out, depth - 1);
	}
	both(in, out, list ? "]" : "}");
}

/* An object of labels, and what is left of it. */
static void random_labels(struct buf *in, struct buf *out)
{
	static const char *const names[] = {"\"uuid\"", "\"instance\"", "\"hostname\"",
					    "\"hostnam\\u0065\"", "\"__name__\""};
	bool some = false;

	both(in, out, "{");
	for (unsigned i = 0, n = draw(6); i < n; i++) {
		unsigned k = draw(5);
		bool kept = k == 0 || k == 4;

		buf_puts(in, i ? "," : "");
		if (kept)
			buf_puts(out, some ? "," : "");
		both(in, kept ? out : NULL, names[k]);
		both(in, kept ? out : NULL, ":");
		random_value(in, kept ? out : NULL, 2);
		some |= kept;
	}
	both(in, out, "}");
}

static void random_answers_lose_these_labels_and_nothing_else(void **state)
{
	(void)state;
	for (seed = 0; seed < 20000; seed++) {
		auto_buf struct buf in = BUF_INIT, want = BUF_INIT, out = BUF_INIT;
		unsigned keep = seed;

		both(&in, &want, "{\"x\":");
		random_value(&in, &want, 4);
		both(&in, &want, ",\"data\":{\"result\":[");
		for (unsigned i = 0, n = draw(4); i < n; i++) {
			both(&in, &want, i ? ",{\"value\":" : "{\"value\":");
			random_value(&in, &want, 3);
			both(&in, &want, ",\"metric\":");
			random_labels(&in, &want);
			both(&in, &want, "}");
		}
		both(&in, &want, "],\"stats\":");
		random_value(&in, &want, 4);
		both(&in, &want, "}}");
		size_t step = 1 + draw(40);
		assert_int_equal(
			feed("/api/v1/query", NULL, in.data, in.len, step, &out), 0);
		if (strcmp(out.data, want.data) != 0)
			fail_msg("%u: %s\nis %s\nnot %s", keep, in.data, out.data,
				 want.data);
		seed = keep;
	}
}

/* ---- which answers --------------------------------------------------------------- */

static enum filter_need need(const char *target)
{
	return filter_need(&backend, target, strlen(target));
}

static void which_answers_are_filtered(void **state)
{
	static const struct backend plain = {.filter_label_count = 0};

	(void)state;
	assert_int_equal(need("/api/v1/query"), FILTER_ANSWER);
	assert_int_equal(need("/api/v1/query_range?a=b"), FILTER_ANSWER);
	assert_int_equal(need("/api/v1/series"), FILTER_ANSWER);
	assert_int_equal(need("/api/v1/labels"), FILTER_ANSWER);
	assert_int_equal(need("/api/v1/query_exemplars"), FILTER_ANSWER);
	assert_int_equal(need("/api/v1/label/uuid/values"), FILTER_ANSWER);
	assert_int_equal(need("/api/v1/label/instance/values?match[]=x"), FILTER_EMPTY);
	assert_int_equal(need("/api/v1/label/hostname/values"), FILTER_EMPTY);
	assert_int_equal(need("/api/v1/status/buildinfo"), FILTER_NONE);
	assert_int_equal(need("/api/v1/label//values"), FILTER_NONE);
	assert_int_equal(filter_need(&plain, "/api/v1/query", 13), FILTER_NONE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(labels_are_taken_out_of_results),
		cmocka_unit_test(labels_are_found_whatever_their_spelling),
		cmocka_unit_test(the_rest_stays_byte_for_byte),
		cmocka_unit_test(series_and_names_and_exemplars),
		cmocka_unit_test(messages_that_name_such_labels_are_replaced),
		cmocka_unit_test(a_message_longer_than_is_held_is_replaced),
		cmocka_unit_test(what_is_not_json_is_refused),
		cmocka_unit_test(depth_and_names_are_bounded),
		cmocka_unit_test(compressed_answers_come_out_plain),
		cmocka_unit_test(a_compressed_answer_that_is_cut_or_wrong_is_refused),
		cmocka_unit_test(a_bomb_comes_out_in_pieces),
		cmocka_unit_test(a_stream_is_filtered_as_it_is_pulled),
		cmocka_unit_test(a_stream_that_fails_or_is_cut_says_so),
		cmocka_unit_test(random_answers_lose_these_labels_and_nothing_else),
		cmocka_unit_test(which_answers_are_filtered),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
