/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The state of each unit's reports, kept in the file for the next daemon. */
#include "daemon/units_report.h"

#include <sys/random.h>

#include "daemon/units_store.h"
#include "lib/clock.h"

/* Limit for keeping ended units when the spool cannot be written. */
#define UNITS_REPORT_MS 90000u
/* Limit for the answer of a whole-node sensor. */
#define ENERGY_LATE_MS 45000u
/* A second stop record comes when slurmstepd ends. */
#define STOP_LATE_MS 10000u

const struct unit_report *unit_report(const struct units *u, uint32_t i)
{
	return &u->unit_reports[i];
}

static void store_unit_report(struct units *u, uint32_t i, const struct unit_report *r)
{
	txn_begin(u);
	txn_put(u, &u->unit_reports[i], r, sizeof(*r));
	txn_commit(u);
}

/* ---- energy ---------------------------------------------------------------------- */

/* Values from the file are bounded before use. */
static uint32_t energies_of(const struct unit_report *r)
{
	uint32_t n = *(const volatile uint32_t *)&r->energies;

	return n < REPORT_ENERGIES_MAX ? n : REPORT_ENERGIES_MAX;
}

/* The index of (domain, source). If all are taken: the last of the same domain, so that
 * sums stay right, under another source's name. */
static uint32_t place_of(struct unit_report *r, uint32_t domain, uint32_t source)
{
	uint32_t same = REPORT_ENERGIES_MAX - 1;

	for (uint32_t k = 0; k < energies_of(r); k++) {
		if (r->energy[k].domain != domain)
			continue;
		if (r->energy[k].source == source)
			return k;
		same = k;
	}
	if (r->energies >= REPORT_ENERGIES_MAX)
		return same;
	r->energy[r->energies].domain = domain;
	r->energy[r->energies].source = source;
	return r->energies++;
}

void unit_report_take_energy(struct units *u, uint32_t i,
			     const uint32_t sources[ENERGY_DOMAINS])
{
	const uint64_t *settled = unit_energy(u, i)->account.settled_uj;
	struct unit_report r = u->unit_reports[i];
	bool any = false;

	for (uint32_t d = 0; d < ENERGY_DOMAINS; d++) {
		uint64_t more = settled[d] - r.seen_uj[d];
		if (!more)
			continue;
		if (sources[d] != UINT32_MAX)
			r.live_uj[place_of(&r, d, sources[d])] += more;
		r.seen_uj[d] = settled[d];
		any = true;
	}
	if (any)
		store_unit_report(u, i, &r);
}

/* ---- readings -------------------------------------------------------------------- */

void unit_report_memory(struct units *u, uint32_t i, uint64_t bytes, uint64_t ms)
{
	struct unit_report *r = &u->unit_reports[i];

	/* If the daemon dies in between, one reading is lost. */
	r->live_kib_ms += bytes / 1024 * ms;
	r->live_ms += ms;
	if (bytes > r->window_peak_bytes)
		r->window_peak_bytes = bytes;
	if (bytes > r->peak_bytes)
		r->peak_bytes = bytes;
}

const struct unit_gpu_use *unit_gpu_use(const struct units *u, uint32_t i)
{
	return &u->gpu_uses[i];
}

const struct unit_gpu_profile *unit_gpu_profile(const struct units *u, uint32_t i)
{
	return &u->gpu_profiles[i];
}

void unit_report_gpus(struct units *u, uint32_t i, const struct unit_gpu_sums *more,
		      const struct unit_gpu_figures *figures, uint64_t used_kib,
		      uint64_t size_kib)
{
	struct unit_gpu_use *g = &u->gpu_uses[i];
	struct unit_gpu_figures *f = &u->gpu_profiles[i].live;

	g->live.busy_of_ns += more->busy_of_ns;
	g->live.busy_ns += more->busy_ns;
	g->live.idle_ns += more->idle_ns;
	g->live.memory_of_ms += more->memory_of_ms;
	g->live.memory_kib_ms += more->memory_kib_ms;
	for (unsigned k = 0; k < UNIT_GPU_FIGURES; k++) {
		f->ppm_ms[k] += figures->ppm_ms[k];
		f->of_ms[k] += figures->of_ms[k];
	}
	if (used_kib > g->memory_peak_kib)
		g->memory_peak_kib = used_kib;
	if (size_kib > g->memory_size_kib)
		g->memory_size_kib = size_kib;
}

