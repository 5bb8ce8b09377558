/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/groups/counts_page_fill.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/groups/step_groups.h"
#include "daemon/groups/unit_counts.h"
#include "daemon/groups/unit_hardware.h"
#include "daemon/groups/unit_io.h"
#include "daemon/options.h"
#include "daemon/units.h"
#include "daemon/units_report.h"
#include "lib/log.h"
#include "lib/parse.h"
#include "lib/records/counts_page.h"
#include "lib/records/net_slots.h"

struct counts_page_fill {
	const struct env *env;
	int fd;
	uint32_t written; /* rows that are not empty in the file */
	struct log_repeat failing;
	struct counts_page_row rows[COUNTS_PAGE_ROWS];
};

struct counts_page_fill *counts_page_fill_open(const struct env *env, uid_t uid,
					       gid_t gid)
{
	struct counts_page_fill *p = calloc(1, sizeof(*p));
	char path[4096];
	struct err err = {"out of memory"};
	int n = snprintf(path, sizeof(path), "%s/counts", env->options->path_rundir);

	if (p && n > 0 && (size_t)n < sizeof(path)) {
		p->env = env;
		p->fd = counts_page_create(path, &err);
		if (p->fd >= 0 && (uid == (uid_t)-1 || fchown(p->fd, uid, gid) == 0))
			return p;
		if (p->fd >= 0)
			(void)err_set(&err, -errno, "change owner: %s",
				      strerror(errno));
	}
	log_warn("%s/counts: %s: --ceems-report does not say what the kernel counted",
		 env->options->path_rundir, err.text);
	if (p && p->fd > 0)
		close(p->fd);
	free(p);
	return NULL;
}

void counts_page_fill_free(struct counts_page_fill *p)
{
	if (!p)
		return;
	close(p->fd);
	free(p);
}

static void take_slot_files(const struct env *env, uint32_t slot,
			    struct counts_page_row *r)
{
	struct unit_io_total t = {0};

	if (unit_io_add_slot(env->unit_io, slot, &t) == 0)
		r->known |= COUNTS_HAS_FILES;
	for (uint32_t i = 0; i < t.count; i++) {
		r->values[COUNTS_READ_BYTES] += t.mounts[i].counts.read_bytes;
		r->values[COUNTS_READ_CALLS] += t.mounts[i].counts.read_calls;
		r->values[COUNTS_WRITE_BYTES] += t.mounts[i].counts.write_bytes;
		r->values[COUNTS_WRITE_CALLS] += t.mounts[i].counts.write_calls;
	}
	unit_io_total_done(&t);
}

static void take_slot_network(const struct env *env, uint32_t slot,
			      struct counts_page_row *r)
{
	unsigned long long words[NET_KINDS * COUNTS_WORDS] = {0};

	unit_counts_add_slot(env->unit_net, slot, words);
	for (unsigned k = 0; k < NET_KINDS; k++) {
		struct net_counts n;
		memcpy(&n, &words[(size_t)k * COUNTS_WORDS], sizeof(n));
		r->values[COUNTS_RX_BYTES] += n.in_bytes;
		r->values[COUNTS_TX_BYTES] += n.out_bytes;
	}
	r->known |= COUNTS_HAS_NETWORK;
}

/* Both or nothing: they are told as a ratio. */
static void take_slot_cycles(const struct env *env, uint32_t slot, uint32_t asked,
			     struct counts_page_row *r)
{
	const uint32_t both = 1u << HARDWARE_CYCLES | 1u << HARDWARE_INSTRUCTIONS;
	struct hardware_total t;

	unit_hardware_slot(env->unit_hardware, slot, &t);
	if ((asked & t.events & both) != both)
		return;
	r->values[COUNTS_CYCLES] = t.values[HARDWARE_CYCLES];
	r->values[COUNTS_INSTRUCTIONS] = t.values[HARDWARE_INSTRUCTIONS];
	r->values[COUNTS_EVENTS_NS] = t.enabled_ns[HARDWARE_INSTRUCTIONS];
	r->known |= COUNTS_HAS_CYCLES;
}

static bool asks_for_counts(const struct env *env, uint32_t unit)
{
	return units_get(env->units, unit)->flags &
	       (RECORD_REPORT_TEXT | RECORD_REPORT_JSON);
}

/* Most often nobody does: then the slots, which are many, are not gone through. */
static bool any_unit_asks(const struct env *env)
{
	for (uint32_t i = units_next(env->units, 0); i != UNITS_NONE;
	     i = units_next(env->units, i + 1)) {
		if (asks_for_counts(env, i))
			return true;
	}
	return false;
}

