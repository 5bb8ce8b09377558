/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The files of a spool: names, headers, walking over records whatever the bytes are,
 * and the two small files beside them. */
#include "lib/records/spool_segment.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/cleanup.h"
#include "lib/crc32c.h"
#include "lib/fs.h"

static const char *const kind_names[SEGMENT_KINDS] = {"interval", "keep"};

#define CRC_OF(p, member) crc32c(0, (p), offsetof(__typeof__(*(p)), member))

/* Reads exactly len bytes: 0, -ENODATA when the file ends before. */
static int pread_all(int fd, void *data, size_t len, uint64_t off)
{
	char *p = data;

	while (len) {
		ssize_t n = pread(fd, p, len, (off_t)off);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			return -ENODATA;
		p += n;
		off += (uint64_t)n;
		len -= (size_t)n;
	}
	return 0;
}

/* ---- the folder ------------------------------------------------------------------ */

static int folder_check(int fd, const char *folder, bool writer, struct err *err)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return err_set(err, -errno, "stat %s: %s", folder, strerror(errno));
	/* root may read the spool that slurmctld's user writes */
	if (st.st_uid != geteuid() && (writer || geteuid() != 0))
		return err_set(err, -EPERM, "%s: owned by uid %u, refused (must be %u)",
			       folder, st.st_uid, geteuid());
	if (st.st_mode & 077)
		return err_set(err, -EPERM, "%s: mode %04o, refused (chmod 0700)",
			       folder, st.st_mode & 07777);
	return 0;
}

int folder_open(const char *folder, bool writer, struct err *err)
{
	auto_free char *path = strdup(folder);

	if (!path)
		return err_set(err, -ENOMEM, "%s: out of memory", folder);
	/* a trailing slash would follow a symbolic link */
	for (size_t n = strlen(path); n > 1 && path[n - 1] == '/'; n--)
		path[n - 1] = '\0';
	if (writer && mkdir(path, 0700) < 0 && errno != EEXIST) {
		int rc = -errno;
		return err_set(err, rc, "create %s: %s", folder, strerror(-rc));
	}
	auto_close int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0) {
		struct stat st;
		int rc = -errno;
		if (lstat(path, &st) == 0 && !S_ISDIR(st.st_mode))
			return err_set(err, -EPERM, "%s: %s, refused", folder,
				       S_ISLNK(st.st_mode) ? "a symbolic link"
							   : "not a folder");
		return err_set(err, rc, "open %s: %s", folder, strerror(-rc));
	}
	int rc = folder_check(fd, folder, writer, err);
	return rc < 0 ? rc : steal_fd(&fd);
}

bool folder_is_stale(int dirfd, const char *folder)
{
	struct stat ours, named;

	return fstat(dirfd, &ours) < 0 || stat(folder, &named) < 0 ||
	       ours.st_dev != named.st_dev || ours.st_ino != named.st_ino;
}

