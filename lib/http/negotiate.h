/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LIB_HTTP_NEGOTIATE_H
#define CEEMS_LIB_HTTP_NEGOTIATE_H

#include <stdbool.h>

#include "lib/prom.h"

/* What a client can take, from its headers (RFC 9110, 12.5). Total on any text; at most
 * NEGOTIATE_RANGES_MAX elements of a list are looked at. */

#define NEGOTIATE_RANGES_MAX 64

/* The exposition format for an Accept header (NULL: none). OpenMetrics only when it is
 * named (versions 1.0.0, 0.0.1 or none) and at least as welcome as text/plain; of equal
 * ones the first named. What matches nothing gets the text format, as a scraper that
 * asks for something unknown still wants its numbers. *ret_content_type is static. */
enum prom_format negotiate_format(const char *accept, const char **ret_content_type);

/* Whether to compress for an Accept-Encoding header (NULL: no). */
bool negotiate_gzip(const char *accept_encoding);

#endif
