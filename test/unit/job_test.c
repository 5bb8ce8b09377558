/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/buf.h"
#include "lib/crc32c.h"
#include "lib/records/job.h"
#include "test/unit/unit.h"

static struct err err;
static unsigned char wire[JOB_RECORD_MAX];

static struct job an_array_task(void)
{
	struct job j;

	job_init(&j);
	j.event = JOB_EVENT_ENDED;
	j.job_id = 4712;
	j.restarts = 2;
	j.state = JOB_FLAG_COMPLETING | JOB_STATE_FAILED;
	j.uid = 1000;
	j.gid = 100;
	j.recorded_ns = 1700000099123456789;
	j.sluid = 0x0123456789abcdef;
	j.db_index = 0x0123456789abcdf0;
	j.submit_s = 1700000000;
	j.eligible_s = 1700000001;
	j.start_s = 1700000010;
	j.end_s = 1700000090;
	j.resize_s = 1700000050;
	j.suspended_s = 7;
	j.array_job = 4711;
	j.array_task = 3;
	j.het_job = 4000;
	j.het_offset = 1;
	j.exit_code = 256;
	j.derived_exit_code = 9;
	j.reason = 35;
	j.cancelled_by = 0;
	j.time_limit_min = JOB_INFINITE;
	j.node_count = 2;
	j.cpus = 8;
	j.tasks = 4;
	j.priority = 4711;
	j.cluster = "c1";
	j.user = "ann";
	j.group = "staff";
	j.account = "physics";
	j.qos = "normal";
	j.partition = "main";
	j.reservation = "maint";
	j.wckey = "key";
	j.name = "sim \xc3\xa4";
	j.comment = "a comment";
	j.admin_comment = "another";
	j.system_comment = "a third";
	j.extra = "{}";
	j.container = "/oci";
	j.constraints = "avx";
	j.licenses = "matlab:2";
	j.qos_requested = "long,normal";
	j.failed_node = "n2";
	j.slurm_flags = "SchedMain,StartReceived";
	j.submit_line = "sbatch x.sh";
	j.work_dir = "/home/ann";
	j.reason_name = "NonZeroExitCode";
	j.array_tasks = "";
	j.nodes = "n[1-2]";
	j.tres_requested = "cpu=8,mem=400M,node=2";
	j.tres_allocated = "cpu=8,mem=400M,node=2,billing=8,gres/gpu=2";
	j.gres = "gpu:1(IDX:0)*2";
	return j;
}

static struct job the_least(void)
{
	struct job j;

	job_init(&j);
	j.event = JOB_EVENT_CANCELLED_PENDING;
	j.job_id = 1;
	j.recorded_ns = 1;
	j.submit_s = 1;
	j.cluster = "c";
	return j;
}

static struct job through_the_wire(const struct job *j)
{
	struct job ret;
	int len = job_encode(j, wire, sizeof(wire));

	assert_true(len > 0);
	assert_int_equal(job_decode(wire, (size_t)len, &ret, &err), 0);
	return ret;
}

static void every_field_comes_back(void **state)
{
	struct job a = an_array_task();
	struct job b = through_the_wire(&a);

	(void)state;
	assert_int_equal(b.event, a.event);
	assert_int_equal(b.flags, 0);
	/* all numbers are between the two members, the texts between these */
	assert_memory_equal(&b.job_id, &a.job_id,
			    offsetof(struct job, cluster) -
				    offsetof(struct job, job_id));
	const char *const *x = &a.cluster, *const *y = &b.cluster;
	for (; x <= (const char *const *)&a.gres; x++, y++)
		assert_string_equal(*y, *x);
	job_done(&b);
	assert_string_equal(b.name, "");
	job_done(&b);
	job_done(NULL);
}

/* Spools and couriers of other releases hold these very bytes. */
static void the_bytes_of_a_record_stay(void **state)
{
	const struct {
		struct job job;
		int len;
		uint32_t crc;
	} rows[] = {{an_array_task(), 606, 0x26474600}, {the_least(), 76, 0xc2573b42}};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		int n = job_encode(&rows[i].job, wire, sizeof(wire));

		assert_int_equal(n, rows[i].len);
		assert_int_equal(crc32c(0, wire, (size_t)n), rows[i].crc);
	}
}

