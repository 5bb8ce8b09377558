/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lib/records/counts_page.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/records/page_file.h"
#include "test/unit/scratch.h"
#include "test/unit/unit.h"

#define NOW UINT64_C(100000000000)

static char folder[SCRATCH_PATH], path[SCRATCH_PATH + 8];
static struct counts_page_row rows[COUNTS_PAGE_ROWS];
static struct step_counts found;
static struct err err;
static int fd;

static int make_page(void **state)
{
	(void)state;
	scratch_make(folder);
	snprintf(path, sizeof(path), "%s/counts", folder);
	fd = counts_page_create(path, &err);
	assert_true(fd >= 0);
	memset(rows, 0, sizeof(rows));
	return 0;
}

static int remove_page(void **state)
{
	(void)state;
	close(fd);
	scratch_remove(folder);
	return 0;
}

static void put_row(uint32_t i, uint32_t job, uint64_t read_ns, uint64_t bytes)
{
	rows[i] = (struct counts_page_row){.job = job,
					   .step = 3,
					   .stepd_pid = 99,
					   .read_ns = read_ns,
					   .known = COUNTS_HAS_FILES,
					   .values = {[COUNTS_READ_BYTES] = bytes}};
}

static int find_job(uint32_t job)
{
	return counts_page_find(path, job, 3, 99, NOW, &found, &err);
}

static void a_step_has_the_sum_of_its_rows(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < COUNTS_PAGE_ROWS; i++)
		put_row(i, i / 2 + 1, NOW - 1000, i);
	assert_int_equal(counts_page_write(fd, rows, COUNTS_PAGE_ROWS), 0);
	assert_int_equal(find_job(7), 0);
	assert_int_equal(found.values[COUNTS_READ_BYTES], 12 + 13);
	assert_int_equal(found.known, COUNTS_HAS_FILES);
	assert_int_equal(find_job(COUNTS_PAGE_ROWS / 2), 0);
	assert_int_equal(find_job(COUNTS_PAGE_ROWS), -ENOENT);
	assert_int_equal(counts_page_find(path, 7, 4, 99, NOW, &found, &err), -ENOENT);
	assert_int_equal(counts_page_find(path, 7, 3, 98, NOW, &found, &err), -ENOENT);
}

static void old_rows_and_those_of_the_future_are_not_known(void **state)
{
	(void)state;
	put_row(0, 1, NOW - COUNTS_PAGE_AGE_MAX_NS - 1, 5);
	put_row(1, 2, NOW + 1, 5);
	put_row(2, 3, NOW - COUNTS_PAGE_AGE_MAX_NS, 5);
	assert_int_equal(counts_page_write(fd, rows, 3), 0);
	assert_int_equal(find_job(1), -ENOENT);
	assert_int_equal(find_job(2), -ENOENT);
	assert_int_equal(find_job(3), 0);
}

static void a_row_that_is_half_written_is_not_known(void **state)
{
	(void)state;
	put_row(0, 1, NOW, 5);
	assert_int_equal(counts_page_write(fd, rows, 1), 0);
	uint64_t other = 6;
	off_t at = sizeof(struct page_file_header) +
		   offsetof(struct counts_page_row, values);
	assert_int_equal(pwrite(fd, &other, sizeof(other), at), sizeof(other));
	assert_int_equal(find_job(1), -ENOENT);
}

static void a_file_that_is_no_page_is_refused(void **state)
{
	(void)state;
	const uint32_t version = COUNTS_PAGE_VERSION + 1;

	put_row(0, 1, NOW, 5);
	assert_int_equal(counts_page_write(fd, rows, 1), 0);
	assert_int_equal(fchmod(fd, 0644), 0);
	assert_int_equal(find_job(1), -EPERM);
	assert_int_equal(fchmod(fd, 0600), 0);
	assert_int_equal(find_job(1), 0);
	assert_int_equal(chmod(folder, 0777), 0);
	assert_int_equal(find_job(1), -EPERM);
	assert_int_equal(chmod(folder, 0700), 0);
	assert_int_equal(pwrite(fd, &version, sizeof(version),
				offsetof(struct page_file_header, version)),
			 sizeof(version));
	assert_int_equal(find_job(1), -EPROTO);
	assert_int_equal(pwrite(fd, "X", 1, 0), 1);
	assert_int_equal(find_job(1), -EBADF);
	assert_int_equal(ftruncate(fd, 100), 0);
	assert_int_equal(find_job(1), -EBADF);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(find_job(1), -ENOENT);
	assert_int_equal(symlink("/etc/passwd", path), 0);
	assert_int_equal(find_job(1), -EPERM);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_true(find_job(1) < 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, make_page, remove_page)
	static const struct CMUnitTest tests[] = {
		TEST(a_step_has_the_sum_of_its_rows),
		TEST(old_rows_and_those_of_the_future_are_not_known),
		TEST(a_row_that_is_half_written_is_not_known),
		TEST(a_file_that_is_no_page_is_refused),
	};
	return cmocka_run_group_tests_name("counts_page", tests, NULL, NULL);
}
