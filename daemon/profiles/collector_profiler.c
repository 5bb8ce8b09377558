/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Health of ceems-profiler: what it samples, what it lost, and what it takes. */
#include <errno.h>
#include <stdint.h>

#include "daemon/collector.h"
#include "daemon/profiles/profile_steps.h"
#include "daemon/sources/child_link.h"

static const struct prom_family profiler_restarts = {
	"ceems_profiler_restarts_total", PROM_COUNTER,
	"Times that ceems-profiler was started again, after it died or at a reload"};
static const struct prom_family profiler_steps = {
	"ceems_profiler_steps", PROM_GAUGE,
	"Steps that are sampled now, because they asked for a profile"};
static const struct prom_family profiler_rate = {
	"ceems_profiler_rate_hertz", PROM_GAUGE,
	"How often each CPU is looked at, 0: not at all, because nobody asked"};
static const struct prom_family profiler_processes = {
	"ceems_profiler_processes", PROM_GAUGE,
	"Processes of these steps whose mappings are known"};
static const struct prom_family profiler_samples = {
	"ceems_profiler_samples_total", PROM_COUNTER,
	"Samples since ceems-profiler started, by whether their stack reaches the "
	"program's start"};
static const struct prom_family profiler_blocked = {
	"ceems_profiler_blocked_samples_total", PROM_COUNTER,
	"Stacks of threads that blocked, of steps that asked for these, since "
	"ceems-profiler started"};
static const struct prom_family profiler_lost = {
	"ceems_profiler_lost_samples_total", PROM_COUNTER,
	"Samples that there was no room for, since ceems-profiler started"};
static const struct prom_family profiler_late = {
	"ceems_profiler_late_seconds_total", PROM_COUNTER,
	"Time that steps which asked had run before they were sampled; they wait for "
	"at most a tenth of a second"};
static const struct prom_family profiler_openers = {
	"ceems_profiler_opener_restarts_total", PROM_COUNTER,
	"Times that the process which opens programs for it died and was started "
	"again, since ceems-profiler started"};
static const struct prom_family profiler_coarse = {
	"ceems_profiler_coarse_profiles_total", PROM_COUNTER,
	"Profiles whose stacks were cut for want of memory, since ceems-profiler "
	"started"};
static const struct prom_family profiler_evictions = {
	"ceems_profiler_evictions_total", PROM_COUNTER,
	"Files and processes that made place for others in its tables, since "
	"ceems-profiler started"};
static const struct prom_family profiler_profiles = {
	"ceems_profiler_profiles_total", PROM_COUNTER,
	"Profiles that were written, one for each "
	"step and interval with samples, since "
	"ceems-profiler started"};
static const struct prom_family profiler_debug = {
	"ceems_profiler_debug_files_total", PROM_COUNTER,
	"Debug files that ceems-courier was asked for, or was not, since one user's "
	"programs missed too many, since ceems-profiler started"};
static const struct prom_family profiler_memory = {
	"ceems_profiler_memory_bytes", PROM_GAUGE,
	"Memory of its tables, the kernel's among them, and stacks"};

static int open_profiler_collector(const struct env *env, void **ret_state,
				   struct err *err)
{
	if (!env->profiler)
		return err_set(err, -ENODEV, "no ceems-profiler");
	*ret_state = (void *)(uintptr_t)env;
	return 0;
}

struct profiler_sink {
	struct prom *out;
	struct prom_label labels[2];
};

static void put_profiler_value(const struct profiler_sink *to,
			       const struct prom_family *family, uint64_t v)
{
	prom_family(to->out, family);
	prom_put_u64(to->out, to->labels, 1, v);
}

static void put_samples(struct profiler_sink *to, const char *stack, uint64_t v)
{
	to->labels[1] = (struct prom_label){"stack", stack};
	prom_family(to->out, &profiler_samples);
	prom_put_u64(to->out, to->labels, 2, v);
}

static void put_debug_wants(struct profiler_sink *to, const char *result, uint64_t v)
{
	to->labels[1] = (struct prom_label){"result", result};
	prom_family(to->out, &profiler_debug);
	prom_put_u64(to->out, to->labels, 2, v);
}

static void put_profile_counts(struct profiler_sink *to, const struct child_profile *m)
{
	put_profiler_value(to, &profiler_steps, m->steps);
	put_profiler_value(to, &profiler_rate, m->hz);
	put_profiler_value(to, &profiler_processes, m->processes);
	put_samples(to, "whole", m->whole);
	put_samples(to, "cut", m->cut);
	put_profiler_value(to, &profiler_blocked, m->blocked);
	put_profiler_value(to, &profiler_lost, m->lost + m->dropped + m->blocked_lost);
	put_profiler_value(to, &profiler_openers, m->openers);
	put_profiler_value(to, &profiler_coarse, m->coarse);
	put_profiler_value(to, &profiler_evictions, m->evictions);
	put_profiler_value(to, &profiler_profiles, m->profiles);
	put_debug_wants(to, "asked", m->debug_wanted);
	put_debug_wants(to, "refused", m->debug_refused);
	put_profiler_value(to, &profiler_memory, m->memory_bytes);
}

static int collect_profiler(void *state, struct prom *out, struct err *err)
{
	const struct env *env = state;
	struct profiler_sink to = {out, {{"hostname", env->hostname}}};
	uint64_t starts = child_link_starts(env->profiler);
	struct child_profile m;

	put_profiler_value(&to, &profiler_restarts, starts ? starts - 1 : 0);
	prom_family(out, &profiler_late);
	prom_put_scaled(
		out, to.labels, 1,
		env->profile_steps ? profile_steps_late_ns(env->profile_steps) : 0, 9);
	if (child_link_get(env->profiler, CHILD_PROFILE, "profiler", &m, sizeof(m)) > 0)
		put_profile_counts(&to, &m);
	return prom_error(out) ? err_set(err, prom_error(out), "no room for samples")
			       : 0;
}

static void close_profiler(void *state)
{
	(void)state; /* the daemon's */
}

const struct collector collector_profiler = {
	.name = "profiler",
	.open = open_profiler_collector,
	.collect = collect_profiler,
	.close = close_profiler,
};
