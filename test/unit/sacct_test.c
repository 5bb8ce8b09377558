/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What sacct of two Slurms printed, and what it never should. */
#include "aggregator/sacct.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "aggregator/associations.h"
#include "lib/fs.h"
#include "test/unit/unit.h"

static struct err err;

struct seen {
	unsigned count;
	struct job jobs[16];
	char names[16][32], states[16][32], nodes[16][32], tres[16][128];
	char steps[16][128], flags[16][64], lines[16][64], others[16][160];
};

static int see(void *arg, const struct job *j, const char *step_names, struct err *e)
{
	struct seen *s = arg;

	(void)e;
	assert_true(s->count < 16);
	unsigned i = s->count++;
	s->jobs[i] = *j;
	snprintf(s->names[i], 32, "%s", j->name);
	snprintf(s->states[i], 32, "%s", job_state_name(j->state));
	snprintf(s->nodes[i], 32, "%s", j->nodes);
	snprintf(s->tres[i], 128, "%s", j->tres_allocated);
	snprintf(s->flags[i], 64, "%s", j->slurm_flags);
	snprintf(s->lines[i], 64, "%s", j->submit_line);
	snprintf(s->others[i], 160, "%s/%s/%s/%s/%s/%s/%s/%s", j->admin_comment,
		 j->system_comment, j->extra, j->container, j->constraints, j->licenses,
		 j->qos_requested, j->failed_node);
	snprintf(s->steps[i], 128, "%s", step_names ? step_names : "");
	return 0;
}

static struct sacct_counts read_separated(const char *text, const char *separator,
					  struct seen *ret)
{
	auto_buf struct buf b = BUF_INIT;
	struct sacct_counts c;

	memset(ret, 0, sizeof(*ret));
	buf_puts(&b, text);
	assert_int_equal(sacct_read(b.data, b.len, separator, "", see, ret, &c, &err),
			 0);
	return c;
}

static struct sacct_counts read_text(const char *text, struct seen *ret)
{
	return read_separated(text, "", ret);
}

static void read_file(const char *path, struct seen *ret)
{
	auto_buf struct buf b = BUF_INIT;

	assert_int_equal(fs_read_buf_at(AT_FDCWD, path, 1 << 20, &b, &err), 0);
	read_text(b.data, ret);
}

/* Both forms of both releases say the same of the same jobs. */
static void releases_and_forms_agree(void **state)
{
	static const char *const files[] = {
		"test/fixture/sacct/22.05.json", "test/fixture/sacct/22.05.txt",
		"test/fixture/sacct/24.11.json", "test/fixture/sacct/24.11.txt"};

	(void)state;
	for (size_t f = 0; f < 4; f++) {
		struct seen s;
		read_file(files[f], &s);
		assert_int_equal(s.count, 5);
		unsigned tasks = 0, running = 0;
		for (unsigned i = 0; i < s.count; i++) {
			const struct job *j = &s.jobs[i];
			assert_true(j->submit_s > 1700000000 &&
				    j->start_s >= j->submit_s);
			assert_string_equal(s.nodes[i], "n1");
			assert_int_equal(j->cpus, 1);
			assert_int_equal(j->node_count, 1);
			assert_int_equal(j->time_limit_min, 60);
			assert_null(strstr(s.tres[i], "energy"));
			assert_non_null(strstr(s.tres[i], "mem=50M"));
			if (strcmp(s.names[i], "fails") == 0) {
				assert_string_equal(s.states[i], "FAILED");
				/* 22.05's JSON does not have it */
				assert_int_equal(j->exit_code, f ? 3 << 8 : JOB_NO_VAL);
			}
			if (j->job_id == 1)
				assert_string_equal(s.names[i], "pipe|name");
			if (j->array_job == 3 && j->array_task <= 1)
				tasks++;
			if (j->state == JOB_STATE_RUNNING && j->end_s == 0)
				running++;
		}
		assert_int_equal(tasks, 2);
		assert_int_equal(running, 1);
	}
}

