/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_PROFILER_MODULES_H
#define CEEMS_PROFILER_MODULES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/err.h"
#include "lib/records/profile_request.h"
#include "lib/records/profile_sample.h"
#include "profiler/debug_files.h"
#include "profiler/files/reader.h"
#include "profiler/jit_maps.h"
#include "profiler/kernel_names.h"
#include "profiler/name_cache.h"
#include "profiler/python_codes.h"
#include "profiler/unwind_row.h"

/* The files whose code has been seen, each once, and their rows in one array that the
 * kernel program reads. Where there is no room those not seen for longest lose their
 * rows, then their place. One thread. */

/* What /proc/PID/maps says of a file: enough to find it again, without opening it */
struct module_key {
	uint64_t device, inode;
};

struct module {
	char *name; /* the last part of its path; NULL: the place is free */
	int fd;     /* -1: let go of */
	struct module_key key;
	struct profile_file file;
	uint32_t checked_s; /* CLOCK_BOOTTIME: it was this file then */
	uint32_t seen_s;    /* in a stack */
	uint32_t users;     /* mappings of processes that are known */
	struct profile_module rows;
	bool evicted; /* it had rows */
	struct elf_segment segments[ELF_SEGMENTS_MAX];
	int segment_count; /* 0: it could not be read */
	uint32_t uid;      /* whose process it was last opened or read for */
	bool waits;        /* that user has to wait: it has not been read */
	bool no_names;     /* whoever looked for them was lost */
	bool sampled;      /* it was in a stack */
	struct module_debug debug;
	uint32_t copies; /* of an image: how often it was made */
};

struct modules {
	struct reader *reader; /* not owned */
	bool fetches;          /* debug files (debug_files.h) */
	struct module *all;
	uint32_t count;
	/* the kernel program's arrays, not owned */
	struct unwind_row *rows; /* [row_room] */
	uint32_t row_room;
	struct profile_module *told;    /* [PROFILE_MODULES_MAX] */
	struct profile_python *pythons; /* [PROFILE_PYTHONS_MAX] */
	struct name_cache names;
	struct kernel_names kernel;
	struct python_codes codes;
	struct jit_maps jit;
	uint64_t pythons_refused; /* files with a Python of no version that is known */
	uint64_t without_rows; /* files that had none, or for which there was no room */
	uint64_t evictions;
};

void modules_free(struct modules *m);
/* Before the kernel program's arrays go: files and names stay, for the stacks that have
 * none yet; rows are read again for the next arrays. */
void modules_forget_rows(struct modules *m);
/* The module of a file that a process of uid maps, if it was looked at within the last
 * minute; -ENOENT */
int modules_find(const struct modules *m, const struct module_key *key, uint32_t uid,
		 uint32_t now_s);
/* The module of an open file, which is taken over; path names it, uid is whose process
 * maps it. fd -1: of a file that could not be opened, whose code has the file's name
 * alone. Its index; -E2BIG: of
 * PROFILE_MODULES_MAX the user has as many as are free; -ENOMEM. */
int modules_add(struct modules *m, int fd, const struct profile_file *file,
		const char *path, const struct module_key *key, uint32_t uid,
		uint32_t now_s, struct err *err);
/* What the functions at an address in the file are called, the innermost first; those
 * before the last are inlined. Their number, 0: they have no names. Valid until the
 * next call. */
uint32_t modules_find_names(struct modules *m, uint32_t module, uint64_t address,
			    struct name_list *ret);
/* Lets go of the files, and of the names, that no process has mapped any more and that
 * were in no stack since: those stacks have been named. */
void modules_let_go(struct modules *m, uint32_t since_s);
/* Begins the next generation of names that frames bear as numbers, where it is time:
 * all stacks that there are were sampled since since_s. Whether codes of Python are to
 * be sent again. */
bool modules_turn_names(struct modules *m, uint32_t since_s, uint32_t now_s);
/* It is an image (process_image.h) of a process whose loader may not have been through
 * with it: it is to be copied again, up to MODULE_COPIES times. */
#define MODULE_COPIES 4u
bool modules_is_unsettled(const struct modules *m, uint32_t module);
/* Bytes of those that are images of processes' memory (process_image.h) */
#define MODULES_IMAGES_MAX (24u << 20)
uint64_t modules_image_bytes(const struct modules *m);
/* How many more there may be for one of uid's, once the largest of another user who has
 * more than half of all have been let go of */
uint64_t modules_make_image_room(struct modules *m, uint32_t uid);
/* Bytes of what is not in the kernel program's arrays */
uint64_t modules_bytes(const struct modules *m);

#endif
