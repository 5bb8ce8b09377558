/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LIB_OWN_HOST_H
#define CEEMS_LIB_OWN_HOST_H

#include <stdbool.h>

/* Names of this host. Thread safe. */

/* Whether name is gethostname(2), whole or without its domain, or the long name found
 * by own_host_learn_name(). Does not block. */
bool own_host_is_named(const char *name);

/* If name could be our long name and gethostname(2) is a short one, asks the name
 * service for the long one, at most once a minute until it is known. Blocks. */
void own_host_learn_name(const char *name);

#endif
