/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Control groups on hand-made trees (test/fixture/{v1,v2,hybrid}) and, as root on a
 * machine that has v1, on real ones: only those can vanish under an open file. */
#include "lib/cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/cleanup.h"
#include "lib/fs.h"
#include "test/unit/scratch.h"
#include "test/unit/unit.h"

static int open_fixture(const char *name, struct cgroup_layout *layout)
{
	char path[256];
	struct err err;

	(void)snprintf(path, sizeof(path), "test/fixture/%s/sys/fs/cgroup", name);
	int fd = fs_opendir_at(AT_FDCWD, path, &err);
	if (fd < 0)
		fail_msg("%s", err.text);
	assert_int_equal(cgroup_probe(fd, layout, &err), 0);
	return fd;
}

static const struct cgroup_known nothing_known;

#define V1_ALL                                                                         \
	(CGROUP_CPUACCT | CGROUP_MEMORY | CGROUP_CPUSET | CGROUP_CPU | CGROUP_PIDS |   \
	 CGROUP_BLKIO | CGROUP_FREEZER)

static struct record_cgroup path_of(uint32_t controllers, const char *path)
{
	struct record_cgroup c = {.controllers = controllers};

	assert_true(strlen(path) < sizeof(c.path));
	memcpy(c.path, path, strlen(path) + 1);
	return c;
}

/* A tree of a test's own, where files can be made wrong. */
static char scratch[SCRATCH_PATH];
static int scratch_fd;

static void make_dirs(const char *path)
{
	char copy[256];

	assert_true(strlen(path) < sizeof(copy));
	memcpy(copy, path, strlen(path) + 1);
	for (char *p = copy + 1; (p = strchr(p, '/')); *p++ = '/') {
		*p = '\0';
		if (mkdirat(scratch_fd, copy, 0700) < 0)
			assert_int_equal(errno, EEXIST);
	}
}

