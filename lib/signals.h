/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LIB_SIGNALS_H
#define CEEMS_LIB_SIGNALS_H

#include <signal.h>
#include <stddef.h>

#include "lib/err.h"

/* Blocks SIGHUP, SIGTERM and SIGINT, ignores SIGPIPE and SIGXFSZ, and returns a
 * descriptor that reads the blocked ones (signalfd(2), close-on-exec). 0 or negative
 * errno. Call before threads, which inherit the mask. */
int signals_open(int *ret_fd, struct err *err);

/* Call around the creation of a thread that must not get signals: it inherits the mask.
 * Signals that an instruction raises stay unblocked, as the process would end silently.
 * pthread_sigmask(SIG_SETMASK, ret_old, NULL) afterwards. */
void signals_block(sigset_t *ret_old);

/* Exit status of a process whose mapped file was truncated: EX_OSFILE of sysexits.h.
 * Its service manager restarts it, and it checks its files then. */
#define SIGNALS_STATUS_BUS 72
#define SIGNALS_MAPPINGS 8

/* Guards a file called `name` that is mapped at [map, map + bytes). If the file is
 * truncated, access to a missing page raises SIGBUS (mmap(2)): from the first call on,
 * the process then names the file on stderr and exits with SIGNALS_STATUS_BUS. Any
 * other SIGBUS ends it as before. -ENOSPC: more than SIGNALS_MAPPINGS at a time. One
 * thread. */
int signals_guard(const void *map, size_t bytes, const char *name);
/* Call before unmapping. An unguarded mapping is ignored. */
void signals_unguard(const void *map);

#endif
