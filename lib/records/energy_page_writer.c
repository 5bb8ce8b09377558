/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writing the energy page: a tick is collected in memory, then five writes publish it.
 * Whatever happens between two of them, a valid half remains. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/boot.h"
#include "lib/cleanup.h"
#include "lib/fs.h"
#include "lib/records/energy_page.h"
#include "lib/records/energy_page_file.h"

struct energy_page_writer {
	int fd;
	uint32_t capacity;
	uint64_t generation; /* visible to readers now */
	bool sorted;
	struct energy_page_half half;
	struct energy_page_row *rows;
};

/* ---- opening --------------------------------------------------------------------- */

static int write_at(int fd, const void *data, size_t len, off_t at)
{
	const char *from = data;

	/* readers see these bytes before later ones */
	__sync_synchronize();
	for (size_t done = 0; done < len;) {
		ssize_t n = pwrite(fd, from + done, len - done, at + (off_t)done);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -EIO;
		done += (size_t)n;
	}
	return 0;
}

static int fill_new_page(int fd, const char *path, uint32_t capacity, struct err *err)
{
	struct energy_page_header h = {
		.magic = ENERGY_PAGE_MAGIC,
		.version = ENERGY_PAGE_VERSION,
		.half_bytes = sizeof(struct energy_page_half),
		.row_bytes = sizeof(struct energy_page_row),
		.capacity = capacity,
	};
	struct stat st;

	int rc = boot_id(h.boot_id, err);
	if (rc < 0)
		return rc;
	if (fstat(fd, &st) < 0 || fchmod(fd, 0600) < 0)
		return err_set(err, -errno, "create %s: %s", path, strerror(errno));
	h.inode = (uint64_t)st.st_ino;
	rc = -posix_fallocate(fd, 0, energy_page_bytes(capacity));
	if (rc < 0)
		return err_set(err, rc, "allocate %jd bytes for %s: %s",
			       (intmax_t)energy_page_bytes(capacity), path,
			       strerror(-rc));
	rc = write_at(fd, &h, sizeof(h), 0);
	if (rc < 0)
		return err_set(err, rc, "write %s: %s", path, strerror(-rc));
	return 0;
}

static int make_new_page(const char *path, uint32_t capacity, struct err *err)
{
	char tmp[FS_NEW_BYTES];

	auto_close int fd = fs_create_new_at(AT_FDCWD, path, 0600, tmp, err);
	if (fd < 0)
		return fd;
	int rc = fill_new_page(fd, tmp, capacity, err);
	if (rc == 0 && rename(tmp, path) < 0)
		rc = err_set(err, -errno, "rename %s to %s: %s", tmp, path,
			     strerror(errno));
	if (rc < 0) {
		unlink(tmp);
		return rc;
	}
	return steal_fd(&fd);
}

/* Takes over an existing page that is ours, of this size and of this boot. */
static int take_over_page(const char *path, uint32_t capacity, uint64_t *ret_generation)
{
	struct energy_page_header h;

	auto_close int fd =
		open(path, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0 || energy_page_check(fd, path, &h, NULL) < 0 ||
	    h.capacity != capacity)
		return -ENOENT;
	*ret_generation = h.generation;
	return steal_fd(&fd);
}

int energy_page_writer_open(const char *path, uint32_t capacity,
			    struct energy_page_writer **ret, struct err *err)
{
	if (capacity < ENERGY_PAGE_ROWS_MIN || capacity > ENERGY_PAGE_ROWS_MAX)
		return err_set(err, -EINVAL, "%s: %u rows, must be %u to %u", path,
			       capacity, ENERGY_PAGE_ROWS_MIN, ENERGY_PAGE_ROWS_MAX);
	struct energy_page_writer *w = calloc(1, sizeof(*w));
	if (!w)
		return err_set(err, -ENOMEM, "%s: out of memory", path);
	w->capacity = capacity;
	w->fd = -1;
	int rc = -ENOMEM;
	w->rows = calloc(capacity, sizeof(*w->rows));
	if (!w->rows) {
		err_set(err, rc, "%s: out of memory", path);
		goto fail;
	}
	w->fd = take_over_page(path, capacity, &w->generation);
	if (w->fd < 0)
		w->fd = rc = make_new_page(path, capacity, err);
	if (w->fd < 0)
		goto fail;
	*ret = w;
	return 0;
fail:
	energy_page_writer_free(w);
	return rc;
}

int energy_page_writer_chown(struct energy_page_writer *w, uid_t uid, gid_t gid,
			     struct err *err)
{
	if (fchown(w->fd, uid, gid) < 0)
		return err_set(err, -errno, "chown of the energy page: %s",
			       strerror(errno));
	return 0;
}

void energy_page_writer_free(struct energy_page_writer *w)
{
	if (!w)
		return;
	if (w->fd >= 0)
		close(w->fd);
	free(w->rows);
	free(w);
}

/* ---- one tick -------------------------------------------------------------------- */

void energy_page_begin(struct energy_page_writer *w,
		       const struct energy_page_node *node)
{
	w->half = (struct energy_page_half){.node = *node};
	w->half.node.rows_lost = 0;
	w->sorted = true;
}

int energy_page_add(struct energy_page_writer *w, const struct energy_page_row *row)
{
	uint32_t n = w->half.rows;

	if (n == w->capacity) {
		w->half.node.rows_lost++;
		return -ENOSPC;
	}
	if (n && energy_page_compare(&w->rows[n - 1], row) > 0)
		w->sorted = false;
	w->rows[n] = *row;
	w->half.rows++;
	return 0;
}

static int compare_page_rows(const void *a, const void *b)
{
	return energy_page_compare(a, b);
}

int energy_page_commit(struct energy_page_writer *w, struct err *err)
{
	uint64_t next = w->generation + 1;
	off_t at = energy_page_half_at(w->capacity, next);

	if (!w->sorted)
		qsort(w->rows, w->half.rows, sizeof(*w->rows), compare_page_rows);
	w->sorted = true;
	/* The half is invalid from before its first byte changes until it is
	 * complete. */
	w->half.generation = 0;
	int rc = write_at(w->fd, &w->half.generation, sizeof(next), at);
	if (rc == 0)
		rc = write_at(w->fd, &w->half, sizeof(w->half), at);
	if (rc == 0)
		rc = write_at(w->fd, w->rows, w->half.rows * sizeof(*w->rows),
			      at + (off_t)sizeof(w->half));
	if (rc == 0)
		rc = write_at(w->fd, &next, sizeof(next), at);
	if (rc == 0)
		rc = write_at(w->fd, &next, sizeof(next),
			      offsetof(struct energy_page_header, generation));
	if (rc < 0)
		return err_set(err, rc, "energy page: %s", strerror(-rc));
	w->generation = next;
	return 0;
}
