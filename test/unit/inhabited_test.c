/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Lists of processes: all of them, or it is known that there are more. discover_test
 * has which of them count as tasks. */
#include "daemon/inhabited.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>

#include "lib/cleanup.h"
#include "lib/fs.h"
#include "test/unit/scratch.h"

#define STEP "/system.slice/slurmstepd.scope/job_7/step_0"

static char folder[SCRATCH_PATH];
static struct env env;
static const struct record_cgroup group = {.controllers = CGROUP_UNIFIED, .path = STEP};
static uint64_t pids[20000];
static bool cut;

static int make_step(void **state)
{
	(void)state;
	scratch_make(folder);
	env = (struct env){.procfd = -1, .sysfd = -1};
	env.cgroupfd = fs_opendir_at(AT_FDCWD, folder, NULL);
	scratch_mkdir(folder, "system.slice");
	scratch_mkdir(folder, "system.slice/slurmstepd.scope");
	scratch_mkdir(folder, "system.slice/slurmstepd.scope/job_7");
	scratch_mkdir(folder, STEP + 1);
	auto_close int fd = openat(env.cgroupfd, "cgroup.controllers",
				   O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	return cgroup_probe(env.cgroupfd, &env.cgroups, NULL);
}

static int remove_step(void **state)
{
	(void)state;
	close(env.cgroupfd);
	scratch_remove(folder);
	return 0;
}

/* A folder below the step's ("": its own) with processes first, first + 1, ... */
static void put_processes(const char *below, unsigned first, unsigned count)
{
	char path[2 * SCRATCH_PATH];

	(void)snprintf(path, sizeof(path), "%s%s", STEP + 1, below);
	if (*below)
		scratch_mkdir(folder, path);
	(void)snprintf(path, sizeof(path), "%s%s/cgroup.procs", STEP + 1, below);
	auto_close int fd =
		openat(env.cgroupfd, path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	for (unsigned i = 0; i < count; i++)
		assert_true(dprintf(fd, "%u\n", first + i) > 0);
}

static size_t list_all(size_t max)
{
	return inhabited_list_all(&env, &group, 1, pids, max, &cut);
}

static void all_of_a_long_list_are_there(void **state)
{
	(void)state;
	put_processes("", 1000000, 3000);
	put_processes("/user", 2000000, 1);
	assert_int_equal(list_all(4096), 3001);
	assert_false(cut);
	assert_int_equal(pids[0], 1000000);
	assert_int_equal(pids[2999], 1002999);
	assert_int_equal(pids[3000], 2000000);
}

static void *write_in_two_parts(void *arg)
{
	const int *fd = arg;

	assert_int_equal(fs_write_all(*fd, "71\n7", 4), 0);
	for (int waiting = 1; waiting;)
		assert_int_equal(ioctl(*fd, FIONREAD, &waiting), 0);
	assert_int_equal(fs_write_all(*fd, "2\n73\n", 5), 0);
	close(*fd);
	return NULL;
}

/* The kernel's reads end where it likes, long before the buffer's end. */
static void a_read_that_ends_early_is_not_the_end(void **state)
{
	char path[2 * SCRATCH_PATH];
	pthread_t writer;
	(void)state;

	(void)snprintf(path, sizeof(path), "%s" STEP "/cgroup.procs", folder);
	assert_int_equal(mkfifo(path, 0600), 0);
	int fd = open(path, O_RDWR | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(pthread_create(&writer, NULL, write_in_two_parts, &fd), 0);
	assert_int_equal(list_all(10), 3);
	assert_int_equal(pids[1], 72);
	assert_int_equal(pids[2], 73);
	assert_false(cut);
	assert_int_equal(pthread_join(writer, NULL), 0);
}

static void more_than_there_is_room_for_is_a_cut(void **state)
{
	(void)state;
	put_processes("", 1, 10);
	assert_int_equal(list_all(10), 10);
	assert_false(cut);
	assert_int_equal(list_all(9), 9);
	assert_true(cut);
}

static void a_directory_beyond_the_bound_is_a_cut(void **state)
{
	(void)state;
	put_processes("", 1, 15000);
	size_t n = list_all(20000);
	assert_true(n > 8000 && n < 15000);
	assert_true(cut);
}

static void folders_below_the_last_level_are_a_cut(void **state)
{
	(void)state;
	put_processes("", 1, 1);
	put_processes("/a", 2, 1);
	put_processes("/a/b", 3, 1);
	put_processes("/a/b/c", 4, 1);
	assert_int_equal(list_all(10), 4);
	assert_false(cut);
	put_processes("/a/b/c/d", 5, 1);
	assert_int_equal(list_all(10), 4);
	assert_true(cut);
}

static void more_folders_than_are_visited_are_a_cut(void **state)
{
	char name[32];
	(void)state;

	for (unsigned i = 0; i < 256; i++) {
		(void)snprintf(name, sizeof(name), "/t%u", i);
		put_processes(name, 1000 + i, 1);
	}
	assert_int_equal(list_all(1000), 256);
	assert_false(cut);
	put_processes("/one_more", 1, 1);
	assert_int_equal(list_all(1000), 256);
	assert_true(cut);
}

/* A folder in its place stands for a file that the kernel refuses. */
static void what_cannot_be_read_is_a_cut(void **state)
{
	(void)state;
	put_processes("", 1, 2);
	assert_int_equal(list_all(10), 2);
	scratch_mkdir(folder, STEP "/threaded" + 1);
	assert_int_equal(list_all(10), 2);
	assert_false(cut); /* as if it had been removed */
	scratch_mkdir(folder, STEP "/threaded/cgroup.procs" + 1);
	assert_int_equal(list_all(10), 2);
	assert_true(cut);
}

/* libvirt has the threads of a virtual machine in threaded groups, whose list cannot be
 * read; their processes are in that of the group above. The kernel's own v2. */
static void threaded_groups_are_no_cut(void **state)
{
	const char *mount = access("/sys/fs/cgroup/unified", F_OK) == 0
				    ? "/sys/fs/cgroup/unified"
				    : "/sys/fs/cgroup";
	char root[64], path[96], text[16];
	(void)state;

	(void)snprintf(path, sizeof(path), "%s/cgroup.controllers", mount);
	(void)snprintf(root, sizeof(root), "%s/ceems_test_%d", mount, (int)getpid());
	if (access(path, F_OK) < 0 || mkdir(root, 0700) < 0)
		skip();
	close(env.cgroupfd);
	env.cgroupfd = fs_opendir_at(AT_FDCWD, root, NULL);
	(void)snprintf(path, sizeof(path),
		       "%s"
		       "/vm",
		       root);
	struct record_cgroup vm = {.controllers = CGROUP_UNIFIED, .path = "/vm"};
	assert_int_equal(mkdir(path, 0700), 0);
	assert_int_equal(mkdirat(env.cgroupfd, "vm/emulator", 0700), 0);
	auto_close int type =
		openat(env.cgroupfd, "vm/emulator/cgroup.type", O_WRONLY | O_CLOEXEC);
	bool is_threaded = type >= 0 && fs_write_all(type, "threaded", 8) == 0;
	pid_t pid = fork();
	if (pid == 0)
		for (;;)
			pause();
	(void)snprintf(text, sizeof(text), "%d", (int)pid);
	auto_close int procs =
		openat(env.cgroupfd, "vm/cgroup.procs", O_WRONLY | O_CLOEXEC);
	assert_int_equal(fs_write_all(procs, text, strlen(text)), 0);
	size_t n = inhabited_list_all(&env, &vm, 1, pids, 10, &cut);
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_int_equal(unlinkat(env.cgroupfd, "vm/emulator", AT_REMOVEDIR), 0);
	assert_int_equal(unlinkat(env.cgroupfd, "vm", AT_REMOVEDIR), 0);
	assert_int_equal(rmdir(root), 0);
	if (!is_threaded)
		skip();
	assert_int_equal(n, 1);
	assert_int_equal(pids[0], pid);
	assert_false(cut);
}

static void a_step_that_is_gone_has_nobody(void **state)
{
	const struct record_cgroup gone = {.controllers = CGROUP_UNIFIED,
					   .path = "/system.slice/none"};
	(void)state;

	cut = true;
	assert_int_equal(inhabited_list_all(&env, &gone, 1, pids, 10, &cut), 0);
	assert_false(cut);
}

int main(void)
{
#define LIST_TEST(f) cmocka_unit_test_setup_teardown(f, make_step, remove_step)
	const struct CMUnitTest tests[] = {
		LIST_TEST(all_of_a_long_list_are_there),
		LIST_TEST(a_read_that_ends_early_is_not_the_end),
		LIST_TEST(more_than_there_is_room_for_is_a_cut),
		LIST_TEST(a_directory_beyond_the_bound_is_a_cut),
		LIST_TEST(folders_below_the_last_level_are_a_cut),
		LIST_TEST(more_folders_than_are_visited_are_a_cut),
		LIST_TEST(what_cannot_be_read_is_a_cut),
		LIST_TEST(threaded_groups_are_no_cut),
		LIST_TEST(a_step_that_is_gone_has_nobody),
	};
	return cmocka_run_group_tests_name("inhabited_test", tests, NULL, NULL);
}
