/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the kernel programs do: whether groups are followed, and how often that made a
 * difference. */
#include <errno.h>
#include <stdlib.h>

#include "daemon/collector.h"
#include "daemon/groups/io_export.h"
#include "daemon/groups/net_export.h"
#include "daemon/groups/step_groups.h"

struct ebpf {
	const struct env *env;
	struct io_export *io;   /* NULL without */
	struct net_export *net; /* NULL without */
};

static void ebpf_close(void *state)
{
	struct ebpf *e = state;

	if (!e)
		return;
	io_export_free(e->io);
	net_export_free(e->net);
	free(e);
}

static int ebpf_open(const struct env *env, void **ret_state, struct err *err)
{
	if (!env->step_groups)
		return err_set(err, -ENODEV, "the kernel programs are not attached");
	struct ebpf *e = calloc(1, sizeof(*e));
	if (!e)
		return err_set(err, -ENOMEM, "out of memory");
	e->env = env;
	if ((env->unit_io && io_export_new(env, &e->io) < 0) ||
	    (env->unit_net && net_export_new(env, &e->net) < 0)) {
		ebpf_close(e);
		return err_set(err, -ENOMEM, "out of memory");
	}
	*ret_state = e;
	return 0;
}

static void put_group_stats(const struct env *env, struct prom *out)
{
	static const struct prom_family slots = {
		"ceems_groups_slots", PROM_GAUGE,
		"Control groups of steps that the kernel can follow at the same time"};
	static const struct prom_family used = {
		"ceems_groups_slots_used", PROM_GAUGE,
		"Control groups of steps that the kernel follows"};
	static const struct prom_family made = {
		"ceems_groups_made_total", PROM_COUNTER,
		"Control groups of steps that were made since this ceemsd started"};
	static const struct prom_family ended = {
		"ceems_groups_ended_total", PROM_COUNTER,
		"Of these and of those before, how many were removed, with their last "
		"counters known"};
	static const struct prom_family no_slot = {
		"ceems_groups_not_followed_total", PROM_COUNTER,
		"Control groups of steps that found all slots taken"};
	static const struct prom_family lost_stops = {
		"ceems_steps_lost_stops_total", PROM_COUNTER,
		"Steps without a stop record, counted by the kernel's last counters"};
	static const struct prom_family unrecorded = {
		"ceems_steps_unrecorded_total", PROM_COUNTER,
		"Of these, steps that no record at all had told of"};
	static const struct prom_family restarts = {
		"ceems_opener_restarts_total", PROM_COUNTER,
		"How often ceems-opener was killed at the start, and started again"};
	const struct prom_label hostname = {"hostname", env->hostname};
	struct step_groups_stats s;

	step_groups_stats(env->step_groups, &s);
	const struct {
		const struct prom_family *family;
		uint64_t value;
	} rows[] = {{&slots, s.slots},
		    {&used, s.used},
		    {&made, s.made},
		    {&ended, s.ended},
		    {&no_slot, s.no_slot},
		    {&lost_stops, s.lost_stops},
		    {&unrecorded, s.unrecorded},
		    {&restarts, env->opener_restarts}};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		prom_family(out, rows[i].family);
		prom_put_u64(out, &hostname, 1, rows[i].value);
	}
}

static int ebpf_collect(void *state, struct prom *out, struct err *err)
{
	struct ebpf *e = state;
	int rc = 0;

	put_group_stats(e->env, out);
	if (e->io)
		rc = io_export(e->io, out);
	if (e->net)
		net_export(e->net, out);
	if (rc < 0)
		return err_set(err, rc, "out of memory");
	return prom_error(out) ? err_set(err, prom_error(out), "no room for samples")
			       : 0;
}

const struct collector collector_ebpf = {
	.name = "ebpf",
	.open = ebpf_open,
	.collect = ebpf_collect,
	.close = ebpf_close,
};
