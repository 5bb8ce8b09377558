/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What ring records mean for units and steps. Each change is one transaction of
 * units_store.c, so that a daemon killed at any instruction goes on with every record
 * applied exactly once. */
#include "daemon/units.h"

#include <errno.h>
#include <string.h>

#include "daemon/units_store.h"
#include "lib/clock.h"

/* ---- totals ---------------------------------------------------------------------- */

static uint64_t max_u64(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* v1 splits exact usage by a ratio that changes, so the larger of each of user and
 * system could add up to more than was used. As the kernel does in cputime_adjust():
 * the sum is exact, and what does not fit is taken from the other part. */
static void merge_cpu(struct unit_totals *t, uint64_t user_ns, uint64_t system_ns)
{
	uint64_t used = user_ns + system_ns;
	if (used <= t->cpu_user_ns + t->cpu_system_ns)
		return;
	uint64_t system = max_u64(system_ns, t->cpu_system_ns);
	uint64_t user = used - system;
	if (user < t->cpu_user_ns || system > used) {
		user = t->cpu_user_ns;
		system = used - user;
	}
	t->cpu_user_ns = user;
	t->cpu_system_ns = system;
}

static void merge_max(struct unit_totals *t, const struct unit_totals *r)
{
	merge_cpu(t, r->cpu_user_ns, r->cpu_system_ns);
	t->throttled_periods = max_u64(t->throttled_periods, r->throttled_periods);
	t->throttled_ns = max_u64(t->throttled_ns, r->throttled_ns);
	t->memory_fail_count = max_u64(t->memory_fail_count, r->memory_fail_count);
	t->oom_kills = max_u64(t->oom_kills, r->oom_kills);
	t->io_read_bytes = max_u64(t->io_read_bytes, r->io_read_bytes);
	t->io_write_bytes = max_u64(t->io_write_bytes, r->io_write_bytes);
	t->memory_peak_bytes = max_u64(t->memory_peak_bytes, r->memory_peak_bytes);
}

static void add(struct unit_totals *t, const struct unit_totals *r)
{
	t->cpu_user_ns += r->cpu_user_ns;
	t->cpu_system_ns += r->cpu_system_ns;
	t->throttled_periods += r->throttled_periods;
	t->throttled_ns += r->throttled_ns;
	t->memory_fail_count += r->memory_fail_count;
	t->oom_kills += r->oom_kills;
	t->io_read_bytes += r->io_read_bytes;
	t->io_write_bytes += r->io_write_bytes;
	t->memory_peak_bytes = max_u64(t->memory_peak_bytes, r->memory_peak_bytes);
}

/* t += after - before, where after is before merged with something */
static void add_growth(struct unit_totals *t, const struct unit_totals *before,
		       const struct unit_totals *after)
{
	struct unit_totals d = {
		after->cpu_user_ns - before->cpu_user_ns,
		after->cpu_system_ns - before->cpu_system_ns,
		after->throttled_periods - before->throttled_periods,
		after->throttled_ns - before->throttled_ns,
		after->memory_fail_count - before->memory_fail_count,
		after->oom_kills - before->oom_kills,
		after->io_read_bytes - before->io_read_bytes,
		after->io_write_bytes - before->io_write_bytes,
		after->memory_peak_bytes,
	};
	add(t, &d);
}

static struct unit_totals totals_of(const struct record_counters *c)
{
	struct unit_totals t = {0};
	if (c->source == COUNTERS_NONE)
		return t;
	t.cpu_user_ns = c->cpu_user_ns;
	t.cpu_system_ns = c->cpu_system_ns;
	t.oom_kills = c->oom_kills;
	if (c->has_memory)
		t.memory_peak_bytes = c->memory_peak_bytes;
	if (c->has_io) {
		t.io_read_bytes = c->io_read_bytes;
		t.io_write_bytes = c->io_write_bytes;
	}
	return t;
}

void unit_total(const struct units *u, uint32_t i, struct unit_totals *ret)
{
	struct unit_totals t = u->units[i].folded;
	for (uint32_t s = u->units[i].first_step; s != UNITS_NONE; s = u->steps[s].next)
		add(&t, &u->steps[s].totals);
	*ret = t;
}

const struct node_totals *units_node_counts(const struct units *u, uint32_t manager)
{
	return &u->h->node[manager < STORE_MANAGERS ? manager : 0];
}

void units_node_totals(const struct units *u, uint32_t manager, struct node_totals *ret)
{
	struct node_totals n = *units_node_counts(u, manager);
	for (uint32_t i = units_next(u, 0); i != UNITS_NONE; i = units_next(u, i + 1)) {
		struct unit_totals t;
		if (u->units[i].manager != manager)
			continue;
		unit_total(u, i, &t);
		add(&n.units, &t);
	}
	*ret = n;
}

/* ---- tombstones ------------------------------------------------------------------ */

/* The process that ran the step tells the runs of a job apart, which its restart count
 * does not (run_of() below). 0: a step known from its directory only. */
static uint64_t tomb_key(const struct unit *unit, uint32_t step, uint32_t stepd_pid)
{
	uint64_t h = store_key(unit->manager, unit->node, unit->id);
	h = store_mix(store_mix(h, stepd_pid), step);
	return h ? h : 1;
}

/* Within a transaction; tomb_put_done() follows its commit. */
static void tomb_put(struct units *u, uint64_t key, const struct unit_totals *t)
{
	struct tomb tomb = {key, *t};
	uint32_t at = u->h->tomb_next % STORE_TOMBS, next = (at + 1) % STORE_TOMBS;
	store_tomb_index(u, at, false);
	txn_put(u, &u->tombs[at], &tomb, sizeof(tomb));
	txn_put(u, &u->h->tomb_next, &next, sizeof(next));
}

static void tomb_put_done(struct units *u)
{
	store_tomb_index(u, (u->h->tomb_next + STORE_TOMBS - 1) % STORE_TOMBS, true);
}

/* ---- leaving the table ----------------------------------------------------------- */

/* Will no further stop record come? */
static bool settled(const struct step *s)
{
	return s->state == UNIT_ENDED && (s->flags & RECORD_LAST);
}

static void fold_step(struct units *u, uint32_t i)
{
	const struct step *s = &u->steps[i];
	struct unit *unit = &u->units[s->unit];
	struct unit_totals folded = unit->folded;
	uint32_t state = UNIT_FREE;
	bool tomb = !settled(s);

	add(&folded, &s->totals);
	txn_begin(u);
	txn_put(u, &unit->folded, &folded, sizeof(folded));
	if (tomb)
		tomb_put(u, tomb_key(unit, s->step, s->stepd_pid), &s->totals);
	if (u->step_prev[i])
		txn_put(u, &u->steps[u->step_prev[i] - 1].next, &s->next,
			sizeof(s->next));
	else
		txn_put(u, &unit->first_step, &s->next, sizeof(s->next));
	txn_put(u, &u->steps[i].state, &state, sizeof(state));
	txn_commit(u);
	if (tomb)
		tomb_put_done(u);
	store_step_drop(u, i);
}

static enum unit_end end_of(const struct unit *unit, const struct unit_totals *t)
{
	if (t->oom_kills)
		return UNIT_END_OOM;
	if (unit->marks & UNIT_FAILED)
		return UNIT_END_FAILED;
	if (unit->steps_lost)
		return UNIT_END_LOST;
	return UNIT_END_COMPLETED;
}

static void fold_unit(struct units *u, uint32_t i, bool early)
{
	struct unit *unit = &u->units[i];
	uint32_t state = UNIT_FREE;

	while (unit->first_step != UNITS_NONE)
		fold_step(u, unit->first_step);
	struct node_totals *node = &u->h->node[unit->manager], n = *node;
	add(&n.units, &unit->folded);
	if (!(unit->marks & UNIT_COUNTED))
		n.ended[unit->end]++;
	if (early) {
		n.short_units++;
		add(&n.short_totals, &unit->folded);
	}
	txn_begin(u);
	txn_put(u, node, &n, sizeof(n));
	txn_put(u, &unit->state, &state, sizeof(state));
	txn_commit(u);
	store_unit_drop(u, i);
}

/* ---- a working copy of what a record touches ------------------------------------- */

struct work {
	struct units *u;
	const struct record *r;
	uint64_t pos, boottime_ns, realtime_ns;
	struct unit_totals counters; /* of the record */
	uint32_t ui, si;             /* slots, UNITS_NONE: none */
	bool unit_new, step_new, rekeyed;
	struct unit unit;
	struct step step;
	struct node_totals node;
};

/* Again, after something else has changed the node's totals */
static void load_node(struct work *w)
{
	w->node = w->u->h->node[w->r->manager];
	w->node.records += w->pos != UINT64_MAX;
}

static void put_pos(struct work *w)
{
	if (w->pos != UINT64_MAX)
		txn_put(w->u, &w->u->h->ring_pos, &w->pos, sizeof(w->pos));
}

static void relink(struct links *l, uint32_t i, bool was, bool is)
{
	if (is && !was)
		links_append(l, i);
	else if (was && !is)
		links_remove(l, i);
}

static void commit(struct work *w)
{
	struct units *u = w->u;
	bool unit_was_ended = false, step_was_ended = false;

	if (w->ui != UNITS_NONE && !w->unit_new) {
		unit_was_ended = u->units[w->ui].state == UNIT_ENDED;
		if ((u->units[w->ui].marks & ~w->unit.marks) & UNIT_DISCOVERED)
			u->discovered--;
		if (w->rekeyed)
			store_unit_index(u, w->ui, false);
	}
	if (w->si != UNITS_NONE && !w->step_new) {
		step_was_ended = u->steps[w->si].state == UNIT_ENDED;
		store_step_index(u, w->si, false);
	}
	txn_begin(u);
	if (w->ui != UNITS_NONE)
		txn_put(u, &u->units[w->ui], &w->unit, sizeof(w->unit));
	if (w->si != UNITS_NONE)
		txn_put(u, &u->steps[w->si], &w->step, sizeof(w->step));
	txn_put(u, &u->h->node[w->r->manager], &w->node, sizeof(w->node));
	put_pos(w);
	txn_commit(u);

	if (w->ui != UNITS_NONE) {
		if (w->unit_new)
			store_unit_take(u, w->ui);
		else if (w->rekeyed)
			store_unit_index(u, w->ui, true);
		relink(&u->units_ended, w->ui, unit_was_ended,
		       w->unit.state == UNIT_ENDED);
	}
	if (w->si != UNITS_NONE) {
		if (w->step_new)
			store_step_take(u, w->si);
		else
			store_step_index(u, w->si, true);
		relink(&u->steps_ended, w->si, step_was_ended,
		       w->step.state == UNIT_ENDED);
	}
}

/* Clears the end of a unit that goes on, or ends one that has nothing left to wait for.
 * `t` is the unit's total as far as known. */
static void settle_unit(struct work *w, uint64_t realtime_ns, uint64_t boottime_ns)
{
	struct unit *unit = &w->unit;
	if (unit->steps_running || (unit->marks & UNIT_ANCHORED)) {
		if (unit->state == UNIT_ENDED) {
			unit->state = UNIT_RUNNING;
			unit->end = UNIT_END_NONE;
			unit->ended_realtime_ns = unit->ended_boottime_ns = 0;
			unit->left_boottime_ns = 0;
		}
		return;
	}
	struct unit_totals t = {0};
	if (!w->unit_new)
		unit_total(w->u, w->ui, &t);
	t.oom_kills = max_u64(t.oom_kills, w->step.totals.oom_kills);
	unit->end = end_of(unit, &t);
	if (unit->state != UNIT_ENDED) {
		unit->state = UNIT_ENDED;
		unit->ended_realtime_ns = realtime_ns;
		unit->ended_boottime_ns = boottime_ns;
		unit->left_boottime_ns = w->boottime_ns;
	}
	if ((unit->marks & UNIT_DEFINITE) && !(unit->marks & UNIT_COUNTED)) {
		unit->marks |= UNIT_COUNTED;
		w->node.ended[unit->end]++;
	}
}

static void end_step(struct work *w, uint64_t boottime_ns)
{
	if (w->step.state == UNIT_ENDED)
		return;
	w->step.state = UNIT_ENDED;
	w->step.ended_boottime_ns = boottime_ns;
	w->step.left_boottime_ns = w->boottime_ns;
	if (w->unit.steps_running)
		w->unit.steps_running--;
	if (w->step.lost != STEP_REVIVED)
		w->node.steps_ended++;
}

static struct work load(struct units *u, const struct record *r, uint32_t ui,
			uint32_t si, uint64_t boottime_ns, uint64_t realtime_ns)
{
	struct work w = {.u = u,
			 .r = r,
			 .pos = UINT64_MAX,
			 .boottime_ns = boottime_ns,
			 .realtime_ns = realtime_ns,
			 .ui = ui,
			 .si = si};
	if (ui != UNITS_NONE)
		w.unit = u->units[ui];
	if (si != UNITS_NONE)
		w.step = u->steps[si];
	w.node = u->h->node[r->manager];
	return w;
}

/* ---- changes that no record brings ----------------------------------------------- */

void units_step_reading(struct units *u, uint32_t step,
			const struct unit_totals *reading)
{
	/* Plain stores: each only grows, so that death between two of them leaves a
	 * sum that is too small at most, which the next reading mends. */
	merge_max(&u->steps[step].totals, reading);
}

void units_step_lost(struct units *u, uint32_t step, uint64_t now_boottime_ns,
		     uint64_t now_realtime_ns)
{
	uint32_t ui = u->steps[step].unit;
	struct record r = {.manager = (uint8_t)u->units[ui].manager};
	struct work w = load(u, &r, ui, step, now_boottime_ns, now_realtime_ns);
	if (w.step.state != UNIT_RUNNING)
		return;
	uint64_t when =
		w.step.gone_boottime_ns ? w.step.gone_boottime_ns : now_boottime_ns;
	end_step(&w, when);
	w.step.lost = STEP_LOST;
	w.unit.steps_lost++;
	if (w.step.step == RECORD_STEP_EXTERN)
		w.unit.marks &= ~(uint32_t)UNIT_ANCHORED;
	settle_unit(&w, now_realtime_ns, when);
	commit(&w);
}

static void drop_anchor(struct units *u, uint32_t i, uint64_t now_boottime_ns,
			uint64_t now_realtime_ns)
{
	struct record r = {.manager = (uint8_t)u->units[i].manager};
	struct work w = load(u, &r, i, UNITS_NONE, now_boottime_ns, now_realtime_ns);
	w.unit.marks &= ~(uint32_t)UNIT_ANCHORED;
	settle_unit(&w, now_realtime_ns, now_boottime_ns);
	commit(&w);
}

void units_drop_anchors(struct units *u, uint64_t now_boottime_ns,
			uint64_t now_realtime_ns)
{
	for (uint32_t i = units_next(u, 0); i != UNITS_NONE; i = units_next(u, i + 1)) {
		if (u->units[i].state == UNIT_RUNNING &&
		    (u->units[i].marks & UNIT_ANCHORED) && !u->units[i].steps_running &&
		    u->units[i].steps_started)
			drop_anchor(u, i, now_boottime_ns, now_realtime_ns);
	}
}

/* The job was requeued: nothing of its earlier run lives any more. */
static void end_unit(struct units *u, uint32_t i, uint64_t now_boottime_ns,
		     uint64_t now_realtime_ns)
{
	for (uint32_t s = u->units[i].first_step; s != UNITS_NONE; s = u->steps[s].next)
		units_step_lost(u, s, now_boottime_ns, now_realtime_ns);
	if (u->units[i].state == UNIT_RUNNING)
		drop_anchor(u, i, now_boottime_ns, now_realtime_ns);
}

static void end_older_runs(struct units *u, const struct record *r,
			   uint64_t now_boottime_ns, uint64_t now_realtime_ns)
{
	uint32_t newest = units_find_newest(u, r->manager, r->node, r->unit);
	if (newest == UNITS_NONE || u->units[newest].restarts >= r->restarts ||
	    u->units[newest].state != UNIT_RUNNING ||
	    (u->units[newest].marks & UNIT_DISCOVERED))
		return;
	end_unit(u, newest, now_boottime_ns, now_realtime_ns);
}

/* ---- expiry ---------------------------------------------------------------------- */

static uint64_t since(uint64_t now, uint64_t then)
{
	return now > then ? now - then : 0;
}

static uint64_t lived_ns(const struct unit *unit, uint64_t now_boottime_ns)
{
	return since(unit->state == UNIT_ENDED ? unit->ended_boottime_ns
					       : now_boottime_ns,
		     unit->started_boottime_ns);
}

bool units_exported(const struct units *u, uint32_t i, uint64_t now_boottime_ns,
		    const struct units_policy *policy)
{
	return lived_ns(&u->units[i], now_boottime_ns) >=
	       policy->min_export_ms * NSEC_PER_MSEC;
}

static bool all_settled(const struct units *u, const struct unit *unit)
{
	for (uint32_t s = unit->first_step; s != UNITS_NONE; s = u->steps[s].next) {
		if (!settled(&u->steps[s]))
			return false;
	}
	return true;
}

static void count_end(struct units *u, uint32_t i)
{
	struct unit *unit = &u->units[i];
	struct node_totals *node = &u->h->node[unit->manager], n = *node;
	uint32_t marks = unit->marks | UNIT_COUNTED;
	n.ended[unit->end]++;
	txn_begin(u);
	txn_put(u, node, &n, sizeof(n));
	txn_put(u, &unit->marks, &marks, sizeof(marks));
	txn_commit(u);
}

static void expire_unit(struct units *u, uint32_t i, uint64_t now,
			const struct units_policy *policy)
{
	const struct unit *unit = &u->units[i];
	uint64_t gone_ms = since(now, unit->left_boottime_ns) / NSEC_PER_MSEC;
	bool is_short = !units_exported(u, i, now, policy);
	bool final = (unit->marks & UNIT_DEFINITE) || gone_ms >= UNITS_GRACE_MS;

	if (final && !(unit->marks & UNIT_COUNTED))
		count_end(u, i);
	if (gone_ms < policy->linger_ms && !(is_short && final))
		return;
	if (gone_ms >= UNITS_LATE_MS || (final && all_settled(u, unit)))
		fold_unit(u, i, is_short);
}

void units_expire(struct units *u, uint64_t now_boottime_ns,
		  const struct units_policy *policy)
{
	uint32_t next;
	for (uint32_t i = links_first(&u->units_ended); i != UNITS_NONE; i = next) {
		next = links_after(&u->units_ended, i);
		expire_unit(u, i, now_boottime_ns, policy);
	}
	while (u->units_count > policy->max_exported &&
	       (next = links_first(&u->units_ended)) != UNITS_NONE)
		fold_unit(u, next,
			  since(now_boottime_ns, u->units[next].left_boottime_ns) <
				  policy->linger_ms * NSEC_PER_MSEC);
	for (uint32_t i = links_first(&u->steps_ended); i != UNITS_NONE; i = next) {
		const struct step *s = &u->steps[i];
		uint64_t gone_ms =
			since(now_boottime_ns, s->left_boottime_ns) / NSEC_PER_MSEC;
		next = links_after(&u->steps_ended, i);
		if (gone_ms < policy->linger_ms)
			break; /* in the order in which they ended */
		if (gone_ms >= UNITS_LATE_MS || settled(s))
			fold_step(u, i);
	}
}

/* ---- a record -------------------------------------------------------------------- */

static void keep_first(char *dst, const char *src, size_t size)
{
	if (!*dst)
		memcpy(dst, src, size);
}

static void describe_unit(struct unit *unit, const struct record *r)
{
	if (r->uid || r->gid || !unit->uid) {
		unit->uid = r->uid;
		unit->gid = r->gid;
	}
	if (r->array_job != RECORD_NO_VAL) {
		unit->array_job = r->array_job;
		unit->array_task = r->array_task;
	}
	if (r->cpus)
		unit->cpus = r->cpus;
	if (r->memory_bytes)
		unit->memory_bytes = r->memory_bytes;
	/* A batch step and the job itself know all of the job's GPUs, a numbered step
	 * those of its own; without the former the first word counts. */
	bool whole = r->step == RECORD_STEP_BATCH ||
		     r->step == RECORD_STEP_INTERACTIVE || r->type == RECORD_UNIT_START;
	if (*r->gpus && (r->flags & RECORD_GPUS_TRUSTED) && (whole || !*unit->gpus)) {
		memcpy(unit->gpus, r->gpus, sizeof(unit->gpus));
		memcpy(unit->gpu_share, r->gpu_share, sizeof(unit->gpu_share));
	}
	unit->flags |= r->flags;
	/* Hints: the first is kept, since later ones have been in the user's hands for
	 * longer. */
	keep_first(unit->name, r->name, sizeof(unit->name));
	keep_first(unit->account, r->account, sizeof(unit->account));
	keep_first(unit->partition, r->partition, sizeof(unit->partition));
	keep_first(unit->sluid, r->sluid, sizeof(unit->sluid));
}

static void describe_step(struct step *s, const struct record *r)
{
	if (r->stepd_pid)
		s->stepd_pid = r->stepd_pid;
	if (r->tasks)
		s->tasks = r->tasks;
	if (r->step_cpus)
		s->cpus = r->step_cpus;
	s->flags |= r->flags;
	if (r->cgroup_count) {
		s->cgroup_count = r->cgroup_count;
		memcpy(s->cgroups, r->cgroups, sizeof(s->cgroups));
	}
}

/* Runs of one job that are looked at for a record's step */
#define RUNS_MAX 16

/* The slurmstepd of unit's step as r numbers it, 0: not in the table or not known */
static uint32_t stepd_of(const struct units *u, uint32_t unit, const struct record *r)
{
	uint32_t i = unit == UNITS_NONE ? UNITS_NONE : steps_find(u, unit, r->step);
	return i == UNITS_NONE ? 0 : u->steps[i].stepd_pid;
}

/* A job's prolog and epilog are the first and the last news of a run. */
static uint32_t run_of_job(const struct unit *newest, const struct record *r)
{
	bool over = newest->state == UNIT_ENDED && (newest->marks & UNIT_DEFINITE);
	if (r->type == RECORD_UNIT_STOP)
		return newest->restarts;
	if (r->type != RECORD_UNIT_START)
		return r->restarts;
	return newest->restarts + over;
}

/* The restart count that r belongs to. In the slurmstepd of 22.05 and 24.11 it is 0
 * whichever run it is, so what a record says is only the least that it can be. Within a
 * run no step id comes twice, and a step has one slurmstepd: another one under the same
 * id means that the job was requeued and began again. */
static uint32_t run_of(const struct units *u, const struct record *r)
{
	uint32_t newest = units_find_newest(u, r->manager, r->node, r->unit);
	if (newest == UNITS_NONE || (u->units[newest].marks & UNIT_DISCOVERED) ||
	    u->units[newest].restarts < r->restarts)
		return r->restarts;
	if (!r->stepd_pid)
		return run_of_job(&u->units[newest], r);
	uint32_t run = u->units[newest].restarts, last = run;
	for (unsigned i = 0; i < RUNS_MAX; i++, run--) {
		uint32_t unit = units_find(u, r->manager, r->node, r->unit, run);
		if (stepd_of(u, unit, r) == r->stepd_pid)
			return run; /* late news of a run that is over, most often not
				     */
		if (run == r->restarts)
			break;
	}
	return last + (stepd_of(u, newest, r) != 0);
}

/* A discovered unit's id or restart count was a guess; is it the one r speaks of? */
static uint32_t find_guessed(const struct units *u, const struct record *r)
{
	if (!u->discovered)
		return UNITS_NONE;
	uint32_t i = units_find_newest(u, r->manager, r->node, r->unit);
	if (i != UNITS_NONE && (u->units[i].marks & UNIT_DISCOVERED))
		return i;
	/* Slurm 26.05 names the directory by SLUID: the same directory, the same job */
	for (uint32_t c = 0; c < r->cgroup_count; c++) {
		char job[RECORD_CGROUP_MAX];
		memcpy(job, r->cgroups[c].path, sizeof(job));
		char *slash = strrchr(job, '/');
		if (!slash)
			continue;
		*slash = '\0';
		uint32_t s = steps_find_job_path(u, job);
		if (s != UNITS_NONE &&
		    (u->units[u->steps[s].unit].marks & UNIT_DISCOVERED))
			return u->steps[s].unit;
	}
	return UNITS_NONE;
}

static uint32_t find_unit(const struct work *w, bool synthetic)
{
	const struct units *u = w->u;
	const struct record *r = w->r;
	if (synthetic) {
		/* A directory does not tell the restart count: its newest run */
		return units_find_newest(u, r->manager, r->node, r->unit);
	}
	uint32_t i = units_find(u, r->manager, r->node, r->unit, r->restarts);
	return i != UNITS_NONE ? i : find_guessed(u, r);
}

/* The unit that r speaks of, in the working copy; made when missing. False: no room. */
static bool take_unit(struct work *w, bool synthetic)
{
	const struct record *r = w->r;
	struct units *u = w->u;

	w->ui = find_unit(w, synthetic);
	if (w->ui != UNITS_NONE) {
		w->unit = u->units[w->ui];
		if (!synthetic && (w->unit.marks & UNIT_DISCOVERED)) {
			w->unit.marks &= ~(uint32_t)UNIT_DISCOVERED;
			w->unit.restarts = r->restarts;
			w->rekeyed = strcmp(w->unit.id, r->unit) != 0 ||
				     strcmp(w->unit.node, r->node) != 0;
			memcpy(w->unit.id, r->unit, sizeof(w->unit.id));
			memcpy(w->unit.node, r->node, sizeof(w->unit.node));
		}
		return true;
	}
	w->ui = store_unit_free(u);
	if (w->ui == UNITS_NONE) {
		uint32_t oldest = links_first(&u->units_ended);
		if (oldest == UNITS_NONE)
			return false;
		fold_unit(u, oldest, true);
		load_node(w);
		w->ui = store_unit_free(u);
		if (w->ui == UNITS_NONE)
			return false;
	}
	w->unit_new = true;
	struct unit *unit = &w->unit;
	*unit = (struct unit){.state = UNIT_RUNNING,
			      .manager = r->manager,
			      .restarts = r->restarts,
			      .array_job = RECORD_NO_VAL,
			      .array_task = RECORD_NO_VAL,
			      .first_step = UNITS_NONE,
			      .marks = synthetic ? UNIT_DISCOVERED : 0,
			      .started_realtime_ns = r->realtime_ns,
			      .started_boottime_ns = r->boottime_ns};
	memcpy(unit->id, r->unit, sizeof(unit->id));
	memcpy(unit->node, r->node, sizeof(unit->node));
	w->node.started++;
	return true;
}

static bool take_step(struct work *w, bool synthetic)
{
	const struct record *r = w->r;
	struct units *u = w->u;

	w->si = w->unit_new ? UNITS_NONE : steps_find(u, w->ui, r->step);
	if (w->si != UNITS_NONE) {
		w->step = u->steps[w->si];
		return true;
	}
	w->si = store_step_free(u);
	if (w->si == UNITS_NONE) {
		uint32_t oldest = links_first(&u->steps_ended);
		if (oldest == UNITS_NONE)
			return false;
		bool ours = !w->unit_new && u->steps[oldest].unit == w->ui;
		fold_step(u, oldest);
		if (ours) { /* the copy must not bring the old list back */
			w->unit.folded = u->units[w->ui].folded;
			w->unit.first_step = u->units[w->ui].first_step;
		}
		w->si = store_step_free(u);
		if (w->si == UNITS_NONE)
			return false;
	}
	w->step_new = true;
	w->step = (struct step){.state = UNIT_RUNNING,
				.unit = w->ui,
				.next = w->unit.first_step,
				.step = r->step,
				.discovered = synthetic,
				.started_boottime_ns = r->boottime_ns};
	w->unit.first_step = w->si;
	w->unit.steps_running++;
	w->unit.steps_started++;
	w->node.steps_started++;
	return true;
}

/* No room: a start is repaired by its stop, and a stop's counters go to the node at
 * once. A second stop of it must not count twice, hence the tombstone. */
static int refuse(struct work *w, struct err *err)
{
	struct units *u = w->u;
	struct unit who = {.manager = w->r->manager};
	memcpy(who.id, w->r->unit, sizeof(who.id));
	memcpy(who.node, w->r->node, sizeof(who.node));

	load_node(w);
	w->node.refused++;
	bool stop = w->r->type == RECORD_STEP_STOP;
	bool tomb = stop && !(w->r->flags & RECORD_LAST);
	if (stop)
		add(&w->node.units, &w->counters);
	txn_begin(u);
	txn_put(u, &u->h->node[w->r->manager], &w->node, sizeof(w->node));
	if (tomb)
		tomb_put(u, tomb_key(&who, w->r->step, w->r->stepd_pid), &w->counters);
	put_pos(w);
	txn_commit(u);
	if (tomb)
		tomb_put_done(u);
	return err_set(err, -ENOSPC,
		       "unit table full (%u units, %u steps, all running)",
		       u->units_count, u->steps_count);
}

static struct tomb *find_tomb(const struct work *w)
{
	const struct record *r = w->r;
	struct unit who = {.manager = r->manager};
	if (!w->u->by_tomb.used)
		return NULL;
	memcpy(who.id, r->unit, sizeof(who.id));
	memcpy(who.node, r->node, sizeof(who.node));
	struct tomb *t = store_tomb_find(w->u, tomb_key(&who, r->step, r->stepd_pid));
	return t || !r->stepd_pid ? t
				  : store_tomb_find(w->u, tomb_key(&who, r->step, 0));
}

/* A further record of a step that has left the table: only what its counters grew by
 * counts. */
static bool late_record(struct work *w)
{
	struct units *u = w->u;
	const struct record *r = w->r;
	struct tomb *tomb = find_tomb(w);
	if (!tomb)
		return false;

	struct tomb t = *tomb;
	merge_max(&t.totals, &w->counters);
	uint32_t ui = units_find(u, r->manager, r->node, r->unit, r->restarts);
	w->node.stops_late++;
	txn_begin(u);
	if (ui != UNITS_NONE) {
		struct unit_totals folded = u->units[ui].folded;
		add_growth(&folded, &tomb->totals, &t.totals);
		txn_put(u, &u->units[ui].folded, &folded, sizeof(folded));
	} else {
		add_growth(&w->node.units, &tomb->totals, &t.totals);
	}
	txn_put(u, tomb, &t, sizeof(t));
	txn_put(u, &u->h->node[r->manager], &w->node, sizeof(w->node));
	put_pos(w);
	txn_commit(u);
	return true;
}

static bool step_in_table(const struct work *w)
{
	uint32_t ui = find_unit(w, false);
	return ui != UNITS_NONE && steps_find(w->u, ui, w->r->step) != UNITS_NONE;
}

static int apply_start(struct work *w, bool synthetic, struct err *err)
{
	const struct record *r = w->r;
	if (!synthetic && !step_in_table(w) && late_record(w))
		return 0;
	if (!take_unit(w, synthetic) || !take_step(w, synthetic))
		return refuse(w, err);
	describe_unit(&w->unit, r);
	describe_step(&w->step, r);
	if (r->step == RECORD_STEP_EXTERN)
		w->unit.marks |= UNIT_DEFINITE;
	if (!synthetic)
		w->step.discovered = 0;
	/* A step that was given up comes back to life; an older start of one that
	 * ended does not. */
	if (w->step.state == UNIT_ENDED && w->step.lost == STEP_LOST &&
	    r->boottime_ns > w->step.ended_boottime_ns) {
		w->step.state = UNIT_RUNNING;
		w->step.lost = STEP_REVIVED;
		w->step.gone_boottime_ns = w->step.ended_boottime_ns = 0;
		w->unit.steps_lost--;
		w->unit.steps_running++;
	}
	settle_unit(w, r->realtime_ns, r->boottime_ns);
	commit(w);
	return 0;
}

static int apply_stop(struct work *w, struct err *err)
{
	const struct record *r = w->r;
	if (!step_in_table(w) && late_record(w))
		return 0;
	if (!take_unit(w, false) || !take_step(w, false))
		return refuse(w, err);
	if (w->step_new)
		w->node.stops_late++;
	describe_unit(&w->unit, r);
	describe_step(&w->step, r);
	merge_max(&w->step.totals, &w->counters);
	if (w->step.lost == STEP_LOST) {
		w->step.lost = STEP_REVIVED;
		w->unit.steps_lost--;
		w->step.ended_boottime_ns = r->boottime_ns;
	}
	if (r->exit_status)
		w->step.exit_status = r->exit_status;
	end_step(w, r->boottime_ns);
	if (r->step == RECORD_STEP_EXTERN) {
		/* It outlives all other steps, and its own tasks are only killed. */
		w->unit.marks |= UNIT_DEFINITE;
		w->unit.marks &= ~(uint32_t)UNIT_ANCHORED;
	} else if (w->step.exit_status) {
		w->unit.marks |= UNIT_FAILED;
	}
	settle_unit(w, r->realtime_ns, r->boottime_ns);
	commit(w);
	return 0;
}

static int apply_unit(struct work *w, struct err *err)
{
	const struct record *r = w->r;
	bool start = r->type == RECORD_UNIT_START;
	w->si = UNITS_NONE;
	if (!start && find_unit(w, false) == UNITS_NONE) {
		w->ui = UNITS_NONE; /* ended and gone already */
		w->node.stops_late++;
		commit(w);
		return 0;
	}
	if (!take_unit(w, false))
		return refuse(w, err);
	describe_unit(&w->unit, r);
	w->unit.marks |= UNIT_DEFINITE;
	if (start)
		w->unit.marks |= UNIT_ANCHORED;
	else
		w->unit.marks &= ~(uint32_t)UNIT_ANCHORED;
	settle_unit(w, r->realtime_ns, r->boottime_ns);
	commit(w);
	return 0;
}

static int bad(struct units *u, const struct record *r, uint64_t pos, struct err *err,
	       const char *why)
{
	struct node_totals *node =
		&u->h->node[r->manager < STORE_MANAGERS ? r->manager : 0];
	struct node_totals n = *node;
	n.records++;
	n.records_bad++;
	txn_begin(u);
	txn_put(u, node, &n, sizeof(n));
	if (pos != UINT64_MAX)
		txn_put(u, &u->h->ring_pos, &pos, sizeof(pos));
	txn_commit(u);
	return err_set(err, -EPROTO, "%s", why);
}

int units_apply(struct units *u, const struct record *r, uint64_t pos,
		uint64_t now_boottime_ns, uint64_t now_realtime_ns, struct err *err)
{
	uint64_t last = u->h->ring_pos;
	if (pos != UINT64_MAX && last != UINT64_MAX && pos <= last)
		return -EEXIST;
	if (r->manager < MANAGER_SLURM || r->manager > MANAGER_K8S)
		return bad(u, r, pos, err, "record of an unknown manager");
	if (r->type != RECORD_HELLO && !*r->unit)
		return bad(u, r, pos, err, "record without a unit id");

	/* A record from before a suspended clock or from the future is taken as now. */
	struct record copy;
	if (r->boottime_ns > now_boottime_ns || !r->boottime_ns) {
		copy = *r;
		copy.boottime_ns = now_boottime_ns;
		r = &copy;
	}
	bool synthetic = pos == UINT64_MAX;
	uint32_t run = synthetic ? r->restarts : run_of(u, r);
	if (run != r->restarts) {
		if (r != &copy)
			copy = *r;
		copy.restarts = run;
		r = &copy;
	}
	if (!synthetic &&
	    (r->type == RECORD_STEP_START || r->type == RECORD_UNIT_START))
		end_older_runs(u, r, now_boottime_ns, now_realtime_ns);
	struct work w =
		load(u, r, UNITS_NONE, UNITS_NONE, now_boottime_ns, now_realtime_ns);
	w.pos = pos;
	if (r->type == RECORD_STEP_STOP)
		w.counters = totals_of(&r->counters);
	load_node(&w);
	switch (r->type) {
	case RECORD_UNIT_START:
	case RECORD_UNIT_STOP:
		return apply_unit(&w, err);
	case RECORD_STEP_START:
		return apply_start(&w, synthetic, err);
	case RECORD_STEP_STOP:
		return apply_stop(&w, err);
	case RECORD_HELLO:
		commit(&w);
		return 0;
	default:
		return bad(u, r, pos, err, "record of an unknown type");
	}
}

uint64_t units_ring_pos(const struct units *u)
{
	return u->h->ring_pos;
}

void units_set_ring(struct units *u, uint64_t ring_id)
{
	uint64_t none = UINT64_MAX;
	if (u->h->ring_id == ring_id)
		return;
	txn_begin(u);
	txn_put(u, &u->h->ring_id, &ring_id, sizeof(ring_id));
	txn_put(u, &u->h->ring_pos, &none, sizeof(none));
	txn_commit(u);
}

/* Only for directories without a record, which are few: no look-up table. */
uint32_t steps_find_job_path(const struct units *u, const char *path)
{
	size_t len = strlen(path);
	for (uint32_t i = steps_next(u, 0); i != UNITS_NONE; i = steps_next(u, i + 1)) {
		const struct step *s = &u->steps[i];
		for (uint32_t c = 0; c < s->cgroup_count; c++) {
			const char *p = s->cgroups[c].path;
			if (strncmp(p, path, len) == 0 && p[len] == '/' &&
			    !strchr(p + len + 1, '/'))
				return i;
		}
	}
	return UNITS_NONE;
}
