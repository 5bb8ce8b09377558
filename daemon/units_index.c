/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The unit table's private memory: slots in use, look-ups by id and by path, lists of
 * what has ended. Rebuilt at open. */
#include "daemon/units_store.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/cleanup.h"

/* ---- private look-up tables ------------------------------------------------------ */

uint64_t store_mix(uint64_t h, uint64_t v)
{
	h = (h ^ v) * 0x9e3779b97f4a7c15ull;
	return h ^ (h >> 29);
}

static uint64_t mix_text(uint64_t h, const char *s)
{
	for (; *s; s++)
		h = (h ^ (unsigned char)*s) * 0x100000001b3ull;
	return store_mix(h, 0x2f);
}

uint64_t store_key(uint32_t manager, const char *node, const char *id)
{
	uint64_t h = store_mix(0xcbf29ce484222325ull, manager);
	return mix_text(mix_text(h, node), id);
}

static uint32_t fold_hash(uint64_t h)
{
	return (uint32_t)(h ^ (h >> 32));
}

static void index_raw_add(struct index *x, uint32_t hash, uint32_t value)
{
	uint32_t at = hash & x->mask;
	while (x->slots[at].value)
		at = (at + 1) & x->mask;
	x->slots[at] = (struct index_slot){hash, value + 1};
	x->used++;
}

static bool index_grow(struct index *x)
{
	struct index bigger = {.mask = x->slots ? x->mask * 2 + 1 : 255};
	bigger.slots = calloc((size_t)bigger.mask + 1, sizeof(*bigger.slots));
	if (!bigger.slots)
		return false;
	for (uint32_t i = 0; x->slots && i <= x->mask; i++) {
		if (x->slots[i].value)
			index_raw_add(&bigger, x->slots[i].hash, x->slots[i].value - 1);
	}
	free(x->slots);
	*x = bigger;
	return true;
}

static void index_add(struct index *x, uint32_t hash, uint32_t value)
{
	/* Without memory for a bigger table entries are left out while it is nearly
	 * full: look-ups then miss, which costs accuracy but not safety. */
	if ((!x->slots || x->used >= x->mask / 2) && !index_grow(x) &&
	    (!x->slots || x->used >= x->mask - 1))
		return;
	index_raw_add(x, hash, value);
}

static void index_remove(struct index *x, uint32_t hash, uint32_t value)
{
	if (!x->slots)
		return;
	uint32_t at = hash & x->mask;
	while (x->slots[at].value &&
	       (x->slots[at].hash != hash || x->slots[at].value != value + 1))
		at = (at + 1) & x->mask;
	if (!x->slots[at].value)
		return;
	x->used--;
	/* Linear probing without tombstones: move back entries that would become
	 * unreachable. */
	for (uint32_t i = (at + 1) & x->mask; x->slots[i].value;
	     i = (i + 1) & x->mask) {
		uint32_t home = x->slots[i].hash & x->mask;
		if (((i - home) & x->mask) >= ((i - at) & x->mask)) {
			x->slots[at] = x->slots[i];
			at = i;
		}
	}
	x->slots[at] = (struct index_slot){0};
}

/* Next value with the key's hash from *cursor on (start with UNITS_NONE). */
static uint32_t index_find(const struct index *x, uint64_t key, uint32_t *cursor)
{
	if (!x->slots)
		return UNITS_NONE;
	uint32_t hash = fold_hash(key);
	uint32_t at = *cursor == UNITS_NONE ? hash & x->mask : (*cursor + 1) & x->mask;
	for (; x->slots[at].value; at = (at + 1) & x->mask) {
		if (x->slots[at].hash == hash) {
			*cursor = at;
			return x->slots[at].value - 1;
		}
	}
	return UNITS_NONE;
}

void links_append(struct links *l, uint32_t i)
{
	l->prev[i] = l->tail;
	l->next[i] = 0;
	if (l->tail)
		l->next[l->tail - 1] = i + 1;
	else
		l->head = i + 1;
	l->tail = i + 1;
}

bool links_have(const struct links *l, uint32_t i)
{
	return l->prev[i] || l->head == i + 1;
}

