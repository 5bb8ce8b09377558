/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Any bytes as what a compiler says of code that it made as a program ran. */
#include <stdlib.h>
#include <string.h>

#include "profiler/files/perf_map.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct perf_map m = {0};
	struct reader_names names;

	if (perf_map_parse((const char *)data, size, &m) < 0 || m.count > size)
		abort();
	for (uint32_t i = 0; i < m.count; i++) {
		if (i && m.all[i].address < m.all[i - 1].address)
			abort();
		perf_map_find(&m, m.all[i].address, &names);
		if (names.count > 1 || names.len > sizeof(names.text) ||
		    (names.count && strlen(names.text) + 1 != names.len))
			abort();
	}
	perf_map_free(&m);
	return 0;
}
