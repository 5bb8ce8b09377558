/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/cleanup.h"
#include "lib/fd_pass.h"
#include "lib/fs.h"
#include "opener/profile.h"
#include "test/unit/scratch.h"
#include "test/unit/unit.h"

/* An opener at the other end of a socket */
struct world {
	int link;
	pid_t pid;
	uint32_t serial;
	uint32_t uid;                          /* of the last answer */
	char text[PROFILE_REQUEST_TEXT_BYTES]; /* of the last answer */
};

/* keep: as ceemsd has it */
static void start_for(struct world *w, const char *proc, uint32_t requests,
		      bool any_process, bool keep)
{
	int pair[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair),
			 0);
	w->serial = 0;
	w->pid = fork();
	if (w->pid == 0) {
		close(pair[0]);
		int procfd = open(proc, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		const struct profile_service service = {.link = pair[1],
							.procfd = procfd,
							.requests = requests,
							.any_process = any_process};
		_exit((keep ? profile_keep(&service) : profile_serve(&service)) < 0);
	}
	close(pair[1]);
	w->link = pair[0];
}

static void start_at(struct world *w, const char *proc, bool any_process, bool keep)
{
	start_for(w, proc, PROFILE_REQUESTS_OF_PROFILER, any_process, keep);
}

static void start_serving(struct world *w, bool any_process)
{
	start_at(w, "/proc", any_process, false);
}

static void stop(struct world *w)
{
	int status;

	close(w->link);
	assert_int_equal(waitpid(w->pid, &status, 0), w->pid);
	assert_true(WIFEXITED(status));
}

/* Its answer's rc; the descriptor that came with it is the caller's. */
static int ask_for_file(struct world *w, struct profile_request r, int *ret_fd,
			uint32_t *ret_left_out)
{
	struct profile_reply a;
	int fds[FD_PASS_MAX];
	unsigned count;

	r.magic = PROFILE_REQUEST_MAGIC;
	r.serial = ++w->serial;
	assert_int_equal(fd_pass_send(w->link, &r, sizeof(r), NULL, 0, 0), 0);
	assert_int_equal(fd_pass_receive(w->link, &a, sizeof(a), fds, &count, 0),
			 sizeof(a));
	assert_int_equal(a.serial, r.serial);
	assert_int_equal(a.fds, count);
	assert_true(a.rc == 0 || (count == 0 && *a.text));
	while (count > 1)
		close(fds[--count]);
	memcpy(w->text, a.text, sizeof(w->text));
	*ret_fd = count ? fds[0] : -1;
	*ret_left_out = a.left_out;
	w->uid = a.uid;
	return a.rc;
}

static int ask(struct world *w, struct profile_request r)
{
	uint32_t left_out;
	int fd, rc = ask_for_file(w, r, &fd, &left_out);

	if (fd >= 0)
		close(fd);
	return rc;
}

static void what_is_not_on_the_list_is_refused(void **state)
{
	struct world w;
	(void)state;

	start_serving(&w, false);
	assert_int_equal(ask(&w, (struct profile_request){.kind = 0}), -EINVAL);
	assert_int_equal(
		ask(&w, (struct profile_request){.kind = PROFILE_REQUEST_KINDS}),
		-EINVAL);
	assert_int_equal(ask(&w, (struct profile_request){.kind = 12345}), -EINVAL);
	assert_int_equal(ask(&w, (struct profile_request){.kind = PROFILE_REQUEST_TICKS,
							  .hz = 1001}),
			 -EINVAL);
	assert_int_equal(
		ask(&w, (struct profile_request){.kind = PROFILE_REQUEST_LOAD,
						 .room = {.rows = UINT32_MAX}}),
		-EINVAL);
	stop(&w);
}

static void what_is_no_function_of_the_kernel_has_no_name(void **state)
{
	struct profile_request r = {.kind = PROFILE_REQUEST_KERNEL_NAME};
	struct world w;
	(void)state;

	start_serving(&w, false);
	/* -EPERM and the like: not root, or an old kernel */
	assert_true(ask(&w, r) < 0);
	r.start = 4096; /* a process's own */
	assert_true(ask(&w, r) < 0);
	stop(&w);
}

