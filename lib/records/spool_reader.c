/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads a spool: two streams of segments merged by record number, while a writer
 * appends, cuts and gives up files. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/cleanup.h"
#include "lib/records/spool_segment.h"

struct segment_stream {
	enum segment_kind kind;
	int fd;         /* -1: between segments */
	uint64_t first; /* of the current or last segment; 0: at the start */
	struct segment_walk walk;
	struct buf payload;
	bool have; /* walk.header and payload are a record that was not returned yet */
};

struct spool_reader {
	char *folder;
	int dirfd, lockfd;
	struct cursor cursor;
	uint64_t given; /* number of the last record returned */
	struct buf again;
	struct segment_stream streams[SEGMENT_KINDS];
};

static void leave_segment(struct segment_stream *s)
{
	if (s->fd >= 0)
		close(s->fd);
	s->fd = -1;
	s->have = false;
}

/* The segment to continue in: at the start the one with the record after the cursor,
 * later the next one. 1, 0 none yet, or negative errno. */
static int find_segment(const struct spool_reader *r, const struct segment_stream *s,
			uint64_t *ret, struct err *err)
{
	auto_segments struct segment_list l = {0};
	uint64_t want = r->cursor.acked + 1;
	int rc = segment_list(r->dirfd, r->folder, s->kind, &l, err);
	size_t i = 0;

	if (rc < 0)
		return rc;
	for (i = l.count; s->first == 0 && i > 0; i--) {
		uint64_t first = l.items[i - 1].first;
		if (first > want || !segment_valid(r->dirfd, s->kind, first))
			continue;
		*ret = first;
		return 1;
	}
	for (i = 0; i < l.count; i++) {
		uint64_t first = l.items[i].first;
		if (first <= s->first || !segment_valid(r->dirfd, s->kind, first))
			continue;
		*ret = first;
		return 1;
	}
	return 0;
}

static int enter_segment(struct spool_reader *r, struct segment_stream *s,
			 struct err *err)
{
	uint64_t first;
	int rc = find_segment(r, s, &first, err);

	if (rc <= 0)
		return rc;
	int fd = segment_open(r->dirfd, s->kind, first, false);
	if (fd == -ENOENT)
		return 0; /* given up just now: look again next time */
	if (fd < 0)
		return err_set(err, fd, "%s: open segment %ju: %s", r->folder,
			       (uintmax_t)first, strerror(-fd));
	s->fd = fd;
	s->first = first;
	segment_walk_start(&s->walk, fd, s->kind);
	return 1;
}

/* A file that the writer gave up was counted as lost, so the rest of it is not
 * returned. */
static bool given_up(const struct segment_stream *s)
{
	struct stat st;

	return s->fd >= 0 && fstat(s->fd, &st) == 0 && st.st_nlink == 0;
}

static void count_damage(struct spool_reader *r, const struct segment_stream *s)
{
	if (s->walk.seq >= r->cursor.acked) /* else it has been counted before */
		r->cursor.damaged++;
}

/* Takes the stream to its next record: 1, 0 no more now, or negative errno. */
static int peek_stream(struct spool_reader *r, struct segment_stream *s,
		       struct err *err)
{
	bool ended = false;

	for (;;) { /* each turn moves on within a file, or to a later one */
		uint64_t newer;
		if (given_up(s))
			leave_segment(s);
		if (s->have)
			return 1;
		int rc = s->fd < 0 ? enter_segment(r, s, err) : 1;
		if (rc <= 0)
			return rc;
		rc = segment_step(&s->walk, &s->payload);
		if (rc < 0)
			return err_set(err, rc, "%s: read: %s", r->folder,
				       strerror(-rc));
		if (rc == STEP_RECORD) {
			ended = false;
			s->have = s->walk.seq > r->cursor.acked;
		} else if (rc == STEP_DAMAGED) {
			count_damage(r, s);
		} else if (!ended) {
			rc = find_segment(r, s, &newer, err);
			if (rc <= 0)
				return rc;
			/* once there is a newer one nothing is appended, but something
			 * may have been in between: look once more */
			ended = true;
		} else {
			if (s->walk.trailing)
				count_damage(r, s);
			leave_segment(s);
			ended = false;
		}
	}
}

