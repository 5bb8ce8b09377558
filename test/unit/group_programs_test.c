/* SPDX-License-Identifier: GPL-2.0-or-later */
/* bpf/groups.bpf.c and bpf/perf.bpf.c in this machine's kernel, with control groups
 * made and removed here. Others on this machine make such groups, too: only those below
 * our own are looked at. Skipped where the kernel lets no program in. */
#include "opener/groups.h"
#include "opener/perf.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "daemon/groups/group_slots.h"
#include "daemon/groups/unit_counts.h"
#include "lib/cgroup.h"
#include "lib/cleanup.h"
#include "lib/clock.h"
#include "lib/fs.h"
#include "test/unit/scratch.h"
#include "test/unit/unit.h"

#define SLOTS 256u
#define BURNT_US 20000u
#define NOBODY 65534u

static struct groups programs;
static struct group_slots slots;
static struct perf events;
static struct slot_counts perf_slots;
static struct cgroup_layout layout;
static int cgroupfd = -1, tree = -1; /* the hierarchy that is looked at */
static char top[64];

/* GROUPS_BY_SYMBOL is set: as on kernels before 5.19 (test/vm/groups_guest.sh) */
static bool programs_open(void)
{
	int fds[GROUP_FDS];
	struct err err = {""};
	int (*const open_them)(struct groups * g, int cgroupfd, int procfd,
			       uint32_t slots, struct err *err) =
		getenv("GROUPS_BY_SYMBOL") ? groups_open_by_symbol : groups_open;

	if (geteuid() != 0)
		return false;
	cgroupfd = fs_opendir_at(AT_FDCWD, "/sys/fs/cgroup", &err);
	auto_close int procfd = fs_opendir_at(AT_FDCWD, "/proc", NULL);
	if (cgroupfd < 0 || cgroup_probe(cgroupfd, &layout, &err) < 0 ||
	    open_them(&programs, cgroupfd, procfd, SLOTS, &err) < 0) {
		print_message("not possible here: %s\n", err.text);
		return false;
	}
	for (unsigned i = 0; i < GROUP_FDS; i++)
		fds[i] = dup(programs.fds[i]);
	assert_int_equal(group_slots_open(&slots, fds, SLOTS, &err), 0);
	return true;
}

static int programs_close(void **state)
{
	(void)state;
	slot_counts_close(&perf_slots);
	perf_close(&events);
	group_slots_close(&slots);
	groups_close(&programs);
	close(cgroupfd);
	cgroupfd = -1;
	return 0;
}

/* Our own group in the hierarchy `dir`, in which the test's are made */
static bool tree_open(const char *dir)
{
	if (!*dir)
		return false;
	tree = fs_opendir_at(cgroupfd, dir, NULL);
	(void)snprintf(top, sizeof(top), "ceems_test_%d", (int)getpid());
	return tree >= 0 && mkdirat(tree, top, 0755) == 0;
}

static void tree_close(void)
{
	assert_int_equal(unlinkat(tree, top, AT_REMOVEDIR), 0);
	close(tree);
	tree = -1;
}

static const char *path_below(const char *name)
{
	static char path[512];

	(void)snprintf(path, sizeof(path), "%s/%s", top, name);
	return path;
}

/* Steps of others on this machine must not fill the table. */
static void release_others(void)
{
	enum group_event what;
	uint32_t slot;

	while (group_slots_next(&slots, &slot, &what)) {
		if (what == GROUP_EVENT_ENDED &&
		    strncmp(slots.slots[slot].path + 1, top, strlen(top)) != 0)
			group_slots_release(&slots, slot);
	}
}

static void make_group(const char *name)
{
	release_others();
	assert_int_equal(mkdirat(tree, path_below(name), 0755), 0);
}

/* What has ended may be busy for another moment. */
static void remove_group(const char *name)
{
	while (unlinkat(tree, path_below(name), AT_REMOVEDIR) < 0)
		assert_int_equal(errno, EBUSY);
}

