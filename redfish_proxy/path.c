/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Paths of Redfish resources. Anything ambiguous (dot segments, double escapes,
 * separators of other systems) is refused rather than resolved: no BMC needs it, and
 * BMCs differ in how they read it. */
#include "redfish_proxy/path.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

const char *const path_allow_default[] = {
	"/redfish/?",
	"/redfish/v1/?",
	"/redfish/v1/Chassis/?",
	"/redfish/v1/Chassis/[^/]+/?",
	"/redfish/v1/Chassis/[^/]+/(Power|PowerSubsystem|EnvironmentMetrics|Sensors)/?",
	"/redfish/v1/Chassis/[^/]+/PowerSubsystem/PowerSupplies/?",
	"/redfish/v1/Chassis/[^/]+/PowerSubsystem/PowerSupplies/[^/]+/?",
	"/redfish/v1/Chassis/[^/]+/PowerSubsystem/PowerSupplies/[^/]+/Metrics/?",
	"/redfish/v1/Chassis/[^/]+/Sensors/[^/]+/?",
	NULL,
};

static int path_hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

/* Whether it may be in a resource's name. '/' may not: escaped, it would be another
 * path than it looks. */
static bool is_name(int c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	       (c >= '0' && c <= '9') || (c && strchr("-._~:@()+,= #", c));
}

/* One decoded character, and its length in the text; 0: refused. */
static size_t take_path_char(const char *p, int *ret)
{
	if (*p != '%') {
		*ret = (unsigned char)*p;
		return *p != ' ' && *p != '#' ? 1 : 0;
	}
	int high = path_hex_digit(p[1]);
	int low = high < 0 ? -1 : path_hex_digit(p[2]);
	if (low < 0)
		return 0;
	*ret = high * 16 + low;
	return 3;
}

/* Checks the segment that ends here: its length, and whether it is all dots. */
static bool good_segment(size_t len, bool dots, bool last)
{
	if (len == 0)
		return last;
	return !(dots && len <= 2);
}

int path_clean(const char *target, char *ret)
{
	size_t n = 0, len = 0;
	bool dots = true;

	if (strncmp(target, "/redfish", 8) != 0 || (target[8] && target[8] != '/'))
		return -EINVAL;
	ret[n++] = '/';
	for (const char *p = target + 1; *p;) {
		if (n + 4 >= PATH_BYTES_MAX)
			return -ENAMETOOLONG;
		if (*p == '/') {
			if (!good_segment(len, dots, false))
				return -EINVAL;
			ret[n++] = *p++;
			len = 0;
			dots = true;
			continue;
		}
		int c = 0;
		size_t taken = take_path_char(p, &c);
		if (!taken || !is_name(c))
			return -EINVAL;
		if (c == ' ' || c == '#') {
			memcpy(ret + n, c == ' ' ? "%20" : "%23", 3);
			n += 3;
		} else {
			ret[n++] = (char)c;
		}
		dots &= c == '.';
		len++;
		p += taken;
	}
	if (!good_segment(len, dots, true))
		return -EINVAL;
	ret[n] = '\0';
	return 0;
}

/* POSIX has no \d, \s, \b or (?:...); glibc takes some of them for plain letters, which
 * would allow something unintended. Back references may take any amount of time. */
static bool is_posix(const char *pattern)
{
	for (const char *p = pattern; *p; p++) {
		if (*p == '(' && p[1] == '?')
			return false;
		if (*p != '\\')
			continue;
		p++;
		if (!*p || (*p >= '0' && *p <= '9') || (*p >= 'a' && *p <= 'z') ||
		    (*p >= 'A' && *p <= 'Z') || strchr("<>`'", *p))
			return false;
	}
	return true;
}

int path_allow_add(struct path_allow *a, const char *pattern, struct err *err)
{
	char why[128];

	if (a->count == PATH_ALLOW_MAX)
		return err_set(err, -EINVAL, "more than %d patterns", PATH_ALLOW_MAX);
	if (!*pattern || strlen(pattern) > PATH_BYTES_MAX || !is_posix(pattern))
		return err_set(err, -EINVAL,
			       "not a POSIX extended regular expression: %.100s",
			       pattern);
	regex_t *more = reallocarray(a->list, a->count + 1, sizeof(*more));
	if (!more)
		return err_set(err, -ENOMEM, "out of memory");
	a->list = more;
	int rc = regcomp(&more[a->count], pattern, REG_EXTENDED);
	if (rc) {
		regerror(rc, &more[a->count], why, sizeof(why));
		return err_set(err, -EINVAL, "%.100s: %s", pattern, why);
	}
	a->count++;
	return 0;
}

/* If any match is the whole path, then the leftmost longest one is. */
bool path_allowed(const struct path_allow *a, const char *path)
{
	regoff_t len = (regoff_t)strlen(path);

	for (size_t i = 0; i < a->count; i++) {
		regmatch_t m;
		if (regexec(&a->list[i], path, 1, &m, 0) == 0 && m.rm_so == 0 &&
		    m.rm_eo == len)
			return true;
	}
	return false;
}

void path_allow_done(struct path_allow *a)
{
	for (size_t i = 0; i < a->count; i++)
		regfree(&a->list[i]);
	free(a->list);
	*a = (struct path_allow){0};
}
