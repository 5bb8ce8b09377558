/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Values are in the order of the columns in aggregator/sql/0002_ingest.sql. */
#include "aggregator/ingest/ingest_copy.h"

#include <errno.h>
#include <string.h>

#include "lib/clock.h"
#include "lib/pg/pg_copy.h"
#include "lib/records/report.h"

#define HOUR_NS (3600 * NSEC_PER_SEC)

static void put_s64(struct pg_copy *c, int64_t v)
{
	if (v == INGEST_NULL)
		pg_copy_null(c);
	else
		pg_copy_s64(c, v);
}

static void put_s32(struct pg_copy *c, int64_t v)
{
	if (v == INGEST_NULL)
		pg_copy_null(c);
	else
		pg_copy_s32(c, (int32_t)v);
}

static void copy_time(struct pg_copy *c, uint64_t ns)
{
	if (ns)
		pg_copy_time(c, ns);
	else
		pg_copy_null(c);
}

static void copy_text(struct pg_copy *c, const struct ingest_push *p, ingest_text t)
{
	const char *s = ingest_push_text(p, t);

	if (s)
		pg_copy_text(c, s, strlen(s));
	else
		pg_copy_null(c);
}

static void put_label(struct pg_copy *c, const struct ingest_group *g, uint32_t push,
		      int label)
{
	int16_t id = (int16_t)(label < 0 ? 0 : g->label_ids[push][label]);

	if (id)
		pg_copy_s16(c, id);
	else
		pg_copy_null(c);
}

static void put_energy(struct pg_copy *c, const int64_t uj[6])
{
	for (unsigned d = 0; d < 6; d++)
		put_s64(c, uj[d]);
}

/* An array with a value of each, or none */
static void put_active(struct pg_copy *c, const int64_t ms[COUNT_GPU_FIGURES])
{
	int32_t values[COUNT_GPU_FIGURES] = {0};
	uint64_t known = 0;

	for (unsigned k = 0; k < COUNT_GPU_FIGURES; k++) {
		if (ms[k] == INGEST_NULL)
			continue;
		values[k] = (int32_t)ms[k];
		known |= UINT64_C(1) << k;
	}
	if (known)
		pg_copy_s32s(c, values, known, COUNT_GPU_FIGURES);
	else
		pg_copy_null(c);
}

static void put_interval(struct pg_copy *c, const struct ingest_group *g, uint32_t push,
			 const struct ingest_interval *i)
{
	const struct ingest_use *u = &i->use;

	pg_copy_row(c);
	pg_copy_s64(c, i->instance);
	pg_copy_time(c, i->t0_ns);
	put_s64(c, u->cpu_user_ns);
	put_s64(c, u->cpu_system_ns);
	put_s64(c, u->memory_mean_bytes);
	put_s64(c, u->memory_peak_bytes);
	put_s64(c, u->io_read_bytes);
	put_s64(c, u->io_write_bytes);
	put_s64(c, u->net_rx_bytes);
	put_s64(c, u->net_tx_bytes);
	put_energy(c, u->energy_uj);
	pg_copy_s32(c, (int32_t)i->ms);
	pg_copy_s32(c, (int32_t)u->observed_ms);
	put_s32(c, u->gpu_busy_ms);
	put_s64(c, u->gpu_memory_mean_kib);
	put_label(c, g, push, u->label);
	put_active(c, u->gpu_active_ms);
}

#define INTERVAL_COLUMNS                                                               \
	" (instance, t0, cpu_user_ns, cpu_system_ns, memory_mean_bytes, "              \
	"memory_peak_bytes, io_read_bytes, io_write_bytes, net_rx_bytes, "             \
	"net_tx_bytes, package_uj, dram_uj, psys_uj, gpu_uj, host_uj, other_uj, ms, "  \
	"observed_ms, gpu_busy_ms, gpu_memory_mean_kib, energy_sources, "              \
	"gpu_active_ms) FROM STDIN (FORMAT binary)"
