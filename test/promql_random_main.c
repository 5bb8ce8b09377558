/* SPDX-License-Identifier: GPL-2.0-or-later */
/* promql_random SEED COUNT [3|newest]: prints COUNT queries, each ended by a NUL; 3: in
 * the dialect of Prometheus 3; newest: in the newest one. */
#include <stdio.h>

#include "lib/parse.h"
#include "test/promql_random.h"

int main(int argc, char **argv)
{
	bool newest = argc > 3 && argv[3][0] == 'n';
	struct promql_random r = {.dialect = newest     ? PROMQL_NEWEST
					     : argc > 3 ? PROMQL_3
							: PROMQL_2};
	auto_buf struct buf out = BUF_INIT;
	uint64_t seed, count;

	if (argc < 3 || parse_u64(argv[1], &seed) || parse_u64(argv[2], &count))
		return 2;
	r.state = seed * 0x9e3779b97f4a7c15ull + 1;
	while (count--) {
		promql_random(&r, &out);
		fwrite(out.data ? out.data : "", 1, out.len, stdout);
		putchar('\0');
	}
	return 0;
}
