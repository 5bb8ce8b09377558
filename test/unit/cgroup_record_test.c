/* SPDX-License-Identifier: GPL-2.0-or-later */
/* /proc/PID/cgroup as Slurm's versions and cgroup's versions write it. */
#include <stdio.h>
#include <string.h>

#include "lib/cgroup.h"
#include "test/unit/unit.h"

static int record_of(const char *text, struct record *r)
{
	record_init(r, RECORD_STEP_START, MANAGER_SLURM);
	return cgroup_record_paths(text, strlen(text), r);
}

static void record_gets_the_step_paths_of_v1(void **state)
{
	(void)state;
	struct record r;
	assert_int_equal(
		record_of("9:name=systemd:/slurm_n1/uid_0/job_3/step_0/task_0\n"
			  "8:pids:/\n"
			  "7:misc:/slurm_n1/uid_0/job_3/step_0\n"
			  "6:freezer:/slurm_n1/uid_0/job_3/step_0\n"
			  "5:devices:/slurm_n1/uid_0/job_3/step_0/task_0\n"
			  "4:memory:/slurm_n1/uid_0/job_3/step_0/task_0\n"
			  "3:cpuset:/slurm_n1/uid_0/job_3/step_0/task_0\n"
			  "2:cpu,cpuacct:/slurm_n1/uid_0/job_3/step_0/task_0\n"
			  "0::/\n",
			  &r),
		5);
	assert_string_equal(r.node, "n1");
	/* one path, shared by all the hierarchies */
	assert_int_equal(r.cgroup_count, 1);
	assert_string_equal(r.cgroups[0].path, "/slurm_n1/uid_0/job_3/step_0");
	assert_int_equal(r.cgroups[0].controllers,
			 CGROUP_FREEZER | CGROUP_DEVICES | CGROUP_MEMORY |
				 CGROUP_CPUSET | CGROUP_CPU | CGROUP_CPUACCT);
	assert_null(record_cgroup(&r, CGROUP_UNIFIED));
}

static void record_of_v1_extern_has_no_cpuacct(void **state)
{
	(void)state;
	struct record r;
	assert_int_equal(record_of("6:freezer:/slurm/uid_0/job_3\n"
				   "4:memory:/slurm/uid_0/job_3/step_extern\n"
				   "3:cpuset:/slurm/uid_0/job_3/step_extern\n"
				   "2:cpuacct:/\n0::/\n",
				   &r),
			 2);
	assert_string_equal(r.node, "");
	assert_int_equal(r.cgroup_count, 1);
	assert_int_equal(r.cgroups[0].controllers, CGROUP_MEMORY | CGROUP_CPUSET);
	assert_string_equal(record_cgroup(&r, CGROUP_MEMORY),
			    "/slurm/uid_0/job_3/step_extern");
}

static void record_gets_the_step_path_of_v2(void **state)
{
	(void)state;
	static const struct {
		const char *line, *path, *node;
	} cases[] = {
		{"0::/system.slice/n1_slurmstepd.scope/job_3/step_0/user/task_0\n",
		 "/system.slice/n1_slurmstepd.scope/job_3/step_0", "n1"},
		{"0::/system.slice/slurmstepd.scope/s7GK2P0QW/step_0+1/user/task_0\n",
		 "/system.slice/slurmstepd.scope/s7GK2P0QW/step_0+1", ""},
		{"0::/system.slice/slurmstepd.scope/job_3/step_extern/slurm\n",
		 "/system.slice/slurmstepd.scope/job_3/step_extern", ""},
		{"0::/slurmstepd.scope/job_3/step_batch (deleted)\n",
		 "/slurmstepd.scope/job_3/step_batch", ""},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct record r;
		assert_int_equal(record_of(cases[i].line, &r), 1);
		assert_string_equal(record_cgroup(&r, CGROUP_UNIFIED), cases[i].path);
		assert_string_equal(r.node, cases[i].node);
	}
}

static void record_ignores_what_is_not_slurms(void **state)
{
	(void)state;
	static const char *const lines[] = {
		"",
		"0::/\n",
		"0::/user.slice/step_0\n",
		"4:memory:/docker/step_0\n",
		"4:memory:/slurm_n1/uid_0/../../step_0\n",
		"4:memory\n",
		"x:memory:/slurm/uid_0/job_1/step_0\n",
		":memory:/slurm/uid_0/job_1/step_0\n",
		"4:memory:slurm/uid_0/job_1/step_0\n",
	};
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		struct record r;
		assert_int_equal(record_of(lines[i], &r), 0);
		assert_int_equal(r.cgroup_count, 0);
	}
}

static void record_flags_a_path_that_is_too_long(void **state)
{
	(void)state;
	char line[600];
	struct record r;
	(void)snprintf(line, sizeof(line), "4:memory:/slurm/%0400d/step_0\n", 1);
	assert_int_equal(record_of(line, &r), 1);
	assert_int_equal(r.cgroup_count, 0);
	assert_true(r.flags & RECORD_CUT);
}

static size_t unit_len(const char *path)
{
	return cgroup_machine_or_pod_len(path, strlen(path));
}

static void path_of_a_machine_or_pod_is_cut_out_of_any_below(void **state)
{
	(void)state;
	static const char *const units[] = {
		"/machine/qemu-1-a.libvirt-qemu",
		"/machine/lxc-68-a.libvirt-lxc",
		"/machine.slice/machine-qemu\\x2d1\\x2da.scope",
		"/a/b/machine/qemu-1-a.libvirt-qemu",
		"/kubepods/burstable/pod3f1d2c7a-0000-4000-8000-000000000001",
	};
	char below[256];
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		assert_int_equal(unit_len(units[i]), strlen(units[i]));
		(void)snprintf(below, sizeof(below), "%s/libvirt/vcpu0", units[i]);
		assert_int_equal(unit_len(below), strlen(units[i]));
		(void)snprintf(below, sizeof(below), "/user.slice%s", units[i]);
		assert_int_equal(unit_len(below), 0);
		assert_int_equal(unit_len(units[i] + 1), 0); /* no path */
	}
	assert_int_equal(unit_len(""), 0);
	assert_int_equal(unit_len("/"), 0);
	assert_int_equal(unit_len("/machine"), 0);
	assert_int_equal(unit_len("/system.slice/qemu-1-a.libvirt-qemu"), 0);
	char deep[128] = "";
	for (size_t i = 0; i < 40; i++)
		memcpy(deep + 2 * i, "/a", 3);
	memcpy(deep + 80, "/machine/qemu-1-a", sizeof("/machine/qemu-1-a"));
	assert_int_equal(unit_len(deep), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(record_gets_the_step_paths_of_v1),
		cmocka_unit_test(record_of_v1_extern_has_no_cpuacct),
		cmocka_unit_test(record_gets_the_step_path_of_v2),
		cmocka_unit_test(record_ignores_what_is_not_slurms),
		cmocka_unit_test(record_flags_a_path_that_is_too_long),
		cmocka_unit_test(path_of_a_machine_or_pod_is_cut_out_of_any_below),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
