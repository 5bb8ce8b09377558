/* SPDX-License-Identifier: GPL-2.0-or-later */
/* RFC 3339 times. strptime() and timegm() accept too much (blanks, short fields) and
 * drop zones, which is how a window ends up hours off. */
#include "lib/rfc3339.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>

#define LAST_S 253402300799ull /* 9999-12-31T23:59:59Z */

/* Exactly n digits, which must be below or at max. */
static bool read_rfc3339_digits(const char **p, unsigned n, unsigned min, unsigned max,
				unsigned *ret)
{
	unsigned v = 0;

	for (unsigned i = 0; i < n; i++, (*p)++) {
		if (**p < '0' || **p > '9')
			return false;
		v = v * 10 + (unsigned)(**p - '0');
	}
	*ret = v;
	return v >= min && v <= max;
}

static bool read_rfc3339_letter(const char **p, const char *any)
{
	for (; *any; any++) {
		if (**p == *any) {
			(*p)++;
			return true;
		}
	}
	return false;
}

static unsigned month_days(unsigned year, unsigned month)
{
	static const unsigned char days[] = {31, 28, 31, 30, 31, 30,
					     31, 31, 30, 31, 30, 31};
	bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;

	return days[month - 1] + (month == 2 && leap);
}

/* Days since 1970-01-01 of a date of the Gregorian calendar, counted in years that
 * begin in March, so that the leap day is the last. */
static int64_t days_from(unsigned year, unsigned month, unsigned day)
{
	int64_t y = (int64_t)year - (month <= 2);
	int64_t m = (int64_t)(month + 9) % 12;

	return y * 365 + y / 4 - y / 100 + y / 400 + (m * 306 + 5) / 10 + day - 1 -
	       719468;
}

static bool read_rfc3339_zone(const char **p, int64_t *ret_offset_s)
{
	unsigned hours, minutes;

	*ret_offset_s = 0;
	if (read_rfc3339_letter(p, "Zz"))
		return true;
	bool west = **p == '-';
	if (!read_rfc3339_letter(p, "+-") || !read_rfc3339_digits(p, 2, 0, 23, &hours))
		return false;
	(void)read_rfc3339_letter(p, ":"); /* ISO 8601's basic form leaves it out */
	if (!read_rfc3339_digits(p, 2, 0, 59, &minutes))
		return false;
	*ret_offset_s = (int64_t)(hours * 3600 + minutes * 60) * (west ? -1 : 1);
	return true;
}

int rfc3339_parse(const char *s, uint64_t *ret_s)
{
	unsigned year, month, day, hour, minute, second, unused;
	int64_t offset_s;

	if (!read_rfc3339_digits(&s, 4, 0, 9999, &year) ||
	    !read_rfc3339_letter(&s, "-") ||
	    !read_rfc3339_digits(&s, 2, 1, 12, &month) ||
	    !read_rfc3339_letter(&s, "-") ||
	    !read_rfc3339_digits(&s, 2, 1, month_days(year, month), &day) ||
	    !read_rfc3339_letter(&s, "Tt ") ||
	    !read_rfc3339_digits(&s, 2, 0, 23, &hour) ||
	    !read_rfc3339_letter(&s, ":") ||
	    !read_rfc3339_digits(&s, 2, 0, 59, &minute) ||
	    !read_rfc3339_letter(&s, ":") ||
	    !read_rfc3339_digits(&s, 2, 0, 60, &second))
		return -EINVAL;
	if (read_rfc3339_letter(&s, ".,")) {
		if (!read_rfc3339_digits(&s, 1, 0, 9, &unused))
			return -EINVAL;
		while (read_rfc3339_digits(&s, 1, 0, 9, &unused))
			;
	}
	if (!read_rfc3339_zone(&s, &offset_s) || *s)
		return -EINVAL;
	int64_t t = days_from(year, month, day) * 86400 + hour * (int64_t)3600 +
		    minute * (int64_t)60 + second - offset_s;
	if (t < 0 || t > (int64_t)LAST_S)
		return -ERANGE;
	*ret_s = (uint64_t)t;
	return 0;
}

void rfc3339_print(uint64_t time_s, char ret[RFC3339_BYTES])
{
	if (time_s > LAST_S)
		time_s = LAST_S;
	/* the inverse of days_from(), from 0000-03-01 on */
	uint64_t z = time_s / 86400 + 719468, rest = time_s % 86400;
	uint64_t era = z / 146097, doe = z % 146097;
	uint64_t yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365;
	uint64_t doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
	uint64_t mp = (5 * doy + 2) / 153;
	unsigned day = (unsigned)(doy - (153 * mp + 2) / 5 + 1);
	unsigned month = (unsigned)(mp < 10 ? mp + 3 : mp - 9);
	unsigned year = (unsigned)(yoe + era * 400 + (month <= 2));

	(void)snprintf(ret, RFC3339_BYTES, "%04u-%02u-%02uT%02u:%02u:%02uZ",
		       year % 10000, month % 100, day % 100,
		       (unsigned)(rest / 3600) % 100, (unsigned)(rest / 60 % 60),
		       (unsigned)(rest % 60));
}