static void put(const char *path, const char *text)
{
	make_dirs(path);
	auto_close int fd = openat(scratch_fd, path,
				   O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(fs_write_all(fd, text, strlen(text)), 0);
}

static void take(const char *path)
{
	assert_int_equal(unlinkat(scratch_fd, path, 0), 0);
}

static const struct cgroup_layout v1_layout = {.cpuacct = "cpuacct",
					       .memory = "memory",
					       .cpuset = "cpuset",
					       .cpu = "cpu",
					       .pids = "pids"};
static const struct cgroup_layout v2_layout = {.unified_only = true, .unified = "."};

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

static void split_is_exact_and_in_the_ratio_of_the_ticks(void **state)
{
	(void)state;
	static const struct {
		uint64_t usage, user, system, want_user;
	} cases[] = {
		{3000000001, 2000000000, 1000000000, 2000000001},
		{1557888, 0, 0, 1557888},
		{10, 0, 7, 0},
		{10, 7, 0, 10},
		{0, 5, 5, 0},
		{UINT64_MAX, 1, 1, UINT64_MAX / 2 + 1},
		{UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX / 2 + 1},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct cgroup_cpu cpu = {0};
		cgroup_split_usage(cases[i].usage, cases[i].user, cases[i].system,
				   &cpu);
		assert_true(cpu.user_ns == cases[i].want_user);
		assert_true(cpu.user_ns + cpu.system_ns == cases[i].usage);
	}
}

static void neither_part_of_the_split_ever_falls(void **state)
{
	(void)state;
	uint64_t seed = 12345, user = 0, system = 0, sum = 0;
	for (int i = 0; i < 100000; i++) {
		struct cgroup_cpu cpu = {0};
		seed = seed * 6364136223846793005u + 1442695040888963407u;
		sum += seed >> 44;
		cgroup_split_usage(sum, seed % 7, (seed >> 8) % 7, &cpu);
		cgroup_keep_split(user, system, &cpu);
		assert_true(cpu.user_ns >= user);
		assert_true(cpu.system_ns >= system);
		assert_true(cpu.user_ns + cpu.system_ns == sum);
		user = cpu.user_ns;
		system = cpu.system_ns;
	}
	struct cgroup_cpu again = {.user_ns = 3, .system_ns = 4};
	cgroup_keep_split(user, system, &again);
	assert_true(again.user_ns == 3 && again.system_ns == 4);
}

static void v1_step_is_read(void **state)
{
	(void)state;
	struct cgroup_layout l;
	auto_close int fd = open_fixture("v1", &l);
	struct record_cgroup p =
		path_of(V1_ALL, "/slurm_n1/uid_1000/job_41/step_0/task_0");
	struct cgroup_fds *c = cgroup_fds_new(fd, &l, &p, 1, false);
	struct cgroup_cpu cpu;
	struct cgroup_memory m;
	struct cgroup_psi psi = {.some_ns = 7};
	uint64_t n = 7, rd, wr;
	uint32_t cpus;
	struct err err;
	for (int i = 0; i < 2; i++) {
		assert_int_equal(cgroup_read_cpu(c, &cpu, &err), 0);
		assert_true(cpu.user_ns == 2000000001 && cpu.system_ns == 1000000000);
		assert_true(cpu.has_throttling && cpu.periods == 100);
		assert_true(cpu.throttled_periods == 12 &&
			    cpu.throttled_ns == 345678901);
		assert_int_equal(cgroup_read_memory(c, true, NULL, &m, &err), 0);
		assert_true(m.rss_bytes == 120000000 && m.cache_bytes == 20000000);
		assert_true(m.used_bytes == 150000000 && m.limit_bytes == 536870912);
		assert_true(m.has_peak && m.peak_bytes == 536870912);
		assert_true(m.fail_count == 5 && m.oom_kills == 1);
		assert_true(m.has_swap && m.memsw_used_bytes == 150000000);
		assert_true(m.memsw_limit_bytes == 1073741824);
		assert_true(m.memsw_fail_count == 2);
		assert_int_equal(cgroup_read_cpus(c, &cpus, &err), 0);
		assert_int_equal(cpus, 4);
		assert_int_equal(cgroup_read_io(c, &rd, &wr, &err), 0);
		assert_true(rd == 4097 && wr == 8194);
		/* no pids hierarchy, no pressure on v1: said so, never zero */
		assert_int_equal(cgroup_read_pids(c, &n, &err), -ENODATA);
		assert_int_equal(cgroup_read_psi(c, "cpu", &psi, &err), -ENODATA);
		assert_true(n == 7 && psi.some_ns == 7);
	}
	assert_int_equal(cgroup_fds_open(c), 14);
	cgroup_fds_free(c);
}

static void v1_job_is_read_from_a_path_of_a_step(void **state)
{
	(void)state;
	struct cgroup_layout l;
	auto_close int fd = open_fixture("v1", &l);
	struct record_cgroup p = path_of(V1_ALL, "/slurm_n1/uid_1000/job_41/step_0");
	struct cgroup_fds *c = cgroup_fds_new(fd, &l, &p, 1, true);
	struct cgroup_memory m;
	uint32_t cpus;
	assert_int_equal(cgroup_read_memory(c, false, NULL, &m, NULL), 0);
	assert_true(m.used_bytes == 250000000 && !m.has_swap);
	assert_int_equal(cgroup_read_cpus(c, &cpus, NULL), 0);
	assert_int_equal(cpus, 5);
	cgroup_fds_free(c);
}

static void v1_extern_has_memory_but_no_cpu_time_of_its_own(void **state)
{
	(void)state;
	struct cgroup_layout l;
	auto_close int fd = open_fixture("v1", &l);
	struct record_cgroup p =
		path_of(CGROUP_MEMORY, "/slurm_n1/uid_1000/job_41/step_extern");
	struct cgroup_fds *c = cgroup_fds_new(fd, &l, &p, 1, false);
	struct cgroup_memory m;
	struct cgroup_cpu cpu;
	struct record_counters r = {.source = COUNTERS_RUSAGE};
	struct err err;
	assert_int_equal(cgroup_read_memory(c, true, NULL, &m, &err), 0);
	assert_true(m.peak_bytes == 1500000 && !m.has_swap);
	assert_int_equal(cgroup_read_cpu(c, &cpu, &err), -ENODATA);
	cgroup_fds_free(c);
	assert_int_equal(
		cgroup_final_counters(fd, "", &l, &p, 1, &nothing_known, &r, &err),
		-ENODATA);
	assert_int_equal(r.source, COUNTERS_RUSAGE);
}

static void w20_v1_unlimited_is_not_nine_exabytes(void **state)
{
	(void)state;
	/* pages of 4, 16 and 64 KiB, res_counter of old kernels, all ones */
	static const char *const limits[] = {
		"9223372036854771712\n", "9223372036854759424\n",
		"9223372036854710272\n", "9223372036854775807\n",
		"18446744073709551615\n"};
	struct cgroup_layout l;
	auto_close int fd = open_fixture("v1", &l);
	struct record_cgroup p = path_of(V1_ALL, "/slurm_n2/uid_1000/job_41/step_0");
	struct cgroup_fds *c = cgroup_fds_new(fd, &l, &p, 1, true);
	struct cgroup_memory m;
	assert_int_equal(cgroup_read_memory(c, false, NULL, &m, NULL), 0);
	assert_true(m.limit_bytes == CGROUP_UNLIMITED);
	cgroup_fds_free(c);

	static const char *const files[][2] = {
		{"memory/j/step_0/memory.usage_in_bytes", "1\n"},
		{"memory/j/step_0/memory.failcnt", "0\n"},
		{"memory/j/step_0/memory.stat", "total_cache 1\ntotal_rss 2\n"},
		{"memory/j/step_0/memory.oom_control", "under_oom 0\n"}};
	for (size_t i = 0; i < 4; i++)
		put(files[i][0], files[i][1]);
	p = path_of(CGROUP_MEMORY, "/j/step_0");
	for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
		/* as a file of its own, and where memory.stat says it */
		char stat[128];
		put("memory/j/step_0/memory.stat", "total_cache 1\ntotal_rss 2\n");
		put("memory/j/step_0/memory.limit_in_bytes", limits[i]);
		c = cgroup_fds_new(scratch_fd, &v1_layout, &p, 1, false);
		assert_int_equal(cgroup_read_memory(c, false, NULL, &m, NULL), 0);
		assert_true(m.limit_bytes == CGROUP_UNLIMITED);
		(void)snprintf(stat, sizeof(stat),
			       "hierarchical_memory_limit %stotal_cache 1\n"
			       "total_rss 2\n",
			       limits[i]);
		put("memory/j/step_0/memory.stat", stat);
		put("memory/j/step_0/memory.limit_in_bytes", "5\n");
		assert_int_equal(cgroup_read_memory(c, false, NULL, &m, NULL), 0);
		assert_true(m.limit_bytes == CGROUP_UNLIMITED);
		cgroup_fds_free(c);
	}
}

