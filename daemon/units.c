/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The effect of ring records on units and steps. Each change is one transaction of
 * units_store.c, so that after a daemon is killed at any instruction each record has
 * been applied exactly once. */
#include "daemon/units.h"

#include <errno.h>
#include <string.h>

#include "daemon/units_expire.h"
#include "daemon/units_find.h"
#include "daemon/units_report.h"
#include "daemon/units_totals.h"
#include "daemon/units_transaction.h"
#include "lib/cgroup.h"
#include "lib/clock.h"

static void keep_first(char *dst, const char *src, size_t size)
{
	if (!*dst)
		memcpy(dst, src, size);
}

/* A job can forge the SLUID in its environment, but not its control group's name. */
static void take_sluid(struct unit *unit, const struct record *r)
{
	char sluid[CGROUP_SLUID_SIZE];

	if (unit->marks & UNIT_SLUID)
		return;
	for (uint32_t c = 0; c < r->cgroup_count; c++) {
		if (!cgroup_job_sluid(r->cgroups[c].path, sluid))
			continue;
		memcpy(unit->sluid, sluid, sizeof(sluid));
		unit->marks |= UNIT_SLUID;
		return;
	}
	keep_first(unit->sluid, r->sluid, sizeof(unit->sluid));
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
	 * its own; without the former the first value counts. */
	bool whole = r->step == RECORD_STEP_BATCH ||
		     r->step == RECORD_STEP_INTERACTIVE || r->type == RECORD_UNIT_START;
	if (*r->gpus && (r->flags & RECORD_GPUS_TRUSTED) && (whole || !*unit->gpus)) {
		memcpy(unit->gpus, r->gpus, sizeof(unit->gpus));
		memcpy(unit->gpu_share, r->gpu_share, sizeof(unit->gpu_share));
	}
	unit->flags |= r->flags;
	/* Hints: keep the first, since later ones have been in the user's hands for
	 * longer. */
	if (unit->het_job == RECORD_NO_VAL)
		unit->het_job = r->het_job;
	keep_first(unit->name, r->name, sizeof(unit->name));
	keep_first(unit->account, r->account, sizeof(unit->account));
	keep_first(unit->partition, r->partition, sizeof(unit->partition));
	take_sluid(unit, r);
}

static void describe_step(struct units_transaction *w)
{
	const struct record *r = w->r;
	struct step *s = &w->step;
	if (r->stepd_pid)
		s->stepd_pid = r->stepd_pid;
	if (r->tasks)
		s->tasks = r->tasks;
	if (r->step_cpus)
		s->cpus = r->step_cpus;
	s->flags |= r->flags & ((1u << STEP_PROFILE_SHIFT) - 1);
	if (r->profile_hz && !step_profile_hz(s) &&
	    r->profile_hz <= UINT32_MAX >> STEP_PROFILE_SHIFT)
		s->flags |= r->profile_hz << STEP_PROFILE_SHIFT;
	if (r->cgroup_count) {
		s->cgroup_count = r->cgroup_count;
		memcpy(s->cgroups, r->cgroups, sizeof(s->cgroups));
	}
	if (*r->command && !*w->name.command) {
		w->named = true;
		memcpy(w->name.command, r->command, sizeof(w->name.command));
		if (strcmp(r->name, r->command) != 0)
			memcpy(w->name.label, r->name, sizeof(w->name.label));
	}
}

/* An adapter found it: its control group had counted before. */
static bool was_running(const struct record *r)
{
	return r->type == RECORD_STEP_START && r->flags & RECORD_RUNNING;
}

