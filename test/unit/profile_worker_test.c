/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Files of users that never open, on a file system whose server stands still
 * (hung_fuse): whoever opens one cannot even be killed. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <time.h>

#include "lib/cleanup.h"
#include "lib/fs.h"
#include "opener/profile_worker.h"
#include "test/unit/scratch.h"
#include "test/unit/unit.h"

enum { HUNG_USER = 1001, OTHER_USER = 1002, SUB_USER = 100000 };

static char proc[SCRATCH_PATH], mounted[SCRATCH_PATH + 8];
static pid_t server;
static struct profile_worker worker;

static void put_text(const char *name, const char *text)
{
	char path[2 * SCRATCH_PATH];

	(void)snprintf(path, sizeof(path), "%s/%s", proc, name);
	auto_close int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(fs_write_all(fd, text, strlen(text)), 0);
}

/* A folder of /proc whose maps hang, or do not. Root owns it, as of a process that may
 * not be looked into. */
static void make_process(const char *pid, uid_t uid, const char *job, bool hangs)
{
	char path[2 * SCRATCH_PATH], target[2 * SCRATCH_PATH], text[128];

	scratch_mkdir(proc, pid);
	(void)snprintf(path, sizeof(path), "%s/%s/maps", proc, pid);
	(void)snprintf(target, sizeof(target), "%s/program", mounted);
	if (hangs)
		assert_int_equal(symlink(target, path), 0);
	else
		put_text(path + strlen(proc) + 1, "");
	(void)snprintf(path, sizeof(path), "%s/status", pid);
	(void)snprintf(text, sizeof(text), "Name:\tx\nUid:\t%u\t0\t0\t0\n", uid);
	put_text(path, text);
	(void)snprintf(path, sizeof(path), "%s/cgroup", pid);
	(void)snprintf(text, sizeof(text),
		       "0::/system.slice/slurmstepd.scope/job_%s/step_%s\n", job, pid);
	put_text(path, text);
}

static void run_server(void)
{
	const char *build = getenv("BUILD");
	char program[512], trigger[2 * SCRATCH_PATH];

	(void)snprintf(program, sizeof(program), "%s/hung_fuse",
		       build ? build : "build");
	(void)snprintf(trigger, sizeof(trigger), "%s/trigger", proc);
	execl(program, program, "/bin/true", mounted, trigger, (char *)NULL);
	_exit(127);
}

/* False: there is no FUSE here. */
static bool start_server(void)
{
	int out[2];
	char ready[8] = "";

	assert_int_equal(pipe2(out, O_CLOEXEC), 0);
	server = fork();
	if (server == 0) {
		(void)dup2(out[1], STDOUT_FILENO);
		run_server();
	}
	close(out[1]);
	ssize_t n = read(out[0], ready, sizeof(ready));
	close(out[0]);
	return n > 0;
}

