/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Energy lost when RAPL counters wrap: six hours at 350 W on powercap files of ours,
 * sampled as ceemsd's sampler would at each --energy.interval, beside what a Prometheus
 * gets that scrapes the raw counter at the same pace and takes each fall for a reset to
 * 0 (as with the peer). Time is simulated, the files and the source are real. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/options.h"
#include "daemon/sources/energy_counter.h"
#include "daemon/sources/sampler.h"
#include "lib/clock.h"
#include "lib/fs.h"

#define SPAN_MS (6 * 3600000ull)
#define POWER_W 350

static uint64_t now_ns;

static uint64_t fake_clock(void)
{
	return now_ns;
}

static _Noreturn void die(const char *what)
{
	perror(what);
	exit(1);
}

static void write_file(const char *dir, const char *name, uint64_t v)
{
	char path[256], text[32];
	int n = snprintf(text, sizeof(text), "%llu\n", (unsigned long long)v);

	(void)snprintf(path, sizeof(path), "%s/%s", dir, name);
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (fd < 0 || write(fd, text, (size_t)n) != n)
		die(path);
	close(fd);
}

static void make_tree(char *root, size_t size, char *zone, size_t zone_size)
{
	char path[192];

	(void)snprintf(root, size, "/tmp/ceems-rapl-wrap-XXXXXX");
	if (!mkdtemp(root))
		die("mkdtemp");
	(void)snprintf(path, sizeof(path), "%s/class", root);
	if (mkdir(path, 0755) < 0)
		die(path);
	(void)snprintf(path, sizeof(path), "%s/class/powercap", root);
	if (mkdir(path, 0755) < 0)
		die(path);
	(void)snprintf(zone, zone_size, "%s/class/powercap/intel-rapl:0", root);
	if (mkdir(zone, 0755) < 0)
		die(zone);
	(void)snprintf(path, sizeof(path), "%s/name", zone);
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	if (fd < 0 || write(fd, "package-0\n", 10) != 10)
		die(path);
	close(fd);
}

struct hardware {
	uint64_t unit_nj, used_nj;
};

static uint64_t hardware_uj(const struct hardware *h)
{
	return (h->used_nj / h->unit_nj & UINT32_MAX) * h->unit_nj / 1000;
}

static uint64_t counted_uj(struct sampler *s)
{
	struct source_snapshot snap = {0};
	uint64_t uj = 0;

	if (sampler_get(s, &source_rapl, &snap, NULL) < 0)
		die("rapl");
	for (size_t i = 0; i < snap.count; i++) {
		if (snap.channels[i].kind == SOURCE_ENERGY)
			uj = snap.channels[i].value;
	}
	source_snapshot_done(&snap);
	return uj;
}

static void report(uint64_t unit_nj, uint64_t tick_ms, const char *what, double value,
		   const char *unit, const char *rest)
{
	printf("{\"bench\":\"rapl_wrap\",\"metric\":\"%s_%s_%llus\",\"value\":%.6g,"
	       "\"unit\":\"%s\"%s}\n",
	       what, unit_nj > 30000 ? "262kJ" : "65kJ",
	       (unsigned long long)tick_ms / 1000, value, unit, rest);
}

/* One run */
static void run(uint64_t unit_nj, uint64_t tick_ms)
{
	struct hardware h = {unit_nj, 1000000007ull * unit_nj};
	const struct source *source = &source_rapl;
	struct options options = {.path_sysfs = (char *)"/sys"};
	struct env env = {.options = &options,
			  .boottime_ns = fake_clock,
			  .realtime_ns = fake_clock};
	char root[64], zone[128], command[96];
	struct sampler *s;

	make_tree(root, sizeof(root), zone, sizeof(zone));
	write_file(zone, "max_energy_range_uj", UINT32_MAX * unit_nj / 1000);
	write_file(zone, "energy_uj", hardware_uj(&h));
	now_ns = NSEC_PER_SEC;
	env.sysfd = fs_opendir_at(AT_FDCWD, root, NULL);
	if (sampler_new(&env, tick_ms, &source, 1, &s, NULL) < 0)
		die("sampler");
	sampler_run(s);
	uint64_t start_nj = h.used_nj, last_uj = hardware_uj(&h), raw_uj = 0, turns = 0,
		 scrape_ms = 0;
	for (uint64_t ms = 0; ms < SPAN_MS;) {
		uint64_t step_ms = sampler_period_ms(s, source);
		ms += step_ms;
		h.used_nj += POWER_W * 1000000ull * step_ms;
		now_ns += step_ms * NSEC_PER_MSEC;
		write_file(zone, "energy_uj", hardware_uj(&h));
		sampler_run(s);
		scrape_ms += step_ms;
		if (scrape_ms < tick_ms)
			continue;
		scrape_ms = 0;
		uint64_t uj = hardware_uj(&h);
		turns += uj < last_uj;
		raw_uj += uj < last_uj ? uj : uj - last_uj;
		last_uj = uj;
	}
	double used = (double)(h.used_nj - start_nj) / 1e9;
	double lost = used - (double)counted_uj(s) / 1e6;
	/* beyond the unit of the register at either end, a microjoule a turn */
	bool ok = lost < 2.0 * (double)unit_nj / 1e9 + 1e-6 * ((double)turns + 2) &&
		  lost > -0.001;
	report(unit_nj, tick_ms, "lost", lost < 0.001 && lost > -0.001 ? 0 : lost, "J",
	       ok ? ",\"reach\":\"0 J\",\"ok\":true"
		  : ",\"reach\":\"0 J\",\"ok\":false");
	report(unit_nj, tick_ms, "raw_counter_lost",
	       100 * (1 - (double)raw_uj / 1e6 / used), "%", "");
	sampler_free(s);
	close(env.sysfd);
	(void)snprintf(command, sizeof(command), "rm -rf %s", root);
	if (system(command) != 0)
		die(command);
}

int main(void)
{
	static const uint64_t units_nj[] = {61035, 15258}; /* 262 and 65.5 kJ a turn */
	static const uint64_t ticks_ms[] = {1000, 15000, 30000, 60000};

	for (size_t u = 0; u < 2; u++) {
		for (size_t i = 0; i < sizeof(ticks_ms) / sizeof(ticks_ms[0]); i++)
			run(units_nj[u], ticks_ms[i]);
	}
	return 0;
}
