/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Linker and roll-up: two periodic jobs whose work is done in SQL, and their metrics.
 */
#include "aggregator/records.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "aggregator/coverage.h"
#include "aggregator/periodic_job.h"
#include "lib/clock.h"
#include "lib/log.h"
#include "lib/rfc3339.h"

#define LINK_PERIOD_MS 500u
#define LINK_AT_ONCE 1000
#define LINK_END_NS (10 * NSEC_PER_SEC)
#define SETTLE_ALL_NS (300 * NSEC_PER_SEC)
#define SETTLE_ALL_S (2 * 86400)
#define SETTLE_LATE_S 900
#define LOOK_NS (15 * NSEC_PER_SEC)
#define LOOK_UNITS_NS (60 * NSEC_PER_SEC)
#define LOOK_COVERAGE_NS (600 * NSEC_PER_SEC)
#define ROLLUP_PERIOD_MS 1000u
#define ROLLUP_AT_ONCE 5000
#define TIMEOUT_MS 300000u

struct records {
	struct app *app;
	struct periodic_job *linker, *rollup;
	struct coverage *coverage;
	/* the linker's thread */
	uint64_t ended_ns, settled_ns, looked_ns, looked_units_ns, looked_coverage_ns;
	/* the roll-up's */
	int at_once;
	uint64_t looked_marks_ns;
	atomic_uint_fast64_t linked_nodes, linked_jobs, ended, marks, postponed;
	atomic_int_fast64_t waiting_nodes, waiting_jobs, running_alone, ended_alone;
	atomic_int_fast64_t held, settled;
	atomic_int_fast64_t waiting_marks, lag_ms;
};

static bool is_look_due(uint64_t *last_ns, uint64_t every_ns)
{
	uint64_t now = clock_read_ns(CLOCK_MONOTONIC);

	if (*last_ns && now - *last_ns < every_ns)
		return false;
	*last_ns = now;
	return true;
}

/* ---- linker ---------------------------------------------------------------------- */

static int end_units(struct records *s, struct pg *pg, struct err *err)
{
	static const struct pg_statement end = {
		"link_end",
		"SELECT link_end($1 * interval '1 ms', $2 * interval '1 ms')"};
	const struct options *o = &s->app->options;
	struct pg_args a = PG_ARGS_INIT;
	int64_t n;

	pg_arg_u64(&a, o->linker_grace_ms);
	pg_arg_u64(&a, o->linker_lost_ms);
	int rc = pg_run_s64(pg, &end, &a, &n, err);
	if (rc == 0)
		atomic_fetch_add(&s->ended, (uint64_t)n);
	return rc;
}

/* Owners of pods: the claims of the last minutes at each turn, all of them now and
 * then, as most of the others are of creations that were refused. */
static int settle_claims(struct records *s, struct pg *pg, struct err *err)
{
	static const struct pg_statement settle = {
		"k8s_settle", "SELECT k8s_settle($1, $2 * interval '1 s')"};
	struct pg_args a = PG_ARGS_INIT;
	int64_t n;

	pg_arg_s64(&a, LINK_AT_ONCE);
	pg_arg_s64(&a, is_look_due(&s->settled_ns, SETTLE_ALL_NS) ? SETTLE_ALL_S
								  : SETTLE_LATE_S);
	return pg_run_s64(pg, &settle, &a, &n, err);
}

static int link_some(struct pg *pg, void *arg, struct err *err)
{
	static const struct pg_statement nodes = {"link_nodes",
						  "SELECT link_nodes($1)"};
	static const struct pg_statement jobs = {"link_jobs", "SELECT link_jobs($1)"};
	struct records *s = arg;
	struct pg_args a = PG_ARGS_INIT;
	int64_t n = 0, j = 0;

	pg_arg_s64(&a, LINK_AT_ONCE);
	int rc = pg_run_s64(pg, &nodes, &a, &n, err);
	if (rc == 0)
		rc = pg_run_s64(pg, &jobs, &a, &j, err);
	if (rc == 0)
		rc = settle_claims(s, pg, err);
	if (rc == 0 && is_look_due(&s->ended_ns, LINK_END_NS))
		rc = end_units(s, pg, err);
	if (rc < 0)
		return rc;
	atomic_fetch_add(&s->linked_nodes, (uint64_t)n);
	atomic_fetch_add(&s->linked_jobs, (uint64_t)j);
	return n >= LINK_AT_ONCE || j >= LINK_AT_ONCE / 2;
}

static void store_result_numbers(struct pg *pg, const char *sql, atomic_int_fast64_t *a,
				 atomic_int_fast64_t *b)
{
	auto_pgresult PGresult *r = NULL;
	int64_t v;

	if (pg_exec(pg, sql, &r, NULL) < 0)
		return;
	if (pg_get_s64(r, 0, 0, &v) == 0)
		atomic_store(a, v);
	if (pg_get_s64(r, 0, 1, &v) == 0)
		atomic_store(b, v);
}

