/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which profile of the spool is next: the newest that is not done. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "courier/profiles.h"
#include "lib/cleanup.h"
#include "lib/fs.h"

#define ROOM_FIRST 64u

/* ---- the file of those that are done --------------------------------------------- */

/* By number: NULL, if there is none. */
static struct profile_entry *find_entry(struct profile_queue *q, uint64_t seq)
{
	size_t low = 0, high = q->count;

	while (low < high) {
		size_t mid = low + (high - low) / 2;
		if (q->entries[mid].where.seq < seq)
			low = mid + 1;
		else
			high = mid;
	}
	return low < q->count && q->entries[low].where.seq == seq ? &q->entries[low]
								  : NULL;
}

/* Numbers as the machine has them. What a crash has cut off, or is no number of ours,
 * means nothing. */
static void read_done(struct profile_queue *q)
{
	uint64_t seqs[512];
	off_t at = 0;
	ssize_t n;

	while ((n = pread(q->done_fd, seqs, sizeof(seqs), at)) >=
	       (ssize_t)sizeof(*seqs)) {
		for (size_t i = 0; i < (size_t)n / sizeof(*seqs); i++) {
			struct profile_entry *e = find_entry(q, seqs[i]);
			if (!e || e->done)
				continue;
			e->done = true;
			q->open--;
		}
		at += n - n % (ssize_t)sizeof(*seqs);
		if ((uint64_t)at > PROFILE_QUEUE_MAX * sizeof(*seqs))
			break;
	}
}

static int open_done(struct profile_queue *q, struct err *err)
{
	auto_close int dirfd =
		open(q->folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (dirfd >= 0)
		q->done_fd = openat(
			dirfd, PROFILE_DONE_NAME,
			O_RDWR | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (dirfd < 0 || q->done_fd < 0)
		return err_set(err, -errno, "%s/%s: %s", q->folder, PROFILE_DONE_NAME,
			       strerror(errno));
	return 0;
}

/* ---- reading --------------------------------------------------------------------- */

static int add_profile(struct profile_queue *q, const struct spool_record *r)
{
	if (q->count == q->room) {
		size_t room = q->room ? 2 * q->room : ROOM_FIRST;
		struct profile_entry *more =
			realloc(q->entries, room * sizeof(*q->entries));
		if (!more)
			return -ENOMEM;
		q->entries = more;
		q->room = room;
	}
	q->entries[q->count] = (struct profile_entry){.where = *r};
	q->entries[q->count].where.data = NULL;
	q->count++;
	q->open++;
	return 0;
}

/* Drops the oldest of too many: they would be the last to be sent. */
static void drop_oldest(struct profile_queue *q)
{
	size_t n = q->count / 4;

	for (size_t i = 0; i < n; i++) {
		if (!q->entries[i].done) {
			q->overflowed++;
			q->open--;
		}
	}
	q->count -= n;
	memmove(q->entries, q->entries + n, q->count * sizeof(*q->entries));
}

static int open_profile_spool(struct profile_queue *q, struct err *err)
{
	struct err why = {""};
	int rc = spool_reader_open(q->folder, &q->reader, &why);

	q->done_fd = -1;
	if (rc < 0)
		return rc == -ENOENT ? -ENOENT : err_set(err, rc, "%s", why.text);
	rc = open_done(q, err);
	if (rc < 0)
		profile_queue_close(q);
	return rc;
}

int profile_queue_fill(struct profile_queue *q, struct err *err)
{
	bool first = !q->reader;
	struct spool_record r;
	int rc = 0;

	if (q->reader && q->open == 0 && spool_reader_is_stale(q->reader)) {
		profile_queue_close(q); /* the folder was removed, or is another one */
		first = true;
	}
	if (first)
		rc = open_profile_spool(q, err);
	if (rc < 0)
		return rc == -ENOENT ? 0 : rc;
	while ((rc = spool_next(q->reader, &r, err)) > 0) {
		if (q->count == PROFILE_QUEUE_MAX)
			drop_oldest(q);
		rc = add_profile(q, &r);
		if (rc < 0) {
			/* the reader does not return it twice: all from the start */
			profile_queue_close(q);
			return err_set(err, rc, "%s: out of memory", q->folder);
		}
	}
	if (rc == 0 && first)
		read_done(q);
	return rc;
}

int profile_queue_next(struct profile_queue *q, uint64_t now_ns,
		       struct spool_record *ret, size_t *ret_index, struct err *err)
{
	for (size_t i = q->count; i > 0; i--) {
		struct profile_entry *e = &q->entries[i - 1];
		if (e->done || e->not_before_ns > now_ns)
			continue;
		int rc = spool_read_again(q->reader, &e->where, ret, err);
		if (rc == 0) {
			*ret_index = i - 1;
			return 1;
		}
		if (rc != -ENOENT && rc != -EBADMSG)
			return rc;
		q->gone++; /* given up by the writer, which has counted it */
		e->done = true;
		q->open--;
	}
	return 0;
}

int profile_queue_done(struct profile_queue *q, size_t index, struct err *err)
{
	struct profile_entry *e = &q->entries[index];

	if (e->done)
		return 0;
	e->done = true;
	q->open--;
	int rc = fs_write_all(q->done_fd, &e->where.seq, sizeof(e->where.seq));
	return rc < 0 ? err_set(err, rc, "%s/%s: %s", q->folder, PROFILE_DONE_NAME,
				strerror(-rc))
		      : 0;
}

void profile_queue_postpone(struct profile_queue *q, size_t index,
			    uint64_t not_before_ns)
{
	q->entries[index].not_before_ns = not_before_ns;
}

int profile_queue_ack(struct profile_queue *q, struct err *err)
{
	size_t n = 0;

	while (n < q->count && q->entries[n].done)
		n++;
	if (n == 0)
		return 0;
	int rc = spool_ack(q->reader, q->entries[n - 1].where.seq, err);
	if (rc < 0)
		return rc;
	q->count -= n;
	memmove(q->entries, q->entries + n, q->count * sizeof(*q->entries));
	/* all that it names are behind the cursor now */
	if (q->count == 0 && ftruncate(q->done_fd, 0) < 0)
		return err_set(err, -errno, "%s/%s: %s", q->folder, PROFILE_DONE_NAME,
			       strerror(errno));
	return 0;
}

void profile_queue_close(struct profile_queue *q)
{
	spool_reader_close(q->reader);
	if (q->reader && q->done_fd >= 0)
		close(q->done_fd);
	free(q->entries);
	q->reader = NULL;
	q->entries = NULL;
	q->count = q->room = q->open = 0;
}
