/* SPDX-License-Identifier: GPL-2.0-or-later */
/* From recorded answers of the API to the tables of cacct, in each form. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/cacct/columns.h"
#include "cli/cacct/jobsel.h"
#include "cli/cacct/site.h"
#include "cli/cacct/summary.h"
#include "cli/cacct/table.h"
#include "cli/cacct/text.h"
#include "lib/http/json.h"
#include "test/unit/cacct_answers.h"
#include "test/unit/golden.h"
#include "test/unit/unit.h"

static void add_page(struct table *t, struct summary *s, struct json_object *page)
{
	struct json_object *data = unit_json_at(page, "data");
	struct err err;
	struct unit u;

	for (size_t i = 0; i < json_object_array_length(data); i++) {
		unit_from_json(json_object_array_get_idx(data, i), NOW, &u);
		assert_int_equal(table_add(t, &u, &err), 0);
		summary_add(s, &u);
	}
}

static void table_of(const char *format, const struct table_style *style,
		     struct buf *out)
{
	auto_json struct json_object *one = load_answer("units");
	auto_json struct json_object *two = load_answer("units.p2");
	static struct columns columns;
	struct summary sums = {0};
	struct table t;
	struct err err;

	columns.count = 0;
	if (columns_parse(format, &columns, &err) < 0)
		fail_msg("%s", err.text);
	table_init(&t, &columns, style);
	add_page(&t, &sums, one);
	add_page(&t, &sums, two);
	auto_buf struct buf line = BUF_INIT;
	summary_put(&sums, &line);
	assert_int_equal(table_write(&t, line.data, out), 0);
	table_done(&t);
}

#define SHORT                                                                          \
	"jobid,jobname,account,state,elapsed,alloccpus,cpueff,memeff,gpuutil,"         \
	"energywh,"                                                                    \
	"grams,coverage"

static void each_form_is_as_its_golden(void **state)
{
	static const struct {
		const char *golden;
		struct table_style style;
		const char *format;
	} cases[] = {
		{"cacct_fields.txt", {.header = true, .drop_empty = true}, SHORT},
		{"cacct_all.txt", {.header = true}, "all"},
		{"cacct_parsable.txt", {.form = TABLE_PARSABLE, .header = true}, SHORT},
		{"cacct_parsable2.txt",
		 {.form = TABLE_PARSABLE2, .separator = ";"},
		 "jobid,jobname,nodelist,exitcode"},
		{"cacct_csv.txt", {.form = TABLE_CSV, .header = true}, SHORT},
		{"cacct_markdown.txt", {.form = TABLE_MARKDOWN, .header = true}, SHORT},
		{"cacct_html.txt", {.form = TABLE_HTML, .header = true}, SHORT},
		{"cacct_units.txt",
		 {.header = true, .numbers = {.unit = 'M'}},
		 "jobid%-8,allocmem,memPeak%12,ioWrite,consumedenergy"},
		{"cacct_exact.txt",
		 {.header = true, .numbers = {.exact = true}},
		 "jobid%8,allocmem%14,maxrss%14,iowrite,consumedenergy,"
		 "consumedenergyraw"},
		{"cacct_peer.txt",
		 {.header = true},
		 "uuid,project,username,createdat,startedat,endedat,cpuUsage,"
		 "cpuMemoryUsage,hostEnergy,hostEmissions,gpuUsage,gpuMemoryUsage,"
		 "gpuEnergy"},
		{"cacct_color.txt",
		 {.header = true, .color = true},
		 "jobid,state,source"},
	};
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		auto_buf struct buf out = BUF_INIT;
		table_of(cases[i].format, &cases[i].style, &out);
		golden_check(cases[i].golden, &out);
	}
}

static void control_characters_reach_no_form_of_output(void **state)
{
	(void)state;
	for (int form = TABLE_FIELDS; form <= TABLE_MARKDOWN; form++) {
		struct table_style style = {.form = (enum table_form)form,
					    .header = true};
		auto_buf struct buf out = BUF_INIT;
		table_of("jobname%80,all", &style, &out);
		for (size_t i = 0; i < out.len; i++) {
			unsigned char c = (unsigned char)out.data[i];
			if ((c < 0x20 && c != '\n' && c != '\r') || c == 0x7f)
				fail_msg("form %d: byte %02x at %zu", form, c, i);
		}
		assert_null(strstr(out.data, form == TABLE_HTML ? "<script" : "\033"));
	}
}

static const char *escaped(enum text_form form, const char *s)
{
	static struct buf out;
	buf_reset(&out);
	text_put(&out, form, s);
	return out.data ? out.data : "";
}

static void each_form_has_its_own_escapes(void **state)
{
	(void)state;
	assert_string_equal(escaped(TEXT_HTML, "<a href=\"x\">'&"),
			    "&lt;a href=&quot;x&quot;&gt;&#39;&amp;");
	assert_string_equal(escaped(TEXT_CSV, "a,b"), "\"a,b\"");
	assert_string_equal(escaped(TEXT_CSV, "say \"x\""), "\"say \"\"x\"\"\"");
	assert_string_equal(escaped(TEXT_CSV, "plain"), "plain");
	assert_string_equal(escaped(TEXT_CSV, "=1+1"), "\"'=1+1\"");
	assert_string_equal(escaped(TEXT_CSV, "@x"), "\"'@x\"");
	assert_string_equal(escaped(TEXT_MARKDOWN, "a|b*c_[d](e)`<i>"),
			    "a\\|b\\*c\\_\\[d\\](e)\\`&lt;i&gt;");
	/* C1, overrides of the direction, no width, half a character, a surrogate */
	assert_string_equal(escaped(TEXT_PLAIN, "a\xc2\x9b"
						"b\xe2\x80\xae"
						"c\xe2\x80\x8b"
						"d\xc3"
						"e\xed\xa0\x80"),
			    "a\xef\xbf\xbd"
			    "b\xef\xbf\xbd"
			    "c\xef\xbf\xbd"
			    "d\xef\xbf\xbd"
			    "e\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
	assert_string_equal(escaped(TEXT_PLAIN, "J\xc3\xa9r\xc3\xb4me"),
			    "J\xc3\xa9r\xc3\xb4me");
}

