/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/groups/io_export.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/groups/step_groups.h"
#include "daemon/groups/unit_io.h"
#include "daemon/options.h"
#include "daemon/units.h"

#define SLOT_NONE UINT32_MAX

struct io_export {
	const struct env *env;
	/* of one scrape: the first slot of each unit, and of each slot the next of its
	 * unit; the labels of a unit's mounts, none for those that are not wanted */
	uint32_t *first, *next;
	struct buf block;
	struct prom_shared labels[UNIT_IO_MOUNTS_MAX];
	struct unit_io_total total; /* of one unit after the other */
};

int io_export_new(const struct env *env, struct io_export **ret)
{
	struct io_export *e = calloc(1, sizeof(*e));
	struct step_groups_stats s;

	step_groups_stats(env->step_groups, &s);
	if (e) {
		e->env = env;
		e->first = calloc(units_capacity(env->units), sizeof(*e->first));
		e->next = calloc(s.slots, sizeof(*e->next));
	}
	if (!e || !e->first || !e->next) {
		io_export_free(e);
		return -ENOMEM;
	}
	*ret = e;
	return 0;
}

void io_export_free(struct io_export *e)
{
	if (!e)
		return;
	buf_done(&e->block);
	unit_io_total_done(&e->total);
	free(e->first);
	free(e->next);
	free(e);
}

/* A whole part of the path: /lustre is above /lustre/scratch, not above /lustre2. */
static bool is_at_or_below(const char *path, const char *above)
{
	size_t len = strlen(above);

	while (len && above[len - 1] == '/')
		len--;
	return strncmp(path, above, len) == 0 && (!path[len] || path[len] == '/');
}

bool io_export_wants(const struct options *o, const char *path)
{
	const struct conf_list *wanted = &o->ebpf_mount_points;

	for (size_t i = 0; i < wanted->count; i++) {
		if (is_at_or_below(path, wanted->items[i]))
			return true;
	}
	return !wanted->count || !*path;
}

/* Absent where nothing was: few programs use io_submit(2). */
static void put_asked(struct prom *out, const struct prom_label *labels,
		      const struct io_counts *c)
{
	static const struct prom_family read = {
		"ceems_ebpf_aio_read_requested_bytes_total", PROM_COUNTER,
		"Bytes that io_submit(2) was asked to read from files of the mount"};
	static const struct prom_family written = {
		"ceems_ebpf_aio_write_requested_bytes_total", PROM_COUNTER,
		"Bytes that io_submit(2) was asked to write to files of the mount"};

	if (c->asked_read_bytes) {
		prom_family(out, &read);
		prom_put_u64(out, labels, 4, c->asked_read_bytes);
	}
	if (c->asked_write_bytes) {
		prom_family(out, &written);
		prom_put_u64(out, labels, 4, c->asked_write_bytes);
	}
}

static void put_io_times(struct prom *out, const struct prom_label *mount,
			 const struct io_times *t)
{
	static const struct prom_family family = {
		"ceems_ebpf_io_latency_seconds", PROM_HISTOGRAM,
		"How long calls of read(2), write(2) and their kind took, on files of "
		"the mount"};
	static const char *const bounds[IO_BUCKETS] = {
		"1e-06",    "4e-06",    "1.6e-05",   "6.4e-05",   "0.000256",
		"0.001024", "0.004096", "0.016384",  "0.065536",  "0.262144",
		"1.048576", "4.194304", "16.777216", "67.108864", "+Inf"};
	static const char *const names[IO_DIRECTIONS] = {"read", "write"};

	for (unsigned i = 0; i < IO_DIRECTIONS; i++) {
		uint64_t counts[IO_BUCKETS], any = 0;
		for (unsigned b = 0; b < IO_BUCKETS; b++)
			any |= counts[b] = t->of[i].calls[b];
		if (!any)
			continue;
		const struct prom_label labels[] = {mount[0],
						    mount[1],
						    mount[2],
						    mount[3],
						    {"direction", names[i]}};
		const struct prom_histogram h = {bounds, counts, IO_BUCKETS,
						 t->of[i].ns, 9};
		prom_family(out, &family);
		prom_put_histogram(out, labels, 5, &h);
	}
}

