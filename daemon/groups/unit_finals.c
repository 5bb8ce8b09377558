/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/groups/unit_finals.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/groups/io_export.h"
#include "daemon/groups/perf_figures.h"
#include "daemon/groups/step_groups.h"
#include "daemon/groups/unit_counts.h"
#include "daemon/groups/unit_hardware.h"
#include "daemon/groups/unit_io.h"
#include "daemon/options.h"
#include "daemon/perf_kinds.h"
#include "daemon/units.h"
#include "lib/records/net_slots.h"

#define NET_WORDS (NET_KINDS * COUNTS_WORDS)

/* The steps of a unit that were seen whole and whose slots are given back */
struct whole_steps {
	uint64_t serial;      /* unit_serial() that it belongs to */
	uint32_t v1, unified; /* on a hybrid host a step may have a group in both */
	bool extern_seen, extern_counted; /* the extern step */
};

struct unit_finals {
	const struct env *env;
	struct whole_steps *whole; /* by unit */
	uint32_t unit_count;
	uint32_t *unit_of; /* by slot, as of the last look; UNITS_NONE: nobody's */
	uint32_t slot_count;
};

int unit_finals_new(const struct env *env, struct unit_finals **ret)
{
	struct unit_finals *f = calloc(1, sizeof(*f));
	struct step_groups_stats s;

	step_groups_stats(env->step_groups, &s);
	if (f) {
		f->env = env;
		f->unit_count = units_capacity(env->units);
		f->slot_count = s.slots;
		f->whole = calloc(f->unit_count, sizeof(*f->whole));
		f->unit_of = calloc(f->slot_count, sizeof(*f->unit_of));
	}
	if (!f || !f->whole || !f->unit_of) {
		unit_finals_free(f);
		return -ENOMEM;
	}
	unit_finals_look(f);
	*ret = f;
	return 0;
}

void unit_finals_free(struct unit_finals *f)
{
	if (!f)
		return;
	free(f->whole);
	free(f->unit_of);
	free(f);
}

static bool is_extern_step(const struct group_slot *s)
{
	const char *name = strrchr(s->path, '/');

	return name && strcmp(name, "/step_extern") == 0;
}

/* Of a step's groups, one in each hierarchy of v1, one has its CPU time. On v1
 * Slurm 25.05 and later make that of the extern step when the first process is adopted
 * into it, and none before: its memory group tells of it. */
static void add_whole_step(struct whole_steps *w, const struct group_slot *s)
{
	bool counted = s->has & GROUP_SLOT_CPU, unified = s->has & GROUP_SLOT_UNIFIED;

	if (s->has & GROUP_SLOT_ADOPTED)
		return;
	w->unified += counted && unified;
	w->v1 += counted && !unified;
	if (!is_extern_step(s))
		return;
	w->extern_seen = true;
	w->extern_counted |= counted;
}

/* An extern step with no group in which tasks are counted had none: unless there was no
 * slot for that group. */
static uint32_t count_whole_steps(const struct unit_finals *f,
				  const struct whole_steps *w)
{
	struct step_groups_stats s;

	step_groups_stats(f->env->step_groups, &s);
	uint32_t count = w->v1 > w->unified ? w->v1 : w->unified;
	return count + (w->extern_seen && !w->extern_counted && !s.no_slot);
}

static bool slot_lives(const struct group_slot *s)
{
	return __atomic_load_n(&s->state, __ATOMIC_ACQUIRE) == GROUP_SLOT_LIVES;
}

void unit_finals_end_slot(struct unit_finals *f, const struct group_slot *s,
			  uint32_t unit)
{
	if (unit >= f->unit_count)
		return;
	struct whole_steps *w = &f->whole[unit];
	if (w->serial != unit_serial(f->env->units, unit))
		*w = (struct whole_steps){.serial = unit_serial(f->env->units, unit)};
	add_whole_step(w, s);
}

void unit_finals_look(struct unit_finals *f)
{
	const struct step_groups *g = f->env->step_groups;
	uint32_t unit;

	if (f->env->unit_hardware)
		unit_hardware_update(f->env->unit_hardware);
	for (uint32_t i = 0; i < f->slot_count; i++)
		f->unit_of[i] = UNITS_NONE;
	for (uint32_t slot = 0; (slot = step_groups_next(g, slot, &unit)) != UINT32_MAX;
	     slot++)
		f->unit_of[slot] = unit;
}