/* Finds or creates r's unit, in the working copy. False: no room. */
static bool take_record_unit(struct units_transaction *w, bool synthetic)
{
	const struct record *r = w->r;
	struct units *u = w->u;

	w->ui = find_unit_of(w->u, w->r, synthetic);
	if (w->ui != UNITS_NONE) {
		w->unit = *units_get(u, w->ui);
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
		expire_unit_now(u, oldest, true);
		units_transaction_load_node(w);
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
			      .het_job = RECORD_NO_VAL,
			      .first_step = UNITS_NONE,
			      .marks = (synthetic ? UNIT_DISCOVERED : 0u) |
				       (synthetic || units_anew(u) || was_running(r)
						? UNIT_UNREAD
						: 0u),
			      .started_realtime_ns = r->realtime_ns,
			      .started_boottime_ns = r->boottime_ns};
	memcpy(unit->id, r->unit, sizeof(unit->id));
	memcpy(unit->node, r->node, sizeof(unit->node));
	w->node.started++;
	return true;
}

/* A slot for a new step: for that one that ended first may leave. False: no room. */
static bool take_step_slot(struct units_transaction *w)
{
	struct units *u = w->u;

	w->si = store_step_free(u);
	if (w->si == UNITS_NONE) {
		uint32_t oldest = links_first(&u->steps_ended);
		if (oldest == UNITS_NONE)
			return false;
		bool ours = !w->unit_new && steps_unit(u, oldest) == w->ui;
		expire_step(u, oldest);
		if (ours) { /* do not restore the old list from the copy */
			w->unit.folded = u->units[w->ui].folded;
			w->unit.first_step = units_first_step(u, w->ui);
		}
		w->si = store_step_free(u);
		if (w->si == UNITS_NONE)
			return false;
	}
	w->step_new = true;
	return true;
}

static bool take_step(struct units_transaction *w, bool synthetic)
{
	const struct record *r = w->r;
	struct units *u = w->u;

	w->si = w->unit_new ? UNITS_NONE : steps_find(u, w->ui, r->step);
	if (w->si != UNITS_NONE) {
		w->step = *steps_get(u, w->si);
		w->name = u->step_names[w->si];
		return true;
	}
	if (!take_step_slot(w))
		return false;
	w->step = (struct step){.state = UNIT_RUNNING,
				.unit = w->ui,
				.next = w->unit.first_step,
				.step = r->step,
				.discovered =
					synthetic || u->recalling ||
					(w->unit_new && was_running(r)) ||
					(r->type == RECORD_STEP_STOP && units_anew(u)),
				.started_boottime_ns = r->boottime_ns};
	if (synthetic && (w->unit.marks & UNIT_FOUND))
		w->unit.marks |=
			UNIT_UNREAD; /* its group's counters include the step */
	w->unit.first_step = w->si;
	w->unit.steps_running++;
	w->unit.steps_started++;
	w->node.steps_started++;
	return true;
}

/* What the end of a step means for its unit */
static void note_stop(struct units_transaction *w)
{
	const struct record *r = w->r;

	if (r->step == RECORD_STEP_EXTERN) {
		/* It outlives all other steps, and its own tasks are simply killed. */
		w->unit.marks |= UNIT_DEFINITE;
		w->unit.marks &= ~(uint32_t)UNIT_ANCHORED;
	} else if (w->step.exit_status) {
		w->unit.marks |= UNIT_FAILED;
	}
	units_transaction_settle_unit(w, r->realtime_ns, r->boottime_ns);
}

/* Says which room is missing, and how to get more */
static int say_no_room(const struct units *u, struct err *err)
{
	if (u->back_errno)
		return err_set(err, -ENOSPC,
			       "no disk space for another slot of the unit table (%s): "
			       "make room in --path.rundir",
			       strerror(u->back_errno));
	return err_set(err, -ENOSPC,
		       "unit table full (%u of %u units, %u of %u steps): raise "
		       "--unit.capacity",
		       u->units_count, u->capacity, u->steps_count, u->steps_capacity);
}

static uint64_t tombstone_key_of(const struct record *r, uint32_t stepd_pid)
{
	struct unit who = {.manager = r->manager};

	memcpy(who.id, r->unit, sizeof(who.id));
	memcpy(who.node, r->node, sizeof(who.node));
	return expire_tombstone_key(&who, r->step, stepd_pid);
}