static void put_io_errors(struct prom *out, const struct prom_label *mount,
			  const struct io_errors *e)
{
	static const struct prom_family family = {
		"ceems_ebpf_io_errors_total", PROM_COUNTER,
		"Calls that failed, by why: a full disk or quota is space"};
	static const char *const calls[IO_ERROR_CALLS] = {"read", "write", "name"};
	static const char *const classes[IO_ERROR_CLASSES] = {
		"space", "io", "access", "missing", "again", "other"};

	for (unsigned i = 0; i < IO_ERROR_CALLS * IO_ERROR_CLASSES; i++) {
		unsigned call = i / IO_ERROR_CLASSES, class = i % IO_ERROR_CLASSES;
		if (!e->of[call][class])
			continue;
		const struct prom_label labels[] = {mount[0],
						    mount[1],
						    mount[2],
						    mount[3],
						    {"call", calls[call]},
						    {"class", classes[class]}};
		prom_family(out, &family);
		prom_put_u64(out, labels, 6, e->of[call][class]);
	}
}

/* Family by family, as a scrape lists them */
static void put_io_counts(const struct io_export *e, struct prom *out,
			  const struct unit_io_total *t)
{
	static const struct prom_family families[] = {
		{"ceems_ebpf_read_bytes_total", PROM_COUNTER,
		 "Bytes that the unit's processes read from files of the mount"},
		{"ceems_ebpf_read_requests_total", PROM_COUNTER,
		 "Calls of read(2) and its kind, and reads by io_uring, of files "
		 "of the mount"},
		{"ceems_ebpf_read_errors_total", PROM_COUNTER,
		 "Of these, those that failed"},
		{"ceems_ebpf_write_bytes_total", PROM_COUNTER,
		 "Bytes that the unit's processes wrote to files of the mount"},
		{"ceems_ebpf_write_requests_total", PROM_COUNTER,
		 "Calls of write(2) and its kind, and writes by io_uring, to files "
		 "of the mount"},
		{"ceems_ebpf_write_errors_total", PROM_COUNTER,
		 "Of these, calls that failed"},
	};

	for (size_t i = 0; i < sizeof(families) / sizeof(families[0]); i++) {
		prom_family(out, &families[i]);
		for (uint32_t n = 0; n < t->count; n++) {
			const struct io_counts *c = &t->mounts[n].counts;
			const uint64_t values[] = {c->read_bytes,  c->read_calls,
						   c->read_errors, c->write_bytes,
						   c->write_calls, c->write_errors};
			if (e->labels[n].len)
				prom_put_shared_u64(out, e->labels[n], values[i]);
		}
	}
}

/* What few mounts have. */
static void put_seldom(struct prom *out, const struct io_export *e,
		       const struct unit *unit, const struct mount_io *m)
{
	const struct prom_label labels[] = {
		{"manager", record_manager_name((uint8_t)unit->manager)},
		{"hostname", e->env->hostname},
		{"uuid", unit->id},
		{"mountpoint", m->path}};

	put_asked(out, labels, &m->counts);
	if (m->depth) {
		put_io_times(out, labels, &m->depth->times);
		put_io_errors(out, labels, &m->depth->errors);
	}
}