#define INTERVAL_COLUMN_COUNT 22

int ingest_copy_intervals(struct pg *pg, const struct ingest_group *g, bool staged,
			  struct err *err)
{
	struct pg_copy c;
	uint32_t all = 0;

	for (uint32_t i = 0; i < g->count; i++)
		all += g->pushes[i]->interval_count;
	if (!all)
		return 0;
	int rc = pg_copy_begin(&c, pg,
			       staged ? "COPY in_interval" INTERVAL_COLUMNS
				      : "COPY unit_interval" INTERVAL_COLUMNS,
			       INTERVAL_COLUMN_COUNT, err);
	if (rc < 0)
		return rc;
	for (uint32_t i = 0; i < g->count; i++) {
		for (uint32_t k = 0; k < g->pushes[i]->interval_count; k++)
			put_interval(&c, g, i, &g->pushes[i]->intervals[k]);
	}
	return pg_copy_end(&c, NULL, err);
}

static void put_mark(struct pg_copy *c, int64_t instance, uint64_t t_ns,
		     uint64_t due_ns)
{
	pg_copy_row(c);
	pg_copy_s64(c, instance);
	pg_copy_time(c, t_ns / HOUR_NS * HOUR_NS);
	pg_copy_time(c, due_ns);
}

static void put_marks(struct pg_copy *c, const struct ingest_push *p, uint64_t now_ns,
		      uint64_t delay_ns)
{
	for (uint32_t k = 0; k < p->interval_count; k++) {
		const struct ingest_interval *i = &p->intervals[k];
		/* a node sends the rows of an instance consecutively */
		if (k && i[-1].instance == i->instance &&
		    i[-1].t0_ns / HOUR_NS == i->t0_ns / HOUR_NS)
			continue;
		put_mark(c, i->instance, i->t0_ns, now_ns + delay_ns);
	}
	for (uint32_t k = 0; k < p->node_count; k++) {
		const struct ingest_node *n = &p->nodes[k];
		if (n->type == REPORT_FINAL)
			put_mark(c, n->instance, n->ended_ns ? n->ended_ns - 1 : 0,
				 now_ns);
	}
}

int ingest_copy_marks(struct pg *pg, const struct ingest_group *g, uint64_t now_ns,
		      uint64_t delay_ms, struct err *err)
{
	struct pg_copy c;
	int rc = pg_copy_begin(
		&c, pg, "COPY dirty (instance, hour, due) FROM STDIN (FORMAT binary)",
		3, err);

	if (rc < 0)
		return rc;
	for (uint32_t i = 0; i < g->count; i++)
		put_marks(&c, g->pushes[i], now_ns, delay_ms * NSEC_PER_MSEC);
	return pg_copy_end(&c, NULL, err);
}

static void copy_node(struct pg_copy *c, const struct ingest_group *g, uint32_t push,
		      uint32_t seq, const struct ingest_node *n)
{
	const struct ingest_push *p = g->pushes[push];
	const struct ingest_use *u = &n->use;

	pg_copy_row(c);
	pg_copy_s32(c, (int32_t)seq);
	pg_copy_s16(c, n->type);
	pg_copy_bool(c, n->provisional);
	copy_text(c, p, n->manager);
	copy_text(c, p, n->cluster);
	copy_text(c, p, n->node);
	pg_copy_s64(c, n->instance);
	copy_text(c, p, n->boot);
	copy_text(c, p, n->uuid);
	pg_copy_s32(c, (int32_t)n->restarts);
	pg_copy_bool(c, n->guessed);
	put_s64(c, n->uid);
	put_s64(c, n->gid);
	put_s64(c, n->array_job);
	put_s64(c, n->array_task);
	pg_copy_time(c, n->started_ns);
	copy_time(c, n->ended_ns);
	copy_text(c, p, n->how_ended);
	copy_time(c, n->t1_ns);
	put_s32(c, n->cpus);
	put_s64(c, n->memory_bytes);
	put_s32(c, n->gpus);
	copy_text(c, p, n->gpu_list);
	copy_text(c, p, n->gpu_share);
	copy_text(c, p, n->hints);
	put_s64(c, u->observed_ms);
	put_s64(c, u->cpu_user_ns);
	put_s64(c, u->cpu_system_ns);
	put_s64(c, u->memory_mean_bytes);
	put_s64(c, u->memory_peak_bytes);
	put_s64(c, u->io_read_bytes);
	put_s64(c, u->io_write_bytes);
	put_s64(c, u->net_rx_bytes);
	put_s64(c, u->net_tx_bytes);
	put_s64(c, u->gpu_busy_ms);
	put_s64(c, u->gpu_memory_mean_kib);
	put_energy(c, u->energy_uj);
	put_label(c, g, push, u->label);
	pg_copy_s64(c, n->shift_ms);
	put_s64(c, n->boottime_ns);
}
#define NODE_COLUMN_COUNT 45

