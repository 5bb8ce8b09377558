/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/buf.h"
#include "lib/records/record.h"
#include "lib/records/ring.h"
#include "test/unit/unit.h"

static struct err err;

/* xorshift64*: the same sequence everywhere */
static uint64_t next(uint64_t *seed)
{
	*seed ^= *seed >> 12;
	*seed ^= *seed << 25;
	*seed ^= *seed >> 27;
	return *seed * 2685821657736338717ull;
}

static uint64_t below(uint64_t *seed, uint64_t n)
{
	return next(seed) % n;
}

/* 0 and the ends of the range are as likely as the rest */
static uint64_t number(uint64_t *seed)
{
	switch (below(seed, 6)) {
	case 0:
		return 0;
	case 1:
		return ~0ull;
	case 2:
		return below(seed, 1000);
	default:
		return next(seed);
	}
}

static void random_text(uint64_t *seed, char *dst, size_t most)
{
	static const char *const pieces[] = {"a",
					     "Z",
					     "\"",
					     "\n",
					     "\t",
					     "\xc3\xa4",
					     "/",
					     "\xe2\x82\xac",
					     "\xff",
					     "=",
					     "\xf0\x9f\x98\x80",
					     "\\"};
	size_t len = 0, want = below(seed, most);

	while (len < want) {
		const char *p = pieces[below(seed, 12)];
		size_t n = strlen(p);
		if (len + n >= most)
			break;
		memcpy(dst + len, p, n);
		len += n;
	}
	dst[len] = '\0';
}

static void random_counters(uint64_t *seed, struct record_counters *c)
{
	c->source = (uint8_t)below(seed, 4);
	if (c->source == COUNTERS_NONE)
		return;
	c->has_memory = below(seed, 2);
	c->has_io = below(seed, 2);
	c->cpu_user_ns = number(seed);
	c->cpu_system_ns = number(seed);
	c->memory_peak_bytes = number(seed);
	c->io_read_bytes = number(seed);
	c->io_write_bytes = number(seed);
	c->oom_kills = number(seed);
	c->read_ns = number(seed);
}

static void random_record(uint64_t *seed, struct record *r, size_t longest)
{
	record_init(r, (enum record_type)(1 + below(seed, 5)),
		    (enum record_manager)(1 + below(seed, 3)));
	r->flags = (uint32_t)(number(seed) & 0x1fe);
	r->realtime_ns = number(seed) | 1;
	r->boottime_ns = number(seed) | 1;
	snprintf(r->unit, sizeof(r->unit), "%ju", (uintmax_t)number(seed));
	uint32_t *const u32[] = {&r->step,       &r->restarts,   &r->array_job,
				 &r->array_task, &r->uid,        &r->gid,
				 &r->stepd_pid,  &r->tasks,      &r->cpus,
				 &r->step_cpus,  &r->profile_hz, &r->exit_status,
				 &r->het_job};
	for (size_t i = 0; i < sizeof(u32) / sizeof(u32[0]); i++)
		*u32[i] = (uint32_t)number(seed);
	r->memory_bytes = number(seed);
	r->began_ns = number(seed);
	char *const text[] = {r->node,      r->gpus, r->gpu_share,
			      r->sluid,     r->name, r->account,
			      r->partition, r->user, r->command};
	for (size_t i = 0; i < sizeof(text) / sizeof(text[0]); i++)
		random_text(seed, text[i], below(seed, longest) + 1);
	random_counters(seed, &r->counters);
	for (uint64_t i = below(seed, 4); i > 0; i--) {
		char path[RECORD_CGROUP_MAX] = "/";
		random_text(seed, path + 1, below(seed, longest) + 1);
		record_add_cgroup(r, 1u << below(seed, 9), path);
	}
	r->env_count = (uint32_t)below(seed, RECORD_ENV_MAX + 1);
	for (uint32_t i = 0; i < r->env_count; i++) {
		snprintf(r->env[i].name, RECORD_ENV_NAME_MAX, "NAME_%u", i);
		random_text(seed, r->env[i].value, below(seed, longest) + 1);
	}
}