static void write_file(const char *name, const char *text)
{
	auto_close int fd = openat(tree, path_below(name), O_WRONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
}

/* The number after `key` in a file of a group; 0: there is none */
static uint64_t value_of(const char *name, const char *key)
{
	char text[4096] = "";
	struct err err;

	assert_true(fs_read_at(tree, path_below(name), text, sizeof(text), &err) >= 0);
	const char *p = strstr(text, key);
	return p ? strtoull(p + strlen(key), NULL, 10) : 0;
}

/* Runs work() in a group, until it has ended. */
static int run_inside(const char *group, void (*work)(void))
{
	char procs[256], pid[16];
	int go[2], status;

	assert_int_equal(pipe2(go, O_CLOEXEC), 0);
	pid_t child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		char c;
		if (read(go[0], &c, 1) == 1)
			work();
		_exit(0);
	}
	(void)snprintf(procs, sizeof(procs), "%s/cgroup.procs", group);
	(void)snprintf(pid, sizeof(pid), "%d", (int)child);
	write_file(procs, pid);
	assert_int_equal(write(go[1], "", 1), 1);
	assert_int_equal(waitpid(child, &status, 0), child);
	close(go[0]);
	close(go[1]);
	return status;
}

/* From here on: what it took to get here was in another group. */
static void burn_cpu(void)
{
	struct timespec begin, t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &begin);
	do
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	while ((t.tv_sec - begin.tv_sec) * 1000000000L + t.tv_nsec - begin.tv_nsec <
	       (long)BURNT_US * 2000);
}

static void fill_memory(void)
{
	const size_t bytes = 64u << 20;
	char *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
		       -1, 0);

	if (p != MAP_FAILED)
		memset(p, 1, bytes);
}

static const struct group_slot *slot_of(const char *name)
{
	const char *path = path_below(name);

	for (uint32_t i = 0; i < SLOTS; i++) {
		if (strcmp(slots.slots[i].path + 1, path) == 0)
			return &slots.slots[i];
	}
	return NULL;
}

static const struct group_slot *ended_slot_of(const char *name)
{
	const struct group_slot *s = slot_of(name);

	assert_non_null(s);
	assert_int_equal(s->state, GROUP_SLOT_ENDED);
	return s;
}

/* The last of a task may be charged after its group's end, but not beyond what the
 * kernel has in the group above it when the step itself is gone. */
static void assert_between(uint64_t ns, uint64_t least_us, uint64_t most_us)
{
	if (ns / 1000 < least_us || ns / 1000 > most_us)
		fail_msg("%" PRIu64 " ns, the kernel has %" PRIu64 " to %" PRIu64 " us",
			 ns, least_us, most_us);
	assert_true(least_us >= BURNT_US);
}

#define USAGE(group) value_of(group "/cpu.stat", "usage_usec ")
#define USAGE_ABOVE() USAGE(".")

static void what_a_users_own_group_below_a_step_uses_counts(void **state)
{
	(void)state;
	if (!programs_open())
		skip();
	if (!tree_open(layout.unified))
		skip();
	make_group("step_0");
	make_group("step_0/user");
	assert_int_equal(fchownat(tree, path_below("step_0/user"), NOBODY, NOBODY, 0),
			 0);
	pid_t child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		/* the real user is the one who makes it, with the name that
		 * slurmstepd's own has directly below the step */
		int rc = setresuid(NOBODY, NOBODY, NOBODY);
		_exit(rc < 0 ||
		      mkdirat(tree, path_below("step_0/user/slurm"), 0755) < 0);
	}
	int status;
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	run_inside("step_0/user/slurm", burn_cpu);
	uint64_t least = USAGE("step_0");
	remove_group("step_0/user/slurm");
	remove_group("step_0/user");
	remove_group("step_0");
	uint64_t most = USAGE_ABOVE();
	assert_between(ended_slot_of("step_0")->cpu_ns, least, most);
	tree_close();
}

static void more_groups_than_the_table_has_room_for_count(void **state)
{
	enum { MANY = SLOTS * 8 + 50 };
	char name[64];

	(void)state;
	if (!programs_open())
		skip();
	if (!tree_open(layout.unified))
		skip();
	make_group("step_0");
	for (int i = 0; i < MANY; i++) {
		(void)snprintf(name, sizeof(name), "step_0/task_%d", i);
		make_group(name);
	}
	make_group(
		"step_0/slurm"); /* finds it full, and is slurmstepd's all the same */
	run_inside(name, burn_cpu);
	run_inside("step_0/slurm", burn_cpu);
	uint64_t stepd = USAGE("step_0/slurm"), least = USAGE("step_0") - stepd - 1;
	for (int i = 0; i < MANY; i++) {
		(void)snprintf(name, sizeof(name), "step_0/task_%d", i);
		remove_group(name);
	}
	remove_group("step_0/slurm");
	remove_group("step_0");
	uint64_t most = USAGE_ABOVE();
	const struct group_slot *s = ended_slot_of("step_0");
	assert_between(s->stepd_cpu_ns, stepd, most - least + 1);
	assert_between(s->cpu_ns, least, most - stepd + 1);
	/* and the table is empty again */
	make_group("step_1");
	assert_non_null(slot_of("step_1"));
	remove_group("step_1");
	tree_close();
}

