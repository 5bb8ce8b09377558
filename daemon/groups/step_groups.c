/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/groups/step_groups.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/discover.h"
#include "daemon/groups/unit_counts.h"
#include "daemon/groups/unit_finals.h"
#include "daemon/groups/unit_hardware.h"
#include "daemon/groups/unit_io.h"
#include "daemon/options.h"
#include "daemon/units.h"
#include "daemon/units_report.h"
#include "daemon/units_totals.h"
#include "lib/cgroup.h"
#include "lib/clock.h"
#include "lib/crc32c.h"
#include "lib/log.h"

/* So many of the slots may stay with ended steps, with what was counted in them, until
 * their unit's final report is in the spool: over a restart it is nowhere else. Units
 * that run may stay for days, and leave room for those that have ended. */
#define KEPT_PART_RUNNING 16u
#define KEPT_PART 8u

#define SETTLE_NS (GROUP_SETTLE_MS * NSEC_PER_MSEC)

enum follow_mark {
	FOLLOW_LISTED = 1 << 0,
	FOLLOW_ENDED = 1 << 1,
	FOLLOW_WALKED = 1 << 2, /* the tree is walked once for it */
	FOLLOW_LEAKED = 1 << 3, /* seems to be free, and the kernel cannot take it */
	FOLLOW_KEPT = 1 << 4,   /* settled, and its unit has no final report yet */
};

/* A slot's step, once it is certain: slot and step keep to each other */
struct slot_step {
	uint64_t serial; /* step_serial(), 0: not known */
	uint32_t step;
};

struct step_groups {
	const struct env *env;
	struct group_slots slots;
	uint8_t *marks;          /* by slot, enum follow_mark */
	struct slot_step *steps; /* by slot */
	/* slots to look at: not known yet, or ended and not settled */
	uint32_t *listed, listed_count;
	uint32_t kept_count;
	uint64_t leaks_due_ns; /* when those marked FOLLOW_LEAKED are given back; 0:
				  they were */
	uint64_t lost_stops, unrecorded;
	struct log_repeat full_log;
	uint64_t no_slot_said;
	bool long_path_said;
};

static void list_slot(struct step_groups *g, uint32_t slot)
{
	if (g->marks[slot] & FOLLOW_LISTED)
		return;
	g->marks[slot] |= FOLLOW_LISTED;
	g->listed[g->listed_count++] = slot;
}

static uint32_t mark_of_unit(const struct unit *u)
{
	uint32_t mark = crc32c(0, u->id, strnlen(u->id, sizeof(u->id)));

	return crc32c(mark, &u->restarts, sizeof(u->restarts));
}

/* The unit that a kept slot is of. Its step may have left the table. */
static uint32_t unit_of_kept(const struct step_groups *g, const struct group_slot *s)
{
	uint32_t i = s->kept_unit - 1;
	const struct unit *u = s->kept_unit ? units_get(g->env->units, i) : NULL;

	return u && mark_of_unit(u) == s->kept_mark ? i : UNITS_NONE;
}

static void keep_slot(struct step_groups *g, uint32_t slot, uint32_t unit)
{
	struct group_slot *s = &g->slots.slots[slot];

	s->kept_mark = mark_of_unit(units_get(g->env->units, unit));
	s->kept_unit = unit + 1;
	g->marks[slot] |= FOLLOW_KEPT;
	g->kept_count++;
}

/* What was there before this ceemsd: adopted by the opener, or an earlier one's. */
static void resume_slot(struct step_groups *g, uint32_t slot)
{
	struct group_slot *s = &g->slots.slots[slot];

	if (s->state != GROUP_SLOT_LIVES && s->state != GROUP_SLOT_ENDED)
		return;
	if (s->state == GROUP_SLOT_ENDED)
		g->marks[slot] |= FOLLOW_ENDED;
	if (s->state == GROUP_SLOT_ENDED && unit_of_kept(g, s) != UNITS_NONE)
		keep_slot(g, slot, unit_of_kept(g, s));
	list_slot(g, slot);
}