/* Stands for any slurmstepd, for a step known from its directory only */
#define ANY_STEPD UINT32_MAX
/* In such a tombstone, which has no counters: time of its last stop, 0: not yet */
#define HIDDEN_SINCE_STOP_NS totals.memory_fail_count
/* Slurmstepd removes the group within that time */
#define HIDDEN_FOR_NS (60 * NSEC_PER_SEC)

/* Until its last stop the step's group exists, and once there is room a walk would find
 * it and count from 0; a moment later the kernel tells of its end (step_groups.c). */
static void hide_from_walk(struct units_transaction *w)
{
	static const struct unit_totals none;

	txn_begin(w->u);
	expire_tombstone_put(w->u, tombstone_key_of(w->r, ANY_STEPD), &none);
	txn_commit(w->u);
	expire_tombstone_put_done(w->u);
}

/* Its group goes soon: the next one with this name belongs to a requeued job, and may
 * be known from its group only. */
static void hide_no_longer(struct units_transaction *w)
{
	struct tombstone *t =
		store_tombstone_find(w->u, tombstone_key_of(w->r, ANY_STEPD));

	if (!t)
		return;
	txn_begin(w->u);
	txn_put(w->u, &t->HIDDEN_SINCE_STOP_NS, &w->boottime_ns,
		sizeof(w->boottime_ns));
	txn_commit(w->u);
}

static bool hidden_from_walk(const struct units_transaction *w)
{
	const struct tombstone *t =
		w->u->by_tombstone.used
			? store_tombstone_find(w->u, tombstone_key_of(w->r, ANY_STEPD))
			: NULL;

	return t && (!t->HIDDEN_SINCE_STOP_NS ||
		     w->boottime_ns < t->HIDDEN_SINCE_STOP_NS + HIDDEN_FOR_NS);
}

/* No room: a lost start is repaired by its stop, and a stop's counters go to its unit,
 * or to the node if there is no room for a unit. The tombstone prevents counting a
 * second stop twice. */
static int refuse_record(struct units_transaction *w, struct err *err)
{
	bool stop = w->r->type == RECORD_STEP_STOP;
	bool has_unit = w->ui != UNITS_NONE && (stop || !w->unit_new);
	int rc = say_no_room(w->u, err);

	w->si = UNITS_NONE;
	w->node.refused++;
	if (!has_unit) {
		w->ui = UNITS_NONE;
		w->unit_new = false;
		units_transaction_load_node(w);
		w->node.refused++;
	}
	if (stop)
		totals_add(has_unit ? &w->unit.folded : &w->node.units, &w->counters);
	if (stop)
		hide_from_walk(w);
	if (stop && (w->r->flags & RECORD_LAST))
		hide_no_longer(w);
	else if (stop)
		w->tombstone_key = tombstone_key_of(w->r, w->r->stepd_pid);
	if (has_unit && stop) {
		describe_unit(&w->unit, w->r);
		w->step.exit_status = w->r->exit_status;
		w->unit.steps_started++;
		w->node.steps_started++;
		w->node.steps_ended++;
		w->node.stops_late++;
		note_stop(w);
	}
	units_transaction_commit(w);
	return rc;
}

static struct tombstone *find_tombstone(const struct units_transaction *w)
{
	const struct record *r = w->r;
	if (!w->u->by_tombstone.used)
		return NULL;
	struct tombstone *t =
		store_tombstone_find(w->u, tombstone_key_of(r, r->stepd_pid));
	return t || !r->stepd_pid ? t
				  : store_tombstone_find(w->u, tombstone_key_of(r, 0));
}

/* A further record of a step that has left the table: only the growth of its counters
 * is added. */
