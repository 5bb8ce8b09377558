/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LIB_BASE64_H
#define CEEMS_LIB_BASE64_H

#include <stddef.h>
#include <sys/types.h>

#include "lib/buf.h"

/* base64 (RFC 4648). Decoding takes one text for each value: bits that stand for
 * nothing must be 0, and nothing but letters and padding is skipped or allowed. */
enum base64_form {
	BASE64_PADDED,     /* section 4: + and /, padded with = */
	BASE64_URL,        /* section 5: - and _, never padded */
	BASE64_URL_EITHER, /* section 5, padded or not */
};

/* Bytes that a text of len letters has at most */
#define BASE64_BYTES(len) ((len) / 4 * 3 + 3)

/* Bytes written to ret; -EINVAL: not base64 of that form; -ENOSPC: more than size. */
ssize_t base64_decode(const char *text, size_t len, enum base64_form form, void *ret,
		      size_t size);

/* Appends n bytes as BASE64_PADDED. */
void base64_put(struct buf *out, const void *bytes, size_t n);

#endif