static void v2_step_counts_its_tasks_and_not_slurmstepd(void **state)
{
	(void)state;
	struct cgroup_layout l;
	auto_close int fd = open_fixture("v2", &l);
	struct record_cgroup p = path_of(
		CGROUP_UNIFIED, "/system.slice/n1_slurmstepd.scope/job_41/step_0");
	struct cgroup_fds *c = cgroup_fds_new(fd, &l, &p, 1, false);
	struct cgroup_cpu cpu;
	uint64_t rd, wr;
	assert_int_equal(cgroup_read_cpu(c, &cpu, NULL), 0);
	assert_true(cpu.user_ns == 2000000000 && cpu.system_ns == 1000001000);
	assert_true(cpu.has_throttling && cpu.throttled_ns == 345678000);
	assert_int_equal(cgroup_read_io(c, &rd, &wr, NULL), 0);
	assert_true(rd == 4097 && wr == 8194);
	cgroup_fds_free(c);
}

static void v2_step_without_user_counts_the_step_until_user_is_made(void **state)
{
	(void)state;
	put("j/step_0/cpu.stat", "usage_usec 9\nuser_usec 5\nsystem_usec 4\n");
	struct record_cgroup p = path_of(CGROUP_UNIFIED, "/j/step_0");
	struct cgroup_fds *c = cgroup_fds_new(scratch_fd, &v2_layout, &p, 1, false);
	struct cgroup_cpu cpu;
	assert_int_equal(cgroup_read_cpu(c, &cpu, NULL), 0);
	assert_true(cpu.user_ns + cpu.system_ns == 9000 && !cpu.has_throttling);
	put("j/step_0/user/cpu.stat", "usage_usec 3\nuser_usec 2\nsystem_usec 1\n");
	assert_int_equal(cgroup_read_cpu(c, &cpu, NULL), 0);
	assert_true(cpu.user_ns == 2000 && cpu.system_ns == 1000);
	cgroup_fds_free(c);
}

static void v2_job_is_read(void **state)
{
	(void)state;
	struct cgroup_layout l;
	auto_close int fd = open_fixture("v2", &l);
	struct record_cgroup p = path_of(
		CGROUP_UNIFIED, "/system.slice/n1_slurmstepd.scope/job_41/step_0");
	struct cgroup_fds *c = cgroup_fds_new(fd, &l, &p, 1, true);
	struct cgroup_memory m;
	struct cgroup_psi psi;
	uint64_t n;
	uint32_t cpus;
	assert_int_equal(cgroup_read_memory(c, true, NULL, &m, NULL), 0);
	assert_true(m.rss_bytes == 200000000 && m.cache_bytes == 40000000);
	assert_true(m.limit_bytes == 536870912 && m.fail_count == 3);
	assert_true(m.oom_kills == 1 && m.has_peak && m.peak_bytes == 300000000);
	assert_true(m.has_swap && m.memsw_used_bytes == 1000);
	assert_true(m.memsw_limit_bytes == CGROUP_UNLIMITED && m.memsw_fail_count == 4);
	assert_int_equal(cgroup_read_pids(c, &n, NULL), 0);
	assert_true(n == 12);
	assert_int_equal(cgroup_read_cpus(c, &cpus, NULL), 0);
	assert_int_equal(cpus, 5);
	assert_int_equal(cgroup_read_psi(c, "cpu", &psi, NULL), 0);
	assert_true(psi.some_ns == 1500000000 && psi.full_ns == 250000000);
	assert_int_equal(cgroup_read_psi(c, "memory", &psi, NULL), 0);
	assert_true(psi.some_ns == 20000 && psi.has_full);
	assert_int_equal(cgroup_read_psi(c, "io", &psi, NULL), 0);
	assert_true(psi.some_ns == 30000 && !psi.has_full);
	cgroup_fds_free(c);
}

