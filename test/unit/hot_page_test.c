/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lib/records/hot_page.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "test/unit/scratch.h"
#include "test/unit/unit.h"

#define NOW UINT64_C(100000000000)

static char folder[SCRATCH_PATH], path[SCRATCH_PATH + 8];
static struct hot_page_row found;
static struct err err;
static int page;

static int make_page(void **state)
{
	(void)state;
	scratch_make(folder);
	snprintf(path, sizeof(path), "%s/hot", folder);
	int fd = hot_page_create(path, &err);
	assert_true(fd >= 0);
	close(fd);
	page = hot_page_open(path, &err);
	assert_true(page >= 0);
	return 0;
}

static int remove_page(void **state)
{
	(void)state;
	close(page);
	scratch_remove(folder);
	return 0;
}

static void put_row(uint32_t at, uint32_t job, uint64_t read_ns, const char *name)
{
	struct hot_page_row r = {.job = job,
				 .step = 3,
				 .stepd_pid = 99,
				 .read_ns = read_ns,
				 .samples = 100,
				 .hz = 19,
				 .count = 1,
				 .functions = {{.samples = 60}}};

	strncpy(r.functions[0].name, name, sizeof(r.functions[0].name));
	assert_int_equal(hot_page_write(page, at, &r), 0);
}

static int find_job(uint32_t job)
{
	return hot_page_find(path, job, 3, 99, NOW, &found, &err);
}

static void a_step_has_its_newest_row(void **state)
{
	(void)state;
	assert_int_equal(find_job(7), -ENOENT);
	put_row(0, 7, NOW - 2000, "old");
	put_row(HOT_PAGE_ROWS - 1, 7, NOW - 1000, "new");
	put_row(1, 8, NOW, "another");
	assert_int_equal(find_job(7), 0);
	assert_string_equal(found.functions[0].name, "new");
	assert_int_equal(found.functions[0].samples, 60);
	assert_int_equal(find_job(9), -ENOENT);
	assert_int_equal(hot_page_write(page, HOT_PAGE_ROWS, &found), -EINVAL);
}

static void an_old_row_or_a_damaged_one_is_not_known(void **state)
{
	(void)state;
	put_row(0, 7, NOW - HOT_PAGE_AGE_MAX_NS - 1, "old");
	assert_int_equal(find_job(7), -ENOENT);
	put_row(0, 7, NOW, "torn");
	assert_int_equal(pwrite(page, "X", 1, 24 + 40 + 8), 1);
	assert_int_equal(find_job(7), -ENOENT);
	assert_int_equal(chmod(path, 0666), 0);
	assert_int_equal(find_job(7), -EPERM);
}

static void a_name_does_not_reach_the_terminal_as_it_is(void **state)
{
	char longest[2 * HOT_NAME_BYTES];

	(void)state;
	put_row(0, 7, NOW, "\033[2Jmain\xff\n");
	assert_int_equal(find_job(7), 0);
	assert_string_equal(found.functions[0].name, "?[2Jmain??");
	memset(longest, 'a', sizeof(longest));
	longest[sizeof(longest) - 1] = '\0';
	put_row(0, 7, NOW, longest);
	assert_int_equal(find_job(7), 0);
	assert_int_equal(strlen(found.functions[0].name), HOT_NAME_BYTES - 1);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, make_page, remove_page)
	const struct CMUnitTest tests[] = {
		TEST(a_step_has_its_newest_row),
		TEST(an_old_row_or_a_damaged_one_is_not_known),
		TEST(a_name_does_not_reach_the_terminal_as_it_is),
	};
	return cmocka_run_group_tests_name("hot_page_test", tests, NULL, NULL);
}
