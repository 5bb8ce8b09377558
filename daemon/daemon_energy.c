/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where ceemsd and its energy ticks meet. */
#include "daemon/daemon_energy.h"

int daemon_energy_open(struct daemon *d, struct err *err)
{
	if (!options_collector(&d->options, "energy") || !d->units ||
	    !sampler_count(d->sampler))
		return 0;
	int rc = ticker_new(&d->env, d->sample, &d->ticker, err);
	d->env.ticker = d->ticker;
	return rc;
}

/* A stop that was published by now ends its step in this tick. */
static void before_tick(void *arg)
{
	struct daemon *d = arg;

	if (d->has_ring)
		ingest_tick(&d->ingest, 0);
}

int daemon_energy_start(struct daemon *d, struct err *err)
{
	if (!d->ticker)
		return 0;
	const struct tick_thread_params p = {
		.env = &d->env,
		.ticker = d->ticker,
		.sampler = d->sampler,
		.interval_ms = d->options.energy_interval_ms,
		.lock = &d->lock,
		.before = before_tick,
		.arg = d,
	};
	return tick_thread_start(&p, &d->tick_thread, err);
}

void daemon_energy_close(struct daemon *d)
{
	tick_thread_stop(d->tick_thread);
	ticker_free(d->ticker);
}
