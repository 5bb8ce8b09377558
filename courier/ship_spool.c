/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One spool: records read but not yet sent, in the form for sending. Acknowledging may
 * fail (a full disk); that costs a repetition after a restart, never a record. */
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "courier/ship.h"
#include "lib/cleanup.h"
#include "lib/fs.h"
#include "lib/records/job.h"

#define PLAIN_MAX                                                                      \
	(((size_t)2 << 20) - 64)     /* with its NUL just under a power of two         \
				      */
#define IDLE_MAX ((size_t)128 << 10) /* memory kept when idle */
#define ENTRIES_FIRST 64u

static int add_entry(struct ship_spool *s, const struct spool_record *r)
{
	if (s->batch.count ==
	    BATCH_RECORDS_MAX - 1) /* our clocks are one more record */
		return -E2BIG;
	if (s->batch.count == s->room) {
		size_t room = s->room ? 2 * s->room : ENTRIES_FIRST;
		struct ship_entry *more =
			realloc(s->entries, room * sizeof(*s->entries));
		if (!more)
			return -ENOMEM;
		s->entries = more;
		s->room = room;
	}
	int rc = batch_add(&s->batch, r->data, r->len);
	if (rc < 0)
		return rc;
	s->entries[s->batch.count - 1] =
		(struct ship_entry){.seq = r->seq, .end = (uint32_t)s->batch.plain.len};
	return 0;
}

/* Whether it is sent at once: all but interval reports. The first byte is the type. */
static bool is_urgent(const struct spool_record *r)
{
	return r->cls != SPOOL_INTERVAL ||
	       (r->len && *(const unsigned char *)r->data == JOB_RECORD_TYPE);
}

/* Adds it to the batch, or keeps it for the next one. */
static int take_spool_record(struct ship_spool *s, const struct spool_record *r,
			     uint64_t now_ns)
{
	int rc = r->len ? add_entry(s, r) : 0; /* an empty one has no meaning */

	if (rc == -E2BIG) {
		buf_reset(&s->left_over);
		buf_put(&s->left_over, r->data, r->len);
		rc = buf_error(&s->left_over);
		s->left = *r;
		s->full = true;
	}
	if (s->batch.count == 1 && !s->since_ns)
		s->since_ns = now_ns;
	if (rc == 0 && is_urgent(r))
		s->urgent = true;
	return rc;
}

static void write_down(struct ship_spool *s, uint64_t now_ns)
{
	struct err err = {""};

	if (!s->to_ack || !s->reader)
		return;
	if (spool_ack(s->reader, s->to_ack, &err) < 0) {
		if (log_repeat_due(&s->ack_log, now_ns))
			log_warn("ship: %s: cannot be marked as sent: a restart sends "
				 "it again",
				 err.text);
		return;
	}
	if (log_repeat_over(&s->ack_log))
		log_info("ship: %s: marked as sent again", s->folder);
	s->to_ack = 0;
}

int ship_spool_check(const char *folder, struct err *err)
{
	struct stat st;
	int rc = stat(folder, &st) < 0 ? -errno : S_ISDIR(st.st_mode) ? 0 : -ENOTDIR;

	return rc == 0 ? 0
		       : err_set(err, rc, "--ship.spool=%s: %s (is it spelt right?)",
				 folder, strerror(-rc));
}

static int open_ship_reader(struct ship_spool *s, uint64_t now_ns)
{
	struct err err = {""};
	int rc = spool_reader_open(s->folder, &s->reader, &err);

	if (rc == -ENOENT && ship_spool_check(s->folder, &err) == 0)
		return rc; /* nothing has been written to it yet */
	if (rc < 0 && log_repeat_due(&s->open_log, now_ns))
		log_warn("ship: %s, nothing is sent from it", err.text);
	if (rc == 0 && log_repeat_over(&s->open_log))
		log_info("ship: %s: is read again", s->folder);
	return rc;
}

static void begin_ship_batch(struct ship_spool *s)
{
	if (!s->has_begun)
		batch_begin(&s->batch, PLAIN_MAX);
	s->has_begun = true;
}

/* What did not fit the last batch comes first in this one. */
static int take_left_over(struct ship_spool *s, uint64_t now_ns)
{
	struct spool_record r = s->left;

	if (!s->left_over.len || s->batch.count)
		return 0;
	s->full = false;
	r.data = s->left_over.data;
	int rc = add_entry(s, &r); /* any record fits an empty batch */
	if (rc < 0)
		return rc;
	s->since_ns = now_ns;
	s->urgent |= is_urgent(&r);
	buf_done(&s->left_over);
	return 0;
}

/* A removed folder has nothing more, but another of its name may. Records already read
 * are sent first. */
