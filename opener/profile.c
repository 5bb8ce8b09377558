/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "opener/profile.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "bpf/profile.skel.h"
#include "lib/cleanup.h"
#include "lib/records/profile_sample.h"
#include "opener/load.h"

static int size_profile_maps(struct profile_bpf *s, const struct profile_room *room,
			     int cpus)
{
	const struct {
		struct bpf_map *map;
		uint32_t entries;
	} sizes[] = {
		{s->maps.wanted, 2 * PROFILE_GROUPS_MAX},
		{s->maps.processes, room->processes},
		{s->maps.mappings, room->mappings},
		{s->maps.modules, PROFILE_MODULES_MAX},
		{s->maps.rows, room->rows},
		{s->maps.pythons, PROFILE_PYTHONS_MAX},
		{s->maps.samples, room->ring_bytes},
		{s->maps.ticks, (uint32_t)cpus},
		{s->maps.blocked_places, room->threads ? room->threads : 1},
		{s->maps.blocked_threads, room->threads ? room->threads : 1},
	};
	int rc = 0;

	s->rodata->process_mask = room->processes - 1;
	for (size_t i = 0; !rc && i < sizeof(sizes) / sizeof(sizes[0]); i++)
		rc = bpf_map__set_max_entries(sizes[i].map, sizes[i].entries);
	return rc;
}

/* with_mapped: a kernel whose function is called otherwise refuses that program */
static int try_profile(struct profile *p, const struct profile_room *room,
		       bool by_cpuacct, bool with_mapped, struct err *err)
{
	LIBBPF_OPTS(bpf_object_open_opts, options, .btf_custom_path = LOAD_KERNEL_BTF);
	int cpus = libbpf_num_possible_cpus();

	*p = (struct profile){.sees_maps = with_mapped, .sees_switches = room->threads};
	int rc = cpus < 0 ? cpus : load_prepare(err);
	if (rc < 0)
		return rc;
	struct profile_bpf *s = profile_bpf__open_opts(&options);
	if (!s)
		return load_refused(err, -errno, "open the program for profiles");
	p->skeleton = s;
	s->rodata->by_cpuacct = by_cpuacct;
	bpf_program__set_autoload(s->progs.code_mapped, with_mapped);
	bpf_program__set_autoload(s->progs.task_switched, room->threads);
	rc = size_profile_maps(s, room, cpus);
	if (!rc)
		rc = profile_bpf__load(s);
	return rc < 0 ? load_refused(err, rc, "load the program for profiles") : 0;
}

static void list_profile_fds(struct profile *p)
{
	struct profile_bpf *s = p->skeleton;

	p->fds[PROFILE_FD_WANTED] = bpf_map__fd(s->maps.wanted);
	p->fds[PROFILE_FD_PROCESSES] = bpf_map__fd(s->maps.processes);
	p->fds[PROFILE_FD_MAPPINGS] = bpf_map__fd(s->maps.mappings);
	p->fds[PROFILE_FD_MODULES] = bpf_map__fd(s->maps.modules);
	p->fds[PROFILE_FD_ROWS] = bpf_map__fd(s->maps.rows);
	p->fds[PROFILE_FD_CONTROL] = bpf_map__fd(s->maps.control);
	p->fds[PROFILE_FD_PYTHONS] = bpf_map__fd(s->maps.pythons);
	p->fds[PROFILE_FD_SAMPLES] = bpf_map__fd(s->maps.samples);
}

int profile_load(struct profile *p, const struct profile_room *room, bool by_cpuacct,
		 struct err *err)
{
	int rc = try_profile(p, room, by_cpuacct, true, err);

	if (rc < 0) {
		profile_close(p);
		rc = try_profile(p, room, by_cpuacct, false, err);
	}
	if (rc == 0)
		list_profile_fds(p);
	return rc;
}

