/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/groups/node_figures.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/groups/perf_figures.h"
#include "lib/log.h"
#include "lib/records/hardware_refusal.h"

struct node_counter {
	int fd;
	uint32_t figure, event, cpu; /* cpu: index of the figure's */
	struct perf_reading last;
	double total; /* scaled */
};

struct node_figures {
	const struct env *env;
	struct node_counter *counters; /* of one figure after the other */
	uint32_t count;
};

static void close_figure(struct node_figures *n, uint32_t figure)
{
	while (n->count && n->counters[n->count - 1].figure == figure)
		close(n->counters[--n->count].fd);
}

/* All of its events, or none. 0 or negative errno; *ret_event: which one failed */
static int open_figure(struct node_figures *n, uint32_t figure, uint32_t *ret_event)
{
	const struct perf_figures *f = n->env->perf_figures;
	const struct perf_node_figure *nf = &f->node_figure[figure];

	for (uint32_t c = 0; c < nf->cpu_count; c++) {
		for (uint32_t e = nf->first; e < nf->first + nf->count; e++) {
			int fd = n->env->perf_open_raw(&f->node_event[e].raw,
						       (int)nf->cpus[c]);
			if (fd < 0) {
				close_figure(n, figure);
				*ret_event = e;
				return fd;
			}
			n->counters[n->count++] =
				(struct node_counter){fd, figure, e, c, {0}, 0};
		}
	}
	return 0;
}

int node_figures_new(const struct env *env, struct node_figures **ret)
{
	const struct perf_figures *f = env->perf_figures;
	struct node_figures *n;
	uint32_t event;

	if (!f || !f->node_count || !env->perf_open_raw)
		return -ENODEV;
	n = calloc(1, sizeof(*n));
	if (n)
		n->counters = calloc((size_t)f->node_events * PERF_NODE_CPUS_MAX,
				     sizeof(*n->counters));
	if (!n || !n->counters) {
		free(n);
		return -ENOMEM;
	}
	n->env = env;
	for (uint32_t i = 0; i < f->node_count; i++) {
		int rc = open_figure(n, i, &event);
		if (rc < 0)
			log_warn("perf: %s: event 0x%llx of PMU %s: %s: this figure is "
				 "left out",
				 f->node_figure[i].name,
				 (unsigned long long)f->node_event[event].raw.config,
				 f->node_event[event].pmu, hardware_refusal(rc));
	}
	if (!n->count) {
		node_figures_free(n);
		return -ENODEV;
	}
	*ret = n;
	return 0;
}

void node_figures_free(struct node_figures *n)
{
	if (!n)
		return;
	while (n->count)
		close(n->counters[--n->count].fd);
	free(n->counters);
	free(n);
}

/* Scaled for the time in which the event had no counter since the last reading, so that
 * it never falls. */
static void read_node_counter(struct node_counter *c)
{
	struct perf_reading now;

	if (read(c->fd, &now, sizeof(now)) != (ssize_t)sizeof(now) ||
	    now.value < c->last.value)
		return;
	double counted = (double)(now.value - c->last.value);
	double enabled = (double)(now.enabled_ns - c->last.enabled_ns);
	double running = (double)(now.running_ns - c->last.running_ns);
	if (running > 0 && running < enabled)
		counted *= enabled / running;
	c->total += counted;
	c->last = now;
}

static void put_node_figure(const struct node_figures *n, uint32_t figure, uint32_t cpu,
			    struct prom *out)
{
	static const struct prom_family family = {
		"ceems_perf_node_figure_total", PROM_COUNTER,
		"Sum of raw events of PMUs that count for a whole package, as "
		"--collector.perf.raw-events-file has it; cpu: where the package is "
		"read"};
	const struct perf_figures *f = n->env->perf_figures;
	const struct perf_node_figure *nf = &f->node_figure[figure];
	char number[16];
	double sum = 0;

	for (uint32_t i = 0; i < n->count; i++) {
		const struct node_counter *c = &n->counters[i];
		if (c->figure == figure && c->cpu == cpu)
			sum += c->total * (double)f->node_event[c->event].weight;
	}
	if (!(sum > 0))
		return;
	(void)snprintf(number, sizeof(number), "%u", nf->cpus[cpu]);
	const struct prom_label labels[] = {
		{"hostname", n->env->hostname}, {"cpu", number}, {"figure", nf->name}};
	prom_family(out, &family);
	prom_put_u64(out, labels, 3, (uint64_t)sum);
}

void node_figures_export(struct node_figures *n, struct prom *out)
{
	const struct perf_figures *f = n->env->perf_figures;

	for (uint32_t i = 0; i < n->count; i++)
		read_node_counter(&n->counters[i]);
	for (uint32_t i = 0; i < f->node_count; i++) {
		for (uint32_t c = 0; c < f->node_figure[i].cpu_count; c++)
			put_node_figure(n, i, c, out);
	}
}
