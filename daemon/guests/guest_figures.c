/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/guests/guest_figures.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct guest_set {
	struct record_figures figures;
	uint64_t told_ns; /* CLOCK_BOOTTIME of the record */
};

struct guest {
	uint64_t serial; /* unit_serial() that this belongs to */
	uint32_t count;
	struct guest_set *sets;
};

struct guest_figures {
	struct units *units;
	struct guest *guests; /* by index of the unit */
	uint32_t guest_count;
};

int guest_figures_new(struct units *units, struct guest_figures **ret)
{
	struct guest_figures *g = calloc(1, sizeof(*g));

	if (!g)
		return -ENOMEM;
	g->units = units;
	g->guest_count = units_capacity(units);
	g->guests = calloc(g->guest_count, sizeof(*g->guests));
	if (!g->guests) {
		guest_figures_free(g);
		return -ENOMEM;
	}
	*ret = g;
	return 0;
}

void guest_figures_free(struct guest_figures *g)
{
	if (!g)
		return;
	for (uint32_t i = 0; g->guests && i < g->guest_count; i++)
		free(g->guests[i].sets);
	free(g->guests);
	free(g);
}

static bool is_stale(const struct guest_set *s, uint64_t now_ns)
{
	return now_ns > s->told_ns && now_ns - s->told_ns > GUEST_FIGURES_STALE_NS;
}

/* The set of this kind and name, else one that is free or stale. NULL: no room. */
static struct guest_set *find_guest_set(struct guest *guest,
					const struct record_figures *f, uint64_t now_ns)
{
	struct guest_set *old = NULL;

	for (uint32_t i = 0; i < guest->count; i++) {
		struct guest_set *s = &guest->sets[i];
		if (s->figures.kind == f->kind && strcmp(s->figures.name, f->name) == 0)
			return s;
		if (is_stale(s, now_ns))
			old = s;
	}
	if (old || guest->count >= GUEST_FIGURES_MAX)
		return old;
	struct guest_set *sets =
		reallocarray(guest->sets, guest->count + 1u, sizeof(*sets));
	if (!sets)
		return NULL;
	guest->sets = sets;
	return &sets[guest->count++];
}

void guest_figures_take(struct guest_figures *g, const struct record *r)
{
	uint32_t unit = units_find_newest(g->units, r->manager, r->node, r->unit);

	if (unit == UNITS_NONE || unit >= g->guest_count)
		return;
	struct guest *guest = &g->guests[unit];
	if (guest->serial != unit_serial(g->units, unit)) {
		free(guest->sets);
		*guest = (struct guest){.serial = unit_serial(g->units, unit)};
	}
	for (uint32_t i = 0; i < r->figures_count && i < RECORD_FIGURES_MAX; i++) {
		struct guest_set *s =
			find_guest_set(guest, &r->figures[i], r->boottime_ns);
		if (s)
			*s = (struct guest_set){.figures = r->figures[i],
						.told_ns = r->boottime_ns};
	}
}

/* ---- metrics --------------------------------------------------------------------- */

static const struct prom_family memory_families[] = {
	[FIGURE_BALLOON] = {"ceems_compute_unit_guest_memory_balloon_bytes", PROM_GAUGE,
			    "Memory that the hypervisor gives the guest now (libvirt's "
			    "balloon.current)"},
	[FIGURE_TOTAL] = {"ceems_compute_unit_guest_memory_total_bytes", PROM_GAUGE,
			  "Memory that the guest's kernel can use, as it says by its "
			  "balloon driver"},
	[FIGURE_FREE] = {"ceems_compute_unit_guest_memory_free_bytes", PROM_GAUGE,
			 "Memory that the guest does not use at all (the same)"},
	[FIGURE_AVAILABLE] = {"ceems_compute_unit_guest_memory_available_bytes",
			      PROM_GAUGE,
			      "Memory that the guest can use without swapping (the "
			      "same)"},
	[FIGURE_CACHE] = {"ceems_compute_unit_guest_memory_cache_bytes", PROM_GAUGE,
			  "Memory that is the guest's page cache (the same)"},
	[FIGURE_SWAPPED_IN] = {"ceems_compute_unit_guest_swapped_in_bytes_total",
			       PROM_COUNTER,
			       "What the guest has read from its swap (the same)"},
	[FIGURE_SWAPPED_OUT] = {"ceems_compute_unit_guest_swapped_out_bytes_total",
				PROM_COUNTER,
				"What the guest has written to its swap (the same)"},
};

