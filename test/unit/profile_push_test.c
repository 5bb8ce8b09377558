/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A profile as a request to Pyroscope, byte for byte, and what its answers mean. */
#include <stdio.h>
#include <string.h>

#include "lib/cleanup.h"
#include "lib/http/profile_push.h"
#include "test/unit/unit.h"

static const struct profile_record one = {
	.name = "process_cpu",
	.from_ns = 1700000000123456789,
	.until_ns = 1700000015000000000,
	.labels = {{"service_name", "42"}, {"hostname", "n&1\"x"}},
	.label_count = 2,
	.data = "\x1f\x8b",
	.len = 2,
};

static void push_is_as_its_messages_say(void **state)
{
	static const char want[] = "\x0a\x46"
				   "\x0a\x17\x0a\x08__name__\x12\x0bprocess_cpu"
				   "\x0a\x12\x0a\x0cservice_name\x12\x02"
				   "42"
				   "\x0a\x11\x0a\x08hostname\x12\x05n&1\"x"
				   "\x12\x04\x0a\x02\x1f\x8b";
	auto_buf struct buf b = BUF_INIT;

	(void)state;
	profile_push_write(&one, &b);
	assert_int_equal(b.len, sizeof(want) - 1);
	assert_memory_equal(b.data, want, b.len);
}

static void lengths_beyond_one_byte_are_written_whole(void **state)
{
	static char data[70000] = {0x1f, (char)0x8b};
	struct profile_record r = one;
	auto_buf struct buf b = BUF_INIT;

	(void)state;
	r.data = data;
	r.len = sizeof(data);
	profile_push_write(&r, &b);
	/* series, then all but the last two heads, then 70000 = 0x11170 in seven bits
	 */
	assert_int_equal(b.data[0], 0x0a);
	size_t said = ((unsigned)b.data[1] & 127) | ((unsigned)b.data[2] & 127) << 7 |
		      ((unsigned)b.data[3] & 127) << 14;
	assert_int_equal(said, b.len - 4);
	assert_memory_equal(b.data + b.len - sizeof(data) - 4, "\x0a\xf0\xa2\x04", 4);
}

static void older_api_has_the_labels_escaped(void **state)
{
	auto_buf struct buf b = BUF_INIT;

	(void)state;
	profile_ingest_target(&one, &b);
	assert_string_equal(
		b.data,
		"/ingest?format=pprof&spyName=ceems&name=42%7Bservice_name%3D%22"
		"42%22%2Chostname%3D%22n%261%22x%22%7D&from=1700000000&until="
		"1700000015");
}

static void statuses_mean_what_the_store_means(void **state)
{
	static const struct {
		unsigned status;
		enum profile_verdict verdict;
	} all[] = {
		{200, PROFILE_TAKEN},   {202, PROFILE_TAKEN},   {204, PROFILE_TAKEN},
		{301, PROFILE_LATER},   {400, PROFILE_REFUSED}, {401, PROFILE_DENIED},
		{403, PROFILE_DENIED},  {404, PROFILE_LATER},   {408, PROFILE_LATER},
		{413, PROFILE_REFUSED}, {415, PROFILE_REFUSED}, {422, PROFILE_REFUSED},
		{425, PROFILE_WAITS},   {429, PROFILE_LATER},   {500, PROFILE_LATER},
		{503, PROFILE_LATER},   {0, PROFILE_LATER}};
	struct profile_answer a;

	(void)state;
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		profile_answer_read(all[i].status, "x", 1, "7", &a);
		assert_int_equal(a.verdict, all[i].verdict);
		assert_int_equal(a.retry_after_s, 7);
	}
}

static void text_of_an_answer_is_printable_and_bounded(void **state)
{
	char body[1000];
	struct profile_answer a;

	(void)state;
	memset(body, 'y', sizeof(body));
	profile_answer_read(500, body, sizeof(body), "soon", &a);
	assert_int_equal(strlen(a.text), PROFILE_ANSWER_BYTES - 1);
	assert_int_equal(a.retry_after_s, 0);
	profile_answer_read(500, "a\x1b[31m\xff\n", 9, NULL, &a);
	assert_string_equal(a.text, "a [31m");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(push_is_as_its_messages_say),
		cmocka_unit_test(lengths_beyond_one_byte_are_written_whole),
		cmocka_unit_test(older_api_has_the_labels_escaped),
		cmocka_unit_test(statuses_mean_what_the_store_means),
		cmocka_unit_test(text_of_an_answer_is_printable_and_bounded),
	};
	return cmocka_run_group_tests_name("profile_push", tests, NULL, NULL);
}
