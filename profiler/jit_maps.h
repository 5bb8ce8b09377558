/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_PROFILER_JIT_MAPS_H
#define CEEMS_PROFILER_JIT_MAPS_H

#include "profiler/door.h"
#include "profiler/files/reader.h"
#include "profiler/name_generations.h"

/* Code that processes have made themselves, by their /tmp/perf-PID.map (perf_map.h).
 * Its names are looked up as samples come: code may move. One thread. */
enum { JIT_MAPS_MAX = 64 };

struct jit_map {
	uint32_t pid; /* 0: free */
	uint32_t uid;
	int fd; /* -1: it has none */
	uint32_t looked_s, seen_s;
};

struct jit_maps {
	struct jit_map all[JIT_MAPS_MAX];
	struct name_generations names;
	uint64_t refused; /* maps that were links, another user's, or too large */
};

/* The number of the name of what lies at an address; -ENOENT */
int jit_maps_find(struct jit_maps *j, struct door *d, struct reader *r, uint32_t pid,
		  uint64_t address, uint32_t now_s);
const char *jit_maps_name(const struct jit_maps *j, uint32_t number);
/* The process has ended, or runs another program. */
void jit_maps_forget(struct jit_maps *j, struct reader *r, uint32_t pid);
void jit_maps_free(struct jit_maps *j, struct reader *r);

#endif
