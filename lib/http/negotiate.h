/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LIB_HTTP_NEGOTIATE_H
#define CEEMS_LIB_HTTP_NEGOTIATE_H

#include <stdbool.h>

#include "lib/prom.h"

/* Content negotiation (RFC 9110, 12.5). Accepts any text; looks at no more than
 * NEGOTIATE_RANGES_MAX elements of a list. */

#define NEGOTIATE_RANGES_MAX 64

/* The exposition format for an Accept header (NULL: none). OpenMetrics only when it is
 * named (versions 1.0.0, 0.0.1 or none) with at least the q-value of text/plain; the
 * first named wins a tie. If nothing matches, the text format is sent: a scraper that
 * asks for an unknown format still wants its numbers. *ret_content_type is static. */
enum prom_format negotiate_format(const char *accept, const char **ret_content_type);

/* Whether to compress for an Accept-Encoding header (NULL: no). */
bool negotiate_gzip(const char *accept_encoding);

#endif
