/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Any bytes anywhere in the unit table's file, while it is in use and before it is
 * opened: each call must end without touching anything outside, and leave a table that
 * still takes records. The input is a list of (what, where, bytes): see go_on(). */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/steps_energy.h"
#include "daemon/units.h"
#include "daemon/units_energy.h"
#include "daemon/units_report.h"
#include "daemon/web/units_json.h"
#include "lib/buf.h"
#include "lib/clock.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define CAPACITY 4u
#define COMMANDS 64u
#define START (1000 * NSEC_PER_SEC)

static char folder[64];
static int folder_fd = -1;

struct run {
	struct units *u;
	const uint8_t *at, *end;
	uint64_t now, pos;
};

static void clean_up(void)
{
	unlinkat(folder_fd, UNITS_PATH_NAME, 0);
	unlinkat(folder_fd, UNITS_PATH_NAME ".new", 0);
	rmdir(folder);
}

static void make_folder(void)
{
	if (folder[0])
		return;
	snprintf(folder, sizeof(folder), "/dev/shm/units_fuzz.XXXXXX");
	if (!mkdtemp(folder))
		abort();
	folder_fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (folder_fd < 0)
		abort();
	atexit(clean_up);
}

static void open_table(struct run *r)
{
	struct err err;
	bool made_new;

	if (units_open(folder_fd, CAPACITY, &r->u, &made_new, &err) < 0)
		abort();
	units_energy_ticking(r->u, true);
	units_reporting(r->u, true);
}

static uint32_t next_number(struct run *r, size_t bytes)
{
	uint32_t v = 0;

	for (size_t i = 0; i < bytes && r->at < r->end; i++)
		v = v << 8 | *r->at++;
	return v;
}

static void apply_record(struct run *r, uint32_t what)
{
	static const enum record_type types[] = {RECORD_STEP_START, RECORD_STEP_STOP,
						 RECORD_UNIT_START, RECORD_UNIT_STOP};
	struct record rec;
	struct err err;

	record_init(&rec, types[what & 3], MANAGER_SLURM);
	snprintf(rec.unit, sizeof(rec.unit), "%u", what >> 2 & 7);
	rec.step = what & 0x20 ? RECORD_STEP_EXTERN : what >> 6 & 3;
	rec.boottime_ns = rec.realtime_ns = r->now;
	rec.stepd_pid = what & 0x10 ? 77 : 0;
	if (what & 0x8)
		rec.flags |= RECORD_LAST;
	record_add_cgroup(&rec, 1, what & 1 ? "/slurm/job_1/step_0" : "/job_2/step_1");
	if (rec.type == RECORD_STEP_STOP) {
		rec.counters.source = COUNTERS_CGROUP_V1;
		rec.counters.cpu_user_ns = 100;
	}
	(void)!units_apply(r->u, &rec, what & 0x40 ? UINT64_MAX : ++r->pos, r->now,
			   r->now, &err);
}

/* Over the mapped file, from behind. */
static void scribble(struct run *r)
{
	size_t bytes, n = next_number(r, 1);
	unsigned char *map = (unsigned char *)(uintptr_t)units_mapping(r->u, &bytes);
	size_t to = next_number(r, 3) % bytes;

	for (; n && to < bytes && r->at < r->end; n--)
		map[to++] = *r->at++;
}

/* What reporter, ticker and collectors do with each unit */
static void use_units(struct run *r)
{
	static const uint32_t sources[ENERGY_DOMAINS] = {1, 2, 3, 4, 5};
	struct units *u = r->u;
	struct report_sums sums;

	for (uint32_t i = units_next(u, 0); i != UNITS_NONE; i = units_next(u, i + 1)) {
		unit_report_take_energy(u, i, sources);
		unit_report_now(u, i, r->now, &sums);
		if (unit_report_grew(u, i) && !(r->pos & 1))
			unit_report_close(u, i, r->now, r->now);
		else
			unit_report_move_on(u, i);
		(void)unit_report_settled(u, i, r->now);
	}
	for (uint32_t s = steps_next(u, 0); s != UNITS_NONE; s = steps_next(u, s + 1)) {
		const struct unit_totals t = {.cpu_user_ns = r->now};
		if (!steps_get(u, s) || !units_get(u, steps_unit(u, s)))
			abort();
		units_step_reading(u, s, &t);
	}
}

static void divide_energy(struct run *r)
{
	struct steps_energy s = {0};
	const struct steps_energy_window w = {.t0_ns = r->now - NSEC_PER_SEC,
					      .t1_ns = r->now,
					      .gpu_t0_ns = r->now - NSEC_PER_SEC,
					      .gpu_t1_ns = r->now};

	units_energy_draft(r->u);
	if (steps_energy_tick(&s, r->u, &w) == 0 &&
	    steps_energy_before_close(&s, r->u, false) == 0) {
		steps_energy_after_close(&s, r->u);
		units_energy_commit(r->u);
	}
	steps_energy_done(&s);
}

static void print_table(struct run *r)
{
	auto_buf struct buf out = BUF_INIT;
	struct node_totals n;

	(void)!units_put_json(r->u, &out);
	for (uint32_t m = 0; m < 5; m++)
		units_node_totals(r->u, m, &n);
}

static void go_on(struct run *r)
{
	static const struct units_policy policy = {1000, 500, 3};
	uint32_t what = next_number(r, 1);

	r->now += (what >> 4) * NSEC_PER_SEC;
	switch (what & 15) {
	case 0:
	case 1:
	case 2:
	case 3:
	case 4:
		apply_record(r, next_number(r, 1));
		break;
	case 5:
		units_expire(r->u, r->now, &policy);
		break;
	case 6:
		use_units(r);
		break;
	case 7:
		divide_energy(r);
		break;
	case 8:
		print_table(r);
		break;
	case 9:
		units_drop_anchors(r->u, r->now, r->now);
		break;
	case 10:
		for (uint32_t s = steps_next(r->u, 0); s != UNITS_NONE;
		     s = steps_next(r->u, s + 1))
			units_step_lost(r->u, s, r->now, r->now);
		break;
	case 11: /* the next daemon */
		units_close(r->u);
		open_table(r);
		r->pos = units_ring_pos(r->u) == UINT64_MAX ? 0 : units_ring_pos(r->u);
		break;
	default:
		scribble(r);
		break;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct run r = {.at = data, .end = data + size, .now = START};

	make_folder();
	unlinkat(folder_fd, UNITS_PATH_NAME, 0);
	open_table(&r);
	for (uint32_t what = 0; what < 12; what++)
		apply_record(&r, what * 23);
	for (unsigned i = 0; i < COMMANDS && r.at < r.end; i++)
		go_on(&r);
	use_units(&r);
	print_table(&r);
	units_close(r.u);
	return 0;
}
