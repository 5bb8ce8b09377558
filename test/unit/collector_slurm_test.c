/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The slurm collector on fixture trees, with a real unit table that is fed records. The
 * W numbers are weak points of other exporters that must not come back (doc/compat.md).
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/collector.h"
#include "daemon/env.h"
#include "daemon/options.h"
#include "daemon/sample.h"
#include "daemon/units.h"
#include "lib/cgroup.h"
#include "lib/cleanup.h"
#include "lib/clock.h"
#include "lib/fs.h"
#include "lib/log.h"
#include "test/unit/golden.h"
#include "test/unit/scratch.h"
#include "test/unit/unit.h"

extern const struct collector collector_slurm;

#define V1_ALL                                                                         \
	(CGROUP_CPUACCT | CGROUP_MEMORY | CGROUP_CPUSET | CGROUP_CPU | CGROUP_PIDS |   \
	 CGROUP_BLKIO)

static uint64_t now_ns = 1000 * NSEC_PER_SEC;

static uint64_t test_boottime(void)
{
	return now_ns;
}

static uint64_t test_realtime(void)
{
	return 1700000000 * NSEC_PER_SEC + now_ns;
}

/* One daemon: a table in a folder of its own, options, a collector. */
struct lab {
	char folder[64];
	int folder_fd;
	struct options options;
	struct env env;
	void *state;
	struct sample *sampler;
	struct prom *prom;
	struct buf text; /* of the last scrape */
	uint64_t pos;    /* in the ring */
};

static char no_map[] = "", no_slurmd[] = "/nonexistent/slurmd";

