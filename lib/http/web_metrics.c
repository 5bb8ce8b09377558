/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Refused clients, for /metrics of each program (doc/metrics.md). */
#include <errno.h>

#include "lib/http/web_impl.h"
#include "lib/prom.h"

static const struct prom_family connections_refused = {
	"ceems_web_connections_refused_total", PROM_COUNTER,
	"Connections refused because their client, or all clients together, had too "
	"many"};
static const struct prom_family connections_ended = {
	"ceems_web_connections_ended_total", PROM_COUNTER,
	"Connections closed to make room for another one"};
static const struct prom_family bodies_refused = {
	"ceems_web_bodies_refused_total", PROM_COUNTER,
	"Requests refused because their sender, or all senders together, had too many "
	"bytes of bodies in memory"};
static const struct prom_family checks_refused = {
	"ceems_web_checks_refused_total", PROM_COUNTER,
	"Requests whose password or MUNGE credential was not accepted: it was wrong, "
	"too many were waiting to be checked, or munged did not answer"};

void web_count_check(struct web *w, enum web_check check, int rc)
{
	switch (rc) {
	case 0:
		return;
	case -EBUSY:
		atomic_fetch_add(&w->checks[check][WEB_CHECK_BUSY], 1);
		return;
	case -EACCES:
		atomic_fetch_add(&w->checks[check][WEB_CHECK_WRONG], 1);
		return;
	default:
		atomic_fetch_add(&w->checks[check][WEB_CHECK_NO_ANSWER], 1);
	}
}

void web_count_munge(struct web_request *r, int rc)
{
	web_count_check(r->w, WEB_CHECK_MUNGE, rc);
}

static void put_web_metric(struct prom *out, const struct prom_family *f, uint64_t v)
{
	prom_family(out, f);
	prom_put_u64(out, NULL, 0, v);
}

void web_metrics(struct web *w, struct prom *out)
{
	static const char *const checks[] = {"password", "munge"};
	static const char *const reasons[] = {"wrong", "busy", "no_answer"};
	uint64_t ended, refused;

	web_conns_counts(w->conns, &ended, &refused);
	pthread_mutex_lock(&w->bodies_mutex);
	uint64_t bodies = w->bodies_refused;
	pthread_mutex_unlock(&w->bodies_mutex);
	put_web_metric(out, &connections_refused, refused);
	put_web_metric(out, &connections_ended, ended);
	put_web_metric(out, &bodies_refused, bodies);
	prom_family(out, &checks_refused);
	for (size_t c = 0; c < WEB_CHECKS; c++) {
		for (size_t i = 0; i < WEB_CHECK_REASONS; i++) {
			const struct prom_label labels[] = {{"check", checks[c]},
							    {"reason", reasons[i]}};
			/* passwords are checked here: no service can fail to answer */
			if (c != WEB_CHECK_PASSWORD || i != WEB_CHECK_NO_ANSWER)
				prom_put_u64(out, labels, 2,
					     atomic_load(&w->checks[c][i]));
		}
	}
}