/* An earlier ceemsd may have been killed between two stores of group_slots_release(). A
 * slot that the kernel is just taking looks the same for a moment. */
static void mark_leaked_slots(struct step_groups *g)
{
	const struct group_slots *s = &g->slots;

	for (uint32_t i = 0; i < s->count; i++) {
		if (__atomic_load_n(&s->slots[i].state, __ATOMIC_ACQUIRE) ==
		    GROUP_SLOT_FREE)
			g->marks[i] |= FOLLOW_LEAKED;
	}
	uint64_t head = __atomic_load_n(&s->control->free_head, __ATOMIC_ACQUIRE);
	for (uint32_t n = 0; n < s->count && head + n != s->control->free_tail; n++) {
		uint64_t slot = s->free[(head + n) & (s->count - 1)];
		g->marks[slot & (s->count - 1)] &= (uint8_t)~FOLLOW_LEAKED;
	}
	g->leaks_due_ns = g->env->boottime_ns() + SETTLE_NS;
}

int step_groups_new(const struct env *env, struct group_slots *slots,
		    struct step_groups **ret, struct err *err)
{
	struct step_groups *g = calloc(1, sizeof(*g));

	if (g) {
		g->marks = calloc(slots->count, sizeof(*g->marks));
		g->listed = calloc(slots->count, sizeof(*g->listed));
		g->steps = calloc(slots->count, sizeof(*g->steps));
	}
	if (!g || !g->marks || !g->listed || !g->steps) {
		group_slots_close(slots);
		step_groups_free(g);
		return err_set(err, -ENOMEM, "out of memory");
	}
	g->env = env;
	g->slots = *slots;
	*slots = (struct group_slots){0};
	for (uint32_t i = 0; i < g->slots.count; i++)
		resume_slot(g, i);
	mark_leaked_slots(g);
	*ret = g;
	return 0;
}

void step_groups_free(struct step_groups *g)
{
	if (!g)
		return;
	group_slots_close(&g->slots);
	free(g->marks);
	free(g->listed);
	free(g->steps);
	free(g);
}

static void add_counters(const struct group_slot *s, struct unit_totals *t)
{
	struct cgroup_cpu cpu = {0};

	if (s->has & GROUP_SLOT_CPU) {
		cgroup_split_usage(s->cpu_ns, s->user_ns, s->system_ns, &cpu);
		t->cpu_user_ns = cpu.user_ns;
		t->cpu_system_ns = cpu.system_ns;
	}
	if (s->has & GROUP_SLOT_MEMORY) {
		t->memory_peak_bytes = s->memory_peak_bytes;
		t->oom_kills = s->oom_kills;
	}
}

static uint32_t controllers_of(const struct group_slot *s)
{
	if (s->has & GROUP_SLOT_UNIFIED)
		return CGROUP_UNIFIED;
	return (s->has & GROUP_SLOT_CPU ? CGROUP_CPUACCT : 0) |
	       (s->has & GROUP_SLOT_MEMORY ? CGROUP_MEMORY : 0);
}

/* Whether another slot has this step, or (below: path is what is below a root) that
 * very path. */
static bool is_taken(const struct step_groups *g, uint32_t slot, uint32_t step,
		     const char *path, bool below)
{
	const struct group_slot *own = &g->slots.slots[slot];
	uint64_t serial = step_serial(g->env->units, step);

	for (uint32_t i = 0; i < g->slots.count; i++) {
		const struct group_slot *s = &g->slots.slots[i];
		bool has = g->steps[i].step == step && g->steps[i].serial == serial;
		if (i != slot && s->hierarchy == own->hierarchy &&
		    (has || (below && strcmp(s->path, path) == 0)) &&
		    __atomic_load_n(&s->state, __ATOMIC_ACQUIRE) != GROUP_SLOT_FREE)
			return true;
	}
	return false;
}

/* An earlier run of the path: of a requeued job, a static pod. */
static bool ended_before(const struct step *step, uint64_t ns)
{
	return step->state != UNIT_RUNNING && step->ended_boottime_ns < ns;
}