static void what_is_not_known_is_not_zero(void **state)
{
	struct job a = the_least();
	struct job b = through_the_wire(&a);

	(void)state;
	assert_int_equal(b.array_job, JOB_NO_VAL);
	assert_int_equal(b.exit_code, JOB_NO_VAL);
	assert_int_equal(b.cancelled_by, JOB_NO_VAL);
	assert_int_equal(b.time_limit_min, JOB_NO_VAL);
	assert_int_equal(b.het_job, JOB_NO_VAL);
	assert_string_equal(b.nodes, "");
	job_done(&b);
	a.exit_code = 0;
	a.cancelled_by = 0;
	a.array_task = 0;
	b = through_the_wire(&a);
	assert_int_equal(b.exit_code, 0);
	assert_int_equal(b.cancelled_by, 0);
	assert_int_equal(b.array_task, 0);
	job_done(&b);
}

static void root_and_the_pending_state_are_numbers_too(void **state)
{
	struct job a = the_least();
	struct job b = through_the_wire(&a);

	(void)state;
	assert_int_equal(b.uid, 0);
	assert_int_equal(b.state, JOB_STATE_PENDING);
	job_done(&b);
}

static void encode_refuses_what_no_reader_could_use(void **state)
{
	struct job j;

	(void)state;
	j = the_least(), j.cluster = "";
	assert_int_equal(job_encode(&j, wire, sizeof(wire)), -EINVAL);
	j = the_least(), j.job_id = 0;
	assert_int_equal(job_encode(&j, wire, sizeof(wire)), -EINVAL);
	j = the_least(), j.submit_s = 0;
	assert_int_equal(job_encode(&j, wire, sizeof(wire)), -EINVAL);
	j = the_least(), j.event = JOB_EVENTS;
	assert_int_equal(job_encode(&j, wire, sizeof(wire)), -EINVAL);
	j = the_least();
	for (size_t size = 0; size < 20; size++)
		assert_int_equal(job_encode(&j, wire, size), -EMSGSIZE);
}

static char *long_text(const char *piece, size_t times)
{
	size_t n = strlen(piece);
	char *s = malloc(n * times + 1);

	assert_non_null(s);
	for (size_t i = 0; i < times; i++)
		memcpy(s + i * n, piece, n);
	s[n * times] = '\0';
	return s;
}

static void a_long_comment_is_cut_at_a_character_and_flagged(void **state)
{
	struct job a = the_least();
	char *s = long_text("\xe2\x82\xac", 3000);

	(void)state;
	a.comment = s;
	struct job b = through_the_wire(&a);
	assert_int_equal(b.flags, JOB_CUT);
	assert_int_equal(strlen(b.comment), JOB_LONG_MAX / 3 * 3);
	assert_memory_equal(b.comment, s, strlen(b.comment));
	job_done(&b);
	free(s);
}

static void the_host_list_of_ten_thousand_nodes_is_whole(void **state)
{
	struct job a = the_least();
	struct buf list = BUF_INIT;

	(void)state;
	/* every other node of 20 000: no ranges to be had */
	buf_puts(&list, "node[");
	for (int i = 0; i < 10000; i++)
		buf_printf(&list, "%s%05d", i ? "," : "", 2 * i);
	buf_putc(&list, ']');
	assert_true(list.len > 60000);
	a.nodes = list.data;
	struct job b = through_the_wire(&a);
	assert_int_equal(b.flags, 0);
	assert_string_equal(b.nodes, list.data);
	job_done(&b);
	buf_done(&list);
}