static void look_at_units(struct pg *pg, void *arg)
{
	struct records *s = arg;

	if (is_look_due(&s->looked_ns, LOOK_NS)) {
		store_result_numbers(
			pg,
			"SELECT (SELECT count(*) FROM unit_node WHERE unit IS NULL), "
			"(SELECT count(*) FROM job_record WHERE unit IS NULL)",
			&s->waiting_nodes, &s->waiting_jobs);
		store_result_numbers(
			pg,
			"SELECT count(*) FILTER (WHERE held = 'open'), count(*) FILTER "
			"(WHERE held = 'settled') FROM unit WHERE held IS NOT NULL AND "
			"submitted IS NULL",
			&s->held, &s->settled);
	}
	if (is_look_due(&s->looked_units_ns, LOOK_UNITS_NS))
		store_result_numbers(
			pg,
			"SELECT count(*) FILTER (WHERE ended IS NULL), "
			"count(*) FILTER (WHERE ended IS NOT NULL) FROM unit "
			"WHERE person IS NULL AND known_by = 'node'",
			&s->running_alone, &s->ended_alone);
	if (is_look_due(&s->looked_coverage_ns, LOOK_COVERAGE_NS))
		coverage_look(s->coverage, pg);
}

/* ---- roll-up --------------------------------------------------------------------- */

static int roll_up(struct pg *pg, void *arg, struct err *err)
{
	static const struct pg_statement rollup = {"rollup", "SELECT rollup($1)"};
	struct records *s = arg;
	struct pg_args a = PG_ARGS_INIT;
	int64_t n;

	pg_arg_s64(&a, s->at_once);
	int rc = pg_run_s64(pg, &rollup, &a, &n, err);
	if (rc < 0)
		return rc;
	atomic_fetch_add(&s->marks, (uint64_t)n);
	if (s->at_once < ROLLUP_AT_ONCE)
		s->at_once *= 2;
	return n > 0;
}

/* A unit whose numbers cannot be summed must not block the others: fewer units at a
 * time, and one that fails alone waits for a day. */
static void roll_up_failed(struct pg *pg, void *arg, int rc)
{
	struct records *s = arg;

	(void)rc;
	if (s->at_once > 1) {
		s->at_once /= 4;
		s->at_once += s->at_once == 0;
		return;
	}
	if (pg_exec(pg,
		    "UPDATE dirty SET due = now() + interval '1 day' WHERE ctid = "
		    "(SELECT ctid FROM dirty WHERE due <= now() ORDER BY due LIMIT 1)",
		    NULL, NULL) == 0)
		atomic_fetch_add(&s->postponed, 1);
}

static void look_at_marks(struct pg *pg, void *arg)
{
	struct records *s = arg;

	if (is_look_due(&s->looked_marks_ns, LOOK_NS))
		store_result_numbers(pg,
				     "SELECT count(*), coalesce(extract(epoch FROM "
				     "now() - min(due)) "
				     "* 1000, 0)::bigint FROM dirty WHERE due <= now()",
				     &s->waiting_marks, &s->lag_ms);
}

/* ---- the part -------------------------------------------------------------------- */

static void close_records(struct app *app)
{
	struct records *s = app->records;

	app->records = NULL;
	if (!s)
		return;
	periodic_job_free(s->linker);
	periodic_job_free(s->rollup);
	coverage_free(s->coverage);
	free(s);
}

static void stop_records(struct app *app)
{
	struct records *s = app->records;

	if (s && s->linker)
		periodic_job_stop(s->linker);
	if (s && s->rollup)
		periodic_job_stop(s->rollup);
}

static int open_records(struct app *app, struct err *err)
{
	struct records *s = calloc(1, sizeof(*s));
	const struct periodic_job_params linker = {
		.name = "linker",
		.lock = PERIODIC_JOB_LINKER,
		.period_ms = LINK_PERIOD_MS,
		.timeout_ms = TIMEOUT_MS,
		.run = link_some,
		.look = look_at_units,
		.arg = s,
	};
	const struct periodic_job_params rollup = {
		.name = "roll-up",
		.lock = PERIODIC_JOB_ROLLUP,
		.period_ms = ROLLUP_PERIOD_MS,
		.timeout_ms = TIMEOUT_MS,
		.run = roll_up,
		.failed = roll_up_failed,
		.look = look_at_marks,
		.arg = s,
	};

	if (!s)
		return err_set(err, -ENOMEM, "out of memory");
	s->app = app;
	s->at_once = ROLLUP_AT_ONCE;
	app->records = s;
	int rc = coverage_new(&s->coverage, err);
	if (rc == 0)
		rc = periodic_job_new(&app->pg, &linker, &s->linker, err);
	if (rc == 0)
		rc = periodic_job_new(&app->pg, &rollup, &s->rollup, err);
	if (rc < 0)
		close_records(app);
	return rc;
}

static void put_records_value(struct prom *out, const struct prom_family *f,
			      const char *label, const char *value, int64_t v)
{
	prom_put_one(out, f, label, value, v > 0 ? (uint64_t)v : 0);
}

