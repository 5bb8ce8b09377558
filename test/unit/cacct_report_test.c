/* SPDX-License-Identifier: GPL-2.0-or-later */
/* From a recorded answer of the API to the report of a job, its hints and series. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "cli/cacct/columns.h"
#include "cli/cacct/promql_range.h"
#include "cli/cacct/report.h"
#include "cli/cacct/text.h"
#include "lib/http/json.h"
#include "test/unit/cacct_answers.h"
#include "test/unit/golden.h"
#include "test/unit/unit.h"

static void read_report(struct cacct_report *r, struct json_object *page)
{
	struct json_object *row =
		json_object_array_get_idx(unit_json_at(page, "data"), 0);
	struct json_object *steps = unit_json_at(row, "steps");
	struct err err;

	memset(r, 0, sizeof(*r));
	unit_from_json(row, NOW, &r->unit);
	for (size_t i = 0; i < json_object_array_length(steps); i++)
		unit_step_from_json(&r->unit, json_object_array_get_idx(steps, i), NOW,
				    &r->steps[r->step_count++]);
	report_read_counts(r, row);
	assert_int_equal(series_add(&r->series, row, &err), 0);
	assert_int_equal(series_add(&r->series, row, &err), 0); /* once each */
}

static void report_is_as_its_golden(void **state)
{
	auto_json struct json_object *page = load_answer("units_101");
	static struct cacct_report r;
	(void)state;
	read_report(&r, page);
	assert_int_equal(r.series.count, 12);
	auto_buf struct buf text = BUF_INIT, utf8 = BUF_INIT, html = BUF_INIT,
			    csv = BUF_INIT;
	report_put_text(&r, &text);
	golden_check("cacct_report.txt", &text);
	r.utf8 = r.color = true;
	report_put_text(&r, &utf8);
	golden_check("cacct_report_utf8.txt", &utf8);
	report_put_html(&r, &html);
	golden_check("cacct_report.html", &html);
	series_put_csv(&r.series, &csv);
	golden_check("cacct_series.csv", &csv);
	/* nothing that a browser would run or fetch */
	static const char *const bad[] = {"<script", "http:",  "https:", "url(",
					  "@import", "onload", "<img",   "<link"};
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_null(strstr(html.data, bad[i]));
	series_done(&r.series);
}

/* Each hint can be followed: nobody asks for 2 MB, or for one of two CPUs to sleep. */
static void hints_have_floors(void **state)
{
	static const struct {
		double cpus, cpu_ratio, peak;
		const char *hints;
	} cases[] = {
		{2, 0.001, 1 << 20,
		 "It waited nearly all the time: its CPUs had nothing to do. Memory "
		 "was never more than half used: --mem=256M would have left a fifth "
		 "to spare. "},
		{1, 0.5, 1e9,
		 "Memory was never more than half used: --mem=1280M would have left "
		 "a fifth to spare. "},
		{16, 0.1, 4e9,
		 "About 2 of 16 CPUs had work to do: fewer would have "
		 "done. "},
		{1, 0.1, 4e9, ""},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct buf hints[REPORT_HINTS_MAX] = {{0}};
		auto_buf struct buf all = BUF_INIT;
		static struct cacct_report r;
		memset(&r, 0, sizeof(r));
		for (size_t n = 0; n < UNIT_NUMBERS; n++)
			r.unit.number[n] = NAN;
		r.unit.number[UNIT_ENDED] = NOW;
		r.unit.number[UNIT_ELAPSED_S] = 600;
		r.unit.number[UNIT_NODES] = 1;
		r.unit.number[UNIT_CPUS] = cases[i].cpus;
		r.unit.number[UNIT_CPU_RATIO] = cases[i].cpu_ratio;
		r.unit.number[UNIT_MEMORY_BYTES] = 6e9;
		r.unit.number[UNIT_MEMORY_PEAK_BYTES] = cases[i].peak;
		size_t count = report_hints(&r, hints);
		buf_puts(&all, "");
		for (size_t h = 0; h < count; h++) {
			buf_printf(&all, "%s ", hints[h].data);
			buf_done(&hints[h]);
		}
		assert_string_equal(all.len ? all.data : "", cases[i].hints);
	}
}

static const char *put_ratio_cell(const struct unit *u, const char *name,
				  struct buf *out)
{
	const struct column_style style = {0};
	struct columns c = {0};
	struct err err;

