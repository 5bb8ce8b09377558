/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which bytes may be passed on to the store as a profile. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "aggregator/profiles/profile_inspect.h"
#include "lib/cleanup.h"
#include "lib/records/profile_record.h"
#include "test/unit/unit.h"

static struct err err;

static void pack(const void *data, size_t len, struct buf *out)
{
	z_stream z = {.next_in = (Bytef *)(uintptr_t)data, .avail_in = (uInt)len};

	assert_int_equal(
		deflateInit2(&z, 9, Z_DEFLATED, MAX_WBITS + 16, 8, Z_DEFAULT_STRATEGY),
		Z_OK);
	size_t bound = deflateBound(&z, len);
	z.next_out = (Bytef *)buf_reserve(out, bound);
	z.avail_out = (uInt)bound;
	assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
	buf_commit(out, z.total_out);
	deflateEnd(&z);
}

static int inspect(const void *data, size_t len, struct profile_facts *ret)
{
	auto_buf struct buf packed = BUF_INIT, scratch = BUF_INIT;

	pack(data, len, &packed);
	return profile_inspect(packed.data, packed.len, &scratch, ret, &err);
}

/* Refused, with this in the reason */
static void refused(const char *data, size_t len, int rc, const char *why)
{
	struct profile_facts facts;

	assert_int_equal(inspect(data, len, &facts), rc);
	assert_non_null(strstr(err.text, why));
}
#define REFUSED(data, rc, why) refused(data, sizeof(data) - 1, rc, why)

/* a sample with a location and a value */
#define SAMPLE "\x12\x06\x0a\x01\x01\x12\x01\x05"
#define TIME "\x48\xb9\x60"

static void samples_and_time_are_found(void **state)
{
	struct profile_facts facts;

	(void)state;
	assert_int_equal(inspect(SAMPLE TIME SAMPLE "\x32\x00", 21, &facts), 0);
	assert_int_equal(facts.samples, 2);
	assert_int_equal(facts.time_ns, 12345);
	assert_int_equal(facts.plain_bytes, 21);
	assert_int_equal(inspect("", 0, &facts), 0);
	assert_int_equal(facts.samples, 0);
}

static void labels_of_samples_are_refused_however_they_are_written(void **state)
{
	(void)state;
	REFUSED("\x12\x02\x1a\x00", -EBADMSG, "labels of their own");
	REFUSED(SAMPLE "\x12\x02\x1a\x00", -EBADMSG, "labels of their own");
	/* the key in two bytes, and with bits that other readers cut off */
	REFUSED("\x12\x03\x9a\x00\x00", -EBADMSG, "labels of their own");
	REFUSED("\x12\x07\x9a\x80\x80\x80\x80\x02\x00", -EBADMSG, "no message");
	REFUSED("\x92\x80\x80\x80\x80\x02\x02\x1a\x00", -EBADMSG, "no pprof");
	REFUSED("\x12\x02\x18\x01", -EBADMSG, "labels of their own");
}

static void what_is_no_profile_is_refused(void **state)
{
	(void)state;
	REFUSED("hello", -EBADMSG, "no pprof");
	REFUSED("\x12\x05\x0a", -EBADMSG, "no pprof"); /* cut */
	REFUSED("\x12", -EBADMSG, "no pprof");
	REFUSED("\x13\x14", -EBADMSG, "no pprof");     /* a group */
	REFUSED("\x02\x00", -EBADMSG, "no pprof");     /* number 0 */
	REFUSED("\x82\x01\x00", -EBADMSG, "no pprof"); /* number 16 */
	REFUSED("\x10\x01", -EBADMSG, "a sample is");  /* a sample that is a number */
	REFUSED("\x12\x01\x0b", -EBADMSG, "a sample is");
	REFUSED(TIME TIME, -EBADMSG, "its time");
	REFUSED("\x4a\x00", -EBADMSG, "its time");
	REFUSED("\x48\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f", -EBADMSG, "no pprof");
}

static void limits_of_the_store_are_kept(void **state)
{
	enum { LEN = 4 };
	struct profile_facts facts;
	size_t n = PROFILE_SAMPLES_MAX + 1;
	char *many = malloc(n * LEN), *large = calloc(1, PROFILE_PLAIN_MAX + 1);

	(void)state;
	assert_non_null(many);
	assert_non_null(large);
	for (size_t i = 0; i < n; i++)
		memcpy(many + i * LEN, "\x12\x02\x0a\x00", LEN);
	assert_int_equal(inspect(many, (n - 1) * LEN, &facts), 0);
	refused(many, n * LEN, -EFBIG, "more than 16000 stacks");
	/* one string that fills all but its head */
	memcpy(large, "\x32\xfb\xff\xff\x01", 5);
	assert_int_equal(inspect(large, PROFILE_PLAIN_MAX, &facts), 0);
	refused(large, PROFILE_PLAIN_MAX + 1, -EFBIG, "unpacks to more");
	free(many);
	free(large);
}

static void only_one_whole_gzip_stream_is_accepted(void **state)
{
	auto_buf struct buf packed = BUF_INIT, scratch = BUF_INIT;
	struct profile_facts facts;

	(void)state;
	pack(SAMPLE, 8, &packed);
	for (size_t n = 0; n < packed.len; n++)
		assert_int_equal(
			profile_inspect(packed.data, n, &scratch, &facts, &err),
			-EBADMSG);
	assert_int_equal(
		profile_inspect(packed.data, packed.len, &scratch, &facts, &err), 0);
	pack("\x12\x02\x1a\x00", 4, &packed);
	assert_int_equal(
		profile_inspect(packed.data, packed.len, &scratch, &facts, &err),
		-EBADMSG);
	assert_non_null(strstr(err.text, "bytes follow"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(samples_and_time_are_found),
		cmocka_unit_test(
			labels_of_samples_are_refused_however_they_are_written),
		cmocka_unit_test(what_is_no_profile_is_refused),
		cmocka_unit_test(limits_of_the_store_are_kept),
		cmocka_unit_test(only_one_whole_gzip_stream_is_accepted),
	};
	return cmocka_run_group_tests_name("profile_inspect", tests, NULL, NULL);
}