static void oom_kills_of_v1_are_those_of_the_tasks(void **state)
{
	(void)state;
	if (!programs_open())
		skip();
	if (layout.unified_only || !tree_open(layout.memory))
		skip();
	make_group("step_0");
	make_group("step_0/task_0");
	write_file("step_0/task_0/memory.limit_in_bytes", "8388608");
	write_file("step_0/task_0/memory.swappiness", "0");
	for (int i = 0; i < 2; i++)
		run_inside("step_0/task_0", fill_memory);
	uint64_t kills = value_of("step_0/task_0/memory.oom_control", "oom_kill ");
	uint64_t peak = value_of("step_0/memory.max_usage_in_bytes", "");
	remove_group("step_0/task_0");
	remove_group("step_0");
	const struct group_slot *s = ended_slot_of("step_0");
	assert_int_equal(s->oom_kills, kills);
	assert_int_equal(s->memory_peak_bytes, peak);
	assert_int_equal(kills, 2);
	tree_close();
}

static void a_path_too_long_for_a_slot_is_said(void **state)
{
	char parent[250], step[300];

	(void)state;
	if (!programs_open())
		skip();
	if (!tree_open(layout.unified_only ? layout.unified : layout.memory))
		skip();
	memset(parent, 'a', sizeof(parent));
	parent[sizeof(parent) - 1] = '\0';
	(void)snprintf(step, sizeof(step), "%s/step_0", parent);
	make_group(parent);
	uint64_t before = slots.control->long_paths;
	make_group(step);
	assert_true(slots.control->long_paths > before);
	remove_group(step);
	remove_group(parent);
	tree_close();
}

/* The tree is a fixture, of which the kernel tells nothing. */
static void
a_step_that_ended_before_the_programs_were_attached_keeps_no_slot(void **state)
{
	char root[SCRATCH_PATH], step[128];
	struct group_control *c;
	struct err err;

	(void)state;
	if (geteuid() != 0)
		skip();
	scratch_make(root);
	auto_close int dir = fs_opendir_at(AT_FDCWD, root, &err);
	assert_int_equal(
		fs_write_atomic_at(dir, "cgroup.controllers", "cpu\n", 4, 0644, &err),
		0);
	for (int i = 0; i < 3; i++) {
		(void)snprintf(step, sizeof(step), "%s/step_%d", root, i);
		assert_int_equal(mkdir(step, 0755), 0);
	}
	if (groups_open(&programs, dir, dir, SLOTS, &err) < 0) {
		scratch_remove(root);
		skip();
	}
	assert_int_equal(programs.adopted, 3);
	assert_int_equal(programs.gone, 0);
	assert_int_equal(unlinkat(dir, "step_1", AT_REMOVEDIR), 0);
	assert_int_equal(groups_drop_gone(&programs, dir, dir), 1);
	assert_int_equal(groups_drop_gone(&programs, dir, dir), 0);
	struct group_slot *s = mmap(NULL, SLOTS * sizeof(*s), PROT_READ, MAP_SHARED,
				    programs.fds[GROUP_FD_SLOTS], 0);
	c = mmap(NULL, sizeof(*c), PROT_READ, MAP_SHARED,
		 programs.fds[GROUP_FD_CONTROL], 0);
	assert_true(s != MAP_FAILED && c != MAP_FAILED);
	unsigned lives = 0;
	for (unsigned i = 0; i < 3; i++) {
		bool gone = strcmp(s[i].path, "/step_1") == 0;
		lives += s[i].state == GROUP_SLOT_LIVES;
		assert_int_equal(s[i].state, gone ? GROUP_SLOT_FREE : GROUP_SLOT_LIVES);
	}
	assert_int_equal(lives, 2);
	assert_int_equal(c->free_tail, SLOTS - 2);
	munmap(s, SLOTS * sizeof(*s));
	munmap(c, sizeof(*c));
	scratch_remove(root);
}

/* ---- software events (bpf/perf.bpf.c) -------------------------------------------- */

#define PAGES 1000u
/* The thread sanitizer touches some of its own for each. */
#ifdef __SANITIZE_THREAD__
#define PAGES_MOST (8 * PAGES)
#else
#define PAGES_MOST (2 * PAGES)
#endif
#define SLEEPS 20u

