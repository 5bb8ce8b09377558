/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writes a spool. It must survive power loss, being killed and a full disk: a record is
 * in the file completely or not at all, and every loss is counted. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "lib/cleanup.h"
#include "lib/crc32c.h"
#include "lib/fs.h"
#include "lib/records/spool_segment.h"

#define DISK_PARTS 16 /* segments of a file system, at least */

struct active {
	int fd; /* -1: none, the next record begins a segment */
	uint64_t first, off;
	bool dirty;
};

struct spool_writer {
	char *folder;
	int dirfd, lockfd, lossesfd;
	uint64_t max_bytes;
	uint32_t segment_bytes;
	uint64_t next_seq;
	uint64_t used; /* at least the size of the segments, which the reader reduces */
	struct active active[SEGMENT_KINDS];
	struct losses losses;
	bool dir_dirty, losses_dirty;
	int sync_error; /* of a full segment, before the caller asked */
	struct buf record;
};

/* ---- segments -------------------------------------------------------------------- */

static uint64_t read_acked(const struct spool_writer *w)
{
	struct cursor c = {0};

	return cursor_read(w->dirfd, &c) < 0 ? 0 : c.acked;
}

static void close_active(struct spool_writer *w, enum segment_kind kind)
{
	struct active *a = &w->active[kind];

	if (a->fd < 0)
		return;
	if (a->dirty && fdatasync(a->fd) < 0)
		w->sync_error = -errno;
	close(a->fd);
	*a = (struct active){.fd = -1};
}

static int begin_segment(struct spool_writer *w, enum segment_kind kind)
{
	int fd = -EEXIST;

	/* the number is taken only if garbage has its name */
	for (int i = 0; i < 16 && fd == -EEXIST; i++) {
		fd = segment_create(w->dirfd, kind, w->next_seq);
		if (fd == -EEXIST)
			w->next_seq++;
	}
	if (fd < 0)
		return fd;
	w->active[kind] = (struct active){.fd = fd,
					  .first = w->next_seq,
					  .off = sizeof(struct segment_header),
					  .dirty = true};
	w->used += sizeof(struct segment_header);
	w->dir_dirty = true;
	return 0;
}

static int pwrite_all(int fd, const char *data, size_t len, uint64_t off)
{
	while (len) {
		ssize_t n = pwrite(fd, data, len, (off_t)off);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? fs_write_errno() : -ENOSPC;
		data += n;
		len -= (size_t)n;
		off += (uint64_t)n;
	}
	return 0;
}

static int put_spool_record(struct spool_writer *w, enum spool_class cls,
			    const void *data, size_t len)
{
	struct record_header h = {.magic = RECORD_MAGIC,
				  .len = (uint32_t)len,
				  .seq = w->next_seq,
				  .cls = cls,
				  .crc = crc32c(0, data, len)};

	h.header_crc = crc32c(0, &h, offsetof(struct record_header, header_crc));
	buf_reset(&w->record);
	buf_put(&w->record, &h, sizeof(h));
	buf_put(&w->record, data, len);
	while (w->record.len % 8 && !buf_error(&w->record))
		buf_putc(&w->record, '\0');
	return buf_error(&w->record);
}

/* One try to get the record into the file. */
static int write_spool_record(struct spool_writer *w, enum spool_class cls,
			      const void *data, size_t len)
{
	enum segment_kind kind = segment_kind_of(cls);
	struct active *a = &w->active[kind];
	uint64_t room = record_room(len);

	if (a->fd >= 0 && a->off > sizeof(struct segment_header) &&
	    a->off + room > w->segment_bytes)
		close_active(w, kind);
	int rc = a->fd < 0 ? begin_segment(w, kind) : 0;
	if (rc == 0)
		rc = put_spool_record(w, cls, data, len);
	if (rc == 0)
		rc = pwrite_all(a->fd, w->record.data, w->record.len, a->off);
	if (rc < 0) {
		/* removes the part that fitted; a file that cannot be cut is left with
		 * its torn end and never appended to again */
		if (a->fd >= 0 && ftruncate(a->fd, (off_t)a->off) < 0)
			close_active(w, kind);
		return rc;
	}
	a->off += room;
	a->dirty = true;
	w->used += room;
	return 0;
}

