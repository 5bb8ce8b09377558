/* SPDX-License-Identifier: GPL-2.0-or-later */
/* When slurmd is asked which devices it has, and whose the answer is. slurmd is a
 * script that prints a file. */
#include "daemon/gpus/gpu_maps.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "daemon/options.h"
#include "daemon/sources/child_link.h"
#include "lib/cleanup.h"
#include "lib/clock.h"
#include "test/unit/scratch.h"

static char folder[SCRATCH_PATH];
static struct options options;
static struct env env;
static struct gpu_maps *maps;
static uint64_t now_ns;

/* ceems-gpu is not asked here */
int child_link_get(struct child_link *l, enum child_kind kind, const char *name,
		   void *ret, size_t size)
{
	(void)l;
	(void)kind;
	(void)name;
	(void)ret;
	(void)size;
	return -EAGAIN;
}

static uint64_t lab_boottime_ns(void)
{
	return now_ns;
}

static void write_text(const char *name, const char *text, mode_t mode)
{
	char path[SCRATCH_PATH + 16];
	snprintf(path, sizeof(path), "%s/%s", folder, name);
	FILE *f = fopen(path, "we");
	assert_non_null(f);
	assert_true(fputs(text, f) >= 0 && fclose(f) == 0 && chmod(path, mode) == 0);
}

/* gres.conf names these files, in this order */
static void set_gres(const char *first, const char *second)
{
	char text[512];
	snprintf(text, sizeof(text),
		 "slurmd: Gres Name=gpu Type=(null) Count=1 Index=0 ID=1 File=%s "
		 "Cores=(null) CoreCnt=4 Links=(null) Flags=HAS_FILE\n"
		 "slurmd: Gres Name=gpu Type=(null) Count=1 Index=1 ID=1 File=%s "
		 "Cores=(null) CoreCnt=4 Links=(null) Flags=HAS_FILE\n",
		 first, second);
	write_text("list", text, 0644);
}

static int setup(void **state)
{
	static char slurmd[SCRATCH_PATH + 16];
	char script[SCRATCH_PATH + 64];

	(void)state;
	scratch_make(folder);
	snprintf(script, sizeof(script), "#!/bin/sh\nexec cat %s/list\n", folder);
	write_text("slurmd", script, 0755);
	snprintf(slurmd, sizeof(slurmd), "%s/slurmd", folder);
	options = (struct options){.slurmd_path = slurmd, .gpu_order_map = (char *)""};
	env = (struct env){.options = &options,
			   .procfd = -1,
			   .sysfd = -1,
			   .hostname = "n",
			   .boottime_ns = lab_boottime_ns};
	now_ns = 1000 * NSEC_PER_SEC;
	maps = gpu_maps_new(&env);
	return maps ? 0 : -1;
}

static int teardown(void **state)
{
	(void)state;
	gpu_maps_free(maps);
	scratch_remove(folder);
	return 0;
}

/* The file of the unit's first device; "" it is not known yet */
static const char *file_of(const struct unit *unit)
{
	static struct gpu_use use[4];
	int n = gpu_maps_of(maps, unit, true, use, 4, NULL);

	return n == 1 ? use[0].gpu->file : "";
}

static void wait_for_file(const struct unit *unit, const char *want)
{
	for (int i = 0; i < 2000 && strcmp(file_of(unit), want) != 0; i++) {
		now_ns += NSEC_PER_SEC / 10; /* past each retry, in the end */
		nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
	}
	assert_string_equal(file_of(unit), want);
}

static struct unit new_unit(void)
{
	return (struct unit){.gpus = "0", .started_boottime_ns = now_ns};
}

