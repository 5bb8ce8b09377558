/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Walks the unit table and decides what is due. Persistent state is in the table's
 * file; what is here may be lost with the process, which at most repeats a START or a
 * step. */
#include "daemon/reports/reporter.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/sample.h"
#include "daemon/units_energy.h"
#include "lib/clock.h"

#define MEMORY_NS (10 * NSEC_PER_SEC)
/* A later round than this: the daemon was stopped, or the machine was suspended. */
#define GAP_NS (15 * NSEC_PER_SEC)
/* A unit whose energy is not settled by then gets a provisional final report. */
#define PROVISIONAL_NS (3 * NSEC_PER_SEC)
/* For its control groups to be removed, after which its counts do not change */
#define COUNTS_NS (4 * NSEC_PER_SEC)
#define COUNTS_CROWD_NS (2 * NSEC_PER_SEC)
/* A step is reported when its last record and its energy have had time to come... */
#define STEP_SETTLED_NS (10 * NSEC_PER_SEC)
/* ...and a unit with so many of them before its window ends */
#define STEPS_ENOUGH 128u
/* With so many ended units waiting, do not wait for late energy */
#define CROWD 512u

#define TIMES (REPORT_FINAL - REPORT_START + 1)

struct seen_unit {
	uint64_t serial;
	uint64_t memory_ns; /* boottime of the last reading */
	uint32_t start_hash;
};

struct reporter {
	struct reporter_params p;
	struct seen_unit *seen; /* by slot */
	uint32_t cursor;
	uint32_t ended; /* ended units in the last round */
	bool looked;    /* at the counts, since the lock was taken */
	uint64_t gap_from_ns, gap_to_ns;
	uint64_t last_ns, memory_until_ns;
	/* Boottime: close windows that end after the first and no later than the
	 * second */
	uint64_t cut_from_ns, cut_to_ns;
	uint32_t sources[ENERGY_DOMAINS];
	uint64_t changes;
	uint64_t written[TIMES];
	struct report report; /* scratch: large */
};

/* ---- time without a daemon ------------------------------------------------------- */

static uint64_t overlap_ns(uint64_t a0, uint64_t a1, uint64_t b0, uint64_t b1)
{
	uint64_t from = a0 > b0 ? a0 : b0, to = a1 < b1 ? a1 : b1;
	return to > from ? to - from : 0;
}

static void note_gap(struct reporter *r, uint32_t i, uint64_t from_ns, uint64_t to_ns)
{
	const struct unit *unit = units_get(r->p.units, i);
	uint64_t end = unit->state == UNIT_ENDED ? unit->ended_boottime_ns : UINT64_MAX;
	uint64_t ns = overlap_ns(unit->started_boottime_ns, end, from_ns, to_ns);

	if (ns)
		unit_report_unobserved(r->p.units, i, ns);
}

/* The state of the unit in the slot, which may be new to this process */
static struct seen_unit *meet_unit(struct reporter *r, uint32_t i)
{
	struct seen_unit *s = &r->seen[i];
	uint64_t serial = unit_serial(r->p.units, i);

	if (s->serial == serial)
		return s;
	*s = (struct seen_unit){.serial = serial};
	note_gap(r, i, r->gap_from_ns, r->gap_to_ns);
	return s;
}

static void meet_all(struct reporter *r)
{
	struct units *u = r->p.units;

	r->ended = 0;
	for (uint32_t i = units_next(u, 0); i != UNITS_NONE; i = units_next(u, i + 1)) {
		meet_unit(r, i);
		r->ended += units_get(u, i)->state == UNIT_ENDED;
	}
}

static void note_late_round(struct reporter *r, uint64_t now_ns)
{
	struct units *u = r->p.units;

	if (now_ns - r->last_ns <= GAP_NS)
		return;
	for (uint32_t i = units_next(u, 0); i != UNITS_NONE; i = units_next(u, i + 1))
		note_gap(r, i, r->last_ns, now_ns);
}

/* ---- once a second --------------------------------------------------------------- */