static void fields_count_columns_and_not_bytes(void **state)
{
	static const struct {
		const char *text;
		size_t width;
		bool left;
		const char *out;
	} cases[] = {
		{"abc", 5, false, "  abc"},
		{"abc", 5, true, "abc  "},
		{"abcdef", 4, false, "abc+"},
		{"abcd", 4, false, "abcd"},
		{"\xc3\xa9t\xc3\xa9", 5, false, "  \xc3\xa9t\xc3\xa9"},
		{"\xe6\x97\xa5\xe6\x9c\xac", 5, true, "\xe6\x97\xa5\xe6\x9c\xac "},
		{"\xe6\x97\xa5\xe6\x9c\xac", 3, false, "\xe6\x97\xa5+"},
		{"\xe6\x97\xa5\xe6\x9c\xac", 2, false, "+ "},
		{"x", 1, false, "x"},
		{"xy", 1, false, "+"},
	};
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		auto_buf struct buf out = BUF_INIT;
		text_put_field(&out, cases[i].text, cases[i].width, cases[i].left);
		assert_string_equal(out.data, cases[i].out);
	}
}

static void names_are_suggested_whole(void **state)
{
	static struct columns columns;
	auto_buf struct buf names = BUF_INIT;
	struct err err;
	(void)state;
	columns_help(&names);
	for (char *save = NULL, *name = strtok_r(names.data, " \n", &save); name;
	     name = strtok_r(NULL, " \n", &save)) {
		for (char *end = name + strlen(name); end > name + 3;) {
			*--end = '\0';
			columns.count = 0;
			if (columns_parse(name, &columns, &err) == 0)
				continue;
			assert_non_null(strstr(err.text, "(did you mean \""));
			assert_non_null(strstr(err.text, "\"? --helpformat lists all"));
		}
	}
}