/* Real output of sacct: flags and priority are there, the command line is left. */
static void json_has_what_slurmctld_knows(void **state)
{
	static const struct {
		const char *file, *flags;
	} files[] = {{"test/fixture/sacct/22.05.json", "SchedBackfill"},
		     {"test/fixture/sacct/24.11.json", "SchedBackfill,StartReceived"}};

	(void)state;
	for (size_t f = 0; f < 2; f++) {
		struct seen s;
		read_file(files[f].file, &s);
		for (unsigned i = 0; i < s.count; i++) {
			assert_string_equal(s.flags[i], files[f].flags);
			assert_int_not_equal(s.jobs[i].priority, 0);
			assert_string_equal(s.lines[i], "");
			assert_string_equal(s.others[i], "///////");
		}
	}
	struct seen s;
	read_text("{\"jobs\":[{\"job_id\":7,\"cluster\":\"c\",\"state\":{\"current\":"
		  "\"COMPLETED\"},\"time\":{\"submission\":1000},\"flags\":[\"NONE\","
		  "\"STARTED_ON_SUBMIT\",7],\"comment\":{\"administrator\":\"a\","
		  "\"system\":\"s\"},\"extra\":\"e\",\"container\":\"/o\","
		  "\"constraints\":\"avx\",\"licenses\":\"l:1\",\"qosreq\":\"q\","
		  "\"failed_node\":\"n9\",\"priority\":{\"set\":true,\"number\":12},"
		  "\"submit_line\":\"secret\"}]}",
		  &s);
	assert_int_equal(s.count, 1);
	assert_string_equal(s.flags[0], "SchedSubmit");
	assert_string_equal(s.others[0], "a/s/e//o/avx/l:1/q/n9");
	assert_int_equal(s.jobs[0].priority, 12);
	assert_string_equal(s.lines[0], "");
}

static void columns_have_what_slurmctld_knows(void **state)
{
	struct seen s;

	(void)state;
	read_text("JobIDRaw|Cluster|Submit|State|Flags|Priority|AdminComment|"
		  "SystemComment|Extra|Container|Constraints|Licenses|QOSREQ|"
		  "FailedNode|SubmitLine\n"
		  "7|c|1000|COMPLETED|SchedBackfill,StartReceived|12|a|s|e|/o|avx|l:1|"
		  "q|n9|sbatch job\n"
		  "9|c|1000|COMPLETED|SchedMain,StartRecieved|high|||||||||\n",
		  &s);
	assert_int_equal(s.count, 2);
	assert_string_equal(s.flags[0], "SchedBackfill,StartReceived");
	assert_string_equal(s.others[0], "a/s/e//o/avx/l:1/q/n9");
	assert_string_equal(s.lines[0], "");
	assert_int_equal(s.jobs[0].priority, 12);
	assert_int_equal(s.jobs[1].job_id, 9);
	assert_string_equal(s.flags[1], "SchedMain,StartReceived"); /* 22.05 */
	assert_string_equal(s.others[1], "///////");
	assert_int_equal(s.jobs[1].priority, 0);
}

#define NAMES "JobIDRaw|JobID|Cluster|User|Submit|Start|End|State|ExitCode|JobName\n"

static void runs_of_a_job_are_numbered(void **state)
{
	struct seen s;

	(void)state;
	read_text(NAMES "7|7|c|u|1000|1010|1020|REQUEUED|0:0|a\n"
			"7|7|c|u|2000|2010|2020|COMPLETED|0:0|a\n"
			"8|8|c|u|2000|2010|2020|CANCELLED by 1000|0:15|b\n",
		  &s);
	assert_int_equal(s.count, 3);
	assert_int_equal(s.jobs[0].restarts, 0);
	assert_int_equal(s.jobs[1].restarts, 1);
	assert_int_equal(s.jobs[2].restarts, 0);
	assert_int_equal(s.jobs[2].cancelled_by, 1000);
	assert_int_equal(s.jobs[2].exit_code, 15);
}