/* A young unit is read when its age has doubled since the last reading: a unit of a few
 * seconds gets an average too, and a long one costs hardly more. */
static bool is_young(const struct seen_unit *s, const struct unit *unit,
		     uint64_t now_ns)
{
	uint64_t age = s->memory_ns > unit->started_boottime_ns
			       ? s->memory_ns - unit->started_boottime_ns
			       : 0;

	return !s->memory_ns || (age < MEMORY_NS && now_ns - s->memory_ns >= age);
}

static void read_units_memory(struct reporter *r, uint64_t now_ns)
{
	struct units *u = r->p.units;
	bool all = now_ns >= r->memory_until_ns;

	if (!r->p.sample)
		return;
	if (all)
		r->memory_until_ns = now_ns + MEMORY_NS;
	for (uint32_t i = units_next(u, 0); i != UNITS_NONE; i = units_next(u, i + 1)) {
		const struct unit *unit = units_get(u, i);
		struct seen_unit *s = &r->seen[i];
		uint64_t bytes;
		if (unit->state != UNIT_RUNNING ||
		    (!all && !is_young(s, unit, now_ns)) ||
		    !sample_job_rss(r->p.sample, i, &bytes))
			continue;
		uint64_t since =
			s->memory_ns ? s->memory_ns : unit->started_boottime_ns;
		uint64_t ns = now_ns > since ? now_ns - since : 0;
		uint64_t ms = (ns < 2 * MEMORY_NS ? ns : MEMORY_NS) / NSEC_PER_MSEC;
		s->memory_ns = now_ns;
		unit_report_memory(u, i, bytes, ms ? ms : 1);
	}
}

/* If no part of the node was ever measured, `other` is just `host` under another
 * name. */
static bool has_parts(const struct energy_node *n)
{
	return n->source[ENERGY_PACKAGE] || n->measured_uj[ENERGY_PACKAGE] ||
	       n->source[ENERGY_DRAM] || n->measured_uj[ENERGY_DRAM] ||
	       n->source[ENERGY_GPU] || n->measured_uj[ENERGY_GPU];
}

static void take_sources(struct reporter *r)
{
	const struct energy_node *n = &units_energy(r->p.units)->node;

	for (uint32_t d = 0; d < ENERGY_DOMAINS; d++) {
		if (n->source[d])
			r->sources[d] = n->source[d];
	}
	r->sources[ENERGY_OTHER] = has_parts(n) ? r->sources[ENERGY_HOST] : UINT32_MAX;
	r->changes = n->changes;
}

/* What was measured before a change belongs to the old source. */
static void look_at_sources(struct reporter *r)
{
	struct units *u = r->p.units;

	if (units_energy(u)->node.changes != r->changes) {
		for (uint32_t i = units_next(u, 0); i != UNITS_NONE;
		     i = units_next(u, i + 1))
			unit_report_take_energy(u, i, r->sources);
	}
	take_sources(r);
}

/* The latest window end of the unit that has passed since the last time, 0: none. The
 * first one after the daemon's start ends a window without backdating: present counters
 * are not those of an earlier time. Each unit has its own time base, which nobody can
 * set. */
static uint64_t boundary_of(const struct reporter *r, uint32_t i)
{
	const struct unit *unit = units_get(r->p.units, i);
	uint64_t to = report_time_of(unit, r->cut_to_ns);
	uint64_t boundary = to / r->p.interval_ns * r->p.interval_ns;

	if (r->cut_to_ns < unit->started_boottime_ns ||
	    report_time_of(unit, r->cut_from_ns) >= boundary)
		return 0;
	return boundary;
}

/* Reads all steps once before windows are closed. */
static void prepare_cut(struct reporter *r, uint64_t now_ns)
{
	struct units *u = r->p.units;
	bool any = false;

	r->cut_to_ns = now_ns;
	for (uint32_t i = units_next(u, 0); i != UNITS_NONE && !any;
	     i = units_next(u, i + 1))
		any = units_get(u, i)->state == UNIT_RUNNING && boundary_of(r, i);
	if (any && r->p.sample)
		(void)sample_steps(r->p.sample);
}