static bool late_record(struct units_transaction *w)
{
	struct units *u = w->u;
	const struct record *r = w->r;
	struct tombstone *tombstone = find_tombstone(w);
	if (!tombstone)
		return false;

	struct tombstone t = *tombstone;
	totals_merge(&t.totals, &w->counters);
	uint32_t ui = units_find(u, r->manager, r->node, r->unit, r->restarts);
	w->node.stops_late++;
	txn_begin(u);
	if (ui != UNITS_NONE) {
		struct unit_totals folded = u->units[ui].folded;
		totals_add_growth(&folded, &tombstone->totals, &t.totals);
		txn_put(u, &u->units[ui].folded, &folded, sizeof(folded));
	} else {
		totals_add_growth(&w->node.units, &tombstone->totals, &t.totals);
	}
	txn_put(u, tombstone, &t, sizeof(t));
	txn_put(u, store_node(u, r->manager), &w->node, sizeof(w->node));
	units_transaction_put_pos(w);
	txn_commit(u);
	if (r->flags & RECORD_LAST)
		hide_no_longer(w);
	return true;
}

static bool step_in_table(const struct units_transaction *w)
{
	uint32_t ui = find_unit_of(w->u, w->r, false);
	return ui != UNITS_NONE && steps_find(w->u, ui, w->r->step) != UNITS_NONE;
}

static int apply_start(struct units_transaction *w, bool synthetic, struct err *err)
{
	const struct record *r = w->r;
	bool there = step_in_table(w);
	if (!synthetic && !there && late_record(w))
		return 0;
	if (synthetic && !there && hidden_from_walk(w))
		return -EEXIST;
	if (!take_record_unit(w, synthetic) || !take_step(w, synthetic))
		return refuse_record(w, err);
	describe_unit(&w->unit, r);
	describe_step(w);
	if (r->step == RECORD_STEP_EXTERN)
		w->unit.marks |= UNIT_DEFINITE;
	if (!synthetic && !w->u->recalling && !was_running(r))
		w->step.discovered = 0;
	/* A step that was given up comes back; an older start of an ended one does not
	 * bring it back. */
	if (w->step.state == UNIT_ENDED && w->step.lost == STEP_LOST &&
	    r->boottime_ns > w->step.ended_boottime_ns) {
		w->step.state = UNIT_RUNNING;
		w->step.lost = STEP_REVIVED;
		w->step.gone_boottime_ns = w->step.ended_boottime_ns = 0;
		w->unit.steps_lost--;
		w->unit.steps_running++;
	}
	units_transaction_settle_unit(w, r->realtime_ns, r->boottime_ns);
	units_transaction_commit(w);
	return 0;
}

static void note_late_stop(struct units_transaction *w)
{
	w->node.stops_late++;
	if (!(w->unit.marks & UNIT_FOUND))
		return;
	w->before = w->u->befores[w->ui];
	found_take_rest(&w->unit.folded, &w->before, &w->counters);
	w->before_changed = true;
}

static int apply_stop(struct units_transaction *w, struct err *err)
{
	const struct record *r = w->r;
	if (!step_in_table(w) && late_record(w))
		return 0;
	if (!take_record_unit(w, false) || !take_step(w, false))
		return refuse_record(w, err);
	if (w->step_new)
		note_late_stop(w);
	describe_unit(&w->unit, r);
	describe_step(w);
	totals_merge(&w->step.totals, &w->counters);
	if (w->step.lost == STEP_LOST) {
		w->step.lost = STEP_REVIVED;
		w->unit.steps_lost--;
		w->step.ended_boottime_ns = r->boottime_ns;
	}
	if (r->exit_status)
		w->step.exit_status = r->exit_status;
	units_transaction_end_step(w, r->boottime_ns);
	note_stop(w);
	units_transaction_commit(w);
	return 0;
}

/* The part of the unit in w that runs under this name, UNITS_NONE: none */
static uint32_t find_running_part(const struct units_transaction *w)
{
	struct units *u = w->u;
	uint32_t s = units_first_step(u, w->ui);

	while (s != UNITS_NONE &&
	       (steps_get(u, s)->state != UNIT_PART ||
		strcmp(steps_name(u, s)->command, w->r->command) != 0))
		s = steps_after(u, s);
	return s;
}

