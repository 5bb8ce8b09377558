/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A process as files in a folder, looked at by a user who may not open the file that it
 * has mapped. */
#include "opener/profile_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/wait.h>

#include "lib/cleanup.h"
#include "lib/fs.h"
#include "opener/profile.h"
#include "test/unit/scratch.h"
#include "test/unit/unit.h"

enum { START = 0x10000, END = 0x12000, NOBODY = 65534, OTHER = 65533 };

static char dir[SCRATCH_PATH];
static int process;

static void put_file(const char *name, const char *text, off_t at, mode_t mode)
{
	char path[2 * SCRATCH_PATH];

	(void)snprintf(path, sizeof(path), "%s/%s", dir, name);
	auto_close int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(pwrite(fd, text, strlen(text), at), strlen(text));
	assert_int_equal(ftruncate(fd, at + END - START), 0);
	assert_int_equal(fchmod(fd, mode), 0);
}

static void put_maps(const char *lines)
{
	char path[2 * SCRATCH_PATH];

	(void)snprintf(path, sizeof(path), "%s/maps", dir);
	(void)remove(path);
	auto_close int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	assert_true(fd >= 0);
	assert_int_equal(fs_write_all(fd, lines, strlen(lines)), 0);
}

/* Files that a user may not open: root is another one meanwhile. */
static int make_process(void **state)
{
	(void)state;
	scratch_make(dir);
	assert_int_equal(chmod(dir, 0777), 0);
	scratch_mkdir(dir, "map_files");
	put_file("map_files/10000-12000", "the file's", 0, 0);
	put_file("mem", "as it is in memory", START, 0644);
	if (geteuid() == 0)
		assert_int_equal(seteuid(NOBODY), 0);
	process = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(process >= 0);
	return 0;
}

static int remove_process(void **state)
{
	(void)state;
	close(process);
	if (getuid() == 0)
		assert_int_equal(seteuid(0), 0);
	scratch_remove(dir);
	return 0;
}

/* What begins with text, or an error */
static void expect_copy(const char *text)
{
	char got[64] = "";
	struct err err;
	auto_close int fd = profile_memory_copy(process, START, END, &err);

	assert_true(fd >= 0);
	assert_int_equal(lseek(fd, 0, SEEK_END), END - START);
	assert_true(pread(fd, got, sizeof(got) - 1, 0) > 0);
	assert_string_equal(got, text);
}

static int copy(uint64_t start, uint64_t end)
{
	struct err err;
	int fd = profile_memory_copy(process, start, end, &err);

	if (fd >= 0)
		close(fd);
	return fd < 0 ? fd : 0;
}

static int copy_of(const char *maps)
{
	put_maps(maps);
	return copy(START, END);
}

#define BEFORE "00008000-00009000 rw-p 00000000 00:00 0                     [heap]\n"
#define LINE "00010000-00012000 r--p 00000000 00:31 12                    /mnt/a file\n"

static void a_file_that_does_not_open_is_copied_from_memory(void **state)
{
	(void)state;
	put_maps(BEFORE LINE);
	expect_copy("as it is in memory");
}

static void one_that_opens_is_not(void **state)
{
	char path[2 * SCRATCH_PATH];
	(void)state;

	(void)snprintf(path, sizeof(path), "%s/map_files/10000-12000", dir);
	if (getuid() == 0)
		assert_int_equal(seteuid(0), 0);
	assert_int_equal(chmod(path, 0644), 0);
	assert_int_equal(copy_of(BEFORE LINE), -EEXIST);
}

static void a_device_is_not_even_opened(void **state)
{
	char path[2 * SCRATCH_PATH], event[4096];
	struct profile_file file;
	struct err err;
	(void)state;

	(void)snprintf(path, sizeof(path), "%s/pipe", dir);
	assert_int_equal(mkfifo(path, 0666), 0);
	auto_close int opened = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	assert_true(inotify_add_watch(opened, path, IN_OPEN) >= 0);
	(void)snprintf(path, sizeof(path), "%s/map_files/20000-21000", dir);
	(void)(getuid() == 0 ? seteuid(0) : 0);
	assert_int_equal(symlink("../pipe", path), 0);
	assert_int_equal(profile_open_file(process, 0x20000, 0x21000, &file, &err),
			 -EINVAL);
	assert_int_equal(read(opened, event, sizeof(event)), -1);
}

