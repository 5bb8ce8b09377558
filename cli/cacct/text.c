/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Escaping. A job's name is whatever its owner chose, and is shown in an operator's
 * terminal, browser and spreadsheet. */
#include "cli/cacct/text.h"

#include <stdint.h>
#include <string.h>
#include <wchar.h>

#define REPLACEMENT "\xef\xbf\xbd"

/* One character at s: its length, 0 at the end of the text. *ret_ok: may be shown. */
static size_t next_character(const char *s, size_t left, uint32_t *ret_c, bool *ret_ok)
{
	static const uint8_t first[] = {0, 0x7f, 0x1f, 0x0f, 0x07};

	if (!left)
		return 0;
	size_t n = utf8_len(s, left);
	if (!n) {
		*ret_c = 0xfffd;
		*ret_ok = false;
		return 1;
	}
	uint32_t c = (unsigned char)*s & first[n];
	for (size_t i = 1; i < n; i++)
		c = c << 6 | ((unsigned char)s[i] & 0x3f);
	*ret_c = c;
	*ret_ok = c >= 0x20 && (c < 0x7f || c > 0x9f) && c != 0xad && c != 0x61c &&
		  !(c >= 0x200b && c <= 0x200f) && !(c >= 0x2028 && c <= 0x202e) &&
		  !(c >= 0x2060 && c <= 0x206f) && c != 0xfeff &&
		  !(c >= 0xe0000 && c <= 0xe0fff) && !(c >= 0xfff9 && c <= 0xfffb);
	return n;
}

static void put_html_character(struct buf *out, const char *s, size_t n)
{
	switch (*s) {
	case '&':
		buf_puts(out, "&amp;");
		break;
	case '<':
		buf_puts(out, "&lt;");
		break;
	case '>':
		buf_puts(out, "&gt;");
		break;
	case '"':
		buf_puts(out, "&quot;");
		break;
	case '\'':
		buf_puts(out, "&#39;");
		break;
	default:
		buf_put(out, s, n);
	}
}

static void put_markdown(struct buf *out, const char *s, size_t n)
{
	if (*s == '<' || *s == '>' || *s == '&')
		put_html_character(out, s, n);
	else if (n == 1 && strchr("\\`*_[]#|~$@", *s))
		buf_printf(out, "\\%c", *s);
	else
		buf_put(out, s, n);
}

static void put_csv(struct buf *out, const char *s, bool guard)
{
	bool formula = guard && *s && strchr("=+-@\t\r", *s);

	if (!formula && !strpbrk(s, ",\"\r\n") && *s != ' ') {
		text_put(out, TEXT_PLAIN, s);
		return;
	}
	auto_buf struct buf plain = {.max = 1 << 20};
	text_put(&plain, TEXT_PLAIN, s);
	buf_putc(out, '"');
	if (formula)
		buf_putc(out, '\'');
	for (size_t i = 0; i < plain.len; i++) {
		if (plain.data[i] == '"')
			buf_putc(out, '"');
		buf_putc(out, plain.data[i]);
	}
	buf_putc(out, '"');
}

void text_put_csv_own(struct buf *out, const char *s)
{
	put_csv(out, s, false);
}

void text_put(struct buf *out, enum text_form form, const char *s)
{
	size_t left = strlen(s), n;
	uint32_t c;
	bool ok;

	if (form == TEXT_CSV) {
		put_csv(out, s, true);
		return;
	}
	while ((n = next_character(s, left, &c, &ok))) {
		if (!ok)
			buf_puts(out, REPLACEMENT);
		else if (form == TEXT_HTML)
			put_html_character(out, s, n);
		else if (form == TEXT_MARKDOWN)
			put_markdown(out, s, n);
		else
			buf_put(out, s, n);
		s += n;
		left -= n;
	}
}

static size_t character_columns(uint32_t c, bool ok)
{
	int w = ok ? wcwidth((wchar_t)c) : 1;

	/* -1: a character unknown to the C library in an ASCII locale */
	return w < 0 ? 1 : (size_t)w;
}

size_t text_width(const char *s)
{
	size_t left = strlen(s), n, width = 0;
	uint32_t c;
	bool ok;

	while ((n = next_character(s, left, &c, &ok))) {
		width += character_columns(c, ok);
		s += n;
		left -= n;
	}
	return width;
}

void text_put_field(struct buf *out, const char *s, size_t width, bool left_side)
{
	size_t has = text_width(s), left = strlen(s), n, used = 0;
	bool cut = has > width, ok;
	uint32_t c;

	for (; !left_side && has < width; has++)
		buf_putc(out, ' ');
	while ((n = next_character(s, left, &c, &ok))) {
		size_t w = character_columns(c, ok);
		if (cut && used + w + 1 > width)
			break;
		if (ok)
			buf_put(out, s, n);
		else
			buf_puts(out, REPLACEMENT);
		used += w;
		s += n;
		left -= n;
	}
	if (cut && width)
		buf_putc(out, '+');
	for (used += cut; cut && used < width; used++) /* half of a wide character */
		buf_putc(out, ' ');
	for (; left_side && has < width; has++)
		buf_putc(out, ' ');
}

void text_put_parsable(struct buf *out, const char *s, const char *sep)
{
	size_t left = strlen(s), n, sep_len = strlen(sep);
	uint32_t c;
	bool ok;

	while ((n = next_character(s, left, &c, &ok))) {
		if (sep_len && left >= sep_len && memcmp(s, sep, sep_len) == 0) {
			buf_putc(out, '?');
			n = sep_len;
		} else if (!ok) {
			buf_puts(out, REPLACEMENT);
		} else {
			buf_put(out, s, n);
		}
		s += n;
		left -= n;
	}
}

void text_put_short(struct buf *out, double v)
{
	int decimals = v >= 100 ? 0 : v >= 10 ? 1 : v >= 1 || v == 0 ? 2 : 3;

	if (v != 0 && v < 0.01)
		decimals = 6;
	buf_printf(out, "%.*f", decimals, v);
}

void text_put_amount(struct buf *out, double v)
{
	buf_printf(out, "%.*f", v >= 10 ? 1 : v >= 0.01 || v == 0 ? 3 : 6, v);
}

void text_put_wh(struct buf *out, double wh)
{
	if (wh >= 1000) {
		buf_printf(out, "%.3f kWh", wh / 1000);
		return;
	}
	if (wh > 0 && wh < 0.01) {
		double j = wh * 3600;
		buf_printf(out, j < 1 ? "%.3g mJ" : "%.3g J", j < 1 ? j * 1000 : j);
		return;
	}
	text_put_amount(out, wh);
	buf_puts(out, " Wh");
}
