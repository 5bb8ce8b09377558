/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_DAEMON_NODE_PROCFILE_COLLECTOR_H
#define CEEMS_DAEMON_NODE_PROCFILE_COLLECTOR_H

#include <stddef.h>

#include "daemon/collector.h"
#include "lib/buf.h"
#include "lib/err.h"
#include "lib/prom.h"

/* A collector of one procfs file: opening, reading at each scrape, and the label
 * hostname are here; what is left is the function that puts its metrics. */
struct procfile_collector {
	const char *path; /* below the root of procfs */
	/* Text of len bytes, any bytes, not NUL-terminated; host is the rendered label
	 * hostname for prom_put_block_u64() and its kin. Returns 0, or negative errno
	 * with a text that names what is wrong in the file: then nothing is exported.
	 * Called by one thread at a time. */
	int (*put)(const char *text, size_t len, const struct buf *host,
		   struct prom *out, struct err *err);
};

/* struct collector's functions. open: -ENODEV where the file is not there. */
int procfile_collector_open(const struct procfile_collector *what,
			    const struct env *env, void **ret_state, struct err *err);
int procfile_collector_collect(void *state, struct prom *out, struct err *err);
void procfile_collector_close(void *state);

/* Defines collector_<name_>, which reads path_ and calls put_. */
#define PROCFILE_COLLECTOR(name_, path_, put_)                                         \
	static int open_##name_(const struct env *env, void **ret_state,               \
				struct err *err)                                       \
	{                                                                              \
		static const struct procfile_collector what = {path_, put_};           \
		return procfile_collector_open(&what, env, ret_state, err);            \
	}                                                                              \
	const struct collector collector_##name_ = {                                   \
		.name = #name_,                                                        \
		.open = open_##name_,                                                  \
		.collect = procfile_collector_collect,                                 \
		.close = procfile_collector_close,                                     \
	}

#endif
