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

static int size_hardware_maps(struct perf *p, uint32_t slots, uint32_t cpus)
{
	struct perf_bpf *s = p->skeleton;
	const struct hardware_control *c = &p->hardware.layout;
	int rc = load_stripes(HARDWARE_STRIPES_MAX, &p->hardware_stripes);

	s->rodata->hardware_events = c->events;
	s->rodata->hardware_groups = c->groups;
	s->rodata->hardware_stripes = p->hardware_stripes;
	s->rodata->hardware_cpus = cpus;
	for (uint32_t n = 0; n < c->events; n++) {
		uint32_t group, member;
		(void)hardware_event_at(c, n, &group, &member);
		s->rodata->hardware_group[n] = (unsigned char)group;
		s->rodata->hardware_member[n] = (unsigned char)member;
	}
	if (!rc)
		rc = bpf_map__set_max_entries(s->maps.hardware_counts,
					      slots * c->groups * p->hardware_stripes);
	if (!rc)
		rc = bpf_map__set_max_entries(s->maps.hardware_fds, c->events * cpus);
	return rc;
}

static int size_perf_maps(struct perf *p, const struct perf_request *r, uint32_t cpus)
{
	struct perf_bpf *s = p->skeleton;

	int rc = load_stripes(PERF_STRIPES_MAX, &p->stripes);
	s->rodata->stripes = p->stripes;
	s->rodata->by_cpuacct = r->by_cpuacct;
	if (!rc)
		rc = bpf_map__reuse_fd(s->maps.groups, r->groups_map);
	if (!rc)
		rc = bpf_map__set_max_entries(s->maps.perf_counts,
					      r->slots * p->stripes);
	if (!rc)
		rc = bpf_map__set_max_entries(s->maps.perf_ticks, cpus);
	if (!rc && p->hardware_rc == 0)
		rc = size_hardware_maps(p, r->slots, cpus);
	return rc;
}

/* Events are opened before the program that reads them is attached. */
static int attach_hardware(struct perf *p, uint32_t cpus, struct err *err)
{
	struct perf_bpf *s = p->skeleton;
	const uint32_t zero = 0;

	int rc = hardware_open(&p->hardware, bpf_map__fd(s->maps.hardware_fds), cpus,
			       err);
	if (rc < 0)
		return rc;
	rc = bpf_map_update_elem(bpf_map__fd(s->maps.hardware_control), &zero,
				 &p->hardware.layout, BPF_ANY);
	if (!rc) {
		s->links.task_switched = bpf_program__attach(s->progs.task_switched);
		rc = s->links.task_switched ? 0 : -errno;
	}
	if (rc < 0)
		return load_refused(err, rc, "attach the program for hardware events");
	p->hardware_fds[HARDWARE_FD_COUNTS] = bpf_map__fd(s->maps.hardware_counts);
	p->hardware_fds[HARDWARE_FD_CONTROL] = bpf_map__fd(s->maps.hardware_control);
	p->hardware_fds[HARDWARE_FD_EVENTS] = bpf_map__fd(s->maps.hardware_fds);
	p->hardware_fds[HARDWARE_FD_LEADERS] = p->hardware.leaders;
	p->hardware_fds[HARDWARE_FD_SWITCHED] = bpf_link__fd(s->links.task_switched);
	return 0;
}

static int load_perf(struct perf *p, const struct perf_request *r, uint32_t cpus,
		     struct err *err)
{
	LIBBPF_OPTS(bpf_object_open_opts, options, .btf_custom_path = LOAD_KERNEL_BTF);

	struct perf_bpf *s = perf_bpf__open_opts(&options);
	if (!s)
		return load_refused(err, -errno, "open the program for events");
	p->skeleton = s;
	/* by hand: an event for each CPU; after the events */
	bpf_program__set_autoattach(s->progs.task_ticked, false);
	bpf_program__set_autoattach(s->progs.task_switched, false);
	bpf_program__set_autoload(s->progs.task_switched, p->hardware_rc == 0);
	int rc = size_perf_maps(p, r, cpus);
	if (!rc)
		rc = perf_bpf__load(s);
	return rc < 0 ? load_refused(err, rc, "load the program for events") : 0;
}

int perf_open(struct perf *p, const struct perf_request *request, struct err *err)
{
	int cpus = libbpf_num_possible_cpus();

	*p = (struct perf){.hardware_rc = -ENODATA};
	int rc = cpus < 0 ? cpus : load_prepare(err);
	if (rc < 0)
		return rc;
	if (request->hardware || request->raws.count)
		p->hardware_rc = hardware_probe(&p->hardware, request->hardware,
						&request->raws, &p->hardware_err);
	rc = load_perf(p, request, (uint32_t)cpus, err);
	if (rc < 0 && p->hardware_rc == 0) {
		p->hardware_rc = rc;
		p->hardware_err = *err;
		perf_bpf__destroy(p->skeleton);
		rc = load_prepare(err);
		if (!rc)
			rc = load_perf(p, request, (uint32_t)cpus, err);
	}
	if (rc < 0)
		return rc;
	struct perf_bpf *s = p->skeleton;
	rc = perf_bpf__attach(s);
	for (uint32_t cpu = 0; rc == 0 && cpu < (uint32_t)cpus; cpu++)
		rc = start_cpu_tick(p, cpu);
	if (rc == -EACCES || rc == -EPERM)
		return err_set(err, rc,
			       "open perf events: %s: it takes CAP_PERFMON, and "
			       "CAP_SYS_ADMIN where kernel.perf_event_paranoid is "
			       "above 2",
			       strerror(-rc));
	if (rc < 0)
		return load_refused(err, rc, "attach the program for events");
	if (p->hardware_rc == 0)
		p->hardware_rc = attach_hardware(p, (uint32_t)cpus, &p->hardware_err);
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
	hardware_close(&p->hardware);
}