/* The link's descriptor alone, which keeps it */
static int attach_hook(const struct bpf_program *program)
{
	struct bpf_link *link = bpf_program__attach(program);

	if (!link)
		return -errno;
	int fd = fcntl(bpf_link__fd(link), F_DUPFD_CLOEXEC, 0);
	int rc = fd < 0 ? -errno : fd;
	bpf_link__destroy(link);
	return rc;
}

int profile_watch(const struct profile *p, int ret_fds[PROFILE_WATCH_FDS],
		  struct err *err)
{
	const struct profile_bpf *s = p->skeleton;
	int count = 0, rc = 0;

	if (!s)
		return err_set(err, -ENODEV, "no program for profiles is loaded");
	const struct bpf_program *const hooks[PROFILE_WATCH_FDS] = {
		s->progs.program_changed, s->progs.process_ended,
		p->sees_maps ? s->progs.code_mapped : NULL};
	for (; count < PROFILE_WATCH_FDS && rc >= 0; count++) {
		rc = hooks[count] ? attach_hook(hooks[count])
				  : fcntl(ret_fds[0], F_DUPFD_CLOEXEC, 0);
		ret_fds[count] = rc;
	}
	if (rc >= 0)
		return 0;
	while (--count >= 0) {
		if (ret_fds[count] >= 0)
			close(ret_fds[count]);
	}
	return load_refused(err, rc, "see processes of units begin and end");
}

int profile_watch_switches(const struct profile *p, struct err *err)
{
	if (!p->skeleton || !p->sees_switches)
		return err_set(err, -ENODEV, "no program for blocked time is loaded");
	int fd = attach_hook(p->skeleton->progs.task_switched);
	return fd < 0 ? load_refused(err, fd, "see threads of units block") : fd;
}

static int start_cpu_clock(const struct profile *p, int cpu, uint32_t hz, int keeper)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_freq = hz,
		.freq = 1,
		.exclude_idle = 1,
	};
	int program = bpf_program__fd(p->skeleton->progs.clock_ticked);
	auto_close int fd = (int)syscall(SYS_perf_event_open, &attr, -1, cpu, -1,
					 PERF_FLAG_FD_CLOEXEC);

	if (fd < 0)
		return errno == ENODEV || errno == ENXIO ? 0 : -errno;
	if (ioctl(fd, PERF_EVENT_IOC_SET_BPF, program) < 0)
		return -errno;
	return bpf_map_update_elem(keeper, &cpu, &fd, BPF_ANY);
}

/* The map's entries go when the descriptor by which they were put is closed, so each
 * set has one of its own. */
int profile_start_ticks(const struct profile *p, uint32_t hz, struct err *err)
{
	int cpus = libbpf_num_possible_cpus(), rc = cpus < 0 ? cpus : 0;
	LIBBPF_OPTS(bpf_map_create_opts, options);
	auto_close int keeper =
		rc < 0 ? rc
		       : bpf_map_create(BPF_MAP_TYPE_PERF_EVENT_ARRAY, "profile_ticks",
					sizeof(uint32_t), sizeof(uint32_t),
					(uint32_t)cpus, &options);

	if (!p->skeleton)
		return err_set(err, -ENODEV, "no program for profiles is loaded");
	if (keeper < 0)
		return load_refused(err, keeper, "keep clocks of CPUs");
	for (int cpu = 0; rc == 0 && cpu < cpus; cpu++)
		rc = start_cpu_clock(p, cpu, hz, keeper);
	if (rc < 0)
		return err_set(err, rc, "sample the CPUs: %s%s", strerror(-rc),
			       rc == -EACCES || rc == -EPERM
				       ? " (it takes CAP_PERFMON, and CAP_SYS_ADMIN "
					 "where kernel.perf_event_paranoid is above 2)"
				       : "");
	return steal_fd(&keeper);
}

void profile_close(struct profile *p)
{
	profile_bpf__destroy(p->skeleton);
	p->skeleton = NULL;
}