int folder_lock(int dirfd, const char *name, const char *folder, const char *who,
		struct err *err)
{
	auto_close int fd =
		openat(dirfd, name, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	char pid[24] = "";

	if (fd < 0) {
		int rc = -errno;
		return err_set(err, rc, "open %s/%s: %s", folder, name, strerror(-rc));
	}
	int rc = fs_check_trusted(fd, name, geteuid(), 0600, err);
	if (rc < 0)
		return err_prefix(err, rc, "%s", folder);
	if (flock(fd, LOCK_EX | LOCK_NB) < 0) {
		rc = -errno;
		if (rc != -EWOULDBLOCK)
			return err_set(err, rc, "lock %s/%s: %s", folder, name,
				       strerror(-rc));
		if (fs_pread(fd, pid, sizeof(pid)) < 0)
			pid[0] = '\0';
		pid[strspn(pid, "0123456789")] = '\0';
		return err_set(err, -EBUSY, "%s: in use by another %s (process %s)",
			       folder, who, pid[0] ? pid : "unknown");
	}
	/* only for the message above: a full disk must not prevent reading */
	int n = snprintf(pid, sizeof(pid), "%d\n", (int)getpid());
	if (ftruncate(fd, 0) < 0 || pwrite(fd, pid, (size_t)n, 0) != n)
		errno = 0;
	return steal_fd(&fd);
}

void segment_name(enum segment_kind kind, uint64_t first, char ret[SEGMENT_NAME_MAX])
{
	snprintf(ret, SEGMENT_NAME_MAX, "%016jx-%s.seg", (uintmax_t)first,
		 kind_names[kind]);
}

static bool parse_name(const char *name, enum segment_kind kind, uint64_t *ret)
{
	char again[SEGMENT_NAME_MAX];
	uint64_t v = 0;

	for (int i = 0; i < 16; i++) {
		const char *digits = "0123456789abcdef";
		const char *d = name[i] ? strchr(digits, name[i]) : NULL;
		if (!d)
			return false;
		v = v << 4 | (uint64_t)(d - digits);
	}
	segment_name(kind, v, again);
	*ret = v;
	return strcmp(name, again) == 0 && v >= 1 && v <= SEQ_MAX;
}

static int by_first(const void *a, const void *b)
{
	uint64_t x = ((const struct segment *)a)->first;
	uint64_t y = ((const struct segment *)b)->first;

	return x < y ? -1 : x > y;
}

void segment_list_done(struct segment_list *l)
{
	free(l->items);
	*l = (struct segment_list){0};
}

int segment_list(int dirfd, const char *folder, enum segment_kind kind,
		 struct segment_list *ret, struct err *err)
{
	struct segment_list l = {0};
	size_t room = 0;
	auto_close int fd = openat(dirfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	auto_closedir DIR *dir = fd < 0 ? NULL : fdopendir(fd);

	if (!dir)
		return err_set(err, -errno, "read %s: %s", folder, strerror(errno));
	steal_fd(&fd);
	for (struct dirent *e; (e = readdir(dir));) {
		struct stat st;
		uint64_t first;
		if (!parse_name(e->d_name, kind, &first) ||
		    fstatat(dirfd, e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
		    !S_ISREG(st.st_mode))
			continue;
		if (l.count == room) {
			room = room ? 2 * room : 32;
			struct segment *items =
				room > SEGMENT_LIST_MAX
					? NULL
					: realloc(l.items, room * sizeof(*items));
			if (!items) {
				segment_list_done(&l);
				return err_set(err, -E2BIG, "%s: too many segments",
					       folder);
			}
			l.items = items;
		}
		l.items[l.count++] = (struct segment){first, (uint64_t)st.st_size};
		l.bytes += (uint64_t)st.st_size;
	}
	if (l.count)
		qsort(l.items, l.count, sizeof(*l.items), by_first);
	*ret = l;
	return 0;
}

int segment_open(int dirfd, enum segment_kind kind, uint64_t first, bool writable)
{
	char name[SEGMENT_NAME_MAX];
	struct segment_header h;
	struct stat st;

	segment_name(kind, first, name);
	/* O_NONBLOCK: a fifo put there must not make us wait */
	auto_close int fd = openat(dirfd, name,
				   (writable ? O_RDWR : O_RDONLY) | O_NOFOLLOW |
					   O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EBADMSG;
	int rc = pread_all(fd, &h, sizeof(h), 0);
	if (rc < 0)
		return rc;
	if (memcmp(h.magic, SEGMENT_MAGIC, sizeof(h.magic)) != 0 ||
	    h.crc != CRC_OF(&h, crc))
		return -EBADMSG;
	if (h.version != SEGMENT_VERSION)
		return -EPROTO;
	if (h.kind != (uint32_t)kind || h.first != first)
		return -EBADMSG;
	return steal_fd(&fd);
}

int segment_create(int dirfd, enum segment_kind kind, uint64_t first)
{
	struct segment_header h = {.magic = SEGMENT_MAGIC,
				   .version = SEGMENT_VERSION,
				   .kind = kind,
				   .first = first};
	char name[SEGMENT_NAME_MAX];

	h.crc = CRC_OF(&h, crc);
	segment_name(kind, first, name);
	auto_close int fd = openat(
		dirfd, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	int rc = fs_write_all(fd, &h, sizeof(h));
	if (rc < 0) {
		unlinkat(dirfd, name, 0);
		return rc;
	}
	return steal_fd(&fd);
}

bool segment_valid(int dirfd, enum segment_kind kind, uint64_t first)
{
	auto_close int fd = segment_open(dirfd, kind, first, false);

	return fd >= 0;
}

static int drop_told(int dirfd, const char *folder, enum segment_kind kind,
		     uint64_t acked, struct err *err)
{
	auto_segments struct segment_list l = {0};
	const struct segment *before = NULL;
	int rc = segment_list(dirfd, folder, kind, &l, err);

	for (size_t i = 0; rc == 0 && i < l.count; i++) {
		char name[SEGMENT_NAME_MAX];
		if (l.items[i].first > acked + 1)
			break;
		if (!segment_valid(dirfd, kind, l.items[i].first))
			continue; /* a newer version's, or garbage: not ours to remove
				   */
		if (before) {
			segment_name(kind, before->first, name);
			unlinkat(dirfd, name, 0);
		}
		before = &l.items[i];
	}
	return rc;
}

int segments_drop_told(int dirfd, const char *folder, uint64_t acked, struct err *err)
{
	int rc = drop_told(dirfd, folder, SEGMENT_INTERVAL, acked, err);

	return rc < 0 ? rc : drop_told(dirfd, folder, SEGMENT_KEEP, acked, err);
}

/* ---- walking through a segment --------------------------------------------------- */

void segment_walk_start(struct segment_walk *s, int fd, enum segment_kind kind)
{
	*s = (struct segment_walk){
		.fd = fd, .kind = kind, .off = sizeof(struct segment_header)};
}

static bool header_good(const struct segment_walk *s, const struct record_header *h)
{
	return h->magic == RECORD_MAGIC && h->header_crc == CRC_OF(h, header_crc) &&
	       h->len <= SPOOL_RECORD_MAX && h->cls < SPOOL_CLASSES &&
	       segment_kind_of(h->cls) == s->kind && h->seq > s->seq &&
	       h->seq <= SEQ_MAX;
}

/* The next valid header after s->off: 1, 0 none, or negative errno. Linear in the
 * file. */
static int resync_walk(struct segment_walk *s, uint64_t size)
{
	enum { CHUNK = 64 << 10 };
	const size_t one = sizeof(struct record_header);
	auto_free char *chunk = malloc(CHUNK);

	if (!chunk)
		return -ENOMEM;
	/* chunks overlap by a header minus one step */
	for (uint64_t at = s->off + 8; at + one <= size; at += CHUNK - one + 8) {
		size_t n = size - at < CHUNK ? (size_t)(size - at) : CHUNK;
		int rc = pread_all(s->fd, chunk, n, at);
		if (rc < 0)
			return rc == -ENODATA ? 0 : rc;
		for (size_t i = 0; i + one <= n; i += 8) {
			struct record_header h;
			memcpy(&h, chunk + i, sizeof(h));
			if (header_good(s, &h)) {
				s->off = at + i;
				return 1;
			}
		}
	}
	return 0;
}

static int bad_header(struct segment_walk *s, uint64_t size)
{
	if (s->searched_off == s->off && s->searched_size == size)
		return STEP_END;
	int rc = resync_walk(s, size);
	if (rc != 0)
		return rc < 0 ? rc : STEP_DAMAGED;
	s->searched_off = s->off;
	s->searched_size = size;
	return STEP_END;
}

int segment_step(struct segment_walk *s, struct buf *payload)
{
	struct stat st;

	if (fstat(s->fd, &st) < 0)
		return -errno;
	uint64_t size = (uint64_t)st.st_size;
	s->trailing = size > s->off;
	if (size < s->off || size - s->off < sizeof(s->header))
		return STEP_END;
	int rc = pread_all(s->fd, &s->header, sizeof(s->header), s->off);
	if (rc < 0)
		return rc == -ENODATA ? STEP_END : rc;
	const struct record_header *h = &s->header;
	if (!header_good(s, h))
		return bad_header(s, size);
	uint64_t room = record_room(h->len);
	if (size - s->off < room)
		return STEP_END;
	if (payload) {
		buf_reset(payload);
		char *p = buf_reserve(payload, h->len + 1);
		if (!p)
			return -ENOMEM;
		rc = pread_all(s->fd, p, h->len, s->off + sizeof(*h));
		if (rc < 0)
			return rc == -ENODATA ? STEP_END : rc;
		if (crc32c(0, p, h->len) != h->crc) {
			/* at the very end it may be the torn tail that a writer will
			 * cut; it is damage only if something follows */
			if (size - s->off == room)
				return STEP_END;
			s->seq = h->seq;
			s->off += room;
			return STEP_DAMAGED;
		}
		buf_commit(payload, h->len);
	}
	s->seq = h->seq;
	s->off += room;
	return STEP_RECORD;
}

/* ---- the two small files --------------------------------------------------------- */

struct cursor_file {
	char magic[8];
	uint64_t acked, damaged;
	uint32_t pad, crc;
};
#define CURSOR_MAGIC "CEEMSCUR"
#define LOSSES_MAGIC "CEEMSLST"
#define LOSSES_SLOT 512

int cursor_read(int dirfd, struct cursor *ret)
{
	struct cursor_file f;
	auto_close int fd = openat(dirfd, CURSOR_NAME,
				   O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

	if (fd < 0)
		return errno == ELOOP ? -EBADMSG : -errno;
	int rc = pread_all(fd, &f, sizeof(f), 0);
	if (rc < 0)
		return rc == -ENODATA ? -EBADMSG : rc;
	if (memcmp(f.magic, CURSOR_MAGIC, sizeof(f.magic)) != 0 ||
	    f.crc != CRC_OF(&f, crc) || f.acked > SEQ_MAX)
		return -EBADMSG;
	*ret = (struct cursor){f.acked, f.damaged};
	return 0;
}

int cursor_write(int dirfd, const struct cursor *c, struct err *err)
{
	struct cursor_file f = {
		.magic = CURSOR_MAGIC, .acked = c->acked, .damaged = c->damaged};

	f.crc = CRC_OF(&f, crc);
	/* readable for the writer's user if root is the reader; the folder itself is
	 * 0700 */
	return fs_write_atomic_at(dirfd, CURSOR_NAME, &f, sizeof(f), 0644, err);
}

int losses_read(int fd, struct losses *ret)
{
	*ret = (struct losses){.turn = 0};
	for (int i = 0; i < 2; i++) {
		struct losses l;
		int rc = pread_all(fd, &l, sizeof(l), (uint64_t)i * LOSSES_SLOT);
		if (rc < 0 && rc != -ENODATA)
			return rc;
		if (rc == 0 && memcmp(l.magic, LOSSES_MAGIC, sizeof(l.magic)) == 0 &&
		    l.crc == CRC_OF(&l, crc) && l.turn > ret->turn)
			*ret = l;
	}
	return 0;
}

int losses_write(int fd, struct losses *l)
{
	struct losses next = *l;

	memcpy(next.magic, LOSSES_MAGIC, sizeof(next.magic));
	next.turn++;
	next.crc = CRC_OF(&next, crc);
	ssize_t n =
		pwrite(fd, &next, sizeof(next), (off_t)(next.turn % 2 * LOSSES_SLOT));
	if (n < 0)
		return fs_write_errno();
	if ((size_t)n != sizeof(next))
		return -ENOSPC;
	*l = next;
	return 0;
}
