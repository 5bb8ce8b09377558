/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "profiler/session.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>

#include "bpf/profile.skel.h"
#include "lib/cleanup.h"
#include "lib/clock.h"
#include "lib/fs.h"
#include "opener/load.h"
#include "profiler/process_maps.h"

struct session {
	struct profile_bpf *skeleton;
	struct ring_buffer *ring;
	struct bpf_link **ticks; /* [cpus] */
	int cpus, procfd;
	session_sample *on_sample;
	void *arg;
	struct modules modules;
	struct profile_process process; /* the one that is being looked at */
};

static int tell_modules(struct session *s, uint32_t from)
{
	int rc = 0;

	for (uint32_t i = from; i < s->modules.count && rc == 0; i++)
		rc = bpf_map__update_elem(s->skeleton->maps.modules, &i, sizeof(i),
					  &s->modules.all[i].rows,
					  sizeof(s->modules.all[i].rows), BPF_ANY);
	return rc;
}

/* Its rows and modules first, then the process itself: what the program finds, it can
 * use. */
static void learn_process(struct session *s, uint32_t pid)
{
	struct err err;
	uint32_t known = s->modules.count;

	s->process.learned_s = (unsigned)(clock_boottime_ns() / NSEC_PER_SEC);
	if (process_maps_read(s->procfd, pid, &s->modules, &s->process, &err) < 0 ||
	    tell_modules(s, known) < 0)
		return;
	(void)bpf_map__update_elem(s->skeleton->maps.processes, &pid, sizeof(pid),
				   &s->process, sizeof(s->process), BPF_ANY);
}

static bool look_up_process(struct session *s, uint32_t pid)
{
	return bpf_map__lookup_elem(s->skeleton->maps.processes, &pid, sizeof(pid),
				    &s->process, sizeof(s->process), 0) == 0;
}

/* What a process has loaded since is in no mapping that is known; nor is code that it
 * writes itself, for which its mappings are not read more than once a second. */
static bool is_outdated(const struct session *s, const struct sample *sample)
{
	return sample->end == SAMPLE_NO_MAPPING &&
	       s->process.learned_s != clock_boottime_ns() / NSEC_PER_SEC;
}

static int take_sample(void *arg, void *data, size_t size)
{
	struct session *s = arg;
	const struct sample *sample = data;

	if (size < offsetof(struct sample, pcs))
		return 0;
	bool known = look_up_process(s, sample->process);
	if (!known || is_outdated(s, sample)) {
		learn_process(s, sample->process);
		known = look_up_process(s, sample->process);
	}
	s->on_sample(s->arg, sample, known ? &s->process : NULL);
	return 0;
}

static int start_tick(struct session *s, int cpu, uint32_t hz)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_freq = hz,
		.freq = 1,
	};
	int fd = (int)syscall(SYS_perf_event_open, &attr, -1, cpu, -1,
			      PERF_FLAG_FD_CLOEXEC);

	if (fd < 0)
		return errno == ENODEV || errno == ENXIO ? 0 : -errno;
	s->ticks[cpu] =
		bpf_program__attach_perf_event(s->skeleton->progs.clock_ticked, fd);
	if (s->ticks[cpu])
		return 0;
	int rc = -errno;
	close(fd);
	return rc;
}

/* 1: it is of cgroup v1's cpuacct; 0: of v2. */
static int is_of_cpuacct(const char *path, struct err *err)
{
	char usage[PATH_MAX];
	struct statfs fs;

	if (statfs(path, &fs) < 0)
		return err_set(err, -errno, "%s: %s", path, strerror(errno));
	if (fs.f_type == CGROUP2_SUPER_MAGIC)
		return 0;
	int len = snprintf(usage, sizeof(usage), "%s/cpuacct.usage", path);
	if (fs.f_type == CGROUP_SUPER_MAGIC && len < (int)sizeof(usage) &&
	    access(usage, F_OK) == 0)
		return 1;
	return err_set(err, -EINVAL, "%s: no control group of v2 or of v1's cpuacct",
		       path);
}

static int want_group(struct session *s, const char *path, struct err *err)
{
	struct stat st;
	const uint32_t one = 1;

	if (stat(path, &st) < 0)
		return err_set(err, -errno, "%s: %s", path, strerror(errno));
	const uint64_t id = st.st_ino; /* of a control group, in all hierarchies */
	return bpf_map__update_elem(s->skeleton->maps.wanted, &id, sizeof(id), &one,
				    sizeof(one), BPF_ANY);
}

