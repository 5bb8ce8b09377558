/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_REDFISH_PROXY_TARGET_H
#define CEEMS_REDFISH_PROXY_TARGET_H

#include "lib/err.h"
#include "redfish_proxy/cache.h"
#include "redfish_proxy/config.h"
#include "redfish_proxy/metrics.h"

/* BMCs and the threads that talk to them. Each BMC has its own queue, limits and signed
 * in connections; a slow or dead one takes as many threads as it may have connections,
 * and after a failure it is left alone for a while, which grows. Thread safe. */

struct targets;

/* config, cache and metrics are borrowed. Threads run from here on. */
int targets_new(const struct config *config, struct cache *cache,
		struct metrics *metrics, struct targets **ret, struct err *err);
/* Answers all that waits and ends the threads: from here on nothing is asked. */
void targets_stop(struct targets *t);
/* Answers what waits, signs out everywhere (within a few seconds), ends the threads. No
 * other call may run. Accepts NULL. */
void targets_free(struct targets *t);

/* Asks for what a cache entry is about, of the BMC of url; conf is what is listed for
 * it, NULL for the template's. cache_fill() is called in any case, perhaps before this
 * returns. */
void targets_submit(struct targets *t, const char *url,
		    const struct config_target *conf, struct cache_entry *entry);

/* Closes connections that have not been used for a while, signing out first. */
void targets_sweep(struct targets *t, uint64_t now_ns);

/* How many are known, how many are left alone, how many requests wait. */
void targets_count(struct targets *t, size_t *ret_known, size_t *ret_down,
		   size_t *ret_queued);

#endif