	assert_int_equal(columns_parse(name, &c, &err), 0);
	buf_reset(out);
	buf_puts(out, "");
	column_put(out, &c.use[0], u, &style);
	return out->len ? out->data : "";
}

static void events_of_cpus_are_shown_as_ratios(void **state)
{
	static const char text[] =
		"{\"cpu_seconds\": 40, \"elapsed_seconds\": 20, \"counts\": "
		"{\"cpu_cycles\": 60000000000, "
		"\"instructions\": 90000000000, \"cache_references\": 1000, "
		"\"cache_misses\": 25, \"branches\": 0, \"branch_misses\": 0, "
		"\"llc_reads\": 8, \"llc_read_misses\": 2, "
		"\"fp_operations\": 50000000000, \"dram_read_bytes\": 3145728, "
		"\"events_enabled_ns\": 20000000000}}";
	auto_json struct json_object *row = json_tokener_parse(text);
	auto_buf struct buf out = BUF_INIT;
	static struct unit u;

	(void)state;
	unit_from_json(row, NOW, &u);
	report_say_cycles(u.number, &out);
	assert_string_equal(
		out.data,
		"1.50 instructions per cycle at 3.00 GHz, 2.5% of the last "
		"cache's accesses missed, 2.50 GFLOP/s, 3.0 MiB read from memory, "
		"counted in 50% of its CPU time");
	assert_string_equal(put_ratio_cell(&u, "IPC", &out), "1.50");
	assert_string_equal(put_ratio_cell(&u, "CPUFreq", &out), "3.00");
	assert_string_equal(put_ratio_cell(&u, "CacheMissRate", &out), "2.5%");
	assert_string_equal(put_ratio_cell(&u, "LLCMissRate", &out), "25.0%");
	assert_string_equal(put_ratio_cell(&u, "BranchMissRate", &out), "");
	assert_string_equal(put_ratio_cell(&u, "L1MissRate", &out), "");
	assert_string_equal(put_ratio_cell(&u, "EventsEff", &out), "50.0%");
	assert_string_equal(put_ratio_cell(&u, "FPOps", &out), "50000000000");
	assert_string_equal(put_ratio_cell(&u, "GFlops", &out), "2.50");
	assert_string_equal(put_ratio_cell(&u, "DRAMRead", &out), "3M");
}

static const char *memory_hint(double ipc, double miss_ratio, double misses,
			       double covered, struct buf *out)
{
	double n[UNIT_NUMBERS];

	n[UNIT_IPC] = ipc;
	n[UNIT_CACHE_MISS_RATIO] = miss_ratio;
	n[UNIT_CACHE_MISSES] = misses;
	n[UNIT_CYCLES] = 1e12;
	n[UNIT_EVENTS_RATIO] = covered;
	buf_reset(out);
	return report_put_memory_hint(n, out) ? out->data : "";
}

/* It needs all of them: a program of which one is unknown is not judged. */
static void a_program_that_waits_for_memory_is_told(void **state)
{
	auto_buf struct buf out = BUF_INIT;

	(void)state;
	assert_string_equal(memory_hint(0.31, 0.4, 1e10, 1, &out),
			    "Its CPUs waited for memory: 0.31 instructions per cycle.");
	assert_string_equal(memory_hint(0.9, 0.4, 1e10, 1, &out), "");
	assert_string_equal(memory_hint(0.31, 0.1, 1e10, 1, &out), "");
	assert_string_equal(memory_hint(0.31, 0.4, 1e7, 1, &out), "");
	assert_string_equal(memory_hint(0.31, 0.4, 1e10, 0.2, &out), "");
	assert_string_equal(memory_hint(NAN, 0.4, 1e10, 1, &out), "");
	assert_string_equal(memory_hint(0.31, NAN, 1e10, 1, &out), "");
	assert_string_equal(memory_hint(0.31, 0.4, 1e10, NAN, &out), "");
}