static void a_known_list_is_not_asked_for_at_each_tick(void **state)
{
	struct unit unit = new_unit();

	(void)state;
	set_gres("/dev/nvidia0", "/dev/nvidia1");
	wait_for_file(&unit, "/dev/nvidia0");
	set_gres("/dev/nvidia1", "/dev/nvidia0");
	now_ns += 100 * NSEC_PER_SEC;
	struct unit later = new_unit();
	for (int i = 0; i < 20; i++) {
		assert_string_equal(file_of(&later), "/dev/nvidia0");
		nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
	}
}

/* The driver's file of a device is a pipe that nobody writes to yet. */
static void a_driver_that_hangs_keeps_nobody_waiting(void **state)
{
	static const char pci[] = "driver/nvidia/gpus/0000:01:00.0";
	char path[SCRATCH_PATH + 64];
	struct unit unit = new_unit();
	struct gpu_use use[4];
	int rc;

	(void)state;
	set_gres("/dev/nvidia0", "/dev/nvidia1");
	scratch_mkdir(folder, "driver");
	scratch_mkdir(folder, "driver/nvidia");
	scratch_mkdir(folder, "driver/nvidia/gpus");
	scratch_mkdir(folder, pci);
	snprintf(path, sizeof(path), "%s/%s/information", folder, pci);
	assert_int_equal(mkfifo(path, 0600), 0);
	env.procfd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	alarm(60);
	for (int i = 0; i < 20; i++) {
		rc = gpu_maps_of(maps, &unit, true, use, 4, NULL);
		assert_int_equal(rc, -EAGAIN);
		now_ns += NSEC_PER_SEC;
		nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
	}
	/* it opens for both at once */
	auto_close int driver = open(path, O_WRONLY | O_CLOEXEC);
	assert_true(driver >= 0);
	wait_for_file(&unit, "/dev/nvidia0");
	alarm(0);
	close(env.procfd);
}

static void a_reload_asks_again_and_running_units_keep_theirs(void **state)
{
	struct unit running = new_unit();

	(void)state;
	set_gres("/dev/nvidia0", "/dev/nvidia1");
	wait_for_file(&running, "/dev/nvidia0");
	set_gres("/dev/nvidia1", "/dev/nvidia0");
	now_ns += 100 * NSEC_PER_SEC;
	env.reloads++;
	(void)file_of(&running);
	struct unit later = new_unit();
	wait_for_file(&later, "/dev/nvidia1");
	assert_string_equal(file_of(&running), "/dev/nvidia0");
}

static void a_unit_long_after_the_last_answer_asks_again(void **state)
{
	struct unit running = new_unit();

	(void)state;
	set_gres("/dev/nvidia0", "/dev/nvidia1");
	wait_for_file(&running, "/dev/nvidia0");
	set_gres("/dev/nvidia1", "/dev/nvidia0");
	now_ns += 1000 * NSEC_PER_SEC;
	struct unit later = new_unit();
	wait_for_file(&later, "/dev/nvidia1");
	assert_string_equal(file_of(&running), "/dev/nvidia0");
}

static void a_slurmd_that_fails_later_changes_nothing(void **state)
{
	struct unit unit = new_unit();

	(void)state;
	set_gres("/dev/nvidia0", "/dev/nvidia1");
	wait_for_file(&unit, "/dev/nvidia0");
	write_text("slurmd", "#!/bin/sh\nexit 1\n", 0755);
	env.reloads++;
	for (int i = 0; i < 20; i++) {
		assert_string_equal(file_of(&unit), "/dev/nvidia0");
		nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			a_known_list_is_not_asked_for_at_each_tick, setup, teardown),
		cmocka_unit_test_setup_teardown(
			a_driver_that_hangs_keeps_nobody_waiting, setup, teardown),
		cmocka_unit_test_setup_teardown(
			a_reload_asks_again_and_running_units_keep_theirs, setup,
			teardown),
		cmocka_unit_test_setup_teardown(
			a_unit_long_after_the_last_answer_asks_again, setup, teardown),
		cmocka_unit_test_setup_teardown(
			a_slurmd_that_fails_later_changes_nothing, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
