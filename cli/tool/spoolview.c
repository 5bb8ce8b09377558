/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The records in a spool, for people and scripts. */
#include "cli/tool/spoolview.h"

#include <string.h>

#include "lib/records/claim.h"
#include "lib/records/job.h"
#include "lib/records/job_json.h"
#include "lib/records/report.h"

static void put_spool_text(struct buf *b, const char *name, const char *value)
{
	if (!value || !*value)
		return;
	buf_printf(b, ",\"%s\":", name);
	buf_put_json(b, value, strlen(value));
}

static void put_spool_number(struct buf *b, const char *name, uint64_t v)
{
	buf_printf(b, ",\"%s\":", name);
	buf_put_u64(b, v);
}

/* Puts a number unless it is absent */
static void put_spool_id(struct buf *b, const char *name, uint32_t v)
{
	if (v != RECORD_NO_VAL)
		put_spool_number(b, name, v);
}

static void put_spool_flag(struct buf *b, const char *name, bool set)
{
	if (set)
		buf_printf(b, ",\"%s\":true", name);
}

static void put_spool_use(struct buf *b, const struct report_use *u)
{
	if (u->known & REPORT_HAS_CPU) {
		put_spool_number(b, "cpu_user_ns", u->cpu_user_ns);
		put_spool_number(b, "cpu_system_ns", u->cpu_system_ns);
		put_spool_number(b, "cpu_throttled_ns", u->cpu_throttled_ns);
		put_spool_number(b, "oom_kills", u->oom_kills);
	}
	if (u->known & REPORT_HAS_MEMORY_AVERAGE)
		put_spool_number(b, "memory_average_bytes", u->memory_average_bytes);
	if (u->known & REPORT_HAS_MEMORY_PEAK)
		put_spool_number(b, "memory_peak_bytes", u->memory_peak_bytes);
	if (u->known & REPORT_HAS_IO) {
		put_spool_number(b, "io_read_bytes", u->io_read_bytes);
		put_spool_number(b, "io_write_bytes", u->io_write_bytes);
	}
	if (u->known & REPORT_HAS_NETWORK) {
		put_spool_number(b, "network_rx_bytes", u->network_rx_bytes);
		put_spool_number(b, "network_tx_bytes", u->network_tx_bytes);
	}
	if (u->known & REPORT_HAS_GPU_BUSY)
		put_spool_number(b, "gpu_busy_ns", u->gpu_busy_ns);
	if (u->known & REPORT_HAS_GPU_MEMORY)
		put_spool_number(b, "gpu_memory_bytes", u->gpu_memory_bytes);
}

static void put_spool_before(struct buf *b, const struct report_before *before)
{
	if (before->known & REPORT_HAS_CPU) {
		put_spool_number(b, "before_cpu_user_ns", before->cpu_user_ns);
		put_spool_number(b, "before_cpu_system_ns", before->cpu_system_ns);
	}
	if (before->known & REPORT_HAS_IO) {
		put_spool_number(b, "before_io_read_bytes", before->io_read_bytes);
		put_spool_number(b, "before_io_write_bytes", before->io_write_bytes);
	}
}

static void put_energy(struct buf *b, const struct report *r)
{
	if (!r->energy_count)
		return;
	buf_puts(b, ",\"energy\":[");
	for (uint32_t i = 0; i < r->energy_count; i++) {
		const struct report_energy *e = &r->energy[i];
		buf_printf(b, "%s{\"domain\":\"%s\"", i ? "," : "",
			   report_domain_name(e->domain));
		put_spool_text(b, "source", e->source);
		put_spool_number(b, "uj", e->uj);
		buf_putc(b, '}');
	}
	buf_putc(b, ']');
}

static void put_spool_counts(struct buf *b, const struct report *r)
{
	if (report_counts_any(&r->counts)) {
		buf_puts(b, ",\"counts\":");
		report_counts_put_json(b, &r->counts);
	}
	if (r->mount_count) {
		buf_puts(b, ",\"mounts\":");
		report_mounts_put_json(b, r->mounts, r->mount_count);
	}
}

static void put_spool_step(struct buf *b, const struct report_step *s)
{
	char name[16];

	buf_printf(b, "{\"step\":\"%s\"", record_step_name(s->step, name));
	put_spool_number(b, "started_ns", s->started_ns);
	put_spool_number(b, "ended_ns", s->ended_ns);
	put_spool_number(b, "exit_status", s->exit_status);
	put_spool_number(b, "tasks", s->tasks);
	put_spool_number(b, "cpus", s->cpus);
	put_spool_flag(b, "running", s->flags & REPORT_STEP_RUNNING);
	put_spool_flag(b, "lost", s->flags & REPORT_STEP_LOST);
	put_spool_flag(b, "polled", s->flags & REPORT_STEP_POLLED);
	put_spool_flag(b, "signalled", s->flags & REPORT_STEP_SIGNALLED);
	put_spool_flag(b, "discovered", s->flags & REPORT_STEP_DISCOVERED);
	put_spool_number(b, "cpu_user_ns", s->cpu_user_ns);
	put_spool_number(b, "cpu_system_ns", s->cpu_system_ns);
	put_spool_number(b, "memory_peak_bytes", s->memory_peak_bytes);
	put_spool_number(b, "io_read_bytes", s->io_read_bytes);
	put_spool_number(b, "io_write_bytes", s->io_write_bytes);
	put_spool_number(b, "oom_kills", s->oom_kills);
	for (uint32_t d = 1; d < REPORT_DOMAINS; d++) {
		if (s->energy_uj[d])
			buf_printf(b, ",\"%s_uj\":%llu", report_domain_name(d),
				   (unsigned long long)s->energy_uj[d]);
	}
	if (*s->command || *s->label) {
		buf_puts(b, ",\"hints\":{\"trusted\":false");
		put_spool_text(b, "command", s->command);
		put_spool_text(b, "name", s->label);
		buf_putc(b, '}');
	}
	buf_putc(b, '}');
}