/* They have no floor: whoever was ended by a limit wants to know which. */
static void a_limit_that_ended_a_job_is_named(void **state)
{
	static const struct {
		const char *state, *hint;
	} cases[] = {
		{"OUT_OF_MEMORY",
		 "It ran out of memory at 60.0 MiB: ask for more (--mem)."},
		{"TIMEOUT", "It reached its time limit of 00:01:00: ask for a longer "
			    "--time, or let it save its state."},
		{"COMPLETED", NULL},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct buf hints[REPORT_HINTS_MAX] = {{0}};
		static struct cacct_report r;
		memset(&r, 0, sizeof(r));
		for (size_t n = 0; n < UNIT_NUMBERS; n++)
			r.unit.number[n] = NAN;
		r.unit.number[UNIT_ENDED] = NOW;
		r.unit.number[UNIT_ELAPSED_S] = 1;
		r.unit.number[UNIT_NODES] = 1;
		r.unit.number[UNIT_MEMORY_BYTES] = 60 << 20;
		r.unit.number[UNIT_LIMIT_S] = 60;
		r.unit.text[UNIT_STATE] = cases[i].state;
		size_t count = report_hints(&r, hints);
		assert_int_equal(count, cases[i].hint ? 1 : 0);
		if (cases[i].hint)
			assert_string_equal(hints[0].data, cases[i].hint);
		buf_done(&hints[0]);
	}
}

static void small_energies_have_small_units(void **state)
{
	static const struct {
		double wh;
		const char *text;
	} cases[] = {{0, "0.000 Wh"},     {1e-9, "0.0036 mJ"}, {2e-5, "72 mJ"},
		     {0.0005, "1.8 J"},   {0.0099, "35.6 J"},  {0.01, "0.010 Wh"},
		     {12.345, "12.3 Wh"}, {2500, "2.500 kWh"}};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		auto_buf struct buf out = BUF_INIT;
		text_put_wh(&out, cases[i].wh);
		assert_string_equal(out.data, cases[i].text);
	}
}

static void report_of_a_strange_job_is_harmless(void **state)
{
	static const char *const rows[] = {
		"{}",
		"{\"uuid\":\"1\",\"name\":\"<script>x\\u001b[31m</"
		"script>\",\"state\":\"\\\"><b>\","
		"\"started_at_ts\":5,\"ended_at_ts\":4,\"steps\":[],\"series\":[{\"t0_"
		"ts\":"
		"1,\"t1_ts\":0},{\"t0_ts\":1000,\"t1_ts\":2000,\"cpu_seconds\":1e300,"
		"\"memory_mean_bytes\":-1},5,null,{\"t0_ts\":\"x\"}]}",
		"{\"series\":[{\"t0_ts\":0,\"t1_ts\":9e18,\"cpu_seconds\":1}]}"};
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		auto_json struct json_object *o = json_tokener_parse(rows[i]);
		static struct cacct_report r;
		auto_buf struct buf text = BUF_INIT, html = BUF_INIT;
		struct err err;
		assert_non_null(o);
		memset(&r, 0, sizeof(r));
		unit_from_json(o, NOW, &r.unit);
		assert_int_equal(series_add(&r.series, o, &err), 0);
		report_put_text(&r, &text);
		report_put_html(&r, &html);
		assert_int_equal(buf_error(&html), 0);
		assert_null(strchr(text.data, '\033'));
		assert_null(strstr(html.data, "<script"));
		assert_null(strstr(html.data, "\"><b>"));
		series_done(&r.series);
	}
}

/* What is not told has no line; a line at 0 was measured. */
static void counters_of_gpus_are_plotted_as_far_as_they_are_told(void **state)
{
	auto_json struct json_object *o = json_tokener_parse(
		"{\"gpus\":2,\"series\":[{\"t0_ts\":0,\"t1_ts\":60000,"
		"\"gpu_busy_seconds\":90,\"gpu_sm_active_seconds\":60,"
		"\"gpu_tensor_active_seconds\":0},{\"t0_ts\":60000,\"t1_ts\":120000,"
		"\"gpu_busy_seconds\":0,\"gpu_fp16_active_seconds\":12}]}");
	static struct cacct_report r;
	auto_buf struct buf html = BUF_INIT;
	struct err err;

	(void)state;
	memset(&r, 0, sizeof(r));
	unit_from_json(o, NOW, &r.unit);
	assert_int_equal(series_add(&r.series, o, &err), 0);
	assert_float_equal(r.series.points[0].value[SERIES_GPU_SM_S], 60, 0);
	assert_true(isnan(r.series.points[1].value[SERIES_GPU_SM_S]));
	report_put_html(&r, &html);
	assert_non_null(strstr(html.data, ">busy<"));
	assert_non_null(strstr(html.data, ">multiprocessors<"));
	assert_non_null(strstr(html.data, ">tensor cores<"));
	assert_non_null(strstr(html.data, ">FP16<"));
	assert_null(strstr(html.data, ">memory bandwidth<"));
	assert_null(strstr(html.data, ">FP64<"));
	series_done(&r.series);
}

