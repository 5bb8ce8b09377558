/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A fake ceemsd, for tests of what reads the energy page: a consumer of a ring that
 * writes a page. What is fake is the power: a node that takes exactly so many watts
 * when idle and so many more per busy CPU, so that every joule is known. What is real:
 * the records of the plugin, the control groups of the jobs and the page.
 *
 *	energy_daemon --ring=PATH --page=PATH --truth=FILE [--cgroup=/sys/fs/cgroup]
 *		[--interval-ms=1000] [--dynamic-mw=10000] [--idle-mw=4000]
 *		[--cpus=2] [--capacity=64]
 *
 * Idle power is charged to jobs by their allocated CPUs of the node's, of a job to
 * those of its steps that run, by theirs. The truth is one JSON object per line, again
 * at each tick: {"node":uj,"idle":uj,"rows":[{"job":,"step":,"pid":,"uj":,"cpu_ns":}]}
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/buf.h"
#include "lib/cgroup.h"
#include "lib/clock.h"
#include "lib/fs.h"
#include "lib/parse.h"
#include "lib/records/energy_page.h"
#include "lib/records/record.h"
#include "lib/records/ring.h"

#define ROWS_MAX 256

struct row {
	struct energy_page_row page;
	struct cgroup_fds *cgroup;
	char node[RECORD_NAME_MAX];
	uint32_t cpus;
	bool ended;
};

struct settings {
	const char *ring, *page, *truth, *cgroup;
	uint64_t interval_ms, dynamic_mw, idle_mw, cpus, capacity;
};

struct fake {
	struct settings s;
	struct ring ring;
	struct energy_page_writer *page;
	int cgroupfd;
	struct cgroup_layout layout;
	struct row rows[ROWS_MAX];
	uint32_t count;
	uint64_t tick_ns, node_uj, idle_uj;
};

static volatile sig_atomic_t stopped;

static void stop(int sig)
{
	(void)sig;
	stopped = 1;
}

static struct row *find(struct fake *f, uint32_t job, uint32_t step, uint32_t pid)
{
	for (uint32_t i = 0; i < f->count; i++) {
		struct energy_page_row *p = &f->rows[i].page;
		if (p->job == job && p->step == step && p->stepd_pid == pid)
			return &f->rows[i];
	}
	return NULL;
}

/* The row of the job that a step belongs to: of the same slurmd */
static struct row *job_of(struct fake *f, const struct row *step)
{
	for (uint32_t i = 0; i < f->count; i++)
		if (f->rows[i].page.job == step->page.job &&
		    f->rows[i].page.step == ENERGY_PAGE_JOB &&
		    strcmp(f->rows[i].node, step->node) == 0)
			return &f->rows[i];
	return NULL;
}

static struct row *add(struct fake *f, const struct record *r, uint32_t job,
		       uint32_t step, uint32_t cpus, bool whole_job)
{
	struct row *row = find(f, job, step, r->stepd_pid);
	if (row || f->count == ROWS_MAX)
		return row;
	row = &f->rows[f->count++];
	*row = (struct row){.cpus = cpus};
	memcpy(row->node, r->node, sizeof(row->node));
	row->page.job = job;
	row->page.step = step;
	row->page.stepd_pid = r->stepd_pid;
	row->page.alloc_mcpu = cpus * 1000;
	row->cgroup = cgroup_fds_new(f->cgroupfd, &f->layout, r->cgroups,
				     r->cgroup_count, whole_job);
	return row;
}

static uint64_t dynamic_uj(const struct fake *f, uint64_t ns)
{
	return (uint64_t)((unsigned __int128)f->s.dynamic_mw * ns / 1000000);
}

/* CPU time goes to the row, and, of a job, to the node */
static void use(struct fake *f, struct row *row, uint64_t cpu_ns)
{
	if (cpu_ns <= row->page.cpu_ns)
		return;
	uint64_t before = dynamic_uj(f, row->page.cpu_ns);
	uint64_t uj = dynamic_uj(f, cpu_ns) - before;
	row->page.cpu_ns = cpu_ns;
	row->page.total_uj += uj;
	if (row->page.step == ENERGY_PAGE_JOB)
		f->node_uj += uj;
}

