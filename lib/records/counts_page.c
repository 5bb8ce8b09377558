/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The file is never trusted by its reader: any bytes give values or an error. */
#include "lib/records/counts_page.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/cleanup.h"
#include "lib/crc32c.h"
#include "lib/fs.h"

#define ROWS_AT sizeof(struct counts_page_header)
#define PAGE_BYTES (ROWS_AT + COUNTS_PAGE_ROWS * sizeof(struct counts_page_row))
#define READ_ROWS 64u

_Static_assert(sizeof(struct counts_page_header) == 24, "no padding");
_Static_assert(sizeof(struct counts_page_row) == 32 + 8 * COUNTS_VALUES, "no padding");

static uint32_t row_crc(const struct counts_page_row *r)
{
	return crc32c(0, &r->job, sizeof(*r) - offsetof(struct counts_page_row, job));
}

/* ---- writing --------------------------------------------------------------------- */

int counts_page_create(const char *path, struct err *err)
{
	const struct counts_page_header h = {
		.magic = COUNTS_PAGE_MAGIC,
		.version = COUNTS_PAGE_VERSION,
		.row_bytes = sizeof(struct counts_page_row),
		.rows = COUNTS_PAGE_ROWS,
	};
	char tmp[FS_NEW_BYTES];
	auto_close int fd = fs_create_new_at(AT_FDCWD, path, 0600, tmp, err);

	if (fd < 0)
		return fd;
	int rc = fchmod(fd, 0600) < 0 ? -errno : -posix_fallocate(fd, 0, PAGE_BYTES);
	if (rc == 0 && pwrite(fd, &h, sizeof(h), 0) != (ssize_t)sizeof(h))
		rc = -EIO;
	if (rc == 0 && rename(tmp, path) < 0)
		rc = -errno;
	if (rc < 0) {
		unlink(tmp);
		return err_set(err, rc, "create %s: %s", path, strerror(-rc));
	}
	return steal_fd(&fd);
}

int counts_page_write(int fd, struct counts_page_row *rows, uint32_t count)
{
	size_t len = count * sizeof(*rows);

	for (uint32_t i = 0; i < count; i++)
		rows[i].crc = row_crc(&rows[i]);
	ssize_t n = pwrite(fd, rows, len, (off_t)ROWS_AT);
	if (n < 0)
		return -errno;
	return (size_t)n == len ? 0 : -EIO;
}

/* ---- reading --------------------------------------------------------------------- */

static int check_counts_page(int fd, const char *path, struct err *err)
{
	struct counts_page_header h;
	struct stat st;

	if (fstat(fd, &st) < 0)
		return err_set(err, -EBADF, "stat %s: %s", path, strerror(errno));
	int rc = fs_check_trusted_stat(&st, path, st.st_uid, 0600, err);
	if (rc == 0)
		rc = fs_check_trusted_folder(path, fd, err);
	if (rc < 0)
		return rc;
	if (st.st_size != (off_t)PAGE_BYTES ||
	    pread(fd, &h, sizeof(h), 0) != (ssize_t)sizeof(h) ||
	    memcmp(h.magic, COUNTS_PAGE_MAGIC, sizeof(h.magic)) != 0)
		return err_set(err, -EBADF, "%s: not a page of counts", path);
	if (h.version != COUNTS_PAGE_VERSION ||
	    h.row_bytes != sizeof(struct counts_page_row) || h.rows != COUNTS_PAGE_ROWS)
		return err_set(err, -EPROTO, "%s: version %u, this program has %u",
			       path, h.version, COUNTS_PAGE_VERSION);
	return 0;
}

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
	       r->stepd_pid == key->stepd_pid && r->crc == row_crc(r) &&
	       r->read_ns <= key->read_ns &&
	       key->read_ns - r->read_ns <= COUNTS_PAGE_AGE_MAX_NS;
}

static int open_counts_page(const char *path, struct err *err)
{
	/* O_NONBLOCK: a FIFO in its place must not hold up a job */
	int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);

	if (fd >= 0)
		return fd;
	int rc = -errno;
	return err_set(err, rc == -ENOENT ? rc : -EPERM, "open %s: %s", path,
		       strerror(-rc));
}

int counts_page_find(const char *path, uint32_t job, uint32_t step, uint32_t stepd_pid,
		     uint64_t now_ns, struct step_counts *ret, struct err *err)
{
	const struct counts_page_row key = {
		.job = job, .step = step, .stepd_pid = stepd_pid, .read_ns = now_ns};
	struct counts_page_row rows[READ_ROWS];
	struct step_counts sum = {0};
	auto_close int fd = open_counts_page(path, err);
	int rc = fd < 0 ? fd : check_counts_page(fd, path, err);

	if (rc < 0)
		return rc;
	for (uint32_t at = 0; at < COUNTS_PAGE_ROWS; at += READ_ROWS) {
		if (pread(fd, rows, sizeof(rows),
			  (off_t)(ROWS_AT + at * sizeof(rows[0]))) !=
		    (ssize_t)sizeof(rows))
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