static void end_part(struct units_transaction *w, uint64_t ended_ns, bool known)
{
	w->step.state = UNIT_ENDED;
	w->step.lost = known ? STEP_NOT_LOST : STEP_LOST;
	w->step.cgroup_count = 0; /* nothing is left to be read */
	w->step.ended_boottime_ns = ended_ns;
	w->step.left_boottime_ns = w->boottime_ns;
}

/* Nobody told of its end. */
static void lose_part(struct units_transaction *w, uint32_t part)
{
	struct units_transaction lost = units_transaction_load(
		w->u, w->r, w->ui, part, w->boottime_ns, w->realtime_ns);

	end_part(&lost, w->boottime_ns, false);
	units_transaction_commit(&lost);
}

static int refuse_part(struct units_transaction *w, struct err *err)
{
	int rc = say_no_room(w->u, err);

	w->ui = UNITS_NONE;
	w->node.refused++;
	units_transaction_commit(w);
	return rc;
}

/* One of a unit that is not here is nobody's, and so is one that was told before. */
static int ignore_part(struct units_transaction *w)
{
	w->ui = w->si = UNITS_NONE;
	w->node.stops_late += w->r->type == RECORD_STEP_STOP;
	units_transaction_commit(w);
	return 0;
}

static void describe_part(struct units_transaction *w)
{
	const struct record *r = w->r;
	bool began = r->began_ns && r->began_ns < r->boottime_ns;

	w->step = (struct step){.state = UNIT_PART,
				.unit = w->ui,
				.next = w->unit.first_step,
				.step = r->step,
				.started_boottime_ns =
					began ? r->began_ns : r->boottime_ns};
	w->unit.first_step = w->si;
}

static int apply_part_start(struct units_transaction *w, struct err *err)
{
	struct units *u = w->u;

	w->ui = find_unit_of(u, w->r, false);
	if (w->ui == UNITS_NONE || steps_find(u, w->ui, w->r->step) != UNITS_NONE)
		return ignore_part(w);
	uint32_t before = find_running_part(w);
	if (before != UNITS_NONE)
		lose_part(w, before);
	w->unit = *units_get(u, w->ui);
	if (!take_step_slot(w))
		return refuse_part(w, err);
	describe_part(w);
	describe_step(w);
	units_transaction_commit(w);
	return 0;
}

/* A part of a step changes neither counters nor state of its unit. Its start may not
 * have been told. */
static int apply_part(struct units_transaction *w, struct err *err)
{
	struct units *u = w->u;
	const struct record *r = w->r;

	w->ui = find_unit_of(u, r, false);
	if (w->ui == UNITS_NONE)
		return ignore_part(w);
	w->unit = *units_get(u, w->ui);
	w->si = steps_find(u, w->ui, r->step);
	if (w->si != UNITS_NONE) {
		w->step = *steps_get(u, w->si);
		if (w->step.state != UNIT_PART)
			return ignore_part(w);
	} else {
		if (!take_step_slot(w))
			return refuse_part(w, err);
		describe_part(w);
	}
	w->step.exit_status = r->exit_status;
	w->step.totals = w->counters;
	describe_step(w);
	end_part(w, r->boottime_ns, r->counters.source != COUNTERS_NONE);
	units_transaction_commit(w);
	/* its report was written without it */
	if (unit_report(u, w->ui)->marks & REPORT_FINISHED)
		unit_report_mark(u, w->ui, 0, REPORT_FINISHED);
	return 0;
}

