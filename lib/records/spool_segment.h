/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LIB_RECORDS_SPOOL_SEGMENT_H
#define CEEMS_LIB_RECORDS_SPOOL_SEGMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/buf.h"
#include "lib/err.h"
#include "lib/records/spool.h"

/* The files of a spool, shared by spool_writer.c and spool_reader.c only.
 *
 * There are two series of segments, so that interval records can be given up by
 * unlinking a file without losing records that must be kept. Numbers are
 * little-endian. */

enum segment_kind { SEGMENT_INTERVAL = 0, SEGMENT_KEEP = 1, SEGMENT_KINDS };

#define SEGMENT_MAGIC "CEEMSSPL"
#define SEGMENT_VERSION 1u
#define RECORD_MAGIC 0x43527043u /* "CpRC" */
#define SEGMENT_NAME_MAX 40
#define SEGMENT_LIST_MAX 65536u
#define SEQ_MAX (UINT64_MAX >> 1)

struct segment_header {
	char magic[8];
	uint32_t version;
	uint32_t kind;  /* enum segment_kind */
	uint64_t first; /* no record in it has a smaller number; it is in the file's
			   name */
	uint32_t pad;
	uint32_t crc; /* of the bytes before it */
};

/* A record: this header, the payload, zeros up to a multiple of 8. The header has a
 * checksum of its own, so that the reader can step over a damaged payload by its
 * length. */
struct record_header {
	uint32_t magic;
	uint32_t len;
	uint64_t seq;
	uint32_t cls; /* enum spool_class */
	uint32_t crc; /* of the payload */
	uint32_t pad;
	uint32_t header_crc; /* of the bytes before it */
};

_Static_assert(sizeof(struct segment_header) == 32, "segment header");
_Static_assert(sizeof(struct record_header) == 32, "record header");
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "files are little-endian");

static inline uint64_t record_room(uint64_t len)
{
	return sizeof(struct record_header) + ((len + 7) & ~7ull);
}

static inline enum segment_kind segment_kind_of(enum spool_class cls)
{
	return cls == SPOOL_INTERVAL ? SEGMENT_INTERVAL : SEGMENT_KEEP;
}

/* ---- the folder ------------------------------------------------------------------ */

/* Opens and checks the folder: fd. The writer creates it if needed, and must own it. */
int folder_open(const char *folder, bool writer, struct err *err);
/* Whether what is open no longer has that name. */
bool folder_is_stale(int dirfd, const char *folder);
/* Takes a lock file in it: fd or -EBUSY. who: "writer" or "reader", for the message. */
int folder_lock(int dirfd, const char *name, const char *folder, const char *who,
		struct err *err);

void segment_name(enum segment_kind kind, uint64_t first, char ret[SEGMENT_NAME_MAX]);

struct segment {
	uint64_t first;
	uint64_t bytes;
};

struct segment_list {
	struct segment *items; /* in order of first */
	size_t count;
	uint64_t bytes; /* of these */
};

/* Lists the segments of a kind by name and size, unread. Symbolic links and other names
 * are left out. Free with segment_list_done(). */
int segment_list(int dirfd, const char *folder, enum segment_kind kind,
		 struct segment_list *ret, struct err *err);
void segment_list_done(struct segment_list *l);

/* Opens a segment and checks its header: fd; -EPROTO: other version; -EBADMSG: not a
 * segment; -ENODATA: shorter than its header. writable: for appending and cutting. */
int segment_open(int dirfd, enum segment_kind kind, uint64_t first, bool writable);
int segment_create(int dirfd, enum segment_kind kind, uint64_t first);
/* Whether segment_open() would succeed. */
bool segment_valid(int dirfd, enum segment_kind kind, uint64_t first);
/* Removes the segments with nothing above acked, but never the last valid one of its
 * kind: the writer may be using it, and numbers continue from it. */
int segments_drop_told(int dirfd, const char *folder, uint64_t acked, struct err *err);
#define auto_segments __attribute__((cleanup(segment_list_done)))

/* ---- walking through a segment --------------------------------------------------- */

enum segment_step {
	STEP_RECORD,  /* header, and payload where asked for; off is after it */
	STEP_DAMAGED, /* off is where to look next */
	STEP_END,     /* no complete record at off; trailing: there are bytes */
};

struct segment_walk {
	int fd;
	enum segment_kind kind;
	uint64_t off;
	uint64_t seq; /* of the last header seen: numbers only grow */
	struct record_header header;
	bool trailing;
	uint64_t searched_off,
		searched_size; /* no header was found from here last time */
};

void segment_walk_start(struct segment_walk *s, int fd, enum segment_kind kind);
/* One step; payload gets the record's bytes, or is NULL, and then they are not checked.
 * Returns enum segment_step or negative errno. */
int segment_step(struct segment_walk *s, struct buf *payload);

/* ---- the two small files --------------------------------------------------------- */

#define CURSOR_NAME "cursor"
#define LOSSES_NAME "lost"
#define WRITER_LOCK "lock"
#define READER_LOCK "reader.lock"
#define UNREADABLE_NAME "unreadable"

struct cursor {
	uint64_t acked;
	uint64_t damaged;
};

/* -ENOENT: none yet; -EBADMSG: damaged. */
int cursor_read(int dirfd, struct cursor *ret);
int cursor_write(int dirfd, const struct cursor *c, struct err *err);

/* The writer's counters, in two slots written in turn: a torn write leaves the other
 * one valid, and counting needs no new block on a full disk. An eviction is recorded
 * together with its count before the file is removed, so that a crash in between counts
 * it once. */
struct losses {
	char magic[8];
	uint64_t turn;
	uint64_t lost[SPOOL_CLASSES];
	uint64_t torn_tails;
	uint64_t unreadable;
	uint64_t next_seq;    /* numbers continue from here when all files are gone */
	uint64_t evict_first; /* interval segment about to be removed, 0: none */
	uint32_t pad;
	uint32_t crc;
};

/* All zero if there is none yet, or no slot is valid. */
int losses_read(int fd, struct losses *ret);
int losses_write(int fd, struct losses *l);

#endif