static void format_refuses_what_it_does_not_know(void **state)
{
	static const char *const bad[] = {"nothing",    "jobid%0", "jobid%x", "jobid%",
					  "jobid%1001", "grams;",  "job id",  "%5"};
	static struct columns columns;
	struct err err;
	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(columns_parse(bad[i], &columns, &err), -EINVAL);
		assert_int_equal(columns.count, 0);
	}
	assert_int_equal(columns_parse("jobid,elasped", &columns, &err), -EINVAL);
	assert_string_equal(err.text,
			    "Invalid field requested: \"elasped\" (did you mean "
			    "\"Elapsed\"? --helpformat lists all fields)");
	assert_int_equal(columns_parse("nonsensical", &columns, &err), -EINVAL);
	assert_string_equal(err.text, "Invalid field requested: \"nonsensical\" "
				      "(--helpformat lists all fields)");
	assert_int_equal(columns_parse("-", &columns, &err), -EINVAL);
	assert_int_equal(columns_parse("wasted", &columns, &err), -EINVAL);
	assert_string_equal(err.text,
			    "Invalid field requested: \"wasted\" (did you mean "
			    "\"WastedCPUHours\", \"WastedEnergy\", "
			    "\"WastedGPUEnergy\", \"WastedGPUHours\"? --helpformat "
			    "lists all fields)");
	assert_int_equal(columns_parse("JOBID,,state%-3,GramsOWID%6,", &columns, &err),
			 0);
	assert_int_equal(columns.count, 3);
	assert_true(columns.use[1].left && columns.use[1].width == 3);
	assert_string_equal(columns.use[2].provider, "OWID");
	for (int i = 0; i < 200; i++)
		(void)columns_parse("jobid", &columns, &err);
	assert_int_equal(columns.count, COLUMNS_MAX);
}

/* What is printed of a unit of the API's, in fields that another program reads */
static void assert_shown(const char *fields, const char *json, const char *want)
{
	static struct columns columns;
	const struct table_style style = {.form = TABLE_PARSABLE2};
	auto_buf struct buf out = BUF_INIT;
	struct table t;
	struct unit u;
	struct err err;

	columns.count = 0;
	assert_int_equal(columns_parse(fields, &columns, &err), 0);
	auto_json struct json_object *o = json_tokener_parse(json);
	assert_non_null(o);
	unit_from_json(o, NOW, &u);
	table_init(&t, &columns, &style);
	assert_int_equal(table_add(&t, &u, &err), 0);
	assert_int_equal(table_write(&t, NULL, &out), 0);
	table_done(&t);
	assert_string_equal(out.data, want);
}