/* A job has used what its steps have, also those whose groups are gone. */
static void use_of_steps(struct fake *f, struct row *job)
{
	uint64_t ns = 0;
	for (uint32_t i = 0; i < f->count; i++)
		if (f->rows[i].page.step != ENERGY_PAGE_JOB &&
		    job_of(f, &f->rows[i]) == job)
			ns += f->rows[i].page.cpu_ns;
	use(f, job, ns);
}

static void read_row(struct fake *f, struct row *row)
{
	struct cgroup_cpu cpu;
	if (!row->ended && row->cgroup && cgroup_read_cpu(row->cgroup, &cpu, NULL) == 0)
		use(f, row, cpu.user_ns + cpu.system_ns);
}

static void take(struct fake *f, const struct record *r)
{
	uint32_t job;
	if (parse_u32(r->unit, &job) < 0)
		return;
	bool job_row = r->step == RECORD_STEP_EXTERN;
	uint32_t step = job_row ? ENERGY_PAGE_JOB : r->step;
	if (r->type == RECORD_STEP_START) {
		add(f, r, job, step, r->step_cpus, job_row);
		return;
	}
	struct row *row = find(f, job, step, r->stepd_pid);
	if (r->type != RECORD_STEP_STOP || !row)
		return;
	read_row(f, row);
	if (!job_row && r->counters.source != COUNTERS_NONE)
		use(f, row, r->counters.cpu_user_ns + r->counters.cpu_system_ns);
	row->ended = r->flags & RECORD_LAST;
	if (row->ended)
		row->page.flags |= ENERGY_PAGE_ENDED;
}

static void drain(struct fake *f)
{
	unsigned char buf[RING_RECORD_MAX];
	struct record r;
	size_t len;
	uint64_t pos;
	for (;;) {
		int rc = ring_peek(&f->ring, buf, &len, &pos);
		if (rc == 0)
			return;
		if (rc == 2)
			continue;
		if (record_decode(buf, len, &r, NULL) == 0)
			take(f, &r);
		ring_release(&f->ring, pos);
	}
}

static uint32_t running_cpus(struct fake *f, const struct row *job)
{
	uint32_t n = 0;
	for (uint32_t i = 0; i < f->count; i++)
		if (!f->rows[i].ended && f->rows[i].page.step != ENERGY_PAGE_JOB &&
		    job_of(f, &f->rows[i]) == job)
			n += f->rows[i].cpus;
	return n;
}

/* Idle power of the time since the tick before */
static void idle(struct fake *f, uint64_t now)
{
	uint64_t node = f->s.idle_mw * (now - f->tick_ns) / 1000000;
	uint64_t charged = 0;
	f->node_uj += node;
	for (uint32_t i = 0; i < f->count; i++) {
		struct row *row = &f->rows[i];
		if (row->ended)
			continue;
		if (row->page.step == ENERGY_PAGE_JOB) {
			uint64_t uj = node * row->cpus / f->s.cpus;
			row->page.total_uj += uj;
			charged += uj;
			continue;
		}
		const struct row *job = job_of(f, row);
		uint32_t all = job ? running_cpus(f, job) : 0;
		if (all)
			row->page.total_uj += node * job->cpus / f->s.cpus * row->cpus /
					      (all > job->cpus ? all : job->cpus);
	}
	f->idle_uj += node - charged;
}

static void put_truth(struct fake *f)
{
	auto_buf struct buf b = BUF_INIT;
	struct err err;
	buf_printf(&b, "{\"node\":%" PRIu64 ",\"idle\":%" PRIu64 ",\"rows\":[",
		   f->node_uj, f->idle_uj);
	for (uint32_t i = 0; i < f->count; i++) {
		struct energy_page_row *p = &f->rows[i].page;
		buf_printf(&b,
			   "%s{\"job\":%u,\"step\":%u,\"pid\":%u,\"uj\":%" PRIu64
			   ",\"cpu_ns\":%" PRIu64 ",\"ended\":%s}",
			   i ? "," : "", p->job, p->step, p->stepd_pid, p->total_uj,
			   p->cpu_ns, f->rows[i].ended ? "true" : "false");
	}
	buf_printf(&b, "]}\n");
	if (fs_write_atomic_at(AT_FDCWD, f->s.truth, b.data, b.len, 0644, &err) < 0)
		fprintf(stderr, "energy_daemon: %s\n", err.text);
}

