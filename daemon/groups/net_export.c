/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/groups/net_export.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/groups/step_groups.h"
#include "daemon/groups/unit_counts.h"
#include "daemon/units.h"
#include "lib/records/net_slots.h"

struct net_total {
	struct net_counts kinds[NET_KINDS];
};
#define NET_WORDS (NET_KINDS * COUNTS_WORDS)
_Static_assert(sizeof(struct net_total) == NET_WORDS * sizeof(unsigned long long),
	       "one stripe of each kind");

struct net_export {
	const struct env *env;
	unsigned long long *totals; /* by unit, NET_WORDS, of one scrape */
};

int net_export_new(const struct env *env, struct net_export **ret)
{
	struct net_export *e = calloc(1, sizeof(*e));

	if (e)
		e->totals = calloc(units_capacity(env->units),
				   NET_WORDS * sizeof(*e->totals));
	if (!e || !e->totals) {
		free(e);
		return -ENOMEM;
	}
	e->env = env;
	*ret = e;
	return 0;
}

void net_export_free(struct net_export *e)
{
	if (!e)
		return;
	free(e->totals);
	free(e);
}

static const struct {
	const char *proto, *family;
} net_kind_labels[NET_KINDS] = {
	[NET_TCP4] = {"tcp", "ipv4"},
	[NET_TCP6] = {"tcp", "ipv6"},
	[NET_UDP4] = {"udp", "ipv4"},
	[NET_UDP6] = {"udp", "ipv6"},
};

/* labels: room for two more */
static void put_counts(struct prom *out, struct prom_label *labels, size_t n,
		       const struct prom_family families[6], const struct net_total *t)
{
	for (unsigned k = 0; k < NET_KINDS; k++) {
		const struct net_counts *c = &t->kinds[k];
		const uint64_t values[] = {c->in_bytes,     c->in_packets,
					   c->out_bytes,    c->out_packets,
					   c->resent_bytes, c->resent_packets};
		bool tcp = k == NET_TCP4 || k == NET_TCP6;
		labels[n] = (struct prom_label){"proto", net_kind_labels[k].proto};
		labels[n + 1] =
			(struct prom_label){"family", net_kind_labels[k].family};
		for (size_t i = 0; i < (tcp ? 6 : 4); i++) {
			prom_family(out, &families[i]);
			prom_put_u64(out, labels, n + 2, values[i]);
		}
	}
}

static void put_unit(struct prom *out, const struct env *env, const struct unit *unit,
		     const struct net_total *t)
{
	static const struct prom_family families[] = {
		{"ceems_ebpf_ingress_bytes_total", PROM_COUNTER,
		 "Bytes that the unit's processes received"},
		{"ceems_ebpf_ingress_packets_total", PROM_COUNTER,
		 "TCP segments and UDP datagrams that they received"},
		{"ceems_ebpf_egress_bytes_total", PROM_COUNTER,
		 "Bytes that the unit's processes sent"},
		{"ceems_ebpf_egress_packets_total", PROM_COUNTER,
		 "TCP segments and UDP datagrams that they sent"},
		{"ceems_ebpf_retrans_bytes_total", PROM_COUNTER,
		 "Bytes that TCP sent again for the unit"},
		{"ceems_ebpf_retrans_packets_total", PROM_COUNTER,
		 "Segments that TCP sent again for the unit"},
	};
	struct prom_label labels[5] = {
		{"manager", record_manager_name((uint8_t)unit->manager)},
		{"hostname", env->hostname},
		{"uuid", unit->id}};

	put_counts(out, labels, 3, families, t);
}

/* What TCP did for sockets whose processes and steps were gone */
static void put_nobodys(struct prom *out, const struct env *env)
{
	static const struct prom_family received = {
		"ceems_network_late_ingress_packets_total", PROM_COUNTER,
		"TCP segments received for sockets of steps that had ended"};
	static const struct prom_family sent = {
		"ceems_network_late_egress_packets_total", PROM_COUNTER,
		"TCP segments sent for sockets of steps that had ended"};
	static const struct prom_family no_room = {
		"ceems_network_calls_without_segments_total", PROM_COUNTER,
		"Calls on TCP sockets whose segments were not counted for want of "
		"room"};
	const struct prom_label hostname = {"hostname", env->hostname};
	unsigned long long words[NET_WORDS] = {0};
	struct net_total t;
	uint64_t in_packets = 0, out_packets = 0, unseen = 0;

	unit_counts_add_nobodys(env->unit_net, words);
	memcpy(&t, words, sizeof(t));
	for (unsigned k = 0; k < NET_KINDS; k++) {
		in_packets += t.kinds[k].in_packets;
		out_packets += t.kinds[k].out_packets;
		unseen += t.kinds[k].unseen_calls;
	}
	prom_family(out, &received);
	prom_put_u64(out, &hostname, 1, in_packets);
	prom_family(out, &sent);
	prom_put_u64(out, &hostname, 1, out_packets);
	if (!(env->net_counted & NET_COUNTED_CALLS))
		return;
	prom_family(out, &no_room);
	prom_put_u64(out, &hostname, 1, unseen);
}

static void put_net_backend(struct prom *out, const struct env *env)
{
	static const struct prom_family backend = {
		"ceems_network_backend_info", PROM_GAUGE,
		"By which programs the kernel counts what units send and receive"};
	bool calls = env->net_counted & NET_COUNTED_CALLS;
	const struct prom_label programs[] = {
		{"hostname", env->hostname},
		{"calls", calls ? "sys_exit" : "sock_length"},
		{"io_uring",
		 !calls || env->net_counted & NET_COUNTED_URING ? "yes" : "no"}};

	prom_family(out, &backend);
	prom_put_u64(out, programs, 3, 1);
}

void net_export(struct net_export *e, struct prom *out)
{
	const struct env *env = e->env;
	uint32_t unit;

	for (uint32_t slot = 0;
	     (slot = step_groups_next(env->step_groups, slot, &unit)) != UINT32_MAX;
	     slot++)
		unit_counts_add_slot(env->unit_net, slot, &e->totals[unit * NET_WORDS]);
	for (uint32_t i = units_next(env->units, 0); i != UNITS_NONE;
	     i = units_next(env->units, i + 1)) {
		unsigned long long *words = &e->totals[i * NET_WORDS];
		struct net_total t;
		unit_counts_add_ended(env->unit_net, i, words);
		memcpy(&t, words, sizeof(t));
		memset(words, 0, sizeof(t));
		if (step_groups_exported(env, i))
			put_unit(out, env, units_get(env->units, i), &t);
	}
	put_nobodys(out, env);
	put_net_backend(out, env);
}