/* ---- losses and room ------------------------------------------------------------- */

/* Failing to record it is not an error of the caller: the figure stays in memory and is
 * written with the next one. */
static void note_losses(struct spool_writer *w)
{
	w->losses.next_seq = w->next_seq;
	if (losses_write(w->lossesfd, &w->losses) == 0)
		w->losses_dirty = true;
}

static uint64_t count_untold(const struct spool_writer *w, int fd)
{
	struct segment_walk walk;
	uint64_t told = read_acked(w), n = 0;
	int step;

	segment_walk_start(&walk, fd, SEGMENT_INTERVAL);
	while ((step = segment_step(&walk, NULL)) >= 0 && step != STEP_END)
		n += step == STEP_RECORD && walk.seq > told;
	return n;
}

/* Gives up the oldest interval segment: 1; 0: there is none. */
static int evict_oldest(struct spool_writer *w, struct err *err)
{
	auto_segments struct segment_list l = {0};
	int rc = segment_list(w->dirfd, w->folder, SEGMENT_INTERVAL, &l, err);

	for (size_t i = 0; rc == 0 && i < l.count; i++) {
		char name[SEGMENT_NAME_MAX];
		uint64_t first = l.items[i].first;
		auto_close int fd =
			segment_open(w->dirfd, SEGMENT_INTERVAL, first, false);
		if (fd < 0)
			continue;
		w->losses.lost[SPOOL_INTERVAL] += count_untold(w, fd);
		w->losses.evict_first = first;
		note_losses(w);
		if (fdatasync(w->lossesfd) < 0)
			w->sync_error = -errno;
		if (w->active[SEGMENT_INTERVAL].fd >= 0 &&
		    w->active[SEGMENT_INTERVAL].first == first) {
			close(w->active[SEGMENT_INTERVAL].fd);
			w->active[SEGMENT_INTERVAL] = (struct active){.fd = -1};
		}
		segment_name(SEGMENT_INTERVAL, first, name);
		if (unlinkat(w->dirfd, name, 0) < 0) {
			rc = -errno;
			return err_set(err, rc, "remove %s/%s: %s", w->folder, name,
				       strerror(-rc));
		}
		w->losses.evict_first = 0;
		w->dir_dirty = true;
		w->used -= l.items[i].bytes < w->used ? l.items[i].bytes : w->used;
		return 1;
	}
	return rc;
}

/* The size of the segments; *ret_keep: of those that must be kept. */
static int measure_segments(struct spool_writer *w, uint64_t *ret_keep, struct err *err)
{
	auto_segments struct segment_list interval = {0};
	auto_segments struct segment_list keep = {0};
	int rc = segment_list(w->dirfd, w->folder, SEGMENT_INTERVAL, &interval, err);

	if (rc == 0)
		rc = segment_list(w->dirfd, w->folder, SEGMENT_KEEP, &keep, err);
	if (rc == 0) {
		w->used = interval.bytes + keep.bytes;
		*ret_keep = keep.bytes;
	}
	return rc;
}

static int make_spool_room(struct spool_writer *w, uint64_t need, struct err *err)
{
	uint64_t keep = 0;

	if (w->used + need <= w->max_bytes)
		return 0;
	int rc = segments_drop_told(w->dirfd, w->folder, read_acked(w), err);
	if (rc == 0)
		rc = measure_segments(w, &keep, err);
	if (rc < 0)
		return rc;
	/* giving up intervals is useless if it would still not fit */
	bool fits = keep + need <= w->max_bytes;
	for (unsigned i = 0; fits && i < SEGMENT_LIST_MAX; i++) {
		if (w->used + need <= w->max_bytes)
			return 0;
		rc = evict_oldest(w, err);
		if (rc <= 0)
			break;
	}
	if (rc < 0)
		return rc;
	return err_set(err, -EDQUOT,
		       "%s: full (%ju bytes of records that must be kept, limit %ju), "
		       "record refused",
		       w->folder, (uintmax_t)keep, (uintmax_t)w->max_bytes);
}

