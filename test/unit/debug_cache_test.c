/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The folder of debug files that were fetched: what is fetched, and what goes. */
#include "courier/debug_cache.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "lib/cleanup.h"
#include "test/unit/scratch.h"
#include "test/unit/unit.h"

#define NOW 1700000000
#define DAY 86400
#define FILE_BYTES 100000u

/* Blocks of a file system of a hundred that are free; -1: as it is. */
static int blocks_free = -1;
static unsigned removed; /* since then: each frees one */

int __real_fstatvfs(int fd, struct statvfs *ret);
int __wrap_fstatvfs(int fd, struct statvfs *ret);
int __wrap_fstatvfs(int fd, struct statvfs *ret)
{
	int rc = __real_fstatvfs(fd, ret);

	if (blocks_free >= 0) {
		ret->f_blocks = 100;
		ret->f_bavail = (fsblkcnt_t)blocks_free + removed;
	}
	return rc;
}

int __real_unlinkat(int fd, const char *path, int flags);
int __wrap_unlinkat(int fd, const char *path, int flags);
int __wrap_unlinkat(int fd, const char *path, int flags)
{
	int rc = __real_unlinkat(fd, path, flags);

	removed += rc == 0;
	return rc;
}

static unsigned looked_at;

int __real_fstatat(int fd, const char *path, struct stat *ret, int flags);
int __wrap_fstatat(int fd, const char *path, struct stat *ret, int flags);
int __wrap_fstatat(int fd, const char *path, struct stat *ret, int flags)
{
	looked_at++;
	return __real_fstatat(fd, path, ret, flags);
}

static char scratch[SCRATCH_PATH];
static struct debug_cache cache;
static struct err err;

static int begin_test(void **state)
{
	(void)state;
	blocks_free = -1;
	scratch_make(scratch);
	assert_int_equal(debug_cache_open(scratch, UINT64_C(1) << 30, &cache, &err), 0);
	return 0;
}

static int end_test(void **state)
{
	(void)state;
	debug_cache_close(&cache);
	scratch_remove(scratch);
	return 0;
}

static struct build_id id_of(uint8_t n)
{
	return (struct build_id){.len = 20, .bytes = {n, 1, 2, 3}};
}

static bool is_there(uint8_t n)
{
	struct build_id id = id_of(n);
	char path[DEBUG_FILE_PATH_BYTES];

	debug_file_path(&id, path);
	return faccessat(cache.fd, path, F_OK, 0) == 0;
}

static void set_used(uint8_t n, int64_t at_s)
{
	const struct timespec at[2] = {{.tv_sec = at_s}, {.tv_sec = at_s}};
	struct build_id id = id_of(n);
	char path[DEBUG_FILE_PATH_BYTES];

	debug_file_path(&id, path);
	assert_int_equal(utimensat(cache.fd, path, at, 0), 0);
}

static int put_file(uint8_t n, size_t bytes)
{
	static const char zeros[FILE_BYTES];
	struct debug_cache_new new;
	struct build_id id = id_of(n);

	int rc = debug_cache_begin(&cache, &id, &new, &err);
	if (rc < 0)
		return rc;
	assert_int_equal(fs_write_all(new.fd, zeros, bytes), 0);
	assert_false(is_there(n));
	return debug_cache_commit(&cache, &new, &err);
}

static int tell_news(enum debug_file_news news, uint8_t n, int64_t now_s)
{
	struct build_id id = id_of(n);

	return debug_cache_told(&cache, news, &id, now_s);
}

static void wanted_file_is_fetched_once(void **state)
{
	(void)state;
	assert_int_equal(tell_news(DEBUG_FILE_USED, 1, NOW), 0);
	assert_int_equal(tell_news(DEBUG_FILE_WANTED, 1, NOW), 1);
	assert_int_equal(put_file(1, FILE_BYTES), 0);
	set_used(1, NOW);
	assert_true(is_there(1));
	assert_int_equal(tell_news(DEBUG_FILE_WANTED, 1, NOW + 60), 0);
}

