/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reports of nodes (lib/records/report.h) as rows. Impossible amounts are refused:
 * their sums would not fit into the database. */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aggregator/ingest/ingest_decode.h"
#include "lib/clock.h"

#define HOUR_NS (3600 * NSEC_PER_SEC)
#define BYTES_MAX (1ull << 56)
#define MEMORY_MAX (1ull << 50)
#define COUNT_MAX (1u << 30)
/* A megawatt per node, and a second for rounding */
#define UJ_PER_MS_MAX 1000000000ull
#define CPUS_MAX 65536ull
#define GPUS_MAX 1024ull
#define TIME_MAX_NS (1ull << 62) /* in the year 2116 */

static const char *const domains[] = {"package", "dram", "psys",
				      "gpu",     "host", "other"};

/* A number with 0 for unknown */
static int64_t count_of(uint64_t v, uint64_t max)
{
	return v && v <= max ? (int64_t)v : INGEST_NULL;
}

static int64_t id_of(uint32_t v)
{
	return v == RECORD_NO_VAL ? INGEST_NULL : (int64_t)v;
}

/* Only Slurm's nodes know a unit's owner. */
static int64_t owner_of(const struct report *r, uint32_t number)
{
	return r->manager == MANAGER_SLURM ? id_of(number) : INGEST_NULL;
}

struct limits {
	uint64_t ms;
	struct err *err;
	int rc;
};

static int64_t limit_value(struct limits *l, bool known, uint64_t v, uint64_t max,
			   const char *what)
{
	if (!known)
		return INGEST_NULL;
	if (v > max && l->rc == 0)
		l->rc = err_set(l->err, -EINVAL, "%s: %llu in %llu ms is impossible",
				what, (unsigned long long)v, (unsigned long long)l->ms);
	return (int64_t)v;
}

/* Appends to the label for the sources of each domain: sorted, each pair once. A source
 * consists of letters and digits; our senders have no others. */
static void add_source(char *label, size_t size, unsigned domain, const char *source)
{
	size_t n = strlen(label);
	size_t at = n;

	n += (size_t)snprintf(label + n, size - n, "%s%s=", n ? "," : "",
			      domains[domain]);
	for (const char *s = source; *s && n + 1 < size; s++)
		label[n++] = isalnum((unsigned char)*s) || strchr("_.-", *s) ? *s : '_';
	if (n + 1 >= size)
		n = at; /* no room: leave it out */
	label[n] = '\0';
}

static void add_energy(const struct report *r, struct limits *l, struct ingest_push *p,
		       struct ingest_use *u)
{
	char label[INGEST_LABEL_BYTES] = "";

	for (unsigned d = 0; d < 6; d++) {
		uint64_t uj = 0;
		bool known = false;
		for (uint32_t i = 0; i < r->energy_count; i++) {
			if (r->energy[i].domain != d + 1)
				continue;
			add_source(label, sizeof(label), d, r->energy[i].source);
			if (__builtin_add_overflow(uj, r->energy[i].uj, &uj))
				uj = UINT64_MAX;
			known = true;
		}
		u->energy_uj[d] = limit_value(
			l, known, uj, (l->ms + 1000) * UJ_PER_MS_MAX, domains[d]);
	}
	u->label = *label ? ingest_push_label(p, label) : -1;
}

static int take_use(const struct report *r, struct ingest_push *p,
		    struct ingest_use *ret, struct err *err)
{
	const struct report_use *u = &r->use;
	uint64_t ms = r->t1_ns / NSEC_PER_MSEC - r->t0_ns / NSEC_PER_MSEC;
	struct limits l = {.ms = ms, .err = err};
	uint64_t cpu_max = (ms + 1000) * CPUS_MAX * NSEC_PER_MSEC;
	bool has_cpu = u->known & REPORT_HAS_CPU;
	bool has_io = u->known & REPORT_HAS_IO;
	bool has_net = u->known & REPORT_HAS_NETWORK;