int ingest_copy_nodes(struct pg *pg, const struct ingest_group *g, struct err *err)
{
	struct pg_copy c;
	uint32_t seq = 0, all = 0;

	for (uint32_t i = 0; i < g->count; i++)
		all += g->pushes[i]->node_count;
	if (!all)
		return 0;
	int rc = pg_copy_begin(&c, pg, "COPY in_node FROM STDIN (FORMAT binary)",
			       NODE_COLUMN_COUNT, err);
	if (rc < 0)
		return rc;
	for (uint32_t i = 0; i < g->count; i++) {
		for (uint32_t k = 0; k < g->pushes[i]->node_count; k++)
			copy_node(&c, g, i, seq++, &g->pushes[i]->nodes[k]);
	}
	return pg_copy_end(&c, NULL, err);
}

static bool has_found(const struct ingest_group *g)
{
	for (uint32_t i = 0; i < g->count; i++) {
		for (uint32_t k = 0; k < g->pushes[i]->node_count; k++) {
			if (g->pushes[i]->nodes[k].found)
				return true;
		}
	}
	return false;
}

static void put_found(struct pg_copy *c, const struct ingest_node *n)
{
	if (!n->found)
		return;
	pg_copy_row(c);
	pg_copy_s64(c, n->instance);
	pg_copy_time(c, n->started_ns);
	pg_copy_s64(c, n->before_user_ns);
	pg_copy_s64(c, n->before_system_ns);
	put_s64(c, n->before_read_bytes);
	put_s64(c, n->before_write_bytes);
}
#define FOUND_COLUMN_COUNT 6

int ingest_copy_found(struct pg *pg, const struct ingest_group *g, struct err *err)
{
	struct pg_copy c;

	if (!has_found(g))
		return 0;
	int rc = pg_exec(pg, "SELECT ingest_found_staging()", NULL, err);
	if (rc == 0)
		rc = pg_copy_begin(&c, pg, "COPY in_found FROM STDIN (FORMAT binary)",
				   FOUND_COLUMN_COUNT, err);
	if (rc < 0)
		return rc;
	for (uint32_t i = 0; i < g->count; i++) {
		for (uint32_t k = 0; k < g->pushes[i]->node_count; k++)
			put_found(&c, &g->pushes[i]->nodes[k]);
	}
	rc = pg_copy_end(&c, NULL, err);
	return rc < 0 ? rc : pg_exec(pg, "SELECT ingest_found()", NULL, err);
}

static void copy_size(struct pg_copy *c, uint32_t seq, const struct ingest_node *n)
{
	if (n->millicpus == INGEST_NULL)
		return;
	pg_copy_row(c);
	pg_copy_s32(c, (int32_t)seq);
	pg_copy_s64(c, n->instance);
	pg_copy_s32(c, (int32_t)n->millicpus);
	copy_time(c, n->sized_ns);
}
#define SIZE_COLUMN_COUNT 4