static bool disk_full(int rc)
{
	return rc == -ENOSPC || rc == -EDQUOT;
}

static int append_spool_record(struct spool_writer *w, enum spool_class cls,
			       const void *data, size_t len, struct err *err)
{
	if ((unsigned)cls >= SPOOL_CLASSES || len > SPOOL_RECORD_MAX)
		return err_set(err, -EMSGSIZE,
			       "%s: record of %zu bytes is longer than %u", w->folder,
			       len, SPOOL_RECORD_MAX);
	int rc = make_spool_room(w, record_room(len) + sizeof(struct segment_header),
				 err);
	if (rc < 0)
		return rc;
	rc = write_spool_record(w, cls, data, len);
	for (int i = 0; i < 4 && disk_full(rc); i++) {
		/* another file filled the disk: drop our acknowledged files, then
		 * intervals */
		segments_drop_told(w->dirfd, w->folder, read_acked(w), NULL);
		rc = write_spool_record(w, cls, data, len);
		if (!disk_full(rc) || evict_oldest(w, NULL) <= 0)
			break;
		rc = write_spool_record(w, cls, data, len);
	}
	if (rc < 0)
		return err_set(err, rc, "%s: %s, record of %zu bytes not stored",
			       w->folder, strerror(-rc), len);
	return 0;
}

int spool_try(struct spool_writer *w, enum spool_class cls, const void *data,
	      size_t len, uint64_t *ret_seq, struct err *err)
{
	int rc = append_spool_record(w, cls, data, len, err);

	if (rc < 0)
		return rc;
	if (ret_seq)
		*ret_seq = w->next_seq;
	w->next_seq++;
	return 0;
}

void spool_count_lost(struct spool_writer *w, enum spool_class cls, uint64_t n)
{
	if ((unsigned)cls >= SPOOL_CLASSES || !n)
		return;
	w->losses.lost[cls] += n;
	note_losses(w);
}

int spool_append(struct spool_writer *w, enum spool_class cls, const void *data,
		 size_t len, uint64_t *ret_seq, struct err *err)
{
	int rc = spool_try(w, cls, data, len, ret_seq, err);

	if (rc < 0)
		spool_count_lost(w, cls, 1);
	return rc;
}

int spool_sync(struct spool_writer *w, struct err *err)
{
	int rc = w->sync_error;

	w->sync_error = 0;
	for (int kind = 0; kind < SEGMENT_KINDS; kind++) {
		struct active *a = &w->active[kind];
		if (a->fd < 0 || !a->dirty)
			continue;
		if (fdatasync(a->fd) < 0)
			rc = -errno;
		else
			a->dirty = false;
	}
	if (w->losses_dirty && fdatasync(w->lossesfd) < 0)
		rc = -errno;
	if (w->dir_dirty && fsync(w->dirfd) < 0)
		rc = -errno;
	if (rc < 0)
		return err_set(err, rc, "%s: sync: %s", w->folder, strerror(-rc));
	w->losses_dirty = w->dir_dirty = false;
	return 0;
}

/* ---- opening --------------------------------------------------------------------- */

/* Finds the end of the last segment. A clean end is appended to; otherwise it is cut
 * and left, so that a reader in it never sees bytes change. */
static int adopt_segment(struct spool_writer *w, enum segment_kind kind, uint64_t first,
			 struct err *err)
{
	auto_close int fd = segment_open(w->dirfd, kind, first, true);
	auto_buf struct buf payload = BUF_INIT;
	struct segment_walk walk;
	uint64_t good = sizeof(struct segment_header);
	int step;

