/* SPDX-License-Identifier: GPL-2.0-or-later */
/* sacct's time syntax, written anew as a grammar of words: each word is a date, a time
 * of day or a moment, and each of these may occur once. test/unit/when_test.c compares
 * it with libslurm's parser. */
#include "cli/cacct/when.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

struct when {
	const char *p; /* the rest */
	struct tm now;
	time_t now_s;
	bool has_date, has_time;
	int year, month, day; /* as in struct tm; year -1: not given */
	int hour, minute, second;
};

static bool take_word(struct when *w, const char *s)
{
	size_t len = strlen(s);

	if (strncasecmp(w->p, s, len) != 0)
		return false;
	w->p += len;
	return true;
}

static void skip_when_blanks(struct when *w)
{
	while (*w->p == ' ' || *w->p == '\t')
		w->p++;
}

/* Exactly or at most max digits, as a number that is at least min and at most max */
static bool take_digits(struct when *w, int least, int most, int low, int high,
			int *ret)
{
	int n = 0, v = 0;

	while (n < most && isdigit((unsigned char)w->p[n]))
		v = v * 10 + (w->p[n++] - '0');
	if (n < least || v < low || v > high)
		return false;
	w->p += n;
	*ret = v;
	return true;
}

static size_t run_of_digits(const char *p)
{
	size_t n = 0;

	while (n < WHEN_TEXT_MAX && isdigit((unsigned char)p[n]))
		n++;
	return n;
}

/* HH:MM[:SS] [AM|PM] */
static bool clock_time(struct when *w)
{
	if (!take_digits(w, 1, 2, 0, 23, &w->hour) || *w->p++ != ':' ||
	    !take_digits(w, 2, 2, 0, 59, &w->minute))
		return false;
	w->second = 0;
	if (*w->p == ':') {
		w->p++;
		if (!take_digits(w, 2, 2, 0, 59, &w->second))
			return false;
	}
	const char *p = w->p;
	while (*p == ' ' || *p == '\t')
		p++;
	bool am = strncasecmp(p, "am", 2) == 0, pm = strncasecmp(p, "pm", 2) == 0;
	if (!am && !pm)
		return true;
	w->p = p + 2;
	if (w->hour > 12)
		return false;
	if (w->hour == 12)
		w->hour = 0;
	if (pm)
		w->hour += 12;
	return true;
}

/* YYYY-MM-DD, MM/DD[/YY], MM.DD[.YY], MMDD[YY] */
static bool parse_date(struct when *w)
{
	size_t n = run_of_digits(w->p);
	char sep = w->p[n];

	w->year = -1;
	if (n == 4 && sep == '-') {
		if (!take_digits(w, 4, 4, 1970, 9999, &w->year) || *w->p++ != '-' ||
		    !take_digits(w, 1, 2, 1, 12, &w->month) || *w->p++ != '-' ||
		    !take_digits(w, 1, 2, 1, 31, &w->day))
			return false;
		w->year -= 1900;
	} else if (sep == '/' || sep == '.') {
		if (!take_digits(w, 1, 2, 1, 12, &w->month) || *w->p++ != sep ||
		    !take_digits(w, 1, 2, 1, 31, &w->day))
			return false;
		if (*w->p == sep) {
			w->p++;
			if (!take_digits(w, 2, 2, 0, 99, &w->year))
				return false;
			w->year += 100;
		}
	} else if (n == 4 || n == 6) {
		if (!take_digits(w, 2, 2, 1, 12, &w->month) ||
		    !take_digits(w, 2, 2, 1, 31, &w->day))
			return false;
		if (n == 6) {
			if (!take_digits(w, 2, 2, 0, 99, &w->year))
				return false;
			w->year += 100;
		}
	} else {
		return false;
	}
	w->month--;
	return !isdigit((unsigned char)*w->p);
}

static void take_date(struct when *w, time_t t)
{
	struct tm tm;

	localtime_r(&t, &tm);
	w->has_date = true;
	w->year = tm.tm_year;
	w->month = tm.tm_mon;
	w->day = tm.tm_mday;
}

static void take_time(struct when *w, int hour, int minute, int second)
{
	w->has_time = true;
	w->hour = hour;
	w->minute = minute;
	w->second = second;
}

/* What follows "now": nothing, or sign, count and unit, up to the end. */
static int now_and(struct when *w, time_t *ret)
{
	static const struct {
		const char *name;
		int64_t seconds;
	} units[] = {{"seconds", 1},  {"second", 1},   {"minutes", 60},
		     {"minute", 60},  {"hours", 3600}, {"hour", 3600},
		     {"days", 86400}, {"day", 86400},  {"weeks", 604800},
		     {"week", 604800}};
	int64_t count = 0, unit = 1;

	skip_when_blanks(w);
	if (!*w->p) {
		*ret = w->now_s;
		return 0;
	}
	bool minus = *w->p == '-';
	if (!minus && *w->p != '+')
		return -EINVAL;
	w->p++;
	skip_when_blanks(w);
	size_t n = run_of_digits(w->p);
	if (!n || n > 10)
		return n ? -ERANGE : -EINVAL;
	for (size_t i = 0; i < n; i++)
		count = count * 10 + (*w->p++ - '0');
	skip_when_blanks(w);
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if (take_word(w, units[i].name)) {
			unit = units[i].seconds;
			break;
		}
	}
	skip_when_blanks(w);
	if (*w->p)
		return -EINVAL;
	*ret = (time_t)(w->now_s + (minus ? -count : count) * unit);
	return *ret < 0 ? -ERANGE : 0;
}

