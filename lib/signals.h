/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LIB_SIGNALS_H
#define CEEMS_LIB_SIGNALS_H

#include "lib/err.h"

/* Blocks SIGHUP, SIGTERM and SIGINT, ignores SIGPIPE, and gives a descriptor that reads
 * them (signalfd(2), closed by exec). 0 or negative errno. Call before threads: they
 * inherit what is blocked. */
int signals_open(int *ret_fd, struct err *err);

#endif
