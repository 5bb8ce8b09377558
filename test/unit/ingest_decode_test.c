/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "aggregator/ingest/ingest_decode.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/clock.h"
#include "lib/records/batch.h"
#include "lib/rfc3339.h"
#include "test/fake/starve.h"
#include "test/unit/unit.h"

#define NOW_S 1800000000ull
#define HOUR_S 3600ull

static struct err err;
static const struct ingest_rules rules = {
	.now_ns = NOW_S * NSEC_PER_SEC,
	.oldest_ns = (NOW_S - 30 * 86400) * NSEC_PER_SEC,
};

static void make(struct report *r, uint8_t type, uint64_t t0_s, uint64_t t1_s)
{
	report_init(r, type, MANAGER_SLURM);
	r->step_count = 0;
	r->instance = 7;
	snprintf(r->cluster, sizeof(r->cluster), "c");
	snprintf(r->node, sizeof(r->node), "n");
	snprintf(r->unit, sizeof(r->unit), "1");
	r->started_ns = t0_s * NSEC_PER_SEC;
	r->t0_ns = t0_s * NSEC_PER_SEC;
	r->t1_ns = t1_s * NSEC_PER_SEC;
	r->observed_ns = r->t1_ns - r->t0_ns;
	r->use.known = REPORT_HAS_CPU | REPORT_HAS_MEMORY_AVERAGE;
}

static void an_interval_over_hours_is_cut_there_and_its_sum_kept(void **state)
{
	(void)state;
	static struct report r;
	struct ingest_push p = {0};
	uint64_t t0 = (NOW_S / HOUR_S - 4) * HOUR_S + 3000;

	make(&r, REPORT_INTERVAL, t0, t0 + 2 * HOUR_S + 7);
	r.use.cpu_user_ns = 1000000007;
	r.use.memory_average_bytes = 55;
	report_add_energy(&r, REPORT_PACKAGE, "rapl", 10000019);
	assert_int_equal(ingest_report(&r, &rules, &p, &err), 0);
	assert_int_equal(p.interval_count, 3);
	uint64_t ms = 0, at = t0 * NSEC_PER_SEC;
	int64_t cpu = 0, uj = 0;
	for (uint32_t i = 0; i < p.interval_count; i++) {
		const struct ingest_interval *v = &p.intervals[i];
		assert_int_equal(v->t0_ns, at);
		at += v->ms * NSEC_PER_MSEC;
		ms += v->ms;
		cpu += v->use.cpu_user_ns;
		uj += v->use.energy_uj[0];
		assert_int_equal(v->use.memory_mean_bytes, 55);
		assert_int_equal(v->use.energy_uj[1], INGEST_NULL);
	}
	assert_int_equal(ms, (2 * HOUR_S + 7) * 1000);
	assert_int_equal(cpu, 1000000007);
	assert_int_equal(uj, 10000019);
	assert_string_equal(p.labels[0], "package=rapl");
	ingest_push_done(&p);
}

/* Those of a final report are of its whole life: unit_counts has them. */
static void gpu_counters_of_an_interval_are_cut_with_it(void **state)
{
	(void)state;
	static struct report r;
	struct ingest_push p = {0};
	uint64_t t0 = (NOW_S / HOUR_S - 4) * HOUR_S + 3000;
	const unsigned dram = COUNT_GPU_FIGURES - 1;

	make(&r, REPORT_INTERVAL, t0, t0 + 900);
	report_count_set(&r.counts, COUNT_GPU_FIGURE, 450000 * NSEC_PER_MSEC);
	report_count_set(&r.counts, COUNT_GPU_FIGURE + dram, 0);
	assert_int_equal(ingest_report(&r, &rules, &p, &err), 0);
	assert_int_equal(p.interval_count, 2);
	assert_int_equal(p.intervals[0].use.gpu_active_ms[0], 300000);
	assert_int_equal(p.intervals[1].use.gpu_active_ms[0], 150000);
	assert_int_equal(p.intervals[0].use.gpu_active_ms[1], INGEST_NULL);
	assert_int_equal(p.intervals[1].use.gpu_active_ms[dram], 0);
	assert_int_equal(p.nodes[0].counts, 0);
	report_count_set(&r.counts, COUNT_GPU_FIGURE, 2000000 * NSEC_PER_SEC);
	assert_int_equal(ingest_report(&r, &rules, &p, &err), -EINVAL);
	ingest_push_done(&p);
}

