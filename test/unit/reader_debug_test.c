/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Debug files that were fetched, read for a stripped program: this one. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "lib/cleanup.h"
#include "lib/fs.h"
#include "profiler/modules.h"
#include "test/unit/scratch.h"
#include "test/unit/unit.h"

enum { ALICE = 1001 };

void reader_debug_test_marker(void);
__attribute__((noinline)) void reader_debug_test_marker(void)
{
	__asm__ volatile("");
}

static uint64_t marker_address(void)
{
	extern const char __executable_start;

	return (uint64_t)(uintptr_t)reader_debug_test_marker -
	       (uint64_t)(uintptr_t)&__executable_start;
}

static char scratch[SCRATCH_PATH], program[SCRATCH_PATH + 16], debug[SCRATCH_PATH + 16];
static char fetched[SCRATCH_PATH + DEBUG_FILE_PATH_BYTES + 16];
static struct reader *r;
static int fd = -1;

static int begin_test(void **state)
{
	(void)state;
	scratch_make(scratch);
	assert_int_equal(chmod(scratch, 0755), 0); /* readers are nobody */
	(void)snprintf(program, sizeof(program), "%s/program", scratch);
	(void)snprintf(debug, sizeof(debug), "%s/debug", scratch);
	return 0;
}

static int end_test(void **state)
{
	(void)state;
	reader_end(r);
	r = NULL;
	if (fd >= 0)
		close(fd);
	fd = -1;
	scratch_remove(scratch);
	return 0;
}

/* The program without symbols, and what was stripped beside it */
static void strip_self(void)
{
	auto_buf struct buf all = BUF_INIT;
	const char *const keep[] = {"objcopy", "--only-keep-debug", program, debug,
				    NULL};
	const char *const strip[] = {"strip", program, NULL};
	struct err err = {""};

	assert_int_equal(
		fs_read_buf_at(AT_FDCWD, "/proc/self/exe", 64u << 20, &all, NULL), 0);
	assert_int_equal(
		fs_write_atomic_at(AT_FDCWD, program, all.data, all.len, 0755, &err),
		0);
	if (scratch_run(keep) != 0 || scratch_run(strip) != 0)
		skip(); /* no binutils, or none for this processor */
}

static void begin_stripped(void)
{
	char name[DEBUG_FILE_PATH_BYTES];
	struct reader_debug a;
	struct err err = {""};

	strip_self();
	assert_int_equal(reader_start(scratch, &r, &err), 0);
	fd = open(program, O_RDONLY | O_CLOEXEC);
	assert_int_equal(reader_read_debug(r, fd, ALICE, &a), 0);
	assert_int_equal(a.file, READER_DEBUG_MISSING);
	debug_file_path(&a.id, name);
	scratch_mkdir(scratch, ".build-id");
	(void)snprintf(fetched, sizeof(fetched), "%s/%.12s", scratch, name);
	assert_int_equal(mkdir(fetched, 0755), 0);
	(void)snprintf(fetched, sizeof(fetched), "%s/%s", scratch, name);
	reader_forget_file(r, fd);
}

static enum reader_debug_file ask(void)
{
	struct reader_debug a;

	reader_forget_file(r, fd);
	assert_int_equal(reader_read_debug(r, fd, ALICE, &a), 0);
	return (enum reader_debug_file)a.file;
}

static uint32_t count_names(void)
{
	struct reader_names names;

	assert_int_equal(reader_read_names(r, fd, ALICE, marker_address(), &names), 0);
	if (names.count)
		assert_string_equal(names.text, "reader_debug_test_marker");
	return names.count;
}

static void a_fetched_file_names_a_stripped_program(void **state)
{
	(void)state;
	begin_stripped();
	assert_int_equal(count_names(), 0);
	assert_int_equal(rename(debug, fetched), 0);
	assert_int_equal(ask(), READER_DEBUG_FETCHED);
	assert_int_equal(count_names(), 1);
}

static void a_program_with_its_symbols_needs_none(void **state)
{
	auto_close int self = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct reader_debug a;

	(void)state;
	begin_stripped();
	assert_int_equal(reader_read_debug(r, self, ALICE, &a), 0);
	assert_int_equal(a.file, READER_DEBUG_NEEDLESS);
	reader_forget_file(r, self);
}

static void a_file_of_another_build_names_nothing(void **state)
{
	auto_buf struct buf all = BUF_INIT;
	struct reader_debug a;
	struct err err = {""};

	(void)state;
	begin_stripped();
	assert_int_equal(reader_read_debug(r, fd, ALICE, &a), 0);
	assert_int_equal(fs_read_buf_at(AT_FDCWD, debug, 64u << 20, &all, NULL), 0);
	char *id = memmem(all.data, all.len, a.id.bytes, a.id.len);
	assert_non_null(id);
	id[3] ^= 1;
	assert_int_equal(
		fs_write_atomic_at(AT_FDCWD, fetched, all.data, all.len, 0644, &err),
		0);
	assert_int_equal(ask(), READER_DEBUG_MISSING);
	assert_int_equal(count_names(), 0);
}

static void what_is_no_debug_file_names_nothing(void **state)
{
	struct err err;

	(void)state;
	begin_stripped();
	static const char *const texts[] = {"", "\177ELF", "<html>", "\177ELF\2\1\1"};
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		assert_int_equal(fs_write_atomic_at(AT_FDCWD, fetched, texts[i],
						    strlen(texts[i]), 0644, &err),
				 0);
		assert_int_equal(ask(), READER_DEBUG_MISSING);
		assert_int_equal(count_names(), 0);
	}
	unlink(fetched);
	assert_int_equal(mkfifo(fetched, 0644), 0);
	assert_int_equal(ask(), READER_DEBUG_MISSING);
	unlink(fetched);
	assert_int_equal(mkdir(fetched, 0755), 0);
	assert_int_equal(ask(), READER_DEBUG_MISSING);
	assert_int_equal(reader_get_counts(r).died, 0);
}

/* As one that is made to crash whoever reads it */
static void a_fetched_file_that_kills_its_reader_takes_no_name_away(void **state)
{
	char name[] = "program";
	struct name_list found;

	(void)state;
	begin_stripped();
	struct module one = {.name = name, .fd = fd, .uid = ALICE, .sampled = true};
	struct modules m = {.reader = r, .all = &one, .count = 1, .fetches = true};
	assert_int_equal(rename(debug, fetched), 0);
	assert_int_equal(modules_find_names(&m, 0, marker_address(), &found), 1);
	assert_int_equal(truncate(fetched, 0), 0);
	(void)modules_find_names(&m, 0, marker_address() + 4096, &found);
	assert_int_equal(reader_get_counts(r).died, 1);
	assert_true(one.debug.refused);
	assert_false(
		one.no_names); /* those of the program itself are still asked for */
	assert_int_equal(modules_find_names(&m, 0, marker_address(), &found), 1);
	(void)modules_find_names(&m, 0, marker_address() + 8192, &found);
	assert_int_equal(reader_get_counts(r).died, 1);
	name_cache_free(&m.names);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, begin_test, end_test)
	const struct CMUnitTest tests[] = {
		T(a_fetched_file_names_a_stripped_program),
		T(a_program_with_its_symbols_needs_none),
		T(a_file_of_another_build_names_nothing),
		T(what_is_no_debug_file_names_nothing),
		T(a_fetched_file_that_kills_its_reader_takes_no_name_away),
	};
	return cmocka_run_group_tests_name("reader_debug", tests, NULL, NULL);
}
