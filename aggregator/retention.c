/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The thread of retention. Several aggregators may do all of this at the
 * same time, and repeatedly. */
#include "aggregator/retention.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "lib/clock.h"
#include "lib/log.h"
#include "lib/periodic.h"

#define DAY_MS (86400ull * 1000)
#define MONTH_MS (30 * DAY_MS)
#define DAY_NS (DAY_MS * NSEC_PER_MSEC)
#define ROUND_S 900
#define RETRY_S 30
#define CLOCK_S 60 /* how soon a wrong clock of the database is noticed */
#define VACUUM_MS (3600u * 1000)

struct retention {
	struct app *app;
	struct partitions_plan plan;
	struct pg *pg;
	struct periodic thread;
	pthread_mutex_t mutex;
	uint64_t round_ns; /* when the next round is due */
	struct log_repeat failing;
	struct partitions_state state;
	uint64_t made, dropped, vacuumed, failures;
};

static uint32_t up_to(uint64_t ms, uint64_t unit_ms)
{
	uint64_t n = (ms + unit_ms - 1) / unit_ms;
	return n > 36500 ? 36500 : (uint32_t)n;
}

struct partitions_plan retention_plan(const struct options *o)
{
	return (struct partitions_plan){
		.interval_days = up_to(o->retention_intervals_ms, DAY_MS),
		.hour_months = up_to(o->retention_hours_ms, MONTH_MS),
		.ahead_days = up_to(o->partitions_ahead_ms, DAY_MS),
		.archive = o->retention_archive,
	};
}

void retention_window(const struct options *o, uint64_t now_ns, uint64_t *ret_oldest_ns,
		      uint64_t *ret_newest_ns)
{
	struct partitions_plan plan = retention_plan(o);
	uint64_t today_ns = now_ns - now_ns % DAY_NS;
	uint64_t kept_ns = plan.interval_days * DAY_NS;

	*ret_oldest_ns = kept_ns < today_ns ? today_ns - kept_ns : 0;
	*ret_newest_ns = today_ns + plan.ahead_days * DAY_NS;
}

static int look_at_clocks(struct app *app, struct pg *pg, struct err *err)
{
	int64_t apart;
	int rc = partitions_clock(pg, &apart, err);

	if (rc < 0)
		return rc;
	atomic_store(&app->clocks_apart_s, apart);
	uint64_t there_ns =
		clock_realtime_ns() + (uint64_t)(apart * (int64_t)NSEC_PER_SEC);
	witness_tell(&app->witnesses, WITNESS_DATABASE, there_ns, clock_boottime_ns());
	return 0;
}

static int database_up(struct app *app, struct pg *pg, struct err *err)
{
	struct partitions_plan plan = retention_plan(&app->options);
	int rc = look_at_clocks(app, pg, err);

	if (rc == 0)
		rc = partitions_make_first(pg, &plan, err);
	return rc < 0 ? rc : 0; /* the retention thread creates the rest */
}

const char *retention_no_clock(struct app *app)
{
	int64_t apart = atomic_load(&app->clocks_apart_s);

	return apart > PARTITIONS_APART_S || apart < -PARTITIONS_APART_S
		       ? "the database's clock and the aggregator's are a day apart"
		       : NULL;
}

static int vacuum_all(struct retention *l, uint64_t *ret, struct err *err)
{
	pg_statement_timeout(l->pg, VACUUM_MS);
	while (!atomic_load(&l->thread.stopping) && partitions_vacuum(l->pg, err) > 0)
		(*ret)++;
	pg_statement_timeout(l->pg, 0);
	return 0; /* a failed vacuum loses nothing */
}

static int round_of(struct retention *l, struct err *err)
{
	struct partitions_state s = {0};
	uint64_t vacuumed = 0;
	int dropped = 0, made = partitions_make(l->pg, &l->plan, err);
	int rc = made;

	if (rc >= 0)
		rc = look_at_clocks(l->app, l->pg, err);
	if (rc >= 0)
		rc = dropped = partitions_drop(l->pg, &l->plan, err);
	if (rc >= 0)
		rc = partitions_look(l->pg, &l->plan, &s, err);
	if (rc >= 0)
		rc = vacuum_all(l, &vacuumed, err);
	if (made > 0 || dropped > 0)
		log_info("retention: %d partitions created, %d %s%s",
			 made > 0 ? made : 0, dropped > 0 ? dropped : 0,
			 *l->plan.archive ? "moved to " : "dropped", l->plan.archive);
	pthread_mutex_lock(&l->mutex);
	l->made += made > 0 ? (uint64_t)made : 0;
	l->dropped += dropped > 0 ? (uint64_t)dropped : 0;
	l->vacuumed += vacuumed;
	l->failures += rc < 0;
	if (rc >= 0)
		l->state = s;
	pthread_mutex_unlock(&l->mutex);
	return rc;
}