static void assert_same(const struct record *a, const struct record *b)
{
	/* record_init cleared the padding of both */
	if (memcmp(a, b, sizeof(*a)) == 0)
		return;
	for (size_t i = 0; i < sizeof(*a); i++)
		if (((const char *)a)[i] != ((const char *)b)[i])
			fail_msg("records differ at byte %zu", i);
}

static void random_records_come_back_as_they_were(void **state)
{
	unsigned char wire[RING_RECORD_MAX];
	struct record in, out;
	uint64_t seed = 42;
	unsigned whole = 0;
	(void)state;

	print_message("# seed %ju\n", (uintmax_t)seed);
	for (int i = 0; i < 20000; i++) {
		random_record(&seed, &in, 48);
		int len = record_encode(&in, wire, sizeof(wire));
		assert_true(len > 0);
		assert_int_equal(record_decode(wire, (size_t)len, &out, &err), 0);
		if (out.flags & RECORD_CUT)
			continue; /* the next test is about those */
		assert_same(&in, &out);
		whole++;
	}
	assert_true(whole > 15000);
}

/* What does not fit goes from the end: the hints before the facts, and never silently.
 */
static void what_does_not_fit_is_left_out_hints_first_and_flagged(void **state)
{
	unsigned char wire[RING_RECORD_MAX];
	struct record in, out;
	uint64_t seed = 43;
	unsigned cut = 0;
	(void)state;

	print_message("# seed %ju\n", (uintmax_t)seed);
	for (int i = 0; i < 5000; i++) {
		random_record(&seed, &in, 64);
		size_t size = 150 + below(&seed, sizeof(wire) - 150);
		int len = record_encode(&in, wire, size);
		assert_true(len > 0 && (size_t)len <= size);
		assert_int_equal(record_decode(wire, (size_t)len, &out, &err), 0);
		assert_string_equal(out.unit, in.unit);
		assert_int_equal(out.boottime_ns, in.boottime_ns);
		if (!(out.flags & RECORD_CUT)) {
			assert_same(&in, &out);
			continue;
		}
		cut++;
		bool facts_cut = out.cgroup_count < in.cgroup_count ||
				 strcmp(out.gpus, in.gpus) != 0;
		if (facts_cut) {
			assert_string_equal(out.name, "");
			assert_int_equal(out.env_count, 0);
		}
	}
	assert_true(cut > 1000);
}

static void fill_text(char *dst, size_t size)
{
	memset(dst, 'x', size - 1);
	dst[size - 1] = '\0';
}

static void longest_possible_record_keeps_its_required_fields(void **state)
{
	unsigned char wire[RING_RECORD_MAX];
	struct record in, out;
	char path[RECORD_CGROUP_MAX];
	(void)state;

	record_init(&in, RECORD_STEP_STOP, MANAGER_SLURM);
	in.realtime_ns = in.boottime_ns = ~0ull;
	in.step = RECORD_STEP_BATCH;
	in.uid = 1000;
	in.counters.source = COUNTERS_CGROUP_V1;
	in.counters.cpu_user_ns = 123;
	fill_text(in.unit, sizeof(in.unit));
	fill_text(in.node, sizeof(in.node));
	fill_text(in.gpus, sizeof(in.gpus));
	fill_text(in.name, sizeof(in.name));
	for (unsigned i = 0; i < RECORD_CGROUPS_MAX; i++) {
		fill_text(path, sizeof(path));
		path[0] = '/';
		path[1] = (char)('0' + i);
		assert_true(record_add_cgroup(&in, 1u << i, path));
	}
	int len = record_encode(&in, wire, sizeof(wire));
	assert_true(len > 0);
	assert_int_equal(record_decode(wire, (size_t)len, &out, &err), 0);
	assert_true(out.flags & RECORD_CUT);
	assert_string_equal(out.unit, in.unit);
	assert_int_equal(out.step, RECORD_STEP_BATCH);
	assert_int_equal(out.uid, 1000);
	assert_int_equal(out.counters.cpu_user_ns, 123);
	assert_string_equal(out.gpus, in.gpus);
	assert_true(out.cgroup_count >= 2);
	assert_string_equal(out.name, "");
	assert_int_equal(record_encode(&in, wire, 40), -EMSGSIZE);
	assert_int_equal(record_encode(&in, wire, 1), -EMSGSIZE);
}