static void w21_v2_cpu_time_needs_no_cpu_controller(void **state)
{
	(void)state;
	struct cgroup_layout l;
	auto_close int fd = open_fixture("v2", &l);
	struct record_cgroup p = path_of(
		CGROUP_UNIFIED, "/system.slice/slurmstepd.scope/s7GK2P0QW/step_batch");
	struct cgroup_fds *c = cgroup_fds_new(fd, &l, &p, 1, false);
	struct cgroup_cpu cpu;
	struct cgroup_memory m;
	assert_int_equal(cgroup_read_cpu(c, &cpu, NULL), 0);
	assert_true(cpu.user_ns == 50000000 && cpu.system_ns == 20000000);
	assert_false(cpu.has_throttling);
	/* and memory.peak is newer than some kernels */
	assert_int_equal(cgroup_read_memory(c, true, NULL, &m, NULL), 0);
	assert_true(!m.has_peak && !m.has_swap && m.limit_bytes == CGROUP_UNLIMITED);
	cgroup_fds_free(c);
}

static void hybrid_reads_v1_in_joint_mounts(void **state)
{
	(void)state;
	struct cgroup_layout l;
	auto_close int fd = open_fixture("hybrid", &l);
	struct record_cgroup p[] = {
		path_of(V1_ALL, "/slurm/uid_0/job_7/step_0"),
		path_of(CGROUP_UNIFIED, "/"),
	};
	struct cgroup_fds *c = cgroup_fds_new(fd, &l, p, 2, false);
	struct cgroup_cpu cpu;
	assert_int_equal(cgroup_read_cpu(c, &cpu, NULL), 0);
	/* younger than a tick of usage_user: cpuacct.stat says 1 to 3 */
	assert_true(cpu.user_ns == 3 && cpu.system_ns == 7);
	assert_true(cpu.has_throttling && cpu.throttled_ns == 9);
	cgroup_fds_free(c);
	c = cgroup_fds_new(fd, &l, p, 1, true);
	uint64_t n;
	assert_int_equal(cgroup_read_pids(c, &n, NULL), 0);
	assert_true(n == 3);
	cgroup_fds_free(c);
}

static void final_counters_name_their_source(void **state)
{
	(void)state;
	struct cgroup_layout l;
	struct record_counters r;
	struct record_cgroup p = path_of(V1_ALL, "/slurm_n1/uid_1000/job_41/step_0");
	auto_close int v1 = open_fixture("v1", &l);
	assert_int_equal(
		cgroup_final_counters(v1, "", &l, &p, 1, &nothing_known, &r, NULL), 0);
	assert_int_equal(r.source, COUNTERS_CGROUP_V1);
	assert_true(r.cpu_user_ns == 2000000001 && r.cpu_system_ns == 1000000000);
	assert_true(r.has_memory && r.memory_peak_bytes == 536870912);
	assert_true(r.oom_kills == 1 && r.read_ns > 0);
	assert_true(r.has_io && r.io_read_bytes == 4097 && r.io_write_bytes == 8194);
	/* a step of 1.6 ms */
	p = path_of(CGROUP_CPUACCT, "/slurm_n1/uid_1000/job_41/step_batch");
	assert_int_equal(
		cgroup_final_counters(v1, "", &l, &p, 1, &nothing_known, &r, NULL), 0);
	assert_true(r.cpu_user_ns == 1557888 && r.cpu_system_ns == 0);
	assert_true(!r.has_memory && !r.has_io && r.oom_kills == 0);
	p = path_of(CGROUP_UNIFIED,
		    "/system.slice/n1_slurmstepd.scope/job_41/step_0/user/task_0");
	auto_close int v2 = open_fixture("v2", &l);
	assert_int_equal(
		cgroup_final_counters(v2, "", &l, &p, 1, &nothing_known, &r, NULL), 0);
	assert_int_equal(r.source, COUNTERS_CGROUP_V2);
	assert_true(r.cpu_user_ns == 2000000000 && r.cpu_system_ns == 1000001000);
	assert_true(r.has_memory && r.memory_peak_bytes == 200000000);
	assert_true(r.has_io && r.io_write_bytes == 8194);
}