static void lab_init(struct lab *l, const char *fixture)
{
	struct err err;
	char path[128];
	bool made;

	*l = (struct lab){0};
	scratch_make(l->folder);
	l->folder_fd = open(l->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(l->folder_fd >= 0);
	l->options.unit_linger_ms = 60000;
	l->options.unit_max_exported = 100;
	l->options.gpu_order_map = no_map;
	l->options.slurmd_path = no_slurmd;
	(void)snprintf(path, sizeof(path), "%s/sys/fs/cgroup", fixture);
	l->env.cgroupfd = fs_opendir_at(AT_FDCWD, path, &err);
	if (l->env.cgroupfd < 0)
		fail_msg("%s", err.text);
	(void)snprintf(path, sizeof(path), "%s/proc", fixture);
	l->env.procfd = fs_opendir_at(AT_FDCWD, path, &err);
	if (l->env.procfd < 0)
		fail_msg("%s", err.text);
	l->env.sysfd = -1;
	l->env.hostname = "host1";
	l->env.options = &l->options;
	l->env.boottime_ns = test_boottime;
	l->env.realtime_ns = test_realtime;
	assert_int_equal(cgroup_probe(l->env.cgroupfd, &l->env.cgroups, &err), 0);
	if (units_open(l->folder_fd, 64, &l->env.units, &made, &err) < 0)
		fail_msg("%s", err.text);
	l->prom = prom_new(0);
	l->sampler = sample_new(&l->env);
	assert_true(l->prom && l->sampler);
	now_ns = 1000 * NSEC_PER_SEC;
}

static void lab_open(struct lab *l)
{
	struct err err;

	if (collector_slurm.open(&l->env, &l->state, &err) < 0)
		fail_msg("%s", err.text);
}

static void lab_done(struct lab *l)
{
	collector_slurm.close(l->state);
	sample_free(l->sampler);
	units_close(l->env.units);
	prom_free(l->prom);
	buf_done(&l->text);
	close(l->env.cgroupfd);
	close(l->env.procfd);
	close(l->folder_fd);
	scratch_remove(l->folder);
}

static struct record record(enum record_type type, const char *job, uint32_t step,
			    const char *path, uint32_t controllers)
{
	struct record r;

	record_init(&r, type, MANAGER_SLURM);
	record_set(&r, r.unit, sizeof(r.unit), job);
	r.step = step;
	r.boottime_ns = now_ns;
	r.realtime_ns = test_realtime();
	r.uid = r.gid = 1000;
	r.stepd_pid = 100;
	r.tasks = 1;
	r.cpus = 6;
	r.step_cpus = 4;
	r.memory_bytes = 400000000;
	assert_true(record_add_cgroup(&r, controllers, path));
	(void)cgroup_slurm_node(path, r.node, sizeof(r.node));
	return r;
}

static void apply(struct lab *l, const struct record *r)
{
	struct err err;

	if (units_apply(l->env.units, r, l->pos++, now_ns, test_realtime(), &err) < 0)
		fail_msg("%s", err.text);
}

static void start(struct lab *l, const char *job, uint32_t step, const char *path,
		  uint32_t controllers)
{
	struct record r = record(RECORD_STEP_START, job, step, path, controllers);

	apply(l, &r);
}

static void stop(struct lab *l, const char *job, uint32_t step, const char *path,
		 uint64_t user_ns, uint64_t system_ns)
{
	struct record r = record(RECORD_STEP_STOP, job, step, path,
				 CGROUP_CPUACCT | CGROUP_MEMORY);

	r.flags |= RECORD_LAST;
	r.counters = (struct record_counters){.source = COUNTERS_CGROUP_V1,
					      .has_memory = true,
					      .cpu_user_ns = user_ns,
					      .cpu_system_ns = system_ns,
					      .memory_peak_bytes = 7000000,
					      .read_ns = now_ns};
	apply(l, &r);
}

/* What the daemon does before a scrape. */
static void sample(struct lab *l)
{
	(void)sample_steps(l->sampler);
}

static void scrape(struct lab *l)
{
	struct err err;

	prom_reset(l->prom);
	buf_reset(&l->text);
	if (collector_slurm.collect(l->state, l->prom, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(prom_render(l->prom, PROM_TEXT, &l->text), 0);
}

/* How many sample lines contain both texts. */
static int lines(const struct lab *l, const char *a, const char *b)
{
	const char *p = l->text.data, *end = p + l->text.len;
	int n = 0;

	while (p < end) {
		const char *nl = strchr(p, '\n');
		size_t len = (size_t)(nl - p);
		n += p[0] != '#' && memmem(p, len, a, strlen(a)) &&
		     memmem(p, len, b, strlen(b));
		p = nl + 1;
	}
	return n;
}

/* The value of the one sample of metric whose labels contain the text. */
static const char *value(const struct lab *l, const char *metric, const char *labels)
{
	static char found[64];
	const char *p = l->text.data, *end = p + l->text.len;
	size_t name = strlen(metric);
	int n = 0;

	(void)snprintf(found, sizeof(found), "none");
	while (p < end) {
		const char *nl = strchr(p, '\n');
		if (strncmp(p, metric, name) == 0 && p[name] == '{' &&
		    memmem(p, (size_t)(nl - p), labels, strlen(labels))) {
			const char *space = memrchr(p, ' ', (size_t)(nl - p));
			(void)snprintf(found, sizeof(found), "%.*s",
				       (int)(nl - space - 1), space + 1);
			n++;
		}
		p = nl + 1;
	}
	assert_true(n <= 1);
	return found;
}

#define JOB41 "/slurm_n1/uid_1000/job_41"

static void golden_of_cgroup_v1(void **state)
{
	(void)state;
	struct lab l;
	lab_init(&l, "test/fixture/v1");
	l.options.slurm_swap = l.options.slurm_psi = l.options.slurm_steps = true;
	start(&l, "41", RECORD_STEP_EXTERN, JOB41 "/step_extern", CGROUP_MEMORY);
	start(&l, "41", RECORD_STEP_BATCH, JOB41 "/step_batch",
	      CGROUP_CPUACCT | CGROUP_MEMORY);
	start(&l, "41", 0, JOB41 "/step_0", V1_ALL);
	start(&l, "41", 0, "/slurm_n2/uid_1000/job_41/step_0", V1_ALL);
	start(&l, "40", 7, "/slurm_n1/uid_1000/job_40/step_7", V1_ALL);
	stop(&l, "40", 7, "/slurm_n1/uid_1000/job_40/step_7", 1557888, 1);
	sample(&l);
	lab_open(&l);
	scrape(&l);
	golden_scrape("slurm_v1", l.prom);
	/* step_0, step_batch and the ended job: nanoseconds to the last digit */
	assert_string_equal(value(&l, "ceems_units_cpu_seconds_total", "mode=\"user\""),
			    "2.003115777");
	lab_done(&l);
}

static void golden_of_cgroup_v2(void **state)
{
	(void)state;
	struct lab l;
	lab_init(&l, "test/fixture/v2");
	l.options.slurm_swap = l.options.slurm_psi = true;
	start(&l, "41", 0, "/system.slice/n1_slurmstepd.scope/job_41/step_0",
	      CGROUP_UNIFIED);
	start(&l, "42", RECORD_STEP_BATCH,
	      "/system.slice/slurmstepd.scope/s7GK2P0QW/step_batch", CGROUP_UNIFIED);
	sample(&l);
	lab_open(&l);
	scrape(&l);
	golden_scrape("slurm_v2", l.prom);
	lab_done(&l);
}

static void golden_of_a_hybrid_machine(void **state)
{
	(void)state;
	struct lab l;
	lab_init(&l, "test/fixture/hybrid");
	start(&l, "7", 0, "/slurm/uid_0/job_7/step_0", V1_ALL);
	sample(&l);
	lab_open(&l);
	scrape(&l);
	golden_scrape("slurm_hybrid", l.prom);
	lab_done(&l);
}

static void golden_without_any_job(void **state)
{
	(void)state;
	struct lab l;
	lab_init(&l, "test/fixture/v1");
	lab_open(&l);
	scrape(&l);
	golden_scrape("slurm_idle", l.prom);
	lab_done(&l);
}

/* A copy of the v1 fixture that a test may spoil. */
static void lab_init_copy(struct lab *l, char copy[SCRATCH_PATH])
{
	scratch_copy(copy, "test/fixture/v1");
	lab_init(l, copy);
}

static void lab_done_copy(struct lab *l, const char *copy)
{
	lab_done(l);
	scratch_remove(copy);
}

/* In place, so that the file that is kept open is the one that changes. */
static void spoil(const struct lab *l, const char *path, const char *text)
{
	auto_close int fd =
		openat(l->env.cgroupfd, path, O_WRONLY | O_TRUNC | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(fs_write_all(fd, text, strlen(text)), 0);
}

#define N1 "cgrouphostname=\"n1\""
#define N2 "cgrouphostname=\"n2\""

static void two_jobs(struct lab *l)
{
	start(l, "41", 0, JOB41 "/step_0", V1_ALL);
	start(l, "41", 0, "/slurm_n2/uid_1000/job_41/step_0", V1_ALL);
	sample(l);
	lab_open(l);
}

static void
w17_failed_read_loses_one_unit_for_one_scrape_and_is_never_zero(void **state)
{
	(void)state;
	static const char *const wrong[] = {"", "-1\n", "text\n",
					    "99999999999999999999\n"};
	static const char *const files[] = {
		"memory" JOB41 "/memory.usage_in_bytes",
		"memory" JOB41 "/memory.stat",
		"memory" JOB41 "/memory.max_usage_in_bytes",
		"memory" JOB41 "/memory.failcnt",
	};
	struct lab l;
	char copy[SCRATCH_PATH];
	lab_init_copy(&l, copy);
	two_jobs(&l);
	scrape(&l);
	int of_n1 = lines(&l, "ceems_compute_unit_", N1);
	int of_n2 = lines(&l, "ceems_compute_unit_", N2);
	assert_true(of_n1 > 10 && of_n2 > 10);
	for (size_t f = 0; f < sizeof(files) / sizeof(files[0]); f++) {
		char good[2048];
		ssize_t n =
			fs_read_at(l.env.cgroupfd, files[f], good, sizeof(good), NULL);
		assert_true(n > 0);
		for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
			spoil(&l, files[f], wrong[i]);
			now_ns += 61 * NSEC_PER_SEC; /* idle jobs are read again */
			scrape(&l);
			assert_int_equal(lines(&l, "ceems_compute_unit_", N1), 0);
			assert_int_equal(lines(&l, "ceems_compute_unit_", N2), of_n2);
			assert_string_equal(
				value(&l, "ceems_compute_collect_error", N1), "1");
			assert_int_equal(lines(&l, "ceems_compute_collect_error", N2),
					 0);
			assert_string_equal(value(&l, "ceems_compute_units", "slurm"),
					    "2");
			spoil(&l, files[f], good);
			scrape(&l);
			assert_int_equal(lines(&l, "ceems_compute_unit_", N1), of_n1);
			assert_int_equal(lines(&l, "ceems_compute_collect_error", ""),
					 0);
		}
	}
	lab_done_copy(&l, copy);
}

/* Whether memory.stat of job 41 is read is seen by its being wrong. */
static void
an_idle_job_is_looked_at_closer_when_it_ran_grew_or_a_minute_is_over(void **state)
{
	(void)state;
	struct lab l;
	char copy[SCRATCH_PATH];
	lab_init_copy(&l, copy);
	two_jobs(&l);
	scrape(&l);
	int of_n1 = lines(&l, "ceems_compute_unit_", N1);
	static const char *const used = "memory" JOB41 "/memory.usage_in_bytes";
	static const char *const stat = "memory" JOB41 "/memory.stat";
	char good[2048];
	assert_true(fs_read_at(l.env.cgroupfd, stat, good, sizeof(good), NULL) > 0);

	spoil(&l, stat, "text\n");
	scrape(&l);
	assert_int_equal(lines(&l, "ceems_compute_unit_", N1), of_n1);
	spoil(&l, used, "4096\n");
	scrape(&l);
	assert_int_equal(lines(&l, "ceems_compute_unit_", N1), 0);

	spoil(&l, stat, good);
	scrape(&l);
	assert_int_equal(lines(&l, "ceems_compute_unit_", N1), of_n1);
	assert_string_equal(value(&l, "ceems_compute_unit_memory_used_bytes", N1),
			    "4096");
	spoil(&l, stat, "text\n");
	scrape(&l);
	assert_int_equal(lines(&l, "ceems_compute_unit_", N1), of_n1);
	spoil(&l, "cpuacct" JOB41 "/step_0/cpuacct.usage", "3000000002\n");
	sample(&l);
	scrape(&l);
	assert_int_equal(lines(&l, "ceems_compute_unit_", N1), 0);

	spoil(&l, stat, good);
	scrape(&l);
	spoil(&l, stat, "text\n");
	now_ns += 59 * NSEC_PER_SEC;
	scrape(&l);
	assert_int_equal(lines(&l, "ceems_compute_unit_", N1), of_n1);
	now_ns += NSEC_PER_SEC;
	scrape(&l);
	assert_int_equal(lines(&l, "ceems_compute_unit_", N1), 0);
	lab_done_copy(&l, copy);
}

static void
w17_failed_cpu_read_loses_the_units_samples_once_and_is_never_zero(void **state)
{
	(void)state;
	static const char *const wrong[] = {"", "-1\n", "text\n",
					    "99999999999999999999\n"};
	struct lab l;
	char copy[SCRATCH_PATH];
	lab_init_copy(&l, copy);
	two_jobs(&l);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		spoil(&l, "cpuacct" JOB41 "/step_0/cpuacct.usage", wrong[i]);
		sample(&l);
		scrape(&l);
		assert_int_equal(lines(&l, "ceems_compute_unit_", N1), 0);
		assert_string_equal(value(&l, "ceems_compute_collect_error", N1), "1");
		assert_true(lines(&l, "ceems_compute_unit_", N2) > 0);
	}
	spoil(&l, "cpuacct" JOB41 "/step_0/cpuacct.usage", "3000000002\n");
	sample(&l);
	scrape(&l);
	assert_string_equal(value(&l, "ceems_compute_unit_cpu_user_seconds_total", N1),
			    "2.000000002");
	lab_done_copy(&l, copy);
}

static void
w19_cpus_are_counted_in_the_cpuset_and_kept_when_it_cannot_be_read(void **state)
{
	(void)state;
	struct lab l;
	char copy[SCRATCH_PATH];
	lab_init_copy(&l, copy);
	two_jobs(&l);
	spoil(&l, "cpuset" JOB41 "/cpuset.cpus", "no list\n");
	scrape(&l);
	/* not read yet: what Slurm allocated; an empty cpuset is none */
	assert_string_equal(value(&l, "ceems_compute_unit_cpus", N1), "6");
	assert_string_equal(value(&l, "ceems_compute_unit_cpus", N2), "6");
	spoil(&l, "cpuset" JOB41 "/cpuset.cpus", "0-3,8\n");
	now_ns += 61 * NSEC_PER_SEC;
	scrape(&l);
	assert_string_equal(value(&l, "ceems_compute_unit_cpus", N1), "5");
	spoil(&l, "cpuset" JOB41 "/cpuset.cpus", "no list\n");
	now_ns += 61 * NSEC_PER_SEC;
	scrape(&l);
	assert_string_equal(value(&l, "ceems_compute_unit_cpus", N1), "5");
	/* a step that starts may have changed it */
	spoil(&l, "cpuset" JOB41 "/cpuset.cpus", "0-6\n");
	scrape(&l);
	assert_string_equal(value(&l, "ceems_compute_unit_cpus", N1), "5");
	start(&l, "41", 1, JOB41 "/step_1", V1_ALL);
	scrape(&l);
	assert_string_equal(value(&l, "ceems_compute_unit_cpus", N1), "7");
	assert_int_equal(lines(&l, "ceems_compute_collect_error", ""), 0);
	lab_done_copy(&l, copy);
}

static void w20_v1_unlimited_memory_is_the_allocation_not_nine_exabytes(void **state)
{
	(void)state;
	struct lab l;
	lab_init(&l, "test/fixture/v1");
	struct record r = record(RECORD_STEP_START, "41", 0,
				 "/slurm_n2/uid_1000/job_41/step_0", V1_ALL);
	apply(&l, &r);
	/* a job of which nobody said what it was given: the machine's memory */
	r = record(RECORD_STEP_START, "43", 0, "/slurm_n2/uid_1000/job_41/step_0",
		   V1_ALL);
	r.memory_bytes = 0;
	apply(&l, &r);
	start(&l, "41", 0, JOB41 "/step_0", V1_ALL);
	lab_open(&l);
	scrape(&l);
	assert_string_equal(
		value(&l, "ceems_compute_unit_memory_total_bytes", N2 ",uuid=\"41\""),
		"400000000");
	assert_string_equal(
		value(&l, "ceems_compute_unit_memory_total_bytes", "uuid=\"43\""),
		"16777216000");
	assert_string_equal(value(&l, "ceems_compute_unit_memory_total_bytes", N1),
			    "536870912");
	lab_done(&l);
}

static void w21_v2_cpu_time_does_not_need_the_cpu_controller(void **state)
{
	(void)state;
	struct lab l;
	lab_init(&l, "test/fixture/v2");
	start(&l, "42", RECORD_STEP_BATCH,
	      "/system.slice/slurmstepd.scope/s7GK2P0QW/step_batch", CGROUP_UNIFIED);
	sample(&l);
	lab_open(&l);
	scrape(&l);
	assert_string_equal(value(&l, "ceems_compute_unit_cpu_user_seconds_total", ""),
			    "0.05");
	assert_string_equal(
		value(&l, "ceems_compute_unit_cpu_system_seconds_total", ""), "0.02");
	lab_done(&l);
}

static void w25_one_job_on_two_slurmds_of_a_host_has_two_series(void **state)
{
	(void)state;
	struct lab l;
	lab_init(&l, "test/fixture/v1");
	two_jobs(&l);
	scrape(&l);
	assert_string_equal(value(&l, "ceems_compute_unit_cpu_user_seconds_total", N1),
			    "2.000000001");
	assert_string_equal(
		value(&l, "ceems_compute_unit_cpu_system_seconds_total", N2), "0.5");
	assert_string_equal(value(&l, "ceems_compute_unit_memory_used_bytes", N1),
			    "250000000");
	assert_string_equal(value(&l, "ceems_compute_unit_memory_used_bytes", N2),
			    "11000000");
	lab_done(&l);
}

static void w36_vanished_cgroup_costs_nobody_else_anything(void **state)
{
	(void)state;
	struct lab l;
	lab_init(&l, "test/fixture/v1");
	two_jobs(&l);
	start(&l, "99", 0, "/slurm_n1/uid_1000/job_99/step_0", V1_ALL);
	scrape(&l);
	assert_string_equal(value(&l, "ceems_compute_units", "slurm"), "3");
	assert_true(lines(&l, "ceems_compute_unit_", N1 ",uuid=\"41\"") > 10);
	assert_true(lines(&l, "ceems_compute_unit_", N2) > 10);
	/* its counters are known, its memory is not: no sample, no error */
	assert_int_equal(lines(&l, "_cpu_user_seconds_total", "uuid=\"99\""), 1);
	assert_int_equal(lines(&l, "_memory_", "uuid=\"99\""), 0);
	assert_int_equal(lines(&l, "ceems_compute_collect_error", ""), 0);
	lab_done(&l);
}

static void w37_jobs_and_slurmds_that_come_later_are_exported(void **state)
{
	(void)state;
	struct lab l;
	lab_init(&l, "test/fixture/v1");
	lab_open(&l);
	scrape(&l);
	assert_string_equal(value(&l, "ceems_compute_units", "slurm"), "0");
	start(&l, "41", 0, "/slurm_n2/uid_1000/job_41/step_0", V1_ALL);
	scrape(&l);
	assert_string_equal(value(&l, "ceems_compute_units", "slurm"), "1");
	assert_true(lines(&l, "ceems_compute_unit_memory_used_bytes", N2) == 1);
	lab_done(&l);
}

static void w43_scrapes_open_nothing_again(void **state)
{
	(void)state;
	struct lab l;
	char copy[SCRATCH_PATH], tree[128];
	lab_init_copy(&l, copy);
	two_jobs(&l);
	scrape(&l);
	auto_buf struct buf first = BUF_INIT;
	buf_put(&first, l.text.data, l.text.len);
	/* the names go, the open files stay: a reading that opens fails now */
	(void)snprintf(tree, sizeof(tree), "%s/sys/fs/cgroup", copy);
	scratch_remove(tree);
	scrape(&l);
	assert_string_equal(l.text.data, first.data);
	lab_done_copy(&l, copy);
}

static void ended_units_keep_their_counters_until_they_leave_the_table(void **state)
{
	(void)state;
	struct lab l;
	lab_init(&l, "test/fixture/v1");
	start(&l, "41", RECORD_STEP_EXTERN, JOB41 "/step_extern", CGROUP_MEMORY);
	start(&l, "41", 0, JOB41 "/step_0", V1_ALL);
	sample(&l);
	lab_open(&l);
	scrape(&l);
	assert_int_equal(lines(&l, "ceems_compute_unit_memory_used_bytes", N1), 1);
	now_ns += NSEC_PER_SEC;
	stop(&l, "41", 0, JOB41 "/step_0", 4000000000, 2000000003);
	stop(&l, "41", RECORD_STEP_EXTERN, JOB41 "/step_extern", 0, 0);
	scrape(&l);
	assert_string_equal(value(&l, "ceems_compute_units", "slurm"), "0");
	assert_string_equal(value(&l, "ceems_compute_unit_cpu_user_seconds_total", N1),
			    "4");
	assert_string_equal(
		value(&l, "ceems_compute_unit_cpu_system_seconds_total", N1),
		"2.000000003");
	assert_string_equal(value(&l, "ceems_compute_unit_memory_peak_bytes", N1),
			    "536870912");
	assert_int_equal(lines(&l, "_memory_used_bytes", ""), 0);
	assert_int_equal(lines(&l, "_memory_rss_bytes", ""), 0);
	assert_int_equal(lines(&l, "ceems_compute_unit_cpus", ""), 0);
	const struct units_policy policy = {.linger_ms = 60000, .max_exported = 100};
	now_ns += 200 * NSEC_PER_SEC;
	units_expire(l.env.units, now_ns, &policy);
	scrape(&l);
	assert_int_equal(lines(&l, "ceems_compute_unit_", ""), 0);
	assert_string_equal(value(&l, "ceems_units_cpu_seconds_total", "user"), "4");
	/* step_0 had a process killed for memory, as its live reading said */
	assert_string_equal(value(&l, "ceems_units_ended_total", "oom"), "1");
	lab_done(&l);
}

static void newer_run_of_a_job_takes_over_its_series(void **state)
{
	(void)state;
	struct lab l;
	lab_init(&l, "test/fixture/v1");
	l.options.slurm_steps = true;
	start(&l, "41", 0, JOB41 "/step_0", V1_ALL);
	lab_open(&l);
	scrape(&l);
	now_ns += NSEC_PER_SEC;
	stop(&l, "41", 0, JOB41 "/step_0", 9000000000, 0);
	struct record r = record(RECORD_STEP_START, "41", 0, JOB41 "/step_0", V1_ALL);
	r.restarts = 1;
	apply(&l, &r);
	scrape(&l);
	assert_int_equal(lines(&l, "ceems_compute_unit_cpu_user_seconds_total", N1), 1);
	assert_string_equal(value(&l, "ceems_compute_unit_cpu_user_seconds_total", N1),
			    "0");
	assert_int_equal(lines(&l, "_step_cpu_user_seconds_total", N1), 1);
	/* the former run is still in the node's total */
	assert_string_equal(value(&l, "ceems_units_cpu_seconds_total", "user"), "9");
	lab_done(&l);
}

static void no_two_samples_have_the_same_labels(void **state)
{
	(void)state;
	struct lab l;
	lab_init(&l, "test/fixture/v1");
	l.options.slurm_swap = l.options.slurm_steps = true;
	two_jobs(&l);
	for (uint32_t restart = 1; restart < 4; restart++) {
		struct record r =
			record(RECORD_STEP_START, "41", 0, JOB41 "/step_0", V1_ALL);
		r.restarts = restart;
		apply(&l, &r);
	}
	scrape(&l);
	const char *p = l.text.data;
	while (*p) {
		const char *nl = strchr(p, '\n');
		const char *space = memrchr(p, ' ', (size_t)(nl - p));
		char series[512];
		assert_true(space - p < (long)sizeof(series) - 2);
		(void)snprintf(series, sizeof(series), "\n%.*s ", (int)(space - p), p);
		if (p[0] != '#')
			assert_null(strstr(nl, series));
		p = nl + 1;
	}
	lab_done(&l);
}

static void node_counters_are_the_sum_of_the_units(void **state)
{
	(void)state;
	struct lab l;
	char path[64], job[16];
	lab_init(&l, "test/fixture/v1");
	lab_open(&l);
	uint64_t user = 0;
	for (unsigned i = 0; i < 20; i++) {
		(void)snprintf(job, sizeof(job), "%u", 100 + i);
		(void)snprintf(path, sizeof(path), "/slurm_n1/uid_1/job_%u/step_0",
			       100 + i);
		start(&l, job, 0, path, V1_ALL);
		stop(&l, job, 0, path, 1000000007ull * (i + 1), 5);
		user += 1000000007ull * (i + 1);
	}
	scrape(&l);
	char want[32];
	(void)snprintf(want, sizeof(want), "%llu.%09llu",
		       (unsigned long long)(user / NSEC_PER_SEC),
		       (unsigned long long)(user % NSEC_PER_SEC));
	while (want[strlen(want) - 1] == '0')
		want[strlen(want) - 1] = '\0';
	assert_string_equal(value(&l, "ceems_units_cpu_seconds_total", "user"), want);
	assert_string_equal(value(&l, "ceems_units_cpu_seconds_total", "system"),
			    "0.0000001");
	assert_string_equal(value(&l, "ceems_units_started_total", ""), "20");
	assert_string_equal(value(&l, "ceems_steps_started_total", ""), "20");
	assert_string_equal(value(&l, "ceems_steps_ended_total", ""), "20");
	lab_done(&l);
}

static void units_below_min_export_have_no_series(void **state)
{
	(void)state;
	struct lab l;
	lab_init(&l, "test/fixture/v1");
	l.options.unit_min_export_ms = 30000;
	two_jobs(&l);
	now_ns += 29 * NSEC_PER_SEC;
	scrape(&l);
	assert_int_equal(lines(&l, "ceems_compute_unit_", ""), 0);
	assert_string_equal(value(&l, "ceems_compute_units", "slurm"), "2");
	now_ns += 2 * NSEC_PER_SEC;
	scrape(&l);
	assert_true(lines(&l, "ceems_compute_unit_", N1) > 10);
	lab_done(&l);
}

static void label_values_are_escaped(void **state)
{
	(void)state;
	struct lab l;
	lab_init(&l, "test/fixture/v1");
	struct record r =
		record(RECORD_STEP_START, "a\"b\\c\nd\xff", 0, JOB41 "/step_0", V1_ALL);
	apply(&l, &r);
	lab_open(&l);
	scrape(&l);
	assert_int_equal(lines(&l, "ceems_compute_unit_memory_used_bytes",
			       "uuid=\"a\\\"b\\\\c\\nd\xef\xbf\xbd\""),
			 1);
	lab_done(&l);
}

static void fake_slurmd(const char *path)
{
	char text[512], cwd[256];

	assert_non_null(getcwd(cwd, sizeof(cwd)));
	(void)snprintf(text, sizeof(text),
		       "#!/bin/sh\n[ \"$*\" = '-G -N n1' ] || exit 3\n"
		       "cat %s/test/fixture/gpus/slurmd-G/22.05-skip0.txt >&2\n",
		       cwd);
	assert_int_equal(
		fs_write_atomic_at(AT_FDCWD, path, text, strlen(text), 0755, NULL), 0);
}

static void gpu_flag_needs_slurmd_and_is_asked_for_again(void **state)
{
	(void)state;
	struct lab l;
	char script[96];
	lab_init(&l, "test/fixture/v1");
	(void)snprintf(script, sizeof(script), "%s/slurmd", l.folder);
	l.options.slurmd_path = script;
	struct record r = record(RECORD_STEP_START, "41", 0, JOB41 "/step_0", V1_ALL);
	record_set(&r, r.gpus, sizeof(r.gpus), "0-1");
	r.flags |= RECORD_GPUS_TRUSTED;
	apply(&l, &r);
	/* an index that this node does not have */
	r = record(RECORD_STEP_START, "50", 0, JOB41 "/step_0", V1_ALL);
	record_set(&r, r.gpus, sizeof(r.gpus), "0,7");
	r.flags |= RECORD_GPUS_TRUSTED;
	apply(&l, &r);
	/* what the user's own environment said */
	r = record(RECORD_STEP_START, "51", 0, JOB41 "/step_0", V1_ALL);
	record_set(&r, r.gpus, sizeof(r.gpus), "0");
	apply(&l, &r);
	lab_open(&l);
	scrape(&l);
	assert_int_equal(lines(&l, "gpu_index_flag", ""), 0);
	assert_true(lines(&l, "ceems_compute_unit_", "uuid=\"41\"") > 10);
	fake_slurmd(script);
	now_ns += 59 * NSEC_PER_SEC;
	scrape(&l);
	assert_int_equal(lines(&l, "gpu_index_flag", ""), 0);
	now_ns += 2 * NSEC_PER_SEC;
	scrape(&l);
	assert_string_equal(value(&l, "ceems_compute_unit_gpu_index_flag",
				  "uuid=\"41\",index=\"0\",hindex=\"host1/gpu-0\""),
			    "1");
	assert_int_equal(lines(&l, "gpu_index_flag", "index=\"1\""), 1);
	assert_int_equal(lines(&l, "gpu_index_flag", ""), 2);
	assert_true(lines(&l, "ceems_compute_unit_", "uuid=\"50\"") > 10);
	lab_done(&l);
}

/* A slurmd -G that waits for its slurmctld: scrapes go on without the gpus, and have
 * them when it answers. */
static void a_slurmd_that_hangs_holds_up_no_scrape(void **state)
{
	(void)state;
	struct lab l;
	char script[96], fifo[96], text[512], cwd[256];
	lab_init(&l, "test/fixture/v1");
	(void)snprintf(script, sizeof(script), "%s/slurmd", l.folder);
	(void)snprintf(fifo, sizeof(fifo), "%s/answer", l.folder);
	assert_int_equal(mkfifo(fifo, 0600), 0);
	assert_non_null(getcwd(cwd, sizeof(cwd)));
	(void)snprintf(text, sizeof(text),
		       "#!/bin/sh\nread go <%s\n"
		       "cat %s/test/fixture/gpus/slurmd-G/22.05-skip0.txt >&2\n",
		       fifo, cwd);
	assert_int_equal(
		fs_write_atomic_at(AT_FDCWD, script, text, strlen(text), 0755, NULL),
		0);
	l.options.slurmd_path = script;
	struct record r = record(RECORD_STEP_START, "41", 0, JOB41 "/step_0", V1_ALL);
	record_set(&r, r.gpus, sizeof(r.gpus), "0-1");
	r.flags |= RECORD_GPUS_TRUSTED;
	apply(&l, &r);
	lab_open(&l);
	/* would end by slurmd's deadline only, and with no gpus after it */
	scrape(&l);
	assert_int_equal(lines(&l, "gpu_index_flag", ""), 0);
	assert_true(lines(&l, "ceems_compute_unit_", "uuid=\"41\"") > 10);
	int fd = -1;
	for (int i = 0; i < 1000 && fd < 0; i++) {
		fd = open(fifo, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
		usleep(10000);
	}
	assert_true(fd >= 0); /* it still waits for it */
	assert_int_equal(fs_write_all(fd, "go\n", 3), 0);
	close(fd);
	for (int i = 0; i < 3000 && !lines(&l, "gpu_index_flag", ""); i++) {
		usleep(10000);
		scrape(&l);
	}
	assert_int_equal(lines(&l, "gpu_index_flag", ""), 2);
	lab_done(&l);
}

static void without_a_unit_table_there_is_no_collector(void **state)
{
	(void)state;
	struct lab l;
	struct err err;
	lab_init(&l, "test/fixture/v1");
	struct env env = l.env;
	env.units = NULL;
	void *s = NULL;
	assert_int_equal(collector_slurm.open(&env, &s, &err), -ENODEV);
	assert_null(s);
	collector_slurm.close(NULL);
	lab_done(&l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(golden_of_cgroup_v1),
		cmocka_unit_test(golden_of_cgroup_v2),
		cmocka_unit_test(golden_of_a_hybrid_machine),
		cmocka_unit_test(golden_without_any_job),
		cmocka_unit_test(
			w17_failed_read_loses_one_unit_for_one_scrape_and_is_never_zero),
		cmocka_unit_test(
			an_idle_job_is_looked_at_closer_when_it_ran_grew_or_a_minute_is_over),
		cmocka_unit_test(
			w17_failed_cpu_read_loses_the_units_samples_once_and_is_never_zero),
		cmocka_unit_test(
			w19_cpus_are_counted_in_the_cpuset_and_kept_when_it_cannot_be_read),
		cmocka_unit_test(
			w20_v1_unlimited_memory_is_the_allocation_not_nine_exabytes),
		cmocka_unit_test(w21_v2_cpu_time_does_not_need_the_cpu_controller),
		cmocka_unit_test(w25_one_job_on_two_slurmds_of_a_host_has_two_series),
		cmocka_unit_test(w36_vanished_cgroup_costs_nobody_else_anything),
		cmocka_unit_test(w37_jobs_and_slurmds_that_come_later_are_exported),
		cmocka_unit_test(w43_scrapes_open_nothing_again),
		cmocka_unit_test(
			ended_units_keep_their_counters_until_they_leave_the_table),
		cmocka_unit_test(newer_run_of_a_job_takes_over_its_series),
		cmocka_unit_test(no_two_samples_have_the_same_labels),
		cmocka_unit_test(node_counters_are_the_sum_of_the_units),
		cmocka_unit_test(units_below_min_export_have_no_series),
		cmocka_unit_test(label_values_are_escaped),
		cmocka_unit_test(gpu_flag_needs_slurmd_and_is_asked_for_again),
		cmocka_unit_test(a_slurmd_that_hangs_holds_up_no_scrape),
		cmocka_unit_test(without_a_unit_table_there_is_no_collector),
	};
	log_init("collector_slurm_test", LOG_LOGFMT, LOG_ERR);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
