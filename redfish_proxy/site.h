/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_REDFISH_PROXY_SITE_H
#define CEEMS_REDFISH_PROXY_SITE_H

#include <stdatomic.h>

#include "lib/identity/munge.h"
#include "redfish_proxy/access.h"
#include "redfish_proxy/cache.h"
#include "redfish_proxy/config.h"
#include "redfish_proxy/target.h"

/* A configuration with everything derived from it. A reload makes another one; the old
 * one is freed when its last request is over. */

struct site {
	atomic_uint refs; /* running requests */
	struct site *next_retired;
	struct config config;
	struct access *access;
	struct cache *cache;
	struct targets *targets;
	struct munge *munge; /* NULL: not configured */
};

int site_new(const char *config_file, bool expand, struct site **ret, struct err *err);
/* Starts its threads. */
int site_open(struct site *s, struct metrics *metrics, struct err *err);
void site_stop(struct site *s);
void site_free(struct site *s); /* accepts NULL */

#endif
