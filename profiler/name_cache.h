/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_PROFILER_NAME_CACHE_H
#define CEEMS_PROFILER_NAME_CACHE_H

#include "profiler/files/reader_message.h"
#include "profiler/frame_names.h"

/* What has been asked of the children that read files, for as long as there is room:
 * addresses come again and again. */
struct named_address {
	uint64_t address;
	uint32_t module;
	uint32_t first, count; /* in numbers */
};

struct name_cache {
	struct frame_names texts;
	struct named_address *slots; /* [slot_count], module + 1; 0: free */
	uint32_t slot_count, used;
	uint32_t *numbers; /* of texts */
	uint32_t number_count, number_room;
};

/* Functions at an address, the innermost first. Valid until the next name_cache_add().
 */
struct name_list {
	uint32_t count;
	const char *names[READER_NAMES_MAX];
};

void name_cache_free(struct name_cache *c);
/* Whether the address is known. */
int name_cache_find(const struct name_cache *c, uint32_t module, uint64_t address,
		    struct name_list *ret);
/* At its bound the cache is emptied first. 0, or -ENOMEM. */
int name_cache_add(struct name_cache *c, uint32_t module, uint64_t address,
		   const struct reader_names *names);
/* For a module's number that another file gets. */
void name_cache_forget(struct name_cache *c);

#endif