	if (ms > INT64_MAX / NSEC_PER_MSEC / CPUS_MAX)
		cpu_max = INT64_MAX;
	ingest_use_clear(ret);
	uint64_t observed = r->observed_ns / NSEC_PER_MSEC;
	ret->observed_ms = (int64_t)(observed < ms ? observed : ms);
	ret->cpu_user_ns =
		limit_value(&l, has_cpu, u->cpu_user_ns, cpu_max, "CPU time");
	ret->cpu_system_ns =
		limit_value(&l, has_cpu, u->cpu_system_ns, cpu_max, "CPU time");
	ret->memory_mean_bytes =
		limit_value(&l, u->known & REPORT_HAS_MEMORY_AVERAGE,
			    u->memory_average_bytes, MEMORY_MAX, "memory");
	ret->memory_peak_bytes =
		limit_value(&l, u->known & REPORT_HAS_MEMORY_PEAK, u->memory_peak_bytes,
			    MEMORY_MAX, "memory");
	ret->io_read_bytes = limit_value(&l, has_io, u->io_read_bytes, BYTES_MAX, "IO");
	ret->io_write_bytes =
		limit_value(&l, has_io, u->io_write_bytes, BYTES_MAX, "IO");
	ret->net_rx_bytes =
		limit_value(&l, has_net, u->network_rx_bytes, BYTES_MAX, "network");
	ret->net_tx_bytes =
		limit_value(&l, has_net, u->network_tx_bytes, BYTES_MAX, "network");
	ret->gpu_busy_ms = limit_value(&l, u->known & REPORT_HAS_GPU_BUSY,
				       u->gpu_busy_ns / NSEC_PER_MSEC,
				       (ms + 1000) * GPUS_MAX, "GPU time");
	ret->gpu_memory_mean_kib = limit_value(&l, u->known & REPORT_HAS_GPU_MEMORY,
					       u->gpu_memory_bytes / 1024,
					       MEMORY_MAX / 1024, "GPU memory");
	for (unsigned k = 0; k < COUNT_GPU_FIGURES && r->type == REPORT_INTERVAL; k++)
		ret->gpu_active_ms[k] = limit_value(
			&l, report_count_known(&r->counts, COUNT_GPU_FIGURE + k),
			r->counts.values[COUNT_GPU_FIGURE + k] / NSEC_PER_MSEC,
			(ms + 1000) * GPUS_MAX, "GPU time");
	add_energy(r, &l, p, ret);
	return l.rc;
}

/* The part of v for [from, to) of a window of total ns; all parts add up to v. */
static int64_t part_of(int64_t v, uint64_t from, uint64_t to, uint64_t total)
{
	unsigned __int128 n = (unsigned __int128)(uint64_t)v;

	if (v == INGEST_NULL)
		return v;
	return (int64_t)(uint64_t)(n * to / total) -
	       (int64_t)(uint64_t)(n * from / total);
}

static void cut_use(const struct ingest_use *u, uint64_t from, uint64_t to,
		    uint64_t total, struct ingest_use *ret)
{
	*ret = *u; /* means and peaks are unchanged */
	ret->observed_ms = part_of(u->observed_ms, from, to, total);
	ret->cpu_user_ns = part_of(u->cpu_user_ns, from, to, total);
	ret->cpu_system_ns = part_of(u->cpu_system_ns, from, to, total);
	ret->io_read_bytes = part_of(u->io_read_bytes, from, to, total);
	ret->io_write_bytes = part_of(u->io_write_bytes, from, to, total);
	ret->net_rx_bytes = part_of(u->net_rx_bytes, from, to, total);
	ret->net_tx_bytes = part_of(u->net_tx_bytes, from, to, total);
	ret->gpu_busy_ms = part_of(u->gpu_busy_ms, from, to, total);
	for (unsigned k = 0; k < COUNT_GPU_FIGURES; k++)
		ret->gpu_active_ms[k] = part_of(u->gpu_active_ms[k], from, to, total);
	for (unsigned d = 0; d < 6; d++)
		ret->energy_uj[d] = part_of(u->energy_uj[d], from, to, total);
}

/* A row for each hour that the window overlaps. */
static int put_intervals(const struct report *r, const struct ingest_use *use,
			 struct ingest_push *p, struct err *err)
{
	uint64_t total = r->t1_ns - r->t0_ns;
	uint64_t t0 = r->t0_ns;