static void steps_of_range_queries_fit_the_server(void **state)
{
	(void)state;
	assert_int_equal(promql_step(0, 60, 0), 30);
	assert_int_equal(promql_step(0, 60, 5), 5);
	for (int64_t life = 1; life < (int64_t)10 * 366 * 86400;
	     life = life * 3 / 2 + 1) {
		uint32_t step = promql_step(1000, 1000 + life, 10);
		assert_true(life / step + 1 <= PROMQL_POINTS_MAX);
		assert_int_equal(step % 10, 0);
	}
	assert_int_equal(promql_step(50, 10, 0), 30); /* the wrong way round */
}

static void queries_take_ids_and_nothing_else(void **state)
{
	auto_buf struct buf b = BUF_INIT;
	struct err err;
	(void)state;
	assert_int_equal(
		promql_fill("a{uuid=\"%s\"} + b{uuid=\"%s\"} % 2", "4711", &b, &err),
		0);
	assert_string_equal(b.data, "a{uuid=\"4711\"} + b{uuid=\"4711\"} % 2");
	assert_int_equal(promql_fill("%s", "1\"} or x{a=\"", &b, &err), -EINVAL);
	assert_int_equal(promql_fill("%s", "", &b, &err), -EINVAL);
	char one[17], two[17];
	auto_json struct json_object *a =
		json_tokener_parse("{\"metric\":{\"x\":\"1\",\"y\":\"2\"}}");
	auto_json struct json_object *same =
		json_tokener_parse("{\"metric\":{\"y\":\"2\",\"x\":\"1\"}}");
	promql_fingerprint(a, one);
	promql_fingerprint(same, two);
	assert_string_equal(one, two);
	auto_json struct json_object *other =
		json_tokener_parse("{\"metric\":{\"x\":\"2\",\"y\":\"1\"}}");
	promql_fingerprint(other, two);
	assert_string_not_equal(one, two);
}

static void samples_that_are_none_are_refused(void **state)
{
	static const char *const bad[] = {"{}",
					  "{\"values\":5}",
					  "{\"values\":[5]}",
					  "{\"values\":[[1]]}",
					  "{\"values\":[[1,\"=cmd\"]]}",
					  "{\"values\":[[-1,\"1\"]]}",
					  "{\"values\":[[1e300,\"1\"]]}"};
	struct err err;
	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		auto_json struct json_object *o = json_tokener_parse(bad[i]);
		auto_buf struct buf csv = BUF_INIT;
		assert_int_equal(promql_put_csv(o, &csv, &err), -EPROTO);
	}
	auto_json struct json_object *good = json_tokener_parse(
		"{\"values\":[[1774512000.5,\"1.5e3\"],[1774512030,\"NaN\"]]}");
	auto_buf struct buf csv = BUF_INIT;
	assert_int_equal(promql_put_csv(good, &csv, &err), 0);
	assert_string_equal(csv.data, "time,timestamp,value\r\n"
				      "2026-03-26T08:00:00Z,1774512000.500,1.5e3\r\n"
				      "2026-03-26T08:00:30Z,1774512030.000,NaN\r\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(report_is_as_its_golden),
		cmocka_unit_test(hints_have_floors),
		cmocka_unit_test(events_of_cpus_are_shown_as_ratios),
		cmocka_unit_test(a_program_that_waits_for_memory_is_told),
		cmocka_unit_test(a_limit_that_ended_a_job_is_named),
		cmocka_unit_test(small_energies_have_small_units),
		cmocka_unit_test(report_of_a_strange_job_is_harmless),
		cmocka_unit_test(counters_of_gpus_are_plotted_as_far_as_they_are_told),
		cmocka_unit_test(steps_of_range_queries_fit_the_server),
		cmocka_unit_test(queries_take_ids_and_nothing_else),
		cmocka_unit_test(samples_that_are_none_are_refused),
	};
	set_environment();
	return cmocka_run_group_tests_name("cacct_report", tests, NULL, NULL);
}