int ingest_copy_sizes(struct pg *pg, const struct ingest_group *g, struct err *err)
{
	struct pg_copy c;
	uint32_t seq = 0, count = 0;

	for (uint32_t i = 0; i < g->count; i++) {
		for (uint32_t k = 0; k < g->pushes[i]->node_count; k++)
			count += g->pushes[i]->nodes[k].millicpus != INGEST_NULL;
	}
	if (!count)
		return 0;
	int rc = pg_exec(pg, "SELECT ingest_sizes_staging()", NULL, err);
	if (rc == 0)
		rc = pg_copy_begin(&c, pg, "COPY in_size FROM STDIN (FORMAT binary)",
				   SIZE_COLUMN_COUNT, err);
	if (rc < 0)
		return rc;
	for (uint32_t i = 0; i < g->count; i++) {
		for (uint32_t k = 0; k < g->pushes[i]->node_count; k++)
			copy_size(&c, seq++, &g->pushes[i]->nodes[k]);
	}
	rc = pg_copy_end(&c, NULL, err);
	return rc < 0 ? rc : pg_exec(pg, "SELECT ingest_sizes()", NULL, err);
}

/* The first value for an instance counts, as for its shift. */
int ingest_copy_over(struct pg *pg, const struct ingest_group *g, struct err *err)
{
	struct pg_copy c;
	uint32_t count = 0;

	for (uint32_t i = 0; i < g->count; i++) {
		for (uint32_t k = 0; k < g->pushes[i]->node_count; k++)
			count += g->pushes[i]->nodes[k].over_ns != 0;
	}
	if (!count)
		return 0;
	int rc = pg_exec(pg, "SELECT ingest_over_staging()", NULL, err);
	if (rc == 0)
		rc = pg_copy_begin(&c, pg, "COPY in_over FROM STDIN (FORMAT binary)", 2,
				   err);
	if (rc < 0)
		return rc;
	for (uint32_t i = 0; i < g->count; i++) {
		for (uint32_t k = 0; k < g->pushes[i]->node_count; k++) {
			const struct ingest_node *n = &g->pushes[i]->nodes[k];
			if (!n->over_ns)
				continue;
			pg_copy_row(&c);
			pg_copy_s64(&c, n->instance);
			pg_copy_time(&c, n->over_ns);
		}
	}
	rc = pg_copy_end(&c, NULL, err);
	return rc < 0 ? rc : pg_exec(pg, "SELECT ingest_over()", NULL, err);
}

static bool has_counts(const struct ingest_group *g)
{
	for (uint32_t i = 0; i < g->count; i++) {
		for (uint32_t k = 0; k < g->pushes[i]->node_count; k++) {
			if (g->pushes[i]->nodes[k].counts)
				return true;
		}
	}
	return false;
}

static void copy_counts(struct pg_copy *c, const struct ingest_push *p, uint32_t seq,
			const struct ingest_node *n)
{
	if (!n->counts)
		return;
	pg_copy_row(c);
	pg_copy_s32(c, (int32_t)seq);
	pg_copy_s64(c, n->instance);
	pg_copy_bool(c, n->provisional);
	copy_text(c, p, n->counts);
	copy_text(c, p, n->mounts);
}
#define COUNTS_COLUMN_COUNT 5

int ingest_copy_counts(struct pg *pg, const struct ingest_group *g, struct err *err)
{
	struct pg_copy c;
	uint32_t seq = 0;

	if (!has_counts(g))
		return 0;
	int rc = pg_exec(pg, "SELECT ingest_counts_staging()", NULL, err);
	if (rc == 0)
		rc = pg_copy_begin(&c, pg, "COPY in_counts FROM STDIN (FORMAT binary)",
				   COUNTS_COLUMN_COUNT, err);
	if (rc < 0)
		return rc;
	for (uint32_t i = 0; i < g->count; i++) {
		for (uint32_t k = 0; k < g->pushes[i]->node_count; k++)
			copy_counts(&c, g->pushes[i], seq++, &g->pushes[i]->nodes[k]);
	}
	rc = pg_copy_end(&c, NULL, err);
	return rc < 0 ? rc : pg_exec(pg, "SELECT ingest_counts()", NULL, err);
}

