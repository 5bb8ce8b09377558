/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One thread asks all providers in turn, so that nothing else waits for them. */
#include "aggregator/factors.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/clock.h"
#include "lib/emissions/emission.h"
#include "lib/emissions/emissions.h"
#include "lib/log.h"
#include "lib/parse.h"
#include "lib/periodic.h"

#define TIMEOUT_MS 30000u
#define LOOK_MS 10000u
#define RETRY_S 600u
#define PROVIDERS_MAX 16
#define PUE_MAX 10.0

struct source {
	const struct emissions_provider *provider;
	void *state;
	uint64_t next_ns;
	struct log_repeat failing;
};

struct factors {
	struct app *app;
	struct pg *pg;
	struct http_client *client;
	struct emissions_config config;
	const char *zones[CONF_LIST_MAX];
	struct factor_zone zone_words[CONF_LIST_MAX];
	struct source sources[PROVIDERS_MAX];
	size_t source_count;
	bool static_done;
	struct log_repeat failing;
	struct periodic thread;
	atomic_uint_fast64_t stored, failures;
};

static int copy_word(char ret[FACTOR_WORD_BYTES], const char *s, size_t len)
{
	if (!len || len >= FACTOR_WORD_BYTES)
		return -EINVAL;
	memcpy(ret, s, len);
	ret[len] = '\0';
	return 0;
}

int factor_zone_read(const char *text, struct factor_zone *ret, struct err *err)
{
	const char *equal = strchr(text, '='), *slash = strchr(text, '/');
	const char *provider = text;

	memset(ret, 0, sizeof(*ret));
	int rc = equal ? 0 : -EINVAL;
	if (rc == 0 && slash && slash < equal) {
		rc = copy_word(ret->cluster, text, (size_t)(slash - text));
		provider = slash + 1;
	}
	if (rc == 0)
		rc = copy_word(ret->provider, provider, (size_t)(equal - provider));
	if (rc == 0)
		rc = copy_word(ret->zone, equal + 1, strlen(equal + 1));
	if (rc < 0 || !emission_zone_valid(ret->zone))
		return err_set(err, -EINVAL,
			       "--emissions.zone=%s is not PROVIDER=ZONE or "
			       "CLUSTER/PROVIDER=ZONE",
			       text);
	if (emission_provider_find(ret->provider) < 0)
		return err_set(err, -EINVAL,
			       "--emissions.zone=%s: there is no such provider", text);
	return 0;
}

int factor_pue_read(const char *text, struct factor_pue *ret, struct err *err)
{
	const char *equal = strrchr(text, '=');
	int rc = 0;

	memset(ret, 0, sizeof(*ret));
	if (equal)
		rc = copy_word(ret->cluster, text, (size_t)(equal - text));
	if (rc == 0)
		rc = parse_f64(equal ? equal + 1 : text, &ret->pue);
	if (rc < 0 || !(ret->pue >= 1.0 && ret->pue <= PUE_MAX))
		return err_set(err, -EINVAL,
			       "--emissions.pue=%s is not a number from 1 to 10, or "
			       "CLUSTER= and one",
			       text);
	return 0;
}

/* ---- configuration --------------------------------------------------------------- */

static int say_zones(struct factors *f, struct err *err)
{
	static const struct pg_statement s = {
		"factor_zone",
		"INSERT INTO cluster_zone AS z (cluster, provider, zone) "
		"SELECT id, $2, $3 FROM cluster WHERE $1 IN ('', name) "
		"ON CONFLICT (cluster, provider) DO UPDATE SET zone = excluded.zone "
		"WHERE z.zone <> excluded.zone"};
	const struct conf_list *all = &f->app->options.emissions_zones;
	int rc = 0;

	for (size_t i = 0; i < all->count && rc == 0; i++) {
		const struct factor_zone *z = &f->zone_words[i];
		struct pg_args a = PG_ARGS_INIT;
		pg_arg_text(&a, z->cluster);
		pg_arg_text(&a, z->provider);
		pg_arg_text(&a, z->zone);
		rc = pg_run(f->pg, &s, &a, NULL, err);
	}
	return rc;
}

