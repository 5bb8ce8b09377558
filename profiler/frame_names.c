/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "profiler/frame_names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "lib/siphash.h"

void frame_names_free(struct frame_names *n)
{
	for (uint32_t i = 0; i < n->count; i++)
		free(n->all[i]);
	free(n->all);
	free(n->slots);
	*n = (struct frame_names){0};
}

static uint32_t first_slot(const struct frame_names *n, const char *name, size_t len)
{
	return (uint32_t)siphash13(n->key, name, len) & (n->slot_count - 1);
}

/* Twice the names, and at most half of the slots taken */
static int grow_names(struct frame_names *n)
{
	uint32_t room = n->room ? n->room * 2 : 1024;

	if (!n->room && getrandom(n->key, sizeof(n->key), 0) != sizeof(n->key))
		return -EIO;
	char **all = reallocarray(n->all, room, sizeof(*all));
	if (!all)
		return -ENOMEM;
	n->all = all;
	uint32_t *slots = calloc((size_t)room * 2, sizeof(*slots));
	if (!slots)
		return -ENOMEM;
	free(n->slots);
	n->slots = slots;
	n->slot_count = room * 2;
	n->room = room;
	for (uint32_t i = 0; i < n->count; i++) {
		uint32_t at = first_slot(n, n->all[i], strlen(n->all[i]));
		while (n->slots[at])
			at = (at + 1) & (n->slot_count - 1);
		n->slots[at] = i + 1;
	}
	return 0;
}

int frame_names_add(struct frame_names *n, const char *name, size_t len, uint32_t *ret)
{
	int rc = n->count == n->room ? grow_names(n) : 0;

	if (rc < 0)
		return rc;
	uint32_t at = first_slot(n, name, len);
	for (; n->slots[at]; at = (at + 1) & (n->slot_count - 1)) {
		const char *known = n->all[n->slots[at] - 1];
		if (strncmp(known, name, len) == 0 && !known[len]) {
			*ret = n->slots[at] - 1;
			return 0;
		}
	}
	char *copy = strndup(name, len);
	if (!copy)
		return -ENOMEM;
	n->text_bytes += len + 1;
	n->all[n->count] = copy;
	n->slots[at] = n->count + 1;
	*ret = n->count++;
	return 0;
}
