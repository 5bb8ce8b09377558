/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_PROFILER_FRAME_NAMES_H
#define CEEMS_PROFILER_FRAME_NAMES_H

#include <stddef.h>
#include <stdint.h>

/* Each name of a function once, with a number. Names are users': the table's key is
 * drawn at random. */
struct frame_names {
	char **all; /* [count] */
	uint32_t count, room;
	size_t text_bytes;
	uint32_t *slots; /* [slot_count] number + 1; 0: free */
	uint32_t slot_count;
	uint64_t key[2];
};

void frame_names_free(struct frame_names *n);
/* 0, or -ENOMEM. */
int frame_names_add(struct frame_names *n, const char *name, size_t len, uint32_t *ret);

#endif
