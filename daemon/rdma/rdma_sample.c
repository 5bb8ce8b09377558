/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The kernel names the process that holds a queue pair; its control group names the
 * step. Entries are added up by process while they come, since a job may have a million
 * of them, and each process is looked up once. */
#include "daemon/rdma/rdma_sample.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/rdma/rdma_link.h"
#include "lib/cgroup.h"
#include "lib/cleanup.h"
#include "lib/fs.h"

#define PIDS_KERNEL UINT32_MAX
/* The rest is kept for what is the kernel's and nobody's, of each device */
#define HOLDERS_USUAL (RDMA_HOLDERS_MAX - 2 * RDMA_DEVICES_MAX)

struct holder {
	uint32_t pid; /* 0: unknown; PIDS_KERNEL */
	uint16_t device, port;
	bool used;
	struct rdma_held held;
};

struct collecting {
	struct rdma_sample *sample;
	struct holder *holders; /* RDMA_HOLDERS_MAX, by hash */
	uint32_t holder_count;
	enum rdma_kind kind;
	uint32_t device; /* in sample->devices */
};

void rdma_sample_free(struct rdma_sample *s)
{
	if (!s)
		return;
	free(s->rows);
	free(s->ports);
	free(s->counters);
	free(s);
}

static void add_clamped(uint64_t *to, uint64_t n)
{
	if (__builtin_add_overflow(*to, n, to))
		*to = UINT64_MAX;
}

void rdma_held_add(struct rdma_held *to, const struct rdma_held *h)
{
	add_clamped(&to->qps, h->qps);
	add_clamped(&to->cqs, h->cqs);
	add_clamped(&to->cqes, h->cqes);
	add_clamped(&to->mrs, h->mrs);
	add_clamped(&to->mr_bytes, h->mr_bytes);
}

static struct rdma_held held_by_entry(enum rdma_kind kind, const struct rdma_entry *e)
{
	switch (kind) {
	case RDMA_QP:
		return (struct rdma_held){.qps = 1};
	case RDMA_CQ:
		return (struct rdma_held){.cqs = 1, .cqes = e->size};
	case RDMA_MR:
		/* one for the whole address space (ODP) has no length to speak of */
		return (struct rdma_held){.mrs = 1,
					  .mr_bytes = e->size >> 62 ? 0 : e->size};
	default:
		return (struct rdma_held){0};
	}
}

/* The place of a holder; where all are taken, that of nobody's. */
static struct holder *holder_place(struct collecting *c, uint32_t pid, uint32_t port)
{
	uint32_t hash = (pid * 2654435761u) ^ (c->device * 40503u) ^ (port * 97u);

	for (uint32_t i = 0; i < RDMA_HOLDERS_MAX; i++) {
		struct holder *h = &c->holders[(hash + i) & (RDMA_HOLDERS_MAX - 1)];
		if (h->used && h->pid == pid && h->device == c->device &&
		    h->port == port)
			return h;
		if (h->used)
			continue;
		if (pid && pid != PIDS_KERNEL && c->holder_count >= HOLDERS_USUAL)
			return holder_place(c, 0, 0);
		*h = (struct holder){.pid = pid,
				     .device = (uint16_t)c->device,
				     .port = (uint16_t)port,
				     .used = true};
		c->holder_count++;
		return h;
	}
	return NULL;
}

static void add_entry(void *arg, const struct rdma_entry *e)
{
	struct collecting *c = arg;
	uint32_t pid = e->kernel ? PIDS_KERNEL : e->pid;
	bool has_port = c->kind == RDMA_QP && !e->kernel && pid;
	uint32_t port = has_port && e->port <= IB_PORTS_MAX ? e->port : 0;
	const struct rdma_held held = held_by_entry(c->kind, e);
	struct holder *h = holder_place(c, pid, port);

	if (h && e->device == c->sample->devices[c->device].index)
		rdma_held_add(&h->held, &held);
}

