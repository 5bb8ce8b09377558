/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads queries, each ended by a NUL, and prints for each "+TEXT" as our parser
 * understood it or "-ERROR", ended by a NUL: what the tests compare with Prometheus.
 *   promql_print [-3] [-d VERSION] [-n] [-s] <QUERIES
 * -3: the dialect of Prometheus 3, -d: of that version, -n: without its flags, -s:
 * selectors */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lb/promql/promql.h"

int main(int argc, char **argv)
{
	enum promql_dialect dialect = PROMQL_2;
	int (*parse)(const char *, size_t, enum promql_dialect,
		     const struct promql_limits *, struct promql **, struct err *) =
		promql_parse;
	char *line = NULL;
	size_t room = 0;
	ssize_t n;
	int o;

	while ((o = getopt(argc, argv, "3d:ns")) != -1) {
		if (o == '3')
			dialect = PROMQL_3;
		else if (o == 'd')
			dialect = (enum promql_dialect)(promql_dialect_of(optarg) |
							PROMQL_FLAGS);
		else if (o == 'n')
			dialect &= ~(unsigned)PROMQL_FLAGS;
		else if (o == 's')
			parse = promql_parse_selector;
		else
			return 2;
	}
	while ((n = getdelim(&line, &room, '\0', stdin)) > 0) {
		auto_buf struct buf out = BUF_INIT;
		auto_promql struct promql *q = NULL;
		struct err err = {0};

		if (line[n - 1] == '\0')
			n--;
		if (parse(line, (size_t)n, dialect, NULL, &q, &err)) {
			printf("-%s", err.text);
		} else {
			promql_print(q, &out);
			printf("+%s", out.data);
		}
		putchar('\0');
	}
	free(line);
	return 0;
}
