/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Any bytes as a page of counts, which root reads in slurmstepd: finding a step must
 * end without touching anything outside. The first byte says whether the header is made
 * right first, and the first row's checksum. */
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/records/counts_page.h"
#include "lib/records/page_file.h"
#include "test/fuzz/page_scratch.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define NOW UINT64_C(5000000000)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct page_file_header good = {
		.magic = COUNTS_PAGE_MAGIC,
		.version = COUNTS_PAGE_VERSION,
		.row_bytes = sizeof(struct counts_page_row),
		.rows = COUNTS_PAGE_ROWS,
	};
	static unsigned char file[4096];
	struct counts_page_row row = {0};
	struct step_counts found = {0};
	struct err err = {""};

	make_page(counts_page_create);
	if (size < 1)
		return 0;
	unsigned how = data[0] & 3;
	data++;
	size--;
	memset(file, 0, sizeof(file));
	size_t at = how ? sizeof(good) : 0;
	memcpy(file, &good, at);
	memcpy(file + at, data, size < sizeof(file) - at ? size : sizeof(file) - at);
	if (pwrite(page_fd, file, sizeof(file), 0) != (ssize_t)sizeof(file))
		abort();
	memcpy(&row, file + sizeof(good), sizeof(row));
	/* a whole row, of any step */
	if (how >= 2 && counts_page_write(page_fd, &row, 1) < 0)
		abort();
	int rc = counts_page_find(page_path, row.job, row.step, row.stepd_pid, NOW,
				  &found, &err);
	if (rc > 0 || (rc < 0 && !err.text[0]) || (rc == 0 && !found.known))
		abort();
	if (how >= 2 && rc < 0 && row.known && row.job && row.read_ns == NOW)
		abort();
	return 0;
}
