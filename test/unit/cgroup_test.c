/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which control groups there are: mounts, paths, and the text of their files. */
#include "test/unit/cgroup_fixture.h"

static void probe_finds_v1_controllers_in_mounts_of_their_own(void **state)
{
	(void)state;
	struct cgroup_layout l;
	auto_close int fd = open_fixture("v1", &l);
	assert_false(l.unified_only);
	assert_string_equal(l.cpuacct, "cpuacct");
	assert_string_equal(l.cpu, "cpu");
	assert_string_equal(l.memory, "memory");
	assert_string_equal(l.cpuset, "cpuset");
	assert_string_equal(l.pids, "");
	assert_string_equal(l.unified, "");
	assert_string_equal(cgroup_dir(&l, CGROUP_FREEZER), "freezer");
	assert_string_equal(cgroup_dir(&l, CGROUP_UNIFIED), "");
}

static void probe_finds_v2(void **state)
{
	(void)state;
	struct cgroup_layout l;
	auto_close int fd = open_fixture("v2", &l);
	assert_true(l.unified_only);
	assert_string_equal(cgroup_dir(&l, CGROUP_UNIFIED), ".");
	assert_string_equal(cgroup_dir(&l, CGROUP_MEMORY), "");
}

static void probe_handles_symlinks_and_joint_mounts_of_a_hybrid_machine(void **state)
{
	(void)state;
	struct cgroup_layout l;
	auto_close int fd = open_fixture("hybrid", &l);
	assert_false(l.unified_only);
	assert_string_equal(l.cpuacct, "cpuacct");
	assert_string_equal(l.cpu, "cpu");
	assert_string_equal(l.unified, "unified");
	/* the same without the symlinks */
	put("cpuset,cpu,cpuacct/cgroup.procs", "");
	assert_int_equal(cgroup_probe(scratch_fd, &l, NULL), 0);
	assert_string_equal(l.cpuacct, "cpuset,cpu,cpuacct");
	assert_string_equal(l.cpu, "cpuset,cpu,cpuacct");
	take("cpuset,cpu,cpuacct/cgroup.procs");
	assert_int_equal(unlinkat(scratch_fd, "cpuset,cpu,cpuacct", AT_REMOVEDIR), 0);
}

static void probe_says_when_there_are_none(void **state)
{
	(void)state;
	struct cgroup_layout l = {.memory = "kept"};
	struct err err;
	put("none/x", "");
	auto_close int fd = fs_opendir_at(scratch_fd, "none", &err);
	assert_int_equal(cgroup_probe(fd, &l, &err), -ENODEV);
	assert_non_null(strstr(err.text, "no control groups"));
	assert_string_equal(l.memory, "kept");
}

static void step_and_job_are_cut_out_of_any_path(void **state)
{
	(void)state;
	static const struct {
		const char *path, *step, *job;
	} cases[] = {
		{"/slurm_n1/uid_0/job_3/step_0/task_0", "/slurm_n1/uid_0/job_3/step_0",
		 "/slurm_n1/uid_0/job_3"},
		{"/slurm/uid_0/job_3/step_extern", "/slurm/uid_0/job_3/step_extern",
		 "/slurm/uid_0/job_3"},
		{"/system.slice/n1_slurmstepd.scope/job_3/step_0+1/user/task_0",
		 "/system.slice/n1_slurmstepd.scope/job_3/step_0+1",
		 "/system.slice/n1_slurmstepd.scope/job_3"},
		{"/system.slice/slurmstepd.scope/s7GK2P0QW/step_extern/slurm",
		 "/system.slice/slurmstepd.scope/s7GK2P0QW/step_extern",
		 "/system.slice/slurmstepd.scope/s7GK2P0QW"},
		{"/a/step_1/b//step_2/c", "/a/step_1/b//step_2", "/a/step_1/b"},
		{"/slurm/uid_0/job_3", "", ""},
		{"/step_0", "/step_0", ""},
		{"/mystep_0/x", "", ""},
		{"", "", ""},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		size_t len = strlen(cases[i].path);
		assert_int_equal(cgroup_step_len(cases[i].path, len),
				 strlen(cases[i].step));
		assert_int_equal(cgroup_job_len(cases[i].path, len),
				 strlen(cases[i].job));
	}
}

static void a_sluid_is_the_name_of_a_job_below_the_scope(void **state)
{
	static const char *const others[] = {
		"/system.slice/slurmstepd.scope/job_3/step_0",
		"/system.slice/slurmstepd.scope/s7GK2P0QW/step_0",
		"/system.slice/slurmstepd.scope/sEBDM82W0NSD000/step_0",
		"/system.slice/slurmstepd.scope/sEBDM82W0NSD0U/step_0",
		"/system.slice/slurmstepd.scope/xsEBDM82W0NSD00/step_0",
		"/system.slice/slurmstepd.scope/sEBDM82W0NSD00",
		"/system.slice/slurmstepd.scope/job_3/step_0/sEBDM82W0NSD00/step_1",
		"/slurm/uid_0/sEBDM82W0NSD00/step_0",
		"sEBDM82W0NSD00/step_0",
		"/step_0",
		"",
	};
	char sluid[CGROUP_SLUID_SIZE] = "as it was";

	(void)state;
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		assert_false(cgroup_job_sluid(others[i], sluid));
		assert_string_equal(sluid, "as it was");
	}
	assert_true(cgroup_job_sluid(
		"/system.slice/n1_slurmstepd.scope/sEBDM82W0NSD00/step_0/user/task_0",
		sluid));
	assert_string_equal(sluid, "sEBDM82W0NSD00");
}