/* The step that runs, or below a root the first that began after the group was made. */
static uint32_t find_step_at(const struct step_groups *g, uint32_t slot,
			     const char *path, uint64_t by_ns)
{
	const struct group_slot *s = &g->slots.slots[slot];
	uint32_t cursor = UNITS_NONE, best = UNITS_NONE, i;
	bool below = path != s->path;
	uint64_t first_ns = UINT64_MAX;

	while ((i = steps_next_path(g->env->units, path, &cursor)) != UNITS_NONE) {
		const struct step *step = steps_get(g->env->units, i);
		uint64_t began_ns = step->started_boottime_ns;
		bool better = below ? began_ns >= s->made_ns && began_ns < first_ns
				    : best == UNITS_NONE || step->state == UNIT_RUNNING;
		if (!better || began_ns > by_ns || ended_before(step, s->made_ns) ||
		    is_taken(g, slot, i, path, below))
			continue;
		best = i;
		first_ns = began_ns;
	}
	return best;
}

/* The kernel programs have the whole path. Where slurmd or ceemsd run in a cgroup
 * namespace (a container), records and folders have only what is below its root, and
 * another container, or the host, may have a step of the same path there. */
static uint32_t find_step_of_path(const struct step_groups *g, uint32_t slot,
				  uint64_t by_ns)
{
	uint32_t i = UNITS_NONE;

	for (const char *path = g->slots.slots[slot].path; path && i == UNITS_NONE;
	     path = strchr(path + 1, '/'))
		i = find_step_at(g, slot, path, by_ns);
	return i;
}

/* The step that lives or lived in this group. */
static uint32_t find_step(const struct step_groups *g, uint32_t slot)
{
	const struct group_slot *s = &g->slots.slots[slot];
	struct slot_step *known = &g->steps[slot];
	/* nor did a later run start before this group ended */
	uint64_t by_ns =
		__atomic_load_n(&s->state, __ATOMIC_ACQUIRE) == GROUP_SLOT_ENDED
			? s->ended_ns
			: UINT64_MAX;

	if (known->serial && steps_get(g->env->units, known->step) &&
	    step_serial(g->env->units, known->step) == known->serial)
		return known->step;
	uint32_t i = find_step_of_path(g, slot, by_ns);
	if (i == UNITS_NONE)
		return UNITS_NONE;
	/* one that began before is an earlier run's, or another clock's */
	if (steps_get(g->env->units, i)->started_boottime_ns >= s->made_ns)
		*known = (struct slot_step){step_serial(g->env->units, i), i};
	return i;
}

/* Nothing but the time tells runs apart: if the newest one in the table has had this
 * step, this is the next. */
static uint32_t run_of(struct units *u, const struct record *r)
{
	uint32_t newest = units_find_newest(u, r->manager, r->node, r->unit);
	const struct unit *unit = newest == UNITS_NONE ? NULL : units_get(u, newest);

	if (!unit || unit->restarts < r->restarts)
		return r->restarts;
	return unit->restarts + (steps_find(u, newest, r->step) != UNITS_NONE);
}

/* A step that no record told of. The group's other hierarchies find it in the table
 * then. */
static uint32_t put_step(struct step_groups *g, uint32_t slot)
{
	const struct group_slot *s = &g->slots.slots[slot];
	const struct env *env = g->env;
	char node[RECORD_NAME_MAX];
	struct record r;
	struct err err = {""};

	/* one from before may have been counted by an earlier table */
	if ((s->has & GROUP_SLOT_ADOPTED) ||
	    !cgroup_slurm_node(s->path, node, sizeof(node)) ||
	    !discover_describe(env, s->path, &r))
		return UNITS_NONE;
	r.restarts = run_of(env->units, &r);
	uint64_t age_ns = r.boottime_ns - s->made_ns;
	r.boottime_ns = s->made_ns;
	r.realtime_ns -= age_ns;
	record_add_cgroup(&r, controllers_of(s), s->path);
	int rc = units_apply(env->units, &r, UINT64_MAX, env->boottime_ns(),
			     env->realtime_ns(), &err);
	/* -EEXIST: its stop record found no room and was counted for the node */
	if (rc < 0) {
		if (rc != -EEXIST && log_repeat_due(&g->full_log, env->boottime_ns()))
			log_warn(
				"%s: ended without a record, and cannot be counted: %s",
				s->path, err_text(&err));
		return UNITS_NONE;
	}
	return find_step(g, slot);
}

