/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Connects ceemsd with its energy ticks. */
#include "daemon/daemon_energy.h"

#include <stdio.h>

#include "daemon/groups/unit_activity.h"
#include "lib/log.h"

/* Without a page only Slurm's accounting of energy is missing. */
static void open_page(struct daemon *d)
{
	char path[4096];
	struct err err = {""};

	int n = snprintf(path, sizeof(path), "%s/energy", d->options.path_rundir);
	if (n < 0 || (size_t)n >= sizeof(path))
		return;
	int rc =
		energy_page_writer_open(path, ENERGY_PAGE_ROWS_DEFAULT, &d->page, &err);
	if (rc == 0 && d->privileges.drop)
		rc = energy_page_writer_chown(d->page, d->privileges.uid,
					      d->privileges.gid, &err);
	if (rc == 0)
		d->energy_page_fill = energy_page_fill_new(&d->env, d->sample, d->page);
	if (rc < 0)
		log_warn("%s: %s: no energy for Slurm's accounting", path, err.text);
}

int daemon_energy_open(struct daemon *d, struct err *err)
{
	if (!options_collector(&d->options, "energy") || !d->units ||
	    !sampler_count(d->sampler))
		return 0;
	int rc = ticker_new(&d->env, d->sample, &d->ticker, err);
	d->env.ticker = d->ticker;
	if (rc == 0 && d->options.energy_activity)
		rc = unit_activity_new(&d->env, &d->unit_activity, err);
	if (rc == 0 && d->unit_activity)
		d->env.activity_ppm = unit_activity_ppm(d->unit_activity);
	if (rc == 0)
		open_page(d);
	return rc;
}

/* Stops published by now end their steps in this tick. */
static void before_tick(void *arg)
{
	struct daemon *d = arg;

	if (d->has_ring)
		ingest_tick(&d->ingest, 0);
	if (d->unit_activity)
		unit_activity_look(d->unit_activity);
}

static void after_tick(void *arg)
{
	struct daemon *d = arg;
	struct err err = {""};

	if (!d->energy_page_fill)
		return;
	int rc = energy_page_fill_tick(d->energy_page_fill, &err);
	if (rc < 0 && log_repeat_due(&d->page_log, d->env.boottime_ns()))
		log_warn("energy page: %s: it still shows the tick before",
			 err_text(&err));
	else if (rc == 0 && log_repeat_over(&d->page_log))
		log_info("energy page: is written again");
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
		.after = after_tick,
		.arg = d,
	};
	return tick_thread_start(&p, &d->tick_thread, err);
}

void daemon_energy_close(struct daemon *d)
{
	tick_thread_stop(d->tick_thread);
	energy_page_fill_free(d->energy_page_fill);
	energy_page_writer_free(d->page);
	ticker_free(d->ticker);
	unit_activity_free(d->unit_activity);
}