static const struct prom_family disk_families[] = {
	[FIGURE_IN_BYTES] = {"ceems_compute_unit_guest_disk_read_bytes_total",
			     PROM_COUNTER,
			     "What the guest has read from its disk (libvirt's block "
			     "statistics)"},
	[FIGURE_IN] = {"ceems_compute_unit_guest_disk_reads_total", PROM_COUNTER,
		       "Requests of the guest to read from its disk (the same)"},
	[FIGURE_OUT_BYTES] = {"ceems_compute_unit_guest_disk_written_bytes_total",
			      PROM_COUNTER,
			      "What the guest has written to its disk (the same)"},
	[FIGURE_OUT] = {"ceems_compute_unit_guest_disk_writes_total", PROM_COUNTER,
			"Requests of the guest to write to its disk (the same)"},
};

static const struct prom_family interface_families[] = {
	[FIGURE_IN_BYTES] = {"ceems_compute_unit_guest_network_received_bytes_total",
			     PROM_COUNTER,
			     "What the guest has received by the interface (libvirt's "
			     "net statistics)"},
	[FIGURE_IN] = {"ceems_compute_unit_guest_network_received_packets_total",
		       PROM_COUNTER,
		       "Packets that the guest has received by the interface (the "
		       "same)"},
	[FIGURE_OUT_BYTES] = {"ceems_compute_unit_guest_network_sent_bytes_total",
			      PROM_COUNTER,
			      "What the guest has sent by the interface (the same)"},
	[FIGURE_OUT] = {"ceems_compute_unit_guest_network_sent_packets_total",
			PROM_COUNTER,
			"Packets that the guest has sent by the interface (the same)"},
};

struct guest_kind {
	const struct prom_family *families;
	size_t count;
};

#define GUEST_KIND(table)                                                              \
	{                                                                              \
		(table), sizeof(table) / sizeof((table)[0])                            \
	}
static const struct guest_kind guest_kinds[] = {
	[FIGURES_MEMORY] = GUEST_KIND(memory_families),
	[FIGURES_DISK] = GUEST_KIND(disk_families),
	[FIGURES_INTERFACE] = GUEST_KIND(interface_families),
};
#define GUEST_KINDS (sizeof(guest_kinds) / sizeof(guest_kinds[0]))

static void put_guest_set(const struct env *env, const struct unit *unit,
			  const struct record_figures *f, struct prom *out)
{
	const struct guest_kind *kind = &guest_kinds[f->kind];
	const struct prom_label labels[] = {
		{"manager", record_manager_name((uint8_t)unit->manager)},
		{"hostname", env->hostname},
		{"cgrouphostname", unit->node},
		{"uuid", unit->id},
		{"device", f->name},
	};

	for (size_t v = 0; v < kind->count; v++) {
		if (!(f->known >> v & 1))
			continue;
		prom_family(out, &kind->families[v]);
		prom_put_u64(out, labels, f->kind == FIGURES_MEMORY ? 4 : 5,
			     f->values[v]);
	}
}

void guest_figures_export(const struct guest_figures *g, const struct env *env,
			  uint32_t manager, struct prom *out)
{
	uint64_t now_ns = env->boottime_ns();

	for (uint32_t i = units_next(g->units, 0); i != UNITS_NONE;
	     i = units_next(g->units, i + 1)) {
		const struct unit *unit = units_get(g->units, i);
		const struct guest *guest = &g->guests[i];
		if (unit->manager != manager || unit->state != UNIT_RUNNING ||
		    guest->serial != unit_serial(g->units, i))
			continue;
		for (uint32_t k = 0; k < guest->count; k++) {
			const struct record_figures *f = &guest->sets[k].figures;
			if (f->kind < GUEST_KINDS && !is_stale(&guest->sets[k], now_ns))
				put_guest_set(env, unit, f, out);
		}
	}
}
