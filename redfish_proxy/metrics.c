/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The proxy's own metrics (doc/metrics.md). */
#include "redfish_proxy/metrics.h"

static void put_requests(struct metrics *m, struct prom *out)
{
	static const struct prom_family requests = {
		"ceems_redfish_proxy_requests_total", PROM_COUNTER,
		"Requests for BMCs by the class of the status that was answered"};
	static const struct prom_family decisions = {
		"ceems_redfish_proxy_decisions_total", PROM_COUNTER,
		"Requests for BMCs by what was decided about them"};
	static const struct prom_family limited = {
		"ceems_redfish_proxy_limited_total", PROM_COUNTER,
		"Requests that were refused because of a limit"};
	static const struct prom_family in_flight = {
		"ceems_redfish_proxy_requests_in_flight", PROM_GAUGE,
		"Requests for BMCs that are being answered"};
	static const char *const classes[] = {"gone", "1xx", "2xx",
					      "3xx",  "4xx", "5xx"};
	static const char *const limits[] = {"queue", "rate", "tables"};

	for (unsigned i = 0; i < 6; i++) {
		if (i != 1 && i != 3) /* statuses that we never send */
			prom_put_one(out, &requests, "code", classes[i],
				     atomic_load(&m->requests[i]));
	}
	for (unsigned i = 0; i < ACCESS_VERDICTS; i++)
		prom_put_one(out, &decisions, "decision",
			     access_reason((enum access_verdict)i),
			     atomic_load(&m->verdicts[i]));
	for (unsigned i = 0; i < 3; i++)
		prom_put_one(out, &limited, "limit", limits[i],
			     atomic_load(&m->limited[i]));
	prom_put_one(out, &in_flight, NULL, NULL, atomic_load(&m->in_flight));
}

static void put_cache(struct metrics *m, const struct metrics_gauges *g,
		      struct prom *out)
{
	static const struct prom_family asked = {
		"ceems_redfish_proxy_cache_lookups_total", PROM_COUNTER,
		"Requests by what the cache had: an answer, a request under way, "
		"nothing"};
	static const struct prom_family entries = {
		"ceems_redfish_proxy_cache_entries", PROM_GAUGE,
		"Answers in the cache and under way"};
	static const struct prom_family bytes = {"ceems_redfish_proxy_cache_bytes",
						 PROM_GAUGE, "Size of the cache"};

	prom_put_one(out, &asked, "result", "hit", atomic_load(&m->hits));
	prom_put_one(out, &asked, "result", "joined", atomic_load(&m->joined));
	prom_put_one(out, &asked, "result", "miss", atomic_load(&m->misses));
	prom_put_one(out, &entries, NULL, NULL, g->cache_entries);
	prom_put_one(out, &bytes, NULL, NULL, g->cache_bytes);
}

static void put_bmcs(struct metrics *m, const struct metrics_gauges *g,
		     struct prom *out)
{
	static const struct prom_family asked = {
		"ceems_redfish_proxy_bmc_requests_total", PROM_COUNTER,
		"Requests to BMCs by how they ended"};
	static const struct prom_family seconds = {
		"ceems_redfish_proxy_bmc_request_seconds_total", PROM_COUNTER,
		"Time that requests to BMCs took, logins included"};
	static const struct prom_family logins = {
		"ceems_redfish_proxy_bmc_logins_total", PROM_COUNTER,
		"Redfish sessions asked for"};
	static const struct prom_family refused = {
		"ceems_redfish_proxy_bmc_login_failures_total", PROM_COUNTER,
		"Requests that ended because a BMC refused the proxy's login"};
	static const struct prom_family known = {"ceems_redfish_proxy_bmcs", PROM_GAUGE,
						 "BMCs that are being used"};
	static const struct prom_family down = {
		"ceems_redfish_proxy_bmcs_down", PROM_GAUGE,
		"BMCs that are not asked for a while after a failure"};
	static const struct prom_family queued = {"ceems_redfish_proxy_queued_requests",
						  PROM_GAUGE,
						  "Requests waiting for a BMC's turn"};
	static const char *const results[] = {"ok", "unreachable", "login", "tls",
					      "bad_answer"};

	for (unsigned i = 0; i < RESULT_RESULTS; i++)
		prom_put_one(out, &asked, "result", results[i],
			     atomic_load(&m->bmc[i]));
	prom_family(out, &seconds);
	prom_put_scaled(out, NULL, 0, atomic_load(&m->bmc_ns), 9);
	prom_put_one(out, &logins, NULL, NULL, atomic_load(&m->logins));
	prom_put_one(out, &refused, NULL, NULL, atomic_load(&m->login_failures));
	prom_put_one(out, &known, NULL, NULL, g->targets);
	prom_put_one(out, &down, NULL, NULL, g->targets_down);
	prom_put_one(out, &queued, NULL, NULL, g->queued);
}

void metrics_put(struct metrics *m, const struct metrics_gauges *g, struct prom *out)
{
	static const struct prom_family build = {"ceems_redfish_proxy_build_info",
						 PROM_GAUGE,
						 "Version of the program; always 1"};
	static const struct prom_family reloads = {
		"ceems_redfish_proxy_reloads_total", PROM_COUNTER,
		"Times the configuration was read again, by how it went"};
	static const struct prom_family sandbox = {
		"ceems_redfish_proxy_sandbox_active", PROM_GAUGE,
		"1 where the kernel keeps the program to what it needs, by kind"};

	prom_put_one(out, &build, "version", CEEMS_VERSION, 1);
	prom_put_one(out, &sandbox, "kind", "landlock", m->files_fenced);
	prom_put_one(out, &sandbox, "kind", "seccomp", m->calls_filtered);
	prom_put_one(out, &reloads, "result", "ok", atomic_load(&m->reloads));
	prom_put_one(out, &reloads, "result", "failed",
		     atomic_load(&m->reload_failures));
	put_requests(m, out);
	put_cache(m, g, out);
	put_bmcs(m, g, out);
}