static bool is_clock_wrong(struct app *app)
{
	return witness_judge(&app->witnesses, clock_realtime_ns(), clock_boottime_ns())
		       .state == WITNESS_WRONG;
}

/* Returns the seconds until the next one. */
static unsigned run_round(struct retention *l)
{
	struct err err = {""};
	int rc = round_of(l, &err);

	/* the pool reports that the database is down */
	if (rc < 0 && rc != -EHOSTDOWN && rc != -ECANCELED &&
	    log_repeat_due(&l->failing, clock_boottime_ns()))
		log_error("retention: %s: will be tried again", err.text);
	else if (rc >= 0 && log_repeat_over(&l->failing))
		log_info("retention: works again");
	return rc < 0 || is_clock_wrong(l->app) ? RETRY_S : ROUND_S;
}

/* A round if it is due or if the database's clock, which each turn looks at, cannot be
 * read: the round reports why. */
static uint64_t retention_turn(void *arg)
{
	struct retention *l = arg;
	bool due = clock_boottime_ns() >= l->round_ns;
	unsigned seconds = CLOCK_S;

	if (due || look_at_clocks(l->app, l->pg, NULL) < 0) {
		seconds = run_round(l);
		l->round_ns = clock_boottime_ns() + seconds * NSEC_PER_SEC;
	}
	return 1000ull * (seconds < CLOCK_S ? seconds : CLOCK_S);
}

static int check_retention_options(const struct options *o, struct err *err)
{
	const char *schema = o->retention_archive;

	return !*schema || partitions_archive_ok(schema)
		       ? 0
		       : err_set(err, -EINVAL,
				 "--retention.archive-schema=%.60s: must be small "
				 "letters, digits and _, and neither public nor "
				 "Postgres' own",
				 schema);
}

static int open_retention(struct app *app, struct err *err)
{
	struct retention *l = calloc(1, sizeof(*l));

	if (!l)
		return err_set(err, -ENOMEM, "out of memory");
	app->retention = l;
	l->app = app;
	l->plan = retention_plan(&app->options);
	pthread_mutex_init(&l->mutex, NULL);
	periodic_init(&l->thread);
	int rc = pg_new(&app->pg, &l->pg, err);
	if (rc < 0)
		return rc;
	rc = periodic_start(&l->thread, 0, retention_turn, NULL, l);
	if (rc < 0)
		return err_set(err, rc, "thread: %s", strerror(-rc));
	return 0;
}

static void stop_retention(struct app *app)
{
	struct retention *l = app->retention;

	if (!l)
		return;
	periodic_ask_stop(&l->thread);
	if (l->pg)
		pg_interrupt(l->pg);
	(void)periodic_join(&l->thread, NULL);
}

static void close_retention(struct app *app)
{
	struct retention *l = app->retention;

	if (!l)
		return;
	pg_free(l->pg);
	periodic_done(&l->thread);
	pthread_mutex_destroy(&l->mutex);
	free(l);
	app->retention = NULL;
}

static void put_metrics(struct app *app, struct prom *out)
{
	static const struct prom_family there = {
		"ceems_aggregator_partitions", PROM_GAUGE,
		"Partitions of the tables with limited retention"};
	static const struct prom_family missing = {
		"ceems_aggregator_partitions_missing", PROM_GAUGE,
		"Partitions that are missing"};
	static const struct prom_family done = {
		"ceems_aggregator_partitions_total", PROM_COUNTER,
		"Partitions created, dropped and vacuumed by this aggregator"};
	static const struct prom_family failures = {
		"ceems_aggregator_ladder_failures_total", PROM_COUNTER,
		"Runs of the retention job that failed"};
	struct retention *l = app->retention;

	if (!l)
		return;
	pthread_mutex_lock(&l->mutex);
	prom_put_one(out, &there, "table", "unit_interval", l->state.intervals);
	prom_put_one(out, &there, "table", "unit_hour", l->state.hours);
	prom_put_one(out, &missing, NULL, NULL, l->state.missing);
	prom_put_one(out, &done, "what", "made", l->made);
	prom_put_one(out, &done, "what", "dropped", l->dropped);
	prom_put_one(out, &done, "what", "vacuumed", l->vacuumed);
	prom_put_one(out, &failures, NULL, NULL, l->failures);
	pthread_mutex_unlock(&l->mutex);
}

const struct part part_retention = {
	.name = "ladder",
	.check = check_retention_options,
	.open = open_retention,
	.database_up = database_up,
	.metrics = put_metrics,
	.stop = stop_retention,
	.close = close_retention,
};