void unit_report_unobserved(struct units *u, uint32_t i, uint64_t ns)
{
	u->unit_reports[i].unobserved_ns += ns;
}

static uint64_t observed_ns(const struct unit *unit, const struct unit_report *r,
			    uint64_t now_boottime_ns)
{
	uint64_t end =
		unit->state == UNIT_ENDED ? unit->ended_boottime_ns : now_boottime_ns;
	uint64_t lived =
		end > unit->started_boottime_ns ? end - unit->started_boottime_ns : 0;
	uint64_t seen = lived > r->unobserved_ns ? lived - r->unobserved_ns : 0;

	return seen > r->told.observed_ns ? seen : r->told.observed_ns;
}

void unit_report_now(const struct units *u, uint32_t i, uint64_t now_boottime_ns,
		     struct report_sums *ret)
{
	const struct unit_report *r = &u->unit_reports[i];
	struct unit_totals t;

	unit_total(u, i, &t);
	*ret = (struct report_sums){
		.cpu_user_ns = t.cpu_user_ns,
		.cpu_system_ns = t.cpu_system_ns,
		.throttled_ns = t.throttled_ns,
		.oom_kills = t.oom_kills,
		.io_read_bytes = t.io_read_bytes,
		.io_write_bytes = t.io_write_bytes,
		.memory_kib_ms = r->live_kib_ms,
		.memory_ms = r->live_ms,
		.observed_ns = observed_ns(&u->units[i], r, now_boottime_ns),
	};
	for (uint32_t k = 0; k < REPORT_ENERGIES_MAX; k++)
		ret->uj[k] = r->live_uj[k];
}

bool unit_report_grew(const struct units *u, uint32_t i)
{
	const struct unit_report *r = &u->unit_reports[i];
	const uint64_t *settled = unit_energy(u, i)->account.settled_uj;
	struct unit_totals t;

	if (!(r->marks & REPORT_TOLD))
		return true;
	unit_total(u, i, &t);
	for (uint32_t d = 0; d < ENERGY_DOMAINS; d++) {
		if (settled[d] != r->seen_uj[d])
			return true;
	}
	for (uint32_t k = 0; k < energies_of(r); k++) {
		if (r->live_uj[k] != r->told.uj[k])
			return true;
	}
	return t.cpu_user_ns != r->told.cpu_user_ns ||
	       t.cpu_system_ns != r->told.cpu_system_ns ||
	       t.oom_kills != r->told.oom_kills ||
	       t.throttled_ns != r->told.throttled_ns ||
	       t.io_read_bytes != r->told.io_read_bytes ||
	       t.io_write_bytes != r->told.io_write_bytes;
}

static bool stops_are_last(const struct units *u, uint32_t i)
{
	for (uint32_t s = units_first_step(u, i); s != UNITS_NONE;
	     s = steps_after(u, s)) {
		if (u->steps[s].state != UNIT_PART &&
		    !(u->steps[s].flags & RECORD_LAST))
			return false;
	}
	return true;
}

bool unit_report_settled(const struct units *u, uint32_t i, uint64_t now_boottime_ns)
{
	const struct unit *unit = &u->units[i];
	uint64_t gone_ns = now_boottime_ns > unit->left_boottime_ns
				   ? now_boottime_ns - unit->left_boottime_ns
				   : 0;
	uint64_t gone_ms = gone_ns / NSEC_PER_MSEC;

	if (unit->state != UNIT_ENDED)
		return false;
	if (gone_ms >= ENERGY_LATE_MS)
		return true;
	if (!energy_is_charged(u, i) ||
	    (u->energy_ticking && energy_account_open(&unit_energy(u, i)->account)))
		return false;
	if (!(unit->marks & UNIT_DEFINITE) && gone_ms < UNITS_GRACE_MS)
		return false;
	return gone_ms >= STOP_LATE_MS || stops_are_last(u, i);
}

/* ---- windows --------------------------------------------------------------------- */