static int apply_unit(struct units_transaction *w, struct err *err)
{
	const struct record *r = w->r;
	bool start = r->type == RECORD_UNIT_START;
	w->si = UNITS_NONE;
	if (!start && find_unit_of(w->u, w->r, false) == UNITS_NONE) {
		w->ui = UNITS_NONE; /* ended and gone already */
		w->node.stops_late++;
		units_transaction_commit(w);
		return 0;
	}
	if (!take_record_unit(w, false))
		return refuse_record(w, err);
	describe_unit(&w->unit, r);
	w->unit.marks |= UNIT_DEFINITE;
	if (start)
		w->unit.marks |= UNIT_ANCHORED;
	else
		w->unit.marks &= ~(uint32_t)UNIT_ANCHORED;
	units_transaction_settle_unit(w, r->realtime_ns, r->boottime_ns);
	units_transaction_commit(w);
	return 0;
}

static int count_bad_record(struct units *u, const struct record *r, uint64_t pos,
			    struct err *err, const char *why)
{
	struct node_totals *node = store_node(u, r->manager), n = *node;
	n.records++;
	n.records_bad++;
	txn_begin(u);
	txn_put(u, node, &n, sizeof(n));
	if (pos != UINT64_MAX) {
		u->ring_pos = pos;
		txn_put(u, &u->h->ring_pos, &pos, sizeof(pos));
	}
	txn_commit(u);
	return err_set(err, -EPROTO, "%s", why);
}

int units_apply(struct units *u, const struct record *r, uint64_t pos,
		uint64_t now_boottime_ns, uint64_t now_realtime_ns, struct err *err)
{
	uint64_t last = u->ring_pos;
	if (pos != UINT64_MAX && last != UINT64_MAX && pos <= last)
		return -EEXIST;
	if (r->manager < MANAGER_SLURM || r->manager > MANAGER_K8S)
		return count_bad_record(u, r, pos, err, "record of an unknown manager");
	if (r->type != RECORD_HELLO && !*r->unit)
		return count_bad_record(u, r, pos, err, "record without a unit id");

	/* Records from before a suspend, or from the future, count as of now. */
	struct record copy;
	if (r->boottime_ns > now_boottime_ns || !r->boottime_ns) {
		copy = *r;
		copy.boottime_ns = now_boottime_ns;
		r = &copy;
	}
	bool synthetic = pos == UINT64_MAX;
	uint32_t run = synthetic ? r->restarts : find_run(u, r);
	if (run != r->restarts) {
		if (r != &copy)
			copy = *r;
		copy.restarts = run;
		r = &copy;
	}
	if (!synthetic &&
	    (r->type == RECORD_STEP_START || r->type == RECORD_UNIT_START))
		units_transaction_end_older_runs(u, r, now_boottime_ns,
						 now_realtime_ns);
	struct units_transaction w = units_transaction_load(
		u, r, UNITS_NONE, UNITS_NONE, now_boottime_ns, now_realtime_ns);
	w.pos = pos;
	if (r->type == RECORD_STEP_STOP)
		w.counters = totals_of_record(&r->counters);
	units_transaction_load_node(&w);
	switch (r->type) {
	case RECORD_UNIT_START:
	case RECORD_UNIT_STOP:
		return apply_unit(&w, err);
	case RECORD_STEP_START:
		return apply_start(&w, synthetic, err);
	case RECORD_STEP_STOP:
		return r->flags & RECORD_PART ? apply_part(&w, err)
					      : apply_stop(&w, err);
	case RECORD_PART_START:
		return apply_part_start(&w, err);
	case RECORD_HELLO:
		units_transaction_commit(&w);
		return 0;
	default:
		return count_bad_record(u, r, pos, err, "record of an unknown type");
	}
}

uint64_t units_ring_pos(const struct units *u)
{
	return u->ring_pos;
}

void units_set_ring(struct units *u, uint64_t ring_id)
{
	uint64_t none = UINT64_MAX;
	if (u->h->ring_id == ring_id)
		return;
	txn_begin(u);
	txn_put(u, &u->h->ring_id, &ring_id, sizeof(ring_id));
	txn_put(u, &u->h->ring_pos, &none, sizeof(none));
	u->ring_pos = none;
	txn_commit(u);
}
