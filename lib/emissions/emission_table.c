/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The factors that need no network: Our World in Data's table, linked in from the
 * sources, and the world's mean. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "lib/emissions/emission.h"
#include "lib/parse.h"
#include "lib/rfc3339.h"

/* The file itself, with source and licence in its head, so there is no generated copy.
 * The path is relative to the root, where the compiler runs. */
__asm__(".pushsection .rodata,\"a\",%progbits\n"
	"emission_owid_begin:\n"
	".incbin \"contrib/emissions/owid.csv\"\n"
	"emission_owid_end:\n"
	".byte 0\n"
	".popsection\n");
extern const char emission_owid_begin[] __attribute__((visibility("hidden")));
extern const char emission_owid_end[] __attribute__((visibility("hidden")));

#define GLOBAL_GRAMS 475.0 /* IEA, Global Energy & CO2 Status Report of 2018 */
#define GLOBAL_YEAR 2018u

/* The end of the year that a mean stands for */
static int year_end(uint64_t year, uint64_t *ret_s)
{
	char text[48];

	if (year < 1970 || year > 9998)
		return -ERANGE;
	(void)snprintf(text, sizeof(text), "%llu-01-01T00:00:00Z",
		       (unsigned long long)year + 1);
	return rfc3339_parse(text, ret_s);
}

/* code,code3,country,year,grams */
static int read_table_row(const char *line, size_t len, struct emission_set *ret,
			  struct err *err)
{
	char text[256], *fields[5];
	uint64_t year, time_s;
	double grams;

	if (len >= sizeof(text) || memchr(line, '\0', len))
		return err_set(err, -EINVAL, "not a line of text");
	memcpy(text, line, len);
	text[len] = '\0';
	char *p = text;
	for (size_t i = 0; i < 5; i++) {
		if (!p)
			return err_set(err, -EINVAL, "not 5 fields");
		fields[i] = strsep(&p, ",");
	}
	if (p)
		return err_set(err, -EINVAL, "not 5 fields");
	if (parse_u64(fields[3], &year) < 0 || year_end(year, &time_s) < 0)
		return err_set(err, -EINVAL, "not a year: \"%.20s\"", fields[3]);
	if (parse_f64(fields[4], &grams) < 0)
		return err_set(err, -EINVAL, "not a number: \"%.20s\"", fields[4]);
	return emission_set_put(ret, fields[0], fields[2], grams, time_s, err);
}

int emission_owid_parse(const char *text, size_t len, struct emission_set *ret,
			struct err *err)
{
	const char *p = text, *line;
	size_t n, number = 0;

	while (scan_line(&p, text + len, &line, &n)) {
		number++;
		if (n && line[n - 1] == '\r')
			n--;
		if (!n || *line == '#')
			continue;
		int rc = read_table_row(line, n, ret, err);
		if (rc < 0)
			return err_prefix(err, rc, "line %zu", number);
	}
	return 0;
}

int emission_owid(struct emission_set *ret, struct err *err)
{
	int rc = emission_owid_parse(emission_owid_begin,
				     (size_t)(emission_owid_end - emission_owid_begin),
				     ret, err);
	return rc < 0 ? err_prefix(err, rc, "owid") : 0;
}

int emission_global(struct emission_set *ret, struct err *err)
{
	uint64_t time_s;
	int rc = year_end(GLOBAL_YEAR, &time_s);

	if (rc < 0)
		return err_set(err, rc, "global");
	return emission_set_put(ret, "ZZ", "World", GLOBAL_GRAMS, time_s, err);
}
