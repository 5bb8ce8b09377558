/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The file is never trusted by its reader: any bytes give values or an error. */
#include "lib/records/counts_page.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "lib/cleanup.h"
#include "lib/records/page_file.h"

#define READ_ROWS 64u

_Static_assert(sizeof(struct counts_page_row) == 32 + 8 * COUNTS_VALUES, "no padding");

static const struct page_file_header counts_header = {
	.magic = COUNTS_PAGE_MAGIC,
	.version = COUNTS_PAGE_VERSION,
	.row_bytes = sizeof(struct counts_page_row),
	.rows = COUNTS_PAGE_ROWS,
};

int counts_page_create(const char *path, struct err *err)
{
	return page_file_create(path, &counts_header, err);
}

int counts_page_write(int fd, struct counts_page_row *rows, uint32_t count)
{
	return page_file_write(fd, &counts_header, rows, 0, count);
}

/* ---- reading --------------------------------------------------------------------- */

static void add_counts_row(struct step_counts *to, const struct counts_page_row *r)
{
	to->known |= r->known;
	for (unsigned i = 0; i < COUNTS_VALUES; i++)
		to->values[i] += r->values[i];
}

/* Whether the row is whole, of this step and not old. */
static bool is_row_of(const struct counts_page_row *r,
		      const struct counts_page_row *key)
{
	return r->job == key->job && r->step == key->step &&
	       r->stepd_pid == key->stepd_pid &&
	       r->crc == page_file_crc(&counts_header, r) &&
	       r->read_ns <= key->read_ns &&
	       key->read_ns - r->read_ns <= COUNTS_PAGE_AGE_MAX_NS;
}

int counts_page_find(const char *path, uint32_t job, uint32_t step, uint32_t stepd_pid,
		     uint64_t now_ns, struct step_counts *ret, struct err *err)
{
	const struct counts_page_row key = {
		.job = job, .step = step, .stepd_pid = stepd_pid, .read_ns = now_ns};
	struct counts_page_row rows[READ_ROWS];
	struct step_counts sum = {0};
	auto_close int fd = page_file_open(path, &counts_header, "of counts", err);

	if (fd < 0)
		return fd;
	for (uint32_t at = 0; at < COUNTS_PAGE_ROWS; at += READ_ROWS) {
		if (page_file_read(fd, &counts_header, rows, at, READ_ROWS) < 0)
			return err_set(err, -EBADF, "%s: cannot be read", path);
		for (uint32_t i = 0; i < READ_ROWS; i++) {
			if (is_row_of(&rows[i], &key))
				add_counts_row(&sum, &rows[i]);
		}
		if (!rows[READ_ROWS - 1].job)
			break; /* none behind it */
	}
	if (!sum.known)
		return err_set(err, -ENOENT, "%s: nothing of this step", path);
	*ret = sum;
	return 0;
}