static int open_worker(void **state)
{
	char path[2 * SCRATCH_PATH];
	struct stat st;
	(void)state;

	scratch_make(proc);
	(void)snprintf(mounted, sizeof(mounted), "%s/mount", proc);
	scratch_mkdir(proc, "mount");
	worker = (struct profile_worker){
		.fd = -1, .any_process = true, .time = {.burst_ns = WORKERS_BURST_NS}};
	worker.procfd = open(proc, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (geteuid() != 0 || !start_server())
		return 0;
	(void)snprintf(path, sizeof(path), "%s/program", mounted);
	assert_int_equal(stat(path, &st), 0); /* it works; from now on it does not */
	put_text("trigger", "open");
	return 0;
}

static void end_process(pid_t pid)
{
	int status;

	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
}

static int close_worker(void **state)
{
	(void)state;

	profile_worker_end(&worker);
	if (server > 0) {
		end_process(server);
		(void)umount2(mounted, MNT_DETACH);
	}
	close(worker.procfd);
	scratch_remove(proc);
	return 0;
}

/* A process of user's that waits in a user namespace of his, if he may have one: what
 * a container without root is. A folder of our /proc has it. */
static pid_t enter_namespace(const char *pid, uid_t user)
{
	char path[2 * SCRATCH_PATH], target[64], said = 0;
	int out[2];

	assert_int_equal(pipe2(out, O_CLOEXEC), 0);
	pid_t child = fork();
	if (child == 0) {
		said = setresuid(user, user, user) == 0 && unshare(CLONE_NEWUSER) == 0;
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		(void)write(out[1], &said, 1);
		for (;;)
			pause();
	}
	close(out[1]);
	assert_int_equal(read(out[0], &said, 1), 1);
	close(out[0]);
	(void)snprintf(path, sizeof(path), "%s/%s/ns", proc, pid);
	(void)snprintf(target, sizeof(target), "/proc/%d/ns", child);
	assert_int_equal(symlink(target, path), 0);
	if (said)
		return child;
	end_process(child);
	return 0;
}

static int ask_for_maps(uint32_t pid)
{
	const struct profile_request r = {.kind = PROFILE_REQUEST_MAPS, .pid = pid};
	struct profile_reply a = {0};
	int fd = -1;

	profile_worker_ask(&worker, &r, &a, &fd);
	if (fd >= 0)
		close(fd);
	return a.rc;
}

static void one_users_hung_files_are_nobody_elses_trouble(void **state)
{
	const struct timespec pause = {.tv_nsec = 10000000};
	int rc;
	(void)state;

	if (geteuid() != 0 || access("/dev/fuse", R_OK | W_OK) < 0)
		skip();
	make_process("71", HUNG_USER, "7", true);
	make_process("72", HUNG_USER, "8", false);
	make_process("73", SUB_USER, "7", false);  /* in a container */
	make_process("74", SUB_USER, "10", false); /* in one of another job of his */
	make_process("81", OTHER_USER, "9", false);
	pid_t container = enter_namespace("74", HUNG_USER);
	for (unsigned i = 0; i < WORKERS_STUCK_EACH; i++)
		assert_int_equal(ask_for_maps(71), -ETIMEDOUT);
	/* at once, also for those that would open */
	assert_int_equal(ask_for_maps(71), -EBUSY);
	assert_int_equal(ask_for_maps(72), -EBUSY);
	assert_int_equal(ask_for_maps(73), -EBUSY);
	assert_int_equal(ask_for_maps(74), container ? -EBUSY : 0);
	assert_int_equal(ask_for_maps(81), 0);
	/* the server is gone: who waited for it can end */
	end_process(server);
	server = -1;
	for (int i = 0; (rc = ask_for_maps(72)) == -EBUSY && i < 3000; i++)
		nanosleep(&pause, NULL);
	assert_int_equal(rc, 0);
	(void)umount2(mounted, MNT_DETACH);
	if (container)
		end_process(container);
}

/* Gives each reader an end of file that comes late. */
static pid_t serve_slowly(const char *pid)
{
	const struct timespec late = {.tv_nsec = 200000000};
	char path[2 * SCRATCH_PATH];

	(void)snprintf(path, sizeof(path), "%s/%s/maps", proc, pid);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(mkfifo(path, 0600), 0);
	pid_t child = fork();
	if (child)
		return child;
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;) {
		int fd = open(path, O_WRONLY | O_CLOEXEC);
		nanosleep(&late, NULL);
		close(fd);
	}
}

static void one_users_slow_files_take_not_all_of_the_time(void **state)
{
	const struct timespec pause = {.tv_nsec = 10000000};
	int rc = 0;
	(void)state;

	if (geteuid() != 0)
		skip();
	make_process("71", HUNG_USER, "7", false);
	make_process("72", HUNG_USER, "8", false);
	make_process("81", OTHER_USER, "9", false);
	pid_t slow = serve_slowly("71");
	for (int i = 0; rc != -EBUSY && i < 100; i++)
		rc = ask_for_maps(71);
	assert_int_equal(rc, -EBUSY);
	assert_int_equal(ask_for_maps(72), -EBUSY);
	assert_int_equal(ask_for_maps(81), 0);
	for (int i = 0; (rc = ask_for_maps(72)) == -EBUSY && i < 3000; i++)
		nanosleep(&pause, NULL);
	assert_int_equal(rc, 0);
	end_process(slow);
}

#define POD_GROUP(pod)                                                                 \
	"0::/kubepods/besteffort/pod" pod "1111111-2222-3333-4444-555555555555/abc\n"

static void one_pods_hung_files_are_no_other_pods_trouble(void **state)
{
	(void)state;

	if (geteuid() != 0 || access("/dev/fuse", R_OK | W_OK) < 0)
		skip();
	make_process("71", 0, "7", true);
	make_process("81", 0, "9", false);
	put_text("71/cgroup", POD_GROUP("7"));
	put_text("81/cgroup", POD_GROUP("8"));
	for (unsigned i = 0; i < WORKERS_STUCK_EACH; i++)
		assert_int_equal(ask_for_maps(71), -ETIMEDOUT);
	assert_int_equal(ask_for_maps(71), -EBUSY);
	assert_int_equal(ask_for_maps(81), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			one_users_slow_files_take_not_all_of_the_time, open_worker,
			close_worker),
		cmocka_unit_test_setup_teardown(
			one_users_hung_files_are_nobody_elses_trouble, open_worker,
			close_worker),
		cmocka_unit_test_setup_teardown(
			one_pods_hung_files_are_no_other_pods_trouble, open_worker,
			close_worker),
	};
	return cmocka_run_group_tests_name("profile_worker_test", tests, NULL, NULL);
}
