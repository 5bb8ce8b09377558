/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_DAEMON_GROUPS_IO_PATHS_H
#define CEEMS_DAEMON_GROUPS_IO_PATHS_H

#include <stdint.h>

/*
 * Paths of mounts. Many units use the same few, so each is held once, with its label as
 * a scrape has it, as long as anything uses it. Two are the same if their pointers are.
 */
struct io_path {
	struct io_path *next;
	uint64_t hash;
	uint32_t uses;
	uint32_t label_len;
	const char *label; /* mountpoint="/lustre/scratch"} */
	char text[];
};

struct io_paths;

int io_paths_new(struct io_paths **ret); /* -ENOMEM */
void io_paths_free(struct io_paths *p);  /* accepts NULL */
/* One more use of the path; NULL: no memory. */
struct io_path *io_paths_take(struct io_paths *p, const char *text);
void io_paths_hold(struct io_path *path);
/* One use less. Accepts NULL. */
void io_paths_drop(struct io_paths *p, struct io_path *path);
/* How many there are. */
uint32_t io_paths_count(const struct io_paths *p);

#endif
