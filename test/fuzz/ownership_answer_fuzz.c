/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Any bytes as the aggregator's answer about units. What is taken is about what was
 * asked for, and no run of a row is lost. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lb/gate/ownership_answer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct str ids[] = {{"1", 1}, {"12", 2}, {"a.b", 3}};
	struct ownership_answer a = {.role = OWNERSHIP_USER};
	auto_buf struct buf text = BUF_INIT;
	struct err err;
	bool any = size && data[0] & 1;

	if (!size)
		return 0;
	buf_put(&text, data + 1, size - 1);
	if (ownership_answer_read(&text, any ? NULL : ids, any ? 0 : 3,
				  any ? NULL : "ann", &a, &err))
		return 0;
	if (!any && a.count != 3)
		abort();
	for (size_t i = 0; i < a.count; i++) {
		if (a.units[i].count > OWNERSHIP_RUNS_MAX)
			abort();
		for (size_t k = 0; k < a.units[i].count; k++)
			if (a.units[i].runs[k].from_ms > a.units[i].runs[k].to_ms)
				abort();
	}
	ownership_answer_done(&a);
	return 0;
}