static void add_counter(void *arg, const struct rdma_entry *e)
{
	struct collecting *c = arg;
	struct rdma_sample *s = c->sample;

	if (!e->has || e->device != s->devices[c->device].index ||
	    s->counter_count == RDMA_SAMPLE_COUNTERS_MAX)
		return;
	if (s->counter_count == s->counter_room) {
		size_t room = s->counter_room ? 2 * s->counter_room : 16;
		struct rdma_counter *k = reallocarray(s->counters, room, sizeof(*k));
		if (!k)
			return;
		s->counters = k;
		s->counter_room = room;
	}
	struct rdma_counter *k = &s->counters[s->counter_count++];
	*k = (struct rdma_counter){.device = c->device,
				   .port = e->port,
				   .id = e->id,
				   .pid = e->pid,
				   .has = e->has};
	memcpy(k->values, e->counters, sizeof(k->values));
}

static void add_device(void *arg, const struct rdma_entry *e)
{
	struct rdma_sample *s = arg;

	if (!*e->name || s->device_count == RDMA_DEVICES_MAX)
		return;
	struct rdma_device *d = &s->devices[s->device_count++];
	d->index = e->device;
	memcpy(d->name, e->name, sizeof(d->name));
}

static int compare_holders(const void *a, const void *b)
{
	const struct holder *x = a, *y = b;

	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	if (x->device != y->device)
		return x->device - y->device;
	return x->port - y->port;
}

static int compare_rows(const void *a, const void *b)
{
	const struct rdma_row *x = a, *y = b;
	int paths = strcmp(x->path, y->path);

	if (paths)
		return paths;
	if (x->kernel != y->kernel)
		return x->kernel - y->kernel;
	if (x->device != y->device)
		return x->device < y->device ? -1 : 1;
	return x->port < y->port ? -1 : x->port > y->port;
}

static void merge_rows(struct rdma_sample *s)
{
	size_t n = 0;

	qsort(s->rows, s->row_count, sizeof(*s->rows), compare_rows);
	for (size_t i = 0; i < s->row_count; i++) {
		if (n && compare_rows(&s->rows[n - 1], &s->rows[i]) == 0)
			rdma_held_add(&s->rows[n - 1].held, &s->rows[i].held);
		else if (n++ != i)
			s->rows[n - 1] = s->rows[i];
	}
	s->row_count = n;
}

static int make_rows(struct collecting *c, const struct env *env)
{
	struct rdma_sample *s = c->sample;
	char path[RECORD_CGROUP_MAX] = "";

	uint32_t n = 0;

	if (!c->holder_count)
		return 0;
	for (uint32_t i = 0; i < RDMA_HOLDERS_MAX; i++) {
		if (c->holders[i].used)
			c->holders[n++] = c->holders[i];
	}
	qsort(c->holders, n, sizeof(*c->holders), compare_holders);
	s->rows = calloc(n, sizeof(*s->rows));
	if (!s->rows)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++) {
		const struct holder *h = &c->holders[i];
		struct rdma_row *row = &s->rows[s->row_count++];
		if (i == 0 || h->pid != c->holders[i - 1].pid)
			cgroup_unit_of_pid(env->procfd, h->pid, path);
		row->device = h->device;
		row->port = h->port;
		row->kernel = h->pid == PIDS_KERNEL;
		row->held = h->held;
		memcpy(row->path, path, sizeof(row->path));
	}
	merge_rows(s);
	return 0;
}

static void ask_for_device(struct collecting *c, int fd, uint32_t *sequence,
			   const atomic_bool *stop)
{
	static const struct {
		enum rdma_kind kind;
		const char *what;
		void (*found)(void *arg, const struct rdma_entry *e);
	} asked[] = {{RDMA_QP, "queue pairs", add_entry},
		     {RDMA_CQ, "completion queues", add_entry},
		     {RDMA_MR, "memory regions", add_entry},
		     {RDMA_COUNTER, "counters", add_counter}};
	struct rdma_device *d = &c->sample->devices[c->device];

	for (size_t i = 0; i < sizeof(asked) / sizeof(asked[0]); i++) {
		struct err err;
		c->kind = asked[i].kind;
		int rc = rdma_link_ask(fd, sequence, c->kind, d->index, stop,
				       asked[i].found, c, &err);
		if (rc == 0)
			d->known |= 1u << c->kind;
		/* unplugged since; or the kernel does not know of counters */
		else if (rc != -ENODEV && rc != -EINVAL && rc != -EOPNOTSUPP)
			(void)err_set(&c->sample->partial, rc, "%s of %s: %s",
				      asked[i].what, d->name, err.text);
	}
}