static void node_name_comes_from_the_path(void **state)
{
	(void)state;
	static const struct {
		const char *path, *node;
	} cases[] = {
		{"/slurm_n1/uid_0/job_3", "n1"},
		{"/slurm_a_b/uid_0", "a_b"},
		{"/slurm/uid_0/job_3", ""},
		{"/docker/0af/slurm_n7/uid_0", "n7"},
		{"/system.slice/n1_slurmstepd.scope/job_3", "n1"},
		{"/system.slice/slurmstepd.scope/job_3", ""},
		{"/system.slice/notslurmstepd.scope/job_3", NULL},
		{"/slurmd/x", NULL},
		{"/user.slice/step_0/slurm_x", NULL},
		{"/", NULL},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char node[8] = "kept";
		bool found = cgroup_slurm_node(cases[i].path, node, sizeof(node));
		assert_int_equal(found, cases[i].node != NULL);
		assert_string_equal(node, cases[i].node ? cases[i].node : "kept");
	}
	char node[4];
	assert_true(cgroup_slurm_node("/slurm_longname/x", node, sizeof(node)));
	assert_string_equal(node, "lon");
}

static void paths_that_climb_are_refused(void **state)
{
	(void)state;
	assert_true(cgroup_path_ok("/a/..b/c", 8));
	assert_false(cgroup_path_ok("/a/../c", 7));
	assert_false(cgroup_path_ok("a/b", 3));
	assert_false(cgroup_path_ok("", 0));
	assert_false(cgroup_path_ok("/a\0b", 4));
	struct record_cgroup p = path_of(V1_ALL, "/slurm_n1/../slurm_n1/job_41/step_0");
	struct cgroup_layout l;
	auto_close int fd = open_fixture("v1", &l);
	struct cgroup_fds *c = cgroup_fds_new(fd, &l, &p, 1, false);
	struct cgroup_cpu cpu;
	assert_int_equal(cgroup_read_cpu(c, &cpu, NULL), -ENODATA);
	cgroup_fds_free(c);
}

static void guess_is_the_layout_of_nearly_every_v1(void **state)
{
	(void)state;
	struct cgroup_layout l, guess = {.unified_only = true};
	struct record_cgroup p[] = {path_of(CGROUP_UNIFIED, "/j/step_0"),
				    path_of(CGROUP_MEMORY, "/j/step_0")};
	assert_false(cgroup_guess(p, 1, &guess)); /* "." or "unified": to be seen */
	assert_true(guess.unified_only);
	assert_true(cgroup_guess(p, 2, &guess));
	auto_close int fd = open_fixture("v1", &l);
	assert_false(guess.unified_only);
	assert_string_equal(guess.cpuacct, "cpuacct");
	assert_string_equal(guess.memory, l.memory);
	assert_string_equal(guess.unified, "unified");
}

static void parsers_skip_what_they_do_not_know(void **state)
{
	(void)state;
	struct cgroup_cpu cpu;
	struct cgroup_psi psi;
	struct err err;
	static const char stat[] = "future_usec x y\nusage_usec 7\n\nuser_usec 4\n"
				   "system_usec 3\nuser_usec_more 9\n";
	assert_int_equal(cgroup_parse_cpu_stat(stat, sizeof(stat) - 1, &cpu, &err), 0);
	assert_true(cpu.user_ns == 4000 && cpu.system_ns == 3000);
	static const char more[] = "half total=3\nsome x=1 total=2\n";
	assert_int_equal(cgroup_parse_psi(more, sizeof(more) - 1, &psi, &err), 0);
	assert_true(psi.some_ns == 2000 && !psi.has_full);
	static const char nul[] = "usage_usec\0 7\n";
	assert_int_equal(cgroup_parse_cpu_stat(nul, sizeof(nul) - 1, &cpu, &err),
			 -EINVAL);
}

static void psi_rejects_what_is_not_pressure(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		int rc;
	} cases[] = {{"", -EINVAL},
		     {"some avg10=0.00 total=-1\n", -EINVAL},
		     {"some avg10=0.00\n", -EINVAL},
		     {"some total=12", -EINVAL},
		     {"some total=18446744073709551615\n", -ERANGE},
		     {"full total=1\n", -EINVAL}};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct cgroup_psi psi = {.some_ns = 7};
		struct err err;
		assert_int_equal(cgroup_parse_psi(cases[i].text, strlen(cases[i].text),
						  &psi, &err),
				 cases[i].rc);
		assert_true(psi.some_ns == 7);
		assert_non_null(strstr(err.text, " total"));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(probe_finds_v1_controllers_in_mounts_of_their_own),
		cmocka_unit_test(probe_finds_v2),
		cmocka_unit_test(
			probe_handles_symlinks_and_joint_mounts_of_a_hybrid_machine),
		cmocka_unit_test(probe_says_when_there_are_none),
		cmocka_unit_test(step_and_job_are_cut_out_of_any_path),
		cmocka_unit_test(a_sluid_is_the_name_of_a_job_below_the_scope),
		cmocka_unit_test(node_name_comes_from_the_path),
		cmocka_unit_test(paths_that_climb_are_refused),
		cmocka_unit_test(guess_is_the_layout_of_nearly_every_v1),
		cmocka_unit_test(parsers_skip_what_they_do_not_know),
		cmocka_unit_test(psi_rejects_what_is_not_pressure),
	};
	return cmocka_run_group_tests_name("cgroup", tests, setup, teardown);
}
