/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LIB_BUF_H
#define CEEMS_LIB_BUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A growable byte buffer with a limit and a sticky error: callers append without
 * checking and look at buf_error() once at the end. Not thread safe. */
struct buf {
	char *data; /* owned; NUL-terminated whenever it is not NULL */
	size_t len; /* bytes used, not counting the NUL */
	size_t cap; /* bytes allocated */
	size_t max; /* limit in bytes; 0: 64 MiB */
	int error;  /* 0, -ENOMEM or -EFBIG; after an error appending does nothing */
};

#define BUF_INIT                                                                       \
	{                                                                              \
		0                                                                      \
	}

void buf_init(struct buf *b, size_t max);
void buf_done(struct buf *b);  /* frees; b may be used again after it */
void buf_reset(struct buf *b); /* empties, keeps the memory, clears the error */
int buf_error(const struct buf *b);
/* Cuts to len bytes (len <= b->len). */
void buf_truncate(struct buf *b, size_t len);
/* Makes room for n more bytes and returns where to write them, or NULL; call
 * buf_commit() afterwards. */
char *buf_reserve(struct buf *b, size_t n);
void buf_commit(struct buf *b, size_t n);

void buf_put(struct buf *b, const void *data, size_t len);
void buf_puts(struct buf *b, const char *s);
void buf_putc(struct buf *b, char c);
void buf_put_u64(struct buf *b, uint64_t v);
/* The digits alone, without NUL, for whoever has reserved the room. Returns how many.
 */
#define BUF_DIGITS_MAX 20
size_t buf_print_u64(char ret[BUF_DIGITS_MAX], uint64_t v);
void buf_put_s64(struct buf *b, int64_t v);
/* v * 10^-decimals, exactly, without trailing zeros: (1500, 3) -> "1.5". decimals <= 18
 */
void buf_put_scaled(struct buf *b, uint64_t v, unsigned decimals);
/* Shortest text that reads back as v; +Inf, -Inf and NaN as Prometheus spells them. */
void buf_put_f64(struct buf *b, double v);
void buf_printf(struct buf *b, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* A JSON string with its quotes; control characters escaped, invalid UTF-8 -> U+FFFD.
 */
void buf_put_json(struct buf *b, const char *s, size_t len);

/* Length in bytes of the valid UTF-8 character at s (1-4), or 0 when it is not one. */
size_t utf8_len(const char *s, size_t left);
/* Replaces each byte that is not of a valid character by '?'. */
void utf8_clean(char *s, size_t len);
/* UTF-8 without NUL. */
bool utf8_is_text(const char *s, size_t len);

#define auto_buf __attribute__((cleanup(buf_done)))

#endif
