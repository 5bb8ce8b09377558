/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/records/report.h"
#include "lib/records/tlv.h"
#include "test/unit/unit.h"

static struct err err;
static struct report in, out;
static unsigned char wire[REPORT_BYTES_MAX];

/* xorshift64*: the same sequence everywhere */
static uint64_t next(uint64_t *seed)
{
	*seed ^= *seed >> 12;
	*seed ^= *seed << 25;
	*seed ^= *seed >> 27;
	return *seed * 2685821657736338717ull;
}

/* 0 and the ends of the range are as likely as the rest */
static uint64_t number(uint64_t *seed)
{
	switch (next(seed) % 6) {
	case 0:
		return 0;
	case 1:
		return INT64_MAX;
	case 2:
		return next(seed) % 1000;
	default:
		return next(seed) >> 1;
	}
}

static void random_text(uint64_t *seed, char *dst, size_t size)
{
	static const char *const pieces[] = {"a", "\"", "\n", "\xc3\xa4",
					     "/", "7",  "=",  "\xf0\x9f\x98\x80"};
	size_t len = 0, want = next(seed) % size;

	memset(dst, 0, size);
	for (;;) {
		const char *p = pieces[next(seed) % 8];
		if (len + strlen(p) > want)
			return;
		memcpy(dst + len, p, strlen(p));
		len += strlen(p);
	}
}

static void random_step(uint64_t *seed, struct report_step *s)
{
	memset(s, 0, sizeof(*s));
	s->step = (uint32_t)next(seed);
	s->flags = (uint32_t)next(seed) & 7;
	s->exit_status = (uint32_t)number(seed);
	s->tasks = (uint32_t)number(seed);
	s->cpus = (uint32_t)number(seed);
	uint64_t *const values[] = {&s->started_ns,     &s->ended_ns,
				    &s->cpu_user_ns,    &s->cpu_system_ns,
				    &s->io_read_bytes,  &s->memory_peak_bytes,
				    &s->io_write_bytes, &s->oom_kills};
	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++)
		*values[i] = number(seed);
	for (uint32_t d = 1; d < REPORT_DOMAINS; d++)
		s->energy_uj[d] = number(seed);
	if (next(seed) % 2)
		random_text(seed, s->command, sizeof(s->command));
	if (next(seed) % 4 == 0)
		random_text(seed, s->label, sizeof(s->label));
}

static void random_use(uint64_t *seed, struct report_use *u)
{
	uint64_t *const values[] = {
		&u->cpu_user_ns,          &u->cpu_system_ns,     &u->cpu_throttled_ns,
		&u->memory_average_bytes, &u->memory_peak_bytes, &u->oom_kills,
		&u->io_read_bytes,        &u->io_write_bytes,    &u->network_rx_bytes,
		&u->network_tx_bytes,     &u->gpu_busy_ns,       &u->gpu_memory_bytes};

	u->known = (uint32_t)next(seed) & 127;
	for (size_t i = 0; u->known && i < sizeof(values) / sizeof(values[0]); i++)
		*values[i] = number(seed);
}

static void random_before(uint64_t *seed, struct report_before *b)
{
	if (next(seed) % 2)
		return;
	*b = (struct report_before){
		1 | (uint32_t)(next(seed) & 8),
		number(seed),
		number(seed),
		number(seed),
		number(seed),
	};
}

static void required(struct report *r, enum report_type type)
{
	report_init(r, type, MANAGER_SLURM);
	r->instance = 42;
	report_set(r, r->cluster, sizeof(r->cluster), "c");
	report_set(r, r->node, sizeof(r->node), "n1");
	report_set(r, r->unit, sizeof(r->unit), "1234");
	r->started_ns = 1000;
	if (type == REPORT_START)
		return;
	r->t0_ns = 1000;
	r->t1_ns = 5000;
	r->observed_ns = 4000;
	if (type == REPORT_FINAL) {
		r->ended_ns = 5000;
		r->end = REPORT_END_COMPLETED;
	}
}

