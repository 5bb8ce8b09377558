/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_DAEMON_UNITS_TOTALS_H
#define CEEMS_DAEMON_UNITS_TOTALS_H

#include "daemon/units.h"

/* Sums of counters. */

/* t becomes the larger of each; user + system stays the exact CPU time. */
void totals_merge(struct unit_totals *t, const struct unit_totals *r);
void totals_add(struct unit_totals *t, const struct unit_totals *r);
/* t += after - before; after is before merged with something */
void totals_add_growth(struct unit_totals *t, const struct unit_totals *before,
		       const struct unit_totals *after);
struct unit_totals totals_of_record(const struct record_counters *c);

#endif
