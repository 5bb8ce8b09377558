/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/rdma/rdma_counts.h"

#include <stdlib.h>
#include <string.h>

void rdma_counts_done(struct rdma_counts *c)
{
	free(c->counts);
	*c = (struct rdma_counts){0};
}

static struct rdma_count *find_count(struct rdma_counts *c,
				     const struct rdma_counter *counter,
				     const char *device)
{
	for (size_t i = 0; i < c->count; i++) {
		struct rdma_count *k = &c->counts[i];
		if (k->id == counter->id && k->pid == counter->pid &&
		    k->port == counter->port && strcmp(k->device, device) == 0)
			return k;
	}
	return NULL;
}

static struct rdma_count *
add_count(struct rdma_counts *c, const struct rdma_counter *counter, const char *device)
{
	if (c->count == c->room) {
		size_t room = c->room ? 2 * c->room : 16;
		struct rdma_count *k =
			c->count < RDMA_COUNTS_MAX
				? reallocarray(c->counts, room, sizeof(*k))
				: NULL;
		if (!k) {
			c->left_out++;
			return NULL;
		}
		c->counts = k;
		c->room = room;
	}
	struct rdma_count *k = &c->counts[c->count++];
	*k = (struct rdma_count){
		.port = counter->port, .id = counter->id, .pid = counter->pid};
	memcpy(k->device, device, sizeof(k->device));
	memcpy(k->path, counter->path, sizeof(k->path));
	return k;
}

static void add_values(struct rdma_count *k, const struct rdma_counter *counter,
		       bool goes_on)
{
	for (uint32_t i = 0; i < RDMA_COUNTERS; i++) {
		uint64_t now = counter->values[i];
		if (!(counter->has & 1u << i))
			continue;
		k->total[i] += goes_on && now >= k->last[i] ? now - k->last[i] : now;
		k->last[i] = now;
	}
	k->has |= counter->has;
}

/* Whether the sample has all counters of the device */
static bool is_told(const struct rdma_sample *s, const char *device)
{
	for (size_t i = 0; i < s->device_count; i++) {
		if (strcmp(s->devices[i].name, device) == 0)
			return s->devices[i].known & 1u << RDMA_COUNTER;
	}
	return false;
}

void rdma_counts_update(struct rdma_counts *c, const struct rdma_sample *s)
{
	for (size_t i = 0; i < c->count; i++)
		c->counts[i].missed = is_told(s, c->counts[i].device);
	for (size_t n = 0; n < s->counter_count; n++) {
		const struct rdma_counter *counter = &s->counters[n];
		const char *device = s->devices[counter->device].name;
		struct rdma_count *k = find_count(c, counter, device);
		/* not in the sample before: another one by the same number */
		bool goes_on = k && k->live;
		if (!k)
			k = add_count(c, counter, device);
		if (!k)
			continue;
		add_values(k, counter, goes_on);
		k->live = true;
		k->missed = false;
		k->seen_ns = s->ended_ns;
	}
	for (size_t i = 0; i < c->count; i++)
		c->counts[i].live = c->counts[i].live && !c->counts[i].missed;
}

/* False: it is to be forgotten. */
static bool settle_unit(struct rdma_count *k, const struct units *units)
{
	if (k->serial)
		return unit_serial(units, k->unit) == k->serial;
	uint32_t step =
		*k->path ? steps_find_path_by(units, k->path, k->seen_ns) : UNITS_NONE;
	if (step == UNITS_NONE)
		return k->live;
	k->unit = steps_unit(units, step);
	k->serial = unit_serial(units, k->unit);
	return true;
}

static int compare_places(const struct rdma_count *x, const struct rdma_count *y)
{
	if (!x->serial != !y->serial)
		return !x->serial - !y->serial;
	if (x->unit != y->unit)
		return x->unit < y->unit ? -1 : 1;
	int names = strcmp(x->device, y->device);
	if (names)
		return names;
	return x->port < y->port ? -1 : x->port > y->port;
}

static int compare_counts(const void *a, const void *b)
{
	const struct rdma_count *x = a, *y = b;
	int places = compare_places(x, y);

	return places ? places : y->live - x->live;
}

bool rdma_count_same(const struct rdma_count *a, const struct rdma_count *b)
{
	return compare_places(a, b) == 0;
}

void rdma_count_add(struct rdma_count *to, const struct rdma_count *k)
{
	for (uint32_t i = 0; i < RDMA_COUNTERS; i++)
		to->total[i] += k->total[i];
	to->has |= k->has;
}

void rdma_counts_settle(struct rdma_counts *c, const struct units *units)
{
	size_t n = 0;

	for (size_t i = 0; i < c->count; i++) {
		if (settle_unit(&c->counts[i], units))
			c->counts[n++] = c->counts[i];
	}
	if (n)
		qsort(c->counts, n, sizeof(*c->counts), compare_counts);
	c->count = 0;
	for (size_t i = 0; i < n; i++) {
		struct rdma_count *to =
			c->count ? &c->counts[c->count - 1] : &c->counts[0];
		const struct rdma_count *k = &c->counts[i];
		if (c->count && !to->live && rdma_count_same(to, k)) {
			rdma_count_add(to, k);
			to->pid = 0; /* of several: nothing goes on with it */
		} else {
			c->counts[c->count++] = *k;
		}
	}
}
