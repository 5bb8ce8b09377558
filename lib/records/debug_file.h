/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LIB_RECORDS_DEBUG_FILE_H
#define CEEMS_LIB_RECORDS_DEBUG_FILE_H

#include <stddef.h>
#include <stdint.h>

/*
 * Separate debug files, which have what was stripped of a program, by its build id.
 * ceems-profiler knows the ids and talks to nobody: it puts those that it misses into a
 * spool, in the folder to which ceems-courier brings the files from a debuginfod. Of
 * files that it has from there it says that it uses them, so that others go first.
 *
 * Record type 49 of the spool: the type, what it says, and the id's bytes; interval
 * records, so the oldest go where nobody takes them.
 */

#define DEBUG_FILE_RECORD_TYPE 49u
#define DEBUG_FILE_QUEUE "wanted" /* the spool, below the folder */

/* Descriptor of NT_GNU_BUILD_ID: 20 bytes of ld, what --build-id=0x... says otherwise.
 * Shorter ones are those of more than one program. */
enum { BUILD_ID_MIN = 8, BUILD_ID_MAX = 64 };

struct build_id {
	uint32_t len; /* 0: none */
	uint8_t bytes[BUILD_ID_MAX];
};

/* In small letters, as debuginfod and paths have it */
#define BUILD_ID_HEX_BYTES (2 * BUILD_ID_MAX + 1)
void build_id_hex(const struct build_id *id, char ret[BUILD_ID_HEX_BYTES]);

/* ".build-id/xx/rest.debug": where debuggers look, below a folder. id->len is within
 * its bounds. */
#define DEBUG_FILE_PATH_BYTES (BUILD_ID_HEX_BYTES + 24)
void debug_file_path(const struct build_id *id, char ret[DEBUG_FILE_PATH_BYTES]);

enum debug_file_news {
	DEBUG_FILE_WANTED = 1, /* there is none, or none that helps */
	DEBUG_FILE_USED
};

/* Returns the record's length. id->len is within its bounds. */
#define DEBUG_FILE_RECORD_BYTES (2 + BUILD_ID_MAX)
size_t debug_file_encode(enum debug_file_news news, const struct build_id *id,
			 uint8_t ret[DEBUG_FILE_RECORD_BYTES]);
/* Accepts any bytes: an enum debug_file_news, or -EPROTO. */
int debug_file_decode(const void *data, size_t len, struct build_id *ret);

#endif
