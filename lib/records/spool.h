/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LIB_RECORDS_SPOOL_H
#define CEEMS_LIB_RECORDS_SPOOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/err.h"

/*
 * The spool: what a node or slurmctld has to tell the aggregator waits here until it
 * has been told. One folder (0700, of the writer's user) per writer, one writer process
 * and one reader process at a time, which may run, die and come back independently. The
 * format and what is promised after a crash: doc/spool.md.
 *
 * Every record gets a sequence number; the reader sees them in that order. An object is
 * used by one thread at a time.
 */

#define SPOOL_BYTES_DEFAULT (256ull << 20)
#define SPOOL_SEGMENT_DEFAULT (8u << 20)
#define SPOOL_SEGMENT_MIN 4096u
#define SPOOL_RECORD_MAX (1u << 20) /* bytes of payload */

enum spool_class {
	SPOOL_INTERVAL =
		0,       /* may be given up when there is no room: the oldest first */
	SPOOL_FINAL = 1, /* kept; a new one is refused when there is no room */
	SPOOL_JOB = 2,   /* kept, the same */
	SPOOL_CLASSES,
};

struct spool_limits {
	uint64_t max_bytes;     /* all segments together; 0: default */
	uint32_t segment_bytes; /* a new file begins after so many; 0: default, or a
				   16th of a small file system. At most max_bytes / 4 */
};

/* Losses since the folder was made, kept in the folder. */
struct spool_stats {
	uint64_t lost[SPOOL_CLASSES]; /* given up, or refused at append */
	uint64_t torn_tails;          /* unfinished ends cut off when a writer opened */
	uint64_t unreadable;          /* files that were no segments, set aside then */
	uint64_t damaged;             /* places the reader skipped: bad checksum */
	uint64_t acked;               /* up to this sequence number all has been told */
	uint64_t bytes;               /* of all segments now */
};

/* ---- the writer ------------------------------------------------------------------ */

struct spool_writer;

/* Opens, and makes where missing (not its parents), the spool at folder. An unfinished
 * record at the end of a segment is cut. limits may be NULL. -EBUSY: another writer has
 * it; -EPERM: the folder is a symbolic link, or of the wrong owner or mode. */
int spool_writer_open(const char *folder, const struct spool_limits *limits,
		      struct spool_writer **ret, struct err *err);
/* NULL-safe. Does not sync. */
void spool_writer_close(struct spool_writer *w);

/* Appends one record; *ret_seq (may be NULL) is its number. On failure nothing of it
 * stays in the file and the loss has been counted: -EDQUOT the limit is reached and
 * only records that must be kept are left, -ENOSPC the disk is full even without the
 * interval records, -EMSGSIZE longer than SPOOL_RECORD_MAX, else what write gave. */
int spool_append(struct spool_writer *w, enum spool_class cls, const void *data,
		 size_t len, uint64_t *ret_seq, struct err *err)
	__attribute__((warn_unused_result));

/* The same for a caller that keeps the record and tries again: a failure is not counted
 * as a loss. What it gives up in the end, it counts by spool_count_lost(). */
int spool_try(struct spool_writer *w, enum spool_class cls, const void *data,
	      size_t len, uint64_t *ret_seq, struct err *err)
	__attribute__((warn_unused_result));
void spool_count_lost(struct spool_writer *w, enum spool_class cls, uint64_t n);

/* Makes all that was appended durable. How often is the caller's choice: a record that
 * was appended survives the death of the process at once, a loss of power only after
 * this. */
int spool_sync(struct spool_writer *w, struct err *err)
	__attribute__((warn_unused_result));

/* ---- the reader ------------------------------------------------------------------ */

struct spool_reader;

struct spool_record {
	uint64_t seq;
	enum spool_class cls;
	const void *data; /* borrowed until the next call on the reader */
	size_t len;
};

/* Opens an existing spool after the last acknowledged record. -ENOENT: there is none
 * yet; -EBUSY: another reader has it; -EPERM as above (root may read anybody's). A
 * damaged cursor means starting again at the oldest record. */
int spool_reader_open(const char *folder, struct spool_reader **ret, struct err *err);
/* The same to look only: takes no lock and leaves nothing behind, so that it may be
 * done by root beside the reader; what that one is told of meanwhile may be missed.
 * -EPERM at spool_ack(). */
int spool_reader_peek(const char *folder, struct spool_reader **ret, struct err *err);
void spool_reader_close(struct spool_reader *r); /* NULL-safe */
/* Whether the folder that it opened is not, or no longer, the one of that name: what
 * comes is not for this reader. */
bool spool_reader_is_stale(const struct spool_reader *r);

/* The next record. 1: *ret is it; 0: nothing more now; negative errno: reading failed
 * for now. What is damaged is skipped and counted; a record that is not there to its
 * end is never given. */
int spool_next(struct spool_reader *r, struct spool_record *ret, struct err *err)
	__attribute__((warn_unused_result));

/* All records up to seq have been told: removes the files that hold nothing else, then
 * moves the cursor, durably. After a crash in between some are given a second time. A
 * seq below what was acknowledged before changes nothing; one that has not been given
 * yet is -EINVAL. */
int spool_ack(struct spool_reader *r, uint64_t seq, struct err *err)
	__attribute__((warn_unused_result));

/* ---- anybody who may look into the folder ---------------------------------------- */

int spool_stats(const char *folder, struct spool_stats *ret, struct err *err);

#endif