	while (t0 < r->t1_ns) {
		uint64_t hour_end = (t0 / HOUR_NS + 1) * HOUR_NS;
		uint64_t t1 = hour_end < r->t1_ns ? hour_end : r->t1_ns;
		struct ingest_interval *i = ingest_push_interval(p);
		if (!i)
			return err_set(err, -EINVAL, "too many rows for one request");
		i->instance = (int64_t)r->instance;
		i->t0_ns = t0;
		i->ms = (uint32_t)(t1 / NSEC_PER_MSEC - t0 / NSEC_PER_MSEC);
		cut_use(use, t0 - r->t0_ns, t1 - r->t0_ns, total, &i->use);
		t0 = t1;
	}
	return 0;
}

static ingest_text put_hints(struct ingest_push *p, const struct report *r)
{
	const struct report_hints *h = &r->hints;
	const struct {
		const char *key, *value;
	} all[] = {{"name", h->name},
		   {"account", h->account},
		   {"partition", h->partition},
		   {r->flags & REPORT_SLUID ? "cgroup_sluid" : "sluid", h->sluid}};
	struct buf b;
	ingest_text t = 0;

	buf_init(&b, 8192);
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		if (!*all[i].value)
			continue;
		buf_printf(&b, "%c\"%s\":", b.len ? ',' : '{', all[i].key);
		buf_put_json(&b, all[i].value, strlen(all[i].value));
	}
	if (b.len) {
		buf_putc(&b, '}');
		if (!buf_error(&b))
			t = ingest_push_put(p, b.data, b.len);
	}
	if (buf_error(&b) == -ENOMEM)
		p->no_memory = true;
	buf_done(&b);
	return t;
}

static ingest_text put_push_buf(struct ingest_push *p, const struct buf *b)
{
	if (buf_error(b) == -ENOMEM)
		p->no_memory = true;
	return b->len && !buf_error(b) ? ingest_push_put(p, b->data, b->len) : 0;
}

/* A user can make the kernel count nearly anything (doc/ebpf.md): impossible numbers
 * are not known, but the report counts. */
static void put_counts(struct ingest_push *p, const struct report *r,
		       struct ingest_node *n)
{
	struct report_counts c = {0};
	bool mounts = true;

	for (unsigned i = 0; i < REPORT_COUNTS; i++) {
		if (report_count_known(&r->counts, i) &&
		    r->counts.values[i] <= BYTES_MAX)
			report_count_set(&c, i, r->counts.values[i]);
	}
	if (r->type != REPORT_FINAL || !report_counts_any(&c))
		return;
	auto_buf struct buf b = BUF_INIT, m = BUF_INIT;
	report_counts_put_json(&b, &c);
	n->counts = put_push_buf(p, &b);
	for (unsigned k = 0; k < COUNT_FILES; k++)
		mounts &= report_count_known(&c, COUNT_READ_BYTES + k);
	for (uint32_t i = 0; i < r->mount_count; i++)
		for (unsigned k = 0; k < COUNT_FILES; k++)
			mounts &= r->mounts[i].values[k] <= BYTES_MAX;
	if (!mounts)
		return;
	report_mounts_put_json(&m, r->mounts, r->mount_count);
	n->mounts = put_push_buf(p, &m);
}

static ingest_text put_push_text(struct ingest_push *p, const char *s)
{
	return ingest_push_put(p, s, strlen(s));
}

/* Whether Postgres accepts the boot id as a uuid */
static bool is_uuid(const char *s)
{
	size_t n = strspn(s, "0123456789abcdefABCDEF-");

	if (n != 36 || s[n])
		return false;
	for (size_t i = 0; i < n; i++) {
		bool dash = i == 8 || i == 13 || i == 18 || i == 23;
		if (dash != (s[i] == '-'))
			return false;
	}
	return true;
}

static void take_before(const struct report_before *b, bool found,
			struct ingest_node *n)
{
	bool io = b->known & REPORT_HAS_IO;

	n->found = found && b->known & REPORT_HAS_CPU;
	n->before_user_ns = (int64_t)b->cpu_user_ns;
	n->before_system_ns = (int64_t)b->cpu_system_ns;
	n->before_read_bytes = io ? count_of(b->io_read_bytes, BYTES_MAX) : INGEST_NULL;
	n->before_write_bytes =
		io ? count_of(b->io_write_bytes, BYTES_MAX) : INGEST_NULL;
}

struct ingest_place ingest_place_of(const struct ingest_rules *rules,
				    const struct ingest_push *p)
{
	return (struct ingest_place){
		.clock = p->has_clock ? &p->clock : NULL,
		.now_ns = rules->now_ns,
		.oldest_ns = rules->oldest_ns,
		.sure = rules->sure,
	};
}