static size_t sample(struct record *r, unsigned char *wire)
{
	record_init(r, RECORD_STEP_STOP, MANAGER_SLURM);
	r->realtime_ns = 1700000000123456789ull;
	r->boottime_ns = 98765432109ull;
	r->step = 3;
	r->uid = 1001;
	r->counters.source = COUNTERS_CGROUP_V2;
	r->counters.cpu_user_ns = 4000000;
	record_set(r, r->unit, sizeof(r->unit), "4711");
	record_set(r, r->name, sizeof(r->name), "a \"job\"\n");
	record_set(r, r->command, sizeof(r->command), "a step's\n");
	record_add_cgroup(r, CGROUP_UNIFIED, "/system.slice/job_4711/step_3");
	int len = record_encode(r, wire, RING_RECORD_MAX);
	assert_true(len > 0);
	return (size_t)len;
}

static void cut_at_any_byte_is_an_error_or_a_shorter_record(void **state)
{
	unsigned char wire[RING_RECORD_MAX];
	struct record in, out;
	size_t len = sample(&in, wire);
	unsigned good = 0;
	(void)state;

	for (size_t n = 0; n < len; n++) {
		/* exactly as long as it is, so that valgrind and asan see a byte more
		 */
		unsigned char *exact = malloc(n ? n : 1);
		assert_non_null(exact);
		memcpy(exact, wire, n);
		memset(&out, 0x55, sizeof(out));
		int rc = record_decode(exact, n, &out, &err);
		free(exact);
		if (rc == 0) { /* cut between two optional fields */
			assert_string_equal(out.unit, "4711");
			assert_int_equal(out.step, 3);
			good++;
			continue;
		}
		assert_int_equal(rc, -EPROTO);
		assert_non_null(strstr(err.text, "record: "));
		assert_int_equal(out.type, 0x55); /* outputs untouched */
	}
	assert_true(good > 0 && good < 10);
}

static void any_flipped_byte_is_an_error_or_a_record(void **state)
{
	unsigned char wire[RING_RECORD_MAX], bad[RING_RECORD_MAX],
		again[RING_RECORD_MAX];
	struct record in, out;
	size_t len = sample(&in, wire);
	(void)state;

	for (size_t at = 0; at < len; at++)
		for (unsigned v = 0; v < 256; v++) {
			memcpy(bad, wire, len);
			bad[at] = (unsigned char)v;
			if (record_decode(bad, len, &out, &err) == 0)
				assert_true(record_encode(&out, again, sizeof(again)) >
					    0);
		}
}

static size_t append(unsigned char *wire, size_t len, unsigned id, const void *value,
		     size_t n)
{
	wire[len] = (unsigned char)id;
	wire[len + 1] = (unsigned char)(id >> 8);
	wire[len + 2] = (unsigned char)n;
	wire[len + 3] = (unsigned char)(n >> 8);
	memcpy(wire + len + 4, value, n);
	return len + 4 + n;
}

static void unknown_fields_of_a_later_version_are_skipped(void **state)
{
	unsigned char wire[2 * RING_RECORD_MAX];
	struct record in, out;
	size_t len = sample(&in, wire);
	(void)state;

	len = append(wire, len, 200, "from the future", 15);
	len = append(wire, len, 0xffff, "", 0);
	len = append(wire, len, 260, "alice", 5);
	assert_int_equal(record_decode(wire, len, &out, &err), 0);
	assert_string_equal(out.user, "alice");
	record_set(&in, in.user, sizeof(in.user), "alice");
	assert_same(&in, &out);
}

