/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_AGGREGATOR_API_LIMIT_H
#define CEEMS_AGGREGATOR_API_LIMIT_H

#include <stdbool.h>
#include <stdint.h>

/* How often a user may ask in a minute (--web.max-requests). By who it is proved to be,
 * not by an address or a header that a client chooses. Thread safe. */

#define API_LIMIT_USERS 4096 /* that are counted at a time; more are let through */

struct api_limit;

struct api_limit *api_limit_new(uint64_t most); /* NULL: no memory */
void api_limit_free(struct api_limit *l);       /* accepts NULL */
/* Counts a request; false: it is one too many. */
bool api_limit_take(struct api_limit *l, const char *login, uint64_t now_ns);

#endif