void unit_report_close(struct units *u, uint32_t i, uint64_t t1_ns,
		       uint64_t now_boottime_ns)
{
	struct unit_report r = u->unit_reports[i];
	struct unit_gpu_use *g = &u->gpu_uses[i];
	struct unit_gpu_profile *p = &u->gpu_profiles[i];

	unit_report_now(u, i, now_boottime_ns, &r.next);
	if (!r.t0_ns)
		r.t0_ns = u->units[i].started_realtime_ns;
	r.t1_ns = t1_ns;
	/* what was watched since its end is the next window's */
	uint64_t most_ns = r.told.observed_ns + (t1_ns - r.t0_ns);
	if (r.next.observed_ns > most_ns)
		r.next.observed_ns = most_ns;
	r.pending_peak_bytes = r.window_peak_bytes;
	r.window_peak_bytes = 0;
	r.marks |= REPORT_PENDING;
	txn_begin(u);
	txn_put(u, &u->unit_reports[i], &r, sizeof(r));
	txn_put(u, &g->next, &g->live, sizeof(g->next));
	txn_put(u, &p->next, &p->live, sizeof(p->next));
	txn_commit(u);
}

void unit_report_move_on(struct units *u, uint32_t i)
{
	struct unit_report r = u->unit_reports[i];
	struct unit_gpu_use *g = &u->gpu_uses[i];
	struct unit_gpu_profile *p = &u->gpu_profiles[i];

	r.told = r.next;
	r.t0_ns = r.t1_ns;
	r.pending_peak_bytes = 0;
	r.marks &= ~(uint32_t)REPORT_PENDING;
	r.marks |= REPORT_TOLD;
	txn_begin(u);
	txn_put(u, &u->unit_reports[i], &r, sizeof(r));
	txn_put(u, &g->told, &g->next, sizeof(g->told));
	txn_put(u, &p->told, &p->next, sizeof(p->told));
	txn_commit(u);
}

void unit_report_mark(struct units *u, uint32_t i, uint32_t set, uint32_t clear)
{
	struct unit_report *r = &u->unit_reports[i];

	/* a store of one word is atomic */
	r->marks = (r->marks & ~clear) | set;
}

/* ---- keeping units and steps ----------------------------------------------------- */

void units_reporting(struct units *u, bool on)
{
	u->reporting = on;
}

void units_step_told(struct units *u, uint32_t i)
{
	u->steps_told[i] = u->step_serials[i];
}

bool units_step_is_told(const struct units *u, uint32_t i)
{
	return u->steps_told[i] == u->step_serials[i];
}

uint64_t units_left_untold(const struct units *u)
{
	return u->left_untold;
}

uint64_t units_alive_ns(const struct units *u)
{
	return u->h->alive_ns;
}

void units_set_alive(struct units *u, uint64_t now_boottime_ns)
{
	u->h->alive_ns = now_boottime_ns;
}

static uint64_t draw_instance(const struct units *u)
{
	uint64_t v = 0;

	if (getrandom(&v, sizeof(v), GRND_NONBLOCK) != (ssize_t)sizeof(v))
		v = store_mix(clock_realtime_ns(), u->next_serial);
	v &= INT64_MAX;
	return v ? v : 1;
}

void report_put_unit(struct units *u, uint32_t i)
{
	static const struct unit_gpu_use no_use;
	static const struct unit_gpu_profile no_profile;
	struct unit_report fresh = {.instance = draw_instance(u)};

	txn_put(u, &u->unit_reports[i], &fresh, sizeof(fresh));
	txn_put(u, &u->gpu_uses[i], &no_use, sizeof(no_use));
	txn_put(u, &u->gpu_profiles[i], &no_profile, sizeof(no_profile));
}

static bool is_untold(const struct units *u, uint32_t i)
{
	const struct unit_report *r = &u->unit_reports[i];

	return !(r->marks & REPORT_FINISHED) || (r->marks & REPORT_PENDING) ||
	       unit_report_grew(u, i);
}

bool report_is_owed(const struct units *u, uint32_t i, uint64_t gone_ms)
{
	return u->reporting && gone_ms < UNITS_REPORT_MS && is_untold(u, i);
}

/* Room for running steps comes first. */
bool report_step_is_owed(const struct units *u, uint32_t i)
{
	return u->reporting && !units_step_is_told(u, i) &&
	       u->steps_count < u->steps_capacity / 4 * 3;
}

void report_leaves(struct units *u, uint32_t i)
{
	if (u->reporting && is_untold(u, i))
		u->left_untold++;
}

bool report_is_sound(const struct units *u)
{
	for (uint32_t i = units_next(u, 0); i != UNITS_NONE; i = units_next(u, i + 1)) {
		const struct unit_report *r = &u->unit_reports[i];
		if (!r->instance || r->instance > INT64_MAX ||
		    r->energies > REPORT_ENERGIES_MAX)
			return false;
	}
	return true;
}