/* v1: the same step's groups in other hierarchies, which end at about the same time. A
 * task enters one after the other, so that on a hybrid host one has more CPU time. */
static void add_siblings(const struct step_groups *g, uint32_t slot,
			 struct unit_totals *t)
{
	const struct group_slot *own = &g->slots.slots[slot];
	struct unit_totals sibling;

	for (uint32_t n = 0; n < g->listed_count; n++) {
		const struct group_slot *s = &g->slots.slots[g->listed[n]];
		uint8_t marks = g->marks[g->listed[n]];
		if ((marks & FOLLOW_ENDED) && !(marks & FOLLOW_KEPT) && s != own &&
		    strcmp(s->path, own->path) == 0) {
			sibling = (struct unit_totals){0};
			add_counters(s, &sibling);
			totals_merge(t, &sibling);
		}
	}
}

/* The group has ended, and with the ring empty since then no stop record is to come.
 * Returns the unit that it was of, UNITS_NONE: not known. */
static uint32_t settle_slot(struct step_groups *g, uint32_t slot)
{
	const struct group_slot *s = &g->slots.slots[slot];
	const struct env *env = g->env;
	uint32_t i = find_step(g, slot);
	struct unit_totals t = {0};
	char name[16];

	if (i == UNITS_NONE && !s->known) {
		i = put_step(g, slot);
		g->unrecorded += i != UNITS_NONE;
	}
	struct step *step = i == UNITS_NONE ? NULL : steps_get(env->units, i);
	/* the same path may be another run's by now */
	if (!step || step->started_boottime_ns > s->ended_ns)
		return UNITS_NONE;
	uint32_t unit = steps_unit(env->units, i);
	/* what tells of a virtual machine's end comes when its group is gone, so that
	 * it has no counters: these are the last ones */
	bool bare = units_get(env->units, unit)->manager != MANAGER_SLURM;
	if (step->state != UNIT_RUNNING && step->lost != STEP_LOST && !bare)
		return unit;
	add_counters(s, &t);
	add_siblings(g, slot, &t);
	units_step_reading(env->units, i, &t);
	if (step->state != UNIT_RUNNING || !(s->has & GROUP_SLOT_CPU))
		return unit;
	step->gone_boottime_ns = s->ended_ns;
	units_step_lost(env->units, i, s->ended_ns, env->realtime_ns());
	g->lost_stops++;
	log_info("unit %s step %s: ended without a stop record, its last counters are "
		 "the kernel's",
		 units_get(env->units, unit)->id, record_step_name(step->step, name));
	return unit;
}

static void release_slot(struct step_groups *g, uint32_t slot)
{
	if (g->marks[slot] & FOLLOW_KEPT)
		g->kept_count--;
	g->marks[slot] = 0;
	g->steps[slot].serial = 0;
	g->slots.slots[slot].kept_unit = 0;
	group_slots_release(&g->slots, slot);
}

static bool is_unit_running(const struct step_groups *g, uint32_t unit)
{
	const struct unit *u =
		unit == UNITS_NONE ? NULL : units_get(g->env->units, unit);

	return u && u->state == UNIT_RUNNING;
}

/* What was counted for it may yet go into its final report. */
static bool is_unit_owed(const struct step_groups *g, uint32_t unit)
{
	return is_unit_running(g, unit) ||
	       (unit != UNITS_NONE && units_get(g->env->units, unit) &&
		report_is_owed(g->env->units, unit, 0));
}

/* Only those in which tasks are counted, from their beginning: others add nothing to a
 * unit's final report. Never so many that others find no slot, or no cell. */