static void processes_of_no_unit_are_nobodys_business(void **state)
{
	struct profile_request r = {.kind = PROFILE_REQUEST_MAPS, .pid = 1};
	struct world w;
	(void)state;

	start_serving(&w, false);
	assert_int_equal(ask(&w, r), -ESRCH);
	r.pid = (uint32_t)getpid(); /* nor our own */
	assert_int_equal(ask(&w, r), -ESRCH);
	r.kind = PROFILE_REQUEST_FILE;
	assert_int_equal(ask(&w, r), -ESRCH);
	r.pid = UINT32_MAX;
	assert_int_equal(ask(&w, r), -ESRCH);
	stop(&w);
}

static int ask_for_memory(struct world *w, const char *at, size_t size)
{
	return ask(w, (struct profile_request){.kind = PROFILE_REQUEST_MEMORY,
					       .pid = (uint32_t)getpid(),
					       .start = (uint64_t)(uintptr_t)at,
					       .end = (uint64_t)(uintptr_t)at + size});
}

static void what_is_mapped_of_a_file_that_opens_is_not_copied(void **state)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	auto_close int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	char *only = mmap(NULL, page, PROT_READ, MAP_PRIVATE, fd, 0);
	char *both = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	char *none = mmap(NULL, page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct world w;
	(void)state;

	assert_true(only != MAP_FAILED && both != MAP_FAILED && none != MAP_FAILED);
	start_serving(&w, true);
	int rc = ask_for_memory(&w, only, page);
	assert_true(rc == -EEXIST || geteuid() != 0); /* it opens */
	assert_int_equal(ask_for_memory(&w, both, page), -EPERM);
	assert_int_equal(ask_for_memory(&w, only, page / 2), -ENOENT);
	assert_true(ask_for_memory(&w, none, page) < 0);
	assert_int_equal(ask_for_memory(&w, only, (size_t)PROFILE_MEMORY_MAX + 1),
			 -EFBIG);
	stop(&w);
	start_serving(&w, false); /* we are no unit */
	assert_int_equal(ask_for_memory(&w, only, page), -ESRCH);
	stop(&w);
	munmap(only, page);
	munmap(both, page);
	munmap(none, page);
}

static void put_text(const char *dir, const char *name, const char *text)
{
	char path[2 * SCRATCH_PATH];

	(void)snprintf(path, sizeof(path), "%s/%s", dir, name);
	auto_close int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(fs_write_all(fd, text, strlen(text)), 0);
}

/* Whether the maps of a process whose /proc/PID/cgroup says this are given */
static int ask_for_maps_in(const char *cgroup)
{
	char dir[SCRATCH_PATH];
	struct world w;

	scratch_make(dir);
	scratch_mkdir(dir, "71");
	put_text(dir, "71/cgroup", cgroup);
	put_text(dir, "71/maps", "");
	start_at(&w, dir, false, false);
	int rc = ask(&w,
		     (struct profile_request){.kind = PROFILE_REQUEST_MAPS, .pid = 71});
	stop(&w);
	scratch_remove(dir);
	return rc;
}

static void steps_machines_and_pods_are_units(void **state)
{
	(void)state;
	assert_int_equal(ask_for_maps_in("0::/system.slice/slurmstepd.scope/job_7/"
					 "step_0/user/task_0\n"),
			 0);
	assert_int_equal(
		ask_for_maps_in("0::/machine.slice/machine-qemu\\x2d1\\x2da.scope\n"),
		0);
	assert_int_equal(ask_for_maps_in("4:cpu,cpuacct:/machine/qemu-1-a.libvirt-qemu/"
					 "vcpu0\n1:name=systemd:/\n"),
			 0);
	assert_int_equal(
		ask_for_maps_in("0::/kubepods.slice/kubepods-burstable.slice/"
				"kubepods-burstable-pod11111111_2222_3333_4444_"
				"555555555555.slice/cri-containerd-abc.scope\n"),
		0);
	assert_int_equal(ask_for_maps_in("0::/kubepods/besteffort/pod11111111-2222-"
					 "3333-4444-555555555555/abc\n"),
			 0);
}

