/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What ceems-profiler tells ceems-courier of debug files. */
#include <errno.h>
#include <string.h>

#include "lib/records/debug_file.h"
#include "test/unit/spool_util.h"

static struct build_id an_id(uint32_t len)
{
	struct build_id id = {.len = len};

	for (uint32_t i = 0; i < len; i++)
		id.bytes[i] = (uint8_t)(0xf0 + i);
	return id;
}

static void path_is_where_debuggers_look(void **state)
{
	struct build_id id = an_id(8);
	char path[DEBUG_FILE_PATH_BYTES];

	(void)state;
	debug_file_path(&id, path);
	assert_string_equal(path, ".build-id/f0/f1f2f3f4f5f6f7.debug");
	id = an_id(BUILD_ID_MAX);
	debug_file_path(&id, path);
	assert_int_equal(strlen(path), strlen(".build-id//.debug") + 2 * BUILD_ID_MAX);
}

static void put_news(struct spool_writer *w, enum debug_file_news news,
		     const struct build_id *id)
{
	uint8_t bytes[DEBUG_FILE_RECORD_BYTES];
	size_t len = debug_file_encode(news, id, bytes);
	struct err err;

	assert_int_equal(spool_append(w, SPOOL_INTERVAL, bytes, len, NULL, &err), 0);
}

static void what_is_queued_comes_back(void **state)
{
	struct build_id id = an_id(20), got;
	struct spool_writer *w = writer(NULL);
	struct spool_record record;

	(void)state;
	put_news(w, DEBUG_FILE_WANTED, &id);
	put_news(w, DEBUG_FILE_USED, &id);
	struct spool_reader *r = reader();
	assert_int_equal(next(r, &record), 1);
	assert_int_equal(debug_file_decode(record.data, record.len, &got),
			 DEBUG_FILE_WANTED);
	assert_int_equal(got.len, 20);
	assert_memory_equal(got.bytes, id.bytes, 20);
	assert_int_equal(next(r, &record), 1);
	assert_int_equal(debug_file_decode(record.data, record.len, &got),
			 DEBUG_FILE_USED);
	spool_reader_close(r);
	spool_writer_close(w);
}

static void anything_else_is_refused(void **state)
{
	uint8_t record[2 + BUILD_ID_MAX + 1] = {DEBUG_FILE_RECORD_TYPE,
						DEBUG_FILE_WANTED};
	struct build_id got = {.len = 77};

	(void)state;
	assert_int_equal(debug_file_decode(record, 0, &got), -EPROTO);
	assert_int_equal(debug_file_decode(record, 2 + BUILD_ID_MIN - 1, &got),
			 -EPROTO);
	assert_int_equal(debug_file_decode(record, sizeof(record), &got), -EPROTO);
	record[1] = 3;
	assert_int_equal(debug_file_decode(record, 22, &got), -EPROTO);
	record[1] = DEBUG_FILE_USED;
	record[0] = 48;
	assert_int_equal(debug_file_decode(record, 22, &got), -EPROTO);
	assert_int_equal(got.len, 77);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(path_is_where_debuggers_look),
		T(what_is_queued_comes_back),
		cmocka_unit_test(anything_else_is_refused),
	};
	return cmocka_run_group_tests_name("debug_file_test", tests, setup, teardown);
}
