/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/drm/drm_uses.h"

#include <stdlib.h>
#include <string.h>

#define MISSES_MAX 2u /* a descriptor may be on its way between two processes */

struct client_engine {
	char name[DRM_NAME_BYTES];
	uint64_t counted;             /* busy, in nanoseconds or cycles */
	uint64_t total_cycles, at_ns; /* at the last reading; at_ns 0: there is none */
};

struct drm_client {
	char pdev[DRM_PDEV_BYTES];
	uint64_t number;
	uint32_t unit; /* in which it was seen last */
	uint64_t serial;
	uint32_t round; /* the last one that had it */
	uint32_t misses;
	uint32_t engine_count;
	struct client_engine engines[DRM_ENGINES_MAX];
};

struct drm_unit {
	uint64_t serial; /* of the unit that has this number now */
	uint32_t round;  /* the last one in which it was asked about */
	bool whole;      /* all of it, in that round */
	bool had_whole;  /* a round */
};

void drm_uses_done(struct drm_uses *u)
{
	free(u->uses);
	free(u->clients);
	free(u->units);
	*u = (struct drm_uses){0};
}

/* Room for one more of size bytes each, zeroed; NULL: there is none. */
static void *add_place(void **array, size_t *count, size_t *room, size_t max,
		       size_t size)
{
	if (*count == *room) {
		size_t more = *room ? 2 * *room : 16;
		void *grown = *count < max ? reallocarray(*array, more, size) : NULL;
		if (!grown)
			return NULL;
		*array = grown;
		*room = more;
	}
	return memset((char *)*array + size * (*count)++, 0, size);
}

static struct drm_client *find_client(const struct drm_uses *u,
				      const struct drm_fdinfo *f)
{
	for (size_t i = 0; i < u->client_count; i++) {
		struct drm_client *c = &u->clients[i];
		if (c->number == f->client && strcmp(c->pdev, f->pdev) == 0)
			return c;
	}
	return NULL;
}

static size_t count_clients(const struct drm_uses *u, const struct drm_owner *owner)
{
	size_t n = 0;

	for (size_t i = 0; i < u->client_count; i++)
		n += u->clients[i].unit == owner->unit &&
		     u->clients[i].serial == owner->serial;
	return n;
}

static struct drm_client *add_client(struct drm_uses *u, const struct drm_owner *owner,
				     const struct drm_fdinfo *f)
{
	void *array = u->clients;

	if (count_clients(u, owner) * DRM_UNIT_SHARE >=
	    DRM_CLIENTS_MAX - u->client_count)
		return NULL;
	struct drm_client *c = add_place(&array, &u->client_count, &u->client_room,
					 DRM_CLIENTS_MAX, sizeof(*c));
	u->clients = array;
	if (!c)
		return NULL;
	c->number = f->client;
	memcpy(c->pdev, f->pdev, sizeof(c->pdev));
	return c;
}

/* NULL: no memory */
static struct drm_unit *get_drm_unit(struct drm_uses *u, const struct drm_owner *owner)
{
	if (owner->unit >= u->unit_room) {
		size_t room = 2 * (size_t)owner->unit + 16;
		struct drm_unit *more = reallocarray(u->units, room, sizeof(*more));
		if (!more)
			return NULL;
		memset(more + u->unit_room, 0, (room - u->unit_room) * sizeof(*more));
		u->units = more;
		u->unit_room = room;
	}
	struct drm_unit *unit = &u->units[owner->unit];
	if (unit->serial != owner->serial)
		*unit = (struct drm_unit){.serial = owner->serial};
	return unit;
}

static struct drm_use *get_drm_use(struct drm_uses *u, const struct drm_owner *owner,
				   const char *pdev)
{
	void *array = u->uses;

	for (size_t i = 0; i < u->count; i++) {
		struct drm_use *use = &u->uses[i];
		if (use->unit == owner->unit && use->serial == owner->serial &&
		    strcmp(use->pdev, pdev) == 0)
			return use;
	}
	struct drm_use *use =
		add_place(&array, &u->count, &u->room, DRM_USES_MAX, sizeof(*use));
	u->uses = array;
	if (!use)
		return NULL;
	use->unit = owner->unit;
	use->serial = owner->serial;
	memcpy(use->pdev, pdev, DRM_PDEV_BYTES);
	return use;
}

/* Drivers tell the same engines of all clients of a device, so the bound of one is that
 * of all. */
static void add_busy(struct drm_use *use, const char *engine, uint64_t ns)
{
	uint32_t i = 0;

	while (i < use->time_count && strcmp(use->times[i].name, engine) != 0)
		i++;
	if (i == DRM_ENGINES_MAX)
		return;
	if (i == use->time_count) {
		memcpy(use->times[i].name, engine, DRM_NAME_BYTES);
		use->time_count++;
	}
	use->times[i].busy_ns += ns;
}

