/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "opener/perf.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "bpf/perf.skel.h"
#include "lib/cleanup.h"
#include "lib/clock.h"
#include "opener/load.h"

/* Once a second; the map keeps it. A CPU that is off has none: what runs there later
 * is counted when it exits. */
static int start_cpu_tick(const struct perf *p, uint32_t cpu)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = NSEC_PER_SEC,
		.exclude_idle = 1,
	};
	int program = bpf_program__fd(p->skeleton->progs.task_ticked);
	auto_close int fd = (int)syscall(SYS_perf_event_open, &attr, -1, (int)cpu, -1,
					 PERF_FLAG_FD_CLOEXEC);

	if (fd < 0)
		return errno == ENODEV || errno == ENXIO ? 0 : -errno;
	if (ioctl(fd, PERF_EVENT_IOC_SET_BPF, program) < 0)
		return -errno;
	return bpf_map_update_elem(bpf_map__fd(p->skeleton->maps.perf_ticks), &cpu, &fd,
				   BPF_ANY);
}

static int size_perf_maps(struct perf *p, int groups_map, uint32_t slots, uint32_t cpus)
{
	struct perf_bpf *s = p->skeleton;

	int rc = load_stripes(PERF_STRIPES_MAX, &p->stripes);
	s->rodata->stripes = p->stripes;
	if (!rc)
		rc = bpf_map__reuse_fd(s->maps.groups, groups_map);
	if (!rc)
		rc = bpf_map__set_max_entries(s->maps.perf_counts, slots * p->stripes);
	if (!rc)
		rc = bpf_map__set_max_entries(s->maps.perf_ticks, cpus);
	return rc;
}

int perf_open(struct perf *p, int groups_map, uint32_t slots, bool by_cpuacct,
	      struct err *err)
{
	LIBBPF_OPTS(bpf_object_open_opts, options, .btf_custom_path = LOAD_KERNEL_BTF);
	int cpus = libbpf_num_possible_cpus();

	*p = (struct perf){0};
	int rc = cpus < 0 ? cpus : load_prepare(err);
	if (rc < 0)
		return rc;
	struct perf_bpf *s = perf_bpf__open_opts(&options);
	if (!s)
		return load_refused(err, -errno, "open the program for events");
	p->skeleton = s;
	s->rodata->by_cpuacct = by_cpuacct;
	/* by hand, an event for each CPU */
	bpf_program__set_autoattach(s->progs.task_ticked, false);
	rc = size_perf_maps(p, groups_map, slots, (uint32_t)cpus);
	if (!rc)
		rc = perf_bpf__load(s);
	if (rc < 0)
		return load_refused(err, rc, "load the program for events");
	rc = perf_bpf__attach(s);
	for (uint32_t cpu = 0; rc == 0 && cpu < (uint32_t)cpus; cpu++)
		rc = start_cpu_tick(p, cpu);
	if (rc < 0)
		return load_refused(err, rc, "attach the program for events");
	p->fds[PERF_FD_COUNTS] = bpf_map__fd(s->maps.perf_counts);
	p->fds[PERF_FD_TICKS] = bpf_map__fd(s->maps.perf_ticks);
	p->fds[PERF_FD_EXITED] = bpf_link__fd(s->links.task_exited);
	p->fds[PERF_FD_MOVED] = bpf_link__fd(s->links.task_moved);
	return 0;
}

void perf_close(struct perf *p)
{
	perf_bpf__destroy(p->skeleton);
	p->skeleton = NULL;
}