static void what_is_not_known_is_not_zero(void **state)
{
	(void)state;
	static struct report r;
	struct ingest_push p = {0};

	make(&r, REPORT_INTERVAL, NOW_S - 600, NOW_S - 300);
	r.use.known = 0;
	assert_int_equal(ingest_report(&r, &rules, &p, &err), 0);
	assert_int_equal(p.intervals[0].use.cpu_user_ns, INGEST_NULL);
	assert_int_equal(p.intervals[0].use.io_read_bytes, INGEST_NULL);
	assert_int_equal(p.intervals[0].use.energy_uj[4], INGEST_NULL);
	assert_int_equal(p.intervals[0].use.label, -1);
	ingest_push_done(&p);
}

#define BOOT "11111111-2222-3333-4444-555555555555"

static void an_instance_is_told_of_by_its_node_alone(void **state)
{
	(void)state;
	static struct report r;
	struct ingest_push p = {.has_clock = true,
				.clock = {.node = "n",
					  .boot_id = BOOT,
					  .boottime_ns = 7200 * NSEC_PER_SEC,
					  .realtime_ns = NOW_S * NSEC_PER_SEC}};
	struct ingest_rules with = rules;

	with.known = known_new(16);
	assert_non_null(with.known);
	known_put(with.known, 7,
		  (struct known_place){.owner = known_owner(with.known, "c", "n")});
	make(&r, REPORT_INTERVAL, NOW_S - 600, NOW_S - 300);
	snprintf(r.boot_id, sizeof(r.boot_id), "%s", BOOT);
	r.started_boottime_ns = (7200 - 600) * NSEC_PER_SEC;
	assert_int_equal(ingest_report(&r, &with, &p, &err), 0);
	assert_int_equal(p.interval_count, 1);
	assert_int_equal(p.node_count, 0); /* the database knows the rest */
	for (int i = 0; i < 2; i++) {
		make(&r, i ? REPORT_FINAL : REPORT_INTERVAL, NOW_S - 600, NOW_S - 300);
		snprintf(r.node, sizeof(r.node), "m");
		assert_int_equal(ingest_report(&r, &with, &p, &err), -EINVAL);
	}
	assert_int_equal(p.foreign_count, 1);
	assert_string_equal(ingest_push_text(&p, p.foreign[0].node), "m");
	make(&r, REPORT_INTERVAL, NOW_S - 600, NOW_S - 300);
	snprintf(r.cluster, sizeof(r.cluster), "d");
	assert_int_equal(ingest_report(&r, &with, &p, &err), -EINVAL);
	assert_int_equal(p.interval_count, 1);
	assert_int_equal(p.node_count, 0);
	/* whose it is, is not known here: the row says who told of it */
	known_put(with.known, 7, (struct known_place){0});
	make(&r, REPORT_INTERVAL, NOW_S - 600, NOW_S - 300);
	assert_int_equal(ingest_report(&r, &with, &p, &err), 0);
	assert_int_equal(p.interval_count, 2);
	assert_int_equal(p.node_count, 1);
	/* only a wall clock knows it: another aggregator may have moved it back */
	known_put(with.known, 7,
		  (struct known_place){.owner = known_owner(with.known, "c", "n")});
	make(&r, REPORT_INTERVAL, NOW_S - 600, NOW_S - 300);
	assert_int_equal(ingest_report(&r, &with, &p, &err), 0);
	assert_int_equal(p.node_count, 2);
	known_free(with.known);
	ingest_push_done(&p);
}