/* A first PUE applies to all the past; a different one from now on. */
static int say_pue(struct factors *f, struct err *err)
{
	static const struct pg_statement s = {
		"factor_pue",
		"INSERT INTO pue (cluster, valid_from, pue) "
		"SELECT c.id, CASE WHEN p.pue IS NULL THEN '1970-01-01'::timestamptz "
		"ELSE now() END, $2 FROM cluster c LEFT JOIN LATERAL (SELECT o.pue "
		"FROM pue o WHERE o.cluster = c.id ORDER BY o.valid_from DESC LIMIT 1) "
		"p ON true WHERE $1 IN ('', c.name) AND p.pue IS DISTINCT FROM $2 "
		"ON CONFLICT DO NOTHING"};
	const struct conf_list *all = &f->app->options.emissions_pue;
	int rc = 0;

	for (size_t i = 0; i < all->count && rc == 0; i++) {
		struct factor_pue p;
		struct pg_args a = PG_ARGS_INIT;
		rc = factor_pue_read(all->items[i], &p, err);
		pg_arg_text(&a, p.cluster);
		pg_arg_f64(&a, p.pue);
		if (rc == 0)
			rc = pg_run(f->pg, &s, &a, NULL, err);
	}
	return rc;
}

/* ---- providers ------------------------------------------------------------------- */

static int store_factors(struct factors *f, const char *provider,
			 const struct emission_set *set, struct err *err)
{
	static const struct pg_statement s = {
		"factor_store",
		"INSERT INTO emission_factor (provider, zone, at, grams_per_kwh) "
		"SELECT $1, $2, $3::timestamptz, $4::float8 WHERE $4::float8 IS "
		"DISTINCT FROM (SELECT o.grams_per_kwh FROM emission_factor o "
		"WHERE o.provider = $1 AND o.zone = $2 AND o.at <= $3::timestamptz "
		"ORDER BY o.at DESC LIMIT 1) ON CONFLICT DO NOTHING"};
	int rc = 0;

	for (size_t i = 0; i < set->count && rc == 0; i++) {
		const struct emission_factor *e = &set->items[i];
		auto_pgresult PGresult *r = NULL;
		struct pg_args a = PG_ARGS_INIT;
		pg_arg_text(&a, provider);
		pg_arg_text(&a, e->zone);
		pg_arg_time(&a, e->time_s * NSEC_PER_SEC);
		pg_arg_f64(&a, (double)e->mg_per_kwh / 1000);
		rc = pg_run(f->pg, &s, &a, &r, err);
		if (rc == 0 && strcmp(PQcmdTuples(r), "1") == 0)
			atomic_fetch_add(&f->stored, 1);
	}
	return rc;
}

static int store_static(struct factors *f, struct err *err)
{
	struct emission_set owid = {0}, global = {0};
	int rc = emission_owid(&owid, err);

	if (rc == 0)
		rc = emission_global(&global, err);
	if (rc == 0)
		rc = store_factors(f, "owid", &owid, err);
	if (rc == 0)
		rc = store_factors(f, "global", &global, err);
	emission_set_done(&owid);
	emission_set_done(&global);
	f->static_done = rc == 0;
	return rc;
}

static void ask_provider(struct factors *f, struct source *s)
{
	struct emissions_ask question = {.config = &f->config,
					 .client = f->client,
					 .now_s = clock_realtime_ns() / NSEC_PER_SEC};
	struct emission_set set = {0};
	struct err err = {""};
	int rc = s->provider->fetch(s->state, &question, &set, &err);

	if (rc == 0)
		rc = store_factors(f, s->provider->name, &set, &err);
	emission_set_done(&set);
	uint64_t wait_s = rc < 0 ? RETRY_S : s->provider->period_s;
	if (question.retry_after_s > wait_s)
		wait_s = question.retry_after_s;
	s->next_ns = clock_boottime_ns() + wait_s * NSEC_PER_SEC;
	if (rc < 0) {
		atomic_fetch_add(&f->failures, 1);
		if (log_repeat_due(&s->failing, clock_boottime_ns()))
			log_warn("emissions: %s: %s", s->provider->name, err.text);
	} else if (log_repeat_over(&s->failing)) {
		log_info("emissions: %s answers again", s->provider->name);
	}
}

static uint64_t look_at_providers(void *arg)
{
	struct factors *f = arg;
	struct err err = {""};
	int rc = say_zones(f, &err);

	if (rc == 0)
		rc = say_pue(f, &err);
	if (rc == 0 && !f->static_done)
		rc = store_static(f, &err);
	if (rc < 0 && log_repeat_due(&f->failing, clock_boottime_ns()))
		log_warn("emissions: %s", err.text);
	else if (rc == 0)
		(void)log_repeat_over(&f->failing);
	for (size_t i = 0;
	     rc == 0 && i < f->source_count && !atomic_load(&f->thread.stopping); i++) {
		if (clock_boottime_ns() >= f->sources[i].next_ns)
			ask_provider(f, &f->sources[i]);
	}
	return LOOK_MS;
}

/* ---- the part -------------------------------------------------------------------- */

