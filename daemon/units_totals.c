/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Counters of steps, units and the node: merging readings and forming sums. */
#include "daemon/units_totals.h"

#include "daemon/units_store.h"

static uint64_t max_u64(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* v1 splits exact usage by a ratio that changes, so the maxima of user and system could
 * add up to more than was used. As in the kernel's cputime_adjust() the sum stays
 * exact, and the excess is taken from the other part. */
static void merge_cpu(struct unit_totals *t, uint64_t user_ns, uint64_t system_ns)
{
	uint64_t used = user_ns + system_ns;
	if (used <= t->cpu_user_ns + t->cpu_system_ns)
		return;
	uint64_t system = max_u64(system_ns, t->cpu_system_ns);
	uint64_t user = used - system;
	if (user < t->cpu_user_ns || system > used) {
		user = t->cpu_user_ns;
		system = used - user;
	}
	t->cpu_user_ns = user;
	t->cpu_system_ns = system;
}

void totals_merge(struct unit_totals *t, const struct unit_totals *r)
{
	merge_cpu(t, r->cpu_user_ns, r->cpu_system_ns);
	t->throttled_periods = max_u64(t->throttled_periods, r->throttled_periods);
	t->throttled_ns = max_u64(t->throttled_ns, r->throttled_ns);
	t->memory_fail_count = max_u64(t->memory_fail_count, r->memory_fail_count);
	t->oom_kills = max_u64(t->oom_kills, r->oom_kills);
	t->io_read_bytes = max_u64(t->io_read_bytes, r->io_read_bytes);
	t->io_write_bytes = max_u64(t->io_write_bytes, r->io_write_bytes);
	t->memory_peak_bytes = max_u64(t->memory_peak_bytes, r->memory_peak_bytes);
}

void totals_add(struct unit_totals *t, const struct unit_totals *r)
{
	t->cpu_user_ns += r->cpu_user_ns;
	t->cpu_system_ns += r->cpu_system_ns;
	t->throttled_periods += r->throttled_periods;
	t->throttled_ns += r->throttled_ns;
	t->memory_fail_count += r->memory_fail_count;
	t->oom_kills += r->oom_kills;
	t->io_read_bytes += r->io_read_bytes;
	t->io_write_bytes += r->io_write_bytes;
	t->memory_peak_bytes = max_u64(t->memory_peak_bytes, r->memory_peak_bytes);
}

/* t += after - before; after is before merged with something */
void totals_add_growth(struct unit_totals *t, const struct unit_totals *before,
		       const struct unit_totals *after)
{
	struct unit_totals d = {
		after->cpu_user_ns - before->cpu_user_ns,
		after->cpu_system_ns - before->cpu_system_ns,
		after->throttled_periods - before->throttled_periods,
		after->throttled_ns - before->throttled_ns,
		after->memory_fail_count - before->memory_fail_count,
		after->oom_kills - before->oom_kills,
		after->io_read_bytes - before->io_read_bytes,
		after->io_write_bytes - before->io_write_bytes,
		after->memory_peak_bytes,
	};
	totals_add(t, &d);
}

struct unit_totals totals_of_record(const struct record_counters *c)
{
	struct unit_totals t = {0};
	if (c->source == COUNTERS_NONE)
		return t;
	t.cpu_user_ns = c->cpu_user_ns;
	t.cpu_system_ns = c->cpu_system_ns;
	t.oom_kills = c->oom_kills;
	if (c->has_memory)
		t.memory_peak_bytes = c->memory_peak_bytes;
	if (c->has_io) {
		t.io_read_bytes = c->io_read_bytes;
		t.io_write_bytes = c->io_write_bytes;
	}
	return t;
}

void unit_total(const struct units *u, uint32_t i, struct unit_totals *ret)
{
	struct unit_totals t = u->units[i].folded;
	for (uint32_t s = units_first_step(u, i); s != UNITS_NONE;
	     s = steps_after(u, s)) {
		if (!step_is_part(&u->steps[s]))
			totals_add(&t, &u->steps[s].totals);
	}
	*ret = t;
}

const struct node_totals *units_node_counts(const struct units *u, uint32_t manager)
{
	return store_node(u, manager);
}

void units_node_totals(const struct units *u, uint32_t manager, struct node_totals *ret)
{
	struct node_totals n = *units_node_counts(u, manager);
	for (uint32_t i = units_next(u, 0); i != UNITS_NONE; i = units_next(u, i + 1)) {
		struct unit_totals t;
		if (u->units[i].manager != manager)
			continue;
		unit_total(u, i, &t);
		totals_add(&n.units, &t);
	}
	*ret = n;
}