void links_remove(struct links *l, uint32_t i)
{
	if (!links_have(l, i))
		return;
	if (l->prev[i])
		l->next[l->prev[i] - 1] = l->next[i];
	else
		l->head = l->next[i];
	if (l->next[i])
		l->prev[l->next[i] - 1] = l->prev[i];
	else
		l->tail = l->prev[i];
	l->next[i] = l->prev[i] = 0;
}

uint32_t links_first(const struct links *l)
{
	return l->head - 1; /* 0 - 1 is UNITS_NONE */
}

uint32_t links_after(const struct links *l, uint32_t i)
{
	return l->next[i] - 1;
}

/* ---- slots ----------------------------------------------------------------------- */

static bool bit_get(const uint64_t *map, uint32_t i)
{
	return map[i / 64] >> (i % 64) & 1;
}

static void bit_set(uint64_t *map, uint32_t i, bool on)
{
	if (on)
		map[i / 64] |= 1ull << (i % 64);
	else
		map[i / 64] &= ~(1ull << (i % 64));
}

/* First index >= i whose bit is `on`, below n; UNITS_NONE: none */
static uint32_t bit_next(const uint64_t *map, uint32_t n, uint32_t i, bool on)
{
	while (i < n) {
		uint64_t word = (on ? map[i / 64] : ~map[i / 64]) >> (i % 64);
		if (word) {
			i += (uint32_t)__builtin_ctzll(word);
			return i < n ? i : UNITS_NONE;
		}
		i = (i / 64 + 1) * 64;
	}
	return UNITS_NONE;
}
void store_unit_index(struct units *u, uint32_t i, bool on)
{
	const struct unit *unit = &u->units[i];
	if (on) {
		u->unit_hash[i] =
			fold_hash(store_key(unit->manager, unit->node, unit->id));
		index_add(&u->by_unit, u->unit_hash[i], i);
	} else {
		index_remove(&u->by_unit, u->unit_hash[i], i);
	}
}

static uint64_t step_key(uint32_t unit, uint32_t step)
{
	return store_mix(store_mix(0x51ull, unit), step);
}

static uint64_t path_key(const char *path)
{
	return mix_text(0x70617468ull, path);
}

void store_step_index(struct units *u, uint32_t i, bool on)
{
	const struct step *s = &u->steps[i];
	struct step_place *p = &u->places[i];
	void (*change)(struct index *, uint32_t, uint32_t) =
		on ? index_add : index_remove;
	if (on) {
		p->hash = fold_hash(step_key(p->unit - 1, s->step));
		p->paths = store_paths(s);
		p->part = s->state == UNIT_PART;
		for (uint32_t c = 0; c < p->paths; c++)
			p->path_hash[c] = fold_hash(path_key(s->cgroups[c].path));
	}
	change(&u->by_step, p->hash, i);
	/* a part's group is not looked for: it counts nothing of its own */
	for (uint32_t c = 0; c < p->paths && !p->part; c++)
		change(&u->by_path, p->path_hash[c], i);
}

void store_tombstone_index(struct units *u, uint32_t i, bool on)
{
	uint64_t key = u->tombstones[i].key;
	if (!key)
		return;
	if (on)
		index_add(&u->by_tombstone, fold_hash(key), i);
	else
		index_remove(&u->by_tombstone, fold_hash(key), i);
}

struct tombstone *store_tombstone_find(const struct units *u, uint64_t key)
{
	uint32_t cursor = UNITS_NONE, i;
	while ((i = index_find(&u->by_tombstone, key, &cursor)) != UNITS_NONE) {
		if (u->tombstones[i].key == key)
			return &u->tombstones[i];
	}
	return NULL;
}

void store_unit_take(struct units *u, uint32_t i)
{
	bit_set(u->units_taken, i, true);
	u->units_count++;
	u->discovered += !!(u->units[i].marks & UNIT_DISCOVERED);
	u->unread += !!(u->units[i].marks & UNIT_UNREAD);
	u->generation++;
	u->unit_serials[i] = ++u->next_serial;
	u->first_step[i] = 0;
	store_unit_index(u, i, true);
}

