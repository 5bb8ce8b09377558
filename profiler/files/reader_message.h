/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_PROFILER_FILES_READER_MESSAGE_H
#define CEEMS_PROFILER_FILES_READER_MESSAGE_H

#include <limits.h>
#include <stdint.h>

#include "lib/privileges.h"
#include "lib/records/debug_file.h"
#include "lib/records/profile_sample.h"
#include "profiler/files/elf_file.h"
#include "profiler/unwind_row.h"

/* What the profiler asks its expendable children (fork_server.h), and what they answer:
 * one message each, of one build, so structs as they are. Whoever has read a user's
 * file may have been taken over by it: each answer is checked (reader.c). */

/* What a child is told at its start */
struct reader_setup {
	struct privileges user;      /* whom it becomes */
	char debug_folder[PATH_MAX]; /* with debug files that were fetched; "": none */
};

enum reader_ask {
	READER_TABLE,       /* its segments and rows */
	READER_NAMES,       /* of an address */
	READER_LOCAL_NAMES, /* without a debug file that was fetched */
	READER_DEBUG,       /* whether it lacks one */
	READER_JIT          /* names of an address, of a perf map */
};

struct reader_request {
	uint32_t ask;       /* enum reader_ask */
	uint32_t rows_most; /* READER_TABLE */
	uint64_t address;   /* of names */
};

/* The rows follow, READER_ROWS_MAX a message. */
struct reader_table {
	int32_t status;      /* -ENOEXEC: no ELF file */
	int32_t rows_status; /* why there are no rows */
	uint32_t rows;
	uint32_t segment_count;
	int32_t python_status; /* 0: python holds; -EOPNOTSUPP: only its version */
	struct elf_segment segments[ELF_SEGMENTS_MAX];
	struct profile_python python;
};

enum reader_debug_file {
	READER_DEBUG_NEEDLESS, /* it has its symbols, no build id, or a local one */
	READER_DEBUG_MISSING,
	READER_DEBUG_FETCHED,
	READER_DEBUG_FILES
};

struct reader_debug {
	uint32_t file;      /* enum reader_debug_file */
	struct build_id id; /* of one that is missing or was fetched */
};

enum { READER_ROWS_MAX = 4096, READER_NAMES_MAX = 32, READER_TEXT_BYTES = 16384 };

/* Functions at an address, the innermost first: those before the last are inlined. */
struct reader_names {
	uint32_t count, len;
	char text[READER_TEXT_BYTES]; /* count strings, each with its NUL: len bytes */
};

#endif
