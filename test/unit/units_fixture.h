/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_TEST_UNITS_FIXTURE_H
#define CEEMS_TEST_UNITS_FIXTURE_H

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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

#endif