static void
final_counters_of_a_step_that_has_not_run_since_are_not_read_again(void **state)
{
	(void)state;
	struct record_cgroup p = path_of(V1_ALL, "/known/step_0");
	struct record_counters r = {.source = COUNTERS_RUSAGE};
	struct cgroup_known known = {true, 75, 25};
	put("cpuacct/known/step_0/cpuacct.usage", "100\n");
	put("cpuacct/known/step_0/cpuacct.usage_user", "not read\n");
	put("memory/known/step_0/memory.max_usage_in_bytes", "not read\n");
	assert_int_equal(cgroup_final_counters(AT_FDCWD, scratch, &v1_layout, &p, 1,
					       &known, &r, NULL),
			 1);
	assert_int_equal(r.source, COUNTERS_RUSAGE);
	/* it has run, in user mode if one believes the ticks: no part goes back */
	put("cpuacct/known/step_0/cpuacct.usage", "110\n");
	put("cpuacct/known/step_0/cpuacct.usage_user", "2\n");
	put("cpuacct/known/step_0/cpuacct.usage_sys", "0\n");
	assert_int_equal(cgroup_final_counters(AT_FDCWD, scratch, &v1_layout, &p, 1,
					       &known, &r, NULL),
			 0);
	assert_true(r.cpu_user_ns == 85 && r.cpu_system_ns == 25 && !r.has_memory);
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

static void good_v1_step(void)
{
	put("cpuacct/j/step_0/cpuacct.usage", "100\n");
	put("cpuacct/j/step_0/cpuacct.usage_user", "3\n");
	put("cpuacct/j/step_0/cpuacct.usage_sys", "1\n");
	put("cpuset/j/step_0/cpuset.cpus", "0-1\n");
	put("memory/j/step_0/memory.usage_in_bytes", "1\n");
	put("memory/j/step_0/memory.limit_in_bytes", "2\n");
	put("memory/j/step_0/memory.max_usage_in_bytes", "3\n");
	put("memory/j/step_0/memory.failcnt", "4\n");
	put("memory/j/step_0/memory.stat", "total_cache 5\ntotal_rss 6\n");
	put("memory/j/step_0/memory.oom_control", "oom_kill 7\n");
}

static int read_all(const struct record_cgroup *p, struct err *err)
{
	struct cgroup_fds *c = cgroup_fds_new(scratch_fd, &v1_layout, p, 1, false);
	struct cgroup_cpu cpu, cpu_before;
	struct cgroup_memory m, m_before;
	uint32_t cpus = 77;
	/* what a failed reading must not touch */
	memset(&cpu, 0x55, sizeof(cpu));
	memset(&m, 0x55, sizeof(m));
	cpu_before = cpu;
	m_before = m;
	int first = cgroup_read_cpu(c, &cpu, err);
	if (first < 0)
		assert_memory_equal(&cpu, &cpu_before, sizeof(cpu));
	int rc = first ? 0 : cgroup_read_memory(c, false, NULL, &m, err);
	if (rc < 0)
		assert_memory_equal(&m, &m_before, sizeof(m));
	int third = first || rc ? 0 : cgroup_read_cpus(c, &cpus, err);
	if (third < 0)
		assert_int_equal(cpus, 77);
	cgroup_fds_free(c);
	return first ? first : rc ? rc : third;
}

static void wrong_files_are_errors_that_name_them_and_change_nothing(void **state)
{
	(void)state;
	static const struct {
		const char *file, *text;
		int rc;
		const char *says;
	} cases[] = {
		{"cpuacct/j/step_0/cpuacct.usage", "", -EINVAL, "empty"},
		{"cpuacct/j/step_0/cpuacct.usage", "-5\n", -EINVAL, "not an unsigned"},
		{"cpuacct/j/step_0/cpuacct.usage", "12x\n", -EINVAL, "not an unsigned"},
		{"cpuacct/j/step_0/cpuacct.usage", "18446744073709551616\n", -ERANGE,
		 "too large"},
		{"cpuacct/j/step_0/cpuacct.usage_user", "max\n", -EINVAL,
		 "not an unsigned"},
		{"cpuacct/j/step_0/cpuacct.usage_sys", "1\n2\n", -EINVAL,
		 "not an unsigned"},
		{"memory/j/step_0/memory.usage_in_bytes", "\n", -EINVAL,
		 "not an unsigned"},
		{"memory/j/step_0/memory.limit_in_bytes", "-1\n", -EINVAL,
		 "not an unsigned"},
		{"memory/j/step_0/memory.stat",
		 "hierarchical_memory_limit -1\ntotal_rss 1\ntotal_cache 1\n", -EINVAL,
		 "hierarchical_memory_limit: not an unsigned"},
		{"memory/j/step_0/memory.stat", "", -EINVAL, "total_rss: missing"},
		{"memory/j/step_0/memory.stat", "total_rss 1\n", -EINVAL,
		 "total_cache: missing"},
		{"memory/j/step_0/memory.stat", "total_rss 1\ntotal_cache 12", -EINVAL,
		 "total_cache: cut off"},
		{"memory/j/step_0/memory.stat", "total_rss -1\ntotal_cache 1\n",
		 -EINVAL, "total_rss: not an unsigned"},
		{"memory/j/step_0/memory.stat",
		 "total_rss 99999999999999999999\ntotal_cache 1\n", -ERANGE,
		 "total_rss: number too large"},
		{"memory/j/step_0/memory.oom_control", "oom_kill many\n", -EINVAL,
		 "oom_kill"},
		{"memory/j/step_0/memory.failcnt", "hello\n", -EINVAL,
		 "not an unsigned"},
		{"cpuset/j/step_0/cpuset.cpus", "3-1\n", -ERANGE, "list of CPUs"},
		{"cpuset/j/step_0/cpuset.cpus", "0-99999999\n", -ERANGE,
		 "list of CPUs"},
		{"cpuset/j/step_0/cpuset.cpus", "all\n", -EINVAL, "list of CPUs"},
		{"cpuset/j/step_0/cpuset.cpus", "\n", -ENODATA, "empty"},
	};
	struct record_cgroup p = path_of(V1_ALL, "/j/step_0");
	struct err err;
	good_v1_step();
	assert_int_equal(read_all(&p, &err), 0);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		good_v1_step();
		put(cases[i].file, cases[i].text);
		assert_int_equal(read_all(&p, &err), cases[i].rc);
		assert_non_null(strstr(err.text, cases[i].file));
		assert_non_null(strstr(err.text, cases[i].says));
	}
}