static void a_longer_host_list_is_cut_between_hosts_and_flagged(void **state)
{
	struct job a = the_least();
	struct buf list = BUF_INIT;

	(void)state;
	buf_puts(&list, "node[");
	for (int i = 0; i < 20000; i++)
		buf_printf(&list, "%s%05d", i ? "," : "", 2 * i);
	buf_putc(&list, ']');
	a.nodes = list.data;
	struct job b = through_the_wire(&a);
	size_t len = strlen(b.nodes);
	assert_int_equal(b.flags, JOB_CUT);
	assert_true(len > JOB_NODES_MAX - 8 && len <= JOB_NODES_MAX);
	assert_int_equal(b.nodes[len - 1], ']');
	assert_memory_equal(b.nodes, list.data, len - 1);
	assert_int_equal(list.data[len - 1], ',');
	job_done(&b);
	buf_done(&list);
}

static void gres_is_cut_between_nodes(void **state)
{
	struct job a = the_least();
	char *s = long_text("gpu:2(IDX:0,2);", 2000);

	(void)state;
	a.gres = s;
	struct job b = through_the_wire(&a);
	assert_int_equal(b.flags, JOB_CUT);
	assert_int_equal((strlen(b.gres) + 1) % 15, 0);
	job_done(&b);
	free(s);
}

static void a_submit_line_is_cut_at_a_character_and_says_so(void **state)
{
	struct job a = the_least();
	char *s = long_text("\xc3\xa4", JOB_LINE_MAX);

	(void)state;
	s[0] = s[1] = 'x'; /* the limit is inside of a character */
	memmove(s + 1, s + 2, strlen(s + 2) + 1);
	a.submit_line = s;
	struct job b = through_the_wire(&a);
	assert_int_equal(b.flags, JOB_CUT | JOB_LINE_CUT);
	assert_int_equal(strlen(b.submit_line), JOB_LINE_MAX - 1);
	assert_memory_equal(b.submit_line, s, JOB_LINE_MAX - 1);
	job_done(&b);
	a.submit_line = "sbatch x.sh";
	a.comment = s;
	b = through_the_wire(&a);
	assert_int_equal(b.flags, JOB_CUT);
	job_done(&b);
	free(s);
}

static void flags_are_the_words_of_sacct(void **state)
{
	char words[JOB_FLAGS_SIZE];

	(void)state;
	assert_string_equal(job_flags_text(0, words), "");
	assert_string_equal(job_flags_text(1, words), "SchedNotSet");
	assert_string_equal(job_flags_text(2, words), "SchedSubmit");
	assert_string_equal(job_flags_text(4 | 16, words), "SchedMain,StartReceived");
	assert_string_equal(job_flags_text(8, words), "SchedBackfill");
	assert_string_equal(job_flags_text(16, words), "StartReceived");
	assert_string_equal(job_flags_text(0xffffffe0, words), "");
}

static void the_longest_record_fits(void **state)
{
	struct job a = an_array_task();
	char *s = long_text("a,", 100000);
	const char **x = &a.cluster;

	(void)state;
	for (; x <= &a.gres; x++)
		*x = s;
	assert_true(job_encode(&a, wire, JOB_RECORD_MAX) > 0);
	free(s);
}

static void decoded_text_is_always_utf8(void **state)
{
	struct job a = the_least();

	(void)state;
	a.name = "caf\xe9 \xc3\xa4\xff";
	struct job b = through_the_wire(&a);
	assert_string_equal(b.name, "caf? \xc3\xa4?");
	job_done(&b);
}

static void names_are_added_to_an_encoded_record(void **state)
{
	struct job a = the_least(), b;
	int len = job_encode(&a, wire, sizeof(wire));
	int more = job_add_names(wire, (size_t)len, (size_t)len + JOB_NAMES_ROOM, "ann",
				 "staff");

	(void)state;
	assert_int_equal(job_decode(wire, (size_t)more, &b, &err), 0);
	assert_string_equal(b.user, "ann");
	assert_string_equal(b.group, "staff");
	job_done(&b);
	assert_int_equal(job_add_names(wire, (size_t)len, sizeof(wire), NULL, ""), len);
	assert_int_equal(job_add_names(wire, (size_t)len, (size_t)len + 4, "ann", ""),
			 -EMSGSIZE);
}

