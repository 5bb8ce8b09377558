/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How long a record waits does not go by what the wall clock does meanwhile. */
#include "daemon/reports/report_age.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/clock.h"
#include "test/unit/unit.h"

#define S NSEC_PER_SEC

/* A spool's file, written at that wall time. */
static void make_file(char folder[32], uint64_t seconds)
{
	const struct timespec at[2] = {{.tv_sec = (time_t)seconds},
				       {.tv_sec = (time_t)seconds}};
	char path[64];

	(void)snprintf(folder, 32, "/tmp/report_age.XXXXXX");
	assert_non_null(mkdtemp(folder));
	(void)snprintf(path, sizeof(path), "%s/1.seg", folder);
	int fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(futimens(fd, at), 0);
	close(fd);
}

static void remove_file(const char *folder)
{
	char path[64];

	(void)snprintf(path, sizeof(path), "%s/1.seg", folder);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(rmdir(folder), 0);
}

static void the_oldest_that_is_not_sent_says_how_long(void **state)
{
	(void)state;
	struct report_age a = {.count = 0};
	report_age_note(&a, 1, 2, 100 * S);
	report_age_note(&a, 3, 3, 150 * S);
	assert_int_equal(report_age_ns(&a, 0, 160 * S), 60 * S);
	assert_int_equal(report_age_ns(&a, 2, 160 * S), 10 * S);
	assert_int_equal(report_age_ns(&a, 3, 160 * S), 0);
}

static void what_was_there_is_as_old_as_its_file_was_at_the_start(void **state)
{
	(void)state;
	struct report_age a = {.count = 0};
	char folder[32];
	/* written 500 s ago, by the wall clock, before a boot 20 s ago */
	make_file(folder, 1000000);
	report_age_begin(&a, folder, 0, 1000500 * S, 20 * S);
	report_age_note(&a, 8, 8, 20 * S);
	assert_int_equal(report_age_ns(&a, 0, 30 * S), 510 * S);
	remove_file(folder);
}

static void a_file_of_the_future_is_as_old_as_now(void **state)
{
	(void)state;
	struct report_age a = {.count = 0};
	char folder[32];
	make_file(folder, 1000000);
	report_age_begin(&a, folder, 0, 999000 * S, 20 * S);
	report_age_note(&a, 8, 8, 40 * S);
	assert_int_equal(report_age_ns(&a, 0, 50 * S), 30 * S);
	remove_file(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_oldest_that_is_not_sent_says_how_long),
		cmocka_unit_test(what_was_there_is_as_old_as_its_file_was_at_the_start),
		cmocka_unit_test(a_file_of_the_future_is_as_old_as_now),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
