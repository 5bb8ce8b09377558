/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Accept and Accept-Encoding. Quality values are in thousandths; a range with an
 * invalid quality is ignored. */
#include "lib/http/negotiate.h"

#include <stddef.h>
#include <string.h>
#include <strings.h>

#define Q_MAX 1000

struct header_text {
	const char *s;
	size_t len;
};

static bool text_is_name(struct header_text t, const char *name)
{
	return strlen(name) == t.len && strncasecmp(t.s, name, t.len) == 0;
}

static struct header_text trim_text(struct header_text t)
{
	while (t.len && (t.s[0] == ' ' || t.s[0] == '\t')) {
		t.s++;
		t.len--;
	}
	while (t.len && (t.s[t.len - 1] == ' ' || t.s[t.len - 1] == '\t'))
		t.len--;
	return t;
}

/* Cuts the part before the next sep that is not in a quoted string off *rest. */
static bool cut_element(struct header_text *rest, char sep, struct header_text *ret)
{
	bool quoted = false;
	size_t i = 0;

	if (!rest->s)
		return false;
	for (; i < rest->len; i++) {
		char c = rest->s[i];
		if (quoted && c == '\\' && i + 1 < rest->len)
			i++;
		else if (c == '"')
			quoted = !quoted;
		else if (c == sep && !quoted)
			break;
	}
	*ret = trim_text((struct header_text){rest->s, i});
	if (i < rest->len) {
		rest->s += i + 1;
		rest->len -= i + 1;
	} else {
		rest->s = NULL;
	}
	return true;
}

/* "0", "0.5", "1.000": thousandths, or -1. */
static int parse_quality(struct header_text t)
{
	if (!t.len || t.len > 5 || (t.s[0] != '0' && t.s[0] != '1'))
		return -1;
	int q = (t.s[0] - '0') * Q_MAX;
	if (t.len > 1 && t.s[1] != '.')
		return -1;
	int unit = Q_MAX / 10;
	for (size_t i = 2; i < t.len; i++, unit /= 10) {
		if (t.s[i] < '0' || t.s[i] > '9')
			return -1;
		q += (t.s[i] - '0') * unit;
	}
	return q > Q_MAX ? -1 : q;
}

struct range {
	struct header_text name, version; /* version.s NULL: not given */
	int q;
};

/* One element of a list: its name, version and quality. */
static bool parse_range(struct header_text element, struct range *ret)
{
	struct range r = {.q = Q_MAX};
	struct header_text rest = element, part, key;

	if (!cut_element(&rest, ';', &r.name) || !r.name.len)
		return false;
	for (int i = 0; i < 16 && cut_element(&rest, ';', &part); i++) {
		struct header_text value = part;
		if (!cut_element(&value, '=', &key) || !value.s)
			continue;
		value = trim_text(value);
		if (value.len >= 2 && value.s[0] == '"' &&
		    value.s[value.len - 1] == '"') {
			value.s++;
			value.len -= 2;
		}
		if (text_is_name(key, "version"))
			r.version = value;
		else if (text_is_name(key, "q"))
			r.q = parse_quality(value);
	}
	if (r.q < 0)
		return false;
	*ret = r;
	return true;
}

/* The quality of a format so far: the most specific range that matches it counts. */
struct welcome {
	int q, specific, at;
};

static void welcome_range(struct welcome *w, const struct range *r, int specific,
			  int at)
{
	if (specific > w->specific || (specific == w->specific && r->q > w->q))
		*w = (struct welcome){r->q, specific, at};
}

static bool version_is(const struct range *r, const char *version)
{
	return !r->version.s || text_is_name(r->version, version);
}

enum prom_format negotiate_format(const char *accept, const char **ret_content_type)
{
	struct welcome om1 = {0}, om0 = {0}, text = {0};
	struct header_text rest = {accept, accept ? strlen(accept) : 0}, element;

	for (int i = 0; i < NEGOTIATE_RANGES_MAX && cut_element(&rest, ',', &element);
	     i++) {
		struct range r;
		if (!parse_range(element, &r))
			continue;
		if (text_is_name(r.name, "application/openmetrics-text")) {
			if (version_is(&r, "1.0.0"))
				welcome_range(&om1, &r, 3, i);
			else if (text_is_name(r.version, "0.0.1"))
				welcome_range(&om0, &r, 3, i);
		} else if (text_is_name(r.name, "text/plain") &&
			   version_is(&r, "0.0.4")) {
			welcome_range(&text, &r, 3, i);
		} else if (text_is_name(r.name, "text/*")) {
			welcome_range(&text, &r, 2, i);
		} else if (text_is_name(r.name, "*/*")) {
			welcome_range(&text, &r, 1, i);
		}
	}
	const struct welcome *om = om0.q > om1.q ? &om0 : &om1;
	bool preferred = om->q > text.q ||
			 (om->q == text.q && (text.specific < 3 || om->at < text.at));
	if (om->q == 0 || !preferred) {
		*ret_content_type = PROM_CONTENT_TYPE_TEXT;
		return PROM_TEXT;
	}
	*ret_content_type = om == &om1 ? PROM_CONTENT_TYPE_OPENMETRICS
				       : "application/openmetrics-text; version=0.0.1; "
					 "charset=utf-8";
	return PROM_OPENMETRICS;
}

bool negotiate_gzip(const char *accept_encoding)
{
	struct header_text rest = {accept_encoding,
				   accept_encoding ? strlen(accept_encoding) : 0};
	struct header_text element;
	struct welcome gzip = {0}, identity = {0};

	for (int i = 0; i < NEGOTIATE_RANGES_MAX && cut_element(&rest, ',', &element);
	     i++) {
		struct range r;
		if (!parse_range(element, &r))
			continue;
		if (text_is_name(r.name, "gzip") || text_is_name(r.name, "x-gzip"))
			welcome_range(&gzip, &r, 2, i);
		else if (text_is_name(r.name, "*"))
			welcome_range(&gzip, &r, 1, i);
		else if (text_is_name(r.name, "identity"))
			welcome_range(&identity, &r, 2, i);
	}
	return gzip.q > 0 && gzip.q >= identity.q;
}
