/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_DAEMON_ENERGY_OPTIONS_H
#define CEEMS_DAEMON_ENERGY_OPTIONS_H

#include "daemon/energy.h"
#include "daemon/options.h"

/* The configuration of dividing from the --energy options. -EINVAL names the option. */
int energy_options(const struct options *o, struct energy_config *ret, struct err *err);

/* --energy.host-source: a name of a source, "auto" or "none" */
const char *energy_host_source(const struct options *o);

#endif
