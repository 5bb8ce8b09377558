/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What units hold of RDMA devices, and the ports of these: the last sample of
 * daemon/rdma/rdma_reader.c. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/collector.h"
#include "daemon/groups/step_groups.h"
#include "daemon/rdma/rdma_reader.h"
#include "daemon/units.h"
#include "lib/cleanup.h"
#include "lib/clock.h"
#include "lib/fs.h"

struct rdma_scrape {
	const struct env *env;
	struct rdma_reader *reader;
};

/* Of one unit, device and port */
struct unit_held {
	uint32_t unit, device, port;
	struct rdma_held held;
};

enum owner { OWNER_UNIT, OWNER_OTHER, OWNER_KERNEL, OWNERS };

static void rdma_close(void *state)
{
	struct rdma_scrape *r = state;

	if (!r)
		return;
	rdma_reader_free(r->reader);
	free(r);
}

static int rdma_open(const struct env *env, void **ret_state, struct err *err)
{
	auto_close int fd = fs_opendir_at(env->sysfd, IB_CLASS, err);

	if (fd < 0)
		return fd == -ENOENT ? -ENODEV : fd;
	struct rdma_scrape *r = calloc(1, sizeof(*r));
	if (!r)
		return err_set(err, -ENOMEM, "out of memory");
	r->env = env;
	int rc = rdma_reader_new(env, &r->reader, err);
	if (rc < 0) {
		free(r);
		return rc;
	}
	*ret_state = r;
	return 0;
}

#define PORT_FAMILY(name, help)                                                        \
	{                                                                              \
		"ceems_rdma_port_" name "_total", PROM_COUNTER,                        \
			help ", of the port, from sysfs"                               \
	}

static void put_ports(const struct env *env, const struct rdma_sample *s,
		      struct prom *out)
{
	static const struct prom_family state = {
		"ceems_rdma_state_id", PROM_GAUGE,
		"State of the port (0: no change, 1: down, 2: init, 3: armed, 4: "
		"active, 5: act defer), from sysfs state"};
	static const struct prom_family families[RDMA_PORT_COUNTERS] = {
		PORT_FAMILY("constraint_errors_received",
			    "Packets received and discarded for constraints"),
		PORT_FAMILY("constraint_errors_transmitted",
			    "Packets not sent for constraints"),
		PORT_FAMILY("data_received_bytes", "Bytes received"),
		PORT_FAMILY("data_transmitted_bytes", "Bytes sent"),
		PORT_FAMILY("discards_received", "Inbound packets discarded"),
		PORT_FAMILY("discards_transmitted", "Outbound packets discarded"),
		PORT_FAMILY("errors_received", "Packets with an error received"),
		PORT_FAMILY("packets_received", "Packets received"),
		PORT_FAMILY("packets_transmitted", "Packets sent"),
	};

	for (size_t i = 0; i < s->port_count; i++) {
		const struct rdma_port *p = &s->ports[i];
		const struct prom_label labels[] = {{"manager", "slurm"},
						    {"hostname", env->hostname},
						    {"device", p->device},
						    {"port", p->port}};
		if (p->has_state) {
			prom_family(out, &state);
			prom_put_u64(out, labels, 4, p->state);
		}
		for (uint32_t c = 0; c < RDMA_PORT_COUNTERS; c++) {
			if (!(p->has & 1u << c))
				continue;
			prom_family(out, &families[c]);
			prom_put_u64(out, labels, 4, p->counters[c]);
		}
	}
}

static int compare_unit_held(const void *a, const void *b)
{
	const struct unit_held *x = a, *y = b;

	if (x->unit != y->unit)
		return x->unit < y->unit ? -1 : 1;
	if (x->device != y->device)
		return x->device < y->device ? -1 : 1;
	return x->port < y->port ? -1 : x->port > y->port;
}

/* Adds up equal ones. Returns how many are left. */
static size_t merge_unit_held(struct unit_held *held, size_t count)
{
	size_t n = 0;

	qsort(held, count, sizeof(*held), compare_unit_held);
	for (size_t i = 0; i < count; i++) {
		if (n && compare_unit_held(&held[n - 1], &held[i]) == 0)
			rdma_held_add(&held[n - 1].held, &held[i].held);
		else if (n++ != i)
			held[n - 1] = held[i];
	}
	return n;
}

