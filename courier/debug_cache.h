/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_COURIER_DEBUG_CACHE_H
#define CEEMS_COURIER_DEBUG_CACHE_H

#include <stdint.h>

#include "lib/err.h"
#include "lib/fs.h"
#include "lib/records/debug_file.h"

/*
 * The folder of debug files that were fetched, as ceems-profiler's readers find them
 * (lib/records/debug_file.h). An empty file says that no server had one, for a day. A
 * file's time of change is when it was last used: those not used for longest go first.
 * What is in the files is not looked at. One thread; nobody else writes here.
 */
struct debug_cache {
	int fd; /* of the folder */
	const char *folder;
	uint64_t max_bytes; /* of all */
};

#define DEBUG_CACHE_FILES_MAX 8192u

/* Makes it if its parent is there; removes files that a crash left unfinished. folder
 * is borrowed. */
int debug_cache_open(const char *folder, uint64_t max_bytes, struct debug_cache *ret,
		     struct err *err);
void debug_cache_close(struct debug_cache *c);

/* What ceems-profiler says of a file: 1: it is to be fetched; 0: nothing is to be done
 * now. One that did not help is fetched again after a day. now_s: CLOCK_REALTIME. */
int debug_cache_told(const struct debug_cache *c, enum debug_file_news news,
		     const struct build_id *id, int64_t now_s);

/* A file that is being fetched */
struct debug_cache_new {
	int fd;
	char path[DEBUG_FILE_PATH_BYTES], tmp[FS_NEW_BYTES];
};

/* Makes room in its file system, then the file. -ENOSPC: there is none even without all
 * others. */
int debug_cache_begin(const struct debug_cache *c, const struct build_id *id,
		      struct debug_cache_new *ret, struct err *err);
/* While it is written: 0, or -ENOSPC when too little stays free. */
int debug_cache_check_room(const struct debug_cache *c);
/* The whole file is there: it gets its name, others make place for it. */
int debug_cache_commit(const struct debug_cache *c, struct debug_cache_new *n,
		       struct err *err);
void debug_cache_abandon(const struct debug_cache *c, struct debug_cache_new *n);

#endif
