/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LIB_SERVICE_H
#define CEEMS_LIB_SERVICE_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#include "lib/privileges.h"

/* What the main thread of a daemon does once everything has started: it waits for
 * signals, ticks, and tells systemd. In main():
 *
 *	signals_open(&fd, err);          before threads
 *	... start, drop privileges ...
 *	service_say_user(&privileges);
 *	service_run(&(struct service){
 *		.signalfd = fd, .wait_ms = 1000,
 *		.tick = tick, .reload = reload, .arg = &program});
 *	... stop, close fd ...
 */
#define SERVICE_END UINT_MAX
struct service {
	int signalfd;     /* of signals_open(); stays the caller's */
	unsigned wait_ms; /* until the first tick */
	/* What is done now and then; must not wait. Returns the ms until the next. A
	 * signal may bring it earlier. SERVICE_END: it cannot go on, and has logged
	 * why. NULL: nothing. */
	unsigned (*tick)(void *arg);
	/* SIGHUP: reads everything again. What is refused stays as it was, and is
	 * logged by it; false: something was. */
	bool (*reload)(void *arg);
	void *arg;
};

/* Logs as whom the program runs: p as it was when privileges_drop() had been called. */
void service_say_user(const struct privileges *p);

/* Filters the system calls of the program and of what it starts (lib/sandbox.h) if
 * wanted, and logs what came of it; true: they are filtered. A kernel that cannot is no
 * failure. After privileges_drop(), before the first thread. */
bool service_filter_calls(bool wanted);

/* Keeps the program to the files of the system and to those beside files (one path per
 * line) and in folders (lib/fence.h) if wanted, and logs what came of it; true: it is
 * kept to them. As service_filter_calls(). */
bool service_fence_files(bool wanted, const char *files, const char *const *folders,
			 size_t count);

/* For --check-config of program: says what these two will do. */
void service_check_calls(const char *program, bool wanted);
void service_check_files(const char *program, bool wanted);

/* A reload that failed for a file which may not be read: why that may be. */
void service_say_outside(const struct err *err);

/* Warns that passwords and records can be read on the way (web_is_in_clear()). */
void service_say_in_clear(void);

/* Says "ready" to the log and to systemd (sd_notify(3): READY, RELOADING, STOPPING),
 * then serves until SIGTERM or SIGINT, which is logged. All on the calling thread. */
void service_run(const struct service *s);

#endif
