/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the gate costs: requests whose ownership is remembered (the queries of
 * dashboards, the same again, with other times, and for the first time); with an
 * aggregator (URL, password, user, cluster, how many of the user's units, which are
 * 10000 and up) what it takes to find out whose they are. Prints JSON lines. */
#include "lb/gate/gate.h"

#include "lib/clock.h"
#include "lib/parse.h"
#include "test/unit/gate_lab.h"

#define ROUNDS 20000u
#define COLD 20u

static const char *const queries[] = {
	"max_over_time(ceems_compute_unit_cpu_user_seconds_total{uuid=\"4711\"}[1d])",
	"sum by (uuid) "
	"(rate(ceems_compute_unit_cpu_user_seconds_total{uuid=~\"4711|4712\"}[2m]) + "
	"rate(ceems_compute_unit_cpu_system_seconds_total{uuid=~\"4711|4712\"}[2m])) / "
	"on "
	"(uuid) group_left () max by (uuid) "
	"(ceems_compute_unit_cpus{uuid=~\"4711|4712\"}) "
	"* 100",
	"sum by (uuid, hostname) (ceems_compute_unit_memory_used_bytes{uuid=\"4711\"})",
	"sum by (uuid, domain) "
	"(rate(ceems_compute_unit_energy_joules_total{uuid=~\"4711|"
	"4712\",domain=\"host\"}[1m]))",
	"avg by (provider) (ceems_emissions_gCo2_kWh{country_code=\"FR\"})",
	"uuid:ceems_cpu_usage:ratio_irate{uuid=~\"(4711|4712|4713|4714|4715|4716)\"}",
};
#define QUERIES (sizeof(queries) / sizeof(queries[0]))

static void result(const char *metric, double value, const char *unit, double reach)
{
	printf("{\"bench\":\"lb_owned\",\"metric\":\"%s\",\"value\":%.2f,\"unit\":\"%"
	       "s\","
	       "\"reach\":\"< %g\",\"ok\":%s}\n",
	       metric, value, unit, reach, value < reach ? "true" : "false");
}

/* ---- what is remembered ---------------------------------------------------------- */

static int pass(struct lab *l, const char *form)
{
	struct lab_asked a = {.r = {.input = {.path = "/api/v1/query_range",
					      .post = true,
					      .body = form,
					      .body_len = strlen(form),
					      .content_type = "application/"
							      "x-www-form-urlencoded"},
				    .cluster_headers = 1,
				    .cluster_header = "alpha"}};
	int status;

	lab_user(&a, "ann");
	a.r.facts = &a.facts;
	a.r.wake = lab_wake;
	a.r.arg = l;
	if (gate_pass(l->gate, &a.r) == GATE_WAIT) {
		pthread_mutex_lock(&l->mutex);
		while (!l->woken)
			pthread_cond_wait(&l->cond, &l->mutex);
		l->woken = false;
		pthread_mutex_unlock(&l->mutex);
		(void)gate_pass(l->gate, &a.r);
	}
	status = (int)a.r.status;
	gate_end(l->gate, &a.r);
	return status;
}

/* Of this process: others share the machine */
static uint64_t cpu_ns(void)
{
	return clock_read_ns(CLOCK_PROCESS_CPUTIME_ID);
}

enum what { THE_SAME, OTHER_TIMES, FIRST };

static double mean_us(struct lab *l, enum what what)
{
	static char forms[QUERIES][4096];
	size_t lens[QUERIES];
	uint64_t begin = 0;

	for (size_t q = 0; q < QUERIES; q++) {
		lab_form(queries[q], forms[q], 4000);
		lens[q] = strlen(forms[q]);
	}
	for (unsigned i = 0; i <= ROUNDS; i++) {
		if (i == 1)
			begin = cpu_ns();
		for (size_t q = 0; q < QUERIES; q++) {
			if (!i || what != THE_SAME)
				snprintf(forms[q] + lens[q], 90,
					 "&start=%u&end=%u&step=15&once=%u",
					 1699900000 + i, 1699903600 + i,
					 what == FIRST ? i : 0);
			if (pass(l, forms[q]))
				exit(1);
		}
	}
	return (double)(cpu_ns() - begin) / 1000 / ROUNDS / QUERIES;
}

static void warm(void)
{
	static const struct lab_run runs[] = {
		{"4711", "alpha", "ann", 0, INT64_MAX},
		{"4712", "alpha", "ann", 0, INT64_MAX},
		{"4713", "alpha", "ann", 0, INT64_MAX},
		{"4714", "alpha", "ann", 0, INT64_MAX},
		{"4715", "alpha", "ann", 0, INT64_MAX},
		{"4716", "alpha", "ann", 0, INT64_MAX},
	};
	struct lab l;

	lab_open(&l, runs, 6);
	l.site.limits.user_requests = 20;
	gate_set_site(l.gate, &l.site);
	result("gate_same_text_mean_cpu", mean_us(&l, THE_SAME), "us", 3);
	result("gate_other_times_mean_cpu", mean_us(&l, OTHER_TIMES), "us", 3);
	result("gate_first_time_mean_cpu", mean_us(&l, FIRST), "us", 10);
	lab_close(&l);
}

