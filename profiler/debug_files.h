/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_PROFILER_DEBUG_FILES_H
#define CEEMS_PROFILER_DEBUG_FILES_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/log.h"
#include "lib/records/debug_file.h"
#include "profiler/files/reader_message.h"

/* Which separate debug files are missing of the files in stacks, and which came: it
 * tells ceems-courier, by a spool in the folder to which that one brings them
 * (lib/records/debug_file.h), and looks there from time to time. Who makes files up
 * with build ids of all kinds is asked for few of them. One thread. */

struct module;
struct modules;
struct reader;

/* Of a module */
struct module_debug {
	struct build_id id;
	enum reader_debug_file file;
	bool looked;     /* the first two are known */
	bool refused;    /* what was fetched cost a reader: it is not looked at again */
	uint64_t tried;  /* inode of what was fetched */
	uint32_t tell_s; /* when it is told next, CLOCK_BOOTTIME */
};

#define DEBUG_FILE_OWNERS 32u
#define DEBUG_FILES_AN_HOUR 256u /* of a user */

struct debug_file_owner {
	uint32_t uid, since_s, told;
};

struct debug_files {
	const char *folder; /* borrowed; "": none are fetched */
	struct spool_writer *queue;
	struct debug_file_owner owners[DEBUG_FILE_OWNERS];
	uint32_t looked_s;
	uint64_t wanted,
		refused; /* told as missing; not told, as too many of a user's */
	struct log_repeat log;
};

/* Asks readers of modules that are new in stacks, tells of those that miss a file, and
 * has what came for one read in place of what was known of it: names found before are
 * forgotten. At most every two seconds, but at once before a profile is written.
 */
void debug_files_look(struct debug_files *d, struct modules *m, uint32_t now_s,
		      bool at_once);
void debug_files_close(struct debug_files *d);
/* A reader was lost over the names of a module. Whether what was fetched may be why,
 * which is then not used for it any more. */
bool debug_files_give_up(struct module_debug *d);

#endif
