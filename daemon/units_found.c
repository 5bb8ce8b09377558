/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What found units had used before. */
#include "daemon/units_found.h"

#include "daemon/units_store.h"
#include "daemon/units_totals.h"
#include "lib/clamp.h"
#include "lib/clock.h"

/* v2 counts whole microseconds per control group: smaller differences are rounding. */
#define ROUNDING_NS NSEC_PER_MSEC

const struct unit_before *unit_before(const struct units *u, uint32_t i)
{
	return &u->befores[i];
}

uint32_t units_unread(const struct units *u)
{
	return u->unread;
}

void units_set_anew(struct units *u, uint64_t boottime_ns)
{
	u->h->anew_ns = boottime_ns;
}

bool units_anew(const struct units *u)
{
	return u->h->anew_ns != 0;
}

void units_set_recalling(struct units *u, bool recalling)
{
	u->recalling = recalling;
}

void found_put_unit(struct units *u, uint32_t i)
{
	static const struct unit_before none;

	txn_put(u, &u->befores[i], &none, sizeof(none));
}

static uint64_t least_u64(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static uint64_t found_totals_cpu_ns(const struct unit_totals *t)
{
	return t->cpu_user_ns + t->cpu_system_ns;
}

/* CPU time of this sum, with user as close as possible to user_ns. */
static void set_cpu(struct unit_totals *t, uint64_t cpu_ns, uint64_t user_ns)
{
	t->cpu_user_ns = least_u64(cpu_ns, user_ns);
	t->cpu_system_ns = cpu_ns - t->cpu_user_ns;
}

/* a minus b. The sum of user and system is exact. */
static struct unit_totals rest_of(const struct unit_totals *a,
				  const struct unit_totals *b)
{
	struct unit_totals t = {
		.io_read_bytes = clamp_minus(a->io_read_bytes, b->io_read_bytes),
		.io_write_bytes = clamp_minus(a->io_write_bytes, b->io_write_bytes),
	};

	set_cpu(&t, clamp_minus(found_totals_cpu_ns(a), found_totals_cpu_ns(b)),
		clamp_minus(a->cpu_user_ns, b->cpu_user_ns));
	return t;
}

/* Limits t to `most` */
static void cut_rest(struct unit_totals *t, const struct unit_totals *most)
{
	set_cpu(t, least_u64(found_totals_cpu_ns(t), found_totals_cpu_ns(most)),
		t->cpu_user_ns);
	t->io_read_bytes = least_u64(t->io_read_bytes, most->io_read_bytes);
	t->io_write_bytes = least_u64(t->io_write_bytes, most->io_write_bytes);
}

/* *folded contains *was: replaces it by *is. */
static void replace_rest(struct unit_totals *folded, const struct unit_totals *was,
			 const struct unit_totals *is)
{
	struct unit_totals without = rest_of(folded, was);

	set_cpu(folded, found_totals_cpu_ns(&without) + found_totals_cpu_ns(is),
		without.cpu_user_ns + is->cpu_user_ns);
	folded->io_read_bytes = without.io_read_bytes + is->io_read_bytes;
	folded->io_write_bytes = without.io_write_bytes + is->io_write_bytes;
}

void found_take_rest(struct unit_totals *folded, struct unit_before *b,
		     const struct unit_totals *counters)
{
	struct unit_totals left = rest_of(&b->rest, counters);

	replace_rest(folded, &b->rest, &left);
	b->rest = left;
}

/* Adds the steps without a start record */
static void add_discovered(const struct units *u, uint32_t i, struct unit_totals *t)
{
	for (uint32_t s = units_first_step(u, i); s != UNITS_NONE;
	     s = steps_after(u, s)) {
		if (u->steps[s].discovered)
			totals_add(t, &u->steps[s].totals);
	}
}

/* Use up to now is charged to nobody. Plain stores; if the daemon dies before the
 * following transaction, the unit is read again. */
static void skip_energy(struct units *u, uint32_t i)
{
	uint32_t now = u->h->energy_generation & 1;

	for (uint32_t s = units_first_step(u, i); s != UNITS_NONE;
	     s = steps_after(u, s)) {
		struct step_energy *e = &u->step_energy[s].generation[now];
		e->charged_cpu_ns = found_totals_cpu_ns(&u->steps[s].totals);
		e->seen = 1;
	}
}

static bool is_nothing(const struct unit_totals *t)
{
	return found_totals_cpu_ns(t) < ROUNDING_NS && !t->io_read_bytes &&
	       !t->io_write_bytes;
}

/* The first time: sets `before` and the beginning of its windows. */
static void begin_after(struct unit_before *b, struct unit_report *r,
			const struct unit_totals *t)
{
	b->all =
		(struct report_before){REPORT_HAS_CPU, t->cpu_user_ns, t->cpu_system_ns,
				       t->io_read_bytes, t->io_write_bytes};
	if (t->io_read_bytes || t->io_write_bytes)
		b->all.known |= REPORT_HAS_IO;
	r->told.cpu_user_ns = t->cpu_user_ns;
	r->told.cpu_system_ns = t->cpu_system_ns;
	r->told.throttled_ns = t->throttled_ns;
	r->told.oom_kills = t->oom_kills;
	r->told.io_read_bytes = t->io_read_bytes;
	r->told.io_write_bytes = t->io_write_bytes;
}

void units_found_read(struct units *u, uint32_t i, const struct unit_totals *job)
{
	uint32_t now = u->h->energy_generation & 1;
	struct unit unit = u->units[i];
	struct unit_before b = u->befores[i];
	struct unit_report r = u->unit_reports[i];
	struct unit_totals total, rest = {0};

	unit_total(u, i, &total);
	struct unit_totals steps = rest_of(&total, &b.rest);
	if (job)
		rest = rest_of(job, &steps);
	if (unit.marks & UNIT_FOUND)
		cut_rest(&rest, &b.rest);
	struct unit_totals before = rest;
	add_discovered(u, i, &before);
	bool first = !(unit.marks & UNIT_FOUND);
	unit.marks &= ~(uint32_t)UNIT_UNREAD;
	if (!first || !is_nothing(&before)) {
		unit.marks |= UNIT_FOUND;
		replace_rest(&unit.folded, &b.rest, &rest);
		b.rest = rest;
		if (first)
			begin_after(&b, &r, &before);
		skip_energy(u, i);
	}
	uint64_t charged = found_totals_cpu_ns(&steps) + found_totals_cpu_ns(&b.rest);
	txn_begin(u);
	txn_put(u, &u->units[i], &unit, sizeof(unit));
	txn_put(u, &u->befores[i], &b, sizeof(b));
	txn_put(u, &u->unit_reports[i], &r, sizeof(r));
	if (unit.marks & UNIT_FOUND)
		txn_put(u, &u->unit_energy[i].generation[now].charged_cpu_ns, &charged,
			sizeof(charged));
	txn_commit(u);
	u->unread -= u->unread > 0;
}
