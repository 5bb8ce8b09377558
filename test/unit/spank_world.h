/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_TEST_SPANK_WORLD_H
#define CEEMS_TEST_SPANK_WORLD_H

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/records/record.h"
#include "lib/records/ring.h"
#include "spank/step.h"
#include "test/fake/slurm_host.h"
#include "test/ring_files.h"
#include "test/unit/scratch.h"
#include "test/unit/unit.h"

/* A node for the plugin's hooks: a scratch /proc and /sys/fs/cgroup, a ring of 16 slots
 * whose consumer is the test, and the pretended slurmstepd of test/fake. */
struct world {
	char folder[SCRATCH_PATH], proc[96], cgroup[96], ring[96];
	char ring_arg[128];
	struct ring consumer;
	struct err err;
};

#define WORLD_SLOTS 16u

static inline int world_up(void **state)
{
	struct world *w = calloc(1, sizeof(*w));
	bool made;
	if (!w)
		return -1;
	scratch_make(w->folder);
	snprintf(w->proc, sizeof(w->proc), "%s/proc", w->folder);
	snprintf(w->cgroup, sizeof(w->cgroup), "%s/cgroup", w->folder);
	snprintf(w->ring, sizeof(w->ring), "%s/ring", w->folder);
	snprintf(w->ring_arg, sizeof(w->ring_arg), "ring=%s", w->ring);
	if (mkdir(w->proc, 0755) < 0 || mkdir(w->cgroup, 0755) < 0 ||
	    ring_consumer_open(w->ring, WORLD_SLOTS, &w->consumer, &made, &w->err) <
		    0) {
		fprintf(stderr, "# %s\n", w->err.text);
		return -1;
	}
	step_host.proc = w->proc;
	step_host.cgroup = w->cgroup;
	step_host.ring_owner = geteuid();
	fake_reset();
	*state = w;
	return 0;
}

static inline int world_down(void **state)
{
	struct world *w = *state;
	ring_consumer_close(&w->consumer);
	scratch_remove(w->folder);
	free(w);
	return 0;
}

/* Writes a file below the world's folder, making the folders on the way. */
static inline void world_put(struct world *w, const char *path, const char *text)
{
	char full[512];
	int n = snprintf(full, sizeof(full), "%s/%s", w->folder, path);
	assert_true(n > 0 && (size_t)n < sizeof(full));
	for (char *p = full + strlen(w->folder) + 1; (p = strchr(p, '/')); p++) {
		*p = '\0';
		mkdir(full, 0755);
		*p = '/';
	}
	FILE *f = fopen(full, "we");
	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
}

static inline void world_drop(struct world *w, const char *path)
{
	char full[512];
	snprintf(full, sizeof(full), "%s/%s", w->folder, path);
	scratch_remove(full);
}

/* The next record, or false when the ring is empty. */
static inline bool world_take(struct world *w, struct record *r)
{
	unsigned char data[RING_RECORD_MAX];
	size_t len;
	uint64_t pos;
	int rc = ring_peek(&w->consumer, data, &len, &pos);
	if (rc == 0)
		return false;
	assert_int_equal(rc, 1);
	if (record_decode(data, len, r, &w->err) < 0)
		fail_msg("%s", w->err.text);
	ring_release(&w->consumer, pos);
	return true;
}

static inline void world_expect(struct world *w, enum record_type type,
				struct record *r)
{
	assert_true(world_take(w, r));
	assert_string_equal(record_type_name(r->type), record_type_name((uint8_t)type));
}

static inline void world_expect_nothing(struct world *w)
{
	struct record r;
	assert_false(world_take(w, &r));
}

/* ---- hooks as Slurm calls them ---- */

#define V1_STEP "/slurm_n1/uid_1000/job_41/step_0"
#define V2_STEP "/system.slice/n1_slurmstepd.scope/job_41/step_0"
#define TASK_PID 4711

static inline int init(struct world *w, const char *more1, const char *more2)
{
	char *argv[] = {w->ring_arg, (char *)(more1 ? more1 : more2), (char *)more2};
	return slurm_spank_init(fake_spank(), 1 + !!more1 + !!more2, argv);
}

static inline void fork_task(pid_t pid)
{
	fake.task_pid = pid;
	assert_int_equal(slurm_spank_task_post_fork(fake_spank(), 0, NULL), 0);
	fake.task_pid = 0;
}

static inline void end_task(int status)
{
	fake.task_pid = TASK_PID;
	fake.task_exited = true;
	fake.exit_status = status;
	assert_int_equal(slurm_spank_task_exit(fake_spank(), 0, NULL), 0);
	fake.task_pid = 0;
	fake.task_exited = false;
}

static inline void leave(void)
{
	assert_int_equal(slurm_spank_exit(fake_spank(), 0, NULL), 0);
}

static inline void put_v1_counters(struct world *w, const char *usage, const char *peak)
{
	world_put(w, "cgroup/cpuacct" V1_STEP "/cpuacct.usage", usage);
	world_put(w, "cgroup/cpuacct" V1_STEP "/cpuacct.usage_user", usage);
	world_put(w, "cgroup/cpuacct" V1_STEP "/cpuacct.usage_sys", "0\n");
	world_put(w, "cgroup/memory" V1_STEP "/memory.max_usage_in_bytes", peak);
}

static inline void make_v1(struct world *w)
{
	world_put(w, "proc/4711/cgroup",
		  "6:freezer:" V1_STEP "\n5:cpuacct:" V1_STEP "/task_0\n"
		  "4:memory:" V1_STEP "/task_0\n3:cpuset:" V1_STEP
		  "\n2:pids:/\n0::/\n");
	world_put(w, "cgroup/freezer" V1_STEP "/freezer.state", "THAWED\n");
	put_v1_counters(w, "7000000\n", "4096\n");
}

static inline void drop_v1(struct world *w)
{
	world_drop(w, "cgroup/cpuacct/slurm_n1");
	world_drop(w, "cgroup/memory/slurm_n1");
	world_drop(w, "cgroup/freezer/slurm_n1");
}

static inline void put_v2_counters(struct world *w, const char *user_usec)
{
	char text[128];
	snprintf(text, sizeof(text),
		 "usage_usec %s\nuser_usec %s\nsystem_usec 0\nnr_periods 0\n",
		 user_usec, user_usec);
	world_put(w, "cgroup" V2_STEP "/user/cpu.stat", text);
	/* with slurmstepd's own time in it: must not be what is read */
	world_put(w, "cgroup" V2_STEP "/cpu.stat",
		  "usage_usec 999999\nuser_usec 999999\nsystem_usec 0\n");
	world_put(w, "cgroup" V2_STEP "/memory.peak", "8192\n");
	world_put(w, "cgroup" V2_STEP "/memory.events",
		  "low 0\nhigh 0\nmax 3\noom 1\noom_kill 1\n");
}

static inline void make_v2(struct world *w)
{
	world_put(w, "cgroup/cgroup.controllers", "cpuset cpu io memory pids\n");
	world_put(w, "proc/4711/cgroup", "0::" V2_STEP "/user/task_0\n");
	put_v2_counters(w, "5000");
}

#define ON_A_NODE(test) cmocka_unit_test_setup_teardown(test, world_up, world_down)

#endif
