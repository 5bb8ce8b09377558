/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_PROFILER_FILES_PERF_MAP_H
#define CEEMS_PROFILER_FILES_PERF_MAP_H

#include <stddef.h>
#include <stdint.h>

#include "profiler/files/reader_message.h"

/* A file of lines "begin size name" (hexadecimal), in which a compiler of Java, Julia,
 * JavaScript or Python writes where the code is that it made as the program ran: the
 * kernel's tools/perf/Documentation/jit-interface.txt. It grows. */
#define PERF_MAP_BYTES_MAX (64u << 20)
#define PERF_MAP_ENTRIES_MAX (1u << 20)

struct perf_map_entry {
	uint64_t address;
	uint32_t size, name; /* name: offset in text; later ones hold */
};

struct perf_map {
	const char *text;
	size_t len;
	void *mapped; /* text, if it is ours */
	struct perf_map_entry *all;
	uint32_t count, room;
};

/* Reads it again if it has grown. -EFBIG: it is longer than PERF_MAP_BYTES_MAX,
 * -ENOMEM, or what fstat and mmap say; it is empty then. */
int perf_map_read(int fd, struct perf_map *m);
/* The same of text in memory, which is not taken over. */
int perf_map_parse(const char *text, size_t len, struct perf_map *m);
/* What lies at an address; count 0: nothing. */
void perf_map_find(const struct perf_map *m, uint64_t address,
		   struct reader_names *ret);
void perf_map_free(struct perf_map *m);

#endif