void reporter_round(struct reporter *r, uint64_t now_ns)
{
	note_late_round(r, now_ns);
	meet_all(r);
	r->last_ns = now_ns;
	units_set_alive(r->p.units, now_ns);
	read_units_memory(r, now_ns);
	look_at_sources(r);
	prepare_cut(r, now_ns);
}

/* ---- batches --------------------------------------------------------------------- */

static bool batch_has_room(const struct report_batch *b)
{
	/* an interval, a final report and all their steps */
	return b->count + 3 <= REPORTER_ITEMS &&
	       b->steps + (size_t)2 * REPORT_STEPS_MAX <= REPORTER_STEPS &&
	       b->len + (size_t)2 * REPORT_BYTES_MAX <= REPORTER_BYTES;
}

static struct report_item *put_report_item(struct reporter *r, struct report_batch *b,
					   uint32_t i)
{
	int len = report_encode(&r->report, b->data + b->len, REPORTER_BYTES - b->len);
	struct report_item *item = &b->items[b->count];

	if (len < 0)
		return NULL; /* cannot happen: batch_has_room() */
	*item = (struct report_item){
		.serial = unit_serial(r->p.units, i),
		.unit = i,
		.type = r->report.type,
		.provisional = r->report.flags & REPORT_PROVISIONAL,
		.steps_end = b->steps,
		.at = b->len,
		.len = (size_t)len,
	};
	b->len += (size_t)len;
	b->count++;
	return item;
}

/* Whether the step has something that no report contains. */
static bool step_due(const struct reporter *r, uint32_t s, uint64_t now_ns)
{
	const struct step *step = steps_get(r->p.units, s);

	return step->state == UNIT_ENDED && !units_step_is_told(r->p.units, s) &&
	       now_ns >= step->left_boottime_ns + STEP_SETTLED_NS;
}

static uint32_t steps_due(const struct reporter *r, uint32_t i, uint64_t now_ns)
{
	uint32_t n = 0;

	for (uint32_t s = units_first_step(r->p.units, i); s != UNITS_NONE;
	     s = steps_after(r->p.units, s))
		n += step_due(r, s, now_ns);
	return n;
}

/* now_ns 0: all that have ended */
static void put_step_reports(struct reporter *r, struct report_batch *b, uint32_t i,
			     uint64_t now_ns)
{
	struct units *u = r->p.units;

	for (uint32_t s = units_first_step(u, i); s != UNITS_NONE;
	     s = steps_after(u, s)) {
		if (now_ns ? !step_due(r, s, now_ns)
			   : steps_get(u, s)->state != UNIT_ENDED)
			continue;
		if (b->steps == REPORTER_STEPS ||
		    !report_fill_step(&r->report, u, i, s))
			return;
		b->told[b->steps++] = (struct report_batch_step){step_serial(u, s), s};
	}
}

static void put_interval(struct reporter *r, struct report_batch *b, uint32_t i,
			 uint64_t now_ns)
{
	report_fill_unit(&r->report, REPORT_INTERVAL, r->p.units, i, &r->p.who);
	report_fill_window(&r->report, r->p.units, i, &r->p.who);
	if (units_get(r->p.units, i)->state == UNIT_RUNNING)
		put_step_reports(r, b, i, now_ns);
	put_report_item(r, b, i);
}

/* Once while the lock is held; false: nothing is counted. */
static bool look_at_counts(struct reporter *r)
{
	if (r->p.counts.finals && !r->looked)
		r->p.counts.look(r->p.counts.finals);
	r->looked = true;
	return r->p.counts.finals;
}

static void put_final(struct reporter *r, struct report_batch *b, uint32_t i,
		      const struct report_sums *sums, bool provisional)
{
	report_fill_unit(&r->report, REPORT_FINAL, r->p.units, i, &r->p.who);
	report_fill_totals(&r->report, r->p.units, i, sums, &r->p.who);
	if (provisional)
		r->report.flags |= REPORT_PROVISIONAL;
	if (look_at_counts(r))
		r->p.counts.fill(r->p.counts.finals, i, &r->report);
	put_step_reports(r, b, i, 0);
	if (units_get(r->p.units, i)->steps_started > r->report.step_count)
		r->report.flags |= REPORT_STEPS_CUT;
	put_report_item(r, b, i);
}