static void names_of_steps_go_with_their_job(void **state)
{
	struct seen s;
	(void)state;
	read_text(NAMES "7|7|c|u|1000|1010|1020|COMPLETED|0:0|a\n"
			"7.batch|7.batch|c||1000|1010|1020|COMPLETED|0:0|batch\n"
			"7.extern|7.extern|c||1000|1010|1020|COMPLETED|0:0|extern\n"
			"7.0|7.0|c||1000|1010|1020|DANCING|0:0|bu\"rn\n"
			"7.12|7.12|c||1000|1010|1020|COMPLETED|0:0|\xff\n"
			"7.13|7.13|c||1000|1010|1020|COMPLETED|0:0|\n"
			"8|8|c|u|1000|1010|1020|COMPLETED|0:0|a\n"
			"9|9|c|u|never|1010|1020|COMPLETED|0:0|a\n"
			"9.0|9.0|c||1000|1010|1020|COMPLETED|0:0|of none\n"
			"10|5_1|c|u|1000|1010|1020|COMPLETED|0:0|a\n"
			"10.4294967280|5_1.0|c||1000|1010|1020|COMPLETED|0:0|last\n"
			"10.0+1|10.0+1|c||1000|1010|1020|COMPLETED|0:0|part\n",
		  &s);
	assert_int_equal(s.count, 3);
	assert_string_equal(s.steps[0], "{\"0\":\"bu\\\"rn\",\"12\":\"\\ufffd\"}");
	assert_string_equal(s.steps[1], "");
	assert_string_equal(s.steps[2], "{\"4294967280\":\"last\",\"0\":\"part\"}");
	static const char json[] =
		"{\"jobs\":[{\"job_id\":7,\"cluster\":\"c\",\"state\":{\"current\":"
		"\"COMPLETED\"},\"time\":{\"submission\":1000,\"start\":1010,\"end\":"
		"1020},"
		"\"steps\":[{\"step\":{\"id\":\"batch\",\"name\":\"batch\"}},"
		"{\"step\":{\"job_id\":7,\"id\":\"0\",\"name\":\"burn\"}},"
		"{\"step\":{\"id\":\"7.1\",\"name\":\"x\\ny\"}},"
		"{\"step\":{\"id\":2,\"name\":\"z\"}},{\"step\":3},4]},"
		"{\"job_id\":8,\"cluster\":\"c\",\"state\":{\"current\":\"COMPLETED\"},"
		"\"time\":{\"submission\":1000,\"start\":1010,\"end\":1020}}]}";
	read_text(json, &s);
	assert_int_equal(s.count, 2);
	assert_string_equal(s.steps[0],
			    "{\"0\":\"burn\",\"1\":\"x\\u000ay\",\"2\":\"z\"}");
	assert_string_equal(s.steps[1], "");
}

static void steps_are_left_out_and_nonsense_is_counted(void **state)
{
	struct seen s;
	struct sacct_counts c = read_text(
		NAMES "7|7|c|u|1000|1010|1020|COMPLETED|0:0|a\n"
		      "7.batch|7.batch|c||1000|1010|1020|COMPLETED|0:0|batch\n"
		      "9_[1-3]|9_[1-3]|c|u|1000|Unknown|Unknown|PENDING|0:0|x\n"
		      "7|7|c|u|1000|1010|1020|COMPLETED|0:0|a|b\n"
		      "8|8|c|u|never|1010|1020|COMPLETED|0:0|a\n"
		      "8|8|c|u|1000|1010|1005|COMPLETED|0:0|a\n"
		      "8|8|c|u|1000|1010|1020|DANCING|0:0|a\n"
		      "8|8||u|1000|1010|1020|COMPLETED|0:0|a\n\n",
		&s);

	(void)state;
	assert_int_equal(s.count, 1);
	assert_int_equal(c.jobs, 1);
	assert_int_equal(c.refused, 5);
	assert_true(*c.first.text);
}

static void newlines_in_texts_stay_there(void **state)
{
	struct seen s;
	struct sacct_counts c =
		read_text(NAMES "7|7|c|u\nv|1000|1010|1020|COMPLETED|0:0|a\n\n b \n"
				"8|8|c|u|1000|1010|1020|COMPLETED|0:0|\n"
				"9|9|c|\n"
				"10|10|c|u|1000|1010|1020|COMPLETED|0:0|x\r\n"
				"11|11|c\n",
			  &s);

	(void)state;
	assert_int_equal(s.count, 3);
	assert_int_equal(s.jobs[0].end_s, 1020);
	assert_string_equal(s.names[0], "a\n\n b ");
	assert_string_equal(s.names[1], "");
	assert_int_equal(s.jobs[2].job_id, 10);
	assert_string_equal(s.names[2], "x");
	assert_int_equal(c.refused, 2);
}

