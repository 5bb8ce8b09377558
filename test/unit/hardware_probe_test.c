/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What ceems-opener says where the kernel refuses hardware events. perf_event_open(2)
 * is a fake: a machine has one fault at most, and this one may have no counters. */
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdarg.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "daemon/groups/unit_hardware.h"
#include "opener/hardware.h"
#include "test/unit/unit.h"

long __wrap_syscall(long number, ...);

static int refused_with;        /* for all events, */
static uint32_t only_type;      /* or those of this type */
static uint64_t only_config;    /* and config; UINT64_MAX: all */
static unsigned members_max;    /* of a group; more is refused with EINVAL */
static unsigned members, asked; /* of the group so far; calls */

static bool is_refused(const struct perf_event_attr *attr)
{
	return refused_with &&
	       (only_config == UINT64_MAX ||
		(attr->type == only_type && attr->config == only_config));
}

long __wrap_syscall(long number, ...)
{
	va_list list;

	va_start(list, number);
	const struct perf_event_attr *attr = va_arg(list, const void *);
	(void)va_arg(list, int);
	(void)va_arg(list, int);
	int leader = va_arg(list, int);
	va_end(list);
	assert_int_equal(number, SYS_perf_event_open);
	asked++;
	members = leader < 0 ? 1 : members + 1;
	if (is_refused(attr) || (members_max && members > members_max)) {
		errno = is_refused(attr) ? refused_with : EINVAL;
		members -= leader >= 0;
		return -1;
	}
	return open("/dev/null", O_RDONLY | O_CLOEXEC);
}

static int make_counters(void **state)
{
	(void)state;
	refused_with = 0;
	only_config = UINT64_MAX;
	members_max = members = asked = 0;
	return 0;
}

static struct hardware probed;
static struct err err;

static int probe_all(void)
{
	static const struct hardware_raws none;

	return hardware_probe(&probed, HARDWARE_GENERAL_MASK, &none, &err);
}

static void each_fault_has_a_readable_line(void **state)
{
	static const struct {
		int fault;
		const char *says;
	} cases[] = {
		{EACCES, "it takes CAP_PERFMON, and a kernel.perf_event_paranoid"},
		{EPERM, "it takes CAP_PERFMON, and a kernel.perf_event_paranoid"},
		{ENOENT, "these CPUs have none, or a hypervisor hides them"},
		{EOPNOTSUPP, "these CPUs have none, or a hypervisor hides them"},
		{EBUSY, "something else holds the CPUs' counters"},
		{EMFILE, "more open files than the limit (LimitNOFILE)"},
		{ENOSPC, "the CPUs cannot count that many at once"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		refused_with = cases[i].fault;
		assert_int_equal(probe_all(), -ENODEV);
		assert_null(strchr(err.text, '\n'));
		if (!strstr(err.text, "no hardware event can be opened: ") ||
		    !strstr(err.text, cases[i].says))
			fail_msg("%s: %s", strerror(cases[i].fault), err.text);
	}
	assert_true(asked >= 7);
}

static void one_that_is_taken_is_named_beside_the_others(void **state)
{
	auto_buf struct buf text = BUF_INIT;

	(void)state;
	refused_with = EBUSY;
	only_type = PERF_TYPE_HARDWARE;
	only_config = PERF_COUNT_HW_CACHE_MISSES;
	assert_int_equal(probe_all(), 0);
	assert_int_equal(probed.layout.refused[HARDWARE_CACHE_MISSES], -EBUSY);
	hardware_slots_text(&(struct hardware_slots){.control = &probed.layout}, &text);
	assert_string_equal(text.data,
			    "CpuCycles, CpuInstr, RefCpuCycles, CacheRef, BranchInstr, "
			    "BranchMisses; not CacheMisses (something else holds the "
			    "CPUs' counters: a profiler, the firmware, or "
			    "kernel.nmi_watchdog)");
}

static void a_group_that_does_not_fit_is_counted_one_by_one(void **state)
{
	(void)state;
	assert_int_equal(probe_all(), 0);
	assert_int_equal(probed.layout.groups, 3);
	assert_int_equal(probed.layout.group_events[0], 7);
	members_max = 2;
	assert_int_equal(probe_all(), 0);
	assert_int_equal(probed.layout.groups, 4);
	assert_int_equal(probed.layout.group_events[0], 3);
	assert_int_equal(probed.layout.group_events[1], 1u << HARDWARE_REF_CYCLES);
	assert_int_equal(probed.layout.events, 7);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup(name, make_counters)
	static const struct CMUnitTest tests[] = {
		TEST(each_fault_has_a_readable_line),
		TEST(one_that_is_taken_is_named_beside_the_others),
		TEST(a_group_that_does_not_fit_is_counted_one_by_one),
	};
	return cmocka_run_group_tests_name("hardware_probe", tests, NULL, NULL);
}
