/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Invalid values are refused: silently dropping a filter would return more than was
 * asked for. */
#include "aggregator/params.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/parse.h"
#include "lib/rfc3339.h"

#define COUNT_MAX 1000
#define TIME_MAX_S 16000000000ull /* in 2477: fits 64 bits as nanoseconds */

/* Parameters that the peer's dashboards and tools send to every endpoint. */
static const char *const peers[] = {
	"cluster_id", "experimental", "field",    "from", "groupby", "project",
	"role",       "running",      "timezone", "to",   "user",    "uuid",
};

/* Unescapes in place; the result is NUL-terminated UTF-8 without control characters. */
static int unescape_param(char *s, size_t len)
{
	size_t n = 0;

	for (size_t i = 0; i < len; i++) {
		char c = s[i];
		if (c == '%') {
			int high = len - i < 3 ? -1 : parse_hex_digit(s[i + 1]);
			int low = high < 0 ? -1 : parse_hex_digit(s[i + 2]);
			if (low < 0)
				return -EINVAL;
			c = (char)(high * 16 + low);
			i += 2;
		} else if (c == '+') {
			c = ' ';
		}
		if ((unsigned char)c < 0x20 || c == 0x7f)
			return -EINVAL;
		s[n++] = c;
	}
	s[n] = '\0';
	for (size_t i = 0; i < n;) {
		size_t step = utf8_len(s + i, n - i);
		if (!step)
			return -EINVAL;
		i += step;
	}
	return n > PARAM_BYTES_MAX ? -EINVAL : 0;
}

int params_time(const char *s, uint64_t now_us, uint64_t *ret_us)
{
	uint64_t v, ms;
	size_t digits = strspn(s, "0123456789");

	if (strncmp(s, "now", 3) == 0) {
		if (!s[3]) {
			*ret_us = now_us;
			return 0;
		}
		if (s[3] != '-' || parse_duration_ms(s + 4, &ms) < 0)
			return -EINVAL;
		*ret_us = ms > now_us / 1000 ? 0 : now_us - ms * 1000;
		return 0;
	}
	if (digits && (!s[digits] || s[digits] == '.')) {
		if (s[digits] &&
		    (!s[digits + 1] ||
		     strspn(s + digits + 1, "0123456789") != strlen(s + digits + 1)))
			return -EINVAL;
		if (digits > 16 || parse_u64_len(s, digits, &v) < 0)
			return -ERANGE;
		if (digits >= 13)
			v /= 1000;
		if (v > TIME_MAX_S)
			return -ERANGE;
		*ret_us = v * 1000000;
		return 0;
	}
	int rc = rfc3339_parse(s, &v);
	if (rc == 0 && v > TIME_MAX_S)
		rc = -ERANGE;
	if (rc == 0)
		*ret_us = v * 1000000;
	return rc;
}

bool params_is_id(const char *s, size_t len)
{
	if (!len || len > 128)
		return false;
	for (size_t i = 0; i < len; i++)
		if (!s[i] || !strchr("abcdefghijklmnopqrstuvwxyz"
				     "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._:+-",
				     s[i]))
			return false;
	return true;
}

static bool is_manager(const char *s)
{
	static const char *const managers[] = {"slurm", "openstack", "libvirt", "k8s"};

	for (size_t i = 0; i < sizeof(managers) / sizeof(managers[0]); i++)
		if (strcmp(s, managers[i]) == 0)
			return true;
	return false;
}

static int check_value(struct param *p, uint64_t now_us, struct err *err)
{
	const char *name = p->spec->name;
	bool on = true;

	switch (p->spec->kind) {
	case PARAM_TEXT:
		return 0;
	case PARAM_ID:
		if (!params_is_id(p->value, strlen(p->value)))
			return err_set(err, -EINVAL, "%s: not the id of a unit", name);
		return 0;
	case PARAM_FLAG:
		if (*p->value && parse_bool(p->value, &on) < 0)
			return err_set(err, -EINVAL, "%s: must be true or false", name);
		p->number = on;
		return 0;
	case PARAM_TIME:
		if (params_time(p->value, now_us, &p->number) < 0)
			return err_set(err, -EINVAL,
				       "%s: not a time: seconds since 1970, "
				       "2025-08-07T10:00:00+02:00, now or now-1d",
				       name);
		return 0;
	case PARAM_COUNT:
		if (parse_u64(p->value, &p->number) < 0 || p->number < 1 ||
		    p->number > COUNT_MAX)
			return err_set(err, -EINVAL, "%s: must be 1 to %d", name,
				       COUNT_MAX);
		return 0;
	case PARAM_MANAGER:
		return is_manager(p->value)
			       ? 0
			       : err_set(err, -EINVAL,
					 "%s: must be slurm, openstack, libvirt or k8s",
					 name);
	}
	return -EINVAL;
}

