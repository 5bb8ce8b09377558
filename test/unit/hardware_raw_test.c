/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lib/records/hardware_raw.h"

#include <errno.h>
#include <string.h>

#include "test/unit/unit.h"

static void events_come_back_as_they_were(void **state)
{
	struct hardware_raws in = {.count = HARDWARE_RAW_MAX}, out = {.count = 9};
	auto_buf struct buf text = BUF_INIT;

	(void)state;
	for (uint32_t i = 0; i < HARDWARE_RAW_MAX; i++)
		in.event[i] = (struct hardware_raw){.type = i ? i : UINT32_MAX,
						    .config = UINT64_MAX - i,
						    .config1 = i,
						    .config2 = i * 7,
						    .leads = i % 2};
	hardware_raws_put(&text, &in);
	assert_int_equal(hardware_raws_parse(text.data, &out), 0);
	assert_int_equal(out.count, in.count);
	for (uint32_t i = 0; i < in.count; i++) {
		assert_int_equal(out.event[i].type, in.event[i].type);
		assert_true(out.event[i].config == in.event[i].config);
		assert_true(out.event[i].config1 == in.event[i].config1);
		assert_true(out.event[i].config2 == in.event[i].config2);
		assert_int_equal(out.event[i].leads, in.event[i].leads);
	}
	assert_int_equal(hardware_raws_mask(&out), HARDWARE_RAW_MASK);
	assert_int_equal(hardware_raws_parse("", &out), 0);
	assert_int_equal(out.count, 0);
	assert_int_equal(hardware_raws_mask(&out), 0);
}

static void other_texts_are_refused(void **state)
{
	static const char *const bad[] = {
		"1",
		"1:2:3:4",
		"1:2:3:4:5:6",
		"1:2:3:4:2",
		"1:2:3:4:",
		"x:2:3:4:1",
		"1:-2:3:4:1",
		"1:2:3:4:1,",
		",",
		"1:2:3:4:1,,1:2:3:4:1",
		"4294967296:2:3:4:1",
		"1:18446744073709551616:3:4:1",
		"1:2:3:4:1 ",
		"0x1:2:3:4:1",
	};
	auto_buf struct buf many = BUF_INIT;
	struct hardware_raws out = {.count = 7};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		if (hardware_raws_parse(bad[i], &out) != -EINVAL)
			fail_msg("accepted: %s", bad[i]);
	}
	for (uint32_t i = 0; i <= HARDWARE_RAW_MAX; i++)
		buf_puts(&many, i ? ",1:1:0:0:1" : "1:1:0:0:1");
	assert_int_equal(hardware_raws_parse(many.data, &out), -E2BIG);
	assert_int_equal(out.count, 7);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(events_come_back_as_they_were),
		cmocka_unit_test(other_texts_are_refused),
	};
	return cmocka_run_group_tests_name("hardware_raw", tests, NULL, NULL);
}
