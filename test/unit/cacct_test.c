/* SPDX-License-Identifier: GPL-2.0-or-later */
/* From recorded answers of the API to the tables of cacct, in each form. */
#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/cacct/columns.h"
#include "cli/cacct/jobsel.h"
#include "cli/cacct/promql_range.h"
#include "cli/cacct/report.h"
#include "cli/cacct/site.h"
#include "cli/cacct/summary.h"
#include "cli/cacct/svg.h"
#include "cli/cacct/table.h"
#include "cli/cacct/text.h"
#include "lib/http/json.h"
#include "test/unit/golden.h"
#include "test/unit/unit.h"

#define NOW 1774526400

static struct json_object *recorded(const char *name)
{
	static const struct http_json_limits limits = {.bytes_max = 1 << 20,
						       .depth_max = 24};
	auto_buf struct buf text = BUF_INIT;
	struct json_object *o = NULL;
	char path[128];
	struct err err;

	(void)snprintf(path, sizeof(path), "test/fixture/api/%s", name);
	if (fs_read_buf_at(AT_FDCWD, path, 1 << 20, &text, &err) < 0)
		fail_msg("%s", err.text);
	const char *body = strchr(text.data, '\n'); /* behind the status */
	if (http_json_object(body, strlen(body), &limits, &o, &err) < 0)
		fail_msg("%s: %s", path, err.text);
	return o;
}

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
	auto_json struct json_object *one = recorded("units");
	auto_json struct json_object *two = recorded("units.p2");
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
	static struct columns columns;
	const struct table_style style = {.form = TABLE_PARSABLE2};
	struct err err;

	(void)state;
	columns.count = 0;
	assert_int_equal(columns_parse(fields, &columns, &err), 0);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		auto_buf struct buf text = BUF_INIT, out = BUF_INIT;
		struct table t;
		struct unit u;
		buf_printf(&text, row, cases[i][0]);
		auto_json struct json_object *o = json_tokener_parse(text.data);
		assert_non_null(o);
		unit_from_json(o, NOW, &u);
		table_init(&t, &columns, &style);
		assert_int_equal(table_add(&t, &u, &err), 0);
		assert_int_equal(table_write(&t, NULL, &out), 0);
		table_done(&t);
		assert_string_equal(out.data, cases[i][1]);
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
	auto_json struct json_object *page = recorded("units");
	auto_json struct json_object *more = recorded("units.p2");
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
	auto_json struct json_object *page = recorded("units_101");
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
		cmocka_unit_test(each_form_is_as_its_golden),
		cmocka_unit_test(control_characters_reach_no_form_of_output),
		cmocka_unit_test(each_form_has_its_own_escapes),
		cmocka_unit_test(fields_count_columns_and_not_bytes),
		cmocka_unit_test(names_are_suggested_whole),
		cmocka_unit_test(format_refuses_what_it_does_not_know),
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
		cmocka_unit_test(report_is_as_its_golden),
		cmocka_unit_test(hints_have_floors),
		cmocka_unit_test(events_of_cpus_are_shown_as_ratios),
		cmocka_unit_test(a_program_that_waits_for_memory_is_told),
		cmocka_unit_test(a_limit_that_ended_a_job_is_named),
		cmocka_unit_test(small_energies_have_small_units),
		cmocka_unit_test(report_of_a_strange_job_is_harmless),
		cmocka_unit_test(steps_of_range_queries_fit_the_server),
		cmocka_unit_test(queries_take_ids_and_nothing_else),
		cmocka_unit_test(samples_that_are_none_are_refused),
	};
	(void)setlocale(LC_CTYPE, "C.UTF-8");
	(void)setenv("TZ", "UTC", 1);
	tzset();
	return cmocka_run_group_tests_name("cacct", tests, NULL, NULL);
}