void store_unit_drop(struct units *u, uint32_t i)
{
	store_unit_index(u, i, false);
	links_remove(&u->units_ended, i);
	bit_set(u->units_taken, i, false);
	u->unit_serials[i] = 0;
	u->units_count--;
	u->discovered -= !!(u->units[i].marks & UNIT_DISCOVERED);
	u->unread -= u->unread && (u->units[i].marks & UNIT_UNREAD);
	u->generation++;
}

/* Puts the step first in its unit's list. */
void store_step_take(struct units *u, uint32_t i, uint32_t unit)
{
	uint32_t next = u->first_step[unit];
	bit_set(u->steps_taken, i, true);
	u->steps_count++;
	u->generation++;
	u->step_serials[i] = ++u->next_serial;
	u->places[i] = (struct step_place){.unit = unit + 1, .next = next};
	if (next)
		u->places[next - 1].prev = i + 1;
	u->first_step[unit] = i + 1;
	store_step_index(u, i, true);
}

void store_step_drop(struct units *u, uint32_t i)
{
	const struct step_place *p = &u->places[i];
	store_step_index(u, i, false);
	links_remove(&u->steps_ended, i);
	if (p->next)
		u->places[p->next - 1].prev = p->prev;
	if (p->prev)
		u->places[p->prev - 1].next = p->next;
	else
		u->first_step[p->unit - 1] = p->next;
	bit_set(u->steps_taken, i, false);
	u->step_serials[i] = 0;
	u->steps_count--;
	u->generation++;
}

/* ---- look-ups -------------------------------------------------------------------- */

static bool unit_is(const struct unit *unit, uint32_t manager, const char *node,
		    const char *id)
{
	return unit->manager == manager && strcmp(unit->id, id) == 0 &&
	       strcmp(unit->node, node) == 0;
}

uint32_t units_find(const struct units *u, uint32_t manager, const char *node,
		    const char *id, uint32_t restarts)
{
	uint64_t key = store_key(manager, node, id);
	uint32_t cursor = UNITS_NONE, i;
	while ((i = index_find(&u->by_unit, key, &cursor)) != UNITS_NONE) {
		if (unit_is(&u->units[i], manager, node, id) &&
		    u->units[i].restarts == restarts)
			return i;
	}
	return UNITS_NONE;
}

uint32_t units_find_newest(const struct units *u, uint32_t manager, const char *node,
			   const char *id)
{
	uint64_t key = store_key(manager, node, id);
	uint32_t cursor = UNITS_NONE, i, best = UNITS_NONE;
	while ((i = index_find(&u->by_unit, key, &cursor)) != UNITS_NONE) {
		if (unit_is(&u->units[i], manager, node, id) &&
		    (best == UNITS_NONE ||
		     u->units[i].restarts > u->units[best].restarts))
			best = i;
	}
	return best;
}

uint32_t steps_find(const struct units *u, uint32_t unit, uint32_t step)
{
	uint64_t key = step_key(unit, step);
	uint32_t cursor = UNITS_NONE, i;
	while ((i = index_find(&u->by_step, key, &cursor)) != UNITS_NONE) {
		if (steps_unit(u, i) == unit && u->steps[i].step == step)
			return i;
	}
	return UNITS_NONE;
}

uint32_t steps_find_path(const struct units *u, const char *path)
{
	return steps_find_path_by(u, path, UINT64_MAX);
}

uint32_t steps_next_path(const struct units *u, const char *path, uint32_t *cursor)
{
	uint64_t key = path_key(path);
	uint32_t i;

	while ((i = index_find(&u->by_path, key, cursor)) != UNITS_NONE) {
		for (uint32_t c = 0; c < u->places[i].paths; c++) {
			if (strcmp(u->steps[i].cgroups[c].path, path) == 0)
				return i;
		}
	}
	return UNITS_NONE;
}

/* A requeued job's step has the same path as in the earlier run. */
static bool is_later_run(const struct step *s, const struct step *other)
{
	bool runs = s->state == UNIT_RUNNING;

	if (runs != (other->state == UNIT_RUNNING))
		return runs;
	return s->started_boottime_ns > other->started_boottime_ns;
}

