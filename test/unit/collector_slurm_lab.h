/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_TEST_COLLECTOR_SLURM_LAB_H
#define CEEMS_TEST_COLLECTOR_SLURM_LAB_H

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/collector.h"
#include "daemon/env.h"
#include "daemon/gpus/gpu_maps.h"
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

/* The slurm collector on fixture trees, with a real unit table that is fed records. */

extern const struct collector collector_slurm;
/* Whose units a test is about, before lab_init() */
static const struct collector *lab_collector = &collector_slurm;

#define V1_ALL                                                                         \
	(CGROUP_CPUACCT | CGROUP_MEMORY | CGROUP_CPUSET | CGROUP_CPU | CGROUP_PIDS |   \
	 CGROUP_BLKIO)

static uint64_t now_ns = 1000 * NSEC_PER_SEC;

static inline uint64_t test_boottime(void)
{
	return now_ns;
}

static inline uint64_t test_realtime(void)
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

static inline void lab_init(struct lab *l, const char *fixture)
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
	l->env.gpu_maps = gpu_maps_new(&l->env);
	assert_true(l->prom && l->sampler && l->env.gpu_maps);
	now_ns = 1000 * NSEC_PER_SEC;
}

static inline void lab_open(struct lab *l)
{
	struct err err;

	if (lab_collector->open(&l->env, &l->state, &err) < 0)
		fail_msg("%s", err.text);
}

static inline void lab_done(struct lab *l)
{
	lab_collector->close(l->state);
	gpu_maps_free(l->env.gpu_maps);
	sample_free(l->sampler);
	units_close(l->env.units);
	prom_free(l->prom);
	buf_done(&l->text);
	close(l->env.cgroupfd);
	close(l->env.procfd);
	close(l->folder_fd);
	scratch_remove(l->folder);
}

static inline struct record record(enum record_type type, const char *job,
				   uint32_t step, const char *path,
				   uint32_t controllers)
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

static inline void apply(struct lab *l, const struct record *r)
{
	struct err err;

	if (units_apply(l->env.units, r, l->pos++, now_ns, test_realtime(), &err) < 0)
		fail_msg("%s", err.text);
}

static inline void start(struct lab *l, const char *job, uint32_t step,
			 const char *path, uint32_t controllers)
{
	struct record r = record(RECORD_STEP_START, job, step, path, controllers);

	apply(l, &r);
}

static inline void stop(struct lab *l, const char *job, uint32_t step, const char *path,
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
static inline void sample(struct lab *l)
{
	(void)sample_steps(l->sampler);
}

static inline void scrape(struct lab *l)
{
	struct err err;

	prom_reset(l->prom);
	buf_reset(&l->text);
	if (lab_collector->collect(l->state, l->prom, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(prom_render(l->prom, PROM_TEXT, &l->text), 0);
}

/* How many sample lines contain both texts. */
static inline int lines(const struct lab *l, const char *a, const char *b)
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
static inline const char *value(const struct lab *l, const char *metric,
				const char *labels)
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

/* A copy of the v1 fixture that a test may spoil. */
static inline void lab_init_copy(struct lab *l, char copy[SCRATCH_PATH])
{
	scratch_copy(copy, "test/fixture/v1");
	lab_init(l, copy);
}

static inline void lab_done_copy(struct lab *l, const char *copy)
{
	lab_done(l);
	scratch_remove(copy);
}

/* In place, so that the file that is kept open is the one that changes. */
static inline void spoil(const struct lab *l, const char *path, const char *text)
{
	auto_close int fd =
		openat(l->env.cgroupfd, path, O_WRONLY | O_TRUNC | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(fs_write_all(fd, text, strlen(text)), 0);
}

#define N1 "cgrouphostname=\"n1\""
#define N2 "cgrouphostname=\"n2\""

static inline void two_jobs(struct lab *l)
{
	start(l, "41", 0, JOB41 "/step_0", V1_ALL);
	start(l, "41", 0, "/slurm_n2/uid_1000/job_41/step_0", V1_ALL);
	sample(l);
	lab_open(l);
}

#endif