/* ---- cold, from an aggregator ---------------------------------------------------- */

static void woken(void *arg)
{
	lab_wake(arg);
}

static int ask_all(struct lab *l, struct ownership_cache *o, const char *user,
		   const char *cluster, struct access_claim *claims, size_t n)
{
	struct ownership_who who = {.login = user,
				    .cluster = cluster,
				    .now_ms = (int64_t)(clock_realtime_ns() / 1000000),
				    .boot_ms = clock_boottime_ns() / 1000000,
				    .rules = {60000, 5000, 300000, OWNERSHIP_SKEW_MS}};
	struct ownership_waiter w = {.wake = woken, .arg = l};
	struct ownership_question *q = NULL;
	enum ownership_role role;
	struct err err;
	int rc;

	if (!ownership_look(o, &who, claims, n))
		return 0;
	rc = ownership_ask_units(o, &who, claims, n, &w, &q, &err);
	if (!rc) {
		pthread_mutex_lock(&l->mutex);
		while (!l->woken)
			pthread_cond_wait(&l->cond, &l->mutex);
		l->woken = false;
		pthread_mutex_unlock(&l->mutex);
		rc = ownership_answered(q, claims, n, &role, &err);
		ownership_question_unref(q);
	}
	if (rc)
		fprintf(stderr, "lb_owned: %s\n", err.text);
	for (size_t i = 0; !rc && i < n; i++)
		if (claims[i].answer != ACCESS_OWN) {
			fprintf(stderr, "lb_owned: unit %.*s: %d\n",
				(int)claims[i].id.len, claims[i].id.p,
				(int)claims[i].answer);
			rc = -EACCES;
		}
	return rc;
}

static int by_time(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static int cold(char *argv[])
{
	const char *const urls[] = {argv[1]};
	struct site site = {.api = {.urls = urls,
				    .url_count = 1,
				    .user = "lb",
				    .password = argv[2]}};
	struct lab l = {.asked = 0};
	static struct access_claim claims[ACCESS_CLAIMS_MAX];
	static char text[ACCESS_CLAIMS_MAX][8];
	struct ownership_params p = {.threads = 1};
	struct ownership_cache *o = NULL;
	double ms[COLD], warm_us, cpu_ms;
	uint64_t n, begin, cpu;
	int rc;

	if (parse_u64(argv[5], &n) || n > ACCESS_CLAIMS_MAX)
		return 2;
	pthread_mutex_init(&l.mutex, NULL);
	pthread_cond_init(&l.cond, NULL);
	for (uint64_t i = 0; i < n; i++) {
		snprintf(text[i], 8, "%u", 10000 + (unsigned)i);
		claims[i] = (struct access_claim){.id = {text[i], 5}, .to_ms = 1};
		claims[i].to_ms = claims[i].from_ms =
			(int64_t)(clock_realtime_ns() / 1000000);
	}
	rc = ownership_new(&p, &o, NULL);
	if (rc || ownership_start(o, NULL))
		return 1;
	cpu = cpu_ns();
	for (unsigned i = 0; i < COLD && !rc; i++) {
		ownership_set_site(o, &site, 0);
		begin = clock_boottime_ns();
		rc = ask_all(&l, o, argv[3], argv[4], claims, n);
		ms[i] = (double)(clock_boottime_ns() - begin) / 1e6;
	}
	cpu_ms = (double)(cpu_ns() - cpu) / 1e6 / COLD;
	begin = clock_boottime_ns();
	rc = rc ? rc : ask_all(&l, o, argv[3], argv[4], claims, n);
	warm_us = (double)(clock_boottime_ns() - begin) / 1e3;
	ownership_stop(o);
	ownership_free(o);
	if (rc)
		return 1;
	qsort(ms, COLD, sizeof(ms[0]), by_time);
	result("ownership_of_10000_units_cold", ms[COLD / 2], "ms", 50);
	result("ownership_of_10000_units_cold_worst", ms[COLD - 1], "ms", 200);
	result("ownership_of_10000_units_own_cpu", cpu_ms, "ms", 50);
	result("ownership_of_10000_units_remembered", warm_us, "us", 20000);
	return 0;
}

int main(int argc, char *argv[])
{
	if (argc == 6)
		return cold(argv);
	warm();
	return 0;
}
