/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A profile in the spool: what comes back, and what is refused. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/records/profile_record.h"
#include "lib/records/tlv.h"
#include "test/unit/spool_util.h"

static struct err err;
static unsigned char wire[SPOOL_RECORD_MAX];
static unsigned char packed[PROFILE_PACKED_MAX + 1] = {0x1f, 0x8b};

static struct profile_record a_profile(size_t len)
{
	for (size_t i = 2; i < len; i++)
		packed[i] = (unsigned char)(i * 7);
	return (struct profile_record){
		.name = "process_cpu",
		.from_ns = 1700000000000000001,
		.until_ns = 1700000015000000002,
		.samples = 285,
		.plain_bytes = 100000,
		.labels = {{"service_name", "4711"},
			   {"uuid", "4711"},
			   {"hostname", "n\xc3\xb6"},
			   {"step", "0"}},
		.label_count = 4,
		.data = packed,
		.len = len,
	};
}

static int encode(const struct profile_record *r)
{
	err.text[0] = '\0';
	return profile_record_encode(r, wire, sizeof(wire), &err);
}

static void assert_same(const struct profile_record *a, const struct profile_record *b)
{
	assert_string_equal(a->name, b->name);
	assert_true(a->from_ns == b->from_ns && a->until_ns == b->until_ns);
	assert_true(a->samples == b->samples && a->plain_bytes == b->plain_bytes);
	assert_int_equal(a->label_count, b->label_count);
	for (size_t i = 0; i < a->label_count; i++) {
		assert_string_equal(a->labels[i].name, b->labels[i].name);
		assert_string_equal(a->labels[i].value, b->labels[i].value);
	}
	assert_int_equal(a->len, b->len);
	assert_memory_equal(a->data, b->data, a->len);
}

static void profile_comes_back_as_it_was(void **state)
{
	static const size_t sizes[] = {2,     100,    65535,
				       65536, 200000, PROFILE_PACKED_MAX};

	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		struct profile_record r = a_profile(sizes[i]), back;
		int len = encode(&r);
		assert_true(len > 0);
		assert_int_equal(profile_record_decode(wire, (size_t)len, &back, &err),
				 0);
		assert_same(&r, &back);
		assert_string_equal(profile_record_label(&back, "step"), "0");
		assert_null(profile_record_label(&back, "rank"));
		profile_record_done(&back);
		profile_record_done(&back);
	}
}

static void largest_profile_with_all_labels_fits(void **state)
{
	static char names[PROFILE_LABELS_MAX][PROFILE_LABEL_NAME_MAX + 1];
	char value[PROFILE_LABEL_VALUE_MAX + 1], kind[PROFILE_LABEL_NAME_MAX + 1];
	struct profile_record r = a_profile(PROFILE_PACKED_MAX), back;

	(void)state;
	memset(value, 'v', sizeof(value) - 1);
	value[sizeof(value) - 1] = '\0';
	memset(kind, 'k', sizeof(kind) - 1);
	kind[sizeof(kind) - 1] = '\0';
	r.name = kind;
	r.label_count = PROFILE_LABELS_MAX;
	for (size_t i = 0; i < PROFILE_LABELS_MAX; i++) {
		memset(names[i], 'a' + (int)i, PROFILE_LABEL_NAME_MAX);
		r.labels[i] = (struct profile_label){names[i], value};
	}
	r.labels[3].name = "service_name";
	int len = encode(&r);
	assert_true(len > 0);
	assert_int_equal(profile_record_decode(wire, (size_t)len, &back, &err), 0);
	assert_same(&r, &back);
	profile_record_done(&back);
	r.label_count++;
	assert_int_equal(encode(&r), -EINVAL);
}