static void unknown_fields_are_skipped(void **state)
{
	struct job a = an_array_task(), b;
	int len = job_encode(&a, wire, sizeof(wire));

	(void)state;
	memcpy(wire + len, "\xff\x7f\x03\x00xyz", 7);
	assert_int_equal(job_decode(wire, (size_t)len + 7, &b, &err), 0);
	assert_int_equal(b.job_id, 4712);
	job_done(&b);
}

static void
every_cut_of_a_record_is_an_error_or_lacks_only_what_is_optional(void **state)
{
	struct job a = an_array_task(), b;
	int len = job_encode(&a, wire, sizeof(wire));
	int good = 0;

	(void)state;
	for (int i = 0; i < len; i++) {
		if (job_decode(wire, (size_t)i, &b, &err) < 0) {
			assert_string_not_equal(err.text, "");
			continue;
		}
		assert_int_equal(b.job_id, 4712);
		assert_string_equal(b.cluster, "c1");
		job_done(&b);
		good++;
	}
	/* behind the required fields and each optional one that is there */
	assert_int_equal(good, 46);
}

static void bad_bytes_are_named(void **state)
{
	struct job a = the_least(), b = the_least();
	int len = job_encode(&a, wire, sizeof(wire));

	(void)state;
	memcpy(wire + len, "\x2f\x00\x02\x00x\x00", 6);
	assert_int_equal(job_decode(wire, (size_t)len + 6, &b, &err), -EPROTO);
	assert_non_null(strstr(err.text, "field name: zero byte"));
	memcpy(wire + len, "\x1b\x00\x02\x00xx", 6);
	assert_int_equal(job_decode(wire, (size_t)len + 6, &b, &err), -EPROTO);
	assert_non_null(strstr(err.text, "field node_count: not a number"));
	memcpy(wire + len, "\x04\x00\x04\x00xxxx", 8);
	assert_int_equal(job_decode(wire, (size_t)len + 8, &b, &err), -EPROTO);
	assert_non_null(strstr(err.text, "field job_id: there twice"));
	wire[0] = 17;
	assert_int_equal(job_decode(wire, (size_t)len, &b, &err), -EPROTO);
	assert_non_null(strstr(err.text, "not a job"));
	assert_int_equal(b.job_id, 1); /* untouched */
}

static void events_are_told_from_the_state(void **state)
{
	(void)state;
	assert_int_equal(job_event_of(JOB_STATE_COMPLETED, true, false),
			 JOB_EVENT_ENDED);
	assert_int_equal(
		job_event_of(JOB_FLAG_COMPLETING | JOB_STATE_TIMEOUT, true, false),
		JOB_EVENT_ENDED);
	assert_int_equal(job_event_of(JOB_FLAG_REQUEUE, true, false),
			 JOB_EVENT_REQUEUED);
	assert_int_equal(
		job_event_of(JOB_FLAG_SPECIAL_EXIT | JOB_STATE_FAILED, true, false),
		JOB_EVENT_REQUEUED);
	assert_int_equal(
		job_event_of(JOB_FLAG_RESIZING | JOB_STATE_RUNNING, true, false),
		JOB_EVENT_RESIZED);
	assert_int_equal(job_event_of(JOB_STATE_CANCELLED, false, false),
			 JOB_EVENT_CANCELLED_PENDING);
	assert_int_equal(job_event_of(JOB_STATE_CANCELLED, false, true),
			 JOB_EVENT_ARRAY_REMAINDER);
	/* the sibling of a federated job, as slurmctld leaves it */
	assert_int_equal(
		job_event_of(JOB_FLAG_REVOKED | JOB_STATE_CANCELLED, false, false),
		JOB_EVENT_REVOKED);
	assert_string_equal(job_event_name(JOB_EVENT_REVOKED), "revoked");
	assert_string_equal(job_event_name(JOB_EVENT_STARTED), "started");
	assert_string_equal(job_event_name(77), "?");
}