/* 4 CPUs and 8 GiB on two nodes for an hour; two were busy, 3 GiB on one node. */
static void what_was_asked_for_stands_beside_what_was_used(void **state)
{
	static const char row[] =
		"{\"uuid\":\"1\",\"created_at_ts\":1774512000000,"
		"\"eligible_at_ts\":1774512060000,\"started_at_ts\":1774512070000,"
		"\"ended_at_ts\":1774515670000,\"time_limit_s\":7200,"
		"\"tres_requested\":\"cpu=3,mem=8G,node=1,billing=3\",%s"
		"\"allocation\":{\"nodes\":2,\"cpus\":4,\"mem\":17179869184},"
		"\"avg_cpu_usage\":{\"global\":50},\"memory_peak_bytes\":3221225472}";
	static const char fields[] = "reqcpus,reqnodes,reqmem,planned,timeeff,memeff,"
				     "wastedcpuhours,wastedenergy";
	static const char *const cases[][2] = {
		{"\"energy_joules\":{\"total\":900},",
		 "3|1|8G|00:00:10|50.0%|75.0%|2.00|450\n"},
		/* of GPUs whose use is not known nothing was wasted */
		{"\"energy_joules\":{\"total\":900,\"gpu\":500},",
		 "3|1|8G|00:00:10|50.0%|75.0%|2.00|200\n"},
		{"\"energy_joules\":{\"total\":900,\"gpu\":500},"
		 "\"avg_gpu_usage\":{\"global\":90},",
		 "3|1|8G|00:00:10|50.0%|75.0%|2.00|250\n"},
		{"", "3|1|8G|00:00:10|50.0%|75.0%|2.00|\n"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		auto_buf struct buf text = BUF_INIT;
		buf_printf(&text, row, cases[i][0]);
		assert_shown(fields, text.data, cases[i][1]);
	}
}

/* One that was resized in place, and whole CPUs as they were */
static void parts_of_a_cpu_are_shown_and_counted(void **state)
{
	static const char *const cases[][2] = {
		{"\"resource_manager\":\"k8s\",\"allocation\":{\"cpus\":0.25},"
		 "\"total_time_seconds\":{\"alloc_cputime\":900},"
		 "\"avg_cpu_usage\":{\"global\":50}",
		 "0.25|0.25|0.25|00:15:00|0.250|50.0%|0.125\n"},
		{"\"resource_manager\":\"k8s\",\"allocation\":{\"cpus\":0.5},"
		 "\"total_time_seconds\":{\"alloc_cputime\":1350},"
		 "\"avg_cpu_usage\":{\"global\":50}",
		 "0.5|0.5|0.5|00:22:30|0.375|50.0%|0.188\n"},
		{"\"resource_manager\":\"k8s\",\"allocation\":{}", "||||||\n"},
		/* as in sacct, whatever nodes have reported so far */
		{"\"resource_manager\":\"slurm\",\"allocation\":{\"cpus\":131072},"
		 "\"total_time_seconds\":{\"alloc_cputime\":900},"
		 "\"avg_cpu_usage\":{\"global\":50}",
		 "131072|131072|131072|5461-08:00:00|131072|50.0%|65536\n"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		auto_buf struct buf text = BUF_INIT;
		buf_printf(&text,
			   "{\"uuid\":\"1\",\"started_at_ts\":1774512070000,"
			   "\"ended_at_ts\":1774515670000,%s}",
			   cases[i][0]);
		assert_shown("cpus,alloccpus,ncpus,cputime,cpuhours,cpueff,"
			     "wastedcpuhours",
			     text.data, cases[i][1]);
	}
}

/* The peer's kilowatt hours have the building's share in them, as joules have not. */
static void energy_is_as_measured_where_the_server_says_it(void **state)
{
	static const char *const cases[][2] = {
		{"{\"energy_joules\":{\"total\":3600,\"host\":3600},"
		 "\"total_cpu_energy_usage_kwh\":{\"total\":0.0015}}",
		 "3600 5400"},
		{"{\"total_cpu_energy_usage_kwh\":{\"total\":0.001},"
		 "\"total_gpu_energy_usage_kwh\":{\"total\":0.0005}}",
		 "5400 3600"},
		{"{\"energy_joules\":{\"package\":100,\"dram\":10}}", "110 nan"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		auto_json struct json_object *o = json_tokener_parse(cases[i][0]);
		struct unit u;
		char text[64];
		assert_non_null(o);
		unit_from_json(o, NOW, &u);
		(void)snprintf(text, sizeof(text), "%.0f %.0f", u.number[UNIT_ENERGY_J],
			       u.number[UNIT_CPU_SIDE_J]);
		assert_string_equal(text, cases[i][1]);
	}
}

static void job_lists_are_read_as_sacct_does(void **state)
{
	struct jobsel s = {0};
	struct unit u = {.text = {[UNIT_UUID] = "4714"}};
	struct err err;
	(void)state;
	for (int i = 0; i < UNIT_NUMBERS; i++)
		u.number[i] = NAN;
	assert_true(jobsel_has(&s, &u)); /* nothing named: all */
	assert_int_equal(jobsel_parse("12,4700_[1-3,14],9+1,77.batch", &s, &err), 0);
	assert_int_equal(s.count, 7);
	assert_false(jobsel_has(&s, &u));
	u.number[UNIT_ARRAY_JOB] = 4700;
	u.number[UNIT_ARRAY_TASK] = 14;
	assert_true(jobsel_has(&s, &u));
	u.number[UNIT_ARRAY_TASK] = 4;
	assert_false(jobsel_has(&s, &u));
	u.number[UNIT_HET_JOB] = 9;
	u.number[UNIT_HET_OFFSET] = 1;
	assert_true(jobsel_has(&s, &u));
	assert_false(jobsel_names_steps(&s, &u));
	assert_int_equal(jobsel_first(&s, &u), 5);
	assert_true(jobsel_has_whole(&s, &u));
	u.number[UNIT_HET_JOB] = NAN;
	u.text[UNIT_UUID] = "77"; /* only its batch step */
	assert_true(jobsel_has(&s, &u));
	assert_false(jobsel_has_whole(&s, &u));
	assert_true(jobsel_names_steps(&s, &u));
	struct unit step = {.id = "77.batch"};
	assert_true(jobsel_has_step(&s, &u, &step));
	(void)snprintf(step.id, sizeof(step.id), "77.0");
	assert_false(jobsel_has_step(&s, &u, &step));
	u.number[UNIT_ARRAY_JOB] = 4700;
	jobsel_done(&s);
	assert_int_equal(jobsel_parse("4700", &s, &err), 0); /* all of the array */
	assert_true(jobsel_has(&s, &u));
	jobsel_done(&s);
	assert_int_equal(jobsel_parse("6fbd7d24-9f1b-4d5c-b7dd-0c5d2a4e8a10", &s, &err),
			 0);
	assert_string_equal(s.one[0].job, "6fbd7d24-9f1b-4d5c-b7dd-0c5d2a4e8a10");
	jobsel_done(&s);
	static const char *const bad[] = {"12_", "12_[3-1]",          "12_[1-", "12_x.",
					  "12.", "12_[0-4000000000]", "12_[a]"};
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		if (jobsel_parse(bad[i], &s, &err) >= 0)
			fail_msg("%s is taken", bad[i]);
		jobsel_done(&s);
	}
}

static void summary_is_of_the_rows_and_says_what_is_missing(void **state)
{
	auto_json struct json_object *page = load_answer("units");
	auto_json struct json_object *more = load_answer("units.p2");
	struct columns none = {.count = 0};
	const struct table_style style = {.header = true};
	struct summary s = {0};
	struct table t;
	(void)state;
	table_init(&t, &none, &style);
	add_page(&t, &s, page);
	add_page(&t, &s, more);
	table_done(&t);
	assert_int_equal(s.units, 4);
	assert_int_equal(s.running, 1);
	assert_int_equal(s.with_energy, 3);
	assert_true(fabs(s.energy_j - (0.125 + 0.0003 + 0.12) * 3.6e6) < 1e-3);
	assert_true(fabs(s.cpu_s - (0.9125 * 28800 + 0.025 * 960 + 0.5 * 9200)) < 1e-6);
	assert_int_equal(s.grams_count, 2);
	assert_true(fabs(s.grams[0].grams - 13.0168) < 1e-9); /* CPU and GPU together */
	struct unit step = {.is_step = true};
	summary_add(&s, &step);
	assert_int_equal(s.units, 4);
	assert_int_equal(s.steps, 1);
}

static void rows_are_in_the_order_of_sacct(void **state)
{
	static const struct {
		const char *uuid, *cluster;
		double submitted, array, task;
	} rows[] = {
		{"100", "a", 9, 0, 0}, {"9", "b", 7, 0, 0},    {"9", "a", 7, 0, 0},
		{"9", "a", 5, 0, 0},   {"x-y", "a", 9, 0, 0},  {"1e3", "a", 9, 0, 0},
		{"20", "a", 8, 0, 0},  {"20.0", "a", 8, 0, 0}, {"3", "a", 8, 3, 3},
		{"21", "a", 8, 3, 1},  {"22", "a", 8, 0, 0}};
	const struct table_style style = {.form = TABLE_PARSABLE2};
	static struct columns columns;
	auto_buf struct buf out = BUF_INIT;
	struct table t;
	struct err err;
	(void)state;
	columns.count = 0;
	assert_int_equal(columns_parse("jobidraw,cluster", &columns, &err), 0);
	table_init(&t, &columns, &style);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct unit u = {.submitted = rows[i].submitted,
				 .array_job = rows[i].array,
				 .array_task = rows[i].task};
		u.text[UNIT_UUID] = rows[i].uuid;
		u.text[UNIT_CLUSTER] = rows[i].cluster;
		assert_int_equal(table_add(&t, &u, &err), 0);
	}
	assert_int_equal(table_write(&t, NULL, &out), 0);
	table_done(&t);
	assert_string_equal(out.data, "9|a\n9|a\n9|b\n20|a\n20.0|a\n22|a\n21|a\n3|a\n"
				      "100|a\n1e3|a\nx-y|a\n");
}

static void rows_are_in_the_order_that_was_asked_for(void **state)
{
	static const struct {
		const char *order, *jobs;
	} cases[] = {
		{"elapsed", "4 2 2.0 3 1 5 "}, /* 5 is not known */
		{"-Elapsed", "1 2 2.0 3 4 5 "},
		{"user,-elapsed", "1 4 2 2.0 3 5 "},
		{"-user,+elapsed", "2 2.0 3 4 1 5 "},
		{"gramsX", "1 2 2.0 3 4 5 "},
		{"jobname", "2 2.0 3 4 5 1 "}, /* n2 before n10 */
	};
	static const struct {
		const char *uuid, *user, *name;
		double elapsed;
		bool step;
	} rows[] = {{"1", "ada", "n10", 50, false}, {"2", "bob", "n2", 20, false},
		    {"2.0", NULL, "x", 5, true},    {"3", "bob", "n2", 20, false},
		    {"4", "ada", "n2", 10, false},  {"5", NULL, "n3", NAN, false}};
	static struct columns columns;
	static struct columns_order order;
	const struct table_style style = {.form = TABLE_PARSABLE2, .order = &order};
	struct err err;

	(void)state;
	columns.count = 0;
	assert_int_equal(columns_parse("jobidraw", &columns, &err), 0);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		auto_buf struct buf out = BUF_INIT;
		struct table t;
		assert_int_equal(columns_parse_order(cases[i].order, &order, &err), 0);
		table_init(&t, &columns, &style);
		for (size_t k = 0; k < sizeof(rows) / sizeof(rows[0]); k++) {
			struct unit u = {.submitted = (double)k,
					 .is_step = rows[k].step};
			if (u.is_step)
				u.submitted--;
			u.number[UNIT_ELAPSED_S] = rows[k].elapsed;
			u.text[UNIT_UUID] = rows[k].uuid;
			u.text[UNIT_USER] = rows[k].user;
			u.text[UNIT_NAME] = rows[k].name;
			assert_int_equal(table_add(&t, &u, &err), 0);
		}
		assert_int_equal(table_write(&t, NULL, &out), 0);
		table_done(&t);
		for (char *p = out.data; *p; p++)
			*p = *p == '\n' ? ' ' : *p;
		assert_string_equal(out.data, cases[i].jobs);
	}
	assert_int_equal(columns_parse_order("-nothing", &order, &err), -EINVAL);
	assert_int_equal(columns_parse_order(",", &order, &err), -EINVAL);
	assert_int_equal(columns_parse_order("user,user,user,user,user", &order, &err),
			 -EINVAL);
}