static bool asks_for_report(const struct env *env, uint32_t slot, uint32_t unit)
{
	return asks_for_counts(env, unit) &&
	       !(step_groups_slot(env->step_groups, slot)->has & GROUP_SLOT_ADOPTED);
}

static bool fill_row(const struct env *env, uint32_t slot, uint32_t unit,
		     struct counts_page_row *r)
{
	const struct unit *u = units_get(env->units, unit);
	const struct step *s =
		steps_get(env->units, step_groups_step(env->step_groups, slot));

	if (!s) /* kept for its unit, long after its end */
		return false;
	*r = (struct counts_page_row){.step = s->step,
				      .stepd_pid = s->stepd_pid,
				      .read_ns = env->boottime_ns()};
	if (parse_u32(u->id, &r->job) < 0)
		return false;
	if (env->unit_io)
		take_slot_files(env, slot, r);
	if (env->unit_net)
		take_slot_network(env, slot, r);
	if (env->unit_hardware)
		take_slot_cycles(env, slot, unit_hardware_asked(env->options, u), r);
	return true;
}

/* What ceems-gpu has read of the unit's devices. false: nothing. */
static bool fill_gpu_row(const struct env *env, uint32_t unit, const struct step *s,
			 struct counts_page_row *r)
{
	const struct unit_gpu_use *g = unit_gpu_use(env->units, unit);

	*r = (struct counts_page_row){.step = s->step,
				      .stepd_pid = s->stepd_pid,
				      .read_ns = env->boottime_ns()};
	if (g->live.busy_of_ns) {
		r->known |= COUNTS_HAS_GPU_BUSY;
		r->values[COUNTS_GPU_READ_NS] = g->live.busy_of_ns;
		r->values[COUNTS_GPU_BUSY_NS] = g->live.busy_ns;
		r->values[COUNTS_GPU_IDLE_NS] = g->live.idle_ns;
	}
	if (g->live.memory_of_ms) {
		r->known |= COUNTS_HAS_GPU_MEMORY;
		r->values[COUNTS_GPU_MEMORY_BYTES] = g->memory_peak_kib * 1024;
	}
	return r->known && parse_u32(units_get(env->units, unit)->id, &r->job) == 0;
}

static uint32_t fill_gpu_rows(struct counts_page_fill *p, uint32_t count)
{
	struct units *u = p->env->units;

	for (uint32_t s = steps_next(u, 0); s != UNITS_NONE && count < COUNTS_PAGE_ROWS;
	     s = steps_next(u, s + 1)) {
		const struct step *step = steps_get(u, s);
		uint32_t unit = steps_unit(u, s);
		const struct unit *of = units_get(u, unit);
		if (of && *of->gpus && step->state == UNIT_RUNNING &&
		    (of->flags & (RECORD_REPORT_TEXT | RECORD_REPORT_JSON)))
			count += fill_gpu_row(p->env, unit, step, &p->rows[count]);
	}
	return count;
}

static uint32_t fill_step_rows(struct counts_page_fill *p)
{
	const struct env *env = p->env;
	uint32_t unit, count = 0;

	if (!env->step_groups || !any_unit_asks(env))
		return 0;
	for (uint32_t slot = 0;
	     count < COUNTS_PAGE_ROWS &&
	     (slot = step_groups_next(env->step_groups, slot, &unit)) != UINT32_MAX;
	     slot++) {
		if (asks_for_report(env, slot, unit))
			count += fill_row(env, slot, unit, &p->rows[count]);
	}
	return count;
}

static int write_counts_page(struct counts_page_fill *p)
{
	const struct env *env = p->env;
	uint32_t count = fill_step_rows(p);

	if (env->gpu)
		count = fill_gpu_rows(p, count);
	uint32_t most = count > p->written ? count : p->written;
	if (!most)
		return 0;
	memset(&p->rows[count], 0, (most - count) * sizeof(p->rows[0]));
	p->written = count;
	return counts_page_write(p->fd, p->rows, most);
}

void counts_page_fill_tick(struct counts_page_fill *p)
{
	const char *rundir = p->env->options->path_rundir;
	int rc = write_counts_page(p);

	if (rc < 0 && log_repeat_due(&p->failing, p->env->boottime_ns()))
		log_warn("%s/counts: %s: --ceems-report does not say what the kernel "
			 "counted",
			 rundir, strerror(-rc));
	else if (rc == 0 && log_repeat_over(&p->failing))
		log_info("%s/counts: is written again", rundir);
}