static void put_unit_mounts(struct io_export *e, struct prom *out,
			    const struct unit *unit, const struct unit_io_total *t)
{
	/* as of all that a unit has, without the brace at their end */
	size_t common = e->block.len - 1;

	for (uint32_t n = 0; n < t->count; n++) {
		const struct mount_io *m = &t->mounts[n];
		e->labels[n] = (struct prom_shared){0};
		if (!io_export_wants(e->env->options, m->path))
			continue;
		buf_truncate(&e->block, common);
		buf_putc(&e->block, ',');
		buf_put(&e->block, m->held->label, m->held->label_len);
		e->labels[n] = prom_share_labels(out, &e->block);
		put_seldom(out, e, unit, m);
	}
	put_io_counts(e, out, t);
}

static void put_names(struct io_export *e, struct prom *out, const struct io_names *n)
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
	const uint64_t values[] = {n->opens,         n->open_errors,   n->creates,
				   n->create_errors, n->create_errors, n->unlinks,
				   n->unlink_errors};

	const struct prom_shared shared = prom_share_labels(out, &e->block);
	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		prom_family(out, &families[i]);
		prom_put_shared_u64(out, shared, values[i]);
	}
}

static void put_unit_samples(struct io_export *e, const struct unit *unit,
			     struct prom *out)
{
	const struct prom_label labels[] = {
		{"manager", record_manager_name((uint8_t)unit->manager)},
		{"hostname", e->env->hostname},
		{"uuid", unit->id}};

	buf_reset(&e->block);
	prom_render_labels(&e->block, labels, 3);
	put_names(e, out, &e->total.names);
	if (!buf_error(&e->block))
		put_unit_mounts(e, out, unit, &e->total);
}

static int put_unit_io(struct io_export *e, uint32_t i, struct prom *out)
{
	const struct env *env = e->env;
	int rc;

	unit_io_total_reset(&e->total);
	rc = unit_io_add_ended(env->unit_io, i, &e->total);
	for (uint32_t slot = e->first[i]; slot != SLOT_NONE && rc == 0;
	     slot = e->next[slot])
		rc = unit_io_add_slot(env->unit_io, slot, &e->total);
	if (rc == 0)
		put_unit_samples(e, units_get(env->units, i), out);
	return rc < 0 ? rc : buf_error(&e->block);
}

static void chain_slots(struct io_export *e)
{
	const struct env *env = e->env;
	uint32_t unit;

	for (uint32_t i = 0; i < units_capacity(env->units); i++)
		e->first[i] = SLOT_NONE;
	for (uint32_t slot = 0;
	     (slot = step_groups_next(env->step_groups, slot, &unit)) != UINT32_MAX;
	     slot++) {
		e->next[slot] = e->first[unit];
		e->first[unit] = slot;
	}
}

/* One unit after the other, so that what they all have need not be held at once */
static int put_units(struct io_export *e, struct prom *out)
{
	const struct env *env = e->env;
	int rc = 0;

	chain_slots(e);
	for (uint32_t i = units_next(env->units, 0); i != UNITS_NONE && rc == 0;
	     i = units_next(env->units, i + 1)) {
		if (step_groups_exported(env, i))
			rc = put_unit_io(e, i, out);
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
		"Calls of units that were counted without their mount, since no cell "
		"was free"};
	static const struct prom_family compat = {
		"ceems_io_compat_calls_total", PROM_COUNTER,
		"System calls of 32-bit programs in units, which are not counted"};
	static const struct prom_family backend = {
		"ceems_io_backend_info", PROM_GAUGE,
		"By which programs the kernel counts what units read and write"};
	const struct prom_label hostname = {"hostname", env->hostname};
	struct unit_io_stats s;

	unit_io_stats(env->unit_io, &s);
	const struct prom_label programs[] = {
		hostname,
		{"calls", "sys_exit"},
		{"io_uring", s.counted & IO_COUNTED_URING ? "yes" : "no"},
		{"latency", s.counted & IO_COUNTED_TIMES ? "yes" : "no"}};
	prom_family(out, &backend);
	prom_put_u64(out, programs, 4, 1);
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

int io_export(struct io_export *e, struct prom *out)
{
	put_io_stats(e->env, out);
	return put_units(e, out);
}