uint32_t steps_find_path_by(const struct units *u, const char *path, uint64_t by_ns)
{
	uint32_t cursor = UNITS_NONE, i, best = UNITS_NONE;

	while ((i = steps_next_path(u, path, &cursor)) != UNITS_NONE) {
		const struct step *s = &u->steps[i];
		if (s->started_boottime_ns <= by_ns &&
		    (best == UNITS_NONE || is_later_run(s, &u->steps[best])))
			best = i;
	}
	return best;
}

uint32_t index_unit_free(const struct units *u)
{
	return bit_next(u->units_taken, u->capacity, 0, false);
}
uint32_t index_step_free(const struct units *u)
{
	return bit_next(u->steps_taken, u->steps_capacity, 0, false);
}
uint32_t units_next(const struct units *u, uint32_t i)
{
	return bit_next(u->units_taken, u->capacity, i, true);
}
uint32_t steps_next(const struct units *u, uint32_t i)
{
	return bit_next(u->steps_taken, u->steps_capacity, i, true);
}
struct unit *units_get(struct units *u, uint32_t i)
{
	if (i >= u->capacity || !bit_get(u->units_taken, i))
		return NULL;
	store_mend_unit(u, i);
	return &u->units[i];
}
const struct step_name *steps_name(const struct units *u, uint32_t i)
{
	return &u->step_names[i];
}

struct step *steps_get(struct units *u, uint32_t i)
{
	if (i >= u->steps_capacity || !bit_get(u->steps_taken, i))
		return NULL;
	store_mend_step(u, i);
	return &u->steps[i];
}
uint32_t units_first_step(const struct units *u, uint32_t i)
{
	return u->first_step[i] - 1; /* 0 - 1 is UNITS_NONE */
}
uint32_t steps_after(const struct units *u, uint32_t step)
{
	return u->places[step].next - 1;
}
uint32_t steps_unit(const struct units *u, uint32_t step)
{
	return u->places[step].unit - 1;
}
uint32_t units_capacity(const struct units *u)
{
	return u->capacity;
}
uint32_t steps_capacity(const struct units *u)
{
	return u->steps_capacity;
}
uint32_t units_used(const struct units *u)
{
	return u->units_count;
}
uint32_t steps_used(const struct units *u)
{
	return u->steps_count;
}
uint64_t units_generation(const struct units *u)
{
	return u->generation;
}
uint64_t unit_serial(const struct units *u, uint32_t i)
{
	return u->unit_serials[i];
}
uint64_t step_serial(const struct units *u, uint32_t i)
{
	return u->step_serials[i];
}
/* ---- init and rebuild ------------------------------------------------------------ */

static void index_free(struct index *x)
{
	free(x->slots);
	*x = (struct index){0};
}

static void links_free(struct links *l)
{
	free(l->next);
	free(l->prev);
	*l = (struct links){0};
}
void index_done(struct units *u)
{
	free(u->units_taken);
	free(u->steps_taken);
	free(u->unit_serials);
	free(u->step_serials);
	free(u->steps_told);
	free(u->first_step);
	free(u->unit_hash);
	free(u->places);
	u->units_taken = u->steps_taken = u->unit_serials = u->step_serials = NULL;
	u->steps_told = NULL;
	u->first_step = u->unit_hash = NULL;
	u->places = NULL;
	u->units_count = u->steps_count = u->discovered = u->unread = 0;
	links_free(&u->units_ended);
	links_free(&u->steps_ended);
	index_free(&u->by_unit);
	index_free(&u->by_step);
	index_free(&u->by_path);
	index_free(&u->by_tombstone);
}
int index_init(struct units *u, struct err *err)
{
	size_t n = u->capacity, m = u->steps_capacity;
	u->units_taken = calloc(n / 64 + 1, sizeof(uint64_t));
	u->steps_taken = calloc(m / 64 + 1, sizeof(uint64_t));
	u->unit_serials = calloc(n, sizeof(uint64_t));
	u->step_serials = calloc(m, sizeof(uint64_t));
	u->steps_told = calloc(m, sizeof(uint64_t));
	u->first_step = calloc(n, sizeof(uint32_t));
	u->unit_hash = calloc(n, sizeof(uint32_t));
	u->places = calloc(m, sizeof(*u->places));
	u->units_ended.next = calloc(n, sizeof(uint32_t));
	u->units_ended.prev = calloc(n, sizeof(uint32_t));
	u->steps_ended.next = calloc(m, sizeof(uint32_t));
	u->steps_ended.prev = calloc(m, sizeof(uint32_t));
	if (!u->units_taken || !u->steps_taken || !u->unit_serials ||
	    !u->step_serials || !u->steps_told || !u->first_step || !u->unit_hash ||
	    !u->places || !u->units_ended.next || !u->units_ended.prev ||
	    !u->steps_ended.next || !u->steps_ended.prev)
		return err_set(err, -ENOMEM, "unit table: out of memory");
	return 0;
}
struct ended {
	uint64_t when;
	uint32_t i;
};

