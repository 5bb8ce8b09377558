/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_DAEMON_TICKER_ENERGY_PAGE_FILL_H
#define CEEMS_DAEMON_TICKER_ENERGY_PAGE_FILL_H

#include "daemon/env.h"
#include "lib/records/energy_page.h"

struct sample;

/* Writes the unit table's accounts into the energy page, after each tick. Under the
 * daemon's lock. */
struct energy_page_fill;

/* Borrows everything; sample may be NULL. NULL: no memory */
struct energy_page_fill *energy_page_fill_new(const struct env *env,
					      struct sample *sample,
					      struct energy_page_writer *writer);
void energy_page_fill_free(struct energy_page_fill *p); /* accepts NULL */

int energy_page_fill_tick(struct energy_page_fill *p, struct err *err);

#endif