static void names_that_a_user_can_make_are_no_units(void **state)
{
	(void)state;
	assert_int_equal(ask_for_maps_in("0::/user.slice/user-7.slice/user@7.service/"
					 "kubepods/pod11111111-2222-3333-4444-"
					 "555555555555\n"),
			 -ESRCH);
	assert_int_equal(ask_for_maps_in("0::/system.slice/cron.service\n"), -ESRCH);
	assert_int_equal(ask_for_maps_in("0::machine/qemu-1-a.libvirt-qemu\n"), -ESRCH);
	assert_int_equal(ask_for_maps_in("::::\n\n:"), -ESRCH);
}

#define STEP_GROUP "0::/system.slice/slurmstepd.scope/job_7/step_0/user/task_0\n"
#define I915_TEXT                                                                      \
	"pos:\t0\ndrm-driver:\ti915\ndrm-client-id:\t1\ndrm-pdev:\t0000:00:02.0\n"

/* A process 71 with such a descriptor: what it leads to, and its fdinfo */
static void put_descriptor(const char *dir, unsigned number, const char *target,
			   const char *text)
{
	char name[64], path[2 * SCRATCH_PATH];

	(void)snprintf(path, sizeof(path), "%s/71/fd/%u", dir, number);
	assert_int_equal(symlink(target, path), 0);
	(void)snprintf(name, sizeof(name), "71/fdinfo/%u", number);
	put_text(dir, name, text);
}

static void make_process(char *dir, const char *cgroup)
{
	scratch_make(dir);
	scratch_mkdir(dir, "71");
	scratch_mkdir(dir, "71/fd");
	scratch_mkdir(dir, "71/fdinfo");
	put_text(dir, "71/cgroup", cgroup);
}

/* A user may be in any number of groups. */
static void of_many_groups_a_perf_map_is_found(void **state)
{
	char dir[SCRATCH_PATH], path[2 * SCRATCH_PATH], text[32768];
	size_t at = (size_t)snprintf(text, sizeof(text), "Name:\tx\nGroups:\t");
	(void)state;

	make_process(dir, STEP_GROUP);
	for (unsigned i = 0; i < 3000; i++)
		at += (size_t)snprintf(text + at, sizeof(text) - at, "%u ", 100000 + i);
	(void)snprintf(text + at, sizeof(text) - at, "\nNSpid:\t71\t9\n");
	put_text(dir, "71/status", text);
	(void)snprintf(path, sizeof(path), "%s/71/root", dir);
	assert_int_equal(symlink(dir, path), 0);
	scratch_mkdir(dir, "tmp");
	put_text(dir, "tmp/perf-9.map", "");
	(void)snprintf(path, sizeof(path), "%s/71", dir);
	auto_close int process = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	auto_close int fd = profile_open_perf_map(process, NULL);
	assert_true(fd >= 0);
	scratch_remove(dir);
}

