/* SPDX-License-Identifier: GPL-2.0-or-later */
/* base64 for passwords in headers, signed tokens and messages in addresses. */
#include "lib/base64.h"

#include <errno.h>
#include <stdint.h>

static int letter_value(char c, enum base64_form form)
{
	if (c >= 'A' && c <= 'Z')
		return c - 'A';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 26;
	if (c >= '0' && c <= '9')
		return c - '0' + 52;
	if (form == BASE64_PADDED)
		return c == '+' ? 62 : c == '/' ? 63 : -1;
	return c == '-' ? 62 : c == '_' ? 63 : -1;
}

/* The letters without their padding; -EINVAL where the form wants another length */
static ssize_t count_letters(const char *text, size_t len, enum base64_form form)
{
	if (form == BASE64_PADDED && len % 4 != 0)
		return -EINVAL;
	if (form != BASE64_URL && len && len % 4 == 0)
		for (int i = 0; i < 2 && text[len - 1] == '='; i++)
			len--;
	return len % 4 == 1 ? -EINVAL : (ssize_t)len;
}

ssize_t base64_decode(const char *text, size_t len, enum base64_form form, void *ret,
		      size_t size)
{
	ssize_t letters = count_letters(text, len, form);
	unsigned char *out = ret;
	unsigned have = 0;
	uint32_t bits = 0;
	size_t n = 0;

	for (ssize_t i = 0; i < letters; i++) {
		int value = letter_value(text[i], form);
		if (value < 0)
			return -EINVAL;
		bits = bits << 6 | (uint32_t)value;
		have += 6;
		if (have < 8)
			continue;
		have -= 8;
		if (n == size)
			return -ENOSPC;
		out[n++] = (unsigned char)(bits >> have);
		bits &= (1u << have) - 1;
	}
	if (letters < 0)
		return letters;
	return bits ? -EINVAL : (ssize_t)n;
}

void base64_put(struct buf *out, const void *bytes, size_t n)
{
	static const char letters[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const unsigned char *p = bytes;

	for (size_t i = 0; i < n; i += 3) {
		uint32_t v = (uint32_t)p[i] << 16;

		v |= i + 1 < n ? (uint32_t)p[i + 1] << 8 : 0;
		v |= i + 2 < n ? (uint32_t)p[i + 2] : 0;
		buf_putc(out, letters[v >> 18]);
		buf_putc(out, letters[v >> 12 & 63]);
		buf_putc(out, i + 1 < n ? letters[v >> 6 & 63] : '=');
		buf_putc(out, i + 2 < n ? letters[v & 63] : '=');
	}
}