static const struct param_spec *find_spec(const struct param_spec *const specs[],
					  const char *name)
{
	for (size_t i = 0; specs[i]; i++) {
		if (strcmp(specs[i]->name, name) == 0)
			return specs[i];
	}
	return NULL;
}

static bool is_peers(const char *name)
{
	for (size_t i = 0; i < sizeof(peers) / sizeof(peers[0]); i++) {
		if (strcmp(peers[i], name) == 0)
			return true;
	}
	return false;
}

/* Parses "name=value", decoding each separately: an escaped '=' or '&' is part of a
 * value. */
static int take_param(char *s, size_t len, const struct param_spec *const specs[],
		      uint64_t now_us, struct param_set *ret, struct buf *warnings,
		      struct err *err)
{
	char *eq = memchr(s, '=', len);
	size_t n = eq ? (size_t)(eq - s) : len;
	char *value = s + n + (eq ? 1 : 0);

	if (unescape_param(value, len - n - (eq ? 1 : 0)) < 0)
		return err_set(err, -EINVAL,
			       "a parameter is not UTF-8, too long, or has "
			       "control characters");
	if (eq)
		*eq = '\0';
	else
		value = s + len;
	/* names need no escapes */
	if (strspn(s, "abcdefghijklmnopqrstuvwxyz_") != n || n == 0 || n > 32)
		return err_set(err, -EINVAL, "unknown parameter");
	const struct param_spec *spec = find_spec(specs, s);
	if (!spec && is_peers(s)) {
		buf_printf(warnings,
			   "%s is not a parameter of this endpoint and was ignored\n",
			   s);
		return 0;
	}
	if (!spec)
		return err_set(err, -EINVAL, "%s: unknown parameter", s);
	if (ret->count == PARAMS_MAX)
		return err_set(err, -EINVAL, "more than %d parameters", PARAMS_MAX);
	if (!spec->repeats && params_has(ret, s))
		return err_set(err, -EINVAL, "%s appears twice", s);
	struct param p = {.spec = spec, .value = value};
	int rc = check_value(&p, now_us, err);
	if (rc == 0)
		ret->items[ret->count++] = p;
	return rc;
}

int params_parse(const char *target, const struct param_spec *const specs[],
		 uint64_t now_us, struct param_set *ret, struct buf *warnings,
		 struct err *err)
{
	const char *query = strchr(target, '?');

	*ret = (struct param_set){.count = 0};
	if (!query || !query[1])
		return 0;
	/* twice its length: each part gets its own NUL */
	size_t len = strlen(query + 1);
	char *out = ret->text = malloc(2 * len + 2);
	if (!out)
		return err_set(err, -ENOMEM, "out of memory");
	int rc = 0;
	for (const char *s = query + 1; rc == 0 && *s;) {
		size_t n = strcspn(s, "&");
		memcpy(out, s, n);
		out[n] = '\0';
		if (n)
			rc = take_param(out, n, specs, now_us, ret, warnings, err);
		out += n + 1;
		s += n + (s[n] == '&');
	}
	if (rc < 0)
		params_done(ret);
	return rc;
}

void params_done(struct param_set *p)
{
	free(p->text);
	*p = (struct param_set){.count = 0};
}

const struct param *params_get(const struct param_set *p, const char *name)
{
	for (size_t i = 0; i < p->count; i++) {
		if (strcmp(p->items[i].spec->name, name) == 0)
			return &p->items[i];
	}
	return NULL;
}

bool params_has(const struct param_set *p, const char *name)
{
	return params_get(p, name);
}

void params_list(const struct param_set *p, const char *name, struct buf *ret)
{
	bool any = false;

	buf_putc(ret, '[');
	for (size_t i = 0; i < p->count; i++) {
		const struct param *one = &p->items[i];
		if (strcmp(one->spec->name, name) != 0)
			continue;
		buf_puts(ret, any ? "," : "");
		buf_put_json(ret, one->value, strlen(one->value));
		any = true;
	}
	buf_putc(ret, ']');
}
