/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_DAEMON_COLLECTOR_H
#define CEEMS_DAEMON_COLLECTOR_H

#include <stddef.h>

#include "daemon/env.h"
#include "lib/err.h"
#include "lib/prom.h"

struct source;

/* One per collector_<name>.c; daemon/collectors.h lists them, with their options. */
struct collector {
	const char *name; /* flag --collector.<name>, label value and file stem */
	/* NULL: it reads at each scrape. Else it exports the last sample of this source
	 * (daemon/sources/sampler.h). */
	const struct source *source;
	/* -ENODEV: absent on this machine, not an error. Its state goes to
	 * *ret_state */
	int (*open)(const struct env *env, void **ret_state, struct err *err);
	/* Bounded time. Output of a failed call is rolled back by the caller. Calls are
	 * serialised by the caller. */
	int (*collect)(void *state, struct prom *out, struct err *err);
	void (*close)(void *state); /* accepts NULL */
	/* Whether its options make sense on this machine, for --check-config: 0, or
	 * -ENOENT with a text saying what has no effect and why. NULL: always. */
	int (*look)(const struct env *env, struct err *err);
};

extern const struct collector *const collectors[]; /* sorted by name */
extern const size_t collectors_count;

#endif