/* ---- what is due ----------------------------------------------------------------- */

static uint64_t begin_of(const struct reporter *r, uint32_t i)
{
	const struct unit_report *ur = unit_report(r->p.units, i);

	return ur->t0_ns ? ur->t0_ns : units_get(r->p.units, i)->started_realtime_ns;
}

static void close_window(struct reporter *r, uint32_t i, uint64_t t1_ns,
			 uint64_t now_ns)
{
	struct units *u = r->p.units;

	if (units_get(u, i)->state == UNIT_RUNNING && r->p.sample)
		sample_unit_io(r->p.sample, i);
	unit_report_take_energy(u, i, r->sources);
	unit_report_close(u, i, t1_ns, now_ns);
}

static void gather_running(struct reporter *r, struct report_batch *b, uint32_t i,
			   uint64_t now_ns)
{
	struct units *u = r->p.units;
	struct seen_unit *s = &r->seen[i];
	uint64_t t0 = begin_of(r, i), boundary = boundary_of(r, i);
	uint64_t unit_now_ns = report_time_of(units_get(u, i), now_ns);
	uint32_t hash = report_fill_hash(u, i);

	/* it continued after it had seemed to be over */
	if (unit_report(u, i)->marks & (REPORT_FINISHED | REPORT_FINISHING))
		unit_report_mark(u, i, 0, REPORT_FINISHED | REPORT_FINISHING);
	if (s->start_hash != hash) {
		report_fill_unit(&r->report, REPORT_START, u, i, &r->p.who);
		r->report.sized_ns = r->report.millicpus ? unit_now_ns : 0;
		struct report_item *item = put_report_item(r, b, i);
		if (item)
			item->hash = hash;
	}
	if (!(unit_report(u, i)->marks & REPORT_PENDING)) {
		if (t0 < boundary)
			close_window(r, i, boundary, now_ns);
		else if (t0 < unit_now_ns && steps_due(r, i, now_ns) >= STEPS_ENOUGH)
			close_window(r, i, unit_now_ns, now_ns);
	}
	if (unit_report(u, i)->marks & REPORT_PENDING)
		put_interval(r, b, i, now_ns);
}

/* Whether what the kernel programs count for the unit is complete. */
static bool are_counts_settled(struct reporter *r, uint32_t i, uint64_t now_ns)
{
	const struct reporter_counts *c = &r->p.counts;
	uint64_t wait_ns = r->ended > CROWD ? COUNTS_CROWD_NS : COUNTS_NS;

	return !look_at_counts(r) || c->settled(c->finals, i) ||
	       now_ns >= units_get(r->p.units, i)->left_boottime_ns + wait_ns;
}

static void gather_ended(struct reporter *r, struct report_batch *b, uint32_t i,
			 uint64_t now_ns)
{
	struct units *u = r->p.units;
	const struct unit *unit = units_get(u, i);
	const struct unit_report *ur = unit_report(u, i);
	bool settled = unit_report_settled(u, i, now_ns) || r->ended > CROWD;

	if (ur->marks & REPORT_PENDING) { /* from an earlier round, or process */
		put_interval(r, b, i, now_ns);
		b->more = true; /* later it will be known whether it is the last */
		return;
	}
	unit_report_take_energy(u, i, r->sources);
	if (!(ur->marks & REPORT_FINISHED) && !are_counts_settled(r, i, now_ns))
		return;
	if (!settled) {
		if ((ur->marks & (REPORT_FINISHED | REPORT_FINISHING)) ||
		    now_ns < unit->left_boottime_ns + PROVISIONAL_NS)
			return;
		struct report_sums sums;
		unit_report_now(u, i, now_ns, &sums);
		put_final(r, b, i, &sums, true);
		return;
	}
	if (unit_report_grew(u, i)) {
		uint64_t t0 = begin_of(r, i);
		uint64_t t1 = report_time_of(unit, unit->ended_boottime_ns);
		close_window(r, i, t1 > t0 ? t1 : t0 + NSEC_PER_MSEC, now_ns);
		put_interval(r, b, i, now_ns);
		put_final(r, b, i, &ur->next, false);
	} else if (!(ur->marks & REPORT_FINISHED)) {
		put_final(r, b, i, &ur->told, false);
	}
}