static void a_node_is_known_by_the_name_that_is_written(void **state)
{
	(void)state;
	static struct report r;
	struct ingest_push p = {0};
	struct ingest_rules with = rules;

	with.known = known_new(16);
	assert_non_null(with.known);
	known_put(with.known, 7,
		  (struct known_place){.owner = known_owner(with.known, "c", "n?")});
	for (int i = 0; i < 2; i++) {
		make(&r, REPORT_FINAL, NOW_S - 600, NOW_S - 300);
		snprintf(r.node, sizeof(r.node), "n\xff");
		assert_int_equal(ingest_report(&r, &with, &p, &err), 0);
	}
	assert_int_equal(p.node_count, 2);
	assert_string_equal(ingest_push_text(&p, p.nodes[0].node), "n?");
	assert_int_equal(p.seen_count, 1);
	make(&r, REPORT_FINAL, NOW_S - 600, NOW_S - 300);
	assert_int_equal(ingest_report(&r, &with, &p, &err), -EINVAL);
	known_free(with.known);
	ingest_push_done(&p);
}

static void a_new_instance_is_of_the_node_that_told_of_it_first(void **state)
{
	(void)state;
	static struct report r;
	static const struct {
		const char *cluster, *node;
		uint64_t instance;
		int rc;
	} told[] = {{"c", "n", 7, 0},       {"c", "m", 7, -EINVAL}, {"c", "m", 8, 0},
		    {"d", "n", 7, -EINVAL}, {"c", "n", 8, -EINVAL}, {"c", "n", 7, 0},
		    {"c", "m", 8, 0}};
	struct ingest_push p = {0};

	for (size_t i = 0; i < sizeof(told) / sizeof(told[0]); i++) {
		make(&r, i ? REPORT_FINAL : REPORT_START, NOW_S - 60, NOW_S - 30);
		r.instance = told[i].instance;
		snprintf(r.cluster, sizeof(r.cluster), "%s", told[i].cluster);
		snprintf(r.node, sizeof(r.node), "%s", told[i].node);
		assert_int_equal(ingest_report(&r, &rules, &p, &err), told[i].rc);
		assert_true(!told[i].rc || strstr(err.text, "by another node"));
	}
	assert_int_equal(p.node_count, 4);
	assert_int_equal(p.seen_count, 2);
	assert_int_equal(p.foreign_count, 2);
	ingest_push_done(&p);
}

static void names_of_steps_are_kept_as_they_came(void **state)
{
	(void)state;
	static struct report r;
	struct ingest_push p = {0};

	make(&r, REPORT_INTERVAL, NOW_S - 600, NOW_S - 300);
	r.steps[0] = (struct report_step){.step = 3, .command = "burn", .label = "a b"};
	r.steps[1] = (struct report_step){.step = RECORD_STEP_BATCH};
	r.step_count = 2;
	assert_int_equal(ingest_report(&r, &rules, &p, &err), 0);
	assert_int_equal(p.step_count, 2);
	assert_string_equal(ingest_push_text(&p, p.steps[0].command), "burn");
	assert_string_equal(ingest_push_text(&p, p.steps[0].label), "a b");
	assert_null(ingest_push_text(&p, p.steps[1].command));
	assert_null(ingest_push_text(&p, p.steps[1].label));
	ingest_push_done(&p);
}

static void refused(struct report *r, const char *why)
{
	struct ingest_push p = {.has_clock = true};

	/* of this boot: its age is known */
	p.clock.boottime_ns = 40 * 86400 * NSEC_PER_SEC;
	p.clock.realtime_ns = NOW_S * NSEC_PER_SEC;
	snprintf(p.clock.boot_id, sizeof(p.clock.boot_id), "b");
	snprintf(r->boot_id, sizeof(r->boot_id), "b");
	r->started_boottime_ns =
		p.clock.boottime_ns - (p.clock.realtime_ns - r->started_ns);
	assert_int_equal(ingest_report(r, &rules, &p, &err), -EINVAL);
	if (!strstr(err.text, why))
		fail_msg("'%s' does not say '%s'", err.text, why);
	ingest_push_done(&p);
}