static void longer_values_of_a_later_version_are_cut_and_flagged(void **state)
{
	unsigned char wire[2 * RING_RECORD_MAX];
	char big[300];
	struct record in, out;
	size_t len = sample(&in, wire);
	(void)state;

	memset(big, 'b', sizeof(big));
	len = append(wire, len, 260, big, 100);
	assert_int_equal(record_decode(wire, len, &out, &err), 0);
	assert_int_equal(strlen(out.user), RECORD_NAME_MAX - 1);
	assert_true(out.flags & RECORD_CUT);
	/* half a path would be another cgroup */
	memcpy(big, "\1\0\0\0/", 5);
	len = append(wire, len, 23, big, sizeof(big));
	assert_int_equal(record_decode(wire, len, &out, &err), 0);
	assert_int_equal(out.cgroup_count, 1);
}

static void refused(const unsigned char *wire, size_t len, const char *why)
{
	struct record out;

	assert_int_equal(record_decode(wire, len, &out, &err), -EPROTO);
	if (!strstr(err.text, why))
		fail_msg("\"%s\" does not say \"%s\"", err.text, why);
}

static void wrong_fields_are_named(void **state)
{
	unsigned char wire[2 * RING_RECORD_MAX];
	struct record in;
	size_t len = sample(&in, wire);
	(void)state;

	refused(wire, append(wire, len, 8, "abc", 3), "restarts");
	refused(wire, append(wire, len, 11, "abcd", 4), "uid: there twice");
	refused(wire, append(wire, len, 260, "a\0b", 3), "user: zero byte");
	refused(wire, append(wire, len, 23, "\1\0\0\0name", 8),
		"cgroups: not an absolute path");
	refused(wire, append(wire, len, 262, "\5abc", 4), "env: no name");
	refused((const unsigned char *)"\x09\0", 2, "unknown type 9");
	refused((const unsigned char *)"\x01\0", 2, "manager: missing");
}

static void each_required_field_is_required(void **state)
{
	unsigned char wire[RING_RECORD_MAX];
	struct record r, out;
	(void)state;

	static const struct {
		size_t offset, size;
		const char *name;
	} required[] = {
		{offsetof(struct record, manager), 1, "manager"},
		{offsetof(struct record, realtime_ns), 8, "realtime_ns"},
		{offsetof(struct record, boottime_ns), 8, "boottime_ns"},
		{offsetof(struct record, unit), 1, "unit"},
	};
	for (size_t i = 0; i < sizeof(required) / sizeof(required[0]); i++) {
		sample(&r, wire);
		memset((char *)&r + required[i].offset, 0, required[i].size);
		int len = record_encode(&r, wire, sizeof(wire));
		assert_true(len > 0);
		refused(wire, (size_t)len, required[i].name);
	}
	/* step 0 is a step; a record of a step without one is not */
	sample(&r, wire);
	r.type = RECORD_UNIT_STOP;
	r.step = 0;
	int len = record_encode(&r, wire, sizeof(wire));
	assert_int_equal(record_decode(wire, (size_t)len, &out, &err), 0);
	wire[0] = RECORD_STEP_STOP;
	refused(wire, (size_t)len, "step: missing");
	/* a heartbeat is of an adapter, not of a unit */
	record_init(&r, RECORD_HELLO, MANAGER_K8S);
	r.realtime_ns = r.boottime_ns = 1;
	len = record_encode(&r, wire, sizeof(wire));
	assert_int_equal(record_decode(wire, (size_t)len, &out, &err), 0);
}

static void absent_numbers_are_not_zero_where_zero_means_something(void **state)
{
	unsigned char wire[RING_RECORD_MAX];
	struct record r, out;
	size_t len = sample(&r, wire);
	(void)state;

	assert_int_equal(record_decode(wire, len, &out, &err), 0);
	assert_int_equal(out.array_job, RECORD_NO_VAL);
	assert_int_equal(out.array_task, RECORD_NO_VAL);
	assert_int_equal(out.het_job, RECORD_NO_VAL);
	r.array_task = 0;
	r.het_job = 0;
	int n = record_encode(&r, wire, sizeof(wire));
	assert_int_equal(record_decode(wire, (size_t)n, &out, &err), 0);
	assert_int_equal(out.array_task, 0);
	assert_int_equal(out.het_job, 0);
}