bool unit_finals_settled(const struct unit_finals *f, uint32_t unit)
{
	for (uint32_t i = 0; i < f->slot_count; i++) {
		if (f->unit_of[i] == unit &&
		    slot_lives(step_groups_slot(f->env->step_groups, i)))
			return false;
	}
	return true;
}

/* Whether each of its steps was seen whole. */
static bool is_seen_whole(const struct unit_finals *f, uint32_t unit)
{
	const struct unit *u = units_get(f->env->units, unit);
	struct whole_steps w = f->whole[unit];

	if (w.serial != unit_serial(f->env->units, unit))
		w = (struct whole_steps){0};

	for (uint32_t i = 0; i < f->slot_count; i++) {
		if (f->unit_of[i] != unit)
			continue;
		const struct group_slot *s = step_groups_slot(f->env->step_groups, i);
		if (slot_lives(s))
			return false;
		add_whole_step(&w, s);
	}
	return u->steps_started && count_whole_steps(f, &w) >= u->steps_started;
}

/* ---- files ----------------------------------------------------------------------- */

static void put_files(struct report_counts *c, const struct io_counts *all,
		      const struct io_names *names)
{
	const uint64_t values[] = {
		all->read_bytes,      all->read_calls,    all->read_errors,
		all->write_bytes,     all->write_calls,   all->write_errors,
		names->opens,         names->open_errors, names->creates,
		names->create_errors, names->unlinks,     names->unlink_errors,
	};

	for (unsigned i = 0; i < sizeof(values) / sizeof(values[0]); i++)
		report_count_set(c, COUNT_READ_BYTES + i, values[i]);
}

static void add_mount(struct report_mount *to, const struct io_counts *c)
{
	const uint64_t values[COUNT_FILES] = {c->read_bytes,  c->read_calls,
					      c->read_errors, c->write_bytes,
					      c->write_calls, c->write_errors};

	for (unsigned i = 0; i < COUNT_FILES; i++)
		to->values[i] += values[i];
}

static int compare_mounts(const void *a, const void *b)
{
	const struct mount_io *x = a, *y = b;
	uint64_t of_x = x->counts.read_bytes + x->counts.write_bytes;
	uint64_t of_y = y->counts.read_bytes + y->counts.write_bytes;

	return of_x == of_y ? strcmp(x->path, y->path) : of_x < of_y ? 1 : -1;
}

/* Those with most bytes, and in one what is of others. */
static void put_mounts(const struct unit_finals *f, struct report *r,
		       struct unit_io_total *t)
{
	struct report_mount other = {.path = ""};
	struct io_counts all = {0};
	bool has_other = false;

	_Static_assert(REPORT_MOUNT_MAX >= IO_PATH_BYTES, "a path");
	if (t->count)
		qsort(t->mounts, t->count, sizeof(t->mounts[0]), compare_mounts);
	for (uint32_t i = 0; i < t->count; i++) {
		const struct mount_io *m = &t->mounts[i];
		io_counts_add(&all, &m->counts);
		if (*m->path && r->mount_count + 1 < REPORT_MOUNTS_MAX &&
		    io_export_wants(f->env->options, m->path)) {
			struct report_mount *to = &r->mounts[r->mount_count++];
			report_set(r, to->path, sizeof(to->path), m->path);
			add_mount(to, &m->counts);
		} else {
			add_mount(&other, &m->counts);
			has_other = true;
		}
	}
	if (has_other)
		r->mounts[r->mount_count++] = other;
	put_files(&r->counts, &all, &t->names);
}

static void fill_files(const struct unit_finals *f, uint32_t unit, struct report *r)
{
	const struct unit_io *io = f->env->unit_io;
	struct unit_io_total t = {0};
	int rc = unit_io_add_ended(io, unit, &t);

	for (uint32_t i = 0; i < f->slot_count && rc == 0; i++) {
		if (f->unit_of[i] == unit)
			rc = unit_io_add_slot(io, i, &t);
	}
	if (rc == 0) /* without memory it is not known */
		put_mounts(f, r, &t);
	unit_io_total_done(&t);
}

/* ---- network and events ---------------------------------------------------------- */

static void sum_words(const struct unit_finals *f, const struct unit_counts *c,
		      uint32_t unit, unsigned long long *words)
{
	unit_counts_add_ended(c, unit, words);
	for (uint32_t i = 0; i < f->slot_count; i++) {
		if (f->unit_of[i] == unit)
			unit_counts_add_slot(c, i, words);
	}
}

