/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <string.h>

#include "contrib/libvirt/domain_group.h"
#include "test/unit/unit.h"

static bool is_group(const char *folder, const char *driver, int id, const char *name)
{
	char machine[DOMAIN_MACHINE_SIZE];

	domain_machine_name(driver, id, name, machine);
	return domain_group_is(folder, strlen(folder), machine);
}

static void names_of_machined_and_without_it(void **state)
{
	(void)state;
	assert_true(is_group("qemu-5-instance-00000042.libvirt-qemu", "qemu", 5,
			     "instance-00000042"));
	assert_true(is_group("machine-qemu\\x2d5\\x2dinstance\\x2d00000042.scope",
			     "qemu", 5, "instance-00000042"));
	assert_true(is_group("lxc-12-box.libvirt-lxc", "lxc", 12, "box"));
	/* any name, even one that looks like another's group */
	assert_true(is_group("qemu-5-qemu-7-x.libvirt-qemu", "qemu", 5, "qemu-7-x"));
	assert_false(is_group("qemu-5-qemu-7-x.libvirt-qemu", "qemu", 7, "x"));
	assert_false(is_group("qemu-50-x.libvirt-qemu", "qemu", 5, "x"));
	assert_false(is_group("qemu-50-x.libvirt-qemu", "qemu", 5, "0-x"));
	assert_false(is_group("qemu-5-x.libvirt-lxc", "qemu", 5, "x"));
	assert_false(is_group("qemu-5-x.scope", "qemu", 5, "x"));
	assert_false(is_group("machine-qemu-5-x.libvirt-qemu", "qemu", 5, "x"));
	assert_false(is_group("qemu-5-x", "qemu", 5, "x"));
	assert_false(is_group("machine-", "qemu", 5, "x"));
	assert_false(is_group("", "qemu", 5, "x"));
}

static void names_are_as_libvirt_writes_them(void **state)
{
	(void)state;
	char machine[DOMAIN_MACHINE_SIZE], name[200];

	domain_machine_name("qemu", 1, "<a b> $(id) 'e\xc3\xa9' ..", machine);
	assert_string_equal(machine, "qemu-1-abide");
	domain_machine_name("qemu", 1, "--a..b.-c--", machine);
	assert_string_equal(machine, "qemu-1-a.b.c");
	/* nothing of it is left */
	domain_machine_name("qemu", 12, "\xe6\x97\xa5", machine);
	assert_string_equal(machine, "qemu-12");
	assert_true(domain_group_is("qemu-12.libvirt-qemu", 20, machine));
	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	domain_machine_name("a driver of a long name", 2147483647, name, machine);
	assert_int_equal(strlen(machine), 64);
}

/* Two libvirtd, one of them in a container, have a domain 5 each. */
static void the_number_of_another_libvirtd_is_not_ours(void **state)
{
	(void)state;
	assert_true(is_group("qemu-5-web.libvirt-qemu", "qemu", 5, "web"));
	assert_false(is_group("qemu-5-web.libvirt-qemu", "qemu", 5, "we"));
	assert_false(is_group("qemu-5-web.libvirt-qemu", "qemu", 5, "web1"));
	assert_false(is_group("machine-qemu\\x2d5\\x2dweb.a.scope", "qemu", 5, "web"));
	assert_false(is_group("qemu-5-web.libvirt-qemu", "qemu", 5, "shop"));
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
	assert_int_equal(domain_group_of_process(text, strlen(text), "qemu-5-a", &r),
			 3);
	assert_int_equal(r.cgroup_count, 1);
	assert_string_equal(record_cgroup(&r, CGROUP_UNIFIED),
			    "/machine/qemu-5-a.libvirt-qemu");
	assert_non_null(record_cgroup(&r, CGROUP_MEMORY));
	assert_null(record_cgroup(&r, CGROUP_CPUACCT));
	/* somebody else's process */
	record_init(&r, RECORD_STEP_START, MANAGER_LIBVIRT);
	assert_int_equal(domain_group_of_process(text, strlen(text), "qemu-6-a", &r),
			 0);
	assert_int_equal(r.cgroup_count, 0);
}

static void groups_of_a_process_of_machined(void **state)
{
	(void)state;
	static const char text[] = "0::/machine.slice/machine-qemu\\x2d5\\x2da.scope/"
				   "libvirt/emulator\n";
	struct record r;
	record_init(&r, RECORD_STEP_START, MANAGER_LIBVIRT);
	assert_int_equal(domain_group_of_process(text, strlen(text), "qemu-5-a", &r),
			 1);
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
		(void)domain_group_of_process(texts[i], strlen(texts[i]), "qemu-5-a",
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
		cmocka_unit_test(names_are_as_libvirt_writes_them),
		cmocka_unit_test(the_number_of_another_libvirtd_is_not_ours),
		cmocka_unit_test(groups_of_a_process_end_at_the_domain),
		cmocka_unit_test(groups_of_a_process_of_machined),
		cmocka_unit_test(odd_lines_are_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