static void huge_files_are_refused(void **state)
{
	(void)state;
	static char text[20001];
	struct record_cgroup p = path_of(V1_ALL, "/j/step_0");
	struct err err;
	memset(text, '1', sizeof(text) - 1);
	good_v1_step();
	put("cpuacct/j/step_0/cpuacct.usage", text);
	assert_int_equal(read_all(&p, &err), -EFBIG);
	assert_non_null(strstr(err.text, "cpuacct.usage: too long"));
	good_v1_step();
	put("memory/j/step_0/memory.stat", text);
	assert_int_equal(read_all(&p, &err), -EFBIG);
	assert_non_null(strstr(err.text, "memory.stat: too long"));
}

static void missing_files_and_directories_are_told_apart(void **state)
{
	(void)state;
	struct record_cgroup p = path_of(V1_ALL, "/j/step_0");
	struct err err;
	good_v1_step();
	take("memory/j/step_0/memory.max_usage_in_bytes"); /* optional */
	assert_int_equal(read_all(&p, &err), 0);
	take("memory/j/step_0/memory.failcnt");
	assert_int_equal(read_all(&p, &err), -ENODATA);
	assert_non_null(strstr(err.text, "memory.failcnt: no such file"));
	good_v1_step();
	take("cpuacct/j/step_0/cpuacct.usage_user");
	take("cpuacct/j/step_0/cpuacct.usage_sys");
	assert_int_equal(read_all(&p, &err), 0);
	p = path_of(V1_ALL, "/j/step_9");
	assert_int_equal(read_all(&p, &err), -ENODEV);
	assert_non_null(
		strstr(err.text, "cpuacct/j/step_9: the control group is gone"));
	good_v1_step();
}

static void near_the_limit_of_open_files_none_is_kept(void **state)
{
	(void)state;
	struct rlimit was, low;
	struct record_cgroup p = path_of(V1_ALL, "/j/step_0");
	struct cgroup_memory m;
	struct cgroup_cpu cpu;
	good_v1_step();
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &was), 0);
	low = was;
	low.rlim_cur = 4; /* all of them taken by now: a quarter is spare */
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
	struct cgroup_fds *c = cgroup_fds_new(scratch_fd, &v1_layout, &p, 1, false);
	struct err err;
	int full = cgroup_read_cpu(c, &cpu, &err);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &was), 0);
	assert_int_equal(full, -EMFILE);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(cgroup_read_cpu(c, &cpu, NULL), 0);
		assert_int_equal(cgroup_read_memory(c, false, NULL, &m, NULL), 0);
		assert_true(cpu.user_ns == 75 && cpu.system_ns == 25);
		assert_int_equal(cgroup_fds_open(c), 0);
	}
	cgroup_fds_free(c);
}

static void split_goes_on_where_a_former_daemon_was(void **state)
{
	(void)state;
	struct record_cgroup p = path_of(V1_ALL, "/j/step_0");
	struct cgroup_cpu cpu;
	good_v1_step();
	struct cgroup_fds *c = cgroup_fds_new(scratch_fd, &v1_layout, &p, 1, false);
	cgroup_fds_seed_cpu(c, 50, 40);
	assert_int_equal(cgroup_read_cpu(c, &cpu, NULL), 0);
	assert_true(cpu.user_ns == 60 && cpu.system_ns == 40);
	cgroup_fds_free(c);
}

/* Real cgroups: v1 cpuacct and memory below a directory of our own. */
static char real_dir[64];
static const char *const real_trees[] = {"cpuacct", "memory"};

static bool real_make(void)
{
	for (size_t i = 0; i < 2; i++) {
		char path[128];
		(void)snprintf(path, sizeof(path), "/sys/fs/cgroup/%s/%s",
			       real_trees[i], real_dir);
		if (mkdir(path, 0755) < 0 && errno != EEXIST)
			return false;
		(void)snprintf(path, sizeof(path), "/sys/fs/cgroup/%s/%s/step_0",
			       real_trees[i], real_dir);
		if (mkdir(path, 0755) < 0)
			return false;
	}
	return true;
}

