/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "contrib/libvirt/domain_figures.h"

#include <string.h>

#include "contrib/adapter/teller.h"
#include "lib/clock.h"
#include "lib/parse.h"

struct figure_name {
	const char *name;
	uint8_t value;
};

static const struct figure_name memory_names[] = {
	{"balloon.current", FIGURE_BALLOON},
	{"balloon.available", FIGURE_TOTAL},
	{"balloon.unused", FIGURE_FREE},
	{"balloon.usable", FIGURE_AVAILABLE},
	{"balloon.disk_caches", FIGURE_CACHE},
	{"balloon.swap_in", FIGURE_SWAPPED_IN},
	{"balloon.swap_out", FIGURE_SWAPPED_OUT},
};
static const struct figure_name disk_names[] = {
	{"rd.bytes", FIGURE_IN_BYTES},
	{"rd.reqs", FIGURE_IN},
	{"wr.bytes", FIGURE_OUT_BYTES},
	{"wr.reqs", FIGURE_OUT},
};
static const struct figure_name interface_names[] = {
	{"rx.bytes", FIGURE_IN_BYTES},
	{"rx.pkts", FIGURE_IN},
	{"tx.bytes", FIGURE_OUT_BYTES},
	{"tx.pkts", FIGURE_OUT},
};

static void set_figure(struct record_figures *f, const struct figure_name *names,
		       size_t count, const char *name, uint64_t value)
{
	for (size_t i = 0; i < count; i++) {
		if (strcmp(names[i].name, name) != 0)
			continue;
		f->values[names[i].value] = value;
		f->known |= (uint8_t)(1u << names[i].value);
	}
}

/* "block.3.rd.bytes": the fourth of list, and *field "rd.bytes". NULL: none of these.
 */
static struct record_figures *find_listed(struct record_figures *list, uint64_t max,
					  const char *prefix, const char **field)
{
	const char *p = *field, *end = p + strlen(p);
	size_t len = strlen(prefix);
	uint64_t i;

	if (strncmp(p, prefix, len) != 0)
		return NULL;
	p += len;
	if (scan_u64(&p, end, &i) < 0 || i >= max || *p != '.')
		return NULL;
	*field = p + 1;
	return &list[i];
}

static struct record_figures *find_counted_device(struct domain_figures *f,
						  const char **field, bool *ret_disk)
{
	struct record_figures *d =
		find_listed(f->disks, DOMAIN_DISKS_MAX, "block.", field);

	*ret_disk = d != NULL;
	return d ? d : find_listed(f->interfaces, DOMAIN_INTERFACES_MAX, "net.", field);
}

#define COUNT_OF(list) (sizeof(list) / sizeof((list)[0]))

void domain_figures_number(struct domain_figures *f, const char *field, uint64_t value)
{
	bool disk;
	struct record_figures *d = find_counted_device(f, &field, &disk);

	if (d && disk)
		set_figure(d, disk_names, COUNT_OF(disk_names), field, value);
	else if (d)
		set_figure(d, interface_names, COUNT_OF(interface_names), field, value);
	else if (strcmp(field, "balloon.last-update") == 0)
		f->heard_s = value;
	else if (value <= UINT64_MAX >> 10) /* KiB */
		set_figure(&f->memory, memory_names, COUNT_OF(memory_names), field,
			   value << 10);
}

void domain_figures_text(struct domain_figures *f, const char *field, const char *value)
{
	bool disk;
	struct record_figures *d = find_counted_device(f, &field, &disk);

	/* one that is cut could be another's */
	if (d && strcmp(field, "name") == 0 && strlen(value) < sizeof(d->name))
		memcpy(d->name, value, strlen(value) + 1);
}

static void begin_figures(const struct domain_figures *f, struct record *r)
{
	teller_begin(r, RECORD_HELLO, MANAGER_LIBVIRT);
	record_set(r, r->unit, sizeof(r->unit), f->uuid);
}

static int add_device(const struct domain_figures *f, const char *ring,
		      struct record *r, uint8_t kind, const struct record_figures *d,
		      struct err *err)
{
	int rc = 0;

	if (!d->known || !*d->name)
		return 0;
	if (r->figures_count == RECORD_FIGURES_MAX) {
		rc = teller_send_to(ring, r, err);
		begin_figures(f, r);
	}
	(void)record_add_figures(r, kind, d->name, d->known, d->values);
	return rc;
}

int domain_figures_send(struct domain_figures *f, const char *ring,
			uint64_t realtime_ns, struct err *err)
{
	uint64_t now_s = realtime_ns / NSEC_PER_SEC;
	struct record r;
	int rc = 0;

	begin_figures(f, &r);
	if (now_s > f->heard_s && now_s - f->heard_s > DOMAIN_FIGURES_OLD_S)
		f->memory.known &= 1u << FIGURE_BALLOON;
	if (f->memory.known)
		(void)record_add_figures(&r, FIGURES_MEMORY, "", f->memory.known,
					 f->memory.values);
	for (size_t i = 0; rc == 0 && i < DOMAIN_DISKS_MAX; i++)
		rc = add_device(f, ring, &r, FIGURES_DISK, &f->disks[i], err);
	for (size_t i = 0; rc == 0 && i < DOMAIN_INTERFACES_MAX; i++)
		rc = add_device(f, ring, &r, FIGURES_INTERFACE, &f->interfaces[i], err);
	if (rc == 0 && r.figures_count)
		rc = teller_send_to(ring, &r, err);
	return rc;
}