static int read_resources(const struct env *env, const atomic_bool *stop,
			  struct rdma_sample *s)
{
	struct collecting c = {.sample = s};
	uint32_t sequence = 0;
	struct err err;
	auto_close int fd = env->rdma_open ? env->rdma_open() : -EOPNOTSUPP;

	if (fd < 0) {
		(void)err_set(&s->partial, fd, "netlink: %s", strerror(-fd));
		return 0;
	}
	if (rdma_link_ask(fd, &sequence, RDMA_DEVICE, 0, stop, add_device, s, &err) <
	    0) {
		(void)err_set(&s->partial, -EIO, "devices: %s", err.text);
		return 0;
	}
	auto_free struct holder *holders = calloc(RDMA_HOLDERS_MAX, sizeof(*holders));
	if (!holders)
		return -ENOMEM;
	c.holders = holders;
	for (; c.device < s->device_count; c.device++)
		ask_for_device(&c, fd, &sequence, stop);
	for (size_t i = 0; i < s->counter_count; i++)
		cgroup_unit_of_pid(env->procfd, s->counters[i].pid,
				   s->counters[i].path);
	return make_rows(&c, env);
}

static void read_port(void *arg, int portfd, const char *device, const char *port)
{
	/* InfiniBand and hardware RoCE; soft RoCE has counters of its driver alone */
	static const struct {
		const char *file, *soft;
		uint64_t scale; /* port data count 32-bit words */
	} files[RDMA_PORT_COUNTERS] = {
		{"counters/port_rcv_constraint_errors", NULL, 1},
		{"counters/port_xmit_constraint_errors", NULL, 1},
		{"counters/port_rcv_data", NULL, 4},
		{"counters/port_xmit_data", NULL, 4},
		{"counters/port_rcv_discards", NULL, 1},
		{"counters/port_xmit_discards", NULL, 1},
		{"counters/port_rcv_errors", NULL, 1},
		{"counters/port_rcv_packets", "hw_counters/rcvd_pkts", 1},
		{"counters/port_xmit_packets", "hw_counters/sent_pkts", 1},
	};
	struct rdma_sample *s = arg;

	if (s->port_count == s->port_room) {
		size_t room = s->port_room ? 2 * s->port_room : 8;
		struct rdma_port *p = reallocarray(s->ports, room, sizeof(*p));
		if (!p)
			return;
		s->ports = p;
		s->port_room = room;
	}
	struct rdma_port *p = &s->ports[s->port_count++];
	*p = (struct rdma_port){0};
	(void)snprintf(p->device, sizeof(p->device), "%s", device);
	(void)snprintf(p->port, sizeof(p->port), "%s", port);
	p->has_state = ib_read_state(portfd, "state", &p->state) == 0;
	for (uint32_t i = 0; i < RDMA_PORT_COUNTERS; i++) {
		uint64_t v;
		if (fs_read_u64_at(portfd, files[i].file, &v, NULL) < 0 &&
		    (!files[i].soft ||
		     fs_read_u64_at(portfd, files[i].soft, &v, NULL) < 0))
			continue;
		if (__builtin_mul_overflow(v, files[i].scale, &p->counters[i]))
			continue;
		p->has |= 1u << i;
	}
}

int rdma_sample_take(const struct env *env, const atomic_bool *stop,
		     struct rdma_sample **ret, struct err *err)
{
	struct rdma_sample *s = calloc(1, sizeof(*s));

	if (!s)
		return err_set(err, -ENOMEM, "out of memory");
	const struct ib_visitor visitor = {.port = read_port, .arg = s};
	s->begun_ns = env->boottime_ns();
	int rc = ib_walk(env->sysfd, &visitor, err);
	/* without devices there is nothing to hold */
	if (rc == 0 && s->port_count && read_resources(env, stop, s) < 0)
		rc = err_set(err, -ENOMEM, "out of memory");
	if (rc == 0 && stop && atomic_load(stop))
		rc = err_set(err, -ECANCELED, "stopped");
	if (rc < 0) {
		rdma_sample_free(s);
		return rc == -ENOENT ? -ENODEV : rc;
	}
	s->ended_ns = env->boottime_ns();
	*ret = s;
	return 0;
}
