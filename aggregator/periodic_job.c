/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The loop of a periodic job. */
#include "aggregator/periodic_job.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/clock.h"
#include "lib/log.h"
#include "lib/periodic.h"

#define AWAY_MS 1000u /* until the database is tried again */
#define FAILED_MAX_MS 300000u

struct periodic_job {
	struct periodic_job_params params;
	struct pg *pg;
	struct periodic thread;
	bool more;         /* after the last turn */
	unsigned failures; /* in a row */
	struct log_repeat failing;
};

static int run_turn(struct pg *pg, void *arg, struct err *err)
{
	static const struct pg_statement lock = {
		"chore_lock", "SELECT pg_try_advisory_xact_lock($1, $2)::integer"};
	struct periodic_job *c = arg;
	struct pg_args a = PG_ARGS_INIT;
	int64_t ours;

	c->more = false;
	pg_arg_s64(&a, PERIODIC_JOB_LOCKS);
	pg_arg_s64(&a, c->params.lock);
	int rc = pg_run_s64(pg, &lock, &a, &ours, err);
	if (rc < 0 || !ours)
		return rc;
	rc = c->params.run(pg, c->params.arg, err);
	c->more = rc == 1;
	return rc < 0 ? rc : 0;
}

static void say_turn_result(struct periodic_job *c, int rc, const struct err *err)
{
	if (rc < 0 && log_repeat_due(&c->failing, clock_boottime_ns()))
		log_warn("%s: %s", c->params.name, err->text);
	else if (rc == 0 && log_repeat_over(&c->failing))
		log_info("%s: works again", c->params.name);
}

unsigned periodic_job_retry_ms(unsigned period_ms, unsigned failures)
{
	unsigned most = period_ms < FAILED_MAX_MS ? period_ms : FAILED_MAX_MS;
	unsigned ms = AWAY_MS;

	while (failures-- > 1 && ms < most)
		ms *= 2;
	return ms < most ? ms : most > AWAY_MS ? most : AWAY_MS;
}

/* The database being down is not the periodic job's failure: its connection has its own
 * back-off, and there is work as soon as it is up. */
static unsigned retry_ms(struct periodic_job *c, int rc)
{
	if (!pg_connected(c->pg) || rc == -EAGAIN)
		return AWAY_MS;
	return periodic_job_retry_ms(c->params.period_ms, ++c->failures);
}

static uint64_t one_turn(void *arg)
{
	struct periodic_job *c = arg;
	struct err err = {""};
	int rc = pg_transaction(c->pg, PG_READ_COMMITTED, 2, run_turn, c, &err);

	say_turn_result(c, rc, &err);
	if (rc < 0 && rc != -EHOSTDOWN && rc != -EAGAIN && c->params.failed)
		c->params.failed(c->pg, c->params.arg, rc);
	if (rc < 0)
		return retry_ms(c, rc);
	c->failures = 0;
	if (c->params.look)
		c->params.look(c->pg, c->params.arg);
	return c->more ? 0 : c->params.period_ms;
}

int periodic_job_new(const struct pg_params *pg,
		     const struct periodic_job_params *params,
		     struct periodic_job **ret, struct err *err)
{
	struct periodic_job *c = calloc(1, sizeof(*c));
	struct pg_params p = *pg;

	if (!c)
		return err_set(err, -ENOMEM, "out of memory");
	c->params = *params;
	p.statement_timeout_ms = params->timeout_ms;
	periodic_init(&c->thread);
	int rc = pg_new(&p, &c->pg, err);
	if (rc == 0) {
		rc = periodic_start(&c->thread, 0, one_turn, NULL, c);
		if (rc < 0)
			(void)err_set(err, rc, "%s: start thread: %s", params->name,
				      strerror(-rc));
	}
	if (rc < 0) {
		periodic_job_free(c);
		return rc;
	}
	*ret = c;
	return 0;
}

void periodic_job_stop(struct periodic_job *c)
{
	periodic_ask_stop(&c->thread);
	if (c->pg)
		pg_interrupt(c->pg);
	(void)periodic_join(&c->thread, NULL);
}

void periodic_job_free(struct periodic_job *c)
{
	if (!c)
		return;
	periodic_job_stop(c);
	pg_free(c->pg);
	periodic_done(&c->thread);
	free(c);
}
