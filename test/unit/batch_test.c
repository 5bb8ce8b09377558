/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lib/records/batch.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "test/unit/unit.h"

static struct err err;

static void add(struct batch *b, const char *text)
{
	assert_int_equal(batch_add(b, text, strlen(text)), 0);
}

static void records_come_back_in_order(void **state)
{
	(void)state;
	struct batch b = {0};
	auto_buf struct buf packed = BUF_INIT, plain = BUF_INIT;
	struct batch_reader r;
	const void *at;
	size_t len;

	batch_begin(&b, 0);
	add(&b, "one");
	add(&b, "second");
	assert_int_equal(batch_pack(b.plain.data, b.plain.len, &packed), 0);
	assert_int_equal(batch_unpack(packed.data, packed.len, &plain, &err), 0);
	assert_int_equal(plain.len, b.plain.len);
	assert_int_equal(batch_open(&r, plain.data, plain.len, &err), 0);
	assert_int_equal(r.count, 2);
	assert_int_equal(batch_next(&r, &at, &len), 1);
	assert_int_equal(len, 3);
	assert_memory_equal(at, "one", 3);
	assert_int_equal(batch_next(&r, &at, &len), 1);
	assert_memory_equal(at, "second", 6);
	assert_int_equal(batch_next(&r, &at, &len), 0);
	buf_done(&b.plain);
}

static void an_empty_batch_is_one(void **state)
{
	(void)state;
	struct batch_reader r;
	const void *at;
	size_t len;

	assert_int_equal(batch_open(&r, "CEB1", 4, &err), 0);
	assert_int_equal(r.count, 0);
	assert_int_equal(batch_next(&r, &at, &len), 0);
}

static void what_does_not_fit_leaves_the_batch_as_it_was(void **state)
{
	(void)state;
	struct batch b = {0};
	static char big[200];

	batch_begin(&b, 100);
	add(&b, "one");
	assert_int_equal(batch_add(&b, big, sizeof(big)), -E2BIG);
	assert_int_equal(batch_add(&b, big, 100 - 4 - 4 - 3 - 4 + 1), -E2BIG);
	assert_int_equal(batch_add(&b, big, 0), -EINVAL);
	assert_int_equal(b.count, 1);
	assert_int_equal(b.plain.len, 4 + 4 + 3);
	assert_int_equal(batch_add(&b, big, 100 - 4 - 4 - 3 - 4), 0);
	assert_int_equal(b.plain.len, 100);
	buf_done(&b.plain);
}

static void there_is_a_most_of_records(void **state)
{
	(void)state;
	struct batch b = {0};
	struct batch_reader r;

	batch_begin(&b, 0);
	for (unsigned i = 0; i < BATCH_RECORDS_MAX; i++)
		add(&b, "x");
	assert_int_equal(batch_add(&b, "x", 1), -E2BIG);
	assert_int_equal(batch_open(&r, b.plain.data, b.plain.len, &err), 0);
	buf_put(&b.plain, "\1\0\0\0x", 5);
	assert_int_equal(batch_open(&r, b.plain.data, b.plain.len, &err), -EFBIG);
	buf_done(&b.plain);
}

/* Each of its bytes cut off, and each length made wrong */
static void a_batch_is_whole_or_refused(void **state)
{
	(void)state;
	struct batch b = {0};
	struct batch_reader r;
	auto_buf struct buf packed = BUF_INIT, plain = BUF_INIT;

	batch_begin(&b, 0);
	add(&b, "one");
	add(&b, "second");
	for (size_t n = 0; n < b.plain.len; n++) {
		int rc = batch_open(&r, b.plain.data, n, &err);
		assert_int_equal(rc, n == 4 || n == 11 ? 0 : -EBADMSG);
	}
	for (uint32_t wrong = 0; wrong < 40; wrong++) {
		uint32_t le = htole32(wrong == 39 ? UINT32_MAX : wrong);
		memcpy(b.plain.data + 11, &le, 4);
		int rc = batch_open(&r, b.plain.data, b.plain.len, &err);
		/* 1 leaves five bytes, which would be a length beyond the end */
		assert_int_equal(rc, wrong == 6 ? 0 : -EBADMSG);
	}
	assert_int_equal(batch_open(&r, "CEB2", 4, &err), -EBADMSG);
	assert_int_equal(batch_pack(b.plain.data, b.plain.len, &packed), 0);
	for (size_t n = 0; n < packed.len; n++)
		assert_int_equal(batch_unpack(packed.data, n, &plain, &err), -EBADMSG);
	buf_put(&packed, "x", 1);
	assert_int_equal(batch_unpack(packed.data, packed.len, &plain, &err), -EBADMSG);
	assert_int_equal(plain.len, 0);
	assert_int_equal(batch_unpack("CEB1", 4, &plain, &err), -EBADMSG);
	buf_done(&b.plain);
}

static void a_bomb_costs_no_more_than_the_limit(void **state)
{
	(void)state;
	uLong len = 64ul << 20;
	uLongf packed_len = BATCH_PACKED_MAX;
	char *zeros = calloc(1, len), *packed = malloc(packed_len);
	auto_buf struct buf plain = BUF_INIT;

	assert_non_null(zeros);
	assert_non_null(packed);
	assert_int_equal(compress((Bytef *)packed, &packed_len, (Bytef *)zeros, len),
			 0);
	assert_int_equal(batch_unpack(packed, packed_len, &plain, &err), -EFBIG);
	assert_true(plain.cap <= 2 * BATCH_PLAIN_MAX);
	packed_len = BATCH_PACKED_MAX;
	assert_int_equal(
		compress((Bytef *)packed, &packed_len, (Bytef *)zeros, BATCH_PLAIN_MAX),
		0);
	assert_int_equal(batch_unpack(packed, packed_len, &plain, &err), 0);
	assert_int_equal(plain.len, BATCH_PLAIN_MAX);
	packed_len = BATCH_PACKED_MAX;
	assert_int_equal(compress((Bytef *)packed, &packed_len, (Bytef *)zeros,
				  BATCH_PLAIN_MAX + 1),
			 0);
	assert_int_equal(batch_unpack(packed, packed_len, &plain, &err), -EFBIG);
	free(zeros);
	free(packed);
}

static void what_does_not_pack_is_told(void **state)
{
	(void)state;
	size_t len = BATCH_PACKED_MAX + 1000;
	unsigned char *noise = malloc(len);
	auto_buf struct buf packed = BUF_INIT;
	uint64_t x = 88172645463325252ull;

	assert_non_null(noise);
	for (size_t i = 0; i < len; i++) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		noise[i] = (unsigned char)x;
	}
	assert_int_equal(batch_pack(noise, len, &packed), -E2BIG);
	assert_int_equal(batch_pack(noise, len / 2, &packed), 0);
	free(noise);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(records_come_back_in_order),
		cmocka_unit_test(an_empty_batch_is_one),
		cmocka_unit_test(what_does_not_fit_leaves_the_batch_as_it_was),
		cmocka_unit_test(there_is_a_most_of_records),
		cmocka_unit_test(a_batch_is_whole_or_refused),
		cmocka_unit_test(a_bomb_costs_no_more_than_the_limit),
		cmocka_unit_test(what_does_not_pack_is_told),
	};
	return cmocka_run_group_tests_name("batch_test", tests, NULL, NULL);
}