/* A device would notice, as does who waits for a pipe's other end. */
static void a_perf_map_that_is_no_file_is_not_opened(void **state)
{
	char dir[SCRATCH_PATH], path[2 * SCRATCH_PATH];
	int noticed[2], status;
	(void)state;

	make_process(dir, STEP_GROUP);
	put_text(dir, "71/status", "Name:\tx\nNSpid:\t71\t9\n");
	(void)snprintf(path, sizeof(path), "%s/71/root", dir);
	assert_int_equal(symlink(dir, path), 0);
	(void)snprintf(path, sizeof(path), "%s/71", dir);
	auto_close int process = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	scratch_mkdir(dir, "tmp");
	(void)snprintf(path, sizeof(path), "%s/tmp/perf-9.map", dir);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(pipe2(noticed, O_CLOEXEC), 0);
	pid_t waiting = fork();
	if (waiting == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		bool opened = write(noticed[1], "0", 1) == 1 &&
			      open(path, O_WRONLY | O_CLOEXEC) >= 0;
		_exit(opened && write(noticed[1], "1", 1) != 1);
	}
	struct pollfd p = {.fd = noticed[0], .events = POLLIN};
	char said;
	assert_int_equal(read(noticed[0], &said, 1), 1); /* it is about to */
	assert_int_equal(poll(&p, 1, 100), 0);
	assert_int_equal(profile_open_perf_map(process, NULL), -EINVAL);
	assert_int_equal(poll(&p, 1, 100), 0);
	assert_int_equal(kill(waiting, SIGKILL), 0);
	assert_int_equal(waitpid(waiting, &status, 0), waiting);
	close(noticed[0]);
	close(noticed[1]);
	scratch_remove(dir);
}

static const struct profile_request drm_request = {.kind = PROFILE_REQUEST_DRM,
						   .pid = 71};

static void of_drm_files_alone_the_text_is_handed_on(void **state)
{
	char dir[SCRATCH_PATH], text[PROFILE_DRM_TEXT_MAX];
	uint32_t left_out = 7;
	struct world w;
	int fd;
	(void)state;

	make_process(dir, STEP_GROUP);
	put_descriptor(dir, 1, "/home/user/secret", "pos:\t0\ndrm-driver:\tforged\n");
	put_descriptor(dir, 3, "/dev/dri/renderD128", I915_TEXT);
	put_descriptor(dir, 4, "/dev/dri/card0", "pos:\t5\n"); /* tells nothing */
	start_for(&w, dir, PROFILE_REQUESTS_OF_DRM, false, false);
	assert_int_equal(ask_for_file(&w, drm_request, &fd, &left_out), 0);
	ssize_t n = read(fd, text, sizeof(text));
	close(fd);
	assert_int_equal(n, sizeof(I915_TEXT));
	assert_string_equal(text, I915_TEXT);
	assert_int_equal(left_out, 0);
	assert_string_equal(w.text, "/system.slice/slurmstepd.scope/job_7/step_0");
	stop(&w);
	scratch_remove(dir);
}

#define POD_GROUP(pod)                                                                 \
	"0::/kubepods/besteffort/pod" pod "1111111-2222-3333-4444-555555555555/abc\n"

/* Whose process 71 is said to be: root's, or nobody's */
static uint32_t user_in(const char *dir, const char *cgroup, const char *status)
{
	struct world w;

	put_text(dir, "71/cgroup", cgroup);
	put_text(dir, "71/status", status);
	start_at(&w, dir, false, false);
	assert_int_equal(ask(&w, (struct profile_request){.kind = PROFILE_REQUEST_MAPS,
							  .pid = 71}),
			 0);
	stop(&w);
	return w.uid;
}

static void users_of_a_pod_are_no_others_of_the_same_number(void **state)
{
	const char root[] = "Uid:\t0\t0\t0\t0\n", other[] = "Uid:\t7\t7\t7\t7\n";
	char dir[SCRATCH_PATH];
	(void)state;

	make_process(dir, STEP_GROUP);
	put_text(dir, "71/maps", "");
	if (geteuid() == 0) {
		assert_int_equal(user_in(dir, STEP_GROUP, root), 0);
		assert_int_equal(user_in(dir, STEP_GROUP, other), 7);
		uint32_t in_pod = user_in(dir, POD_GROUP("1"), root);
		assert_true(in_pod & PROFILE_UID_OF_UNIT);
		assert_int_equal(user_in(dir, POD_GROUP("1"), root), in_pod);
		assert_int_not_equal(user_in(dir, POD_GROUP("1"), other), in_pod);
		assert_int_not_equal(user_in(dir, POD_GROUP("2"), root), in_pod);
	}
	scratch_remove(dir);
}

