/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Children that read files, as they are lost. */
#include "profiler/files/reader.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <link.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "lib/cleanup.h"
#include "lib/clock.h"
#include "lib/fs.h"
#include "test/unit/readers.h"
#include "test/unit/unit.h"

#define ROWS 200000u
enum { ALICE = 1001, BOB };

static struct unwind_row rows[ROWS];
static uint64_t step_ns, late_ns; /* that the clock goes ahead at each look */

int __real_clock_gettime(clockid_t id, struct timespec *ret);
int __wrap_clock_gettime(clockid_t id, struct timespec *ret);
int __wrap_clock_gettime(clockid_t id, struct timespec *ret)
{
	int rc = __real_clock_gettime(id, ret);

	late_ns += step_ns;
	ret->tv_sec += (time_t)(late_ns / NSEC_PER_SEC);
	return rc;
}

/* Where a function of this program is in its file */
static uint64_t address_here(void (*function)(void))
{
	extern const char __executable_start;

	return (uint64_t)(uintptr_t)function - (uint64_t)(uintptr_t)&__executable_start;
}

void reader_test_marker(void);
__attribute__((noinline)) void reader_test_marker(void)
{
	__asm__ volatile("");
}

static int open_self(void)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	return fd;
}

static void expect_names(struct reader *r, uint32_t uid)
{
	auto_close int fd = open_self();
	struct reader_names names;

	assert_int_equal(
		reader_read_names(r, fd, uid, address_here(reader_test_marker), &names),
		0);
	assert_int_equal(names.count, 1);
	assert_string_equal(names.text, "reader_test_marker");
	reader_forget_file(r, fd);
}

static struct reader *start_reader(void)
{
	struct reader *r = NULL;
	struct err err = {""};

	assert_int_equal(reader_start("", &r, &err), 0);
	return r;
}

static void a_program_has_segments_rows_and_names(void **state)
{
	struct reader *r = start_reader();
	auto_close int fd = open_self();
	struct reader_table table;

	(void)state;
	assert_int_equal(reader_read_table(r, fd, ALICE, ROWS, rows, &table), 0);
	assert_true(table.segment_count >= 1);
	assert_true(table.rows > 100);
	for (uint32_t i = 1; i < table.rows; i++)
		assert_true(rows[i].pc > rows[i - 1].pc);
	expect_names(r, ALICE);
	assert_int_equal(reader_get_counts(r).died, 0);
	reader_end(r);
}

static void a_user_whose_files_take_long_leaves_time_for_others(void **state)
{
	struct reader *r = start_reader();
	auto_close int fd = open_self();
	struct reader_table table;
	struct reader_names names;
	int rc = 0;

	(void)state;
	step_ns = NSEC_PER_SEC / 4;
	for (int i = 0; rc == 0 && i < 1000; i++)
		rc = reader_read_names(r, fd, ALICE, address_here(reader_test_marker),
				       &names);
	step_ns = 0;
	assert_int_equal(rc, -EAGAIN);
	assert_int_equal(reader_read_table(r, fd, ALICE, ROWS, rows, &table), -EBUSY);
	assert_int_equal(reader_read_jit_name(r, fd, ALICE, 1, &names), -EBUSY);
	expect_names(r, BOB);
	assert_int_equal(reader_read_table(r, fd, BOB, ROWS, rows, &table), 0);
	late_ns += 120 * NSEC_PER_SEC;
	expect_names(r, ALICE);
	late_ns = 0;
	reader_end(r);
}

static void no_elf_file_is_refused(void **state)
{
	struct reader *r = start_reader();
	auto_close int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	auto_close int empty = open("/dev/null", O_RDONLY | O_CLOEXEC);
	struct reader_table table;

	(void)state;
	assert_int_equal(reader_read_table(r, fd, ALICE, ROWS, rows, &table), -ENOEXEC);
	assert_int_equal(reader_read_table(r, empty, ALICE, ROWS, rows, &table),
			 -ENOEXEC);
	expect_names(r, ALICE);
	reader_end(r);
}

static void more_rows_than_there_is_room_are_none(void **state)
{
	struct reader *r = start_reader();
	auto_close int fd = open_self();
	struct reader_table table;

	(void)state;
	assert_int_equal(reader_read_table(r, fd, ALICE, 10, rows, &table), 0);
	assert_int_equal(table.rows, 0);
	assert_int_equal(table.rows_status, -E2BIG);
	reader_end(r);
}

static void a_child_that_died_costs_its_file_alone(void **state)
{
	struct reader *r = start_reader();
	auto_close int fd = open_self();
	struct reader_names names;
	struct reader_table table;

	(void)state;
	assert_int_equal(reader_read_names(r, fd, ALICE, 0, &names), 0);
	assert_int_equal(signal_readers(SIGKILL), 1);
	assert_true(reader_read_names(r, fd, ALICE, 0, &names) < 0);
	assert_int_equal(names.count, 0);
	assert_int_equal(reader_get_counts(r).died, 1);
	expect_names(r, BOB);
	/* for a minute no new file of hers is read */
	assert_int_equal(reader_read_table(r, fd, ALICE, ROWS, rows, &table), -EBUSY);
	assert_int_equal(reader_get_counts(r).refused, 1);
	assert_int_equal(reader_read_table(r, fd, BOB, ROWS, rows, &table), 0);
	reader_end(r);
}