static int map_rows(struct session *s, uint32_t rows_max, struct err *err)
{
	int fd = bpf_map__fd(s->skeleton->maps.rows);
	void *rows = mmap(NULL, rows_max * sizeof(struct unwind_row),
			  PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (rows == MAP_FAILED)
		return err_set(err, -errno, "map %u rows: %s", rows_max,
			       strerror(errno));
	s->modules.rows = rows;
	s->modules.row_room = rows_max;
	return 0;
}

static int load_program(struct session *s, const struct session_request *r,
			bool by_cpuacct, struct err *err)
{
	LIBBPF_OPTS(bpf_object_open_opts, options, .btf_custom_path = LOAD_KERNEL_BTF);

	int rc = load_prepare(err);
	if (rc < 0)
		return rc;
	s->skeleton = profile_bpf__open_opts(&options);
	if (!s->skeleton)
		return load_refused(err, -errno, "open the program for samples");
	s->skeleton->rodata->by_cpuacct = by_cpuacct;
	bpf_program__set_autoattach(s->skeleton->progs.clock_ticked, false);
	rc = bpf_map__set_max_entries(s->skeleton->maps.rows, r->rows_max);
	if (rc == 0)
		rc = profile_bpf__load(s->skeleton);
	if (rc == 0)
		rc = profile_bpf__attach(s->skeleton);
	if (rc < 0)
		return load_refused(err, rc, "load the program for samples");
	return map_rows(s, r->rows_max, err);
}

static int start_session(struct session *s, const struct session_request *r,
			 struct err *err)
{
	int by_cpuacct = is_of_cpuacct(r->group, err);
	int rc = by_cpuacct < 0 ? by_cpuacct : load_program(s, r, by_cpuacct, err);

	if (rc == 0)
		rc = want_group(s, r->group, err);
	if (rc < 0)
		return rc;
	s->ring = ring_buffer__new(bpf_map__fd(s->skeleton->maps.samples), take_sample,
				   s, NULL);
	if (!s->ring)
		return err_set(err, -errno, "ring buffer: %s", strerror(errno));
	s->cpus = libbpf_num_possible_cpus();
	s->ticks =
		s->cpus > 0 ? calloc((size_t)s->cpus, sizeof(struct bpf_link *)) : NULL;
	if (!s->ticks)
		return err_set(err, -ENOMEM, "out of memory");
	for (int cpu = 0; cpu < s->cpus && rc == 0; cpu++)
		rc = start_tick(s, cpu, r->hz);
	return rc < 0 ? load_refused(err, rc, "sample the CPUs") : 0;
}

int session_open(const struct session_request *r, session_sample *on_sample, void *arg,
		 struct session **ret, struct err *err)
{
	struct session *s = calloc(1, sizeof(*s));

	*ret = NULL;
	if (!s)
		return err_set(err, -ENOMEM, "out of memory");
	s->on_sample = on_sample;
	s->arg = arg;
	s->modules.reader = r->reader;
	s->procfd = fs_opendir_at(AT_FDCWD, r->procfs, err);
	int rc = s->procfd < 0 ? s->procfd : start_session(s, r, err);
	if (rc < 0) {
		session_close(s);
		return rc;
	}
	*ret = s;
	return 0;
}

int session_poll(struct session *s, int wait_ms)
{
	int rc = ring_buffer__poll(s->ring, wait_ms);

	return rc == -EINTR ? 0 : rc;
}

struct modules *session_modules(struct session *s)
{
	return &s->modules;
}

uint64_t session_lost(const struct session *s)
{
	return __atomic_load_n(&s->skeleton->bss->lost, __ATOMIC_RELAXED);
}

void session_close(struct session *s)
{
	for (int i = 0; s->ticks && i < s->cpus; i++)
		bpf_link__destroy(s->ticks[i]);
	free(s->ticks);
	ring_buffer__free(s->ring);
	if (s->modules.rows)
		munmap(s->modules.rows, s->modules.row_room * sizeof(*s->modules.rows));
	modules_free(&s->modules);
	profile_bpf__destroy(s->skeleton);
	if (s->procfd >= 0)
		close(s->procfd);
	free(s);
}
