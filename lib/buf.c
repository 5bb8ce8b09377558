/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The growable buffer used by all text and byte writers of the project. */
#include "lib/buf.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BUF_MAX_DEFAULT ((size_t)64 << 20)

void buf_init(struct buf *b, size_t max)
{
	*b = (struct buf){.max = max};
}

void buf_done(struct buf *b)
{
	free(b->data);
	*b = (struct buf){.max = b->max};
}

void buf_reset(struct buf *b)
{
	b->len = 0;
	b->error = 0;
	if (b->data)
		b->data[0] = '\0';
}

int buf_error(const struct buf *b)
{
	return b->error;
}

void buf_truncate(struct buf *b, size_t len)
{
	if (len < b->len) {
		b->len = len;
		b->data[len] = '\0';
	}
}

char *buf_reserve(struct buf *b, size_t n)
{
	size_t max = b->max ? b->max : BUF_MAX_DEFAULT;

	if (b->error)
		return NULL;
	if (n >= max || b->len >= max - n) {
		b->error = -EFBIG;
		return NULL;
	}
	size_t need = b->len + n + 1;
	if (need > b->cap) {
		size_t cap = b->cap ? b->cap : 256;
		while (cap < need)
			cap += cap;
		/* no more than its limit: whatever is allocated may be used */
		cap = cap < max ? cap : max;
		char *p = realloc(b->data, cap);
		if (!p) {
			b->error = -ENOMEM;
			return NULL;
		}
		b->data = p;
		b->cap = cap;
	}
	return b->data + b->len;
}

void buf_commit(struct buf *b, size_t n)
{
	b->len += n;
	b->data[b->len] = '\0';
}

void buf_put(struct buf *b, const void *data, size_t len)
{
	char *p = len < b->cap - b->len && !b->error ? b->data + b->len
						     : buf_reserve(b, len);
	if (!p)
		return;
	if (len)
		memcpy(p, data, len);
	buf_commit(b, len);
}

void buf_puts(struct buf *b, const char *s)
{
	buf_put(b, s, strlen(s));
}

void buf_putc(struct buf *b, char c)
{
	if (b->cap - b->len < 2 || b->error) {
		buf_put(b, &c, 1);
		return;
	}
	b->data[b->len] = c;
	buf_commit(b, 1);
}

/* Digits of v, right-aligned at end; returns where they begin. */
static char *print_digits(char *end, uint64_t v)
{
	do {
		*--end = (char)('0' + v % 10);
		v /= 10;
	} while (v);
	return end;
}

size_t buf_print_u64(char ret[BUF_DIGITS_MAX], uint64_t v)
{
	char tmp[BUF_DIGITS_MAX];
	char *p = print_digits(tmp + sizeof(tmp), v);
	size_t n = (size_t)(tmp + sizeof(tmp) - p);

	memcpy(ret, p, n);
	return n;
}

void buf_put_u64(struct buf *b, uint64_t v)
{
	char tmp[BUF_DIGITS_MAX];
	char *p = print_digits(tmp + sizeof(tmp), v);
	buf_put(b, p, (size_t)(tmp + sizeof(tmp) - p));
}

void buf_put_s64(struct buf *b, int64_t v)
{
	if (v < 0)
		buf_putc(b, '-');
	buf_put_u64(b, v < 0 ? 0 - (uint64_t)v : (uint64_t)v);
}

void buf_put_scaled(struct buf *b, uint64_t v, unsigned decimals)
{
	uint64_t unit = 1;
	for (unsigned i = 0; i < decimals; i++)
		unit *= 10;
	buf_put_u64(b, v / unit);
	uint64_t rest = v % unit;
	if (!rest)
		return;
	while (rest % 10 == 0) {
		rest /= 10;
		decimals--;
	}
	char tmp[20];
	char *end = tmp + sizeof(tmp);
	char *p = print_digits(end, rest);
	while ((unsigned)(end - p) < decimals)
		*--p = '0';
	buf_putc(b, '.');
	buf_put(b, p, (size_t)(end - p));
}

void buf_put_f64(struct buf *b, double v)
{
	if (isnan(v)) {
		buf_puts(b, "NaN");
		return;
	}
	if (isinf(v)) {
		buf_puts(b, v < 0 ? "-Inf" : "+Inf");
		return;
	}
	char tmp[32];
	for (int precision = 15; precision <= 17; precision++) {
		snprintf(tmp, sizeof(tmp), "%.*g", precision, v);
		if (strtod(tmp, NULL) == v)
			break;
	}
	buf_puts(b, tmp);
}

void buf_printf(struct buf *b, const char *fmt, ...)
{
	char small[256];
	va_list ap;

	va_start(ap, fmt);
	int n = vsnprintf(small, sizeof(small), fmt, ap);
	va_end(ap);
	if (n < 0)
		return;
	if ((size_t)n < sizeof(small)) {
		buf_put(b, small, (size_t)n);
		return;
	}
	char *p = buf_reserve(b, (size_t)n);
	if (!p)
		return;
	va_start(ap, fmt);
	vsnprintf(p, (size_t)n + 1, fmt, ap);
	va_end(ap);
	buf_commit(b, (size_t)n);
}

size_t utf8_len(const char *s, size_t left)
{
	const unsigned char *u = (const unsigned char *)s;
	size_t n;
	uint32_t c;

	if (!left)
		return 0;
	if (u[0] < 0x80)
		return 1;
	if (u[0] >= 0xc2 && u[0] <= 0xdf) {
		n = 2;
		c = u[0] & 0x1f;
	} else if (u[0] >= 0xe0 && u[0] <= 0xef) {
		n = 3;
		c = u[0] & 0x0f;
	} else if (u[0] >= 0xf0 && u[0] <= 0xf4) {
		n = 4;
		c = u[0] & 0x07;
	} else {
		return 0;
	}
	if (left < n)
		return 0;
	for (size_t i = 1; i < n; i++) {
		if ((u[i] & 0xc0) != 0x80)
			return 0;
		c = c << 6 | (u[i] & 0x3f);
	}
	if ((n == 3 && c < 0x800) || (n == 4 && c < 0x10000) || c > 0x10ffff ||
	    (c >= 0xd800 && c <= 0xdfff))
		return 0;
	return n;
}

void utf8_clean(char *s, size_t len)
{
	for (size_t i = 0; i < len;) {
		size_t n = utf8_len(s + i, len - i);
		if (!n)
			s[i] = '?';
		i += n ? n : 1;
	}
}

bool utf8_is_text(const char *s, size_t len)
{
	for (size_t i = 0, n; i < len; i += n) {
		n = utf8_len(s + i, len - i);
		if (!n || !s[i])
			return false;
	}
	return true;
}

void buf_put_json(struct buf *b, const char *s, size_t len)
{
	buf_putc(b, '"');
	for (size_t i = 0; i < len;) {
		size_t n = utf8_len(s + i, len - i);
		unsigned char c = (unsigned char)s[i];
		if (n == 0) {
			buf_puts(b, "\\ufffd");
			n = 1;
		} else if (c == '"' || c == '\\') {
			buf_putc(b, '\\');
			buf_putc(b, (char)c);
		} else if (c < 0x20 || c == 0x7f) {
			buf_printf(b, "\\u%04x", c);
		} else {
			buf_put(b, s + i, n);
		}
		i += n;
	}
	buf_putc(b, '"');
}