static void tick(struct fake *f)
{
	struct err err;
	drain(f);
	uint64_t now = clock_boottime_ns();
	for (uint32_t i = 0; i < f->count; i++)
		read_row(f, &f->rows[i]);
	for (uint32_t i = 0; i < f->count; i++)
		if (f->rows[i].page.step == ENERGY_PAGE_JOB)
			use_of_steps(f, &f->rows[i]);
	idle(f, now);
	struct energy_page_node n = {
		.tick_ns = now,
		.interval_ns = f->s.interval_ms * NSEC_PER_MSEC,
		.idle_uj = f->idle_uj,
		.total_mask = 1u << ENERGY_PAGE_HOST,
		.dynamic_uj_per_cpu_s = f->s.dynamic_mw * 1000,
		.idle_uw_per_cpu = f->s.idle_mw * 1000 / f->s.cpus,
	};
	n.uj[ENERGY_PAGE_HOST] = f->node_uj;
	n.uw[ENERGY_PAGE_HOST] = f->s.idle_mw * 1000;
	snprintf(n.source[ENERGY_PAGE_HOST], ENERGY_PAGE_SOURCE_MAX, "fake");
	f->tick_ns = now;
	energy_page_begin(f->page, &n);
	for (uint32_t i = 0; i < f->count; i++)
		(void)energy_page_add(f->page, &f->rows[i].page);
	if (energy_page_commit(f->page, &err) < 0)
		fprintf(stderr, "energy_daemon: %s\n", err.text);
	put_truth(f);
}

static bool parse_args(int argc, char *argv[], struct settings *s)
{
	static const struct option opts[] = {
		{"ring", 1, NULL, 'r'},        {"page", 1, NULL, 'p'},
		{"truth", 1, NULL, 't'},       {"cgroup", 1, NULL, 'g'},
		{"interval-ms", 1, NULL, 'i'}, {"dynamic-mw", 1, NULL, 'd'},
		{"idle-mw", 1, NULL, 'l'},     {"cpus", 1, NULL, 'c'},
		{"capacity", 1, NULL, 'k'},    {0}};
	int c;
	while ((c = getopt_long(argc, argv, "", opts, NULL)) != -1) {
		const char **text = c == 'r'   ? &s->ring
				    : c == 'p' ? &s->page
				    : c == 't' ? &s->truth
				    : c == 'g' ? &s->cgroup
					       : NULL;
		uint64_t *n = c == 'i'   ? &s->interval_ms
			      : c == 'd' ? &s->dynamic_mw
			      : c == 'l' ? &s->idle_mw
			      : c == 'c' ? &s->cpus
			      : c == 'k' ? &s->capacity
					 : NULL;
		if (text)
			*text = optarg;
		else if (!n || parse_u64(optarg, n) < 0)
			return false;
	}
	return s->ring && s->page && s->truth && s->cpus && s->interval_ms;
}

int main(int argc, char *argv[])
{
	static struct fake f = {.s = {.cgroup = "/sys/fs/cgroup",
				      .interval_ms = 1000,
				      .dynamic_mw = 10000,
				      .idle_mw = 4000,
				      .cpus = 2,
				      .capacity = 64}};
	struct err err = {""};
	bool made;

	if (!parse_args(argc, argv, &f.s)) {
		fprintf(stderr, "usage: energy_daemon --ring= --page= --truth= ...\n");
		return 2;
	}
	f.cgroupfd = fs_opendir_at(AT_FDCWD, f.s.cgroup, &err);
	if (f.cgroupfd < 0 || cgroup_probe(f.cgroupfd, &f.layout, &err) < 0 ||
	    ring_consumer_open(f.s.ring, RING_SLOTS_DEFAULT, &f.ring, &made, &err) <
		    0 ||
	    energy_page_writer_open(f.s.page, (uint32_t)f.s.capacity, &f.page, &err) <
		    0) {
		fprintf(stderr, "energy_daemon: %s\n", err.text);
		return 1;
	}
	signal(SIGTERM, stop);
	signal(SIGINT, stop);
	f.tick_ns = clock_boottime_ns();
	while (!stopped) {
		tick(&f);
		/* records are taken at once, as ceemsd does */
		for (uint64_t ms = 0; ms < f.s.interval_ms && !stopped; ms += 20) {
			usleep(20000);
			drain(&f);
		}
	}
	energy_page_writer_free(f.page);
	ring_consumer_close(&f.ring);
	return 0;
}