/* An end is told when all is over. */
static uint64_t sized_ns_of(const struct report *r)
{
	uint64_t at = r->type == REPORT_FINAL ? r->ended_ns : r->sized_ns;

	return at >= r->started_ns && at <= TIME_MAX_NS ? at : 0;
}

/* The shift of its times, and when it was over; 0: not flagged */
struct placed {
	int64_t shift_ms;
	uint64_t over_ns;
	bool said; /* the database knows all that an interval says of its unit */
};

static int put_node_row(const struct report *r, const struct placed *placed,
			const struct ingest_use *use, struct ingest_push *p,
			struct err *err)
{
	struct ingest_node *n = ingest_push_node(p);

	if (!n)
		return err_set(err, -EINVAL, "too many rows for one request");
	*n = (struct ingest_node){
		.type = r->type,
		.provisional = r->flags & REPORT_PROVISIONAL,
		.guessed = r->flags & REPORT_DISCOVERED,
		.instance = (int64_t)r->instance,
		.restarts = r->restarts,
		.uid = owner_of(r, r->uid),
		.gid = owner_of(r, r->gid),
		.array_job = id_of(r->array_job),
		.array_task = id_of(r->array_task),
		.started_ns = r->started_ns,
		.ended_ns = r->ended_ns,
		.t1_ns = r->t1_ns,
		.boottime_ns = count_of(r->started_boottime_ns, INT64_MAX),
		.shift_ms = placed->shift_ms,
		.over_ns = placed->over_ns,
		.cpus = count_of(r->cpus, COUNT_MAX),
		.millicpus = r->manager == MANAGER_K8S
				     ? count_of(r->millicpus, COUNT_MAX)
				     : INGEST_NULL,
		.sized_ns = sized_ns_of(r),
		.memory_bytes = count_of(r->memory_bytes, MEMORY_MAX),
		.gpus = count_of(r->gpu_count, COUNT_MAX),
		.manager = put_push_text(p, record_manager_name(r->manager)),
		.cluster = put_push_text(p, r->cluster),
		.node = put_push_text(p, r->node),
		.boot = is_uuid(r->boot_id) ? put_push_text(p, r->boot_id) : 0,
		.uuid = put_push_text(p, r->unit),
		.how_ended = put_push_text(p, report_end_name(r->end)),
		.gpu_list = put_push_text(p, r->gpus),
		.gpu_share = put_push_text(p, r->gpu_share),
		.hints = put_hints(p, r),
		.use = *use,
	};
	take_before(&r->before, r->flags & REPORT_FOUND, n);
	put_counts(p, r, n);
	return 0;
}

static int put_step_rows(const struct report *r, struct ingest_push *p, struct err *err)
{
	for (uint32_t i = 0; i < r->step_count; i++) {
		const struct report_step *s = &r->steps[i];
		struct ingest_step *row = ingest_push_step(p);
		if (!row)
			return err_set(err, -EINVAL, "too many rows for one request");
		*row = (struct ingest_step){
			.instance = (int64_t)r->instance,
			.step = s->step,
			.started_ns = s->started_ns,
			.ended_ns = s->flags & REPORT_STEP_RUNNING ? 0 : s->ended_ns,
			.exit_status = s->flags & REPORT_STEP_RUNNING
					       ? INGEST_NULL
					       : count_of(s->exit_status, INT32_MAX),
			.cpus = count_of(s->cpus, COUNT_MAX),
			.tasks = count_of(s->tasks, COUNT_MAX),
			.lost = s->flags & REPORT_STEP_LOST,
			.cpu_user_ns = count_of(s->cpu_user_ns, INT64_MAX),
			.cpu_system_ns = count_of(s->cpu_system_ns, INT64_MAX),
			.memory_peak_bytes = count_of(s->memory_peak_bytes, MEMORY_MAX),
			.io_read_bytes = count_of(s->io_read_bytes, BYTES_MAX),
			.io_write_bytes = count_of(s->io_write_bytes, BYTES_MAX),
			.command = put_push_text(p, s->command),
			.label = put_push_text(p, s->label),
		};
		if (row->exit_status == INGEST_NULL && row->ended_ns && !s->exit_status)
			row->exit_status = 0;
		for (unsigned d = 0; d < 6; d++)
			row->energy_uj[d] = count_of(s->energy_uj[d + 1], BYTES_MAX);
	}
	return 0;
}