	if (fd < 0)
		return err_set(err, fd, "%s: open segment %ju: %s", w->folder,
			       (uintmax_t)first, strerror(-fd));
	segment_walk_start(&walk, fd, kind);
	while ((step = segment_step(&walk, &payload)) >= 0 && step != STEP_END) {
		if (step == STEP_RECORD)
			good = walk.off;
	}
	if (step < 0)
		return err_set(err, step, "%s: read segment %ju: %s", w->folder,
			       (uintmax_t)first, strerror(-step));
	if (first > w->next_seq)
		w->next_seq = first;
	if (walk.seq >= w->next_seq)
		w->next_seq = walk.seq + 1;
	if (!walk.trailing && walk.off == good) {
		w->active[kind] = (struct active){
			.fd = steal_fd(&fd), .first = first, .off = good};
		return 0;
	}
	if (ftruncate(fd, (off_t)good) < 0 || fdatasync(fd) < 0) {
		int rc = -errno;
		return err_set(err, rc, "%s: cut segment %ju: %s", w->folder,
			       (uintmax_t)first, strerror(-rc));
	}
	w->losses.torn_tails++;
	note_losses(w);
	return 0;
}

/* A file with the name of a segment that is none. Too short to hold a record: removed.
 * Else kept, but out of the way and only the last such, so that they cannot pile up. */
static void set_aside(struct spool_writer *w, enum segment_kind kind,
		      const struct segment *seg, int why)
{
	char name[SEGMENT_NAME_MAX];

	if (why != -EBADMSG && why != -ENODATA)
		return;
	segment_name(kind, seg->first, name);
	if (seg->bytes <= sizeof(struct segment_header)) {
		unlinkat(w->dirfd, name, 0);
		return;
	}
	if (renameat(w->dirfd, name, w->dirfd, UNREADABLE_NAME) == 0) {
		w->losses.unreadable++;
		note_losses(w);
	}
}

static int look_around(struct spool_writer *w, enum segment_kind kind, struct err *err)
{
	auto_segments struct segment_list l = {0};
	uint64_t last = 0;
	int rc = segment_list(w->dirfd, w->folder, kind, &l, err);

	for (size_t i = 0; rc == 0 && i < l.count; i++) {
		auto_close int fd =
			segment_open(w->dirfd, kind, l.items[i].first, false);
		if (fd >= 0)
			last = l.items[i].first;
		else
			set_aside(w, kind, &l.items[i], fd);
	}
	return rc == 0 && last ? adopt_segment(w, kind, last, err) : rc;
}