static void who_does_not_know_the_separator_writes_no_row(void **state)
{
	struct seen s;
	struct sacct_counts c = read_separated(
		"JobID<5>User<5>Cluster<5>JobName<5>Submit<5>State\n"
		"7<5>u<5>c<5>a|b\n8|v|c|x|1000|FAILED\n8\x1fv<5>1000<5>COMPLETED\n",
		"<5>", &s);

	(void)state;
	assert_int_equal(s.count, 1);
	assert_int_equal(c.refused, 0);
	assert_int_equal(s.jobs[0].job_id, 7);
	assert_string_equal(s.names[0], "a|b\n8|v|c|x|1000|FAILED\n8\x1fv");
}

static void times_may_have_zones(void **state)
{
	struct seen s;

	(void)state;
	read_text(NAMES
		  "7|7|c|u|2025-03-10T10:00:00+01:00|2025-03-10T10:00:05+01:00|Unknown|"
		  "RUNNING|0:0|a\n",
		  &s);
	assert_int_equal(s.jobs[0].submit_s, 1741597200);
	assert_int_equal(s.jobs[0].end_s, 0);
}

static void what_is_not_sacct_is_refused(void **state)
{
	static const char *const bad[] = {
		"",       "hello\n",       "{}", "{\"jobs\":3}", "{\"jobs\":[",
		"<html>", "a|b|c\n1|2|3\n"};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		auto_buf struct buf b = BUF_INIT;
		struct sacct_counts c;
		struct seen s = {.count = 0};
		buf_puts(&b, bad[i]);
		assert_int_equal(sacct_read(b.data, b.len, "", "c", see, &s, &c, &err),
				 -EBADMSG);
	}
}

static void associations_become_a_list(void **state)
{
	auto_buf struct buf b = BUF_INIT;
	size_t rows = 0;
	static const char text[] =
		"Cluster|Account|User\nalpha|phys|\nalpha|phys|alice\n"
		"alpha|root|root\nalpha|a \"b\"|bob|\n";

	(void)state;
	assert_int_equal(associations_parse(text, strlen(text), &b, &rows, &err), 0);
	assert_int_equal(rows, 2);
	assert_string_equal(
		b.data,
		"[{\"cluster\":\"alpha\",\"account\":\"phys\"},"
		"{\"cluster\":\"alpha\",\"account\":\"phys\",\"user\":\"alice\"},"
		"{\"cluster\":\"alpha\",\"account\":\"root\"},"
		"{\"cluster\":\"alpha\",\"account\":\"a \\\"b\\\"\",\"user\":"
		"\"bob\"}]");
}

/* An empty list would take everybody's rights away. */
static void a_list_that_is_none_changes_nothing(void **state)
{
	static const char *const bad[] = {"",
					  "\n\n",
					  "Cluster|Account|User\n",
					  "alpha\n",
					  "alpha|phys\n",
					  "|phys|alice\n",
					  "a|b|c|d\n",
					  "sacctmgr: error: Sending PersistInit msg\n",
					  "alpha|ph\x01s|alice\n",
					  "alpha|\xff|alice\n"};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		auto_buf struct buf b = BUF_INIT;
		size_t rows = 0;
		assert_int_equal(
			associations_parse(bad[i], strlen(bad[i]), &b, &rows, &err),
			-EBADMSG);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(releases_and_forms_agree),
		cmocka_unit_test(json_has_what_slurmctld_knows),
		cmocka_unit_test(columns_have_what_slurmctld_knows),
		cmocka_unit_test(runs_of_a_job_are_numbered),
		cmocka_unit_test(names_of_steps_go_with_their_job),
		cmocka_unit_test(steps_are_left_out_and_nonsense_is_counted),
		cmocka_unit_test(newlines_in_texts_stay_there),
		cmocka_unit_test(who_does_not_know_the_separator_writes_no_row),
		cmocka_unit_test(times_may_have_zones),
		cmocka_unit_test(what_is_not_sacct_is_refused),
		cmocka_unit_test(associations_become_a_list),
		cmocka_unit_test(a_list_that_is_none_changes_nothing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