int spool_next(struct spool_reader *r, struct spool_record *ret, struct err *err)
{
	struct segment_stream *a = &r->streams[SEGMENT_INTERVAL];
	struct segment_stream *b = &r->streams[SEGMENT_KEEP];

	/* The writer appends in order of number. A stream checked after the other's
	 * head was seen shows everything before that head; so one that was empty is
	 * checked again before the other's head is returned. */
	int have_a = peek_stream(r, a, err);
	if (have_a < 0)
		return have_a;
	int have_b = peek_stream(r, b, err);
	if (have_b > 0 && have_a == 0)
		have_a = peek_stream(r, a, err);
	if (have_a < 0 || have_b < 0)
		return have_a < 0 ? have_a : have_b;
	if (!have_a && !have_b)
		return 0;
	struct segment_stream *s =
		!have_b || (have_a && a->walk.seq < b->walk.seq) ? a : b;
	*ret = (struct spool_record){.seq = s->walk.seq,
				     .cls = s->walk.header.cls,
				     .data = s->payload.data,
				     .len = s->payload.len,
				     .segment = s->first,
				     .off = s->walk.off - record_room(s->payload.len)};
	s->have = false;
	r->given = s->walk.seq;
	return 1;
}

int spool_read_again(struct spool_reader *r, const struct spool_record *which,
		     struct spool_record *ret, struct err *err)
{
	enum segment_kind kind = segment_kind_of(which->cls);
	struct segment_walk walk;
	auto_close int fd = segment_open(r->dirfd, kind, which->segment, false);

	if (fd < 0)
		return err_set(err, fd == -ENODATA ? -EBADMSG : fd,
			       "%s: record %ju: %s", r->folder, (uintmax_t)which->seq,
			       strerror(-fd));
	segment_walk_start(&walk, fd, kind);
	walk.off = which->off;
	int rc = segment_step(&walk, &r->again);
	if (rc < 0)
		return err_set(err, rc, "%s: read: %s", r->folder, strerror(-rc));
	if (rc != STEP_RECORD || walk.seq != which->seq)
		return err_set(err, -EBADMSG, "%s: record %ju is damaged", r->folder,
			       (uintmax_t)which->seq);
	*ret = *which;
	ret->data = r->again.data;
	ret->len = r->again.len;
	return 0;
}

int spool_ack(struct spool_reader *r, uint64_t seq, struct err *err)
{
	if (seq <= r->cursor.acked)
		return 0;
	if (r->lockfd < 0)
		return err_set(err, -EPERM, "%s: only looked at", r->folder);
	if (seq > r->given)
		return err_set(err, -EINVAL, "%s: record %ju has not been read yet",
			       r->folder, (uintmax_t)seq);
	/* Files first: on a full disk that makes room for the cursor's new file. */
	int rc = segments_drop_told(r->dirfd, r->folder, seq, err);
	if (rc < 0)
		return rc;
	struct cursor next = {.acked = seq, .damaged = r->cursor.damaged};
	rc = cursor_write(r->dirfd, &next, err);
	if (rc < 0)
		return err_prefix(err, rc, "%s", r->folder);
	r->cursor = next;
	return 0;
}

static int open_spool_streams(struct spool_reader *r, bool peek, struct err *err)
{
	r->dirfd = folder_open(r->folder, false, err);
	if (r->dirfd < 0)
		return r->dirfd;
	if (!peek)
		r->lockfd =
			folder_lock(r->dirfd, READER_LOCK, r->folder, "reader", err);
	if (!peek && r->lockfd < 0)
		return r->lockfd;
	int rc = cursor_read(r->dirfd, &r->cursor);
	if (rc == -EBADMSG)
		r->cursor.damaged = 1;
	else if (rc < 0 && rc != -ENOENT)
		return err_set(err, rc, "%s/%s: %s", r->folder, CURSOR_NAME,
			       strerror(-rc));
	r->given = r->cursor.acked;
	return 0;
}

