/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LIB_SIGNALS_H
#define CEEMS_LIB_SIGNALS_H

#include <signal.h>
#include <stddef.h>

#include "lib/err.h"

/* Blocks SIGHUP, SIGTERM and SIGINT, ignores SIGPIPE and SIGXFSZ, and gives a
 * descriptor that reads them (signalfd(2), closed by exec). 0 or negative errno. Call
 * before threads: they inherit what is blocked. */
int signals_open(int *ret_fd, struct err *err);

/* Around the making of a thread that is to be left alone by signals: it inherits what
 * is blocked. Not those that an instruction of its own raises, which would then end the
 * process without a word. pthread_sigmask(SIG_SETMASK, ret_old, NULL) afterwards. */
void signals_block(sigset_t *ret_old);

/* How a process ends whose mapped file was made shorter: EX_OSFILE of sysexits.h. Its
 * service manager starts it again, and then it finds out what is there. */
#define SIGNALS_STATUS_BUS 72
#define SIGNALS_MAPPINGS 8

/* A file called `name` is mapped at [map, map + bytes). Who touches a page of it that
 * the file no longer has gets SIGBUS (mmap(2)): from the first call on the process then
 * says which file it was, on stderr, and ends with SIGNALS_STATUS_BUS. Any other SIGBUS
 * ends it as before. -ENOSPC: no more than SIGNALS_MAPPINGS at a time. One thread. */
int signals_guard(const void *map, size_t bytes, const char *name);
/* Before the mapping goes. One that is not guarded is nothing. */
void signals_unguard(const void *map);

#endif
