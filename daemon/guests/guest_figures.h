/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_DAEMON_GUESTS_GUEST_FIGURES_H
#define CEEMS_DAEMON_GUESTS_GUEST_FIGURES_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/env.h"
#include "daemon/units.h"
#include "lib/prom.h"
#include "lib/records/record.h"

/*
 * A virtual machine as its guest and its hypervisor see it, beside the control group,
 * which is the host's view: figures of libvirt's (virDomainListGetStats) that an
 * adapter sends with RECORD_HELLO. Nothing is divided or billed by them, so they are
 * not in the unit table: after a restart of ceemsd they come with the adapter's next
 * round. The caller serialises (struct daemon's lock).
 */

/* Sets of figures of one unit: its memory, disks and interfaces. More are left out. */
#define GUEST_FIGURES_MAX 64u
/* Not exported when nobody has told of them for so long: adapters do so at least every
 * minute. */
#define GUEST_FIGURES_STALE_NS 150000000000ull

struct guest_figures;

/* Units are borrowed. -ENOMEM */
int guest_figures_new(struct units *units, struct guest_figures **ret);
void guest_figures_free(struct guest_figures *g); /* accepts NULL */

/* Those of a record, instead of earlier ones of the same kind and name. A unit that is
 * not in the table is nothing. */
void guest_figures_take(struct guest_figures *g, const struct record *r);

/* Writes those of running units of a manager. */
void guest_figures_export(const struct guest_figures *g, const struct env *env,
			  uint32_t manager, struct prom *out);

#endif