static void put_spool_hints(struct buf *b, const struct report *r)
{
	buf_puts(b, ",\"hints\":{\"trusted\":false");
	put_spool_text(b, "name", r->hints.name);
	put_spool_text(b, "account", r->hints.account);
	put_spool_text(b, "partition", r->hints.partition);
	put_spool_text(b, "sluid", r->hints.sluid);
	put_spool_id(b, "het_job", r->hints.het_job);
	buf_putc(b, '}');
}

static void put_report(struct buf *b, const struct report *r)
{
	buf_printf(b, ",\"kind\":\"%s\",\"manager\":\"%s\"", report_type_name(r->type),
		   record_manager_name(r->manager));
	put_spool_number(b, "instance", r->instance);
	put_spool_text(b, "cluster", r->cluster);
	put_spool_text(b, "node", r->node);
	put_spool_text(b, "boot_id", r->boot_id);
	put_spool_text(b, "unit", r->unit);
	put_spool_number(b, "restarts", r->restarts);
	put_spool_id(b, "uid", r->uid);
	put_spool_id(b, "gid", r->gid);
	put_spool_id(b, "array_job", r->array_job);
	put_spool_id(b, "array_task", r->array_task);
	put_spool_number(b, "cpus", r->cpus);
	put_spool_number(b, "millicpus", r->millicpus);
	put_spool_number(b, "sized_ns", r->sized_ns);
	put_spool_number(b, "memory_bytes", r->memory_bytes);
	put_spool_text(b, "gpus", r->gpus);
	put_spool_text(b, "gpu_share", r->gpu_share);
	put_spool_number(b, "gpu_count", r->gpu_count);
	put_spool_flag(b, "discovered", r->flags & REPORT_DISCOVERED);
	put_spool_flag(b, "provisional", r->flags & REPORT_PROVISIONAL);
	put_spool_flag(b, "steps_cut", r->flags & REPORT_STEPS_CUT);
	put_spool_flag(b, "found", r->flags & REPORT_FOUND);
	put_spool_flag(b, "sluid_of_cgroup", r->flags & REPORT_SLUID);
	put_spool_before(b, &r->before);
	put_spool_number(b, "started_ns", r->started_ns);
	if (r->type == REPORT_FINAL) {
		put_spool_number(b, "ended_ns", r->ended_ns);
		put_spool_text(b, "end", report_end_name(r->end));
	}
	if (r->type != REPORT_START) {
		put_spool_number(b, "t0_ns", r->t0_ns);
		put_spool_number(b, "t1_ns", r->t1_ns);
		put_spool_number(b, "observed_ns", r->observed_ns);
		put_spool_use(b, &r->use);
		put_energy(b, r);
		put_spool_counts(b, r);
	}
	put_spool_hints(b, r);
	put_spool_number(b, "steps_started", r->steps_started);
	if (!r->step_count)
		return;
	buf_puts(b, ",\"steps\":[");
	for (uint32_t i = 0; i < r->step_count; i++) {
		if (i)
			buf_putc(b, ',');
		put_spool_step(b, &r->steps[i]);
	}
	buf_putc(b, ']');
}

static void put_spool_claim(struct buf *b, const struct claim *c)
{
	static const char *const by[] = {"?", "user", "namer", "controller"};

	buf_puts(b, ",\"kind\":\"claim\"");
	put_spool_text(b, "cluster", c->cluster);
	put_spool_text(b, "object", c->kind);
	put_spool_text(b, "uid", c->uid);
	put_spool_text(b, "namespace", c->namespace);
	put_spool_text(b, "name", c->name);
	put_spool_text(b, "owner", c->owner);
	put_spool_text(b, "owner_uid", c->owner_uid);
	put_spool_text(b, "controller", c->controller);
	put_spool_text(b, "by", by[c->by]);
	put_spool_number(b, "at_ns", c->at_ns);
}

void spoolview_put(struct buf *out, uint64_t seq, const void *data, size_t len)
{
	static struct report report;
	unsigned type = len ? *(const unsigned char *)data : 0;
	struct err err = {""};
	struct job job;
	struct claim claim;

	buf_printf(out, "{\"seq\":%llu,\"type\":%u,\"bytes\":%zu",
		   (unsigned long long)seq, type, len);
	if (type >= REPORT_START && type <= REPORT_FINAL) {
		if (report_decode(data, len, &report, &err) == 0)
			put_report(out, &report);
	} else if (type == JOB_RECORD_TYPE) {
		if (job_decode(data, len, &job, &err) == 0) {
			buf_puts(out, ",\"kind\":\"job\"");
			job_put_json(&job, out);
			job_done(&job);
		}
	} else if (type == CLAIM_TYPE) {
		if (claim_decode(data, len, &claim, &err) == 0)
			put_spool_claim(out, &claim);
	}
	put_spool_text(out, "error", err.text);
	buf_puts(out, "}\n");
}
