/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The tables are test/golden/amd_gpu_metrics: from the kernel's own structures. */
#include "gpu/amd_metrics.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test/unit/unit.h"

static uint8_t table[AMD_METRICS_MAX];

static unsigned hex_digit(char c)
{
	return (unsigned)(c <= '9' ? c - '0' : c - 'a' + 10);
}

/* The table of that version from the golden file; returns its length. */
static size_t load_table(const char *version)
{
	static char line[8192];
	size_t bytes = 0;
	FILE *f = fopen("test/golden/amd_gpu_metrics", "r");
	assert_non_null(f);
	while (!bytes && fgets(line, sizeof(line), f)) {
		char *save = NULL, *word = strtok_r(line, " \n", &save);
		if (!word || strcmp(word, version) != 0)
			continue;
		bytes = strtoul(strtok_r(NULL, " \n", &save), NULL, 10);
		assert_in_range(bytes, 4, sizeof(table));
		memset(table, 0xff, sizeof(table));
		while ((word = strtok_r(NULL, " \n", &save))) {
			char *hex = NULL;
			size_t at = strtoul(word, &hex, 10);
			for (hex++; hex[0]; hex += 2, at++)
				table[at] = (uint8_t)(hex_digit(hex[0]) << 4 |
						      hex_digit(hex[1]));
		}
	}
	fclose(f);
	assert_int_not_equal(bytes, 0);
	return bytes;
}

static struct amd_metrics parse_table(size_t bytes)
{
	struct amd_metrics m;
	struct err err;
	if (amd_metrics_parse(table, bytes, &m, &err) < 0)
		fail_msg("%s", err.text);
	return m;
}

#define ABSENT UINT64_MAX

static void assert_amd_value(const struct amd_metrics *m, enum amd_value which,
			     uint64_t v)
{
	assert_int_equal(m->have >> which & 1, v != ABSENT);
	if (v != ABSENT)
		assert_int_equal(m->value[which], v);
}

static const struct version_case {
	const char *version;
	bool joules;
	uint64_t power, energy, busy, memory_busy, temperature, clock, memory_clock,
		throttle, partitions;
} version_cases[] = {
	{"1.0", false, 273000000, 0x12345678, 870000, 330000, 57000, 1502000000,
	 1600000000, ABSENT, ABSENT},
	{"1.1", false, 273000000, 0x12345678000, 870000, 330000, 57000, 1502000000,
	 1600000000, ABSENT, ABSENT},
	{"1.2", false, 273000000, 0x12345678000, 870000, 330000, 57000, 1502000000,
	 1600000000, ABSENT, ABSENT},
	{"1.3", false, 273000000, 0x12345678000, 870000, 330000, 57000, 1502000000,
	 1600000000, 0x8000000000000001, ABSENT},
	{"1.4", true, 612000000, 0x12345678000, 870000, 330000, 57000, 2100000000,
	 1300000000, ABSENT, ABSENT},
	{"1.5", true, 612000000, 0x12345678000, 870000, 330000, 57000, 2100000000,
	 1300000000, ABSENT, ABSENT},
	{"1.6", true, 612000000, 0x12345678000, 870000, 330000, 57000, 2100000000,
	 1300000000, ABSENT, 2},
	{"1.7", true, 612000000, 0x12345678000, 870000, 330000, 57000, 2100000000,
	 1300000000, ABSENT, 2},
	{"1.8", true, 612000000, 0x12345678000, 870000, 330000, 57000, 2100000000,
	 1300000000, ABSENT, 2},
	{"2.0", false, ABSENT, ABSENT, ABSENT, ABSENT, ABSENT, 1502000000, 1600000000,
	 ABSENT, ABSENT},
	{"2.1", false, ABSENT, ABSENT, ABSENT, ABSENT, ABSENT, 1502000000, 1600000000,
	 ABSENT, ABSENT},
	{"2.2", false, ABSENT, ABSENT, ABSENT, ABSENT, ABSENT, 1502000000, 1600000000,
	 0x8000000000000001, ABSENT},
	{"2.3", false, ABSENT, ABSENT, ABSENT, ABSENT, ABSENT, 1502000000, 1600000000,
	 0x8000000000000001, ABSENT},
	{"2.4", false, 15250000, ABSENT, ABSENT, ABSENT, 41500, 1502000000, 1600000000,
	 0x8000000000000001, ABSENT},
	{"3.0", false, 45250000, ABSENT, 870000, ABSENT, ABSENT, 1501000000, 901000000,
	 ABSENT, ABSENT},
};
#define VERSION_CASES (sizeof(version_cases) / sizeof(version_cases[0]))

static void every_version_of_the_kernel_is_read(void **state)
{
	(void)state;
	for (size_t i = 0; i < VERSION_CASES; i++) {
		const struct version_case *c = &version_cases[i];
		struct amd_metrics m = parse_table(load_table(c->version));
		char version[8];
		(void)snprintf(version, sizeof(version), "%u.%u", m.format, m.content);
		assert_string_equal(version, c->version);
		assert_int_equal(m.energy_in_joules, c->joules);
		assert_amd_value(&m, AMD_POWER, c->power);
		assert_amd_value(&m, AMD_ENERGY, c->energy);
		assert_amd_value(&m, AMD_BUSY, c->busy);
		assert_amd_value(&m, AMD_MEMORY_BUSY, c->memory_busy);
		assert_amd_value(&m, AMD_TEMPERATURE, c->temperature);
		assert_amd_value(&m, AMD_CLOCK, c->clock);
		assert_amd_value(&m, AMD_MEMORY_CLOCK, c->memory_clock);
		assert_amd_value(&m, AMD_THROTTLE, c->throttle);
		assert_amd_value(&m, AMD_PARTITIONS, c->partitions);
		bool divided = c->partitions != ABSENT;
		assert_int_equal(m.partition_busy[0], divided ? 800000 : UINT32_MAX);
		assert_int_equal(m.partition_busy[1], divided ? 200000 : UINT32_MAX);
		assert_int_equal(m.partition_busy[2], UINT32_MAX);
	}
}

