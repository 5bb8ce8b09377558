/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LIB_SERVICE_H
#define CEEMS_LIB_SERVICE_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#include "lib/privileges.h"

/* The main loop of a daemon once everything has started: it waits for signals, ticks,
 * and notifies systemd. In main():
 *
 * signals_open(&fd, err); before threads
 * ... start, drop privileges ...
 * service_say_user(&privileges);
 * service_run(&(struct service){
 * .signalfd = fd, .wait_ms = 1000,
 * .tick = tick, .reload = reload, .arg = &program});
 * ... stop, close fd ... */
#define SERVICE_END UINT_MAX
struct service {
	int signalfd;     /* from signals_open(); stays the caller's */
	int wakefd;       /* the next call of tick comes when it can be read; 0: none */
	unsigned wait_ms; /* until the first tick */
	/* Periodic work; must not block. Returns the ms until the next call, which a
	 * signal may bring forward. SERVICE_END: it cannot continue, and has logged
	 * why. NULL: none. */
	unsigned (*tick)(void *arg);
	/* SIGHUP: reads everything again. Refused changes are logged and have no
	 * effect; false: there were some. */
	bool (*reload)(void *arg);
	void *arg;
};

/* Logs which user the program runs as; p as it was at privileges_drop(). */
void service_say_user(const struct privileges *p);

/* Filters the system calls of the program and of what it starts (lib/sandbox.h) if
 * wanted, and logs the result; true: filtered. A kernel without support is not a
 * failure. After privileges_drop(), before the first thread. */
bool service_filter_calls(bool wanted);

/* Restricts the program to system files, the folders of `files` (one path per line) and
 * `folders` (lib/fence.h) if wanted, and logs the result; true: restricted. Call it
 * like service_filter_calls(). */
bool service_fence_files(bool wanted, const char *files, const char *const *folders,
			 size_t count);

/* For --check-config of program: prints what these two will do. */
void service_check_calls(const char *program, bool wanted);
void service_check_files(const char *program, bool wanted);

/* After a failed reload: if a file could not be opened, says that the fence or
 * permissions may be why. */
void service_say_outside(const struct err *err);

/* Warns that passwords and records can be read on the network (web_is_in_clear()). */
void service_say_in_clear(void);

/* Says "ready" to the log and to systemd (sd_notify(3): READY, RELOADING, STOPPING),
 * then serves until SIGTERM or SIGINT, which is logged. All on the calling thread. */
void service_run(const struct service *s);

/* For a program with a loop of its own: the next signal that signals_open()'s
 * descriptor has, which is logged if the program is to end, as all but SIGHUP say. 0:
 * there is none. */
int service_take_signal(int signalfd);

#endif