static void steps_are_in_the_order_of_slurm(void **state)
{
	auto_json struct json_object *o = json_tokener_parse(
		"{\"steps\":[{\"step\":\"10\"},5,{\"step\":\"extern\"},{\"step\":2},"
		"{\"step\":\"batch\"},{\"step\":\"interactive\"},{\"step\":\"0\"}]}");
	(void)state;
	assert_string_equal(
		json_object_to_json_string_ext(unit_steps(o), JSON_C_TO_STRING_PLAIN),
		"[{\"step\":\"interactive\"},{\"step\":\"batch\"},{\"step\":\"extern\"}"
		","
		"{\"step\":\"0\"},{\"step\":2},{\"step\":\"10\"},5]");
}

/* Emissions that were asked for and that nobody knows are an empty column. */
static void a_column_that_was_asked_for_is_there(void **state)
{
	struct table_style style = {.form = TABLE_PARSABLE2, .header = true};
	static struct columns columns;
	auto_buf struct buf out = BUF_INIT;
	struct unit u = {.text = {[UNIT_UUID] = "1"}};
	struct table t;
	struct err err;
	(void)state;
	columns.count = 0;
	assert_int_equal(columns_parse("jobidraw,grams,restarts", &columns, &err), 0);
	table_init(&t, &columns, &style);
	assert_int_equal(table_add(&t, &u, &err), 0);
	assert_int_equal(table_write(&t, NULL, &out), 0);
	table_done(&t);
	assert_string_equal(out.data, "JobIDRaw|Grams|Restarts\n1||0\n");
}