static void copy_step(struct pg_copy *c, const struct ingest_push *p, uint32_t seq,
		      const struct ingest_step *s)
{
	pg_copy_row(c);
	pg_copy_s32(c, (int32_t)seq);
	pg_copy_s64(c, s->instance);
	pg_copy_s64(c, s->step);
	copy_time(c, s->started_ns);
	copy_time(c, s->ended_ns);
	put_s32(c, s->exit_status);
	pg_copy_bool(c, s->lost);
	put_s32(c, s->cpus);
	put_s32(c, s->tasks);
	put_s64(c, s->cpu_user_ns);
	put_s64(c, s->cpu_system_ns);
	put_s64(c, s->memory_peak_bytes);
	put_s64(c, s->io_read_bytes);
	put_s64(c, s->io_write_bytes);
	put_energy(c, s->energy_uj);
	copy_text(c, p, s->command);
	copy_text(c, p, s->label);
}
#define STEP_COLUMN_COUNT 22

int ingest_copy_steps(struct pg *pg, const struct ingest_group *g, struct err *err)
{
	struct pg_copy c;
	uint32_t seq = 0, all = 0;

	for (uint32_t i = 0; i < g->count; i++)
		all += g->pushes[i]->step_count;
	if (!all)
		return 0;
	int rc = pg_copy_begin(&c, pg, "COPY in_step FROM STDIN (FORMAT binary)",
			       STEP_COLUMN_COUNT, err);
	if (rc < 0)
		return rc;
	for (uint32_t i = 0; i < g->count; i++) {
		for (uint32_t k = 0; k < g->pushes[i]->step_count; k++)
			copy_step(&c, g->pushes[i], seq++, &g->pushes[i]->steps[k]);
	}
	return pg_copy_end(&c, NULL, err);
}

static void put_job(struct pg_copy *c, const struct ingest_push *p,
		    const struct ingest_job *j)
{
	pg_copy_row(c);
	copy_text(c, p, j->cluster);
	copy_text(c, p, j->uuid);
	pg_copy_s32(c, (int32_t)j->restarts);
	pg_copy_time(c, j->submitted_s * NSEC_PER_SEC);
	pg_copy_time(c, j->part_s * NSEC_PER_SEC);
	pg_copy_s32(c, (int32_t)j->state);
	copy_text(c, p, j->record);
}
#define JOB_COLUMN_COUNT 7

int ingest_copy_jobs(struct pg *pg, const struct ingest_group *g, struct err *err)
{
	struct pg_copy c;
	uint32_t all = 0;

	for (uint32_t i = 0; i < g->count; i++)
		all += g->pushes[i]->job_count;
	if (!all)
		return 0;
	int rc = pg_copy_begin(&c, pg, "COPY in_job FROM STDIN (FORMAT binary)",
			       JOB_COLUMN_COUNT, err);
	if (rc < 0)
		return rc;
	for (uint32_t i = 0; i < g->count; i++) {
		for (uint32_t k = 0; k < g->pushes[i]->job_count; k++)
			put_job(&c, g->pushes[i], &g->pushes[i]->jobs[k]);
	}
	return pg_copy_end(&c, NULL, err);
}

int ingest_copy_seen(struct pg *pg, const struct ingest_group *g, struct err *err)
{
	struct pg_copy c;
	int rc = pg_copy_begin(&c, pg, "COPY in_seen FROM STDIN (FORMAT binary)", 3,
			       err);

	if (rc < 0)
		return rc;
	for (uint32_t i = 0; i < g->count; i++) {
		const struct ingest_push *p = g->pushes[i];
		for (uint32_t k = 0; k < p->seen_count; k++) {
			pg_copy_row(&c);
			copy_text(&c, p, p->seen[k].manager);
			copy_text(&c, p, p->seen[k].cluster);
			copy_text(&c, p, p->seen[k].node);
		}
	}
	return pg_copy_end(&c, NULL, err);
}