static int check_factor_options(const struct options *o, struct err *err)
{
	struct factor_zone z;
	struct factor_pue p;
	int rc = 0;

	for (size_t i = 0; i < o->emissions_zones.count && rc == 0; i++)
		rc = factor_zone_read(o->emissions_zones.items[i], &z, err);
	for (size_t i = 0; i < o->emissions_pue.count && rc == 0; i++)
		rc = factor_pue_read(o->emissions_pue.items[i], &p, err);
	return rc;
}

static void close_factors(struct app *app)
{
	struct factors *f = app->factors;

	app->factors = NULL;
	if (!f)
		return;
	for (size_t i = 0; i < f->source_count; i++) {
		if (f->sources[i].provider->close)
			f->sources[i].provider->close(f->sources[i].state);
	}
	http_client_free(f->client);
	pg_free(f->pg);
	periodic_done(&f->thread);
	free(f);
}

static void stop_factors(struct app *app)
{
	struct factors *f = app->factors;

	if (!f)
		return;
	periodic_ask_stop(&f->thread);
	if (f->pg)
		pg_interrupt(f->pg);
	(void)periodic_join(&f->thread, NULL);
}

static void configure_providers(struct factors *f)
{
	const struct options *o = &f->app->options;

	f->config = (struct emissions_config){
		.zones = f->zones,
		EMISSION_OPTION_CONFIG(o),
	};
	for (size_t i = 0; i < o->emissions_zones.count; i++) {
		if (factor_zone_read(o->emissions_zones.items[i], &f->zone_words[i],
				     NULL) == 0)
			f->zones[f->config.zone_count++] = f->zone_words[i].zone;
	}
}

/* Opens the providers with a configured zone that have what they need */
static int open_sources(struct factors *f, struct err *err)
{
	int rc = 0;

	for (size_t i = 0; i < emissions_providers_count && rc == 0; i++) {
		const struct emissions_provider *p = emissions_providers[i];
		struct err why = {""};
		bool named = false;
		for (size_t k = 0; k < f->config.zone_count; k++)
			named |= strcmp(f->zone_words[k].provider, p->name) == 0;
		if (!named || f->source_count == PROVIDERS_MAX)
			continue;
		if (p->configured(&f->config, &why) < 0) {
			log_warn("emissions: %s: %s: off", p->name, why.text);
			continue;
		}
		struct source *s = &f->sources[f->source_count];
		s->provider = p;
		if (p->open)
			rc = p->open(&s->state, err);
		if (rc == 0)
			f->source_count++;
	}
	return rc;
}

static int start_factors(struct factors *f, struct err *err)
{
	const char *ca = f->app->options.emissions_ca_file;
	struct http_client_config http = {
		.timeout_ms = TIMEOUT_MS,
		.max_body_bytes = EMISSIONS_BODY_MAX,
		.redirects = 3,
		.proxy = "env",
		.ca_file = *ca ? ca : NULL,
		.stop = &f->thread.stopping,
	};
	int rc = http_client_new(&http, &f->client, err);

	if (rc == 0)
		rc = open_sources(f, err);
	if (rc == 0)
		rc = pg_new(&f->app->pg, &f->pg, err);
	if (rc < 0)
		return rc;
	rc = periodic_start(&f->thread, 0, look_at_providers, NULL, f);
	if (rc < 0)
		return err_set(err, rc, "start thread: %s", strerror(-rc));
	return 0;
}

static int open_factors(struct app *app, struct err *err)
{
	struct factors *f = calloc(1, sizeof(*f));

	if (!f)
		return err_set(err, -ENOMEM, "out of memory");
	f->app = app;
	app->factors = f;
	periodic_init(&f->thread);
	configure_providers(f);
	int rc = start_factors(f, err);
	if (rc < 0)
		close_factors(app);
	return rc;
}

static void put_factor_metrics(struct app *app, struct prom *out)
{
	static const struct prom_family stored = {
		"ceems_aggregator_emission_factors_stored_total", PROM_COUNTER,
		"New emission factors that were stored"};
	static const struct prom_family failures = {
		"ceems_aggregator_emission_failures_total", PROM_COUNTER,
		"Failed requests to providers of emission factors"};
	struct factors *f = app->factors;

	if (!f)
		return;
	prom_family(out, &stored);
	prom_put_u64(out, NULL, 0, atomic_load(&f->stored));
	prom_family(out, &failures);
	prom_put_u64(out, NULL, 0, atomic_load(&f->failures));
}

const struct part part_factors = {
	.name = "emissions",
	.check = check_factor_options,
	.open = open_factors,
	.metrics = put_factor_metrics,
	.stop = stop_factors,
	.close = close_factors,
};