static void what_a_device_lacks_is_absent_not_0(void **state)
{
	(void)state;
	for (size_t i = 0; i < VERSION_CASES; i++) {
		size_t bytes = load_table(version_cases[i].version);
		memset(table + 4, 0xff, bytes - 4);
		struct amd_metrics m = parse_table(bytes);
		assert_int_equal(m.have, 0);
		assert_int_equal(m.partition_busy[0], UINT32_MAX);
	}
}

static void assert_refused(size_t bytes, int rc, const char *text)
{
	struct amd_metrics m = {.have = 77};
	struct err err;
	assert_int_equal(amd_metrics_parse(table, bytes, &m, &err), rc);
	assert_string_equal(err.text, text);
	assert_int_equal(m.have, 77);
}

static void unknown_and_short_tables_are_refused(void **state)
{
	(void)state;
	size_t bytes = load_table("1.3");
	assert_refused(0, -EBADMSG, "gpu_metrics: 0 bytes");
	assert_refused(3, -EBADMSG, "gpu_metrics: 3 bytes");
	assert_refused(bytes - 1, -EBADMSG, "gpu_metrics: 119 bytes of 120");
	table[3] = 11;
	assert_refused(bytes, -EPROTO,
		       "gpu_metrics: version 1.11 of 120 bytes is not known");
	table[3] = 3;
	table[0] = 119; /* as 1.6 had another length before it was released */
	assert_refused(bytes, -EPROTO,
		       "gpu_metrics: version 1.3 of 119 bytes is not known");
	memset(table, 0xff, sizeof(table));
	assert_refused(sizeof(table), -EBADMSG, "gpu_metrics: 4096 bytes of 65535");
}

static void table_1_8_without_its_last_counters_is_read(void **state)
{
	(void)state;
	(void)load_table("1.8");
	table[0] = 3360 & 0xff;
	table[1] = 3360 >> 8;
	memset(table + 344, 0xff, 3360 - 344);
	memset(table + 344 + 376, 0, 4);
	table[344 + 376] = 50;
	struct amd_metrics m = parse_table(3360);
	assert_int_equal(m.partition_busy[0], UINT32_MAX);
	assert_int_equal(m.partition_busy[1], 500000);
}

/* 1.9: unit << 24 | type << 20 | id << 10 | how many */
static size_t put_attribute(size_t at, uint32_t type, uint32_t id, uint32_t numbers,
			    size_t width, uint64_t v)
{
	uint64_t code = (uint64_t)type << 20 | (uint64_t)id << 10 | numbers;
	memcpy(table + at, &code, 8);
	memset(table + at + 8, 0xff, width * numbers);
	memcpy(table + at + 8, &v, width);
	return at + 8 + width * numbers;
}

static void a_list_of_attributes_is_read_and_bounded(void **state)
{
	(void)state;
	static const uint8_t head[8] = {0, 0, 1, 9, 4, 0, 0, 0};
	memcpy(table, head, 8);
	size_t end = put_attribute(8, 4, 3, 1, 4, 612); /* power, u32 */
	end = put_attribute(end, 6, 7, 1, 8, 65536);    /* energy, u64 */
	end = put_attribute(end, 2, 33, 8, 2, 2100);    /* clocks, u16 each */
	end = put_attribute(end, 2, 4, 1, 2, 0xffff);   /* busy: absent */
	table[0] = (uint8_t)end;
	struct amd_metrics m = parse_table(end);
	assert_amd_value(&m, AMD_POWER, 612000000);
	assert_amd_value(&m, AMD_ENERGY, 65536);
	assert_amd_value(&m, AMD_CLOCK, 2100000000);
	assert_amd_value(&m, AMD_BUSY, ABSENT);
	assert_false(m.energy_in_joules);
	table[4] = 5; /* one attribute more than there are */
	assert_refused(end, -EBADMSG, "gpu_metrics 1.9: an attribute is cut off");
	table[4] = 4;
	table[0] = (uint8_t)(end - 1);
	assert_refused(end, -EBADMSG, "gpu_metrics 1.9: an attribute is cut off");
}

static void counts_become_microjoules(void **state)
{
	(void)state;
	assert_int_equal(amd_metrics_uj(65536), 1000000);
	assert_int_equal(amd_metrics_uj(1), 15);
	assert_int_equal(amd_metrics_uj(0), 0);
	assert_int_equal(amd_metrics_uj(3ull << 40), 50331648000000);
	assert_true(amd_metrics_uj(UINT64_MAX) == UINT64_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_version_of_the_kernel_is_read),
		cmocka_unit_test(what_a_device_lacks_is_absent_not_0),
		cmocka_unit_test(unknown_and_short_tables_are_refused),
		cmocka_unit_test(table_1_8_without_its_last_counters_is_read),
		cmocka_unit_test(a_list_of_attributes_is_read_and_bounded),
		cmocka_unit_test(counts_become_microjoules),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
