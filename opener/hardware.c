/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "opener/hardware.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lib/cleanup.h"
#include "lib/records/hardware_refusal.h"

static struct hardware_raw source_of(const struct hardware *h,
				     enum hardware_event event)
{
	if (event >= HARDWARE_RAW)
		return h->raws.event[event - HARDWARE_RAW];
	const struct hardware_source *s = &hardware_sources[event];
	return (struct hardware_raw){
		.type = s->type, .config = s->config, .leads = s->leads};
}

/* The first of a group is disabled, and the others with it. */
static int open_hardware_event(const struct hardware *h, enum hardware_event event,
			       int cpu, int leader)
{
	const struct hardware_raw s = source_of(h, event);
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = s.type,
		.config = s.config,
		.config1 = s.config1,
		.config2 = s.config2,
		.disabled = leader < 0,
		.exclude_hv = 1,
	};
	int fd = (int)syscall(SYS_perf_event_open, &attr, -1, cpu, leader,
			      PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

/* ---- which events there are ------------------------------------------------------ */

struct probed_group {
	int fds[HARDWARE_MEMBERS];
	uint32_t count;
};

static void close_probed(struct probed_group *g)
{
	while (g->count)
		close(g->fds[--g->count]);
}

static int begin_group(struct hardware *h, enum hardware_event event,
		       struct probed_group *g)
{
	struct hardware_control *c = &h->layout;
	int fd = open_hardware_event(h, event, 0, -1);

	close_probed(g);
	if (fd < 0)
		return fd;
	g->fds[g->count++] = fd;
	c->group_events[c->groups++] = 1u << event;
	c->events++;
	return 0;
}

/* A group that the CPU cannot count at once is refused: then the event is alone. */
static int probe_event(struct hardware *h, enum hardware_event event,
		       struct probed_group *g)
{
	struct hardware_control *c = &h->layout;

	if (source_of(h, event).leads || !g->count || g->count == HARDWARE_MEMBERS)
		return begin_group(h, event, g);
	int fd = open_hardware_event(h, event, 0, g->fds[0]);
	if (fd < 0)
		return begin_group(h, event, g);
	g->fds[g->count++] = fd;
	c->group_events[c->groups - 1] |= 1u << event;
	c->events++;
	return 0;
}

int hardware_probe(struct hardware *h, uint32_t mask, const struct hardware_raws *raws,
		   struct err *err)
{
	struct hardware_control *c = &h->layout;
	struct probed_group group = {.count = 0};
	int first = 0;

	*h = (struct hardware){.raws = *raws, .leaders = -1, .leaders_put = -1};
	mask = (mask & ~HARDWARE_RAW_MASK) | hardware_raws_mask(raws);
	for (uint32_t e = 0; e < HARDWARE_EVENTS; e++) {
		if (source_of(h, (enum hardware_event)e).leads)
			close_probed(&group);
		if (!(mask & 1u << e))
			continue;
		c->refused[e] = probe_event(h, (enum hardware_event)e, &group);
		if (!first)
			first = c->refused[e];
	}
	close_probed(&group);
	if (c->events)
		return 0;
	return err_set(err, -ENODEV, "no hardware event can be opened: %s",
		       hardware_refusal(first));
}

enum hardware_event hardware_event_at(const struct hardware_control *c, uint32_t n,
				      uint32_t *ret_group, uint32_t *ret_member)
{
	for (uint32_t g = 0; g < c->groups; g++) {
		uint32_t member = 0;
		for (uint32_t e = 0; e < HARDWARE_EVENTS; e++) {
			if (!(c->group_events[g] & 1u << e))
				continue;
			if (n-- == 0) {
				*ret_group = g;
				*ret_member = member;
				return (enum hardware_event)e;
			}
			member++;
		}
	}
	return HARDWARE_EVENTS;
}

/* ---- one of each on each CPU ----------------------------------------------------- */

struct leader_batch {
	int fds[HARDWARE_LEADERS_MAX];
	uint32_t count;
};

static int send_leaders(int to, uint32_t group, struct leader_batch *b)
{
	union {
		struct cmsghdr head;
		char bytes[CMSG_SPACE(HARDWARE_LEADERS_MAX * sizeof(int))];
	} control = {0};
	struct iovec part = {.iov_base = &group, .iov_len = sizeof(group)};
	struct msghdr m = {.msg_iov = &part,
			   .msg_iovlen = 1,
			   .msg_control = control.bytes,
			   .msg_controllen = CMSG_SPACE(b->count * sizeof(int))};
	int rc = 0;

	if (!b->count)
		return 0;
	control.head.cmsg_level = SOL_SOCKET;
	control.head.cmsg_type = SCM_RIGHTS;
	control.head.cmsg_len = CMSG_LEN(b->count * sizeof(int));
	memcpy(CMSG_DATA(&control.head), b->fds, b->count * sizeof(int));
	/* never waits: nobody reads */
	if (sendmsg(to, &m, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
		rc = -errno;
	while (b->count)
		close(b->fds[--b->count]);
	return rc;
}

/* The map keeps all of them. Returns the leader, or -ENXIO: the CPU is off. */
static int open_group_on(const struct hardware *h, uint32_t group, uint32_t first,
			 uint32_t cpu, int events_map, uint32_t cpus)
{
	auto_close int leader = -1;

	for (uint32_t e = 0, n = first; e < HARDWARE_EVENTS; e++) {
		if (!(h->layout.group_events[group] & 1u << e))
			continue;
		int fd = open_hardware_event(h, (enum hardware_event)e, (int)cpu,
					     leader);
		if (fd < 0)
			return fd == -ENODEV ? -ENXIO : fd;
		uint32_t key = n++ * cpus + cpu;
		int rc = bpf_map_update_elem(events_map, &key, &fd, BPF_ANY);
		if (leader < 0)
			leader = fd;
		else
			close(fd);
		if (rc < 0)
			return rc;
	}
	return steal_fd(&leader);
}

static int open_group(struct hardware *h, uint32_t group, uint32_t first,
		      int events_map, uint32_t cpus, struct err *err)
{
	struct leader_batch batch = {.count = 0};
	int rc = 0;

	for (uint32_t cpu = 0; cpu < cpus && rc >= 0; cpu++) {
		rc = open_group_on(h, group, first, cpu, events_map, cpus);
		if (rc == -ENXIO) {
			rc = 0;
			continue;
		}
		if (rc < 0) {
			err_set(err, rc, "open an event of each kind on CPU %u: %s",
				cpu, hardware_refusal(rc));
			break;
		}
		batch.fds[batch.count++] = rc;
		if (batch.count == HARDWARE_LEADERS_MAX)
			rc = send_leaders(h->leaders_put, group, &batch);
	}
	if (rc >= 0) {
		rc = send_leaders(h->leaders_put, group, &batch);
		if (rc < 0)
			err_set(err, rc, "keep the events: %s", strerror(-rc));
	}
	while (batch.count)
		close(batch.fds[--batch.count]);
	return rc < 0 ? rc : 0;
}

int hardware_open(struct hardware *h, int events_map, uint32_t cpus, struct err *err)
{
	struct rlimit files;
	uint32_t first = 0;
	int pair[2], rc = 0;

	if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
		files.rlim_cur = files.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &files);
	}
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return err_set(err, -errno, "open a socket for the events: %s",
			       hardware_refusal(-errno));
	h->leaders = pair[0];
	h->leaders_put = pair[1];
	for (uint32_t g = 0; g < h->layout.groups && rc == 0; g++) {
		rc = open_group(h, g, first, events_map, cpus, err);
		first += (uint32_t)__builtin_popcount(h->layout.group_events[g]);
	}
	return rc;
}

void hardware_close(struct hardware *h)
{
	if (!h->layout.groups)
		return;
	if (h->leaders >= 0)
		close(h->leaders);
	if (h->leaders_put >= 0)
		close(h->leaders_put);
	*h = (struct hardware){.leaders = -1, .leaders_put = -1};
}
