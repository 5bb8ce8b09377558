/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lib/records/report_clock.h"

#include <errno.h>
#include <string.h>

#include "test/unit/unit.h"

static unsigned char wire[REPORT_CLOCK_BYTES_MAX];
static struct report_clock out;
static struct err err;

static void clocks_come_back_as_they_were(void **state)
{
	(void)state;
	struct report_clock in;

	report_clock_read(&in, "n17");
	assert_true(in.boottime_ns && in.realtime_ns && in.boot_id[0]);
	int n = report_clock_encode(&in, wire, sizeof(wire));
	assert_true(n > 0);
	assert_int_equal(wire[0], REPORT_CLOCK);
	assert_int_equal(report_clock_decode(wire, (size_t)n, &out, &err), 0);
	assert_memory_equal(&in, &out, sizeof(in));
	for (int cut = 0; cut < n; cut++)
		assert_int_equal(report_clock_encode(&in, wire, (size_t)cut),
				 -EMSGSIZE);
}

static void the_longest_names_fit(void **state)
{
	(void)state;
	struct report_clock in = {.boottime_ns = INT64_MAX, .realtime_ns = INT64_MAX};

	memset(in.node, 'n', sizeof(in.node) - 1);
	memset(in.boot_id, 'b', sizeof(in.boot_id) - 1);
	int n = report_clock_encode(&in, wire, sizeof(wire));
	assert_true(n > 0);
	assert_int_equal(report_clock_decode(wire, (size_t)n, &out, &err), 0);
	assert_memory_equal(&in, &out, sizeof(in));
}

static void what_is_no_clock_is_refused(void **state)
{
	(void)state;
	struct report_clock in = {.node = "n", .boottime_ns = 1, .realtime_ns = 2};
	int n = report_clock_encode(&in, wire, sizeof(wire));

	for (int cut = 0; cut < n; cut++)
		assert_int_equal(report_clock_decode(wire, (size_t)cut, &out, &err),
				 -EPROTO);
	wire[0] = 17;
	assert_int_equal(report_clock_decode(wire, (size_t)n, &out, &err), -EPROTO);
	in.realtime_ns = UINT64_MAX;
	n = report_clock_encode(&in, wire, sizeof(wire));
	assert_int_equal(report_clock_decode(wire, (size_t)n, &out, &err), -EPROTO);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(clocks_come_back_as_they_were),
		cmocka_unit_test(the_longest_names_fit),
		cmocka_unit_test(what_is_no_clock_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
