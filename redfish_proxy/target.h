/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_REDFISH_PROXY_TARGET_H
#define CEEMS_REDFISH_PROXY_TARGET_H

#include "lib/err.h"
#include "redfish_proxy/cache.h"
#include "redfish_proxy/config.h"
#include "redfish_proxy/metrics.h"

/* BMCs and the threads that talk to them. Each BMC has its own queue, limits and
 * sessions; a slow or dead one blocks no more threads than it may have connections, and
 * after a failure it is left alone for a growing time. Thread safe. */

struct targets;

/* config, cache and metrics are borrowed. Starts the threads. */
int targets_new(const struct config *config, struct cache *cache,
		struct metrics *metrics, struct targets **ret, struct err *err);
/* Answers all waiting requests and ends the threads: nothing is asked from now on. */
void targets_stop(struct targets *t);
/* Answers waiting requests, signs out everywhere (within a few seconds), ends the
 * threads. No other call may run. Accepts NULL. */
void targets_free(struct targets *t);

/* Asks the BMC of url for a cache entry's path; conf is its listed target, NULL for the
 * template's. cache_fill() is called in any case, possibly before this returns. */
void targets_submit(struct targets *t, const char *url,
		    const struct config_target *conf, struct cache_entry *entry);

/* Closes connections that have been idle for long, signing out first. */
void targets_sweep(struct targets *t, uint64_t now_ns);

/* Numbers of known BMCs, of those left alone after failures, and of waiting
 * requests. */
void targets_count(struct targets *t, size_t *ret_known, size_t *ret_down,
		   size_t *ret_queued);

#endif
