/* SPDX-License-Identifier: GPL-2.0-or-later */
/* promql_claims SEED COUNT [newest]: queries of Prometheus 3 by chance, in which
 * offsets, @ and subqueries are more often than anywhere else, with the times at which
 * they are asked and what is claimed for each unit: "START END STEP ID:FROM:TO
 * ...\1QUERY\0", in milliseconds */
#include <stdio.h>

#include "lb/promql/access.h"
#include "lib/parse.h"
#include "test/promql_random.h"

#define NOW_MS 1795337324000ll
#define DAY_S 86400ll
#define OF(list) list[random_below(r, sizeof(list) / sizeof(list[0]))]

static const struct access_family families[] = {{.metric = "ceems_*", .label = "uuid"}};
static const struct access_policy policy = {
	.families = families, .family_count = 1, .lookback_ms = 300000};

static void selector(void *arg, struct promql_random *r, struct buf *out)
{
	static const char *const own[] = {
		"ceems_x{uuid=\"1\"}",
		"ceems_x{uuid=~\"1|2\"}",
		"ceems_y{uuid='4'}",
		"{__name__=\"ceems_x\",uuid=\"9\"}",
	};

	(void)arg;
	buf_puts(out, OF(own));
}

static void moved(struct promql_random *r, struct buf *out)
{
	static const char *const offsets[] = {"5m",  "-5m", "1d",  "-3d",  "40d",
					      "90y", "1ms", "-1y", "1h30m"};
	static const char *const edges[] = {"start()", "end()"};
	long long then_s = NOW_MS / 1000 - DAY_S * random_below(r, 30000);

	switch (random_below(r, 5)) {
	case 0:
		buf_printf(out, " offset %s", OF(offsets));
		break;
	case 1:
		buf_printf(out, " @ %lld.%03u", then_s, random_below(r, 1000));
		break;
	case 2:
		buf_printf(out, " @ %s", OF(edges));
		break;
	case 3:
		buf_printf(out, " @ %s offset %s", OF(edges), OF(offsets));
		break;
	default:
		break;
	}
}

static void expression(struct promql_random *r, struct buf *out, unsigned depth)
{
	static const char *const ranges[] = {"5m", "1m", "1h", "1d", "30d", "1ms"};
	static const char *const steps[] = {"5m:1m", "1h:5m", "1d:1h", "30d:1d",
					    "10m:"};
	static const char *const over[] = {"max_over_time", "rate", "deriv",
					   "absent_over_time"};
	static const char *const ops[] = {"+", "or", "unless", "and on (uuid)"};
	static const char *const calls[] = {"timestamp", "sum", "-", "abs", "absent"};

	switch (depth ? random_below(r, 5) : 5) {
	case 0:
		buf_printf(out, "%s(", OF(over));
		selector(NULL, r, out);
		buf_printf(out, "[%s]", OF(ranges));
		moved(r, out);
		buf_putc(out, ')');
		break;
	case 1:
	case 2:
		buf_printf(out, "%s((", OF(over));
		expression(r, out, depth - 1);
		buf_printf(out, ")[%s]", OF(steps));
		moved(r, out);
		buf_putc(out, ')');
		break;
	case 3:
		buf_putc(out, '(');
		expression(r, out, depth - 1);
		buf_printf(out, ") %s (", OF(ops));
		expression(r, out, depth - 1);
		buf_putc(out, ')');
		break;
	case 4:
		buf_printf(out, "%s(", OF(calls));
		expression(r, out, depth - 1);
		buf_putc(out, ')');
		break;
	default:
		selector(NULL, r, out);
		moved(r, out);
		break;
	}
}

/* 1: it has been printed; 0: it is no query, or claims nothing */
static int claims(struct promql *q, int64_t start_ms, int64_t end_ms, int64_t step_ms)
{
	auto_buf struct buf text = BUF_INIT;
	struct access_plan *plan = NULL;
	const struct access_claim *c;
	size_t count = 0;
	struct err err;

	if (access_plan_new(&policy, &plan))
		return 0;
	if (promql_fix_durations(q, end_ms - start_ms, end_ms == start_ms ? 0 : step_ms,
				 &err) == 0 &&
	    access_plan_add(plan, q, start_ms, end_ms, &err) == 0) {
		c = access_claims(plan, &count);
		promql_print(q, &text);
		if (count)
			printf("%lld %lld %lld", (long long)start_ms, (long long)end_ms,
			       (long long)step_ms);
		for (size_t i = 0; i < count; i++)
			printf(" %.*s:%lld:%lld", (int)c[i].id.len, c[i].id.p,
			       (long long)c[i].from_ms, (long long)c[i].to_ms);
		if (count)
			printf("\1%s%c", text.data, '\0');
	}
	access_plan_free(plan);
	return count > 0;
}

int main(int argc, char **argv)
{
	struct promql_random random = {
		.dialect = PROMQL_3, .clean = true, .selector = selector};
	struct promql_random *r = &random;
	auto_buf struct buf text = BUF_INIT;
	uint64_t seed, count, done = 0;

	if (argc < 3 || parse_u64(argv[1], &seed) || parse_u64(argv[2], &count))
		return 2;
	if (argc > 3)
		random.dialect = PROMQL_NEWEST;
	r->state = seed * 0x9e3779b97f4a7c15ull + 1;
	while (done < count) {
		auto_promql struct promql *q = NULL;
		int64_t end_ms = NOW_MS - random_below(r, 1000);
		int64_t span_ms = 1000ll * random_below(r, DAY_S);
		struct err err;

		if (!random_below(r, 3))
			end_ms -= 1000ll * random_below(r, 86400000);
		if (random_below(r, 2))
			span_ms = 0;
		buf_reset(&text);
		if (random_below(r, 3))
			expression(r, &text, random_below(r, 4));
		else
			promql_random(r, &text);
		if (promql_parse(text.data, text.len, random.dialect, NULL, &q, &err) ==
		    0)
			done += (uint64_t)claims(q, end_ms - span_ms, end_ms,
						 span_ms / (1 + random_below(r, 7)) +
							 1);
	}
	return 0;
}