static bool events_open(void)
{
	bool by_cpuacct;
	struct err err;

	if (!programs_open())
		return false;
	by_cpuacct = !layout.unified_only && *layout.cpuacct;
	if (perf_open(&events,
		      &(struct perf_request){.groups_map = programs.groups_map,
					     .slots = SLOTS,
					     .by_cpuacct = by_cpuacct},
		      &err) < 0) {
		print_message("not possible here: %s\n", err.text);
		return false;
	}
	perf_slots = (struct slot_counts){.slots = SLOTS,
					  .stripes = events.stripes,
					  .kinds = 1,
					  .fd_count = PERF_FDS};
	for (unsigned i = 0; i < PERF_FDS; i++)
		perf_slots.fds[i] = dup(events.fds[i]);
	assert_int_equal(slot_counts_open(&perf_slots, &err), 0);
	return tree_open(by_cpuacct ? layout.cpuacct : layout.unified);
}

static struct perf_counts counts_of(const char *name)
{
	const struct group_slot *s = slot_of(name);
	struct perf_counts sum = {0};

	assert_non_null(s);
	size_t slot = (size_t)(s - slots.slots);
	const struct perf_counts *all = (const struct perf_counts *)perf_slots.words;
	for (uint32_t i = 0; i < perf_slots.stripes; i++) {
		const struct perf_counts *c = &all[slot * perf_slots.stripes + i];
		sum.minor_faults += c->minor_faults;
		sum.switches += c->switches;
	}
	return sum;
}

static void touch_pages(void)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *p = mmap(NULL, PAGES * page, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		return;
	(void)madvise(p, PAGES * page, MADV_NOHUGEPAGE);
	for (size_t i = 0; i < PAGES; i++)
		p[i * page] = 1;
}

static void touch_and_sleep(void)
{
	/* Long enough: a timer that is over before the task leaves the CPU makes no
	 * switch. */
	const struct timespec moment = {.tv_nsec = 1000000};

	touch_pages();
	for (unsigned i = 0; i < SLEEPS; i++)
		nanosleep(&moment, NULL);
}

static void what_a_task_did_counts_when_it_has_ended(void **state)
{
	(void)state;
	if (!events_open())
		skip();
	make_group("step_0");
	make_group("step_0/task_0");
	for (unsigned n = 1; n <= 3; n++) {
		run_inside("step_0/task_0", touch_and_sleep);
		struct perf_counts c = counts_of("step_0");
		assert_in_range(c.minor_faults, n * PAGES, n * PAGES_MOST);
		assert_true(c.switches >= n * SLEEPS);
	}
	remove_group("step_0/task_0");
	remove_group("step_0");
	assert_in_range(counts_of("step_0").minor_faults, 3 * PAGES, 3 * PAGES_MOST);
	tree_close();
}

static void what_a_task_did_before_it_came_does_not_count(void **state)
{
	char pid[16], c;
	int ready[2], go[2], status;

	(void)state;
	if (!events_open())
		skip();
	make_group("step_0");
	assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
	assert_int_equal(pipe2(go, O_CLOEXEC), 0);
	pid_t child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		touch_pages();
		_exit(write(ready[1], "", 1) != 1 || read(go[0], &c, 1) != 1);
	}
	assert_int_equal(read(ready[0], &c, 1), 1);
	(void)snprintf(pid, sizeof(pid), "%d", (int)child);
	write_file("step_0/cgroup.procs", pid);
	assert_int_equal(write(go[1], "", 1), 1);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_in_range(counts_of("step_0").minor_faults, 0, PAGES - 1);
	close(ready[0]);
	close(ready[1]);
	close(go[0]);
	close(go[1]);
	remove_group("step_0");
	tree_close();
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_teardown(name, programs_close)
		TEST(what_a_users_own_group_below_a_step_uses_counts),
		TEST(more_groups_than_the_table_has_room_for_count),
		TEST(oom_kills_of_v1_are_those_of_the_tasks),
		TEST(a_path_too_long_for_a_slot_is_said),
		TEST(a_step_that_ended_before_the_programs_were_attached_keeps_no_slot),
		TEST(what_a_task_did_counts_when_it_has_ended),
		TEST(what_a_task_did_before_it_came_does_not_count),
	};
	/* the rest is the same */
	if (getenv("GROUPS_BY_SYMBOL"))
		cmocka_set_test_filter("what_a_users_own_group*");
	return cmocka_run_group_tests_name("group_programs", tests, NULL, NULL);
}