static void fill_network(const struct unit_finals *f, uint32_t unit,
			 struct report_counts *c)
{
	unsigned long long words[NET_WORDS] = {0};

	_Static_assert(COUNT_NET + NET_KINDS * COUNT_NET_OF_KIND == COUNT_MINOR_FAULTS,
		       "room for all kinds");
	sum_words(f, f->env->unit_net, unit, words);
	for (unsigned k = 0; k < NET_KINDS; k++) {
		struct net_counts n;
		memcpy(&n, &words[(size_t)k * COUNTS_WORDS], sizeof(n));
		bool tcp = k == NET_TCP4 || k == NET_TCP6;
		const uint64_t values[COUNT_NET_OF_KIND] = {
			n.in_bytes,    n.in_packets,   n.out_bytes,
			n.out_packets, n.resent_bytes, n.resent_packets};
		for (unsigned i = 0; i < (tcp ? 6 : 4); i++)
			report_count_set(c, COUNT_NET + k * COUNT_NET_OF_KIND + i,
					 values[i]);
	}
}

static void fill_events(const struct unit_finals *f, uint32_t unit,
			struct report_counts *c)
{
	unsigned long long words[COUNTS_WORDS] = {0};
	struct perf_counts p;

	sum_words(f, f->env->unit_perf, unit, words);
	memcpy(&p, words, sizeof(p));
	report_count_set(c, COUNT_MINOR_FAULTS, p.minor_faults);
	report_count_set(c, COUNT_MAJOR_FAULTS, p.major_faults);
	report_count_set(c, COUNT_CONTEXT_SWITCHES, p.switches);
	report_count_set(c, COUNT_CPU_MIGRATIONS, p.migrations);
}

/* Those for which the records have a place */
static void fill_figures(const struct perf_figures *f, uint32_t asked,
			 const struct hardware_total *t, struct report_counts *c)
{
	uint64_t value;

	for (uint32_t i = 0; f && i < f->count; i++) {
		for (unsigned count = COUNT_FP_OPERATIONS;
		     count <= COUNT_DRAM_READ_BYTES; count++) {
			if ((asked & f->figure[i].events) == f->figure[i].events &&
			    strcmp(f->figure[i].name, report_count_name(count)) == 0 &&
			    perf_figure_value(f, i, t, &value))
				report_count_set(c, count, value);
		}
	}
}

static void fill_hardware(const struct unit_finals *f, uint32_t unit,
			  struct report_counts *c)
{
	const struct env *env = f->env;
	uint32_t asked = unit_hardware_asked(env->options, units_get(env->units, unit));
	struct hardware_total t;
	uint64_t enabled_ns = 0, running_ns = 0;

	_Static_assert(COUNT_HARDWARE + HARDWARE_NAMED == COUNT_EVENTS_ENABLED_NS,
		       "room for all events");
	unit_hardware_total(env->unit_hardware, unit, &t);
	fill_figures(env->perf_figures, asked, &t, c);
	for (uint32_t e = 0; e < HARDWARE_NAMED; e++) {
		if (!(asked & t.events & 1u << e))
			continue;
		report_count_set(c, COUNT_HARDWARE + e, t.values[e]);
		/* of the one that had the shortest time */
		if (!enabled_ns || t.enabled_ns[e] < enabled_ns)
			enabled_ns = t.enabled_ns[e];
		if (!running_ns || t.running_ns[e] < running_ns)
			running_ns = t.running_ns[e];
	}
	if (!(asked & t.events))
		return;
	report_count_set(c, COUNT_EVENTS_ENABLED_NS, enabled_ns);
	report_count_set(c, COUNT_EVENTS_RUNNING_NS, running_ns);
}

void unit_finals_fill(const struct unit_finals *f, uint32_t unit, struct report *r)
{
	const struct env *env = f->env;

	if (!is_seen_whole(f, unit))
		return;
	if (env->unit_io)
		fill_files(f, unit, r);
	if (env->unit_net)
		fill_network(f, unit, &r->counts);
	if (env->unit_perf && perf_is_asked(env->options, units_get(env->units, unit)))
		fill_events(f, unit, &r->counts);
	if (env->unit_hardware)
		fill_hardware(f, unit, &r->counts);
}