static void wrong_profiles_are_refused_with_a_reason(void **state)
{
	static const struct {
		const char *why;
		struct profile_label label;
	} wrong[] = {
		{"name is none", {"__name__", "x"}}, {"name is none", {"1a", "x"}},
		{"name is none", {"a-b", "x"}},      {"name is none", {"", "x"}},
		{"value is empty", {"a", ""}},       {"value is empty", {"a", "x\ny"}},
		{"value is empty", {"a", "\xff"}},   {"twice", {"uuid", "4712"}},
	};
	struct profile_record r = a_profile(100);

	(void)state;
	r.label_count = 5;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		r.labels[4] = wrong[i].label;
		assert_int_equal(encode(&r), -EINVAL);
		assert_non_null(strstr(err.text, wrong[i].why));
	}
	r = a_profile(100);
	r.labels[0].name = "service";
	assert_int_equal(encode(&r), -EINVAL);
	assert_non_null(strstr(err.text, "service_name"));
	r = a_profile(100);
	r.until_ns = r.from_ns - 1;
	assert_int_equal(encode(&r), -EINVAL);
	r = a_profile(100);
	r.plain_bytes = PROFILE_PLAIN_MAX + 1;
	assert_int_equal(encode(&r), -EINVAL);
	r = a_profile(100);
	r.name = "process cpu";
	assert_int_equal(encode(&r), -EINVAL);
	r = a_profile(PROFILE_PACKED_MAX + 1);
	assert_int_equal(encode(&r), -EINVAL);
	r = a_profile(100);
	r.data = "plain";
	r.len = 5;
	assert_int_equal(encode(&r), -EINVAL);
}

static void too_small_buffer_is_refused(void **state)
{
	struct profile_record r = a_profile(1000);

	(void)state;
	int len = encode(&r);
	for (size_t size = 0; size < (size_t)len; size += 13)
		assert_int_equal(profile_record_encode(&r, wire, size, &err),
				 -EMSGSIZE);
	assert_int_equal(profile_record_encode(&r, wire, (size_t)len, &err), len);
}

static void every_cut_of_a_record_is_refused(void **state)
{
	struct profile_record r = a_profile(300), back;

	(void)state;
	int len = encode(&r);
	for (size_t n = 0; n < (size_t)len - 300; n++)
		assert_int_equal(profile_record_decode(wire, n, &back, &err), -EPROTO);
}

static void unknown_fields_are_skipped_and_another_version_is_refused(void **state)
{
	struct profile_record r = a_profile(300), back;
	struct tlv_out more = {.data = wire, .size = sizeof(wire)};

	(void)state;
	more.len = (size_t)encode(&r);
	tlv_put_number(&more, 99, 1, 8);
	assert_int_equal(profile_record_decode(wire, more.len, &back, &err), 0);
	assert_same(&r, &back);
	profile_record_done(&back);
	tlv_put_number(&more, 5, 1, 8); /* samples, again */
	assert_int_equal(profile_record_decode(wire, more.len, &back, &err), -EPROTO);
	more.len = (size_t)encode(&r);
	wire[TLV_HEAD_BYTES + TLV_FIELD_HEAD_BYTES] = PROFILE_RECORD_VERSION + 1;
	assert_int_equal(profile_record_decode(wire, more.len, &back, &err), -EPROTO);
	assert_non_null(strstr(err.text, "version"));
}

static void full_spool_gives_up_the_oldest_profiles(void **state)
{
	const struct spool_limits limits = {.max_bytes = 4 << 20,
					    .segment_bytes = 1 << 20};
	struct spool_record record;
	struct profile_record back;
	uint64_t got = 0, last = 0;

	(void)state;
	struct spool_writer *w = writer(&limits);
	for (uint64_t i = 1; i <= 40; i++) {
		struct profile_record r = a_profile(300000);
		r.samples = i;
		assert_int_equal(profile_record_put(w, &r, &err), 0);
	}
	struct profile_record wrong = a_profile(PROFILE_PACKED_MAX + 1);
	assert_int_equal(profile_record_put(w, &wrong, &err), -EINVAL);
	spool_writer_close(w);
	struct spool_reader *in = reader();
	for (; next(in, &record) == 1; got++) {
		assert_int_equal(
			profile_record_decode(record.data, record.len, &back, &err), 0);
		assert_true(back.samples > last);
		last = back.samples;
		profile_record_done(&back);
	}
	spool_reader_close(in);
	assert_int_equal(last, 40);
	assert_int_equal(stats().lost[SPOOL_INTERVAL], 40 - got + 1);
	assert_true(got >= 9 && stats().bytes <= limits.max_bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(profile_comes_back_as_it_was),
		T(largest_profile_with_all_labels_fits),
		T(wrong_profiles_are_refused_with_a_reason),
		T(too_small_buffer_is_refused),
		T(every_cut_of_a_record_is_refused),
		T(unknown_fields_are_skipped_and_another_version_is_refused),
		T(full_spool_gives_up_the_oldest_profiles),
	};
	return cmocka_run_group_tests_name("profile_record", tests, setup, teardown);
}