static void put_unit_held(const struct env *env, const struct rdma_device *d,
			  const struct unit_held *u, struct prom *out)
{
	static const struct {
		struct prom_family family;
		enum rdma_kind kind;
		size_t value; /* in struct rdma_held */
	} rows[] = {
		{{"ceems_rdma_cqs_active", PROM_GAUGE,
		  "Completion queues that the unit's processes hold, by rdma netlink"},
		 RDMA_CQ,
		 offsetof(struct rdma_held, cqs)},
		{{"ceems_rdma_cqe_len_active", PROM_GAUGE,
		  "Entries of these completion queues"},
		 RDMA_CQ,
		 offsetof(struct rdma_held, cqes)},
		{{"ceems_rdma_mrs_active", PROM_GAUGE,
		  "Memory regions that the unit's processes hold, by rdma netlink"},
		 RDMA_MR,
		 offsetof(struct rdma_held, mrs)},
		{{"ceems_rdma_mrs_len_active", PROM_GAUGE,
		  "Bytes of these memory regions"},
		 RDMA_MR,
		 offsetof(struct rdma_held, mr_bytes)},
	};
	static const struct prom_family qps = {
		"ceems_rdma_qps_active", PROM_GAUGE,
		"Queue pairs that the unit's processes hold, by rdma netlink"};
	const struct unit *unit = units_get(env->units, u->unit);
	char port[16] = "";
	struct prom_label labels[] = {
		{"manager", record_manager_name((uint8_t)unit->manager)},
		{"hostname", env->hostname},
		{"device", d->name},
		{"port", port},
		{"uuid", unit->id}};

	if (u->port)
		(void)snprintf(port, sizeof(port), "%u", u->port);
	if (u->held.qps && d->known & 1u << RDMA_QP) {
		prom_family(out, &qps);
		prom_put_u64(out, labels, 5, u->held.qps);
	}
	for (size_t i = 0; !u->port && i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint64_t value;
		memcpy(&value, (const char *)&u->held + rows[i].value, sizeof(value));
		if (!(d->known & 1u << rows[i].kind))
			continue;
		prom_family(out, &rows[i].family);
		prom_put_u64(out, labels, 5, value);
	}
}

static void put_owners(const struct env *env, const struct rdma_device *d,
		       const struct rdma_held owned[OWNERS], struct prom *out)
{
	static const struct prom_family family = {
		"ceems_rdma_resources", PROM_GAUGE,
		"Queue pairs, completion queues and memory regions by who holds them: "
		"units, other processes or the kernel"};
	static const char *const names[OWNERS] = {"unit", "other", "kernel"};

	for (unsigned o = 0; o < OWNERS; o++) {
		const struct {
			enum rdma_kind kind;
			const char *name;
			uint64_t value;
		} rows[] = {{RDMA_QP, "qp", owned[o].qps},
			    {RDMA_CQ, "cq", owned[o].cqs},
			    {RDMA_MR, "mr", owned[o].mrs}};
		for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
			const struct prom_label labels[] = {{"hostname", env->hostname},
							    {"device", d->name},
							    {"resource", rows[i].name},
							    {"owner", names[o]}};
			if (!(d->known & 1u << rows[i].kind))
				continue;
			prom_family(out, &family);
			prom_put_u64(out, labels, 4, rows[i].value);
		}
	}
}

/* The unit of a row; a run that began after the sample is not it. */
static uint32_t unit_of_row(const struct env *env, const struct rdma_sample *s,
			    const struct rdma_row *row)
{
	if (!env->units || !*row->path)
		return UNITS_NONE;
	uint32_t step = steps_find_path_by(env->units, row->path, s->ended_ns);
	return step == UNITS_NONE ? UNITS_NONE : steps_unit(env->units, step);
}

static int put_held(const struct env *env, const struct rdma_sample *s,
		    struct prom *out)
{
	auto_free struct unit_held *held = calloc(s->row_count + 1, sizeof(*held));
	auto_free struct rdma_held *owned =
		calloc((s->device_count + 1) * OWNERS, sizeof(*owned));
	size_t n = 0;

	if (!held || !owned)
		return -ENOMEM;
	for (size_t i = 0; i < s->row_count; i++) {
		const struct rdma_row *row = &s->rows[i];
		uint32_t unit = unit_of_row(env, s, row);
		enum owner o = row->kernel          ? OWNER_KERNEL
			       : unit == UNITS_NONE ? OWNER_OTHER
						    : OWNER_UNIT;
		rdma_held_add(&owned[row->device * OWNERS + o], &row->held);
		if (o == OWNER_UNIT)
			held[n++] = (struct unit_held){unit, row->device, row->port,
						       row->held};
	}
	n = merge_unit_held(held, n);
	for (size_t i = 0; i < n; i++) {
		if (step_groups_exported(env, held[i].unit))
			put_unit_held(env, &s->devices[held[i].device], &held[i], out);
	}
	for (size_t i = 0; i < s->device_count; i++)
		put_owners(env, &s->devices[i], &owned[i * OWNERS], out);
	return 0;
}

