/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_CLI_TOOL_SELFSIGNED_H
#define CEEMS_CLI_TOOL_SELFSIGNED_H

#include <stddef.h>
#include <stdint.h>

#include "lib/buf.h"
#include "lib/err.h"

/* A self-signed certificate for a server without a CA: ECDSA P-256, for these host
 * names and addresses (the first is its subject), valid from an hour ago. PEM. */
int selfsigned(const char *const *hosts, size_t count, uint64_t validity_s,
	       struct buf *ret_cert, struct buf *ret_key, struct err *err);

/* Whether the two files match and are valid now. -EKEYREJECTED; err says what is
 * wrong. */
int selfsigned_check(const char *cert_file, const char *key_file, struct err *err);

/* How long a certificate (the first of the file) is valid yet, negative once it has
 * expired. -EKEYREJECTED: not a certificate. */
int selfsigned_time_left(const char *cert_file, int64_t *ret_s, struct err *err);

#endif
