/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_TEST_UNIT_REPORTER_FIXTURE_H
#define CEEMS_TEST_UNIT_REPORTER_FIXTURE_H

/* A reporter over a unit table, with a clock that the test moves, and all that it told.
 */

#include <errno.h>

#include "daemon/reports/reporter.h"
#include "daemon/units_energy.h"
#include "test/unit/units_fixture.h"

#define INTERVAL (300 * SEC)
#define KEPT 4096u

static struct reporter *reporter;
static struct report_batch batch;
static struct report r; /* scratch */
static struct err err;

/* Everything that came into the spool, without steps, as the aggregator keeps it */
struct heard {
	uint8_t type;
	bool provisional;
	uint64_t instance, t0_ns, t1_ns, observed_ns, ended_ns;
	uint64_t cpu_ns, uj;
	uint32_t steps, crc_at; /* of the encoded bytes */
	size_t len;
	unsigned char bytes[600];
};
static struct heard heard[KEPT];
static uint32_t heard_count;
static uint32_t steps_told;

static inline const char *source_name(uint32_t tag)
{
	return tag == 1 ? "rapl" : tag == 2 ? "redfish" : "model";
}

static inline void reporter_open(void)
{
	const struct reporter_params p = {
		.units = u,
		.who = {.cluster = "c",
			.hostname = "n1",
			.boot_id = "boot",
			.source_name = source_name},
		.interval_ns = INTERVAL,
	};

	reporter_free(reporter);
	reporter = NULL;
	assert_int_equal(reporter_new(&p, now, &reporter, &err), 0);
}

static inline void begin(uint32_t capacity)
{
	reporter_free(reporter);
	reporter = NULL;
	fresh(capacity);
	heard_count = steps_told = 0;
	reporter_open();
}

/* The daemon was killed and came back. */
static inline void restart(void)
{
	reporter_free(reporter);
	reporter = NULL;
	reopen();
	reporter_open();
}

static inline void keep(const struct report_item *item)
{
	if (report_decode(batch.data + item->at, item->len, &r, &err) < 0)
		fail_msg("%s", err.text);
	assert_true(heard_count < KEPT);
	struct heard *k = &heard[heard_count++];
	*k = (struct heard){.type = r.type,
			    .provisional = r.flags & REPORT_PROVISIONAL,
			    .instance = r.instance,
			    .t0_ns = r.t0_ns,
			    .t1_ns = r.t1_ns,
			    .observed_ns = r.observed_ns,
			    .ended_ns = r.ended_ns,
			    .cpu_ns = r.use.cpu_user_ns + r.use.cpu_system_ns,
			    .steps = r.step_count,
			    .len = item->len};
	for (uint32_t e = 0; e < r.energy_count; e++)
		k->uj += r.energy[e].uj;
	steps_told += r.type == REPORT_INTERVAL ? r.step_count : 0;
	if (item->len <= sizeof(k->bytes))
		memcpy(k->bytes, batch.data + item->at, item->len);
}

/* One second's work; the spool takes at most so many records. */
static inline void work_most(uint32_t most)
{
	reporter_round(reporter, now);
	for (unsigned turn = 0;; turn++) {
		assert_true(turn < 1000);
		reporter_gather(reporter, &batch, now);
		uint32_t n = batch.count < most ? batch.count : most;
		for (uint32_t i = 0; i < n; i++)
			keep(&batch.items[i]);
		reporter_settle(reporter, &batch, n);
		if (n < batch.count || !batch.more)
			return;
	}
}

static inline void work(void)
{
	work_most(UINT32_MAX);
}

static inline void work_until(uint64_t then)
{
	for (; now < then; now += SEC)
		work();
	now = then;
	work();
}

static inline uint32_t count(enum report_type type)
{
	uint32_t n = 0;
	for (uint32_t i = 0; i < heard_count; i++)
		n += heard[i].type == type;
	return n;
}