static int load(const char *text, struct site *s, struct err *err)
{
	memset(s, 0, sizeof(*s));
	return site_parse(text, strlen(text), "cacct.yaml", s, err);
}

static void peers_configuration_is_read_and_secrets_in_it_refused(void **state)
{
	struct site s;
	struct err err;
	(void)state;
	assert_int_equal(
		load("ceems_api_server:\n  cluster_id: c1\n  user_header_name: X-U\n"
		     "  web:\n    url: http://a:9020\n    authorization:\n"
		     "      type: Bearer\n      credentials_file: /etc/t\n"
		     "tsdb:\n  web: {url: http://p:9090, tls_config: {ca_file: /c}}\n"
		     "  queries:\n    cpu: up{uuid=\"%s\"}\n    mem: x\n",
		     &s, &err),
		0);
	assert_string_equal(s.api.url, "http://a:9020");
	assert_string_equal(s.api.token_file, "/etc/t");
	assert_string_equal(s.tsdb.ca_file, "/c");
	assert_int_equal(s.query_count, 2);
	assert_string_equal(s.queries[0].name, "cpu");
	site_done(&s);
	assert_int_equal(load("ceems_api_server:\n  web:\n    basic_auth:\n"
			      "      password: hunter2\n",
			      &s, &err),
			 -EINVAL);
	assert_non_null(strstr(err.text, "cacct.yaml:4"));
	assert_null(strstr(err.text, "hunter2"));
	site_done(&s);
	assert_int_equal(load("ceems_api_server:\n  wob: {}\n", &s, &err), -EINVAL);
	site_done(&s);
	assert_int_equal(load("", &s, &err), 0);
	site_done(&s);
}