/* Whether it is known to be an instance of another node. */
static bool is_foreign(const struct report *r, const struct ingest_rules *rules,
		       const struct known_place *known)
{
	return known->owner &&
	       known->owner != known_owner(rules->known, r->cluster, r->node);
}

/* Moves r to its place. */
static int place_report(struct report *r, const struct ingest_rules *rules,
			struct ingest_push *p, struct placed *ret, struct err *err)
{
	const struct ingest_place at = ingest_place_of(rules, p);
	int64_t instance = (int64_t)r->instance;
	struct known_place known = {0}, together;
	bool has = rules->known && known_has(rules->known, instance, &known);
	int foreign =
		has && is_foreign(r, rules, &known)
			? 1
			: ingest_push_is_anothers(p, instance, r->cluster, r->node);

	if (foreign < 0)
		return err_set(err, foreign, "out of memory");
	if (foreign) {
		ingest_push_foreign(p, instance, r->cluster, r->node);
		return err_set(err, -EINVAL, "it is told of by another node");
	}
	if (ingest_place_latest(r) > TIME_MAX_NS)
		return err_set(err, -EINVAL, "an impossible time");
	struct ingest_placed where = ingest_place_find(r, &at, has ? &known : NULL);
	if (rules->placed && known_has(rules->placed, instance, &together))
		where.shift_ms = together.shift_ms;
	else
		p->entangled |= where.move || (!has && where.shift_ms);
	ret->shift_ms = where.shift_ms;
	ret->over_ns = ingest_place_over(r, &at, where.shift_ms, where.move);
	/* who is moved, or may be by somebody else, says so each time */
	ret->said = has && where.aged && known.owner && !known.flagged &&
		    !known.shift_ms && !where.shift_ms;
	ingest_place_move(r, where.shift_ms);
	p->moved += where.shift_ms != 0;
	return 0;
}

static int refuse_time(struct ingest_push *p, struct err *err, const char *what,
		       uint64_t number, const char *unit)
{
	p->untimely++;
	return err_set(err, -EINVAL, "%s: %llu %s", what, (unsigned long long)number,
		       unit);
}

/* Refuses times that are no longer kept, or are in the future */
static int check_report_times(const struct report *r, const struct ingest_rules *rules,
			      struct ingest_push *p, struct err *err)
{
	uint64_t latest = ingest_place_latest(r), now = rules->now_ns;

	if (latest > now && latest - now > INGEST_AHEAD_NS)
		return refuse_time(p, err, "ahead of the aggregator's clock",
				   (latest - now) / NSEC_PER_SEC, "s");
	if (r->type != REPORT_INTERVAL)
		return 0;
	if (r->t0_ns < rules->oldest_ns)
		return refuse_time(p, err, "older than what is kept",
				   (now - r->t0_ns) / NSEC_PER_SEC / 86400, "days");
	if (r->t1_ns - r->t0_ns > INGEST_INTERVAL_MAX_NS)
		return err_set(err, -EINVAL, "an interval of more than 32 days");
	return 0;
}

int ingest_report(struct report *r, const struct ingest_rules *rules,
		  struct ingest_push *p, struct err *err)
{
	struct ingest_use use;
	struct placed placed = {0};

	/* who a unit is of is decided by the names that are written */
	utf8_clean(r->cluster, strlen(r->cluster));
	utf8_clean(r->node, strlen(r->node));
	int rc = place_report(r, rules, p, &placed, err);
	if (rc == 0)
		rc = check_report_times(r, rules, p, err);
	ingest_use_clear(&use);
	if (rc == 0 && r->type != REPORT_START)
		rc = take_use(r, p, &use, err);
	if (rc < 0)
		return rc;
	ingest_push_see(p, record_manager_name(r->manager), r->cluster, r->node);
	if (r->type == REPORT_INTERVAL)
		rc = put_intervals(r, &use, p, err);
	if (rc == 0 && (r->type != REPORT_INTERVAL || !placed.said))
		rc = put_node_row(r, &placed, &use, p, err);
	else if (rc == 0)
		p->said++;
	return rc < 0 ? rc : put_step_rows(r, p, err);
}