static void random_mount(uint64_t *seed, struct report_mount *m)
{
	random_text(seed, m->path, sizeof(m->path));
	for (char *c = m->path; *c; c++)
		*c = *c == '\n' ? '_' : *c;
	for (unsigned k = 0; k < COUNT_FILES; k++)
		m->values[k] = number(seed);
}

static void random_report(uint64_t *seed, struct report *r)
{
	required(r, (enum report_type)(REPORT_START + next(seed) % 3));
	r->manager = (uint8_t)(1 + next(seed) % 3);
	r->flags = (uint32_t)next(seed) & 0x3d;
	r->instance = number(seed) | 1;
	uint32_t *const u32[] = {&r->restarts,  &r->uid,           &r->gid,
				 &r->array_job, &r->cpus,          &r->array_task,
				 &r->gpu_count, &r->steps_started, &r->hints.het_job,
				 &r->millicpus};
	for (size_t i = 0; i < sizeof(u32) / sizeof(u32[0]); i++)
		*u32[i] = (uint32_t)number(seed);
	r->memory_bytes = number(seed);
	r->sized_ns = number(seed);
	random_text(seed, r->boot_id, sizeof(r->boot_id));
	random_text(seed, r->gpus, sizeof(r->gpus));
	random_text(seed, r->gpu_share, sizeof(r->gpu_share));
	random_text(seed, r->hints.name, sizeof(r->hints.name));
	random_text(seed, r->hints.account, sizeof(r->hints.account));
	random_text(seed, r->hints.partition, sizeof(r->hints.partition));
	random_text(seed, r->hints.sluid, sizeof(r->hints.sluid));
	random_use(seed, &r->use);
	random_before(seed, &r->before);
	for (uint64_t n = next(seed) % (REPORT_ENERGIES_MAX + 1); n; n--) {
		char source[REPORT_SOURCE_MAX];
		snprintf(source, sizeof(source), "source%u", (unsigned)n);
		assert_true(report_add_energy(r, (uint32_t)next(seed) % 9, source,
					      number(seed)));
	}
	for (unsigned i = 0; i < REPORT_COUNTS; i++)
		if (report_count_name(i) && next(seed) % 2)
			report_count_set(&r->counts, i, number(seed));
	r->mount_count = (uint32_t)(next(seed) % (REPORT_MOUNTS_MAX + 1));
	for (uint32_t i = 0; i < r->mount_count; i++)
		random_mount(seed, &r->mounts[i]);
	r->step_count = next(seed) % 50 ? (uint32_t)next(seed) % 5
					: (uint32_t)next(seed) % (REPORT_STEPS_MAX + 1);
	for (uint32_t i = 0; i < r->step_count; i++)
		random_step(seed, &r->steps[i]);
}

static void random_reports_come_back_as_they_were(void **state)
{
	uint64_t seed = 42;
	(void)state;

	for (int i = 0; i < 5000; i++) {
		random_report(&seed, &in);
		int len = report_encode(&in, wire, sizeof(wire));
		assert_true(len > 0);
		assert_int_equal(wire[0], in.type);
		if (report_decode(wire, (size_t)len, &out, &err) < 0)
			fail_msg("%s", err.text);
		assert_true(report_equal(&in, &out));
	}
}

static void the_longest_report_fits(void **state)
{
	uint64_t seed = 7;
	(void)state;

	random_report(&seed, &in);
	char *const texts[] = {in.cluster,     in.node,          in.unit,
			       in.gpus,        in.gpu_share,     in.hints.name,
			       in.hints.sluid, in.hints.account, in.hints.partition};
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		memset(texts[i], 'x', RECORD_NAME_MAX - 1);
	memset(in.boot_id, 'b', sizeof(in.boot_id) - 1);
	for (unsigned i = 0; i < REPORT_COUNTS; i++)
		report_count_set(&in.counts, i, INT64_MAX);
	in.mount_count = REPORT_MOUNTS_MAX;
	for (uint32_t i = 0; i < in.mount_count; i++)
		memset(in.mounts[i].path, 'm', REPORT_MOUNT_MAX - 1);
	in.step_count = REPORT_STEPS_MAX;
	for (uint32_t i = 0; i < in.step_count; i++)
		memset(&in.steps[i], 0x7f, sizeof(in.steps[i]));
	in.steps[0].energy_uj[0] = 0;
	int len = report_encode(&in, wire, sizeof(wire));
	assert_true(len > 0);
	assert_int_equal(report_decode(wire, (size_t)len, &out, &err), 0);
	assert_int_equal(out.step_count, REPORT_STEPS_MAX);
	assert_false(out.flags & REPORT_STEPS_CUT);
}