static int open_losses(struct spool_writer *w, struct err *err)
{
	static const char zeros[4096];
	char name[SEGMENT_NAME_MAX];
	struct stat st = {0};

	w->lossesfd = openat(w->dirfd, LOSSES_NAME,
			     O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	int rc = w->lossesfd < 0 || fstat(w->lossesfd, &st) < 0 ? -errno : 0;
	/* its block is taken now: counting must work when the disk is full */
	if (rc == 0 && st.st_size < (off_t)sizeof(zeros))
		rc = pwrite_all(w->lossesfd, zeros + st.st_size,
				sizeof(zeros) - (size_t)st.st_size,
				(uint64_t)st.st_size);
	if (rc == 0)
		rc = losses_read(w->lossesfd, &w->losses);
	if (rc < 0)
		return err_set(err, rc, "%s/%s: %s", w->folder, LOSSES_NAME,
			       strerror(-rc));
	if (w->losses.next_seq > w->next_seq)
		w->next_seq = w->losses.next_seq;
	if (w->losses.evict_first) { /* counted, but we died before it was gone */
		segment_name(SEGMENT_INTERVAL, w->losses.evict_first, name);
		unlinkat(w->dirfd, name, 0);
		w->losses.evict_first = 0;
		note_losses(w);
	}
	return 0;
}

static int check_spool_limits(struct spool_writer *w, const struct spool_limits *limits,
			      struct err *err)
{
	w->max_bytes =
		limits && limits->max_bytes ? limits->max_bytes : SPOOL_BYTES_DEFAULT;
	w->segment_bytes = SPOOL_SEGMENT_DEFAULT;
	if (limits && limits->segment_bytes)
		w->segment_bytes = limits->segment_bytes;
	else if (w->segment_bytes > w->max_bytes / 4)
		w->segment_bytes = (uint32_t)(w->max_bytes / 4);
	if (w->segment_bytes < SPOOL_SEGMENT_MIN || w->segment_bytes > w->max_bytes / 4)
		return err_set(err, -EINVAL,
			       "%s: segments of %u bytes do not fit a limit of %ju (at "
			       "least %u, at most a quarter)",
			       w->folder, w->segment_bytes, (uintmax_t)w->max_bytes,
			       SPOOL_SEGMENT_MIN);
	return 0;
}

/* What has been told goes a segment at a time, and never the one that is written to: on
 * a small file system segments are small, or that one alone would fill it. */
static void fit_disk(struct spool_writer *w)
{
	struct statvfs fs;

	if (fstatvfs(w->dirfd, &fs) < 0 || !fs.f_blocks)
		return;
	uint64_t part = (uint64_t)fs.f_blocks * fs.f_frsize / DISK_PARTS;
	if (part < SPOOL_SEGMENT_MIN)
		part = SPOOL_SEGMENT_MIN;
	if (w->segment_bytes > part)
		w->segment_bytes = (uint32_t)part;
}

static int open_spool_segments(struct spool_writer *w,
			       const struct spool_limits *limits, struct err *err)
{
	uint64_t keep;
	int rc = check_spool_limits(w, limits, err);

	if (rc < 0)
		return rc;
	w->dirfd = folder_open(w->folder, true, err);
	if (w->dirfd < 0)
		return w->dirfd;
	if (!limits || !limits->segment_bytes)
		fit_disk(w);
	w->lockfd = folder_lock(w->dirfd, WRITER_LOCK, w->folder, "writer", err);
	if (w->lockfd < 0)
		return w->lockfd;
	w->next_seq = read_acked(w) + 1;
	rc = open_losses(w, err);
	for (int kind = 0; rc == 0 && kind < SEGMENT_KINDS; kind++)
		rc = look_around(w, kind, err);
	return rc < 0 ? rc : measure_segments(w, &keep, err);
}

int spool_writer_open(const char *folder, const struct spool_limits *limits,
		      struct spool_writer **ret, struct err *err)
{
	struct spool_writer *w = calloc(1, sizeof(*w));

	if (!w)
		return err_set(err, -ENOMEM, "%s: out of memory", folder);
	w->dirfd = w->lockfd = w->lossesfd = -1;
	for (int kind = 0; kind < SEGMENT_KINDS; kind++)
		w->active[kind].fd = -1;
	w->folder = strdup(folder);
	int rc = w->folder ? open_spool_segments(w, limits, err)
			   : err_set(err, -ENOMEM, "%s: out of memory", folder);
	if (rc < 0) {
		spool_writer_close(w);
		return rc;
	}
	*ret = w;
	return 0;
}

bool spool_writer_is_stale(const struct spool_writer *w)
{
	return folder_is_stale(w->dirfd, w->folder);
}

void spool_writer_close(struct spool_writer *w)
{
	if (!w)
		return;
	int saved = errno;
	int fds[] = {w->active[SEGMENT_INTERVAL].fd, w->active[SEGMENT_KEEP].fd,
		     w->lossesfd, w->lockfd, w->dirfd};
	for (size_t i = 0; i < sizeof(fds) / sizeof(fds[0]); i++) {
		if (fds[i] >= 0)
			close(fds[i]);
	}
	buf_done(&w->record);
	free(w->folder);
	free(w);
	errno = saved;
}
