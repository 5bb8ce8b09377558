/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Metrics of the ingest (doc/metrics.md). */
#include "aggregator/ingest/ingest_metrics.h"

static const unsigned statuses[] = {200, 400, 401, 403, 413, 503};
static const char *const status_names[] = {"200", "400", "401", "403", "413", "503"};

void ingest_requests_count(struct ingest_requests *c, unsigned status)
{
	unsigned i = 0;

	while (i < 5 && statuses[i] != status)
		i++;
	atomic_fetch_add(&c->by_status[i], 1);
}

static void put_requests(struct ingest_requests *r, const struct ingest_gauges *g,
			 struct prom *out)
{
	static const struct prom_family requests = {
		"ceems_aggregator_ingest_requests_total", PROM_COUNTER,
		"Pushes of reports by the status of the answer"};
	static const struct prom_family refused = {
		"ceems_aggregator_ingest_refused_records_total", PROM_COUNTER,
		"Records that were refused: unreadable, too old, from the future"};
	static const struct prom_family waiting = {
		"ceems_aggregator_ingest_waiting_records_total", PROM_COUNTER,
		"Records that must be sent again later because this host's clock may "
		"be wrong"};
	static const struct prom_family moved = {
		"ceems_aggregator_ingest_moved_records_total", PROM_COUNTER,
		"Reports whose times were corrected because their node's clock was "
		"wrong"};
	static const struct prom_family flight = {
		"ceems_aggregator_ingest_requests_in_flight", PROM_GAUGE,
		"Pushes that are being read or wait to be written"};
	static const struct prom_family bytes = {"ceems_aggregator_ingest_body_bytes",
						 PROM_GAUGE,
						 "Bytes of their bodies, as received"};
	static const struct prom_family rows = {"ceems_aggregator_ingest_waiting_rows",
						PROM_GAUGE,
						"Rows that wait for the next commit"};
	static const struct prom_family known = {
		"ceems_aggregator_ingest_known_instances", PROM_GAUGE,
		"Instances of units that need no look-up in the database"};

	for (unsigned i = 0; i < 6; i++)
		prom_put_one(out, &requests, "code", status_names[i],
			     atomic_load(&r->by_status[i]));
	prom_put_one(out, &refused, NULL, NULL, atomic_load(&r->refused));
	prom_put_one(out, &waiting, NULL, NULL, atomic_load(&r->waiting));
	prom_put_one(out, &moved, NULL, NULL, atomic_load(&r->moved));
	prom_put_one(out, &flight, NULL, NULL, g->requests);
	prom_put_one(out, &bytes, NULL, NULL, g->bodies_bytes);
	prom_put_one(out, &rows, NULL, NULL, g->waiting_rows);
	prom_put_one(out, &known, NULL, NULL, g->known);
}

static void put_records(struct ingest_counters *c, struct prom *out)
{
	static const struct prom_family records = {
		"ceems_aggregator_ingest_records_total", PROM_COUNTER,
		"Rows committed, by kind; a repeated row counts again"};
	static const struct prom_family repeated = {
		"ceems_aggregator_ingest_repeated_total", PROM_COUNTER,
		"Committed intervals and job records that were already stored"};
	static const struct prom_family differ = {
		"ceems_aggregator_ingest_differing_total", PROM_COUNTER,
		"Repeated intervals with other numbers: the first one counts"};

	prom_put_one(out, &records, "kind", "start", atomic_load(&c->starts));
	prom_put_one(out, &records, "kind", "interval", atomic_load(&c->intervals));
	prom_put_one(out, &records, "kind", "final", atomic_load(&c->finals));
	prom_put_one(out, &records, "kind", "job", atomic_load(&c->jobs));
	prom_put_one(out, &repeated, "kind", "interval", atomic_load(&c->repeated));
	prom_put_one(out, &repeated, "kind", "job", atomic_load(&c->job_repeated));
	prom_put_one(out, &differ, NULL, NULL, atomic_load(&c->differ));
}

static void put_writer(struct ingest_counters *c, struct prom *out)
{
	static const struct prom_family groups = {
		"ceems_aggregator_ingest_commits_total", PROM_COUNTER,
		"Commits, by how intervals were written: copied, or staged because one "
		"was already stored"};
	static const struct prom_family pushes = {
		"ceems_aggregator_ingest_committed_pushes_total", PROM_COUNTER,
		"Pushes that were committed"};
	static const struct prom_family alone = {
		"ceems_aggregator_ingest_isolated_pushes_total", PROM_COUNTER,
		"Pushes written one by one because the database refused their group"};
	static const struct prom_family failed = {
		"ceems_aggregator_ingest_failed_pushes_total", PROM_COUNTER,
		"Pushes that were not written and will be sent again"};
	static const struct prom_family seconds = {
		"ceems_aggregator_ingest_write_seconds_total", PROM_COUNTER,
		"Time spent in commits"};
	uint64_t all = atomic_load(&c->groups), staged = atomic_load(&c->staged);

	prom_put_one(out, &groups, "way", "copied", all > staged ? all - staged : 0);
	prom_put_one(out, &groups, "way", "staged", staged);
	prom_put_one(out, &pushes, NULL, NULL, atomic_load(&c->pushes));
	prom_put_one(out, &alone, NULL, NULL, atomic_load(&c->alone));
	prom_put_one(out, &failed, NULL, NULL, atomic_load(&c->failed));
	prom_family(out, &seconds);
	prom_put_scaled(out, NULL, 0, atomic_load(&c->write_ns), 9);
}

void ingest_metrics_put(struct ingest_requests *r, struct ingest_counters *c,
			const struct ingest_gauges *g, struct prom *out)
{
	put_requests(r, g, out);
	put_records(c, out);
	put_writer(c, out);
}
