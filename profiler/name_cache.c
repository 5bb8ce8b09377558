/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "profiler/name_cache.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* 2 MiB of addresses, and of their names */
#define ADDRESSES_MAX (1u << 16)
#define TEXT_BYTES_MAX (4u << 20)
#define NUMBERS_MAX (1u << 18)

void name_cache_free(struct name_cache *c)
{
	frame_names_free(&c->texts);
	free(c->slots);
	free(c->numbers);
	*c = (struct name_cache){0};
}

void name_cache_forget(struct name_cache *c)
{
	name_cache_free(c);
}

static struct named_address *find_slot(const struct name_cache *c, uint32_t module,
				       uint64_t address)
{
	uint64_t hash = (address ^ (uint64_t)module << 48) * 0x9e3779b97f4a7c15u;
	uint32_t at = (uint32_t)(hash >> 40) & (c->slot_count - 1);

	for (;; at = (at + 1) & (c->slot_count - 1)) { /* at most half are used */
		struct named_address *s = &c->slots[at];
		if (!s->module || (s->module == module + 1 && s->address == address))
			return s;
	}
}

int name_cache_find(const struct name_cache *c, uint32_t module, uint64_t address,
		    struct name_list *ret)
{
	if (!c->slot_count)
		return 0;
	const struct named_address *s = find_slot(c, module, address);
	if (!s->module)
		return 0;
	ret->count = s->count;
	for (uint32_t i = 0; i < s->count; i++)
		ret->names[i] = c->texts.all[c->numbers[s->first + i]];
	return 1;
}

static int grow_slots(struct name_cache *c)
{
	struct name_cache old = *c;
	uint32_t count = c->slot_count ? c->slot_count * 2 : 1024;

	c->slots = calloc(count, sizeof(*c->slots));
	if (!c->slots) {
		*c = old;
		return -ENOMEM;
	}
	c->slot_count = count;
	for (uint32_t i = 0; i < old.slot_count; i++) {
		const struct named_address *s = &old.slots[i];
		if (s->module)
			*find_slot(c, s->module - 1, s->address) = *s;
	}
	free(old.slots);
	return 0;
}

static int add_texts(struct name_cache *c, const struct reader_names *names)
{
	const char *at = names->text;
	uint32_t room = c->number_room ? c->number_room * 2 : 1024;

	if (c->number_count + READER_NAMES_MAX > c->number_room) {
		uint32_t *numbers = reallocarray(c->numbers, room, sizeof(*numbers));
		if (!numbers)
			return -ENOMEM;
		c->numbers = numbers;
		c->number_room = room;
	}
	for (uint32_t i = 0; i < names->count; i++) {
		size_t len = strlen(at);
		int rc = frame_names_add(&c->texts, at, len,
					 &c->numbers[c->number_count + i]);
		if (rc < 0)
			return rc;
		at += len + 1;
	}
	return 0;
}

int name_cache_add(struct name_cache *c, uint32_t module, uint64_t address,
		   const struct reader_names *names)
{
	int rc = 0;

	if (c->used == ADDRESSES_MAX || c->texts.text_bytes > TEXT_BYTES_MAX ||
	    c->number_count + READER_NAMES_MAX > NUMBERS_MAX)
		name_cache_free(c);
	if (c->used * 2 >= c->slot_count)
		rc = grow_slots(c);
	if (rc == 0)
		rc = add_texts(c, names);
	if (rc < 0)
		return rc;
	struct named_address *s = find_slot(c, module, address);
	c->used += !s->module;
	*s = (struct named_address){.address = address,
				    .module = module + 1,
				    .first = c->number_count,
				    .count = names->count};
	c->number_count += names->count;
	return 0;
}