static void steps_that_do_not_fit_are_left_out_and_flagged(void **state)
{
	(void)state;
	required(&in, REPORT_FINAL);
	in.step_count = 100;
	for (uint32_t i = 0; i < 100; i++) {
		memset(&in.steps[i], 0, sizeof(in.steps[i]));
		in.steps[i].step = i;
	}
	int len = report_encode(&in, wire, 2000);
	assert_true(len > 0 && len <= 2000);
	assert_int_equal(report_decode(wire, (size_t)len, &out, &err), 0);
	assert_true(out.flags & REPORT_STEPS_CUT);
	assert_in_range(out.step_count, 10, 99);
	assert_int_equal(out.steps[9].step, 9);
	assert_int_equal(report_encode(&in, wire, 40), -EMSGSIZE);
}

static void names_of_steps_make_no_step_stay_out(void **state)
{
	(void)state;
	required(&in, REPORT_FINAL);
	in.step_count = REPORT_STEPS_MAX;
	for (uint32_t i = 0; i < in.step_count; i++) {
		memset(&in.steps[i], 0, sizeof(in.steps[i]));
		in.steps[i].step = i;
		memset(in.steps[i].command, 'c', RECORD_NAME_MAX - 1);
		memset(in.steps[i].label, 'l', RECORD_NAME_MAX - 1);
	}
	int len = report_encode(&in, wire, 40000);
	assert_in_range(len, 39000, 40000);
	assert_int_equal(report_decode(wire, (size_t)len, &out, &err), 0);
	assert_int_equal(out.step_count, REPORT_STEPS_MAX);
	assert_int_equal(out.flags, REPORT_CUT);
	assert_string_equal(out.steps[0].command, in.steps[0].command);
	assert_string_equal(out.steps[0].label, in.steps[0].label);
	assert_string_equal(out.steps[REPORT_STEPS_MAX - 1].command, "");
}

/* As another version, or nobody, might write it. */
static void names_of_steps_are_checked(void **state)
{
	(void)state;
	static const struct {
		const char *value;
		size_t len;
		const char *why, *command, *label;
	} cases[] = {
		{"\7\0\0\0\3abcdef", 11, NULL, "abc", "def"},
		{"\7\0\0\0\6abcdef", 11, NULL, "abcdef", ""},
		{"\7\0\0\0\0", 5, NULL, "", ""},
		{"\7\0\0\0\2\xff\xc3\xff", 8, NULL, "??", "?"},
		{"\10\0\0\0\3abcdef", 11, NULL, "", ""}, /* of another step */
		{"\7\0\0\0", 4, "cut short in its names", "", ""},
		{"\7\0\0\0\7abcdef", 11, "cut short in its names", "", ""},
		{"\7\0\0\0\3a\0cdef", 11, "zero byte", "", ""},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		required(&in, REPORT_FINAL);
		in.step_count = 1;
		in.steps[0] = (struct report_step){.step = 7};
		int n = report_encode(&in, wire, sizeof(wire));
		assert_true(n > 0);
		size_t len = (size_t)n;
		wire[len] = 7;
		wire[len + 1] = 1;
		wire[len + 2] = (unsigned char)cases[i].len;
		wire[len + 3] = 0;
		memcpy(wire + len + 4, cases[i].value, cases[i].len);
		len += 4 + cases[i].len;
		int rc = report_decode(wire, len, &out, &err);
		assert_int_equal(rc, cases[i].why ? -EPROTO : 0);
		if (cases[i].why) {
			assert_non_null(strstr(err.text, cases[i].why));
			continue;
		}
		assert_string_equal(out.steps[0].command, cases[i].command);
		assert_string_equal(out.steps[0].label, cases[i].label);
	}
}