static void
file_that_is_absent_or_does_not_help_is_asked_for_again_after_a_day(void **state)
{
	(void)state;
	assert_int_equal(put_file(1, 0), 0);
	assert_int_equal(put_file(2, FILE_BYTES), 0);
	for (uint8_t n = 1; n <= 2; n++) {
		set_used(n, NOW);
		assert_int_equal(tell_news(DEBUG_FILE_WANTED, n, NOW + DAY - 1), 0);
		assert_int_equal(tell_news(DEBUG_FILE_WANTED, n, NOW + DAY), 1);
		/* the clock was put back */
		assert_int_equal(tell_news(DEBUG_FILE_WANTED, n, NOW - DAY), 1);
	}
}

static void those_not_used_for_longest_make_place(void **state)
{
	(void)state;
	for (uint8_t n = 1; n <= 3; n++) {
		assert_int_equal(put_file(n, FILE_BYTES), 0);
		set_used(n, NOW + n);
	}
	/* now, whenever that is */
	assert_int_equal(tell_news(DEBUG_FILE_USED, 1, NOW), 0);
	set_used(3, NOW - 1);
	cache.max_bytes = 3 * FILE_BYTES + 20000;
	assert_int_equal(put_file(4, FILE_BYTES), 0);
	assert_true(is_there(1) && is_there(2) && !is_there(3) && is_there(4));
}

static void each_file_is_looked_at_once_however_many_go(void **state)
{
	enum { FILES = 100 };
	struct build_id id = id_of(0);
	struct debug_cache_new new;

	(void)state;
	for (uint8_t n = 1; n <= FILES; n++)
		assert_int_equal(put_file(n, 1), 0);
	looked_at = removed = 0;
	cache.max_bytes = 0;
	assert_int_equal(debug_cache_begin(&cache, &id, &new, &err), 0);
	assert_int_equal(removed, FILES);
	assert_int_equal(looked_at, 3 * FILES); /* each in a folder, with . and .. */
	debug_cache_abandon(&cache, &new);
}

static void file_that_is_larger_than_all_may_be_does_not_stay(void **state)
{
	(void)state;
	cache.max_bytes = FILE_BYTES / 2;
	assert_int_equal(put_file(1, FILE_BYTES), -EFBIG);
	assert_false(is_there(1));
	assert_int_equal(put_file(2, 100), 0);
}

static void a_twentieth_of_the_file_system_stays_free(void **state)
{
	struct debug_cache_new new;
	struct build_id id = id_of(9);

	(void)state;
	for (uint8_t n = 1; n <= 3; n++) {
		assert_int_equal(put_file(n, 1), 0);
		set_used(n, NOW + n);
	}
	removed = 0;
	blocks_free = 3; /* it takes two files less */
	assert_int_equal(debug_cache_begin(&cache, &id, &new, &err), 0);
	assert_true(!is_there(1) && !is_there(2) && is_there(3));
	assert_int_equal(debug_cache_check_room(&cache), 0);
	removed = 0;
	blocks_free = 4;
	assert_int_equal(debug_cache_check_room(&cache), -ENOSPC);
	debug_cache_abandon(&cache, &new);
	removed = 0;
	blocks_free = 0; /* others have filled it */
	assert_int_equal(debug_cache_begin(&cache, &id, &new, &err), -ENOSPC);
	assert_false(is_there(3));
}

static void crash_leaves_nothing_for_long(void **state)
{
	struct debug_cache_new new;
	struct build_id id = id_of(1);

	(void)state;
	assert_int_equal(debug_cache_begin(&cache, &id, &new, &err), 0);
	close(new.fd);
	debug_cache_close(&cache);
	assert_int_equal(debug_cache_open(scratch, UINT64_C(1) << 30, &cache, &err), 0);
	assert_int_equal(faccessat(cache.fd, new.tmp, F_OK, 0), -1);
	assert_false(is_there(1));
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, begin_test, end_test)
	const struct CMUnitTest tests[] = {
		T(wanted_file_is_fetched_once),
		T(file_that_is_absent_or_does_not_help_is_asked_for_again_after_a_day),
		T(those_not_used_for_longest_make_place),
		T(each_file_is_looked_at_once_however_many_go),
		T(file_that_is_larger_than_all_may_be_does_not_stay),
		T(a_twentieth_of_the_file_system_stays_free),
		T(crash_leaves_nothing_for_long),
	};
	return cmocka_run_group_tests_name("debug_cache_test", tests, NULL, NULL);
}
