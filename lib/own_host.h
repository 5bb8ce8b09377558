/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LIB_OWN_HOST_H
#define CEEMS_LIB_OWN_HOST_H

#include <stdbool.h>

/* Names of the host that we run on. Thread safe. */

/* gethostname(2), whole or without its domain, or the long name that
 * own_host_learn_name() was told. Waits for nobody. */
bool own_host_is_named(const char *name);

/* Where that could be our long name, and gethostname(2) is a short one: asks the name
 * service for the long one, at most once a minute until it is known. Waits. */
void own_host_learn_name(const char *name);

#endif