static void a_child_that_is_late_is_replaced(void **state)
{
	struct reader *r = start_reader();
	auto_close int fd = open_self();
	struct reader_names names;

	(void)state;
	assert_int_equal(reader_read_names(r, fd, ALICE, 0, &names), 0);
	assert_int_equal(signal_readers(SIGSTOP), 1);
	assert_int_equal(reader_read_names(r, fd, ALICE, 0, &names), -ETIMEDOUT);
	assert_int_equal(reader_get_counts(r).late, 1);
	expect_names(r, BOB);
	reader_end(r);
}

/* Keeps the CPU on which a child may run busy, so that it has a small part of it */
static struct cpu_hog {
	pid_t pid;
	uint64_t end_ns;
} hog;

static void begin_hog(pid_t child)
{
	cpu_set_t here;

	CPU_ZERO(&here);
	CPU_SET(sched_getcpu(), &here);
	hog = (struct cpu_hog){fork(), clock_boottime_ns() + 3 * NSEC_PER_SEC};
	if (hog.pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			;
	}
	assert_true(hog.pid > 0);
	assert_int_equal(sched_setaffinity(hog.pid, sizeof(here), &here), 0);
	assert_int_equal(sched_setaffinity(child, sizeof(here), &here), 0);
	assert_int_equal(setpriority(PRIO_PROCESS, (id_t)child, 19), 0);
}

static void end_hog(void *child)
{
	cpu_set_t all;

	if (!hog.pid || clock_boottime_ns() < hog.end_ns)
		return;
	assert_int_equal(kill(hog.pid, SIGKILL), 0);
	assert_int_equal(waitpid(hog.pid, NULL, 0), hog.pid);
	hog.pid = 0;
	memset(&all, 0xff, sizeof(all));
	assert_int_equal(sched_setaffinity(*(pid_t *)child, sizeof(all), &all), 0);
	assert_int_equal(setpriority(PRIO_PROCESS, *(id_t *)child, 0), 0);
}

static void a_child_that_waits_for_a_cpu_is_waited_for(void **state)
{
	enum { LINES = 900000 };
	struct reader_names names;
	pid_t child;

	(void)state;
	if (geteuid() != 0)
		skip(); /* it may not raise the child's priority again */
	struct reader *r = start_reader();
	FILE *map = tmpfile();
	assert_non_null(map);
	(void)fprintf(map, "1 1 first\n");
	assert_int_equal(fflush(map), 0);
	assert_int_equal(reader_read_jit_name(r, fileno(map), ALICE, 1, &names), 0);
	assert_int_equal(find_readers(&child, 1), 1);
	for (int i = 2; i < LINES; i++)
		(void)fprintf(map, "%x 1 function_%d\n", i, i);
	assert_int_equal(fflush(map), 0);
	sleep(1); /* it is looked at once a second */
	reader_set_meanwhile(r, end_hog, &child);
	begin_hog(child);
	assert_int_equal(reader_read_jit_name(r, fileno(map), ALICE, 2, &names), 0);
	assert_string_equal(names.text, "function_2");
	assert_int_equal(hog.pid, 0); /* it did take that long */
	assert_int_equal(reader_get_counts(r).late, 0);
	reader_forget_file(r, fileno(map));
	(void)fclose(map);
	reader_end(r);
}

static void more_files_than_children_have_names(void **state)
{
	struct reader *r = start_reader();
	struct reader_names names;
	int fds[10];

	(void)state;
	for (int round = 0; round < 2; round++) {
		for (int i = 0; i < 10; i++) {
			if (!round)
				fds[i] = open_self();
			assert_int_equal(
				reader_read_names(r, fds[i], ALICE,
						  address_here(reader_test_marker),
						  &names),
				0);
			assert_string_equal(names.text, "reader_test_marker");
		}
	}
	for (int i = 0; i < 10; i++) {
		reader_forget_file(r, fds[i]);
		close(fds[i]);
	}
	reader_end(r);
}

/* What looks into a file can open nothing for writing and is nobody. */
static void a_child_has_no_privileges(void **state)
{
	struct reader *r = start_reader();
	auto_close int fd = open_self();
	struct reader_names names;

	(void)state;
	if (geteuid() != 0)
		skip();
	assert_int_equal(reader_read_names(r, fd, ALICE, 0, &names), 0);
	auto_closedir DIR *d = opendir("/proc");
	struct dirent *e;
	int seen = 0;
	while ((e = readdir(d))) {
		char path[300], text[4096];
		(void)snprintf(path, sizeof(path), "%.16s/status", e->d_name);
		if (fs_read_at(dirfd(d), path, text, sizeof(text), NULL) <= 0 ||
		    !strstr(text, "Name:\tceems-prof-read\n"))
			continue;
		seen++;
		assert_null(strstr(text, "\nUid:\t0\t"));
		assert_non_null(strstr(text, "\nCapEff:\t0000000000000000\n"));
		assert_non_null(strstr(text, "\nNoNewPrivs:\t1\n"));
#ifndef __SANITIZE_ADDRESS__
		assert_non_null(strstr(text, "\nSeccomp:\t2\n"));
#endif
	}
	assert_true(seen >= 1);
	reader_end(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_program_has_segments_rows_and_names),
		cmocka_unit_test(a_user_whose_files_take_long_leaves_time_for_others),
		cmocka_unit_test(no_elf_file_is_refused),
		cmocka_unit_test(more_rows_than_there_is_room_are_none),
		cmocka_unit_test(a_child_that_died_costs_its_file_alone),
		cmocka_unit_test(a_child_that_is_late_is_replaced),
		cmocka_unit_test(a_child_that_waits_for_a_cpu_is_waited_for),
		cmocka_unit_test(more_files_than_children_have_names),
		cmocka_unit_test(a_child_has_no_privileges),
	};

	return cmocka_run_group_tests_name("reader", tests, NULL, NULL);
}