static void what_cannot_be_is_refused_with_a_reason(void **state)
{
	(void)state;
	static struct report r;

	make(&r, REPORT_INTERVAL, NOW_S - 31 * 86400, NOW_S - 31 * 86400 + 300);
	refused(&r, "older");
	make(&r, REPORT_INTERVAL, NOW_S - 600, NOW_S - 300);
	r.use.cpu_user_ns = UINT64_MAX;
	refused(&r, "CPU time");
	make(&r, REPORT_INTERVAL, NOW_S - 600, NOW_S - 300);
	report_add_energy(&r, REPORT_HOST, "x", UINT64_MAX);
	report_add_energy(&r, REPORT_HOST, "y", UINT64_MAX);
	refused(&r, "host");
	make(&r, REPORT_START, NOW_S, NOW_S);
	r.steps[0] = (struct report_step){.ended_ns = UINT64_MAX};
	r.step_count = 1;
	refused(&r, "an impossible time");
}

static void a_clock_an_hour_ahead_still_counts(void **state)
{
	(void)state;
	static struct report r;
	struct ingest_push p = {0};

	make(&r, REPORT_INTERVAL, NOW_S + 3300, NOW_S + 3600);
	assert_int_equal(ingest_report(&r, &rules, &p, &err), 0);
	ingest_push_done(&p);
}

static void texts_are_utf8_whatever_came(void **state)
{
	(void)state;
	struct ingest_push p = {0};

	ingest_text t = ingest_push_put(&p, "a\xff\xc3\xa9\xc3", 5);
	assert_string_equal(ingest_push_text(&p, t), "a?\xc3\xa9?");
	assert_int_equal(ingest_push_put(&p, "", 0), 0);
	ingest_push_done(&p);
}

static void a_job_becomes_columns_of_unit(void **state)
{
	(void)state;
	struct ingest_push p = {0};
	struct job j;

	job_init(&j);
	j.job_id = 5;
	j.cluster = "c";
	j.user = "o'hara\"";
	j.submit_s = 1000;
	j.start_s = 2000;
	j.end_s = 3000;
	j.state = JOB_STATE_COMPLETED;
	j.event = JOB_EVENT_ENDED;
	j.tres_allocated = "cpu=4,mem=8G,gres/gpu=2";
	assert_int_equal(ingest_job(&j, &rules, &p, &err), 0);
	const char *record = ingest_push_text(&p, p.jobs[0].record);
	assert_non_null(strstr(record, "\"user\":\"o'hara\\\"\""));
	assert_non_null(strstr(record, "\"started\":\"1970-01-01T00:33:20Z\""));
	assert_non_null(strstr(record, "\"memory_bytes\":8589934592"));
	assert_non_null(strstr(record, "\"gpus\":2"));
	assert_null(strstr(record, "array_job"));
	assert_int_equal(p.jobs[0].part_s, 2000);
	j.end_s = 5000000000;
	assert_int_equal(ingest_job(&j, &rules, &p, &err), -EINVAL);
	ingest_push_done(&p);
}

/* A slurmctld whose clock is ahead: nothing is lost for that. */
static void a_job_of_the_future_is_moved_back_and_keeps_its_name(void **state)
{
	(void)state;
	struct ingest_push p = {0};
	struct job j;
	char text[RFC3339_BYTES], want[64];

	job_init(&j);
	j.job_id = 6;
	j.cluster = "c";
	j.submit_s = NOW_S + 86400 - 500;
	j.start_s = NOW_S + 86400 - 400;
	j.end_s = NOW_S + 86400 - 100;
	for (unsigned said = 0; said < 2; said++) {
		/* it says what its clock shows, or does not */
		p.has_clock = said;
		p.clock.realtime_ns = (NOW_S + 86400) * NSEC_PER_SEC;
		assert_int_equal(ingest_job(&j, &rules, &p, &err), 0);
		rfc3339_print(NOW_S - (said ? 400 : 300), text);
		snprintf(want, sizeof(want), "\"started\":\"%s\"", text);
		assert_non_null(
			strstr(ingest_push_text(&p, p.jobs[said].record), want));
		assert_int_equal(p.jobs[said].submitted_s, j.submit_s);
		assert_int_equal(p.jobs[said].part_s, j.start_s);
	}
	/* by a clock that nobody confirms it waits (ingest.c) */
	assert_int_equal(p.untimely, 2);
	ingest_push_done(&p);
}