static void put_records_metrics(struct app *app, struct prom *out)
{
	static const struct prom_family linked = {
		"ceems_aggregator_linked_total", PROM_COUNTER,
		"Node rows and job records that this aggregator linked to their unit"};
	static const struct prom_family unlinked = {
		"ceems_aggregator_unlinked", PROM_GAUGE,
		"Node rows and job records that wait to be linked"};
	static const struct prom_family alone = {
		"ceems_aggregator_units_without_record", PROM_GAUGE,
		"Units known from their nodes only, without a job record"};
	static const struct prom_family held = {
		"ceems_aggregator_units_held", PROM_GAUGE,
		"Units of nodes' reports that contradict slurmctld on the owner, by "
		"whether somebody has looked: open, settled"};
	static const struct prom_family ended = {
		"ceems_aggregator_units_ended_by_reports_total", PROM_COUNTER,
		"Units ended by their nodes' reports, without a job record"};
	static const struct prom_family marks = {
		"ceems_aggregator_rollup_marks_total", PROM_COUNTER,
		"Hours of units that were summed again by this aggregator"};
	static const struct prom_family waiting = {
		"ceems_aggregator_rollup_waiting_marks", PROM_GAUGE,
		"Hours that are due to be summed"};
	static const struct prom_family lag = {
		"ceems_aggregator_rollup_lag_seconds", PROM_GAUGE,
		"Time for which the oldest hour has been due to be summed"};
	static const struct prom_family postponed = {
		"ceems_aggregator_rollup_postponed_total", PROM_COUNTER,
		"Hours that could not be summed and wait for a day"};
	struct records *s = app->records;

	if (!s)
		return;
	put_records_value(out, &linked, "kind", "node",
			  (int64_t)atomic_load(&s->linked_nodes));
	put_records_value(out, &linked, "kind", "job",
			  (int64_t)atomic_load(&s->linked_jobs));
	put_records_value(out, &unlinked, "kind", "node",
			  atomic_load(&s->waiting_nodes));
	put_records_value(out, &unlinked, "kind", "job", atomic_load(&s->waiting_jobs));
	put_records_value(out, &alone, "state", "running",
			  atomic_load(&s->running_alone));
	put_records_value(out, &alone, "state", "ended", atomic_load(&s->ended_alone));
	put_records_value(out, &held, "state", "open", atomic_load(&s->held));
	put_records_value(out, &held, "state", "settled", atomic_load(&s->settled));
	put_records_value(out, &ended, NULL, NULL, (int64_t)atomic_load(&s->ended));
	put_records_value(out, &marks, NULL, NULL, (int64_t)atomic_load(&s->marks));
	put_records_value(out, &waiting, NULL, NULL, atomic_load(&s->waiting_marks));
	prom_family(out, &lag);
	int64_t ms = atomic_load(&s->lag_ms);
	prom_put_scaled(out, NULL, 0, ms > 0 ? (uint64_t)ms : 0, 3);
	put_records_value(out, &postponed, NULL, NULL,
			  (int64_t)atomic_load(&s->postponed));
	coverage_metrics(s->coverage, out);
}

const struct part part_records = {
	.name = "records",
	.open = open_records,
	.metrics = put_records_metrics,
	.stop = stop_records,
	.close = close_records,
};

/* ---- --recompute ----------------------------------------------------------------- */

static int read_time(const char *option, const char *text, uint64_t *ret_s,
		     struct err *err)
{
	char day[32];

	if (rfc3339_parse(text, ret_s) == 0)
		return 0;
	snprintf(day, sizeof(day), "%.12sT00:00:00Z", text);
	if (rfc3339_parse(day, ret_s) == 0)
		return 0;
	return err_set(err, -EINVAL,
		       "--%s=%s: a day (2025-08-07) or a time with a zone "
		       "(2025-08-07T10:00:00Z)",
		       option, text);
}

int records_period(const struct options *o, uint64_t *ret_from_s, uint64_t *ret_to_s,
		   struct err *err)
{
	uint64_t from, to;
	int rc = read_time("from", o->from, &from, err);

	if (rc == 0)
		rc = read_time("to", o->to, &to, err);
	if (rc == 0 && from >= to)
		rc = err_set(err, -EINVAL, "--from is not before --to");
	if (rc < 0)
		return rc;
	*ret_from_s = from;
	*ret_to_s = to;
	return 0;
}

int records_recompute(struct app *app, struct err *err)
{
	static const struct pg_statement recompute = {"recompute",
						      "SELECT recompute($1, $2)"};
	auto_pg struct pg *pg = NULL;
	struct pg_args a = PG_ARGS_INIT;
	uint64_t from, to;
	int64_t n;
	int rc = records_period(&app->options, &from, &to, err);

	if (rc == 0)
		rc = pg_new(&app->pg, &pg, err);
	if (rc < 0)
		return rc;
	pg_statement_timeout(pg, 0);
	pg_statement_timeout(pg, 3600000);
	pg_arg_time(&a, from * NSEC_PER_SEC);
	pg_arg_time(&a, to * NSEC_PER_SEC);
	rc = pg_run_s64(pg, &recompute, &a, &n, err);
	if (rc == 0)
		printf("%" PRId64
		       " hours are marked; the running aggregator computes them\n",
		       n);
	return rc;
}
