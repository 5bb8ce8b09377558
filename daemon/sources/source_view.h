/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_DAEMON_SOURCES_SOURCE_VIEW_H
#define CEEMS_DAEMON_SOURCES_SOURCE_VIEW_H

#include "daemon/sources/sampler.h"

/* State of a collector that only exports its source's last sample. */
struct source_view {
	const struct env *env;
	const struct source *source;
	struct source_snapshot last;
};

/* Errors: -ENODEV and others of sampler_is_open(). */
int source_view_open(const struct env *env, const struct source *source,
		     void **ret_state, struct err *err);
/* Fills v->last: sampler_get() and its errors. */
int source_view_read(struct source_view *v, struct err *err);
void source_view_close(void *state); /* accepts NULL */

#endif
