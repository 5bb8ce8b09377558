/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_CONTRIB_LIBVIRT_WATCH_H
#define CEEMS_CONTRIB_LIBVIRT_WATCH_H

#include "contrib/libvirt/domains.h"
#include "contrib/libvirt/options.h"

/*
 * Asks libvirt by its C library (libvirt.org/html/libvirt-libvirt-domain.html): one
 * read-only connection for each URI, its events, a list after each connection and at
 * each refresh. One thread; a call that does not return is noticed by another one,
 * which ends the process: systemd starts it again, and nothing is lost but time.
 */

/* --once: a list of each. 0, or the error of the first that could not be asked. */
int watch_list(const struct options *o, struct domains *d, struct err *err);
/* Runs for ever; returns only if it cannot begin. ring: its path, for figures. */
int watch_run(const struct options *o, struct domains *d, const char *ring,
	      struct err *err);

#endif