#define COUNTER_FAMILY(name, help)                                                     \
	{                                                                              \
		"ceems_rdma_" name, PROM_COUNTER,                                      \
			help ", of the unit's queue pairs, by rdma netlink"            \
	}

/* As rdma_counter_names */
static const struct prom_family counter_families[RDMA_COUNTERS] = {
	COUNTER_FAMILY("rx_write_requests", "Write requests received"),
	COUNTER_FAMILY("rx_read_requests", "Read requests received"),
	COUNTER_FAMILY("rx_atomic_requests", "Atomic requests received"),
	COUNTER_FAMILY("req_cqe_error", "Completions with an error as requester"),
	COUNTER_FAMILY("req_cqe_flush_error",
		       "Completions flushed with an error as requester"),
	COUNTER_FAMILY("req_remote_access_errors", "Remote access errors as requester"),
	COUNTER_FAMILY("req_remote_invalid_request",
		       "Invalid requests told by the other side as requester"),
	COUNTER_FAMILY("resp_cqe_error", "Completions with an error as responder"),
	COUNTER_FAMILY("resp_cqe_flush_error",
		       "Completions flushed with an error as responder"),
	COUNTER_FAMILY("resp_local_length_error", "Length errors as responder"),
	COUNTER_FAMILY("resp_remote_access_errors",
		       "Remote access errors as responder"),
};

static void put_count(const struct env *env, const struct rdma_count *k,
		      struct prom *out)
{
	const struct unit *unit = units_get(env->units, k->unit);
	char port[16];
	const struct prom_label labels[] = {
		{"manager", record_manager_name((uint8_t)unit->manager)},
		{"hostname", env->hostname},
		{"device", k->device},
		{"port", port},
		{"uuid", unit->id}};

	(void)snprintf(port, sizeof(port), "%u", k->port);
	for (uint32_t i = 0; i < RDMA_COUNTERS; i++) {
		if (!(k->has & 1u << i))
			continue;
		prom_family(out, &counter_families[i]);
		prom_put_u64(out, labels, 5, k->total[i]);
	}
}

static void put_counts_of_units(const struct env *env, struct rdma_counts *c,
				struct prom *out)
{
	if (!env->units)
		return;
	rdma_counts_settle(c, env->units);
	for (size_t i = 0; i < c->count && c->counts[i].serial;) {
		struct rdma_count sum = c->counts[i++];
		for (; i < c->count && rdma_count_same(&sum, &c->counts[i]); i++)
			rdma_count_add(&sum, &c->counts[i]);
		if (step_groups_exported(env, sum.unit))
			put_count(env, &sum, out);
	}
}

static void put_sample_age(const struct env *env, const struct rdma_sample *s,
			   struct prom *out)
{
	static const struct prom_family family = {"ceems_rdma_sample_age_seconds",
						  PROM_GAUGE,
						  "How old the figures of RDMA are"};
	const struct prom_label hostname = {"hostname", env->hostname};
	uint64_t now_ns = env->boottime_ns();

	prom_family(out, &family);
	prom_put_scaled(out, &hostname, 1,
			now_ns > s->ended_ns ? now_ns - s->ended_ns : 0, 9);
}

static int rdma_collect(void *state, struct prom *out, struct err *err)
{
	struct rdma_scrape *r = state;
	const struct rdma_sample *s;
	struct rdma_counts *counts;
	int rc = rdma_reader_take(r->reader, &s, &counts, err);

	if (rc == -EAGAIN)
		return 0; /* the first one takes longer than a scrape should */
	if (rc < 0)
		return rc;
	put_ports(r->env, s, out);
	put_sample_age(r->env, s, out);
	rc = put_held(r->env, s, out);
	put_counts_of_units(r->env, counts, out);
	rdma_reader_give(r->reader);
	if (rc < 0)
		return err_set(err, rc, "out of memory");
	return prom_error(out) ? err_set(err, prom_error(out), "no room for samples")
			       : 0;
}

const struct collector collector_rdma = {
	.name = "rdma",
	.open = rdma_open,
	.collect = rdma_collect,
	.close = rdma_close,
};
