/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the kernel programs do: whether groups are followed, and how often that made a
 * difference. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/collector.h"
#include "daemon/groups/step_groups.h"
#include "daemon/groups/unit_io.h"
#include "daemon/options.h"
#include "daemon/units.h"

struct ebpf {
	const struct env *env;
	struct unit_io_total *totals; /* by unit, of one scrape; NULL without IO */
};

static void ebpf_close(void *state)
{
	struct ebpf *e = state;

	if (!e)
		return;
	free(e->totals);
	free(e);
}

static int ebpf_open(const struct env *env, void **ret_state, struct err *err)
{
	if (!env->step_groups)
		return err_set(err, -ENODEV, "the kernel programs are not attached");
	struct ebpf *e = calloc(1, sizeof(*e));
	if (e && env->unit_io)
		e->totals = calloc(units_capacity(env->units), sizeof(*e->totals));
	if (!e || (env->unit_io && !e->totals)) {
		ebpf_close(e);
		return err_set(err, -ENOMEM, "out of memory");
	}
	e->env = env;
	*ret_state = e;
	return 0;
}

/* ---- what units read and write --------------------------------------------------- */

/* A whole part of the path: /lustre is above /lustre/scratch, not above /lustre2. */
static bool is_at_or_below(const char *path, const char *above)
{
	size_t len = strlen(above);

	while (len && above[len - 1] == '/')
		len--;
	return strncmp(path, above, len) == 0 && (!path[len] || path[len] == '/');
}

static bool is_wanted(const struct options *o, const char *path)
{
	const struct conf_list *wanted = &o->ebpf_mount_points;

	for (size_t i = 0; i < wanted->count; i++) {
		if (is_at_or_below(path, wanted->items[i]))
			return true;
	}
	return !wanted->count;
}

static void put_mount(struct prom *out, const struct env *env, const struct unit *unit,
		      const struct mount_io *m)
{
	static const struct prom_family families[] = {
		{"ceems_ebpf_read_bytes_total", PROM_COUNTER,
		 "Bytes that the unit's processes read from files of the mount"},
		{"ceems_ebpf_read_requests_total", PROM_COUNTER,
		 "Calls of read(2) and its kind, of files of the mount"},
		{"ceems_ebpf_read_errors_total", PROM_COUNTER,
		 "Of these, calls that failed"},
		{"ceems_ebpf_write_bytes_total", PROM_COUNTER,
		 "Bytes that the unit's processes wrote to files of the mount"},
		{"ceems_ebpf_write_requests_total", PROM_COUNTER,
		 "Calls of write(2) and its kind, to files of the mount"},
		{"ceems_ebpf_write_errors_total", PROM_COUNTER,
		 "Of these, calls that failed"},
	};
	const struct prom_label labels[] = {{"manager", "slurm"},
					    {"hostname", env->hostname},
					    {"uuid", unit->id},
					    {"mountpoint", m->path}};
	const struct io_counts *c = &m->counts;
	const uint64_t values[] = {c->read_bytes,  c->read_calls,  c->read_errors,
				   c->write_bytes, c->write_calls, c->write_errors};

	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		prom_family(out, &families[i]);
		prom_put_u64(out, labels, 4, values[i]);
	}
}

static void put_names(struct prom *out, const struct env *env, const struct unit *unit,
		      const struct io_names *n)
{
	static const struct prom_family families[] = {
		{"ceems_ebpf_open_requests_total", PROM_COUNTER,
		 "Calls of open(2) and its kind by the unit's processes"},
		{"ceems_ebpf_open_errors_total", PROM_COUNTER,
		 "Of these, calls that failed"},
		{"ceems_ebpf_create_requests_total", PROM_COUNTER,
		 "Files that the unit's processes made with open(2), and calls of "
		 "mkdir(2)"},
		{"ceems_ebpf_create_errors_total", PROM_COUNTER,
		 "Calls of mkdir(2) that failed"},
		{"ceems_ebpf_open_create_total", PROM_COUNTER,
		 "The same under the name that CEEMS has for it"},
		{"ceems_ebpf_unlink_requests_total", PROM_COUNTER,
		 "Calls of unlink(2) and rmdir(2) by the unit's processes"},
		{"ceems_ebpf_unlink_errors_total", PROM_COUNTER,
		 "Of these, calls that failed"},
	};
	const struct prom_label labels[] = {
		{"manager", "slurm"}, {"hostname", env->hostname}, {"uuid", unit->id}};
	const uint64_t values[] = {n->opens,         n->open_errors,   n->creates,
				   n->create_errors, n->create_errors, n->unlinks,
				   n->unlink_errors};

	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		prom_family(out, &families[i]);
		prom_put_u64(out, labels, 3, values[i]);
	}
}

