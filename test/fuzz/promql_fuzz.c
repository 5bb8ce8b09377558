/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Any bytes as a query or a selector in three dialects; the first byte says which. What
 * is accepted is printed, and that text is accepted, and prints as itself. */
#include <stdlib.h>
#include <string.h>

#include "lb/promql/promql.h"
#include "lb/promql/re.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool ok)
{
	if (!ok)
		abort();
}

static int each(void *arg, const char *s, size_t len)
{
	(void)s;
	*(size_t *)arg += len;
	return 0;
}

static void literals(struct promql *q)
{
	for (struct promql_node *n = promql_selectors(q); n; n = n->next_selector)
		for (struct promql_matcher *m = n->matchers; m; m = m->next) {
			size_t sum = 0;

			if (m->match < MATCH_REGEX)
				continue;
			if (re_literals(m->value.p, m->value.len, each, &sum) >= 0)
				must(sum <= m->value.len);
		}
}

/* With its durations worked out it is a query still, and has none to be worked out. */
static void check_fixed(struct promql *q, enum promql_dialect d)
{
	auto_promql struct promql *again = NULL;
	auto_buf struct buf a = BUF_INIT, b = BUF_INIT;
	struct err err = {""};

	if (promql_fix_durations(q, 3600000, 15000, &err)) {
		must(err.text[0]);
		return;
	}
	promql_print(q, &a);
	if (a.len > PROMQL_BYTES_MAX)
		return;
	must(!buf_error(&a) && !promql_parse(a.data, a.len, d, NULL, &again, &err));
	must(!promql_depends_on_times(again));
	promql_print(again, &b);
	must(a.len == b.len && memcmp(a.data, b.data, a.len) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	auto_promql struct promql *q = NULL, *again = NULL;
	auto_buf struct buf a = BUF_INIT, b = BUF_INIT;
	struct promql_limits limits = {0};
	enum promql_dialect d;
	struct err err;
	bool selector;
	int rc;

	if (!size)
		return 0;
	d = data[0] & 4 ? PROMQL_NEWEST : data[0] & 1 ? PROMQL_3 : PROMQL_2;
	selector = data[0] & 2;
	rc = (selector ? promql_parse_selector : promql_parse)(
		(const char *)data + 1, size - 1, d, &limits, &q, &err);
	if (rc) {
		must(!q && err.text[0]);
		return 0;
	}
	literals(q);
	promql_print(q, &a);
	must(!buf_error(&a));
	if (a.len > PROMQL_BYTES_MAX) /* escapes have made it longer */
		return 0;
	must(!promql_parse(a.data, a.len, d, &limits, &again, &err));
	promql_print(again, &b);
	must(a.len == b.len && memcmp(a.data, b.data, a.len) == 0);
	check_fixed(q, d);
	return 0;
}
