/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Forms: parsed strictly, written plainly. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lb/promql/form.h"

#include "lib/parse.h"

/* Decodes [p, end) to *out, which advances, and adds a NUL. */
static int decode_form_text(const char *p, const char *end, char **out, struct err *err)
{
	for (; p < end; p++) {
		int c = (unsigned char)*p;

		if (c == '%') {
			if (end - p < 3 || parse_hex_digit(p[1]) < 0 ||
			    parse_hex_digit(p[2]) < 0)
				return err_set(err, -EINVAL,
					       "a parameter has a broken %% escape");
			c = parse_hex_digit(p[1]) * 16 + parse_hex_digit(p[2]);
			p += 2;
		} else if (c == '+') {
			c = ' ';
		} else if (c == ';') {
			return err_set(err, -EINVAL,
				       "\";\" between parameters: write it as %%3B");
		}
		if (!c)
			return err_set(err, -EINVAL, "a parameter has a NUL in it");
		*(*out)++ = (char)c;
	}
	*(*out)++ = '\0';
	return 0;
}

static int read_form_field(struct form *f, const char *p, const char *end, char **out,
			   struct err *err)
{
	const char *equals = memchr(p, '=', (size_t)(end - p));
	struct form_field *x = &f->fields[f->count];
	const char *name = *out;
	int rc;

	if (f->count == FORM_FIELDS_MAX)
		return err_set(err, -E2BIG, "more than %u parameters", FORM_FIELDS_MAX);
	rc = decode_form_text(p, equals ? equals : end, out, err);
	if (rc)
		return rc;
	for (const char *c = name; *c; c++)
		if (*c <= ' ' || *c >= 0x7f)
			return err_set(err, -EINVAL, "a parameter's name is not plain");
	if (!*name)
		return err_set(err, -EINVAL, "a parameter has no name");
	x->name = name;
	x->value.p = *out;
	rc = decode_form_text(equals ? equals + 1 : end, end, out, err);
	if (rc)
		return rc;
	x->value.len = (uint32_t)(*out - x->value.p - 1);
	f->count++;
	return 0;
}

int form_read(const char *text, size_t len, struct form *ret, struct err *err)
{
	const char *p = text, *end = text + len;
	struct form f = {0};
	char *out;
	int rc = 0;

	/* each name and value ends with a NUL: two per field, and there are at most len
	 * + 1 fields */
	f.text = out = malloc(len * 3 + 3);
	if (!f.text)
		return err_set(err, -ENOMEM, "out of memory");
	while (p < end && !rc) {
		const char *amp = memchr(p, '&', (size_t)(end - p));
		const char *stop = amp ? amp : end;

		if (stop > p)
			rc = read_form_field(&f, p, stop, &out, err);
		p = stop + 1;
	}
	if (rc) {
		free(f.text);
		return rc;
	}
	*ret = f;
	return 0;
}

void form_done(struct form *f)
{
	free(f->text);
	f->text = NULL;
	f->count = 0;
}

int form_get(const struct form *f, const char *name, struct str *ret, struct err *err)
{
	int found = 0;

	for (size_t i = 0; i < f->count; i++) {
		if (strcmp(f->fields[i].name, name) != 0)
			continue;
		if (found++)
			return err_set(err, -EINVAL, "parameter \"%s\" appears twice",
				       name);
		*ret = f->fields[i].value;
	}
	return found;
}

static bool is_plain_form_byte(unsigned char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
	       (c >= 'A' && c <= 'Z') || c == '-' || c == '.' || c == '_' || c == '~';
}

static void put_escaped(struct buf *out, const char *text, size_t len)
{
	static const char digits[] = "0123456789ABCDEF";
	char *p = buf_reserve(out, len * 3);
	size_t n = 0;

	if (!p)
		return;
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)text[i];

		if (is_plain_form_byte(c)) {
			p[n++] = (char)c;
			continue;
		}
		p[n++] = '%';
		p[n++] = digits[c >> 4];
		p[n++] = digits[c & 15];
	}
	buf_commit(out, n);
}

void form_put(struct buf *out, const char *name, const char *value, size_t len)
{
	if (out->len)
		buf_putc(out, '&');
	put_escaped(out, name, strlen(name));
	buf_putc(out, '=');
	put_escaped(out, value, len);
}
