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

static void forget_unit(struct drm_unit *unit, uint64_t next_serial)
{
	free(unit->uses);
	*unit = (struct drm_unit){.serial = next_serial};
}

void drm_uses_done(struct drm_uses *u)
{
	for (uint32_t i = 0; i < u->unit_room; i++)
		free(u->units[i].uses);
	free(u->clients);
	free(u->units);
	*u = (struct drm_uses){0};
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
	if (count_clients(u, owner) * DRM_UNIT_SHARE >=
	    DRM_CLIENTS_MAX - u->client_count)
		return NULL;
	if (u->client_count == u->client_room) {
		size_t room = u->client_room ? 2 * u->client_room : 16;
		struct drm_client *more = reallocarray(u->clients, room, sizeof(*more));
		if (!more)
			return NULL;
		u->clients = more;
		u->client_room = room;
	}
	struct drm_client *c = &u->clients[u->client_count++];
	*c = (struct drm_client){.unit = owner->unit, .serial = owner->serial};
	c->number = f->client;
	memcpy(c->pdev, f->pdev, sizeof(c->pdev));
	return c;
}

/* NULL: no memory */
static struct drm_unit *get_drm_unit(struct drm_uses *u, const struct drm_owner *owner)
{
	if (owner->unit >= u->unit_room) {
		uint32_t room = owner->unit + owner->unit / 2 + 16;
		struct drm_unit *more = reallocarray(u->units, room, sizeof(*more));
		if (!more)
			return NULL;
		memset(more + u->unit_room, 0, (room - u->unit_room) * sizeof(*more));
		u->units = more;
		u->unit_room = room;
	}
	struct drm_unit *unit = &u->units[owner->unit];
	if (unit->serial != owner->serial)
		forget_unit(unit, owner->serial);
	return unit;
}

/* NULL: no memory, or more devices than there are in a node */
static struct drm_use *get_drm_use(struct drm_unit *unit, const char *pdev)
{
	for (uint32_t i = 0; i < unit->use_count; i++) {
		if (strcmp(unit->uses[i].pdev, pdev) == 0)
			return &unit->uses[i];
	}
	if (unit->use_count == DRM_UNIT_DEVICES_MAX)
		return NULL;
	struct drm_use *more =
		reallocarray(unit->uses, unit->use_count + 1, sizeof(*more));
	if (!more)
		return NULL;
	unit->uses = more;
	struct drm_use *use = &more[unit->use_count++];
	*use = (struct drm_use){.time_count = 0};
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

static void begin_unit_round(struct drm_unit *unit)
{
	for (uint32_t i = 0; i < unit->use_count; i++)
		unit->uses[i].round_bytes = 0;
}

static void end_drm_unit(struct drm_unit *unit, uint32_t round)
{
	for (uint32_t i = 0; i < unit->use_count; i++)
		unit->uses[i].memory_bytes = unit->uses[i].round_bytes;
	unit->had_whole |= unit->round == round && unit->whole;
}

void drm_uses_begin(struct drm_uses *u)
{
	u->round++;
	for (uint32_t i = 0; i < u->unit_room; i++)
		begin_unit_round(&u->units[i]);
}

void drm_uses_take(struct drm_uses *u, const struct drm_owner *owner,
		   const struct drm_fdinfo *f, uint64_t now_ns)
{
	struct drm_client *c = find_client(u, f);
	struct drm_unit *unit = get_drm_unit(u, owner);
	bool is_new = !c;

	if (c && c->round == u->round)
		return;
	struct drm_use *use = unit ? get_drm_use(unit, f->pdev) : NULL;
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
	for (size_t i = 0; i < u->client_count; i++) {
		struct drm_client *c = &u->clients[i];
		if (c->round != u->round && !is_client_in_doubt(u, c) &&
		    ++c->misses == MISSES_MAX)
			continue;
		u->clients[n++] = *c;
	}
	u->client_count = n;
	for (uint32_t i = 0; i < u->unit_room; i++)
		end_drm_unit(&u->units[i], u->round);
}

void drm_uses_settle(struct drm_uses *u, const struct units *units)
{
	uint32_t capacity = units_capacity(units);

	for (uint32_t i = 0; i < u->unit_room; i++) {
		struct drm_unit *unit = &u->units[i];
		if (i >= capacity || unit_serial(units, i) != unit->serial)
			forget_unit(unit, 0);
	}
}
