/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Any bytes as a row of the page of hot functions, which root reads in slurmstepd:
 * finding it ends without touching anything outside, and gives printable names. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/records/hot_page.h"
#include "test/fuzz/page_scratch.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct hot_page_row row = {0}, found;
	struct err err = {""};

	make_page(hot_page_create);
	memcpy(&row, data, size < sizeof(row) ? size : sizeof(row));
	if (hot_page_write(page_fd, 0, &row) < 0)
		abort();
	int rc = hot_page_find(page_path, row.job, row.step, row.stepd_pid, row.read_ns,
			       &found, &err);
	if (rc > 0 || (rc < 0 && !err.text[0]) ||
	    (rc == 0 && found.count > HOT_FUNCTIONS))
		abort();
	for (uint32_t i = 0; rc == 0 && i < found.count; i++) {
		const char *name = found.functions[i].name;
		if (!memchr(name, '\0', HOT_NAME_BYTES))
			abort();
		for (; *name; name++) {
			if (*name < ' ' || *name > '~')
				abort();
		}
	}
	return 0;
}
