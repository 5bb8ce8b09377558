/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LIB_RECORDS_SPOOL_H
#define CEEMS_LIB_RECORDS_SPOOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/err.h"

/*
 * The spool: records of a node or of slurmctld wait here until the aggregator has
 * committed them. One folder (0700, of the writer's user) per writer; one writer
 * process and one reader process at a time, which may start and die independently.
 * Format and guarantees after a crash: doc/spool.md.
 *
 * Every record gets a sequence number; the reader sees them in that order. An object is
 * used by one thread at a time.
 */

#define SPOOL_BYTES_DEFAULT (256ull << 20)
#define SPOOL_SEGMENT_DEFAULT (8u << 20)
#define SPOOL_SEGMENT_MIN 4096u
#define SPOOL_RECORD_MAX (1u << 20) /* bytes of payload */

enum spool_class {
	SPOOL_INTERVAL = 0, /* may be given up when there is no room, oldest first */
	SPOOL_FINAL = 1,    /* kept; new ones are refused when there is no room */
	SPOOL_JOB = 2,      /* kept, the same */
	SPOOL_CLASSES,
};

struct spool_limits {
	uint64_t max_bytes;     /* all segments together; 0: default */
	uint32_t segment_bytes; /* size at which a new file is begun; 0: default, or a
				   16th of a small file system. At most max_bytes / 4 */
};

/* Losses since the folder was created; stored in it. */
struct spool_stats {
	uint64_t lost[SPOOL_CLASSES]; /* given up, or refused at append */
	uint64_t torn_tails; /* incomplete records cut off when a writer opened */
	uint64_t unreadable; /* files that were not segments, set aside then */
	uint64_t damaged;    /* places with a bad checksum that the reader skipped */
	uint64_t acked;      /* all up to this sequence number are acknowledged */
	uint64_t bytes;      /* of all segments now */
};

/* ---- the writer ------------------------------------------------------------------ */

struct spool_writer;

/* Opens the spool at folder, creating it (not its parents) if needed. An incomplete
 * record at the end of a segment is cut off. limits may be NULL. -EBUSY: another writer
 * has it; -EPERM: the folder is a symbolic link, or of the wrong owner or mode. */
int spool_writer_open(const char *folder, const struct spool_limits *limits,
		      struct spool_writer **ret, struct err *err);
/* NULL-safe. Does not sync. */
void spool_writer_close(struct spool_writer *w);

/* Whether the folder it opened no longer has that name: nobody would ever read what is
 * appended. */
bool spool_writer_is_stale(const struct spool_writer *w);

/* Appends one record; *ret_seq (may be NULL) is its number. On failure nothing of it is
 * left in the file and the loss has been counted: -EDQUOT: the limit is reached and
 * only records that must be kept are left; -ENOSPC: the disk is full even without the
 * interval records; -EMSGSIZE: longer than SPOOL_RECORD_MAX; else write's error. */
int spool_append(struct spool_writer *w, enum spool_class cls, const void *data,
		 size_t len, uint64_t *ret_seq, struct err *err)
	__attribute__((warn_unused_result));

/* The same for a caller that keeps the record and retries: a failure is not counted as
 * a loss. What it gives up in the end it counts with spool_count_lost(). */
int spool_try(struct spool_writer *w, enum spool_class cls, const void *data,
	      size_t len, uint64_t *ret_seq, struct err *err)
	__attribute__((warn_unused_result));
void spool_count_lost(struct spool_writer *w, enum spool_class cls, uint64_t n);

/* Makes everything appended so far durable. How often is up to the caller: an
 * appended record survives the death of the process at once, but a power loss only
 * after this. */
int spool_sync(struct spool_writer *w, struct err *err)
	__attribute__((warn_unused_result));

/* ---- the reader ------------------------------------------------------------------ */

struct spool_reader;

struct spool_record {
	uint64_t seq;
	enum spool_class cls;
	const void *data; /* borrowed until the next call on the reader */
	size_t len;
	uint64_t segment, off; /* where it is, for spool_read_again() */
};

/* Opens an existing spool behind the last acknowledged record. -ENOENT: there is none
 * yet; -EBUSY: another reader has it; -EPERM as above (root may read anybody's). With a
 * damaged cursor it starts at the oldest record. */
int spool_reader_open(const char *folder, struct spool_reader **ret, struct err *err);
/* The same to look only: takes no lock and leaves no trace, so that root may do it
 * beside the reader. Records that the reader acknowledges meanwhile may be missed.
 * spool_ack() is -EPERM. */
int spool_reader_peek(const char *folder, struct spool_reader **ret, struct err *err);
void spool_reader_close(struct spool_reader *r); /* NULL-safe */
/* Whether the folder it opened no longer has that name: new records do not go there. */
bool spool_reader_is_stale(const struct spool_reader *r);

/* The next record. 1: *ret is set; 0: no more now; negative errno: reading failed for
 * now. Damaged records are skipped and counted; an incomplete record is never
 * returned. */
int spool_next(struct spool_reader *r, struct spool_record *ret, struct err *err)
	__attribute__((warn_unused_result));

/* Reads a record that spool_next() has returned once more, in any order: which has its
 * seq, cls, segment and off. ret->data is borrowed until the next such call. -ENOENT:
 * the writer gave it up meanwhile, and has counted it; -EBADMSG: it is damaged now. */
int spool_read_again(struct spool_reader *r, const struct spool_record *which,
		     struct spool_record *ret, struct err *err)
	__attribute__((warn_unused_result));

/* Acknowledges all records up to seq: removes the files that hold nothing else, then
 * moves the cursor, durably. After a crash in between some records are returned again.
 * A seq below the acknowledged one changes nothing; one that has not been returned yet
 * is -EINVAL. */
int spool_ack(struct spool_reader *r, uint64_t seq, struct err *err)
	__attribute__((warn_unused_result));

/* ---- for anybody who may look into the folder ------------------------------------ */

int spool_stats(const char *folder, struct spool_stats *ret, struct err *err);

/* A folder's name as options have it, with the host's name for %n and "%" for "%%". To
 * be freed; NULL: no memory. */
char *spool_folder(const char *pattern, const char *hostname);
/* Makes it, for a writer that is to have this user (-1: ours). Only the last two
 * components; existing ones stay as they are, and what cannot be made the writer will
 * say. */
void spool_make_folder(const char *folder, uid_t uid, gid_t gid);

#endif
