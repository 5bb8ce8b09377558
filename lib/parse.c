/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Strict numbers and small text scanners. strtoul() and the like accept blanks, signs
 * and garbage after the number, which is how wrong sensor values come to look right. */
#include "lib/parse.h"

#include <errno.h>
#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

int scan_u64(const char **p, const char *end, uint64_t *ret)
{
	const char *s = *p;
	uint64_t v = 0;

	if (s >= end || *s < '0' || *s > '9')
		return -EINVAL;
	for (; s < end && *s >= '0' && *s <= '9'; s++) {
		if (__builtin_mul_overflow(v, 10, &v) ||
		    __builtin_add_overflow(v, (uint64_t)(*s - '0'), &v))
			return -ERANGE;
	}
	*ret = v;
	*p = s;
	return 0;
}

int parse_u64_len(const char *s, size_t len, uint64_t *ret)
{
	const char *end = s + len;
	uint64_t v;
	int rc = scan_u64(&s, end, &v);

	if (rc < 0)
		return rc;
	if (s != end)
		return -EINVAL;
	*ret = v;
	return 0;
}

int parse_u64(const char *s, uint64_t *ret)
{
	return parse_u64_len(s, strlen(s), ret);
}

int parse_u32(const char *s, uint32_t *ret)
{
	uint64_t v;
	int rc = parse_u64(s, &v);

	if (rc < 0)
		return rc;
	if (v > UINT32_MAX)
		return -ERANGE;
	*ret = (uint32_t)v;
	return 0;
}

int parse_s64(const char *s, int64_t *ret)
{
	bool negative = *s == '-';
	uint64_t v;
	int rc = parse_u64(s + negative, &v);

	if (rc < 0)
		return rc;
	if (v > (uint64_t)INT64_MAX + negative)
		return -ERANGE;
	*ret = negative ? (int64_t)(0 - v) : (int64_t)v;
	return 0;
}

int parse_f64(const char *s, double *ret)
{
	static locale_t c_locale;
	char *end;

	if (!strchr("+-.0123456789", *s) || !*s)
		return -EINVAL;
	if (!c_locale) {
		/* a race creates two equal locales and leaks one: harmless */
		c_locale = newlocale(LC_ALL_MASK, "C", NULL);
		if (!c_locale)
			return -ENOMEM;
	}
	errno = 0;
	double v = strtod_l(s, &end, c_locale);
	if (*end || end == s)
		return -EINVAL;
	if (errno == ERANGE || !isfinite(v))
		return -ERANGE;
	*ret = v;
	return 0;
}

int parse_bool(const char *s, bool *ret)
{
	static const char *const names[] = {"false", "true", "no", "yes",
					    "off",   "on",   "0",  "1"};
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (strcmp(s, names[i]) == 0) {
			*ret = i % 2;
			return 0;
		}
	}
	return -EINVAL;
}

int parse_duration_ms(const char *s, uint64_t *ret)
{
	static const struct {
		const char *name;
		uint64_t ms;
	} units[] = {{"y", 31536000000}, {"w", 604800000}, {"d", 86400000},
		     {"h", 3600000},     {"m", 60000},     {"s", 1000},
		     {"ms", 1}};
	const char *end = s + strlen(s);
	uint64_t total = 0;
	size_t next = 0;

	if (strcmp(s, "0") == 0) {
		*ret = 0;
		return 0;
	}
	if (s == end)
		return -EINVAL;
	while (s < end) {
		uint64_t v;
		int rc = scan_u64(&s, end, &v);
		if (rc < 0)
			return rc;
		size_t n = strspn(s, "ywdhms");
		for (; next < sizeof(units) / sizeof(units[0]); next++) {
			if (strlen(units[next].name) == n &&
			    memcmp(units[next].name, s, n) == 0)
				break;
		}
		if (next == sizeof(units) / sizeof(units[0]))
			return -EINVAL;
		if (__builtin_mul_overflow(v, units[next].ms, &v) ||
		    __builtin_add_overflow(total, v, &total))
			return -ERANGE;
		next++;
		s += n;
	}
	*ret = total;
	return 0;
}

int parse_bytes(const char *s, uint64_t *ret)
{
	static const struct {
		const char *name;
		uint64_t unit;
	} units[] = {{"", 1},
		     {"B", 1},
		     {"KB", 1000},
		     {"KiB", 1024},
		     {"MB", 1000000},
		     {"MiB", 1048576},
		     {"GB", 1000000000},
		     {"GiB", 1073741824}};
	const char *end = s + strlen(s);
	uint64_t v;
	int rc = scan_u64(&s, end, &v);

	if (rc < 0)
		return rc;
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if (strcmp(s, units[i].name) == 0) {
			if (__builtin_mul_overflow(v, units[i].unit, &v))
				return -ERANGE;
			*ret = v;
			return 0;
		}
	}
	return -EINVAL;
}

int parse_list_count(const char *s, size_t len, uint32_t *ret)
{
	const char *end = s + len;
	uint64_t count = 0;

	while (end > s && (end[-1] == '\n' || end[-1] == ' '))
		end--;
	if (s == end) {
		*ret = 0;
		return 0;
	}
	for (;;) {
		uint64_t from, to;
		int rc = scan_u64(&s, end, &from);
		if (rc < 0)
			return rc;
		to = from;
		if (s < end && *s == '-') {
			s++;
			rc = scan_u64(&s, end, &to);
			if (rc < 0)
				return rc;
		}
		if (to < from || to > (1u << 20))
			return -ERANGE;
		count += to - from + 1;
		if (count > (1u << 20))
			return -ERANGE;
		if (s == end)
			break;
		if (*s++ != ',')
			return -EINVAL;
	}
	*ret = (uint32_t)count;
	return 0;
}

bool scan_blank(const char **p, const char *end)
{
	while (*p < end && (**p == ' ' || **p == '\t'))
		(*p)++;
	return *p < end && **p != '\n';
}

bool scan_line(const char **p, const char *end, const char **ret_line, size_t *ret_len)
{
	if (*p >= end)
		return false;
	const char *nl = memchr(*p, '\n', (size_t)(end - *p));
	const char *stop = nl ? nl : end;
	*ret_line = *p;
	*ret_len = (size_t)(stop - *p);
	*p = nl ? nl + 1 : end;
	return true;
}

bool scan_word(const char **p, const char *end, const char **ret_word, size_t *ret_len)
{
	if (!scan_blank(p, end))
		return false;
	const char *s = *p;
	while (*p < end && **p != ' ' && **p != '\t' && **p != '\n')
		(*p)++;
	*ret_word = s;
	*ret_len = (size_t)(*p - s);
	return true;
}

int parse_cpus(const char *text, size_t len, uint32_t *ret, size_t max)
{
	while (len && (text[len - 1] == '\n' || text[len - 1] == ' '))
		len--;
	const char *p = text, *end = text + len;
	size_t n = 0;

	do {
		uint64_t first, last;
		if (scan_u64(&p, end, &first) < 0)
			return -EINVAL;
		last = first;
		if (p < end && *p == '-') {
			p++;
			if (scan_u64(&p, end, &last) < 0 || last < first)
				return -EINVAL;
		}
		if (last > UINT16_MAX || (p < end && *p != ','))
			return -EINVAL;
		for (; first <= last; first++) {
			if (n == max)
				return -E2BIG;
			ret[n++] = (uint32_t)first;
		}
	} while (p++ < end);
	return (int)n;
}
