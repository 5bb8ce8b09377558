/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Health of the ring and of the unit table, so that losses are visible. */
#include <errno.h>
#include <stdlib.h>

#include "daemon/collector.h"
#include "daemon/ingest.h"
#include "daemon/report_stats.h"
#include "daemon/units.h"

static int ring_open(const struct env *env, void **ret_state, struct err *err)
{
	if (!env->ingest || !env->units)
		return err_set(err, -ENODEV, "no ring");
	/* It has no state of its own; the collector interface passes a mutable
	 * pointer */
	const struct env **state = malloc(sizeof(*state));
	if (!state)
		return err_set(err, -ENOMEM, "out of memory");
	*state = env;
	*ret_state = state;
	return 0;
}

struct ring_sink {
	struct prom *out;
	struct prom_label hostname;
};

static void put_ring_value(const struct ring_sink *to, const struct prom_family *family,
			   uint64_t v)
{
	prom_family(to->out, family);
	prom_put_u64(to->out, &to->hostname, 1, v);
}

static void put_ring(const struct ingest *in, const struct ring_sink *out)
{
	static const struct prom_family records = {
		"ceems_ring_records_total", PROM_COUNTER,
		"Records taken out of the ring since this ceemsd started"};
	static const struct prom_family bad = {
		"ceems_ring_bad_records_total", PROM_COUNTER,
		"Records that could not be decoded since this ceemsd started"};
	static const struct prom_family dropped = {
		"ceems_ring_dropped_total", PROM_COUNTER,
		"Records that found the ring full, since the ring was made"};
	static const struct prom_family torn = {"ceems_ring_torn_total", PROM_COUNTER,
						"Records lost with the process that "
						"wrote them, since the ring was made"};
	static const struct prom_family pending = {
		"ceems_ring_pending", PROM_GAUGE,
		"Records in the ring that have not been taken yet"};
	static const struct prom_family slots = {"ceems_ring_slots", PROM_GAUGE,
						 "Records that the ring can hold"};
	const struct ring_header *h = in->ring->header;
	uint64_t tail = __atomic_load_n(&h->tail, __ATOMIC_ACQUIRE);
	uint64_t head = __atomic_load_n(&h->head, __ATOMIC_ACQUIRE);

	put_ring_value(out, &records, in->records);
	put_ring_value(out, &bad, in->bad);
	put_ring_value(out, &dropped, __atomic_load_n(&h->dropped, __ATOMIC_RELAXED));
	put_ring_value(out, &torn, __atomic_load_n(&h->torn, __ATOMIC_RELAXED));
	put_ring_value(out, &pending, head > tail ? head - tail : 0);
	put_ring_value(out, &slots, in->ring->count);
}

static void put_unit_table(const struct units *u, const struct ring_sink *out)
{
	static const struct prom_family units = {
		"ceems_units_table_used", PROM_GAUGE,
		"Units in the unit table, running or ended not long ago"};
	static const struct prom_family units_max = {"ceems_units_table_capacity",
						     PROM_GAUGE,
						     "Units that the table can hold"};
	static const struct prom_family steps = {"ceems_steps_table_used", PROM_GAUGE,
						 "Steps in the unit table"};
	static const struct prom_family steps_max = {"ceems_steps_table_capacity",
						     PROM_GAUGE,
						     "Steps that the table can hold"};
	static const struct prom_family refused = {
		"ceems_units_refused_records_total", PROM_COUNTER,
		"Records that found the unit table full of running units; their "
		"counters are in the node's"};
	static const struct prom_family late = {"ceems_units_late_stops_total",
						PROM_COUNTER,
						"Stop records whose start was not seen "
						"or whose step had left the table"};
	uint64_t sum_refused = 0, sum_late = 0;

	for (uint32_t m = MANAGER_SLURM; m <= MANAGER_K8S; m++) {
		const struct node_totals *n = units_node_counts(u, m);
		sum_refused += n->refused;
		sum_late += n->stops_late;
	}
	put_ring_value(out, &units, units_used(u));
	put_ring_value(out, &units_max, units_capacity(u));
	put_ring_value(out, &steps, steps_used(u));
	put_ring_value(out, &steps_max, steps_capacity(u));
	put_ring_value(out, &refused, sum_refused);
	put_ring_value(out, &late, sum_late);
}

static void put_kind(const struct ring_sink *to, const struct prom_family *family,
		     const char *kind, uint64_t v)
{
	const struct prom_label labels[] = {to->hostname, {"kind", kind}};

	prom_family(to->out, family);
	prom_put_u64(to->out, labels, 2, v);
}

static void put_reports(const struct report_stats *s, const struct ring_sink *out)
{
	static const struct prom_family written = {
		"ceems_reports_written_total", PROM_COUNTER,
		"Reports for the aggregator that were written into the spool since "
		"this ceemsd started"};
	static const struct prom_family failures = {
		"ceems_reports_failures_total", PROM_COUNTER,
		"Times that the spool could not be written since this ceemsd started"};
	static const struct prom_family untold = {
		"ceems_reports_untold_units_total", PROM_COUNTER,
		"Units that left the unit table before their final report was in the "
		"spool, since this ceemsd started"};
	static const struct prom_family lost = {
		"ceems_reports_lost_total", PROM_COUNTER,
		"Reports that the spool had to give up or refuse, since it was made"};
	static const struct prom_family bytes = {
		"ceems_reports_spool_bytes", PROM_GAUGE, "Bytes of the spool's files"};
	static const struct prom_family age = {
		"ceems_reports_oldest_unsent_age_seconds", PROM_GAUGE,
		"How long the oldest report in the spool has been waiting to be sent; "
		"0: all are sent"};
	static const char *const kinds[] = {"start", "interval", "final"};

	for (size_t i = 0; i < 3; i++)
		put_kind(out, &written, kinds[i], s->written[i]);
	put_ring_value(out, &failures, s->failures);
	put_ring_value(out, &untold, s->untold);
	if (!s->has_spool)
		return;
	put_kind(out, &lost, "interval", s->lost[0]);
	put_kind(out, &lost, "final", s->lost[1]);
	put_ring_value(out, &bytes, s->spool_bytes);
	prom_family(out->out, &age);
	prom_put_scaled(out->out, &out->hostname, 1, s->oldest_age_ns, 9);
}

static int ring_collect(void *state, struct prom *out, struct err *err)
{
	const struct env *env = *(const struct env **)state;
	struct ring_sink to = {out, {"hostname", env->hostname}};
	put_ring(env->ingest, &to);
	put_unit_table(env->units, &to);
	if (env->reports)
		put_reports(env->reports, &to);
	if (prom_error(out))
		return err_set(err, prom_error(out), "no room for samples");
	return 0;
}

const struct collector collector_ring = {
	.name = "ring",
	.open = ring_open,
	.collect = ring_collect,
	.close = free,
};