static void real_remove(const char *sub)
{
	for (size_t i = 0; i < 2; i++) {
		char path[128];
		(void)snprintf(path, sizeof(path), "/sys/fs/cgroup/%s/%s%s",
			       real_trees[i], real_dir, sub);
		(void)rmdir(path);
	}
}

static void removed_and_remade_cgroups_are_noticed(void **state)
{
	(void)state;
	struct cgroup_layout l;
	struct err err;
	auto_close int fd = open("/sys/fs/cgroup", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (geteuid() != 0 || fd < 0 || cgroup_probe(fd, &l, &err) < 0 ||
	    strcmp(l.cpuacct, "cpuacct") != 0 || strcmp(l.memory, "memory") != 0) {
		print_message("# needs root and v1 cpuacct and memory\n");
		skip();
	}
	(void)snprintf(real_dir, sizeof(real_dir), "slurm_ceemstest%d", getpid());
	if (!real_make()) {
		real_remove("/step_0");
		real_remove("");
		print_message("# no cgroups can be made here\n");
		skip();
	}
	char path[128];
	(void)snprintf(path, sizeof(path), "/%s/step_0", real_dir);
	struct record_cgroup p = path_of(V1_ALL, path);
	struct cgroup_fds *c = cgroup_fds_new(fd, &l, &p, 1, false);
	struct cgroup_cpu cpu;
	struct cgroup_memory m;
	int live_cpu = cgroup_read_cpu(c, &cpu, &err);
	int live_memory = cgroup_read_memory(c, true, NULL, &m, &err);
	unsigned kept = cgroup_fds_open(c);
	real_remove("/step_0");
	int gone_cpu = cgroup_read_cpu(c, &cpu, &err);
	int gone_memory = cgroup_read_memory(c, true, NULL, &m, &err);
	unsigned kept_gone = cgroup_fds_open(c);
	(void)real_make();
	int again_cpu = cgroup_read_cpu(c, &cpu, &err);
	/* removed and made again between two readings */
	real_remove("/step_0");
	(void)real_make();
	int remade_cpu = cgroup_read_cpu(c, &cpu, &err);
	int remade_memory = cgroup_read_memory(c, true, NULL, &m, &err);
	cgroup_fds_free(c);
	real_remove("/step_0");
	real_remove("");
	assert_int_equal(live_cpu, 0);
	assert_int_equal(live_memory, 0);
	assert_true(kept >= 7);
	assert_int_equal(gone_cpu, -ENODEV);
	assert_int_equal(gone_memory, -ENODEV);
	assert_int_equal(kept_gone, 0);
	assert_int_equal(again_cpu, 0);
	assert_int_equal(remade_cpu, 0);
	assert_int_equal(remade_memory, 0);
	assert_true(m.limit_bytes == CGROUP_UNLIMITED);
}

static void v1_oom_kills_are_those_of_the_tasks(void **state)
{
	(void)state;
	struct record_cgroup p = path_of(CGROUP_MEMORY | CGROUP_CPUACCT, "/j/step_0");
	struct record_counters r;
	struct cgroup_memory m;
	good_v1_step();
	put("memory/j/step_0/memory.oom_control", "oom_kill 0\n");
	put("memory/j/step_0/memory.failcnt", "0\n");
	put("memory/j/step_0/memory.max_usage_in_bytes", "20971520\n");
	put("memory/j/step_0/memory.limit_in_bytes", "20971520\n");
	put("memory/j/step_0/task_0/memory.oom_control", "under_oom 0\noom_kill 1\n");
	put("memory/j/step_0/task_12/memory.oom_control", "oom_kill 2\n");
	put("memory/j/step_0/task_13/x", "");
	assert_int_equal(cgroup_final_counters(scratch_fd, "", &v1_layout, &p, 1,
					       &nothing_known, &r, NULL),
			 0);
	assert_true(r.oom_kills == 3);
	struct cgroup_fds *c = cgroup_fds_new(scratch_fd, &v1_layout, &p, 1, false);
	assert_int_equal(cgroup_read_memory(c, false, NULL, &m, NULL), 0);
	assert_true(m.oom_kills == 3);
	cgroup_fds_free(c);
	/* two steps that fill their job's limit together */
	put("memory/j/step_0/memory.max_usage_in_bytes", "10971520\n");
	put("memory/j/memory.max_usage_in_bytes", "20971520\n");
	assert_int_equal(cgroup_final_counters(scratch_fd, "", &v1_layout, &p, 1,
					       &nothing_known, &r, NULL),
			 0);
	assert_true(r.oom_kills == 3);
	/* nor where the caller knows that so small a step cannot have been killed */
	struct cgroup_known small = {.harmless_peak_bytes = 10971521};
	assert_int_equal(cgroup_final_counters(scratch_fd, "", &v1_layout, &p, 1,
					       &small, &r, NULL),
			 0);
	assert_true(r.oom_kills == 0 && r.memory_peak_bytes == 10971520);
	small.harmless_peak_bytes--;
	assert_int_equal(cgroup_final_counters(scratch_fd, "", &v1_layout, &p, 1,
					       &small, &r, NULL),
			 0);
	assert_true(r.oom_kills == 3);
	/* far below every limit nobody looks */
	put("memory/j/memory.max_usage_in_bytes", "11971520\n");
	assert_int_equal(cgroup_final_counters(scratch_fd, "", &v1_layout, &p, 1,
					       &nothing_known, &r, NULL),
			 0);
	assert_true(r.oom_kills == 0);
}

static void v1_reads_only_what_can_have_changed(void **state)
{
	(void)state;
	struct record_cgroup p = path_of(V1_ALL, "/j/step_0");
	struct cgroup_cpu cpu;
	struct cgroup_memory m;
	good_v1_step();
	put("memory/j/step_0/memory.max_usage_in_bytes", "1000000\n");
	put("memory/j/step_0/memory.limit_in_bytes", "20000000\n");
	put("memory/j/step_0/memory.failcnt", "not read\n");
	struct cgroup_fds *c = cgroup_fds_new(scratch_fd, &v1_layout, &p, 1, false);
	assert_int_equal(cgroup_read_cpu(c, &cpu, NULL), 0);
	assert_true(cpu.user_ns == 75 && cpu.system_ns == 25);
	put("cpuacct/j/step_0/cpuacct.usage_user", "not read\n");
	assert_int_equal(cgroup_read_cpu(c, &cpu, NULL), 0);
	assert_true(cpu.user_ns == 75 && cpu.system_ns == 25);
	put("cpuacct/j/step_0/cpuacct.usage", "101\n");
	assert_int_equal(cgroup_read_cpu(c, &cpu, NULL), -EINVAL);
	/* far below its limit it has not failed */
	assert_int_equal(cgroup_read_memory(c, false, NULL, &m, NULL), 0);
	assert_true(m.fail_count == 0);
	put("memory/j/step_0/memory.max_usage_in_bytes", "17000000\n");
	assert_int_equal(cgroup_read_memory(c, false, NULL, &m, NULL), -EINVAL);
	put("memory/j/step_0/memory.failcnt", "3\n");
	assert_int_equal(cgroup_read_memory(c, false, NULL, &m, NULL), 0);
	assert_true(m.fail_count == 3);
	/* and what has failed once is always looked at */
	put("memory/j/step_0/memory.max_usage_in_bytes", "1000000\n");
	put("memory/j/step_0/memory.failcnt", "4\n");
	assert_int_equal(cgroup_read_memory(c, false, NULL, &m, NULL), 0);
	assert_true(m.fail_count == 4);
	cgroup_fds_free(c);
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

static int setup(void **state)
{
	(void)state;
	scratch_make(scratch);
	scratch_fd = open(scratch, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return scratch_fd < 0;
}

static int teardown(void **state)
{
	(void)state;
	close(scratch_fd);
	scratch_remove(scratch);
	return 0;
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
		cmocka_unit_test(node_name_comes_from_the_path),
		cmocka_unit_test(paths_that_climb_are_refused),
		cmocka_unit_test(split_is_exact_and_in_the_ratio_of_the_ticks),
		cmocka_unit_test(neither_part_of_the_split_ever_falls),
		cmocka_unit_test(v1_step_is_read),
		cmocka_unit_test(v1_job_is_read_from_a_path_of_a_step),
		cmocka_unit_test(v1_extern_has_memory_but_no_cpu_time_of_its_own),
		cmocka_unit_test(w20_v1_unlimited_is_not_nine_exabytes),
		cmocka_unit_test(v2_step_counts_its_tasks_and_not_slurmstepd),
		cmocka_unit_test(
			v2_step_without_user_counts_the_step_until_user_is_made),
		cmocka_unit_test(v2_job_is_read),
		cmocka_unit_test(w21_v2_cpu_time_needs_no_cpu_controller),
		cmocka_unit_test(hybrid_reads_v1_in_joint_mounts),
		cmocka_unit_test(final_counters_name_their_source),
		cmocka_unit_test(
			final_counters_of_a_step_that_has_not_run_since_are_not_read_again),
		cmocka_unit_test(guess_is_the_layout_of_nearly_every_v1),
		cmocka_unit_test(
			wrong_files_are_errors_that_name_them_and_change_nothing),
		cmocka_unit_test(huge_files_are_refused),
		cmocka_unit_test(missing_files_and_directories_are_told_apart),
		cmocka_unit_test(near_the_limit_of_open_files_none_is_kept),
		cmocka_unit_test(split_goes_on_where_a_former_daemon_was),
		cmocka_unit_test(removed_and_remade_cgroups_are_noticed),
		cmocka_unit_test(v1_oom_kills_are_those_of_the_tasks),
		cmocka_unit_test(v1_reads_only_what_can_have_changed),
		cmocka_unit_test(parsers_skip_what_they_do_not_know),
		cmocka_unit_test(psi_rejects_what_is_not_pressure),
	};
	return cmocka_run_group_tests(tests, setup, teardown);
}