static int by_when(const void *a, const void *b)
{
	const struct ended *x = a, *y = b;
	return x->when < y->when ? -1 : x->when > y->when;
}

static void link_sorted(struct links *l, struct ended *list, size_t n)
{
	qsort(list, n, sizeof(*list), by_when);
	for (size_t i = 0; i < n; i++)
		links_append(l, list[i].i);
}

/* The steps of unit i in the order of the file's links. */
static bool take_steps(struct units *u, uint32_t i, uint32_t in_use, uint32_t *in_lists)
{
	uint32_t *end = &u->first_step[i], prev = 0;

	for (uint32_t s = u->units[i].first_step, next; s != UNITS_NONE; s = next) {
		if (s >= u->steps_backed || u->steps[s].state == UNIT_FREE ||
		    u->steps[s].unit != i || ++*in_lists > in_use)
			return false;
		next = u->steps[s].next;
		bit_set(u->steps_taken, s, true);
		u->steps_count++;
		u->step_serials[s] = ++u->next_serial;
		u->places[s] = (struct step_place){.unit = i + 1, .prev = prev};
		*end = prev = s + 1;
		end = &u->places[s].next;
		store_step_index(u, s, true);
	}
	return true;
}

/* Checks that every slot in use is sound and every step is in its own unit's list
 * exactly once; if not, the file is damaged (-EBADMSG) and not used. */
int index_rebuild(struct units *u, struct err *err)
{
	size_t most = u->units_backed + u->steps_backed + 1u, n = 0;
	auto_free struct ended *list = calloc(most, sizeof(*list));
	if (!list)
		return err_set(err, -ENOMEM, "unit table: out of memory");

	uint32_t in_use = 0, in_lists = 0;
	for (uint32_t i = 0; i < u->steps_backed; i++) {
		if (u->steps[i].state == UNIT_FREE)
			continue;
		if (!step_is_sound(u, &u->steps[i]))
			return err_set(err, -EBADMSG, "unit table: damaged step %u", i);
		in_use++;
	}
	for (uint32_t i = 0; i < u->units_backed; i++) {
		struct unit *unit = &u->units[i];
		if (unit->state == UNIT_FREE)
			continue;
		if (!unit_is_sound(u, unit))
			return err_set(err, -EBADMSG, "unit table: damaged unit %u", i);
		store_unit_take(u, i);
		if (unit->state == UNIT_ENDED)
			list[n++] = (struct ended){unit->left_boottime_ns, i};
		if (!take_steps(u, i, in_use, &in_lists))
			return err_set(err, -EBADMSG,
				       "unit table: damaged list of unit %u", i);
	}
	if (in_lists != in_use)
		return err_set(err, -EBADMSG, "unit table: steps without a unit");
	link_sorted(&u->units_ended, list, n);
	n = 0;
	for (uint32_t s = steps_next(u, 0); s != UNITS_NONE; s = steps_next(u, s + 1)) {
		if (u->steps[s].state == UNIT_ENDED)
			list[n++] = (struct ended){u->steps[s].left_boottime_ns, s};
	}
	link_sorted(&u->steps_ended, list, n);
	for (uint32_t i = 0; i < STORE_TOMBSTONES; i++)
		store_tombstone_index(u, i, true);
	return 0;
}
