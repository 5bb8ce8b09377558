/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/groups/unit_net.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/records/group_slots.h"

struct ended_net {
	uint64_t serial; /* unit_serial() that it belongs to */
	struct unit_net_total total;
};

struct unit_net {
	struct units *units;
	struct net_slots slots;
	struct ended_net *ended; /* by unit */
	uint32_t unit_count;
};

/* Of a slot, all kinds */
static size_t stripes_of_slot(const struct net_slots *n)
{
	return (size_t)NET_KINDS * n->stripes;
}

static size_t map_bytes(const struct net_slots *n)
{
	return ((size_t)n->slots + 1) * stripes_of_slot(n) * sizeof(*n->counts);
}

static bool is_power_of_two(uint32_t n, uint32_t max)
{
	return n && n <= max && !(n & (n - 1));
}

int net_slots_open(struct net_slots *n, const int fds[NET_FDS], uint32_t slots,
		   uint32_t stripes, struct err *err)
{
	*n = (struct net_slots){.slots = slots, .stripes = stripes};
	memcpy(n->fds, fds, sizeof(n->fds));
	if (!is_power_of_two(slots, GROUP_SLOTS_MAX) ||
	    !is_power_of_two(stripes, NET_STRIPES_MAX)) {
		net_slots_close(n);
		return err_set(err, -EPROTO, "%u slots, %u stripes", slots, stripes);
	}
	void *map = mmap(NULL, map_bytes(n), PROT_READ | PROT_WRITE, MAP_SHARED,
			 fds[NET_FD_COUNTS], 0);
	if (map != MAP_FAILED) {
		n->counts = map;
		return 0;
	}
	int rc = -errno;
	net_slots_close(n);
	return err_set(err, rc, "map the network's counts: %s", strerror(-rc));
}

void net_slots_close(struct net_slots *n)
{
	if (n->counts)
		munmap(n->counts, map_bytes(n));
	for (unsigned i = 0; n->slots && i < NET_FDS; i++) {
		if (n->fds[i] >= 0)
			close(n->fds[i]);
	}
	*n = (struct net_slots){0};
}

int unit_net_new(struct units *units, struct net_slots *slots, struct unit_net **ret,
		 struct err *err)
{
	struct unit_net *n = calloc(1, sizeof(*n));

	if (n) {
		n->unit_count = units_capacity(units);
		n->ended = calloc(n->unit_count, sizeof(*n->ended));
	}
	if (!n || !n->ended) {
		free(n);
		net_slots_close(slots);
		return err_set(err, -ENOMEM, "out of memory");
	}
	n->units = units;
	n->slots = *slots;
	*slots = (struct net_slots){0};
	*ret = n;
	return 0;
}

void unit_net_free(struct unit_net *n)
{
	if (!n)
		return;
	net_slots_close(&n->slots);
	free(n->ended);
	free(n);
}

static uint64_t load_count(const unsigned long long *count)
{
	return __atomic_load_n(count, __ATOMIC_RELAXED);
}

static void add_net_counts(struct net_counts *to, const struct net_counts *c)
{
	to->in_bytes += load_count(&c->in_bytes);
	to->in_packets += load_count(&c->in_packets);
	to->out_bytes += load_count(&c->out_bytes);
	to->out_packets += load_count(&c->out_packets);
	to->resent_bytes += load_count(&c->resent_bytes);
	to->resent_packets += load_count(&c->resent_packets);
}

static void add_stripes(const struct net_slots *s, uint32_t slot,
			struct unit_net_total *to)
{
	const struct net_counts *c = &s->counts[slot * stripes_of_slot(s)];

	for (size_t i = 0; i < stripes_of_slot(s); i++)
		add_net_counts(&to->kinds[i / s->stripes], &c[i]);
}

void unit_net_add_slot(const struct unit_net *n, uint32_t slot,
		       struct unit_net_total *to)
{
	if (slot < n->slots.slots)
		add_stripes(&n->slots, slot, to);
}

void unit_net_add_nobody(const struct unit_net *n, struct unit_net_total *to)
{
	add_stripes(&n->slots, n->slots.slots, to);
}

void unit_net_add_ended(const struct unit_net *n, uint32_t unit,
			struct unit_net_total *to)
{
	if (unit >= n->unit_count ||
	    n->ended[unit].serial != unit_serial(n->units, unit))
		return;
	for (unsigned i = 0; i < NET_KINDS; i++)
		add_net_counts(&to->kinds[i], &n->ended[unit].total.kinds[i]);
}

void unit_net_end_slot(struct unit_net *n, uint32_t slot, uint32_t unit)
{
	if (slot >= n->slots.slots)
		return;
	if (unit < n->unit_count) {
		struct ended_net *e = &n->ended[unit];
		if (e->serial != unit_serial(n->units, unit))
			*e = (struct ended_net){0};
		e->serial = unit_serial(n->units, unit);
		add_stripes(&n->slots, slot, &e->total);
	}
	memset(&n->slots.counts[slot * stripes_of_slot(&n->slots)], 0,
	       stripes_of_slot(&n->slots) * sizeof(*n->slots.counts));
}