static void states_have_the_words_of_sacct(void **state)
{
	(void)state;
	assert_string_equal(job_state_name(JOB_FLAG_COMPLETING | 3), "COMPLETED");
	assert_string_equal(job_state_name(JOB_STATE_OUT_OF_MEMORY), "OUT_OF_MEMORY");
	assert_string_equal(job_state_name(JOB_FLAG_REQUEUE), "REQUEUED");
	assert_string_equal(job_state_name(JOB_FLAG_RESIZING | 1), "RESIZING");
	assert_string_equal(job_state_name(JOB_FLAG_REVOKED | 4), "REVOKED");
	assert_string_equal(job_state_name(12), "?");
}

static void a_part_begins_at_its_resize_at_its_start_or_at_its_end(void **state)
{
	struct job j = the_least();

	(void)state;
	j.end_s = 30;
	assert_int_equal(job_part_s(&j), 30);
	j.start_s = 10;
	assert_int_equal(job_part_s(&j), 10);
	j.resize_s = 20;
	assert_int_equal(job_part_s(&j), 20);
}

static void sluid_is_spelled_as_slurm_does(void **state)
{
	char text[16];

	(void)state;
	assert_string_equal(job_sluid_text(0, text), "");
	assert_string_equal(job_sluid_text(1, text), "s0000000000001");
	assert_string_equal(job_sluid_text(~0ull, text), "sFZZZZZZZZZZZZ");
	assert_string_equal(job_sluid_text(31u << 5, text), "s00000000000Z0");
}

static void amounts_come_out_of_a_tres_text(void **state)
{
	const char *t = "cpu=4,mem=2G,node=1,billing=4,gres/gpu=2,gres/gpu:a100=1";
	uint64_t v = 99;

	(void)state;
	assert_int_equal(job_tres_get(t, "cpu", &v), 0);
	assert_int_equal(v, 4);
	assert_int_equal(job_tres_get(t, "mem", &v), 0);
	assert_int_equal(v, 2ull << 30);
	assert_int_equal(job_tres_get("mem=50M", "mem", &v), 0);
	assert_int_equal(v, 50u << 20);
	assert_int_equal(job_tres_get(t, "gres/gpu", &v), 0);
	assert_int_equal(v, 2);
	assert_int_equal(job_tres_get(t, "gres", &v), -ENODATA);
	assert_int_equal(job_tres_get("", "cpu", &v), -ENODATA);
	assert_int_equal(job_tres_get("cpu=,mem=x", "cpu", &v), -EINVAL);
	assert_int_equal(job_tres_get("cpu=1,mem=99999999999P", "mem", &v), -EINVAL);
	assert_int_equal(v, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_field_comes_back),
		cmocka_unit_test(the_bytes_of_a_record_stay),
		cmocka_unit_test(what_is_not_known_is_not_zero),
		cmocka_unit_test(root_and_the_pending_state_are_numbers_too),
		cmocka_unit_test(encode_refuses_what_no_reader_could_use),
		cmocka_unit_test(a_long_comment_is_cut_at_a_character_and_flagged),
		cmocka_unit_test(the_host_list_of_ten_thousand_nodes_is_whole),
		cmocka_unit_test(a_longer_host_list_is_cut_between_hosts_and_flagged),
		cmocka_unit_test(gres_is_cut_between_nodes),
		cmocka_unit_test(a_submit_line_is_cut_at_a_character_and_says_so),
		cmocka_unit_test(flags_are_the_words_of_sacct),
		cmocka_unit_test(the_longest_record_fits),
		cmocka_unit_test(decoded_text_is_always_utf8),
		cmocka_unit_test(names_are_added_to_an_encoded_record),
		cmocka_unit_test(unknown_fields_are_skipped),
		cmocka_unit_test(
			every_cut_of_a_record_is_an_error_or_lacks_only_what_is_optional),
		cmocka_unit_test(bad_bytes_are_named),
		cmocka_unit_test(events_are_told_from_the_state),
		cmocka_unit_test(states_have_the_words_of_sacct),
		cmocka_unit_test(
			a_part_begins_at_its_resize_at_its_start_or_at_its_end),
		cmocka_unit_test(sluid_is_spelled_as_slurm_does),
		cmocka_unit_test(amounts_come_out_of_a_tres_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