static void leave_removed(struct ship_spool *s)
{
	if (!s->reader || s->batch.count || s->left_over.len ||
	    !spool_reader_is_stale(s->reader))
		return;
	log_info("ship: %s: was removed", s->folder);
	ship_spool_done(s);
}

void ship_spool_fill(struct ship_spool *s, uint64_t now_ns)
{
	struct spool_record r;
	struct err err = {""};

	leave_removed(s);
	if (!s->reader && open_ship_reader(s, now_ns) < 0)
		return;
	write_down(s, now_ns);
	begin_ship_batch(s);
	int rc = take_left_over(s, now_ns);
	bool given = rc < 0;
	while (rc == 0 && !s->full) {
		int n = spool_next(s->reader, &r, &err);
		given = n > 0;
		rc = n > 0 ? take_spool_record(s, &r, now_ns) : n;
		if (n <= 0)
			break;
	}
	if (rc < 0 && log_repeat_due(&s->open_log, now_ns))
		log_warn("ship: %s: %s", s->folder,
			 err.text[0] ? err.text : strerror(-rc));
	/* the reader does not return records twice: start again after the acknowledged
	 * ones */
	if (rc < 0 && given)
		ship_spool_done(s);
}

size_t ship_spool_bytes(const struct ship_spool *s, uint32_t n)
{
	return n ? s->entries[n - 1].end : BATCH_MAGIC_BYTES;
}

static void forget_memory(struct ship_spool *s)
{
	if (s->batch.plain.cap > IDLE_MAX) {
		buf_done(&s->batch.plain);
		free(s->entries);
		s->entries = NULL;
		s->room = 0;
	}
	s->has_begun = false;
	s->urgent = false;
	s->since_ns = 0;
	s->due_ns = 0;
	s->full = s->left_over.len > 0;
}

void ship_spool_told(struct ship_spool *s, uint32_t n, uint64_t now_ns)
{
	if (n == 0)
		return;
	uint32_t cut = s->entries[n - 1].end - BATCH_MAGIC_BYTES;
	char *first = s->batch.plain.data + BATCH_MAGIC_BYTES;

	s->to_ack = s->entries[n - 1].seq;
	memmove(first, first + cut, s->batch.plain.len - BATCH_MAGIC_BYTES - cut);
	buf_truncate(&s->batch.plain, s->batch.plain.len - cut);
	s->batch.count -= n;
	memmove(s->entries, s->entries + n, s->batch.count * sizeof(*s->entries));
	for (uint32_t i = 0; i < s->batch.count; i++)
		s->entries[i].end -= cut;
	if (s->batch.count == 0)
		forget_memory(s);
	write_down(s, now_ns);
}

/* Appends the record, in a batch's format, to a file. */
static int keep_aside(const struct ship_spool *s, const char *record, size_t len)
{
	auto_buf struct buf b = BUF_INIT;
	struct stat st;
	auto_close int dirfd =
		open(s->folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (dirfd < 0)
		return -errno;
	auto_close int fd =
		openat(dirfd, SHIP_SET_ASIDE_NAME,
		       O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode) || (uint64_t)st.st_size + len + 8 > SHIP_SET_ASIDE_MAX)
		return -EFBIG;
	if (st.st_size == 0)
		buf_puts(&b, BATCH_MAGIC);
	buf_put(&b, record, len);
	if (buf_error(&b))
		return buf_error(&b);
	int rc = fs_write_all(fd, b.data, b.len);
	if (rc < 0 && ftruncate(fd, st.st_size) < 0)
		return -errno;
	return rc;
}

void ship_spool_put_aside(struct ship_spool *s, const char *why, uint64_t now_ns)
{
	const char *first = s->batch.plain.data + BATCH_MAGIC_BYTES;
	int rc = keep_aside(s, first, s->entries[0].end - BATCH_MAGIC_BYTES);

	s->set_aside++;
	s->lost_aside += rc < 0;
	if (log_repeat_due(&s->aside_log, now_ns))
		log_error("ship: record %" PRIu64
			  " of %s is taken by no aggregator: %s: %s",
			  s->entries[0].seq, s->folder, why,
			  rc < 0 ? "given up" : "set aside");
	ship_spool_told(s, 1, now_ns);
}

void ship_spool_done(struct ship_spool *s)
{
	spool_reader_close(s->reader);
	buf_done(&s->batch.plain);
	buf_done(&s->left_over);
	free(s->entries);
	s->reader = NULL;
	s->entries = NULL;
	s->room = 0;
	s->batch.count = 0;
	s->left_over.len = 0;
	s->to_ack = 0;
	forget_memory(s);
}
