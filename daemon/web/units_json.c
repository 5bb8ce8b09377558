/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The unit table for people and scripts: GET /units. */
#include "daemon/web/units_json.h"

#include <string.h>

#include "daemon/units_energy.h"

static const char *state_name(uint32_t state)
{
	return state == UNIT_ENDED ? "ended" : "running";
}

static const char *end_name(uint32_t end)
{
	static const char *const ends[] = {"", "completed", "failed", "oom", "lost"};

	return ends[end < UNIT_END_STATES ? end : UNIT_END_LOST];
}

static void put_json_text(struct buf *b, const char *name, const char *value)
{
	buf_printf(b, ",\"%s\":", name);
	buf_put_json(b, value, strlen(value));
}

static void put_json_number(struct buf *b, const char *name, uint64_t v)
{
	buf_printf(b, ",\"%s\":", name);
	buf_put_u64(b, v);
}

static void put_totals(struct buf *b, const struct unit_totals *t)
{
	buf_puts(b, ",\"cpu_user_seconds\":");
	buf_put_scaled(b, t->cpu_user_ns, 9);
	buf_puts(b, ",\"cpu_system_seconds\":");
	buf_put_scaled(b, t->cpu_system_ns, 9);
	put_json_number(b, "memory_peak_bytes", t->memory_peak_bytes);
	put_json_number(b, "io_read_bytes", t->io_read_bytes);
	put_json_number(b, "io_write_bytes", t->io_write_bytes);
	put_json_number(b, "oom_kills", t->oom_kills);
	buf_puts(b, ",\"throttled_seconds\":");
	buf_put_scaled(b, t->throttled_ns, 9);
}

/* Joules per domain that was ever measured here, without provisional ones. */
static void put_joules(struct buf *b, const struct units *u, const char *name,
		       const struct unit *unit, const uint64_t uj[ENERGY_DOMAINS])
{
	const struct energy_node *node = &units_energy(u)->node;
	const char *comma = "";

	buf_printf(b, ",\"%s\":{", name);
	for (int d = 0; d < ENERGY_DOMAINS; d++) {
		if (!node->measured_uj[d] || !unit_energy_is_measured(unit, uj, d))
			continue;
		buf_printf(b, "%s\"%s\":", comma,
			   energy_domain_name((enum energy_domain)d));
		buf_put_scaled(b, uj[d], 6);
		comma = ",";
	}
	buf_putc(b, '}');
}

static void put_unit_energy(struct buf *b, const struct units *u, uint32_t i)
{
	const struct energy_account *a = &unit_energy(u, i)->account;
	uint64_t provisional;

	put_joules(b, u, "energy_joules", units_get((struct units *)u, i),
		   a->settled_uj);
	(void)energy_account_now(a, ENERGY_HOST, &provisional);
	buf_puts(b, ",\"provisional_host_joules\":");
	buf_put_scaled(b, provisional, 6);
}

static void put_step_hints(struct buf *b, const struct step_name *name)
{
	if (!*name->command)
		return;
	buf_puts(b, ",\"hints\":{\"trusted\":false");
	put_json_text(b, "command", name->command);
	if (*name->label)
		put_json_text(b, "name", name->label);
	buf_putc(b, '}');
}

static void put_json_step(struct buf *b, const struct units *u, uint32_t i,
			  const struct step *s)
{
	char name[16];
	buf_puts(b, "{\"step\":");
	record_step_name(s->step, name);
	buf_put_json(b, name, strlen(name));
	put_json_text(b, "state", state_name(s->state));
	put_json_number(b, "slurmstepd_pid", s->stepd_pid);
	put_json_number(b, "tasks", s->tasks);
	put_json_number(b, "cpus", s->cpus);
	put_json_number(b, "exit_status", s->exit_status);
	buf_printf(b, ",\"discovered\":%s,\"lost\":%s,\"polled\":%s",
		   s->discovered ? "true" : "false",
		   s->lost == STEP_LOST ? "true" : "false",
		   s->flags & STEP_POLLED ? "true" : "false");
	if (s->cgroup_count)
		put_json_text(b, "cgroup", s->cgroups[0].path);
	put_totals(b, &s->totals);
	put_joules(b, u, "energy_joules", units_get((struct units *)u, s->unit),
		   step_energy(u, i)->uj);
	put_step_hints(b, steps_name(u, i));
	buf_putc(b, '}');
}

static void put_json_unit(struct units *u, uint32_t i, struct buf *b)
{
	const struct unit *unit = units_get(u, i);
	struct unit_totals t;

	unit_total(u, i, &t);
	buf_puts(b, "{\"manager\":");
	const char *manager = record_manager_name((uint8_t)unit->manager);
	buf_put_json(b, manager, strlen(manager));
	put_json_text(b, "id", unit->id);
	put_json_text(b, "node", unit->node);
	put_json_number(b, "restarts", unit->restarts);
	put_json_text(b, "state", state_name(unit->state));
	put_json_text(b, "end", end_name(unit->end));
	put_json_number(b, "uid", unit->uid);
	put_json_number(b, "gid", unit->gid);
	buf_puts(b, ",\"cpus\":");
	buf_put_scaled(b, unit_mcpus(unit), 3);
	put_json_number(b, "memory_bytes", unit->memory_bytes);
	if (unit->array_job != RECORD_NO_VAL) {
		put_json_number(b, "array_job", unit->array_job);
		put_json_number(b, "array_task", unit->array_task);
	}
	put_json_number(b, "started_realtime_ns", unit->started_realtime_ns);
	put_json_number(b, "ended_realtime_ns", unit->ended_realtime_ns);
	if (unit->state == UNIT_ENDED) {
		buf_puts(b, ",\"elapsed_seconds\":");
		buf_put_scaled(b,
			       unit->ended_boottime_ns > unit->started_boottime_ns
				       ? unit->ended_boottime_ns -
						 unit->started_boottime_ns
				       : 0,
			       9);
	}
	if (*unit->gpus) {
		put_json_text(b, "gpus", unit->gpus);
		put_json_text(b, "gpu_share", unit->gpu_share);
	}
	put_totals(b, &t);
	put_unit_energy(b, u, i);
	put_json_number(b, "steps_started", unit->steps_started);
	put_json_number(b, "steps_running", unit->steps_running);
	buf_puts(b, ",\"hints\":{\"name\":");
	buf_put_json(b, unit->name, strlen(unit->name));
	put_json_text(b, "account", unit->account);
	put_json_text(b, "partition", unit->partition);
	put_json_text(b, "sluid", unit->sluid);
	buf_puts(b, "},\"steps\":[");
	for (uint32_t s = units_first_step(u, i); s != UNITS_NONE;) {
		put_json_step(b, u, s, steps_get(u, s));
		s = steps_after(u, s);
		if (s != UNITS_NONE)
			buf_putc(b, ',');
	}
	buf_puts(b, "]}");
}

int units_put_json(struct units *u, struct buf *out)
{
	buf_puts(out, "{\"units\":[");
	bool first = true;
	for (uint32_t i = units_next(u, 0); i != UNITS_NONE; i = units_next(u, i + 1)) {
		buf_puts(out, first ? "\n" : ",\n");
		put_json_unit(u, i, out);
		first = false;
	}
	buf_puts(out, "\n]}\n");
	return buf_error(out);
}
