/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <string.h>

#include "contrib/libvirt/domain_group.h"
#include "test/unit/unit.h"

static bool is_group(const char *name, const char *driver, int id)
{
	return domain_group_is(name, strlen(name), driver, id);
}

static void names_of_machined_and_without_it(void **state)
{
	(void)state;
	assert_true(is_group("qemu-5-instance-00000042.libvirt-qemu", "qemu", 5));
	assert_true(is_group("machine-qemu\\x2d5\\x2dinstance\\x2d00000042.scope",
			     "qemu", 5));
	assert_true(is_group("lxc-12-box.libvirt-lxc", "lxc", 12));
	/* any name, even one that looks like another's group */
	assert_true(is_group("qemu-5-qemu-7-x.libvirt-qemu", "qemu", 5));
	assert_false(is_group("qemu-5-qemu-7-x.libvirt-qemu", "qemu", 7));
	assert_false(is_group("qemu-50-x.libvirt-qemu", "qemu", 5));
	assert_false(is_group("qemu-5", "qemu", 5));
	assert_false(is_group("qemu-5-x", "lxc", 5));
	assert_false(is_group("qemu-99999999999999999999-x", "qemu", 5));
	assert_false(is_group("machine-", "qemu", 5));
	assert_false(is_group("", "qemu", 5));
	assert_false(is_group("qemu-0-x", "qemu", 0));
}

static void groups_of_a_process_end_at_the_domain(void **state)
{
	(void)state;
	static const char text[] =
		"9:name=systemd:/\n2:cpuacct:/\n1:cpu:/machine/qemu-5-a.libvirt-qemu/"
		"emulator\n4:memory:/machine/qemu-5-a.libvirt-qemu\n"
		"0::/machine/qemu-5-a.libvirt-qemu/emulator\n";
	struct record r;
	record_init(&r, RECORD_STEP_START, MANAGER_LIBVIRT);
	assert_int_equal(domain_group_of_process(text, strlen(text), "qemu", 5, &r), 3);
	assert_int_equal(r.cgroup_count, 1);
	assert_string_equal(record_cgroup(&r, CGROUP_UNIFIED),
			    "/machine/qemu-5-a.libvirt-qemu");
	assert_non_null(record_cgroup(&r, CGROUP_MEMORY));
	assert_null(record_cgroup(&r, CGROUP_CPUACCT));
	/* somebody else's process */
	record_init(&r, RECORD_STEP_START, MANAGER_LIBVIRT);
	assert_int_equal(domain_group_of_process(text, strlen(text), "qemu", 6, &r), 0);
	assert_int_equal(r.cgroup_count, 0);
}

static void groups_of_a_process_of_machined(void **state)
{
	(void)state;
	static const char text[] = "0::/machine.slice/machine-qemu\\x2d5\\x2da.scope/"
				   "libvirt/emulator\n";
	struct record r;
	record_init(&r, RECORD_STEP_START, MANAGER_LIBVIRT);
	assert_int_equal(domain_group_of_process(text, strlen(text), "qemu", 5, &r), 1);
	assert_string_equal(record_cgroup(&r, CGROUP_UNIFIED),
			    "/machine.slice/machine-qemu\\x2d5\\x2da.scope");
}

static void odd_lines_are_nothing(void **state)
{
	(void)state;
	static const char *const texts[] = {
		"",
		"\n\n",
		"0:",
		"0::",
		"0::\n",
		"0::/../qemu-5-a\n",
		"::/qemu-5-a/../x\n1:memory:qemu-5-a\n",
		"4:memory:/qemu-6-a\n4:nothing:/qemu-5-a\n",
	};
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct record r;
		record_init(&r, RECORD_STEP_START, MANAGER_LIBVIRT);
		(void)domain_group_of_process(texts[i], strlen(texts[i]), "qemu", 5,
					      &r);
		for (uint32_t c = 0; c < r.cgroup_count; c++) {
			assert_int_equal(r.cgroups[c].path[0], '/');
			assert_null(strstr(r.cgroups[c].path, ".."));
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_of_machined_and_without_it),
		cmocka_unit_test(groups_of_a_process_end_at_the_domain),
		cmocka_unit_test(groups_of_a_process_of_machined),
		cmocka_unit_test(odd_lines_are_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
