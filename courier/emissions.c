/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The tasks that ask providers of emission factors, one each, so that none waits for
 * another: when to ask, how long to back off, and what ceemsd is sent. */
#include "lib/emissions/emissions.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "courier/courier.h"
#include "lib/clock.h"
#include "lib/log.h"

#define TIMEOUT_MS 30000u
#define RETRY_FIRST_S 60u
#define RETRY_LONGEST_S 3600u

struct emissions_task {
	struct courier *courier;
	const struct emissions_provider *provider;
	const char *name; /* of the task */
	struct emissions_config config;
	struct http_client *client;
	void *state;
	unsigned failures; /* consecutive */
	uint64_t wait_s;   /* until the next poll */
	uint64_t spread_s; /* so that a cluster's nodes do not ask all at once */
	struct log_repeat partial;
};

static void emissions_close(void *state)
{
	struct emissions_task *t = state;

	if (!t)
		return;
	if (t->provider->close)
		t->provider->close(t->state);
	http_client_free(t->client);
	free(t);
}

static bool is_named_provider(const struct conf_list *l, const char *name)
{
	for (size_t i = 0; i < l->count; i++) {
		if (strcmp(l->items[i], name) == 0)
			return true;
	}
	return false;
}

static void configure_emissions(struct emissions_config *c, const struct options *o)
{
	*c = (struct emissions_config){
		.zones = (const char *const *)o->emissions_zones.items,
		.zone_count = o->emissions_zones.count,
		EMISSION_OPTION_CONFIG(o),
	};
}

static uint64_t spread_start_s(const char *hostname, uint32_t period_s)
{
	uint32_t hash = 2166136261u; /* FNV-1a */

	for (; *hostname; hostname++)
		hash = (hash ^ (unsigned char)*hostname) * 16777619u;
	return hash % (period_s / 10 + 1);
}

static int emissions_open(struct courier *c, const struct emissions_provider *p,
			  const char *name, void **ret_state, struct err *err)
{
	const struct options *o = &c->options;
	bool asked = is_named_provider(&o->emissions_providers, p->name);
	struct emissions_config config;
	struct err why = {""};

	if (!o->collector_emissions || (o->emissions_providers.count && !asked))
		return -ENODEV;
	configure_emissions(&config, o);
	if (p->configured(&config, &why) < 0) {
		/* that a site has no account matters only if the provider was
		 * requested */
		log_at(asked ? LOG_WARNING : LOG_INFO, "%s: %s: off", name, why.text);
		return -ENODEV;
	}
	struct emissions_task *t = calloc(1, sizeof(*t));
	if (!t)
		return err_set(err, -ENOMEM, "out of memory");
	t->courier = c;
	t->provider = p;
	t->name = name;
	t->config = config;
	t->wait_s = p->period_s;
	t->spread_s = spread_start_s(c->hostname, p->period_s);
	struct http_client_config http = {
		.timeout_ms = TIMEOUT_MS,
		.max_body_bytes = EMISSIONS_BODY_MAX,
		.redirects = 3,
		.proxy = "env",
		.ca_file = *o->emissions_ca_file ? o->emissions_ca_file : NULL,
		.stop = &c->stop,
	};
	int rc = http_client_new(&http, &t->client, err);
	if (rc == 0 && p->open)
		rc = p->open(&t->state, err);
	if (rc < 0) {
		emissions_close(t);
		return rc;
	}
	*ret_state = t;
	return 0;
}

static int tell_factors(struct emissions_task *t, const struct emission_set *s,
			struct err *err)
{
	size_t n = s->count < CHILD_FACTORS_MAX ? s->count : CHILD_FACTORS_MAX;
	struct child_factors *m = calloc(1, sizeof(*m) + n * sizeof(m->factors[0]));

	if (!m)
		return err_set(err, -ENOMEM, "out of memory");
	for (size_t i = 0; i < n; i++) {
		const struct emission_factor *f = &s->items[i];
		memcpy(m->factors[i].zone, f->zone, sizeof(f->zone));
		memcpy(m->factors[i].country, f->country, sizeof(f->country));
		m->factors[i].mg_per_kwh = f->mg_per_kwh;
		m->factors[i].time_s = f->time_s;
	}
	courier_send(t->courier, &m->head, CHILD_FACTORS, t->name, (uint32_t)n,
		     sizeof(*m) + n * sizeof(m->factors[0]));
	free(m);
	return 0;
}

/* Doubles after each consecutive failure; never sooner than the server asks. */
static uint64_t next_look(const struct emissions_task *t, uint64_t retry_after_s)
{
	unsigned shift = t->failures < 8 ? t->failures - 1 : 7;
	uint64_t s = t->provider->period_s + t->spread_s;

	if (t->failures) {
		s = (uint64_t)RETRY_FIRST_S << shift;
		s = s < RETRY_LONGEST_S ? s : RETRY_LONGEST_S;
	}
	return s > retry_after_s ? s : retry_after_s;
}

static int emissions_poll(void *state, struct err *err)
{
	struct emissions_task *t = state;
	struct emissions_ask ask = {.config = &t->config,
				    .client = t->client,
				    .now_s = clock_realtime_ns() / NSEC_PER_SEC};
	struct emission_set set = {0};
	int rc = t->provider->fetch(t->state, &ask, &set, err);

	if (rc == 0 && set.count > CHILD_FACTORS_MAX)
		(void)err_set(&ask.partial, -E2BIG,
			      "%zu zones are more than %u: name those wanted "
			      "(--emissions.zone)",
			      set.count, CHILD_FACTORS_MAX);
	if (rc == 0)
		rc = tell_factors(t, &set, err);
	emission_set_done(&set);
	t->failures = rc < 0 ? t->failures + 1 : 0;
	t->wait_s = next_look(t, ask.retry_after_s);
	if (rc == 0 && ask.partial.text[0] &&
	    log_repeat_due(&t->partial, clock_boottime_ns()))
		log_warn("%s: %s", t->name, ask.partial.text);
	else if (rc == 0 && !ask.partial.text[0])
		(void)log_repeat_over(&t->partial);
	return rc;
}

static uint64_t emissions_period_ms(const void *state)
{
	const struct emissions_task *t = state;
	return t->wait_s * 1000;
}

#define TASK(provider_)                                                                \
	static int open_##provider_(struct courier *c, void **ret_state,               \
				    struct err *err)                                   \
	{                                                                              \
		return emissions_open(c, &emissions_##provider_,                       \
				      "emissions_" #provider_, ret_state, err);        \
	}                                                                              \
	const struct task task_emissions_##provider_ = {                               \
		.name = "emissions_" #provider_,                                       \
		.open = open_##provider_,                                              \
		.poll = emissions_poll,                                                \
		.period_ms = emissions_period_ms,                                      \
		.close = emissions_close,                                              \
	}

TASK(emaps);
TASK(file);
TASK(rte);
TASK(wt);