static void descriptors_beyond_the_bound_are_told_of(void **state)
{
	char dir[SCRATCH_PATH];
	uint32_t left_out = 0;
	struct world w;
	int fd;
	(void)state;

	make_process(dir, STEP_GROUP);
	for (unsigned i = 0; i < PROFILE_DRM_FILES_MAX + 2; i++)
		put_descriptor(dir, i, "/dev/dri/renderD128", I915_TEXT);
	put_descriptor(dir, 500, "/dev/null", "pos:\t0\n");
	start_for(&w, dir, PROFILE_REQUESTS_OF_DRM, false, false);
	assert_int_equal(ask_for_file(&w, drm_request, &fd, &left_out), 0);
	assert_int_equal(lseek(fd, 0, SEEK_END),
			 PROFILE_DRM_FILES_MAX * sizeof(I915_TEXT));
	close(fd);
	assert_int_equal(left_out, 2);
	stop(&w);
	scratch_remove(dir);
}

/* A file in folders that make its path longer than a path may be, all removed by now */
static int open_deep_file(const char *dir)
{
	const unsigned depth = PATH_MAX / NAME_MAX + 1;
	char name[NAME_MAX + 1];

	memset(name, 'd', NAME_MAX);
	name[NAME_MAX] = '\0';
	assert_int_equal(chdir(dir), 0);
	for (unsigned i = 0; i < depth; i++) {
		assert_int_equal(mkdir(name, 0700), 0);
		assert_int_equal(chdir(name), 0);
	}
	int fd = open("f", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(unlink("f"), 0);
	for (unsigned i = 0; i < depth; i++) {
		assert_int_equal(chdir(".."), 0);
		assert_int_equal(rmdir(name), 0);
	}
	return fd;
}

/* The kernel does not tell its name: any user can have one. */
static void a_file_whose_name_is_too_long_leaves_out_itself_alone(void **state)
{
	char dir[SCRATCH_PATH];
	uint32_t left_out = 0;
	struct world w;
	int fd, home = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct profile_request of_us = {.kind = PROFILE_REQUEST_DRM,
					.pid = (uint32_t)getpid()};
	(void)state;

	scratch_make(dir);
	int deep = open_deep_file(dir);
	assert_int_equal(fchdir(home), 0);
	start_for(&w, "/proc", PROFILE_REQUESTS_OF_DRM, true, false);
	assert_int_equal(ask_for_file(&w, of_us, &fd, &left_out), -ENODATA);
	assert_int_equal(left_out, 1);
	close(deep);
	assert_int_equal(ask_for_file(&w, of_us, &fd, &left_out), -ENODATA);
	assert_int_equal(left_out, 0);
	stop(&w);
	close(home);
	scratch_remove(dir);
}

static void drm_is_told_of_processes_of_units_and_nothing_else_is(void **state)
{
	const struct profile_request maps = {.kind = PROFILE_REQUEST_MAPS, .pid = 71};
	char dir[SCRATCH_PATH];
	struct world w;
	(void)state;

	make_process(dir, STEP_GROUP);
	put_text(dir, "71/maps", "");
	start_for(&w, dir, PROFILE_REQUESTS_OF_DRM, false, false);
	assert_int_equal(ask(&w, drm_request), -ENODATA);
	assert_int_equal(ask(&w, maps), -EINVAL);
	assert_int_equal(ask(&w, (struct profile_request){.kind = UINT32_MAX}),
			 -EINVAL);
	put_descriptor(dir, 3, "/dev/dri/renderD128", I915_TEXT);
	assert_int_equal(ask(&w, drm_request), 0);
	put_text(dir, "71/cgroup", "0::/user.slice/user-1000.slice/session-1.scope\n");
	assert_int_equal(ask(&w, drm_request), -ESRCH);
	stop(&w);
	start_at(&w, dir, true, false); /* nor is the profiler told */
	assert_int_equal(ask(&w, drm_request), -EINVAL);
	assert_int_equal(ask(&w, maps), 0);
	stop(&w);
	scratch_remove(dir);
}

static bool is_child_of(pid_t parent, const char *stat)
{
	const char *at = strrchr(stat, ')');

	return at && strtol(at + 4, NULL, 10) == parent; /* ") S PPID" */
}

/* The one that serves, of the one that keeps it */
static pid_t find_child(pid_t parent)
{
	char path[64], stat[512];

	for (pid_t pid = parent + 1; pid < parent + 1000; pid++) {
		(void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
		if (fs_read_at(AT_FDCWD, path, stat, sizeof(stat), NULL) > 0 &&
		    is_child_of(parent, stat))
			return pid;
	}
	return -1;
}

static void one_that_dies_is_replaced_and_says_so(void **state)
{
	struct profile_request r = {.kind = PROFILE_REQUEST_MAPS, .pid = 1};
	struct profile_reply a;
	int fds[FD_PASS_MAX];
	unsigned count;
	struct world w;
	(void)state;

	start_at(&w, "/proc", false, true);
	assert_int_equal(ask(&w, r), -ESRCH);
	pid_t first = find_child(w.pid);
	assert_true(first > 0);
	assert_int_equal(kill(first, SIGKILL), 0);
	assert_int_equal(fd_pass_receive(w.link, &a, sizeof(a), fds, &count, 0),
			 sizeof(a));
	assert_int_equal(a.serial, PROFILE_REQUEST_DIED);
	assert_int_equal(ask(&w, r), -ESRCH);
	r = (struct profile_request){.kind = PROFILE_REQUEST_TICKS, .hz = 19};
	assert_int_equal(ask(&w, r), -ENODEV); /* what tells the profiler to load */
	stop(&w);
}

static void what_is_no_request_at_all_is_passed_over(void **state)
{
	char garbage[4096];
	struct world w;
	(void)state;

	memset(garbage, 0x5a, sizeof(garbage));
	start_serving(&w, false);
	for (size_t size = 1; size <= sizeof(garbage); size *= 2)
		(void)send(w.link, garbage, size, MSG_NOSIGNAL);
	assert_int_equal(ask(&w, (struct profile_request){.kind = 0}), -EINVAL);
	stop(&w);
}

static void by_hand_any_process_has_its_maps_read(void **state)
{
	struct world w;
	(void)state;

	if (geteuid() != 0)
		skip();
	start_serving(&w, true);
	assert_int_equal(ask(&w, (struct profile_request){.kind = PROFILE_REQUEST_MAPS,
							  .pid = (uint32_t)getpid()}),
			 0);
	assert_int_equal(ask(&w, (struct profile_request){.kind = PROFILE_REQUEST_FILE,
							  .pid = (uint32_t)getpid(),
							  .start = 4096,
							  .end = 8192}),
			 -ENOENT);
	stop(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_not_on_the_list_is_refused),
		cmocka_unit_test(what_is_no_function_of_the_kernel_has_no_name),
		cmocka_unit_test(processes_of_no_unit_are_nobodys_business),
		cmocka_unit_test(what_is_mapped_of_a_file_that_opens_is_not_copied),
		cmocka_unit_test(one_that_dies_is_replaced_and_says_so),
		cmocka_unit_test(steps_machines_and_pods_are_units),
		cmocka_unit_test(names_that_a_user_can_make_are_no_units),
		cmocka_unit_test(of_many_groups_a_perf_map_is_found),
		cmocka_unit_test(a_perf_map_that_is_no_file_is_not_opened),
		cmocka_unit_test(of_drm_files_alone_the_text_is_handed_on),
		cmocka_unit_test(descriptors_beyond_the_bound_are_told_of),
		cmocka_unit_test(users_of_a_pod_are_no_others_of_the_same_number),
		cmocka_unit_test(a_file_whose_name_is_too_long_leaves_out_itself_alone),
		cmocka_unit_test(drm_is_told_of_processes_of_units_and_nothing_else_is),
		cmocka_unit_test(what_is_no_request_at_all_is_passed_over),
		cmocka_unit_test(by_hand_any_process_has_its_maps_read),
	};
	return cmocka_run_group_tests_name("profile_serve_test", tests, NULL, NULL);
}
