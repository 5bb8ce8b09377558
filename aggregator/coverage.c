/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The last look-up's result, for scrapes. */
#include "aggregator/coverage.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

struct coverage {
	pthread_mutex_t mutex;
	PGresult *last; /* cluster, observed_ms, node_ms; NULL: unknown */
};

int coverage_new(struct coverage **ret, struct err *err)
{
	struct coverage *c = calloc(1, sizeof(*c));

	if (!c)
		return err_set(err, -ENOMEM, "out of memory");
	pthread_mutex_init(&c->mutex, NULL);
	*ret = c;
	return 0;
}

void coverage_free(struct coverage *c)
{
	if (!c)
		return;
	PQclear(c->last);
	pthread_mutex_destroy(&c->mutex);
	free(c);
}

void coverage_look(struct coverage *c, struct pg *pg)
{
	static const struct pg_statement statement = {
		"coverage", "SELECT cluster, observed_ms, node_ms FROM coverage()"};
	PGresult *now = NULL, *old;

	if (pg_run(pg, &statement, NULL, &now, NULL) < 0)
		now = NULL;
	pthread_mutex_lock(&c->mutex);
	old = c->last;
	c->last = now;
	pthread_mutex_unlock(&c->mutex);
	PQclear(old);
}

void coverage_metrics(struct coverage *c, struct prom *out)
{
	static const struct prom_family ratio = {
		"ceems_aggregator_coverage_ratio", PROM_GAUGE,
		"Share of their time on nodes for which units that ended in the last "
		"day were watched"};
	double observed, there;

	pthread_mutex_lock(&c->mutex);
	prom_family(out, &ratio);
	for (int i = 0; c->last && i < PQntuples(c->last); i++) {
		const struct prom_label l = {"cluster", PQgetvalue(c->last, i, 0)};

		if (pg_get_f64(c->last, i, 1, &observed) == 0 &&
		    pg_get_f64(c->last, i, 2, &there) == 0 && there > 0)
			prom_put_f64(out, &l, 1, observed / there);
	}
	pthread_mutex_unlock(&c->mutex);
}
