/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What block devices did for a group. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "lib/buf.h"
#include "lib/cgroup.h"
#include "test/unit/unit.h"

static struct err err;

static int parse_io(const char *text, bool v2, bool requests, struct cgroup_io *io)
{
	return cgroup_parse_io_devices(text, strlen(text), v2, requests, io, &err);
}

static void io_stat_has_all_of_a_device_in_a_line(void **state)
{
	struct cgroup_io io = {.count = 0};

	(void)state;
	assert_int_equal(parse_io("8:0 rbytes=4096 wbytes=8192 rios=1 wios=2 dbytes=9 "
				  "dios=9\n253:16 rbytes=1 wbytes=2 rios=3 wios=4\n",
				  true, false, &io),
			 0);
	assert_int_equal(io.count, 2);
	assert_int_equal(io.devices[0].read_bytes, 4096);
	assert_int_equal(io.devices[0].written_bytes, 8192);
	assert_int_equal(io.devices[0].reads, 1);
	assert_int_equal(io.devices[0].writes, 2);
	assert_int_equal(io.devices[1].major, 253);
	assert_int_equal(io.devices[1].minor, 16);
}

static void v1_has_bytes_and_requests_in_two_files(void **state)
{
	struct cgroup_io io = {.count = 0};

	(void)state;
	assert_int_equal(
		parse_io("8:0 Read 4096\n8:0 Write 8192\n8:0 Sync 1\n8:0 Total "
			 "12288\nTotal 12288\n",
			 false, false, &io),
		0);
	assert_int_equal(
		parse_io("8:0 Read 1\n8:0 Write 2\nTotal 3\n", false, true, &io), 0);
	assert_int_equal(io.count, 1);
	assert_int_equal(io.devices[0].read_bytes, 4096);
	assert_int_equal(io.devices[0].written_bytes, 8192);
	assert_int_equal(io.devices[0].reads, 1);
	assert_int_equal(io.devices[0].writes, 2);
}

static void what_is_no_number_is_refused(void **state)
{
	struct cgroup_io io = {.count = 0};

	(void)state;
	assert_int_equal(parse_io("8:0 rbytes=x\n", true, false, &io), -EINVAL);
	assert_int_equal(
		parse_io("8:0 rbytes=99999999999999999999\n", true, false, &io),
		-ERANGE);
	assert_int_equal(parse_io("8:0 Read\n", false, false, &io), -EINVAL);
	assert_int_equal(parse_io("8:0 rbytes=1", true, false, &io), -EINVAL);
	assert_int_equal(parse_io("", true, false, &io), 0);
	assert_int_equal(
		parse_io("x rbytes=1\n8: rbytes=1\n:0 rbytes=1\n", true, false, &io),
		0);
	assert_int_equal(io.count, 0);
}

static void more_devices_than_fit_are_left_out(void **state)
{
	struct cgroup_io io = {.count = 0};
	auto_buf struct buf text = BUF_INIT;

	(void)state;
	for (unsigned i = 0; i < 100; i++)
		buf_printf(&text, "8:%u rbytes=%u wbytes=0 rios=0 wios=0\n", i, i);
	assert_int_equal(
		cgroup_parse_io_devices(text.data, text.len, true, false, &io, &err),
		0);
	assert_int_equal(io.count, CGROUP_IO_DEVICES_MAX);
	assert_int_equal(io.devices[63].read_bytes, 63);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(io_stat_has_all_of_a_device_in_a_line),
		cmocka_unit_test(v1_has_bytes_and_requests_in_two_files),
		cmocka_unit_test(what_is_no_number_is_refused),
		cmocka_unit_test(more_devices_than_fit_are_left_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