static int collect_unit_io(struct ebpf *e, const struct units_policy *policy,
			   uint32_t i, struct prom *out)
{
	const struct env *env = e->env;
	const struct unit *unit = units_get(env->units, i);
	struct unit_io_total *t = &e->totals[i];

	if (!units_exported(env->units, i, env->boottime_ns(), policy) ||
	    units_find_newest(env->units, unit->manager, unit->node, unit->id) != i)
		return 0;
	int rc = unit_io_add_ended(env->unit_io, i, t);
	for (uint32_t n = 0; n < t->count; n++) {
		if (is_wanted(env->options, t->mounts[n].path))
			put_mount(out, env, unit, &t->mounts[n]);
	}
	put_names(out, env, unit, &t->names);
	return rc;
}

static int collect_io(struct ebpf *e, struct prom *out)
{
	const struct env *env = e->env;
	const struct options *o = env->options;
	const struct units_policy policy = {
		.linger_ms = o->unit_linger_ms,
		.min_export_ms = o->unit_min_export_ms,
		.max_exported = (uint32_t)o->unit_max_exported,
	};
	uint32_t unit;
	int rc = 0;

	for (uint32_t slot = 0;
	     (slot = step_groups_next(env->step_groups, slot, &unit)) != UINT32_MAX;
	     slot++) {
		if (rc == 0)
			rc = unit_io_add_slot(env->unit_io, slot, &e->totals[unit]);
	}
	for (uint32_t i = units_next(env->units, 0); i != UNITS_NONE;
	     i = units_next(env->units, i + 1)) {
		if (rc == 0)
			rc = collect_unit_io(e, &policy, i, out);
		unit_io_total_done(&e->totals[i]);
	}
	return rc;
}

static void put_io_stats(const struct env *env, struct prom *out)
{
	static const struct prom_family cells = {
		"ceems_io_cells", PROM_GAUGE,
		"Mounts of units that the kernel can count for at once"};
	static const struct prom_family used = {
		"ceems_io_cells_used", PROM_GAUGE,
		"Mounts of units that the kernel counts for"};
	static const struct prom_family no_cell = {
		"ceems_io_calls_without_cell_total", PROM_COUNTER,
		"Calls of units that were not counted, since no cell was free"};
	static const struct prom_family compat = {
		"ceems_io_compat_calls_total", PROM_COUNTER,
		"System calls of 32-bit programs in units, which are not counted"};
	const struct prom_label hostname = {"hostname", env->hostname};
	struct unit_io_stats s;

	unit_io_stats(env->unit_io, &s);
	const struct {
		const struct prom_family *family;
		uint64_t value;
	} rows[] = {{&cells, s.cells},
		    {&used, s.used},
		    {&no_cell, s.no_cell},
		    {&compat, s.compat}};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		prom_family(out, rows[i].family);
		prom_put_u64(out, &hostname, 1, rows[i].value);
	}
}

/* ---- the control groups of steps ------------------------------------------------- */

static void put_group_stats(const struct env *env, struct prom *out)
{
	static const struct prom_family slots = {
		"ceems_groups_slots", PROM_GAUGE,
		"Control groups of steps that the kernel can follow at the same time"};
	static const struct prom_family used = {
		"ceems_groups_slots_used", PROM_GAUGE,
		"Control groups of steps that the kernel follows"};
	static const struct prom_family made = {
		"ceems_groups_made_total", PROM_COUNTER,
		"Control groups of steps that were made since this ceemsd started"};
	static const struct prom_family ended = {
		"ceems_groups_ended_total", PROM_COUNTER,
		"Of these and of those before, how many were removed, with their last "
		"counters known"};
	static const struct prom_family no_slot = {
		"ceems_groups_not_followed_total", PROM_COUNTER,
		"Control groups of steps that found all slots taken"};
	static const struct prom_family lost_stops = {
		"ceems_steps_lost_stops_total", PROM_COUNTER,
		"Steps without a stop record, counted by the kernel's last counters"};
	static const struct prom_family unrecorded = {
		"ceems_steps_unrecorded_total", PROM_COUNTER,
		"Of these, steps that no record at all had told of"};
	const struct prom_label hostname = {"hostname", env->hostname};
	struct step_groups_stats s;

	step_groups_stats(env->step_groups, &s);
	const struct {
		const struct prom_family *family;
		uint64_t value;
	} rows[] = {{&slots, s.slots},
		    {&used, s.used},
		    {&made, s.made},
		    {&ended, s.ended},
		    {&no_slot, s.no_slot},
		    {&lost_stops, s.lost_stops},
		    {&unrecorded, s.unrecorded}};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		prom_family(out, rows[i].family);
		prom_put_u64(out, &hostname, 1, rows[i].value);
	}
}

static int ebpf_collect(void *state, struct prom *out, struct err *err)
{
	struct ebpf *e = state;
	int rc = 0;

	put_group_stats(e->env, out);
	if (e->totals) {
		put_io_stats(e->env, out);
		rc = collect_io(e, out);
	}
	if (rc < 0)
		return err_set(err, rc, "out of memory");
	return prom_error(out) ? err_set(err, prom_error(out), "no room for samples")
			       : 0;
}

const struct collector collector_ebpf = {
	.name = "ebpf",
	.open = ebpf_open,
	.collect = ebpf_collect,
	.close = ebpf_close,
};
