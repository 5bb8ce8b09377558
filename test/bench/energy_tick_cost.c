/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What one energy tick costs the daemon: a real unit table of 100 running jobs with a
 * step each, two packages with dram, a host sensor, the page. No control group is read
 * here (test/bench/energy_tick does). Prints JSON lines. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/options.h"
#include "daemon/sources/sampler.h"
#include "daemon/ticker/energy_page_fill.h"
#include "daemon/ticker/ticker.h"
#include "daemon/units.h"
#include "lib/clock.h"
#include "lib/log.h"

#define UNITS 100u
#define ROUNDS 2000u

static uint64_t now_ns = 1000 * NSEC_PER_SEC;

static uint64_t boottime(void)
{
	return now_ns;
}

static int sensor_open(const struct env *env, void **ret_state, struct err *err)
{
	(void)env;
	(void)err;
	*ret_state = &now_ns;
	return 0;
}

static int sensor_sample(void *state, struct source_snapshot *out, struct err *err)
{
	static const enum source_domain domains[] = {
		SOURCE_DOMAIN_PACKAGE, SOURCE_DOMAIN_PACKAGE, SOURCE_DOMAIN_DRAM,
		SOURCE_DOMAIN_DRAM, SOURCE_DOMAIN_HOST};
	(void)state;
	(void)err;
	for (uint32_t i = 0; i < sizeof(domains) / sizeof(domains[0]); i++) {
		struct source_channel *c = source_snapshot_add(out);
		if (!c)
			return -1;
		c->domain = domains[i];
		c->index = i;
		c->value = now_ns / NSEC_PER_SEC * (200000003 + i * 77);
		c->measured_ns = now_ns;
	}
	return 0;
}

static void sensor_close(void *state)
{
	(void)state;
}

static const struct source sensor = {.name = "cray_pm_counters",
				     .open = sensor_open,
				     .sample = sensor_sample,
				     .close = sensor_close};

static void start_units(struct units *u)
{
	for (uint32_t i = 0; i < UNITS; i++) {
		struct record r;
		record_init(&r, RECORD_STEP_START, MANAGER_SLURM);
		(void)snprintf(r.unit, sizeof(r.unit), "%u", 1000 + i);
		r.cpus = r.step_cpus = 1;
		r.stepd_pid = 1000 + i;
		r.memory_bytes = 1ull << 30;
		r.boottime_ns = now_ns;
		if (units_apply(u, &r, i, now_ns, now_ns, NULL) < 0)
			exit(1);
	}
}

static int compare(const void *a, const void *b)
{
	const double *x = a, *y = b;
	return *x < *y ? -1 : *x > *y;
}

static void put(const char *metric, double *us, size_t n, const char *reach)
{
	qsort(us, n, sizeof(*us), compare);
	double p50 = us[n / 2];
	printf("{\"bench\":\"energy_tick\",\"metric\":\"%s\",\"value\":%.1f,"
	       "\"p99\":%.1f,\"unit\":\"us\",\"reach\":%s,\"ok\":%s}\n",
	       metric, p50, us[n * 99 / 100], reach,
	       strcmp(reach, "null") == 0 ? "null"
	       : p50 < 150                ? "true"
					  : "false");
}

int main(void)
{
	static double tick_us[ROUNDS], page_us[ROUNDS];
	static char empty[] = "";
	char folder[] = "/tmp/ceems-bench.XXXXXX", path[64];
	struct options options = {.energy_interval_ms = 1000,
				  .energy_idle_watts = empty};
	struct env env = {.options = &options,
			  .hostname = "bench",
			  .boottime_ns = boottime,
			  .realtime_ns = clock_realtime_ns,
			  .cgroupfd = -1,
			  .sysfd = -1};
	const struct source *sources[] = {&sensor};
	struct energy_page_writer *writer = NULL;
	struct ticker *ticker = NULL;
	bool made_new;
	struct err err = {""};

	log_init("bench", LOG_LOGFMT, LOG_ERR);
	if (!mkdtemp(folder))
		return 1;
	int dir = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	env.procfd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	(void)snprintf(path, sizeof(path), "%s/energy", folder);
	if (units_open(dir, 4096, &env.units, &made_new, &err) < 0 ||
	    sampler_new(&env, 1000, sources, 1, &env.sampler, &err) < 0 ||
	    ticker_new(&env, NULL, &ticker, &err) < 0 ||
	    energy_page_writer_open(path, ENERGY_PAGE_ROWS_DEFAULT, &writer, &err) <
		    0) {
		fprintf(stderr, "%s\n", err.text);
		return 1;
	}
	env.ticker = ticker;
	struct energy_page_fill *fill = energy_page_fill_new(&env, NULL, writer);
	start_units(env.units);
	size_t n = 0;
	for (uint32_t k = 0; k < ROUNDS + 1; k++) {
		now_ns += NSEC_PER_SEC;
		for (uint32_t s = 0; s < UNITS; s++) {
			struct unit_totals t = {.cpu_user_ns = k * 912345678ull + s};
			units_step_reading(env.units, s, &t);
		}
		sampler_run(env.sampler);
		uint64_t from = clock_read_ns(CLOCK_PROCESS_CPUTIME_ID);
		if (!ticker_due(ticker) || ticker_run(ticker, &err) < 0) {
			fprintf(stderr, "tick %u: %s\n", k, err.text);
			return 1;
		}
		uint64_t ticked = clock_read_ns(CLOCK_PROCESS_CPUTIME_ID);
		if (energy_page_fill_tick(fill, &err) < 0)
			return 1;
		if (!k)
			continue;
		page_us[n] =
			(double)(clock_read_ns(CLOCK_PROCESS_CPUTIME_ID) - ticked) /
			1e3;
		tick_us[n++] = (double)(ticked - from) / 1e3;
	}
	put("one tick with 100 units, 2 packages, dram and host: CPU p50", tick_us, n,
	    "\"< 150\"");
	put("writing the energy page of it: CPU p50", page_us, n, "null");
	energy_page_fill_free(fill);
	energy_page_writer_free(writer);
	ticker_free(ticker);
	sampler_free(env.sampler);
	units_close(env.units);
	(void)unlinkat(dir, "energy", 0);
	(void)unlinkat(dir, UNITS_PATH_NAME, 0);
	close(dir);
	close(env.procfd);
	return rmdir(folder) < 0;
}