static void files_are_not_looked_for_where_the_user_is(void **state)
{
	static const char text[] = "ceems_api_server:\n  web: {url: https://a,"
				   " tls_config: {ca_file: ca.pem}}\n";
	struct site s;
	struct err err;
	(void)state;
	memset(&s, 0, sizeof(s));
	assert_int_equal(
		site_parse(text, strlen(text), "/etc/ceems/cacct.yaml", &s, &err), 0);
	assert_string_equal(s.api.ca_file, "/etc/ceems/ca.pem");
	site_done(&s);
}

static void strange_rows_are_rows_without_knowledge(void **state)
{
	static const char *const rows[] = {
		"{}", "{\"uuid\":5,\"allocation\":[],\"started_at_ts\":\"x\"}",
		"{\"uuid\":null,\"tags\":null,\"total_cpu_emissions_gms\":{\"a\":null}"
		"}",
		"{\"started_at_ts\":-5,\"ended_at_ts\":1e300,\"avg_cpu_usage\":{"
		"\"global\":"
		"-1}}"};
	const struct table_style style = {.header = true};
	static struct columns all;
	struct table t;
	struct err err;
	struct unit u;
	(void)state;
	all.count = 0;
	assert_int_equal(columns_parse("all", &all, &err), 0);
	table_init(&t, &all, &style);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		auto_json struct json_object *o = json_tokener_parse(rows[i]);
		assert_non_null(o);
		unit_from_json(o, NOW, &u);
		assert_int_equal(table_add(&t, &u, &err), 0);
		unit_step_from_json(&u, o, NOW, &u);
		assert_int_equal(table_add(&t, &u, &err), 0);
	}
	auto_buf struct buf out = BUF_INIT;
	assert_int_equal(table_write(&t, NULL, &out), 0);
	table_done(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_form_is_as_its_golden),
		cmocka_unit_test(control_characters_reach_no_form_of_output),
		cmocka_unit_test(each_form_has_its_own_escapes),
		cmocka_unit_test(fields_count_columns_and_not_bytes),
		cmocka_unit_test(names_are_suggested_whole),
		cmocka_unit_test(format_refuses_what_it_does_not_know),
		cmocka_unit_test(parts_of_a_cpu_are_shown_and_counted),
		cmocka_unit_test(what_was_asked_for_stands_beside_what_was_used),
		cmocka_unit_test(energy_is_as_measured_where_the_server_says_it),
		cmocka_unit_test(job_lists_are_read_as_sacct_does),
		cmocka_unit_test(summary_is_of_the_rows_and_says_what_is_missing),
		cmocka_unit_test(rows_are_in_the_order_of_sacct),
		cmocka_unit_test(rows_are_in_the_order_that_was_asked_for),
		cmocka_unit_test(steps_are_in_the_order_of_slurm),
		cmocka_unit_test(a_column_that_was_asked_for_is_there),
		cmocka_unit_test(peers_configuration_is_read_and_secrets_in_it_refused),
		cmocka_unit_test(files_are_not_looked_for_where_the_user_is),
		cmocka_unit_test(strange_rows_are_rows_without_knowledge),
	};
	set_environment();
	return cmocka_run_group_tests_name("cacct", tests, NULL, NULL);
}
