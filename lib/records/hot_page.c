/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The file is never trusted by its reader: any bytes give printable text or an error.
 */
#include "lib/records/hot_page.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "lib/cleanup.h"
#include "lib/records/page_file.h"

#define HOT_READ_ROWS 32u

_Static_assert(sizeof(struct hot_page_row) == 40 + HOT_FUNCTIONS * 88, "no padding");

static const struct page_file_header hot_header = {
	.magic = "CEEMSHOT",
	.version = 1,
	.row_bytes = sizeof(struct hot_page_row),
	.rows = HOT_PAGE_ROWS,
};

int hot_page_create(const char *path, struct err *err)
{
	return page_file_create(path, &hot_header, err);
}

int hot_page_open(const char *path, struct err *err)
{
	int fd = open(path, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);

	return fd < 0 ? err_set(err, -errno, "%s: %s", path, strerror(errno)) : fd;
}

int hot_page_write(int fd, uint32_t at, struct hot_page_row *row)
{
	return at < HOT_PAGE_ROWS ? page_file_write(fd, &hot_header, row, at, 1)
				  : -EINVAL;
}

static bool is_hot_row_of(const struct hot_page_row *r, const struct hot_page_row *key)
{
	return r->job == key->job && r->step == key->step &&
	       r->stepd_pid == key->stepd_pid &&
	       r->crc == page_file_crc(&hot_header, r) && r->read_ns <= key->read_ns &&
	       key->read_ns - r->read_ns <= HOT_PAGE_AGE_MAX_NS &&
	       r->count <= HOT_FUNCTIONS && r->hz && r->samples;
}

/* A name may be anything; a terminal must not be told by it what to do. */
static void clean_hot_names(struct hot_page_row *r)
{
	for (uint32_t i = 0; i < r->count; i++) {
		char *name = r->functions[i].name;
		name[HOT_NAME_BYTES - 1] = '\0';
		for (char *c = name; *c; c++) {
			if (*c < ' ' || *c > '~')
				*c = '?';
		}
		if (r->functions[i].samples > r->samples)
			r->functions[i].samples = r->samples;
	}
}

int hot_page_find(const char *path, uint32_t job, uint32_t step, uint32_t stepd_pid,
		  uint64_t now_ns, struct hot_page_row *ret, struct err *err)
{
	const struct hot_page_row key = {
		.job = job, .step = step, .stepd_pid = stepd_pid, .read_ns = now_ns};
	struct hot_page_row rows[HOT_READ_ROWS], newest = {0};
	auto_close int fd = page_file_open(path, &hot_header, "of functions", err);

	if (fd < 0)
		return fd;
	for (uint32_t at = 0; at < HOT_PAGE_ROWS; at += HOT_READ_ROWS) {
		if (page_file_read(fd, &hot_header, rows, at, HOT_READ_ROWS) < 0)
			return err_set(err, -EBADF, "%s: cannot be read", path);
		for (uint32_t i = 0; i < HOT_READ_ROWS; i++) {
			/* a step's place changes when others end */
			if (is_hot_row_of(&rows[i], &key) &&
			    rows[i].read_ns >= newest.read_ns)
				newest = rows[i];
		}
	}
	if (!newest.samples)
		return err_set(err, -ENOENT, "%s: nothing of this step", path);
	clean_hot_names(&newest);
	*ret = newest;
	return 0;
}