/* Without one field each: the text names it. */
static void each_required_field_that_is_missing_is_named(void **state)
{
	(void)state;
	static const struct {
		enum report_type type;
		size_t offset, size;
		const char *name;
	} cases[] = {
#define CASE(type, member)                                                             \
	{type, offsetof(struct report, member), sizeof(in.member), #member}
		CASE(REPORT_START, manager),  CASE(REPORT_START, instance),
		CASE(REPORT_START, cluster),  CASE(REPORT_START, node),
		CASE(REPORT_START, unit),     CASE(REPORT_START, started_ns),
		CASE(REPORT_INTERVAL, t0_ns), CASE(REPORT_INTERVAL, t1_ns),
		CASE(REPORT_INTERVAL, unit),  CASE(REPORT_FINAL, t0_ns),
		CASE(REPORT_FINAL, t1_ns),    CASE(REPORT_FINAL, ended_ns),
		CASE(REPORT_FINAL, end),      CASE(REPORT_FINAL, instance),
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char want[64];
		required(&in, cases[i].type);
		memset((char *)&in + cases[i].offset, 0, cases[i].size);
		int len = report_encode(&in, wire, sizeof(wire));
		assert_true(len > 0);
		assert_int_equal(report_decode(wire, (size_t)len, &out, &err), -EPROTO);
		snprintf(want, sizeof(want), "field %s: missing", cases[i].name);
		if (!strstr(err.text, want))
			fail_msg("\"%s\" does not say \"%s\"", err.text, want);
	}
}

static void refuse(const char *want)
{
	int len = report_encode(&in, wire, sizeof(wire));

	assert_true(len > 0);
	assert_int_equal(report_decode(wire, (size_t)len, &out, &err), -EPROTO);
	if (!strstr(err.text, want))
		fail_msg("\"%s\" does not say \"%s\"", err.text, want);
}

static void windows_that_make_no_sense_are_refused(void **state)
{
	(void)state;
	required(&in, REPORT_INTERVAL);
	in.t1_ns = in.t0_ns;
	refuse("t1_ns: not after t0_ns");
	required(&in, REPORT_INTERVAL);
	in.observed_ns = 4001;
	refuse("observed_ns: longer than");
}

static void numbers_that_no_database_takes_are_refused(void **state)
{
	(void)state;
	required(&in, REPORT_START);
	in.instance = 1ull << 63;
	refuse("field instance: number above");
	required(&in, REPORT_INTERVAL);
	in.use.known = REPORT_HAS_CPU;
	in.use.cpu_user_ns = UINT64_MAX;
	refuse("field use: number above");
	required(&in, REPORT_START);
	in.before.known = REPORT_HAS_IO;
	in.before.io_write_bytes = UINT64_MAX;
	refuse("field before: number above");
	required(&in, REPORT_INTERVAL);
	report_add_energy(&in, REPORT_PACKAGE, "rapl", UINT64_MAX);
	refuse("field energy: number above");
	required(&in, REPORT_FINAL);
	in.step_count = 1;
	memset(&in.steps[0], 0, sizeof(in.steps[0]));
	in.steps[0].energy_uj[REPORT_DRAM] = UINT64_MAX;
	refuse("field steps: number above");
}

/* Appends a field to a final report, as another version, or nobody, might write it. */
static size_t with_field(uint16_t id, const void *value, size_t len)
{
	required(&in, REPORT_FINAL);
	int n = report_encode(&in, wire, sizeof(wire));
	struct tlv_out o = {.data = wire, .size = sizeof(wire), .len = (size_t)n};
	assert_true(n > 0);
	unsigned char *p = tlv_put(&o, id, len);
	assert_non_null(p);
	memcpy(p, value, len);
	return o.len;
}

static void counts_are_checked(void **state)
{
	(void)state;
	static const struct {
		const char *value;
		size_t len;
		const char *why;
		uint64_t known;
	} cases[] = {
		{"\1\0\5\0\0\0\0\0\0\0", 10, NULL, 1 << COUNT_READ_CALLS},
		/* of a later version */
		{"\xff\7\5\0\0\0\0\0\0\0", 10, NULL, 0},
		{"\x3f\0\5\0\0\0\0\0\0\0", 10, NULL, 0},
		{"\1\0\5\0\0\0\0\0\0\0\1\0\5\0\0\0\0\0\0\0", 20, "two values", 0},
		{"\1\0\5\0\0\0\0\0\0\x80", 10, "number above 2^63 - 1", 0},
		{"\1\0\5\0\0\0\0\0\0", 9, "cut short", 0},
		{"", 0, "cut short", 0},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		size_t len = with_field(30, cases[i].value, cases[i].len);
		int rc = report_decode(wire, len, &out, &err);
		assert_int_equal(rc, cases[i].why ? -EPROTO : 0);
		if (cases[i].why)
			assert_non_null(strstr(err.text, cases[i].why));
		else
			assert_int_equal(out.counts.known[0], cases[i].known);
	}
}

static void paths_of_mounts_may_be_anything(void **state)
{
	(void)state;
	char value[48 + 4096], hostile[] = "/a\n\"b\\\xff'\x1b[1m\xc3\xa4";

	memset(value, 0, sizeof(value));
	value[0] = 5;
	memcpy(value + 48, hostile, sizeof(hostile) - 1);
	size_t len = with_field(31, value, 48 + sizeof(hostile) - 1);
	assert_int_equal(report_decode(wire, len, &out, &err), 0);
	assert_string_equal(out.mounts[0].path, "/a?\"b\\?'?[1m\xc3\xa4");
	assert_int_equal(out.mounts[0].values[COUNT_READ_BYTES], 5);
	auto_buf struct buf json = BUF_INIT;
	report_mounts_put_json(&json, out.mounts, 1);
	assert_non_null(strstr(json.data, "{\"path\":\"/a?\\\"b\\\\?'?[1m"));

	memset(value + 48, 'x', 4096);
	len = with_field(31, value, sizeof(value));
	assert_int_equal(report_decode(wire, len, &out, &err), 0);
	assert_int_equal(strlen(out.mounts[0].path), REPORT_MOUNT_MAX - 1);
	assert_true(out.flags & REPORT_CUT);

	value[50] = '\0';
	len = with_field(31, value, 100);
	assert_int_equal(report_decode(wire, len, &out, &err), -EPROTO);
	assert_non_null(strstr(err.text, "zero byte"));
	len = with_field(31, value, 47);
	assert_int_equal(report_decode(wire, len, &out, &err), -EPROTO);
}

static void mounts_beyond_those_of_a_report_are_left_out(void **state)
{
	(void)state;
	char value[49] = {[48] = '/'};
	size_t len = with_field(31, value, sizeof(value));
	struct tlv_out o = {.data = wire, .size = sizeof(wire), .len = len};

	for (uint32_t i = 0; i < REPORT_MOUNTS_MAX; i++)
		memcpy(tlv_put(&o, 31, sizeof(value)), value, sizeof(value));
	assert_int_equal(report_decode(wire, o.len, &out, &err), 0);
	assert_int_equal(out.mount_count, REPORT_MOUNTS_MAX);
	assert_true(out.flags & REPORT_CUT);
}

static void energy_of_a_domain_and_source_stands_once(void **state)
{
	(void)state;
	required(&in, REPORT_INTERVAL);
	assert_true(report_add_energy(&in, REPORT_PACKAGE, "rapl", 5));
	assert_true(report_add_energy(&in, REPORT_PACKAGE, "model", 7));
	assert_true(report_add_energy(&in, REPORT_PACKAGE, "rapl", 6));
	assert_int_equal(in.energy_count, 2);
	assert_int_equal(in.energy[0].uj, 11);
	memcpy(in.energy[1].source, "rapl\0", 6);
	refuse("field energy: there twice");
}

static void unknown_fields_are_skipped(void **state)
{
	struct tlv_out o;
	(void)state;
	required(&in, REPORT_INTERVAL);
	int len = report_encode(&in, wire, sizeof(wire));
	assert_true(len > 0);
	o = (struct tlv_out){.data = wire, .size = sizeof(wire), .len = (size_t)len};
	tlv_put_text(&o, 9999, "from a later version", 20);
	assert_int_equal(report_decode(wire, o.len, &out, &err), 0);
	assert_true(report_equal(&in, &out));
}

static void a_value_that_a_later_version_made_longer_is_read(void **state)
{
	static const unsigned char more[4 + 12 * 8 + 8] = {1, 0, 0, 0, 9};
	struct tlv_out o;
	(void)state;
	required(&in, REPORT_INTERVAL);
	int len = report_encode(&in, wire, sizeof(wire));
	o = (struct tlv_out){.data = wire, .size = sizeof(wire), .len = (size_t)len};
	unsigned char *p = tlv_put(&o, 24, sizeof(more));
	memcpy(p, more, sizeof(more));
	assert_int_equal(report_decode(wire, o.len, &out, &err), 0);
	assert_int_equal(out.use.known, REPORT_HAS_CPU);
	assert_int_equal(out.use.cpu_user_ns, 9);
}

static void every_cut_of_a_report_is_an_error_or_a_shorter_report(void **state)
{
	uint64_t seed = 3;
	unsigned errors = 0;
	(void)state;
	random_report(&seed, &in);
	int len = report_encode(&in, wire, sizeof(wire));
	for (int n = 0; n < len; n++)
		errors += report_decode(wire, (size_t)n, &out, &err) == -EPROTO;
	assert_true(errors > 100);
}

static void text_that_is_not_utf8_becomes_so(void **state)
{
	(void)state;
	required(&in, REPORT_START);
	report_set(&in, in.hints.name, sizeof(in.hints.name), "a\xff\xc3z");
	assert_string_equal(in.hints.name, "a??z");
	memcpy(in.hints.account, "\xc3\x28",
	       3); /* as if somebody else had written it */
	int len = report_encode(&in, wire, sizeof(wire));
	assert_int_equal(report_decode(wire, (size_t)len, &out, &err), 0);
	assert_string_equal(out.hints.account, "?(");
}

static void a_field_that_comes_twice_is_refused(void **state)
{
	struct tlv_out o;
	(void)state;
	required(&in, REPORT_START);
	int len = report_encode(&in, wire, sizeof(wire));
	o = (struct tlv_out){.data = wire, .size = sizeof(wire), .len = (size_t)len};
	tlv_put_number(&o, 3, 43, 8);
	assert_int_equal(report_decode(wire, o.len, &out, &err), -EPROTO);
	assert_non_null(strstr(err.text, "field instance: there twice"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_reports_come_back_as_they_were),
		cmocka_unit_test(the_longest_report_fits),
		cmocka_unit_test(steps_that_do_not_fit_are_left_out_and_flagged),
		cmocka_unit_test(names_of_steps_make_no_step_stay_out),
		cmocka_unit_test(names_of_steps_are_checked),
		cmocka_unit_test(each_required_field_that_is_missing_is_named),
		cmocka_unit_test(windows_that_make_no_sense_are_refused),
		cmocka_unit_test(numbers_that_no_database_takes_are_refused),
		cmocka_unit_test(counts_are_checked),
		cmocka_unit_test(paths_of_mounts_may_be_anything),
		cmocka_unit_test(mounts_beyond_those_of_a_report_are_left_out),
		cmocka_unit_test(energy_of_a_domain_and_source_stands_once),
		cmocka_unit_test(unknown_fields_are_skipped),
		cmocka_unit_test(a_value_that_a_later_version_made_longer_is_read),
		cmocka_unit_test(every_cut_of_a_report_is_an_error_or_a_shorter_report),
		cmocka_unit_test(text_that_is_not_utf8_becomes_so),
		cmocka_unit_test(a_field_that_comes_twice_is_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
