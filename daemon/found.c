/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a unit had used before ceemsd knew it: the job's control group includes steps
 * that have ended. A counter advances only at a context switch or a tick, so a reading
 * of the job between two equal readings of its steps is exact; on very many busy CPUs
 * it may be slightly low, never high. */
#include "daemon/found.h"

#include "daemon/ingest.h"
#include "daemon/units_found.h"
#include "lib/clock.h"
#include "lib/log.h"

#define TRIES 16u
#define START_LATE_NS NSEC_PER_SEC
/* Then use what can be read: a step's control group is gone, and no record came. */
#define GIVE_UP_NS (5 * NSEC_PER_SEC)

static uint64_t found_cpu_ns(const struct units *u, uint32_t i)
{
	struct unit_totals t;

	unit_total(u, i, &t);
	return t.cpu_user_ns + t.cpu_system_ns;
}

/* Whether everything published before the readings is in the table. */
static bool ring_is_empty(struct ingest *in)
{
	return !in || ingest_tick(in, 0) == 0;
}

/* 1: everything is read; 0: not now; -1: the job's control group cannot be read. */
static int read_found_unit(struct units *u, struct sample *s, struct ingest *in,
			   uint32_t i, struct unit_totals *ret)
{
	uint64_t serial = unit_serial(u, i);

	for (unsigned try = 1; try <= TRIES; try++) {
		if (!sample_unit(s, i))
			return 0;
		uint64_t before = found_cpu_ns(u, i);
		bool read = sample_job_totals(s, i, ret);
		if (!sample_unit(s, i))
			return 0;
		bool still = found_cpu_ns(u, i) == before || !read;
		if (!ring_is_empty(in)) {
			if (!units_get(u, i) || unit_serial(u, i) != serial)
				return 0;
			continue;
		}
		if (still || try == TRIES)
			return read ? 1 : -1;
	}
	return 0;
}

static uint64_t age_of(const struct unit *unit, uint64_t now_ns)
{
	return now_ns > unit->started_boottime_ns ? now_ns - unit->started_boottime_ns
						  : 0;
}

static void look_at(const struct env *env, struct sample *s, struct ingest *in,
		    uint32_t i, bool now)
{
	struct units *u = env->units;
	const struct unit *unit = units_get(u, i);
	uint64_t age = age_of(unit, env->boottime_ns());
	struct unit_totals job;

	if (!(unit->marks & UNIT_UNREAD) ||
	    (!now && unit->state == UNIT_RUNNING && age < START_LATE_NS))
		return;
	int rc = s ? read_found_unit(u, s, in, i, &job) : -1;
	if (rc == 0 && (age < GIVE_UP_NS || !units_get(u, i)))
		return;
	bool known = unit->marks & UNIT_FOUND;
	units_found_read(u, i, rc > 0 ? &job : NULL);
	const struct report_before *b = &unit_before(u, i)->all;
	if (!known && (unit->marks & UNIT_FOUND) && unit->state == UNIT_RUNNING)
		log_info("unit %s: found in mid-life, it had used %llu.%03llu s of CPU "
			 "time%s",
			 unit->id,
			 (unsigned long long)((b->cpu_user_ns + b->cpu_system_ns) /
					      NSEC_PER_SEC),
			 (unsigned long long)((b->cpu_user_ns + b->cpu_system_ns) /
					      NSEC_PER_MSEC % 1000),
			 rc > 0 ? "" : ", as far as its steps tell");
}

void found_read_units(const struct env *env, struct sample *s, struct ingest *in,
		      bool now)
{
	struct units *u = env->units;

	if (!u || !units_unread(u))
		return;
	for (uint32_t i = units_next(u, 0); i != UNITS_NONE; i = units_next(u, i + 1))
		look_at(env, s, in, i, now);
}
