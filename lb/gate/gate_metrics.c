/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The gate's metrics (doc/metrics.md). */
#include "lb/gate/gate_impl.h"
#include "lb/gate/ownership_impl.h"

static void put_cache(struct prom *out, const char *cache, uint64_t hits,
		      uint64_t misses, struct lru *l)
{
	static const struct prom_family looks = {
		"ceems_lb_cache_lookups_total", PROM_COUNTER,
		"Look-ups in the load balancer's caches, by cache and result"};
	static const struct prom_family entries = {
		"ceems_lb_cache_entries", PROM_GAUGE,
		"Entries of the load balancer's caches, by cache"};
	static const struct prom_family evicted = {
		"ceems_lb_cache_evicted_total", PROM_COUNTER,
		"Entries that were evicted before they expired"};
	const struct prom_label hit[] = {{"cache", cache}, {"result", "hit"}};
	const struct prom_label miss[] = {{"cache", cache}, {"result", "miss"}};
	struct lru_state s = lru_state(l);

	prom_family(out, &looks);
	prom_put_u64(out, hit, 2, hits);
	prom_put_u64(out, miss, 2, misses);
	prom_family(out, &entries);
	prom_put_u64(out, hit, 1, s.entries);
	prom_family(out, &evicted);
	prom_put_u64(out, hit, 1, s.evicted);
}

static void put_gate_metric(struct prom *out, const struct prom_family *f, uint64_t v)
{
	prom_family(out, f);
	prom_put_u64(out, NULL, 0, v);
}

void ownership_metrics(struct ownership_cache *o, struct prom *out)
{
	static const struct prom_family questions = {
		"ceems_lb_ownership_questions_total", PROM_COUNTER,
		"Questions to the aggregator about the owners of units"};
	static const struct prom_family failed = {
		"ceems_lb_ownership_failures_total", PROM_COUNTER,
		"Failed questions to the aggregator about the owners of units"};
	static const struct prom_family joined = {
		"ceems_lb_ownership_joined_total", PROM_COUNTER,
		"Requests that waited for another request's question"};
	static const struct prom_family units = {
		"ceems_lb_ownership_units_total", PROM_COUNTER,
		"Units in questions to the aggregator"};
	static const struct prom_family ahead = {
		"ceems_lb_ownership_ahead_total", PROM_COUNTER,
		"Refreshes of cached owners in use, before they expired"};
	static const struct prom_family seconds = {
		"ceems_lb_ownership_seconds_total", PROM_COUNTER,
		"Time spent on questions to the aggregator"};

	put_gate_metric(out, &questions, atomic_load(&o->questions));
	put_gate_metric(out, &failed, atomic_load(&o->failed));
	put_gate_metric(out, &joined, atomic_load(&o->joined));
	put_gate_metric(out, &units, atomic_load(&o->units_asked));
	put_gate_metric(out, &ahead, atomic_load(&o->ahead));
	prom_family(out, &seconds);
	prom_put_scaled(out, NULL, 0, atomic_load(&o->ask_ns), 9);
	put_cache(out, "ownership", atomic_load(&o->hits), atomic_load(&o->misses),
		  o->units);
}

void gate_metrics(struct gate *g, struct prom *out)
{
	static const struct prom_family verdicts = {
		"ceems_lb_decisions_total", PROM_COUNTER,
		"Decisions about requests, by protocol, verdict and reason"};
	static const struct prom_family waited = {
		"ceems_lb_decisions_waited_total", PROM_COUNTER,
		"Times that a request waited for proof of identity or of ownership"};
	static const char *const protocols[SITE_PROTOCOLS] = {"prometheus",
							      "pyroscope"};

	prom_family(out, &verdicts);
	for (unsigned p = 0; p < SITE_PROTOCOLS; p++)
		for (unsigned i = 0; i < REASONS; i++) {
			uint64_t n = atomic_load(&g->verdicts[p][i]);
			const struct prom_label labels[] = {
				{"protocol", protocols[p]},
				{"verdict", i <= REASON_OPEN ? "allowed" : "refused"},
				{"reason", gate_reason_name((enum gate_reason)i)}};

			if (n || i == REASON_OWN || i == REASON_FOREIGN)
				prom_put_u64(out, labels, 3, n);
		}
	put_gate_metric(out, &waited, atomic_load(&g->waited));
	put_cache(out, "decision", atomic_load(&g->decision_hits),
		  atomic_load(&g->decision_misses), g->decisions);
	put_cache(out, "token", atomic_load(&g->token_hits),
		  atomic_load(&g->token_misses), g->tokens);
	ownership_metrics(g->ownership, out);
}