static void set_cuts_at_a_whole_character_and_flags_it(void **state)
{
	struct record r;
	char small[6];
	(void)state;

	record_init(&r, RECORD_HELLO, MANAGER_SLURM);
	record_set(&r, small, sizeof(small), "12345");
	assert_string_equal(small, "12345");
	record_set(&r, small, sizeof(small), NULL);
	assert_string_equal(small, "");
	assert_int_equal(r.flags & RECORD_CUT, 0);
	record_set(&r, small, sizeof(small),
		   "123\xe2\x82\xac"); /* 123 and a euro sign */
	assert_string_equal(small, "123");
	assert_int_equal(r.flags & RECORD_CUT, RECORD_CUT);
	record_set(&r, small, sizeof(small), "12\xe2\x82\xac");
	assert_string_equal(small, "12\xe2\x82\xac");
	record_set(&r, small, sizeof(small), "\xff\xfe\xfd\xfc\xfb\xfa");
	assert_string_equal(small, "\xff\xfe\xfd\xfc\xfb");
}

/* The job name of the worst user: 4 kB of quotes, newlines and characters of 2-4 bytes.
 */
static void job_name_of_4_kb_is_cut_to_valid_text_and_comes_back(void **state)
{
	static const char piece[] =
		"a\"b\\\n\r\t\x01\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80";
	unsigned char wire[RING_RECORD_MAX];
	struct record r, out;
	char name[4097];
	(void)state;

	for (size_t shift = 0; shift < sizeof(piece); shift++) {
		for (size_t i = 0; i + 1 < sizeof(name); i++)
			name[i] = piece[(i + shift) % (sizeof(piece) - 1)];
		name[sizeof(name) - 1] = '\0';
		sample(&r, wire);
		record_set(&r, r.name, sizeof(r.name), name);
		int len = record_encode(&r, wire, sizeof(wire));
		assert_true(len > 0);
		assert_int_equal(record_decode(wire, (size_t)len, &out, &err), 0);
		assert_true(out.flags & RECORD_CUT);
		size_t n = strlen(out.name);
		assert_true(n >= RECORD_NAME_MAX - 4);
		assert_memory_equal(out.name, name, n);
		/* after the bytes that the shift tore off, all is whole */
		size_t i = 0;
		while (i < n && ((unsigned char)name[i] & 0xc0) == 0x80)
			i++;
		for (; i < n; i += utf8_len(out.name + i, n - i))
			assert_int_not_equal(utf8_len(out.name + i, n - i), 0);
	}
}

static void cgroup_paths_are_shared_bounded_and_found(void **state)
{
	struct record r;
	char path[RECORD_CGROUP_MAX + 1];
	(void)state;

	record_init(&r, RECORD_STEP_START, MANAGER_SLURM);
	assert_true(record_add_cgroup(&r, CGROUP_MEMORY, "/slurm/job_1/step_0"));
	assert_true(record_add_cgroup(&r, CGROUP_CPUACCT, "/slurm/job_1/step_0"));
	assert_true(record_add_cgroup(&r, CGROUP_FREEZER, "/slurm/job_1"));
	assert_int_equal(r.cgroup_count, 2);
	assert_string_equal(record_cgroup(&r, CGROUP_CPUACCT), "/slurm/job_1/step_0");
	assert_string_equal(record_cgroup(&r, CGROUP_FREEZER), "/slurm/job_1");
	assert_null(record_cgroup(&r, CGROUP_BLKIO));
	assert_false(record_add_cgroup(&r, CGROUP_BLKIO, "relative"));
	assert_int_equal(r.flags & RECORD_CUT, 0);
	fill_text(path, sizeof(path));
	path[0] = '/';
	assert_false(record_add_cgroup(&r, CGROUP_BLKIO, path));
	assert_true(r.flags & RECORD_CUT);
	assert_true(record_add_cgroup(&r, CGROUP_BLKIO, path + 1) == false);
	assert_true(record_add_cgroup(&r, CGROUP_PIDS, "/c"));
	assert_false(record_add_cgroup(&r, CGROUP_CPU, "/d"));
	assert_int_equal(r.cgroup_count, RECORD_CGROUPS_MAX);
}

