/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_AGGREGATOR_API_LIMIT_H
#define CEEMS_AGGREGATOR_API_LIMIT_H

#include <stdbool.h>
#include <stdint.h>

/* Limits requests per minute and user (--web.max-requests), by the proved user and not
 * by an address or header that clients can choose. Thread safe. */

#define API_LIMIT_USERS 4096 /* users counted at a time; more are not limited */

struct api_limit;

struct api_limit *api_limit_new(uint64_t most); /* NULL: no memory */
void api_limit_free(struct api_limit *l);       /* accepts NULL */
/* Counts a request; false: it exceeds the limit. */
bool api_limit_take(struct api_limit *l, const char *login, uint64_t now_ns);

#endif