static int open_spool_reader(const char *folder, bool peek, struct spool_reader **ret,
			     struct err *err)
{
	struct spool_reader *r = calloc(1, sizeof(*r));

	if (!r)
		return err_set(err, -ENOMEM, "%s: out of memory", folder);
	r->dirfd = r->lockfd = -1;
	for (int kind = 0; kind < SEGMENT_KINDS; kind++)
		r->streams[kind] = (struct segment_stream){.kind = kind, .fd = -1};
	r->folder = strdup(folder);
	int rc = r->folder ? open_spool_streams(r, peek, err)
			   : err_set(err, -ENOMEM, "%s: out of memory", folder);
	if (rc < 0) {
		spool_reader_close(r);
		return rc;
	}
	*ret = r;
	return 0;
}

int spool_reader_open(const char *folder, struct spool_reader **ret, struct err *err)
{
	return open_spool_reader(folder, false, ret, err);
}

int spool_reader_peek(const char *folder, struct spool_reader **ret, struct err *err)
{
	return open_spool_reader(folder, true, ret, err);
}

void spool_reader_close(struct spool_reader *r)
{
	if (!r)
		return;
	int saved = errno;
	for (int kind = 0; kind < SEGMENT_KINDS; kind++) {
		leave_segment(&r->streams[kind]);
		buf_done(&r->streams[kind].payload);
	}
	buf_done(&r->again);
	if (r->lockfd >= 0)
		close(r->lockfd);
	if (r->dirfd >= 0)
		close(r->dirfd);
	free(r->folder);
	free(r);
	errno = saved;
}

bool spool_reader_is_stale(const struct spool_reader *r)
{
	return folder_is_stale(r->dirfd, r->folder);
}

int spool_stats(const char *folder, struct spool_stats *ret, struct err *err)
{
	struct losses losses = {.turn = 0};
	struct cursor cursor = {0};
	struct spool_stats stats = {.bytes = 0};
	auto_close int dirfd = folder_open(folder, false, err);

	if (dirfd < 0)
		return dirfd;
	auto_close int fd =
		openat(dirfd, LOSSES_NAME, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	int rc = fd < 0 ? (errno == ENOENT ? 0 : -errno) : losses_read(fd, &losses);
	if (rc < 0)
		return err_set(err, rc, "%s/%s: %s", folder, LOSSES_NAME,
			       strerror(-rc));
	(void)cursor_read(dirfd,
			  &cursor); /* none or damaged: nothing is acknowledged */
	for (int kind = 0; kind < SEGMENT_KINDS; kind++) {
		auto_segments struct segment_list l = {0};
		rc = segment_list(dirfd, folder, kind, &l, err);
		if (rc < 0)
			return rc;
		stats.bytes += l.bytes;
	}
	memcpy(stats.lost, losses.lost, sizeof(stats.lost));
	stats.torn_tails = losses.torn_tails;
	stats.unreadable = losses.unreadable;
	stats.damaged = cursor.damaged;
	stats.acked = cursor.acked;
	*ret = stats;
	return 0;
}

void spool_make_folder(const char *folder, uid_t uid, gid_t gid)
{
	auto_free char *parent = strdup(folder);
	char *slash = parent ? strrchr(parent, '/') : NULL;

	if (slash && slash != parent) {
		*slash = '\0';
		(void)mkdir(parent, 0755);
	}
	if (mkdir(folder, 0700) == 0 && uid != (uid_t)-1 &&
	    lchown(folder, uid, gid) < 0)
		(void)rmdir(folder);
}

/* "/var/spool/ceems/%n": several daemons on one host, or diskless nodes with one disk
 */
char *spool_folder(const char *pattern, const char *hostname)
{
	auto_buf struct buf b = BUF_INIT;

	for (const char *p = pattern; *p; p++) {
		if (p[0] == '%' && p[1] == 'n')
			buf_puts(&b, hostname);
		else
			buf_putc(&b, *p);
		p += p[0] == '%' && (p[1] == 'n' || p[1] == '%');
	}
	return buf_error(&b) ? NULL : strdup(b.len ? b.data : "");
}