static void names_are_total(void **state)
{
	char buf[16];
	(void)state;

	assert_string_equal(record_type_name(RECORD_STEP_START), "step_start");
	assert_string_equal(record_type_name(0), "?");
	assert_string_equal(record_type_name(255), "?");
	assert_string_equal(record_manager_name(MANAGER_K8S), "k8s");
	assert_string_equal(record_manager_name(200), "?");
	assert_string_equal(record_step_name(RECORD_STEP_BATCH, buf), "batch");
	assert_string_equal(record_step_name(RECORD_STEP_EXTERN, buf), "extern");
	assert_string_equal(record_step_name(RECORD_STEP_INTERACTIVE, buf),
			    "interactive");
	assert_string_equal(record_step_name(0, buf), "0");
	assert_string_equal(record_step_name(4294967295u, buf), "4294967295");
	assert_true(record_step_is_numbered(0));
	assert_true(record_step_is_numbered(4711));
	assert_false(record_step_is_numbered(RECORD_STEP_INTERACTIVE));
	assert_false(record_step_is_numbered(RECORD_STEP_BATCH));
	assert_false(record_step_is_numbered(RECORD_STEP_EXTERN));
	assert_false(record_step_is_numbered(RECORD_NO_VAL));
}

static void devices_come_back_whole_or_are_left_out(void **state)
{
	static const char mdev[] = "4b20d080-1b54-4048-85b3-a6a62d165c01";
	unsigned char wire[RING_RECORD_MAX];
	char name[RECORD_DEVICE_ID_MAX + 1];
	struct record r, out;
	(void)state;

	sample(&r, wire);
	assert_true(record_add_device(&r, NULL, "0000:3b:00.0", NULL, 1000));
	assert_true(record_add_device(&r, mdev, "0000:3b:00.0", NULL, 0));
	assert_true(record_add_device(&r, "MIG-x", "0000:3b:00.0", "1/0", 142));
	int len = record_encode(&r, wire, sizeof(wire));
	assert_int_equal(record_decode(wire, (size_t)len, &out, &err), 0);
	assert_int_equal(out.device_count, 3);
	assert_same(&r, &out);
	assert_string_equal(out.devices[1].uuid, mdev);
	assert_string_equal(out.devices[2].mig, "1/0");
	assert_int_equal(out.devices[2].share_permille, 142);
	assert_int_equal(out.flags & RECORD_CUT, 0);

	/* two long names must not become one */
	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	assert_false(record_add_device(&r, name, NULL, NULL, 0));
	assert_int_equal(r.device_count, 3);
	assert_int_equal(r.flags & RECORD_CUT, RECORD_CUT);
	while (r.device_count < RECORD_DEVICES_MAX)
		assert_true(record_add_device(&r, "u", NULL, NULL, 0));
	assert_false(record_add_device(&r, "u", NULL, NULL, 0));

	/* lengths that lead out of the field; id 24, four bytes of head */
	record_init(&r, RECORD_UNIT_START, MANAGER_LIBVIRT);
	r.realtime_ns = r.boottime_ns = 1;
	snprintf(r.unit, sizeof(r.unit), "u");
	assert_true(record_add_device(&r, "abc", NULL, NULL, 7));
	len = record_encode(&r, wire, sizeof(wire));
	assert_int_equal(record_decode(wire, (size_t)len, &out, &err), 0);
	size_t at = (size_t)len - 8; /* share, length of the first text */
	assert_int_equal(wire[at + 2], 3);
	wire[at + 2] = 4;
	assert_int_equal(record_decode(wire, (size_t)len, &out, &err), -EPROTO);
	wire[at + 2] = 255;
	assert_int_equal(record_decode(wire, (size_t)len, &out, &err), -EPROTO);
	wire[at + 2] = 3;
	wire[at + 3] = '\0';
	assert_int_equal(record_decode(wire, (size_t)len, &out, &err), -EPROTO);
}