void reporter_gather(struct reporter *r, struct report_batch *b, uint64_t now_ns)
{
	struct units *u = r->p.units;
	uint32_t capacity = units_capacity(u);

	b->count = b->steps = 0;
	b->len = 0;
	b->more = false;
	r->looked = false;
	for (; r->cursor < capacity; r->cursor++) {
		r->cursor = units_next(u, r->cursor);
		if (r->cursor == UNITS_NONE)
			break;
		if (!batch_has_room(b)) {
			b->more = true;
			return;
		}
		meet_unit(r, r->cursor);
		if (units_get(u, r->cursor)->marks & UNIT_UNREAD)
			continue; /* the start of its windows is not known yet */
		if (units_get(u, r->cursor)->state == UNIT_RUNNING)
			gather_running(r, b, r->cursor, now_ns);
		else
			gather_ended(r, b, r->cursor, now_ns);
	}
	r->cursor = 0;
	r->cut_from_ns = r->cut_to_ns;
}

/* ---- after writing --------------------------------------------------------------- */

static void settle_item(struct reporter *r, const struct report_item *item)
{
	struct units *u = r->p.units;
	uint32_t i = item->unit;

	r->written[item->type - REPORT_START]++;
	/* the slot may have been reused */
	if (!units_get(u, i) || unit_serial(u, i) != item->serial)
		return;
	switch (item->type) {
	case REPORT_START:
		r->seen[i].start_hash = item->hash;
		break;
	case REPORT_INTERVAL:
		if (unit_report(u, i)->marks & REPORT_PENDING)
			unit_report_move_on(u, i);
		break;
	default:
		unit_report_mark(u, i,
				 item->provisional ? REPORT_FINISHING : REPORT_FINISHED,
				 0);
	}
}

void reporter_settle(struct reporter *r, const struct report_batch *b, uint32_t n)
{
	struct units *u = r->p.units;
	uint32_t steps = n ? b->items[n - 1].steps_end : 0;

	for (uint32_t k = 0; k < n; k++)
		settle_item(r, &b->items[k]);
	for (uint32_t k = 0; k < steps; k++) {
		if (steps_get(u, b->told[k].step) &&
		    step_serial(u, b->told[k].step) == b->told[k].serial)
			units_step_told(u, b->told[k].step);
	}
	if (n < b->count)
		r->cursor = 0; /* what was not written comes again */
}

/* ---- making ---------------------------------------------------------------------- */

int reporter_new(const struct reporter_params *p, uint64_t now_boottime_ns,
		 struct reporter **ret, struct err *err)
{
	struct reporter *r = calloc(1, sizeof(*r));

	if (r)
		r->seen = calloc(units_capacity(p->units), sizeof(*r->seen));
	if (!r || !r->seen) {
		reporter_free(r);
		return err_set(err, -ENOMEM, "reports: out of memory");
	}
	r->p = *p;
	r->gap_from_ns = units_alive_ns(p->units);
	r->gap_to_ns = now_boottime_ns;
	r->last_ns = now_boottime_ns;
	r->cut_from_ns = r->cut_to_ns = now_boottime_ns;
	meet_all(r);
	units_set_alive(p->units, now_boottime_ns);
	take_sources(r);
	units_reporting(p->units, true);
	*ret = r;
	return 0;
}

void reporter_free(struct reporter *r)
{
	if (!r)
		return;
	if (r->p.units)
		units_reporting(r->p.units, false);
	free(r->seen);
	free(r);
}

uint64_t reporter_written(const struct reporter *r, enum report_type type)
{
	return r->written[type - REPORT_START];
}