static void put_report(struct batch *b, const struct report *r)
{
	static unsigned char record[REPORT_BYTES_MAX];
	int n = report_encode(r, record, sizeof(record));

	assert_true(n > 0);
	assert_int_equal(batch_add(b, record, (size_t)n), 0);
}

static int decode_pair(const struct ingest_party *from, const char *first,
		       const char *second, struct ingest_push *ret)
{
	auto_buf struct buf scratch = BUF_INIT;
	struct batch body = {0};
	struct ingest_cluster only_b;
	const struct ingest_may may = {
		.clusters = &only_b, .cluster_count = 1, .party = from};
	static struct report r;
	struct ingest_rules some = rules;

	assert_int_equal(ingest_cluster_parse("b", &only_b, &err), 0);
	some.may = &may;
	batch_begin(&body, 0);
	make(&r, REPORT_START, NOW_S, NOW_S);
	snprintf(r.cluster, sizeof(r.cluster), "%s", first);
	put_report(&body, &r);
	snprintf(r.cluster, sizeof(r.cluster), "%s", second);
	put_report(&body, &r);
	int rc = ingest_decode(body.plain.data, body.plain.len, false, &some, &scratch,
			       ret, &err);
	buf_done(&body.plain);
	return rc;
}

static void what_one_may_not_send_is_refused_alone(void **state)
{
	(void)state;
	struct ingest_party from = {.kind = PARTY_TOKEN, .reports = true};
	struct ingest_push p = {0};

	assert_int_equal(decode_pair(&from, "a", "b", &p), 0);
	assert_int_equal(p.accepted, 1);
	assert_int_equal(p.refused, 1);
	assert_int_equal(p.refusals[0].index, 0);
	assert_non_null(strstr(p.refusals[0].reason, "this cluster is not allowed"));
	ingest_push_done(&p);
	/* all of it: nothing is given up for a wrong word in a configuration */
	assert_int_equal(decode_pair(&from, "a", "c", &p), -EPERM);
	assert_non_null(strstr(err.text, "this cluster is not allowed"));
	ingest_push_done(&p);
}

static void counts_become_json_and_impossible_ones_are_not_known(void **state)
{
	(void)state;
	static struct report r;
	struct batch b = {0};
	struct ingest_push p;
	auto_buf struct buf scratch = BUF_INIT;

	make(&r, REPORT_FINAL, NOW_S - 7000, NOW_S - 10);
	r.ended_ns = r.t1_ns;
	r.end = REPORT_END_COMPLETED;
	report_count_set(&r.counts, COUNT_MAJOR_FAULTS, 0);
	report_count_set(&r.counts, COUNT_MINOR_FAULTS, INT64_MAX);
	batch_begin(&b, 0);
	put_report(&b, &r);
	for (unsigned i = 0; i < COUNT_FILES; i++)
		report_count_set(&r.counts, COUNT_READ_BYTES + i, i);
	snprintf(r.mounts[0].path, sizeof(r.mounts[0].path), "/a \"b\"");
	r.mount_count = 1;
	put_report(&b, &r);
	r.mounts[0].values[COUNT_WRITE_BYTES] = INT64_MAX;
	put_report(&b, &r);
	assert_int_equal(ingest_decode(b.plain.data, b.plain.len, false, &rules,
				       &scratch, &p, &err),
			 0);
	assert_int_equal(p.node_count, 3);
	assert_string_equal(ingest_push_text(&p, p.nodes[0].counts),
			    "{\"major_faults\":0}");
	assert_null(ingest_push_text(&p, p.nodes[0].mounts));
	assert_string_equal(ingest_push_text(&p, p.nodes[1].counts),
			    "{\"read_bytes\":0,\"read_calls\":1,\"read_errors\":2,"
			    "\"write_bytes\":3,"
			    "\"write_calls\":4,\"write_errors\":5,\"major_faults\":0}");
	assert_string_equal(
		ingest_push_text(&p, p.nodes[1].mounts),
		"[{\"path\":\"/a \\\"b\\\"\",\"read_bytes\":0,\"read_calls\":0,"
		"\"read_errors\":0,\"write_bytes\":0,\"write_calls\":0,"
		"\"write_errors\":0}]");
	assert_null(ingest_push_text(&p, p.nodes[2].mounts));
	ingest_push_done(&p);
	buf_done(&b.plain);
}