static void what_is_of_no_file_is_refused(void **state)
{
	(void)state;
	assert_int_equal(copy_of("00010000-00012000 r--p 00000000 00:00 0 \n"), -EPERM);
	assert_int_equal(copy_of("00010000-00012000 r--p 00000000 00:00 0    [heap]\n"),
			 -EPERM);
	assert_int_equal(
		copy_of("00010000-00012000 r--p 00000000 00:00 0    [anon:a/b]\n"),
		-EPERM);
	assert_int_equal(copy_of("00010000-00012000 r--p 00000000 00:00 0    /none\n"),
			 -EPERM);
	assert_int_equal(
		copy_of("00010000-00012000 r--p 00000000 00:01 7    anon_inode:/x\n"),
		-EPERM);
	assert_int_equal(
		copy_of("00010000-00012000 r--s 00000000 00:01 7    /SYSV00000000 "
			"(deleted)\n"),
		-EPERM);
	assert_int_equal(copy_of("00010000-00012000 r--p\n"), -EPERM);
	assert_int_equal(copy_of("00010000-00012000 r-"), -EPERM);
}

static void what_may_be_written_to_is_refused(void **state)
{
	(void)state;
	assert_int_equal(copy_of("00010000-00012000 rw-p 00000000 00:31 12    /a\n"),
			 -EPERM);
	assert_int_equal(copy_of("00010000-00012000 ---p 00000000 00:31 12    /a\n"),
			 -EPERM);
	assert_int_equal(copy_of("00010000-00012000 r--s 00000000 00:31 12    /a\n"),
			 -EPERM);
}

static void only_a_whole_mapping_is_one(void **state)
{
	(void)state;
	put_maps(BEFORE LINE);
	assert_int_equal(copy(START, START + 0x1000), -ENOENT);
	assert_int_equal(copy(START, START), -ENOENT);
	assert_int_equal(copy(0x9000, START), -ENOENT);
	assert_int_equal(copy(START, START + PROFILE_MEMORY_MAX + 1), -EFBIG);
	assert_int_equal(copy(END, START), -EFBIG);
	assert_int_equal(copy_of(""), -ENOENT);
}

/* Does what another process may do once maps are being opened. */
static pid_t run_meanwhile(void (*change)(void))
{
	char maps[2 * SCRATCH_PATH];

	(void)snprintf(maps, sizeof(maps), "%s/maps", dir);
	assert_int_equal(mkfifo(maps, 0644), 0);
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid)
		return pid;
	(void)(getuid() == 0 ? seteuid(0) : 0);
	int fd = open(maps, O_WRONLY | O_CLOEXEC); /* waits for its reader */
	change();
	_exit(fd < 0 || fs_write_all(fd, LINE, strlen(LINE)) < 0);
}

static void expect_end(pid_t pid)
{
	int status;

	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void run_other_program(void)
{
	char from[2 * SCRATCH_PATH], to[2 * SCRATCH_PATH];

	put_file("new", "another program's", START, 0644);
	(void)snprintf(from, sizeof(from), "%s/new", dir);
	(void)snprintf(to, sizeof(to), "%s/mem", dir);
	if (rename(from, to) < 0)
		_exit(1);
}

static void
a_program_that_runs_by_the_time_maps_are_read_is_not_looked_into(void **state)
{
	(void)state;
	pid_t pid = run_meanwhile(run_other_program);
	expect_copy("as it is in memory");
	expect_end(pid);
}

static void run_as_another(void)
{
	if (chown(dir, OTHER, 0) < 0)
		_exit(1);
}

static void one_of_another_user_by_then_is_refused(void **state)
{
	(void)state;
	if (getuid() != 0)
		skip();
	pid_t pid = run_meanwhile(run_as_another);
	assert_int_equal(copy(START, END), -ESRCH);
	expect_end(pid);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_process, remove_process)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_file_that_does_not_open_is_copied_from_memory),
		TEST(one_that_opens_is_not),
		TEST(a_device_is_not_even_opened),
		TEST(what_is_of_no_file_is_refused),
		TEST(what_may_be_written_to_is_refused),
		TEST(only_a_whole_mapping_is_one),
		TEST(a_program_that_runs_by_the_time_maps_are_read_is_not_looked_into),
		TEST(one_of_another_user_by_then_is_refused),
	};
	return cmocka_run_group_tests_name("profile_memory_test", tests, NULL, NULL);
}