/* The newest of a type */
static inline const struct heard *last(enum report_type type)
{
	for (uint32_t i = heard_count; i-- > 0;)
		if (heard[i].type == type)
			return &heard[i];
	fail_msg("no %s report", report_type_name(type));
	return NULL;
}

/* What the aggregator makes of it: intervals by (instance, t0), the first one counts,
 * windows side by side, and their sums are the last final's. */
static inline void assert_adds_up(uint64_t instance)
{
	const struct heard *final = NULL;
	uint64_t cpu_ns = 0, uj = 0, at = 0, observed_ns = 0;

	for (uint32_t i = 0; i < heard_count; i++) {
		const struct heard *k = &heard[i];
		if (k->instance != instance)
			continue;
		if (k->type == REPORT_FINAL)
			final = k;
		if (k->type != REPORT_INTERVAL)
			continue;
		if (at && k->t0_ns < at) { /* again: the same to the byte */
			uint32_t j = 0;
			while (heard[j].type != REPORT_INTERVAL ||
			       heard[j].instance != instance ||
			       heard[j].t0_ns != k->t0_ns)
				j++;
			assert_int_equal(heard[j].t1_ns, k->t1_ns);
			assert_int_equal(heard[j].cpu_ns, k->cpu_ns);
			assert_int_equal(heard[j].uj, k->uj);
			continue;
		}
		if (at)
			assert_int_equal(k->t0_ns, at);
		assert_true(k->observed_ns <= k->t1_ns - k->t0_ns);
		at = k->t1_ns;
		cpu_ns += k->cpu_ns;
		uj += k->uj;
		observed_ns += k->observed_ns;
	}
	assert_non_null(final);
	assert_int_equal(observed_ns, final->observed_ns);
	assert_false(final->provisional);
	assert_int_equal(cpu_ns, final->cpu_ns);
	assert_int_equal(uj, final->uj);
}

/* ---- energy ---------------------------------------------------------------------- */

static struct energy_config config;
static struct energy_work energy_work;
static uint64_t ticked;

/* Divides uj of the package since the last tick by CPU time. */
static inline void tick(uint64_t uj)
{
	struct energy_use uses[64];
	size_t n = 0;
	if (now <= ticked)
		return;
	struct energy_state *e = units_energy_draft(u);
	for (uint32_t i = units_next(u, 0); i != UNITS_NONE; i = units_next(u, i + 1)) {
		struct unit_energy *ue = unit_energy_draft(u, i);
		struct unit_totals sum;
		unit_total(u, i, &sum);
		uint64_t used = sum.cpu_user_ns + sum.cpu_system_ns;
		assert_true(n < 64);
		uses[n++] = (struct energy_use){
			.account = &ue->account,
			.started_ns = units_get(u, i)->started_boottime_ns,
			.ended_ns = units_get(u, i)->ended_boottime_ns,
			.cpu_ns = used - ue->charged_cpu_ns,
			.activity_ppm = ENERGY_ONE_PPM};
		ue->charged_cpu_ns = used;
	}
	struct energy_tick k = {.t0_ns = ticked,
				.t1_ns = now,
				.package = {.source = 1, .energy_uj = uj},
				.node_mcpu = 4000,
				.node_memory_kib = 1 << 20,
				.host_fresh = true};
	e->leavers = 0;
	assert_int_equal(
		energy_tick(&e->node, &config, &k, uses, n, &energy_work, &err), 0);
	units_energy_commit(u);
	units_energy_ticking(u, true);
	ticked = now;
}

static inline void energy_on(void)
{
	energy_config_defaults(&config);
	config.idle = ENERGY_IDLE_USAGE;
	for (int d = 0; d < ENERGY_DOMAINS; d++)
		config.idle_uw[d] = 0;
	ticked = now;
}

static inline int end_reporter(void **state)
{
	reporter_free(reporter);
	energy_work_done(&energy_work);
	return teardown(state);
}

#endif
