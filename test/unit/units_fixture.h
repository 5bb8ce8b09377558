/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_TEST_UNITS_FIXTURE_H
#define CEEMS_TEST_UNITS_FIXTURE_H

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "daemon/units.h"
#include "lib/cleanup.h"
#include "lib/clock.h"
#include "test/unit/unit.h"

/* A unit table in a scratch folder, a clock that the test moves, and records. */

#define SEC NSEC_PER_SEC
#define T0 (1000 * SEC)
#define NODE ""

static char folder[] = "/tmp/ceems-units-test.XXXXXX";
static int dirfd_ = -1;
static struct units *u;
static uint64_t now, pos;
static const struct units_policy policy = {60000, 0, 2000};

static inline struct record rec(enum record_type type, const char *id, uint32_t step)
{
	struct record r;
	record_init(&r, type, MANAGER_SLURM);
	snprintf(r.unit, sizeof(r.unit), "%s", id);
	r.step = step;
	r.uid = 1000;
	r.gid = 100;
	r.boottime_ns = now;
	r.realtime_ns = now;
	return r;
}

static inline struct record stop(const char *id, uint32_t step, uint64_t user,
				 uint64_t system, bool last)
{
	struct record r = rec(RECORD_STEP_STOP, id, step);
	r.counters.source = COUNTERS_CGROUP_V1;
	r.counters.cpu_user_ns = user;
	r.counters.cpu_system_ns = system;
	if (last)
		r.flags |= RECORD_LAST;
	return r;
}

static inline int apply(const struct record *r)
{
	struct err err;
	return units_apply(u, r, ++pos, now, now, &err);
}

static inline void start_ok(const char *id, uint32_t step)
{
	struct record r = rec(RECORD_STEP_START, id, step);
	assert_int_equal(apply(&r), 0);
}

static inline void stop_ok(const char *id, uint32_t step, uint64_t user,
			   uint64_t system)
{
	struct record r = stop(id, step, user, system, true);
	assert_int_equal(apply(&r), 0);
}

static inline void reading(uint32_t s, uint64_t user, uint64_t system)
{
	struct unit_totals t = {.cpu_user_ns = user, .cpu_system_ns = system};
	units_step_reading(u, s, &t);
}

static inline const struct unit *unit_of(const char *id, uint32_t restarts)
{
	uint32_t i = units_find(u, MANAGER_SLURM, NODE, id, restarts);
	return i == UNITS_NONE ? NULL : units_get(u, i);
}

static inline struct unit_totals total_of(const char *id)
{
	struct unit_totals t = {0};
	uint32_t i = units_find(u, MANAGER_SLURM, NODE, id, 0);
	assert_true(i != UNITS_NONE);
	unit_total(u, i, &t);
	return t;
}

static inline struct node_totals node(void)
{
	struct node_totals n;
	units_node_totals(u, MANAGER_SLURM, &n);
	return n;
}

static inline uint64_t ended(const struct node_totals *n)
{
	uint64_t sum = 0;
	for (int i = 0; i < UNIT_END_STATES; i++)
		sum += n->ended[i];
	return sum;
}

static inline void fresh(uint32_t capacity)
{
	bool made_new;
	struct err err;
	units_close(u);
	u = NULL;
	unlinkat(dirfd_, UNITS_PATH_NAME, 0);
	assert_int_equal(units_open(dirfd_, capacity, &u, &made_new, &err), 0);
	assert_true(made_new);
	assert_string_equal(err.text, "");
	now = T0;
	pos = 0;
}

static inline void reopen(void)
{
	bool made_new = true;
	struct err err;
	units_close(u);
	u = NULL;
	assert_int_equal(units_open(dirfd_, 1, &u, &made_new, &err), 0);
	assert_false(made_new);
}

static inline int setup(void **state)
{
	(void)state;
	if (!mkdtemp(folder))
		return -1;
	dirfd_ = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return dirfd_ < 0;
}

static inline int teardown(void **state)
{
	(void)state;
	units_close(u);
	unlinkat(dirfd_, UNITS_PATH_NAME, 0);
	unlinkat(dirfd_, UNITS_PATH_NAME ".new", 0);
	close(dirfd_);
	return rmdir(folder);
}

/* Runs go_on() in a process that is stepped one instruction at a time, and after each
 * that changed the file opens a copy of it as `u`, as the next daemon would, and calls
 * check(). make_a_state() runs before, at full speed. False: cannot be done here. */
static inline bool die_everywhere(void (*make_a_state)(struct units *),
				  void (*go_on)(struct units *),
				  void (*check)(unsigned steps))
{
#ifdef __SANITIZE_THREAD__
	return false; /* one thread, and most steps would be the sanitizer's own */
#endif
	fresh(16);
	units_close(u);
	u = NULL;
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		struct units *t;
		bool made_new;
		if (units_open(dirfd_, 16, &t, &made_new, NULL) < 0)
			_exit(2);
		make_a_state(t);
		if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) < 0)
			_exit(77);
		raise(SIGSTOP);
		go_on(t);
		_exit(0);
	}
	int status;
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
		return false;
	assert_true(WIFSTOPPED(status));

	auto_close int fd = openat(dirfd_, UNITS_PATH_NAME, O_RDONLY | O_CLOEXEC);
	struct stat st;
	assert_int_equal(fstat(fd, &st), 0);
	size_t size = (size_t)st.st_size;
	char *live = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);
	char *seen = malloc(size);
	assert_true(live != MAP_FAILED && seen);
	assert_int_equal(mkdirat(dirfd_, "copy", 0700), 0);
	auto_close int copydir =
		openat(dirfd_, "copy", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	memcpy(seen, live, size);
	unsigned changes = 0, steps = 0;
	for (;; steps++) {
		assert_true(steps < 5000000);
		assert_int_equal(ptrace(PTRACE_SINGLESTEP, pid, NULL, NULL), 0);
		assert_int_equal(waitpid(pid, &status, 0), pid);
		if (!WIFSTOPPED(status))
			break;
		if (memcmp(seen, live, size) == 0)
			continue;
		memcpy(seen, live, size);
		changes++;
		auto_close int out =
			openat(copydir, UNITS_PATH_NAME,
			       O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
		assert_int_equal(write(out, seen, size), (ssize_t)size);
		struct err err;
		bool made_new;
		assert_int_equal(units_open(copydir, 16, &u, &made_new, &err), 0);
		assert_false(made_new);
		check(steps);
		units_close(u);
		u = NULL;
	}
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	print_message("# %u instructions, %u states of the file\n", steps, changes);
	assert_true(changes > 100);
	munmap(live, size);
	free(seen);
	unlinkat(copydir, UNITS_PATH_NAME, 0);
	unlinkat(dirfd_, "copy", AT_REMOVEDIR);
	return true;
}

#endif