/* One word of the text that is a time of day or a day. */
static bool parse_time_word(struct when *w)
{
	static const struct {
		const char *name;
		int hour;
	} hours[] = {{"midnight", 0},
		     {"elevenses", 11},
		     {"noon", 12},
		     {"fika", 15},
		     {"teatime", 16}};
	const bool had_date = w->has_date, had_time = w->has_time;

	for (size_t i = 0; i < sizeof(hours) / sizeof(hours[0]); i++) {
		if (take_word(w, hours[i].name)) {
			take_time(w, hours[i].hour, 0, 0);
			return !had_time;
		}
	}
	if (take_word(w, "today")) {
		take_date(w, w->now_s);
		return !had_date;
	}
	if (take_word(w, "tomorrow")) {
		take_date(w, w->now_s + 86400);
		return !had_date;
	}
	size_t n = run_of_digits(w->p);
	if (n >= 1 && n <= 2 && w->p[n] == ':') {
		w->has_time = true;
		return !had_time && clock_time(w);
	}
	w->has_date = true;
	return n && !had_date && parse_date(w);
}

static int finish_time(struct when *w, time_t *ret)
{
	struct tm tm = {.tm_isdst = -1};

	if (!w->has_time)
		take_time(w, 0, 0, 0);
	if (!w->has_date)
		take_date(w, w->now_s);
	if (w->year < 0)
		w->year = w->now.tm_year - (w->month > w->now.tm_mon);
	tm.tm_year = w->year;
	tm.tm_mon = w->month;
	tm.tm_mday = w->day;
	tm.tm_hour = w->hour;
	tm.tm_min = w->minute;
	tm.tm_sec = w->second;
	time_t t = mktime(&tm);
	if (tm.tm_mon != w->month || tm.tm_mday != w->day)
		return -EINVAL; /* the 31st of a shorter month */
	if (t < 0)
		return -ERANGE;
	*ret = t;
	return 0;
}

static int parse_when(struct when *w, time_t *ret)
{
	if (take_word(w, "uts")) {
		size_t n = run_of_digits(w->p);
		int64_t v = 0;
		if (!n || n > 12 || w->p[n])
			return -EINVAL;
		for (size_t i = 0; i < n; i++)
			v = v * 10 + (w->p[i] - '0');
		*ret = (time_t)v;
		return 0;
	}
	if (take_word(w, "now"))
		return now_and(w, ret);
	for (;;) {
		while (*w->p == ' ' || *w->p == '\t' ||
		       ((*w->p == 'T' || *w->p == 't') && w->has_date && !w->has_time &&
			isdigit((unsigned char)w->p[1])))
			w->p++;
		if (!*w->p)
			break;
		if (!parse_time_word(w))
			return -EINVAL;
	}
	if (!w->has_date && !w->has_time)
		return -EINVAL;
	return finish_time(w, ret);
}

int when_parse(const char *text, time_t now, time_t *ret, struct err *err)
{
	struct when w = {.p = text, .now_s = now};
	time_t t = 0;

	if (strnlen(text, WHEN_TEXT_MAX) == WHEN_TEXT_MAX)
		return err_set(err, -EINVAL, "not a time: too long");
	localtime_r(&now, &w.now);
	int rc = parse_when(&w, &t);
	if (rc == -ERANGE)
		return err_set(err, rc, "not a time since 1970: %s", text);
	if (rc < 0)
		return err_set(err, rc,
			       "not a time: %s (like 2026-11-30T14:00, 11/30, 14:00, "
			       "today, now-2days)",
			       text);
	*ret = t;
	return 0;
}

time_t when_midnight(time_t now)
{
	struct tm tm;

	localtime_r(&now, &tm);
	tm.tm_hour = tm.tm_min = tm.tm_sec = 0;
	tm.tm_isdst = -1;
	return mktime(&tm);
}

void when_print(time_t t, char ret[WHEN_SIZE])
{
	struct tm tm;

	if (!localtime_r(&t, &tm) || tm.tm_year > 8099 ||
	    !strftime(ret, WHEN_SIZE, "%Y-%m-%dT%H:%M:%S", &tm))
		(void)snprintf(ret, WHEN_SIZE, "Unknown");
}

void when_print_span(uint64_t seconds, char ret[WHEN_SIZE])
{
	uint64_t days = seconds / 86400, rest = seconds % 86400;
	unsigned h = (unsigned)(rest / 3600), m = (unsigned)(rest / 60 % 60),
		 s = (unsigned)(rest % 60);

	if (days)
		(void)snprintf(ret, WHEN_SIZE, "%llu-%02u:%02u:%02u",
			       (unsigned long long)days, h, m, s);
	else
		(void)snprintf(ret, WHEN_SIZE, "%02u:%02u:%02u", h, m, s);
}