/* One record of each kind, and one that is refused. */
static void put_all_kinds(struct batch *b)
{
	static struct report r;
	static unsigned char record[JOB_RECORD_MAX];
	struct job j;
	int n;

	batch_begin(b, 0);
	make(&r, REPORT_START, NOW_S - 7000, NOW_S - 7000);
	snprintf(r.hints.name, sizeof(r.hints.name), "a \"name\"");
	put_report(b, &r);
	make(&r, REPORT_INTERVAL, NOW_S - 7000, NOW_S - 10);
	report_add_energy(&r, REPORT_PACKAGE, "rapl", 10000019);
	put_report(b, &r);
	make(&r, REPORT_INTERVAL, NOW_S - 31 * 86400, NOW_S - 31 * 86400 + 300);
	put_report(b, &r);
	make(&r, REPORT_FINAL, NOW_S - 7000, NOW_S - 10);
	r.ended_ns = r.t1_ns;
	r.end = REPORT_END_COMPLETED;
	r.steps[0] = (struct report_step){.started_ns = r.t0_ns, .ended_ns = r.t1_ns};
	r.step_count = 1;
	report_count_set(&r.counts, COUNT_READ_BYTES, 1);
	put_report(b, &r);
	job_init(&j);
	j.job_id = 5;
	j.cluster = "c";
	j.submit_s = j.start_s = NOW_S - 7000;
	j.end_s = NOW_S - 10;
	j.state = JOB_STATE_COMPLETED;
	j.event = JOB_EVENT_ENDED;
	j.recorded_ns = NOW_S * NSEC_PER_SEC;
	j.name = "a \"name\"";
	n = job_encode(&j, record, sizeof(record));
	assert_true(n > 0);
	assert_int_equal(batch_add(b, record, (size_t)n), 0);
}

/* What is refused never comes again: a push that finds no memory fails as a whole. */
static void without_memory_nothing_is_refused_for_good(void **state)
{
	(void)state;
	struct batch b = {0};
	bool failed = true;
	unsigned n;

	put_all_kinds(&b);
	for (n = 1; failed; n++) {
		struct ingest_push p;
		auto_buf struct buf scratch = BUF_INIT;

		starve_at(n, false);
		int rc = ingest_decode(b.plain.data, b.plain.len, false, &rules,
				       &scratch, &p, &err);
		failed = starve_end();
		if (rc != (failed ? -ENOMEM : 0))
			fail_msg("allocation %u: %d, %u of %u refused: %s", n, rc,
				 p.refused, p.records,
				 p.refusal_count ? p.refusals[0].reason : "");
		if (!failed) {
			assert_int_equal(p.accepted, 4);
			assert_int_equal(p.refused, 1);
		}
		ingest_push_done(&p);
	}
	assert_true(n > 10);
	buf_done(&b.plain);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_interval_over_hours_is_cut_there_and_its_sum_kept),
		cmocka_unit_test(gpu_counters_of_an_interval_are_cut_with_it),
		cmocka_unit_test(what_is_not_known_is_not_zero),
		cmocka_unit_test(a_node_is_known_by_the_name_that_is_written),
		cmocka_unit_test(a_new_instance_is_of_the_node_that_told_of_it_first),
		cmocka_unit_test(an_instance_is_told_of_by_its_node_alone),
		cmocka_unit_test(names_of_steps_are_kept_as_they_came),
		cmocka_unit_test(what_cannot_be_is_refused_with_a_reason),
		cmocka_unit_test(a_clock_an_hour_ahead_still_counts),
		cmocka_unit_test(what_one_may_not_send_is_refused_alone),
		cmocka_unit_test(texts_are_utf8_whatever_came),
		cmocka_unit_test(a_job_becomes_columns_of_unit),
		cmocka_unit_test(a_job_of_the_future_is_moved_back_and_keeps_its_name),
		cmocka_unit_test(counts_become_json_and_impossible_ones_are_not_known),
		cmocka_unit_test(without_memory_nothing_is_refused_for_good),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