static bool is_worth_keeping(const struct step_groups *g, const struct group_slot *s,
			     uint32_t unit)
{
	struct unit_io_stats io = {0};
	uint32_t part = is_unit_running(g, unit) ? KEPT_PART_RUNNING : KEPT_PART;

	if (!g->env->unit_finals || !(s->has & GROUP_SLOT_CPU) ||
	    (s->has & GROUP_SLOT_ADOPTED) || !is_unit_owed(g, unit) ||
	    g->kept_count >= g->slots.count / part)
		return false;
	if (g->env->unit_io)
		unit_io_stats(g->env->unit_io, &io);
	return io.used <= io.cells / 2;
}

static void end_slot(struct step_groups *g, uint32_t slot, uint32_t unit)
{
	const struct env *env = g->env;

	if (env->unit_io)
		unit_io_end_slot(env->unit_io, slot, unit);
	if (env->unit_net)
		unit_counts_end_slot(env->unit_net, slot, unit);
	if (env->unit_perf)
		unit_counts_end_slot(env->unit_perf, slot, unit);
	if (env->unit_hardware)
		unit_hardware_end_slot(env->unit_hardware, slot, unit);
	if (env->unit_finals)
		unit_finals_end_slot(env->unit_finals, &g->slots.slots[slot], unit);
	release_slot(g, slot);
}

/* Returns whether it stays. */
static bool look_at_kept(struct step_groups *g, uint32_t slot)
{
	uint32_t unit = unit_of_kept(g, &g->slots.slots[slot]);

	if (is_unit_owed(g, unit))
		return true;
	end_slot(g, slot, unit);
	return false;
}

/* Returns whether the slot stays listed. */
static bool look_at_slot(struct step_groups *g, uint32_t slot, uint64_t drained_ns,
			 bool *walk)
{
	struct group_slot *s = &g->slots.slots[slot];

	s->path[sizeof(s->path) - 1] = '\0';
	if (g->marks[slot] & FOLLOW_KEPT)
		return look_at_kept(g, slot);
	if (find_step(g, slot) != UNITS_NONE)
		s->known = 1;
	if (!(g->marks[slot] & FOLLOW_ENDED)) {
		if (s->known)
			return false;
		if (!(g->marks[slot] & FOLLOW_WALKED) &&
		    s->made_ns + SETTLE_NS <= drained_ns) {
			g->marks[slot] |= FOLLOW_WALKED;
			*walk = true;
		}
		return true;
	}
	/* v1: the group with the CPU time ends the step, with what the others have */
	uint64_t wait_ns = s->has & GROUP_SLOT_CPU ? SETTLE_NS : 2 * SETTLE_NS;
	if (s->ended_ns + wait_ns > drained_ns)
		return true;
	uint32_t unit = settle_slot(g, slot);
	if (is_worth_keeping(g, s, unit)) {
		keep_slot(g, slot, unit);
		return true;
	}
	end_slot(g, slot, unit);
	return false;
}

static void return_leaked_slots(struct step_groups *g, uint64_t drained_ns)
{
	if (!g->leaks_due_ns || drained_ns < g->leaks_due_ns)
		return;
	g->leaks_due_ns = 0;
	for (uint32_t i = 0; i < g->slots.count; i++) {
		bool leaked = g->marks[i] & FOLLOW_LEAKED;
		g->marks[i] &= (uint8_t)~FOLLOW_LEAKED;
		if (leaked && __atomic_load_n(&g->slots.slots[i].state,
					      __ATOMIC_ACQUIRE) == GROUP_SLOT_FREE)
			release_slot(g, i);
	}
}

static void say_long_path(struct step_groups *g)
{
	if (g->long_path_said || !g->slots.control->long_paths)
		return;
	g->long_path_said = true;
	log_warn("control groups of steps whose path has %u characters or more are not "
		 "followed: their steps end with the counters that were read last",
		 GROUP_PATH_BYTES);
}

