/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lib/records/job_json.h"
#include "test/unit/unit.h"

static void assert_json(const struct job *j, const char *want)
{
	struct buf out = BUF_INIT;

	job_put_json(j, &out);
	assert_int_equal(buf_error(&out), 0);
	assert_string_equal(out.data, want);
	buf_done(&out);
}

static void what_is_not_known_is_left_out(void **state)
{
	struct job j;

	(void)state;
	job_init(&j);
	j.event = JOB_EVENT_CANCELLED_PENDING;
	j.job_id = 7;
	j.state = JOB_STATE_CANCELLED;
	j.submit_s = 5;
	j.end_s = 9;
	j.recorded_ns = 9000000000;
	j.cluster = "c";
	assert_json(&j,
		    ",\"event\":\"cancelled_pending\",\"cluster\":\"c\",\"job_id\":7,"
		    "\"restarts\":0,\"state\":\"CANCELLED\",\"state_number\":4,"
		    "\"uid\":0,\"gid\":0,\"recorded_ns\":9000000000,"
		    "\"submit_s\":5,\"end_s\":9,\"part_s\":9");
}

static void zero_is_told_where_it_is_known(void **state)
{
	struct job j;

	(void)state;
	job_init(&j);
	j.event = JOB_EVENT_ENDED;
	j.job_id = 7;
	j.state = JOB_STATE_COMPLETED;
	j.submit_s = j.start_s = 5;
	j.recorded_ns = 1;
	j.cluster = "c";
	j.name = "a\"b";
	j.exit_code = 0;
	j.sluid = j.db_index = 0x0123456789abcdef;
	j.array_job = 6;
	j.array_task = 0;
	j.time_limit_min = JOB_INFINITE;
	j.slurm_flags = "SchedMain";
	j.submit_line = "srun a";
	j.flags = JOB_CUT | JOB_LINE_CUT | JOB_BY_SRUN;
	assert_json(&j, ",\"event\":\"ended\",\"cluster\":\"c\",\"job_id\":7,"
			"\"restarts\":0,\"state\":\"COMPLETED\",\"state_number\":3,"
			"\"uid\":0,\"gid\":0,\"recorded_ns\":1,"
			"\"sluid\":\"s028T5CY4TQKFF\","
			"\"db_index\":\"81985529216486895\",\"array_job\":6,"
			"\"array_task\":0,\"submit_s\":5,\"start_s\":5,\"part_s\":5,"
			"\"exit_code\":0,\"time_limit_min\":\"infinite\","
			"\"name\":\"a\\\"b\",\"slurm_flags\":\"SchedMain\","
			"\"submit_line\":\"srun a\",\"by_srun\":true,"
			"\"submit_line_cut\":true,\"cut\":true");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_not_known_is_left_out),
		cmocka_unit_test(zero_is_told_where_it_is_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