static void figures_come_back_or_are_left_out(void **state)
{
	const uint64_t values[RECORD_FIGURES_VALUES] = {1, 0, UINT64_MAX, 4,
							0, 0, 0,          8};
	unsigned char wire[RING_RECORD_MAX];
	char name[RECORD_FIGURES_NAME_MAX + 1];
	struct record r, out;
	(void)state;

	record_init(&r, RECORD_HELLO, MANAGER_LIBVIRT);
	r.realtime_ns = r.boottime_ns = 1;
	snprintf(r.unit, sizeof(r.unit), "u");
	assert_true(record_add_figures(&r, FIGURES_MEMORY, "", 0x85, values));
	assert_true(record_add_figures(&r, FIGURES_DISK, "vda", 1, values));
	int len = record_encode(&r, wire, sizeof(wire));
	assert_int_equal(record_decode(wire, (size_t)len, &out, &err), 0);
	assert_int_equal(out.figures_count, 2);
	assert_int_equal(out.figures[0].known, 0x85);
	assert_int_equal(out.figures[0].values[2], UINT64_MAX);
	assert_int_equal(out.figures[0].values[3], 0); /* not said to be known */
	assert_int_equal(out.figures[0].values[7], 8);
	assert_string_equal(out.figures[1].name, "vda");
	assert_int_equal(out.figures[1].values[0], 1);
	assert_int_equal(out.flags & RECORD_CUT, 0);

	/* a length or a number of values that leads out of the field; the last one is
	 * kind, known, length, "vda", a value */
	size_t at = (size_t)len - 14;
	assert_int_equal(wire[at + 2], 3);
	wire[at + 2] = 4;
	assert_int_equal(record_decode(wire, (size_t)len, &out, &err), -EPROTO);
	wire[at + 2] = 3;
	wire[at + 1] = 3;
	assert_int_equal(record_decode(wire, (size_t)len, &out, &err), -EPROTO);
	wire[at + 1] = 1;
	wire[at + 3] = '\0';
	assert_int_equal(record_decode(wire, (size_t)len, &out, &err), -EPROTO);

	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	assert_false(record_add_figures(&r, FIGURES_DISK, name, 1, values));
	assert_int_equal(r.flags & RECORD_CUT, RECORD_CUT);
	while (r.figures_count < RECORD_FIGURES_MAX)
		assert_true(record_add_figures(&r, FIGURES_DISK, "x", 1, values));
	assert_false(record_add_figures(&r, FIGURES_DISK, "x", 1, values));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_records_come_back_as_they_were),
		cmocka_unit_test(what_does_not_fit_is_left_out_hints_first_and_flagged),
		cmocka_unit_test(longest_possible_record_keeps_its_required_fields),
		cmocka_unit_test(cut_at_any_byte_is_an_error_or_a_shorter_record),
		cmocka_unit_test(any_flipped_byte_is_an_error_or_a_record),
		cmocka_unit_test(unknown_fields_of_a_later_version_are_skipped),
		cmocka_unit_test(longer_values_of_a_later_version_are_cut_and_flagged),
		cmocka_unit_test(wrong_fields_are_named),
		cmocka_unit_test(each_required_field_is_required),
		cmocka_unit_test(
			absent_numbers_are_not_zero_where_zero_means_something),
		cmocka_unit_test(set_cuts_at_a_whole_character_and_flags_it),
		cmocka_unit_test(job_name_of_4_kb_is_cut_to_valid_text_and_comes_back),
		cmocka_unit_test(cgroup_paths_are_shared_bounded_and_found),
		cmocka_unit_test(devices_come_back_whole_or_are_left_out),
		cmocka_unit_test(figures_come_back_or_are_left_out),
		cmocka_unit_test(names_are_total),
	};
	return cmocka_run_group_tests_name("record", tests, NULL, NULL);
}
