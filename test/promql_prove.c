/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads queries, each ended by a NUL, and says for each what a user would get who owns
 * all units that it names, with what our metrics and the peer's keep their units in:
 * "+NAMES" (of the metrics that it selects), "-why it does not parse" or "!why it is
 * refused", ended by a NUL. For tests of queries that are kept in files.
 *   promql_prove [-3] [-s] <QUERIES   -3: the dialect of Prometheus 3, -s: selectors */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "lb/promql/access.h"
#include "lb/promql/promql.h"

static const struct access_family families[] = {
	{"ceems_emissions_gCo2_kWh", NULL, false},
	{"ceems_*", "uuid", false},
	{"uuid:*", "uuid", false},
};
static const struct access_policy policy = {
	.families = families,
	.family_count = sizeof(families) / sizeof(families[0]),
	.cluster_label = "cluster",
	.cluster = "alpha",
	.lookback_ms = 300000,
};

static int prove(struct promql *q, struct err *err)
{
	int64_t now_ms = (int64_t)time(NULL) * 1000;
	struct access_plan *plan = NULL;
	size_t count;
	int rc = access_plan_new(&policy, &plan);

	if (rc == 0)
		rc = promql_fix_durations(q, 3600000, 60000, err)
			     ?: access_plan_add(plan, q, now_ms - 3600000, now_ms, err);
	if (rc == 0) {
		struct access_claim *claims = access_claims(plan, &count);
		for (size_t i = 0; i < count; i++)
			claims[i].answer = ACCESS_OWN;
		rc = access_decide(plan, err);
	}
	access_plan_free(plan);
	return rc;
}

static void put_names(struct promql *q)
{
	struct promql_node *s = promql_selectors(q);

	for (; s; s = s->next_selector) {
		struct str name = s->name;
		for (struct promql_matcher *m = s->matchers; m && !name.len;
		     m = m->next) {
			if (str_eq(m->name, "__name__"))
				name = m->value;
		}
		printf("%.*s ", (int)name.len, name.p);
	}
}

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

	while ((o = getopt(argc, argv, "3s")) != -1) {
		if (o == '3')
			dialect = PROMQL_3;
		else if (o == 's')
			parse = promql_parse_selector;
		else
			return 2;
	}
	while ((n = getdelim(&line, &room, '\0', stdin)) > 0) {
		auto_promql struct promql *q = NULL;
		struct err err = {0};

		if (line[n - 1] == '\0')
			n--;
		if (parse(line, (size_t)n, dialect, NULL, &q, &err)) {
			printf("-%s", err.text);
		} else {
			int rc = prove(q, &err);
			if (rc)
				printf("!%s|", err.text);
			else
				putchar('+');
			put_names(q);
		}
		putchar('\0');
	}
	free(line);
	return 0;
}