static struct client_engine *get_engine(struct drm_client *c, const char *name)
{
	uint32_t i = 0;

	while (i < c->engine_count && strcmp(c->engines[i].name, name) != 0)
		i++;
	if (i == DRM_ENGINES_MAX)
		return NULL;
	if (i == c->engine_count) {
		memcpy(c->engines[i].name, name, DRM_NAME_BYTES);
		c->engine_count++;
	}
	return &c->engines[i];
}

/* What was not counted yet. A driver may fall behind what it told before, and is to be
 * believed again when it has caught up. */
static uint64_t count_to(struct client_engine *k, uint64_t now)
{
	uint64_t more = now > k->counted ? now - k->counted : 0;

	k->counted += more;
	return more;
}

static uint64_t count_busy_ns(struct client_engine *k, const struct drm_engine *e,
			      uint64_t now_ns)
{
	uint64_t passed_ns = now_ns - k->at_ns, ns = 0;

	if (!e->in_cycles)
		return count_to(k, e->busy_ns);
	if (k->at_ns && e->total_cycles > k->total_cycles) {
		unsigned __int128 scaled =
			(unsigned __int128)count_to(k, e->cycles) * passed_ns;
		ns = (uint64_t)(scaled / (e->total_cycles - k->total_cycles));
	}
	k->total_cycles = e->total_cycles;
	k->at_ns = now_ns;
	return ns;
}

void drm_uses_begin(struct drm_uses *u)
{
	u->round++;
	for (size_t i = 0; i < u->count; i++)
		u->uses[i].round_bytes = 0;
}

void drm_uses_take(struct drm_uses *u, const struct drm_owner *owner,
		   const struct drm_fdinfo *f, uint64_t now_ns)
{
	struct drm_client *c = find_client(u, f);
	const struct drm_unit *unit = get_drm_unit(u, owner);
	bool is_new = !c;

	if (c && c->round == u->round)
		return;
	struct drm_use *use = unit ? get_drm_use(u, owner, f->pdev) : NULL;
	if (!c && use)
		c = add_client(u, owner, f);
	if (!c || !use) {
		u->left_out++;
		return;
	}
	for (uint32_t i = 0; i < f->engine_count; i++) {
		const struct drm_engine *e = &f->engines[i];
		struct client_engine *k = get_engine(c, e->name);
		if (k && is_new && owner->is_older && !unit->had_whole)
			k->counted = e->in_cycles ? e->cycles : e->busy_ns;
		if (k)
			add_busy(use, e->name, count_busy_ns(k, e, now_ns));
	}
	use->has_memory |= f->has_memory;
	if (__builtin_add_overflow(use->round_bytes, f->memory_bytes,
				   &use->round_bytes))
		use->round_bytes = UINT64_MAX;
	c->unit = owner->unit;
	c->serial = owner->serial;
	c->round = u->round;
	c->misses = 0;
}

void drm_uses_note_step(struct drm_uses *u, const struct drm_owner *owner, bool whole)
{
	struct drm_unit *unit = get_drm_unit(u, owner);

	if (!unit)
		return;
	unit->whole = whole && (unit->round != u->round || unit->whole);
	unit->round = u->round;
}

/* Of a unit that was not asked about nothing runs any more. */
static bool is_client_in_doubt(const struct drm_uses *u, const struct drm_client *c)
{
	const struct drm_unit *unit = &u->units[c->unit];

	return unit->serial == c->serial && unit->round == u->round && !unit->whole;
}

void drm_uses_end(struct drm_uses *u, bool finished)
{
	size_t n = 0;

	if (!finished)
		return;
	for (size_t i = 0; i < u->count; i++)
		u->uses[i].memory_bytes = u->uses[i].round_bytes;
	for (size_t i = 0; i < u->client_count; i++) {
		struct drm_client *c = &u->clients[i];
		if (c->round != u->round && !is_client_in_doubt(u, c) &&
		    ++c->misses == MISSES_MAX)
			continue;
		u->clients[n++] = *c;
	}
	u->client_count = n;
	for (size_t i = 0; i < u->unit_room; i++)
		u->units[i].had_whole |=
			u->units[i].round == u->round && u->units[i].whole;
}

void drm_uses_settle(struct drm_uses *u, const struct units *units)
{
	size_t n = 0;

	for (size_t i = 0; i < u->count; i++) {
		if (unit_serial(units, u->uses[i].unit) == u->uses[i].serial)
			u->uses[n++] = u->uses[i];
	}
	u->count = n;
}
