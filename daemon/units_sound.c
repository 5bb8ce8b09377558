/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Defends against damage of the unit table's file: checks at open, and corrections in
 * use. Counters may then be wrong, but no value leads out of the table, and no list is
 * circular. */
#include <string.h>

#include "daemon/units_store.h"

static bool text_ends(const char *s, size_t size)
{
	return memchr(s, 0, size) != NULL;
}

bool unit_is_sound(const struct units *u, const struct unit *unit)
{
	return (unit->state == UNIT_RUNNING || unit->state == UNIT_ENDED) &&
	       unit->manager < STORE_MANAGERS && unit->end < UNIT_END_STATES &&
	       (unit->first_step == UNITS_NONE || unit->first_step < u->steps_backed) &&
	       text_ends(unit->id, sizeof(unit->id)) &&
	       text_ends(unit->node, sizeof(unit->node)) &&
	       text_ends(unit->gpus, sizeof(unit->gpus)) &&
	       text_ends(unit->gpu_share, sizeof(unit->gpu_share)) &&
	       text_ends(unit->name, sizeof(unit->name)) &&
	       text_ends(unit->account, sizeof(unit->account)) &&
	       text_ends(unit->partition, sizeof(unit->partition)) &&
	       text_ends(unit->sluid, sizeof(unit->sluid));
}

bool step_is_sound(const struct units *u, const struct step *s)
{
	if (s->state < UNIT_RUNNING || s->state > UNIT_PART ||
	    s->unit >= u->units_backed || s->cgroup_count > RECORD_CGROUPS_MAX ||
	    (s->next != UNITS_NONE && s->next >= u->steps_backed))
		return false;
	for (uint32_t c = 0; c < s->cgroup_count; c++) {
		if (!text_ends(s->cgroups[c].path, sizeof(s->cgroups[c].path)))
			return false;
	}
	return true;
}

struct node_totals *store_node(const struct units *u, uint32_t manager)
{
	return &u->h->node[manager < STORE_MANAGERS ? manager : 0];
}

uint32_t store_paths(const struct step *s)
{
	/* read once: it may change between check and use */
	uint32_t n = *(const volatile uint32_t *)&s->cgroup_count;
	return n < RECORD_CGROUPS_MAX ? n : RECORD_CGROUPS_MAX;
}

static void mend_u32(struct units *u, uint32_t *value, uint32_t right)
{
	if (*value == right)
		return;
	*value = right;
	u->mended++;
}

static void mend_text(struct units *u, char *text, size_t size)
{
	if (text_ends(text, size))
		return;
	text[size - 1] = '\0';
	u->mended++;
}

void store_mend_unit(struct units *u, uint32_t i)
{
	struct unit *unit = &u->units[i];

	mend_u32(u, &unit->state,
		 links_have(&u->units_ended, i) ? UNIT_ENDED : UNIT_RUNNING);
	mend_u32(u, &unit->first_step, units_first_step(u, i));
	if (unit->manager >= STORE_MANAGERS)
		mend_u32(u, &unit->manager, MANAGER_SLURM);
	if (unit->end >= UNIT_END_STATES)
		mend_u32(u, &unit->end, UNIT_END_LOST);
	mend_text(u, unit->id, sizeof(unit->id));
	mend_text(u, unit->node, sizeof(unit->node));
	mend_text(u, unit->gpus, sizeof(unit->gpus));
	mend_text(u, unit->gpu_share, sizeof(unit->gpu_share));
	mend_text(u, unit->name, sizeof(unit->name));
	mend_text(u, unit->account, sizeof(unit->account));
	mend_text(u, unit->partition, sizeof(unit->partition));
	mend_text(u, unit->sluid, sizeof(unit->sluid));
}

void store_mend_step(struct units *u, uint32_t i)
{
	struct step *s = &u->steps[i];
	struct step_name *name = &u->step_names[i];

	mend_u32(u, &s->state,
		 links_have(&u->steps_ended, i) ? UNIT_ENDED
		 : u->places[i].part            ? UNIT_PART
						: UNIT_RUNNING);
	mend_u32(u, &s->unit, steps_unit(u, i));
	mend_u32(u, &s->next, steps_after(u, i));
	mend_u32(u, &s->cgroup_count, u->places[i].paths);
	for (uint32_t c = 0; c < u->places[i].paths; c++)
		mend_text(u, s->cgroups[c].path, sizeof(s->cgroups[c].path));
	mend_text(u, name->command, sizeof(name->command));
	mend_text(u, name->label, sizeof(name->label));
}

uint64_t units_mended(const struct units *u)
{
	return u->mended;
}
