/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LIB_HTTP_TEXT_H
#define CEEMS_LIB_HTTP_TEXT_H

#include <stdbool.h>
#include <stddef.h>

/* What the header lines of a message consist of. Each is looked at a byte at a time, of
 * every message: by a table. */

/* A name (RFC 9110, 5.6.2: a token), of one byte at least. */
bool http_text_is_token(const char *s, size_t len);
/* A value: no control character but tabs, nothing that ends a line for somebody. */
bool http_text_is_value(const char *s, size_t len);

#endif