static void say_no_slot(struct step_groups *g)
{
	uint64_t n = g->slots.control->no_slot;

	if (n == g->no_slot_said ||
	    !log_repeat_due(&g->full_log, g->env->boottime_ns()))
		return;
	log_warn(
		"%llu control groups of steps are not followed, since all %u slots are "
		"taken: --collector.ebpf.slots",
		(unsigned long long)(n - g->no_slot_said), g->slots.count);
	g->no_slot_said = n;
}

bool step_groups_tick(struct step_groups *g, uint64_t drained_ns)
{
	enum group_event what;
	uint32_t slot, kept = 0;
	bool walk = false;

	/* bounded: each slot has at most two events before it is released */
	for (uint32_t n = 0; n < g->slots.count * GROUP_EVENTS_PER_SLOT &&
			     group_slots_next(&g->slots, &slot, &what);
	     n++) {
		if (what == GROUP_EVENT_ENDED)
			g->marks[slot] |= FOLLOW_ENDED;
		list_slot(g, slot);
	}
	for (uint32_t n = 0; n < g->listed_count; n++) {
		slot = g->listed[n];
		if (look_at_slot(g, slot, drained_ns, &walk))
			g->listed[kept++] = slot;
		else
			g->marks[slot] &= (uint8_t)~FOLLOW_LISTED;
	}
	g->listed_count = kept;
	return_leaked_slots(g, drained_ns);
	say_no_slot(g);
	say_long_path(g);
	return walk;
}

static uint32_t unit_of_slot(const struct step_groups *g, uint32_t slot)
{
	if (g->marks[slot] & FOLLOW_KEPT)
		return unit_of_kept(g, &g->slots.slots[slot]);
	uint32_t step = find_step(g, slot);
	return step == UNITS_NONE ? UNITS_NONE : steps_unit(g->env->units, step);
}

uint32_t step_groups_next(const struct step_groups *g, uint32_t slot,
			  uint32_t *ret_unit)
{
	for (; slot < g->slots.count; slot++) {
		const struct group_slot *s = &g->slots.slots[slot];
		if (__atomic_load_n(&s->state, __ATOMIC_ACQUIRE) == GROUP_SLOT_FREE)
			continue;
		uint32_t unit = unit_of_slot(g, slot);
		if (unit == UNITS_NONE)
			continue;
		*ret_unit = unit;
		return slot;
	}
	return UINT32_MAX;
}

uint32_t step_groups_step(const struct step_groups *g, uint32_t slot)
{
	if (g->marks[slot] & FOLLOW_KEPT)
		return UNITS_NONE;
	return find_step(g, slot);
}

const struct group_slot *step_groups_slot(const struct step_groups *g, uint32_t slot)
{
	return &g->slots.slots[slot];
}

bool step_groups_exported(const struct env *env, uint32_t unit)
{
	const struct options *o = env->options;
	const struct units_policy policy = {
		.linger_ms = o->unit_linger_ms,
		.min_export_ms = o->unit_min_export_ms,
		.max_exported = (uint32_t)o->unit_max_exported,
	};
	const struct unit *u = units_get(env->units, unit);

	return u && units_exported(env->units, unit, env->boottime_ns(), &policy) &&
	       units_find_newest(env->units, u->manager, u->node, u->id) == unit;
}

void step_groups_stats(const struct step_groups *g, struct step_groups_stats *ret)
{
	const struct group_control *c = g->slots.control;
	uint64_t head = __atomic_load_n(&c->free_head, __ATOMIC_RELAXED);

	*ret = (struct step_groups_stats){
		.made = __atomic_load_n(&c->made, __ATOMIC_RELAXED),
		.ended = __atomic_load_n(&c->ended, __ATOMIC_RELAXED),
		.no_slot = __atomic_load_n(&c->no_slot, __ATOMIC_RELAXED),
		.lost_stops = g->lost_stops,
		.unrecorded = g->unrecorded,
		.slots = g->slots.count,
		.used = g->slots.count - (uint32_t)(c->free_tail - head),
	};
}
