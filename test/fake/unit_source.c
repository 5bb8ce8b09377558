/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A fake spank_ceems.so, as a program: puts the records of made-up jobs into a ring, at
 * a given rate, with counters that add up to known sums. What is fake: there is no
 * Slurm, no process and no control group behind the jobs. What is real: the ring, the
 * record format and the way a plugin sends (attach, publish, detach for each record),
 * so that tests and benches load ceemsd as thousands of short jobs would.
 *
 *	unit_source --ring=PATH --count=N [--rate=UNITS_PER_S] [--producers=P]
 *		[--first-id=J] [--steps=S] [--node=NAME] [--running=R]
 *
 * Each unit is S steps, each a STEP_START and two STEP_STOPs (from the last task and
 * from the exit hook), as the plugin sends them. The last R units are only started. A
 * record that the full ring refuses is tried again until it is taken, unless
 * --lossy=1. Prints one JSON object: units, records, refused, cpu_user_ns,
 * cpu_system_ns, io_read_bytes, seconds.
 */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/clock.h"
#include "lib/parse.h"
#include "lib/records/record.h"
#include "lib/records/ring.h"

struct settings {
	const char *ring, *node;
	uint64_t count, rate, producers, first_id, steps, running, lossy;
};

/* Shared by all producers */
struct sums {
	uint64_t records, refused, cpu_user_ns, cpu_system_ns, io_read_bytes;
};

static bool put(const struct settings *s, struct sums *sums, const struct record *r)
{
	unsigned char data[RING_RECORD_MAX];
	struct err err;
	int len = record_encode(r, data, sizeof(data));
	if (len < 0)
		return false;
	/* 100 s at most: whoever should consume is dead */
	for (int tries = 0; tries < 100000; tries++) {
		int rc = ring_send(s->ring, geteuid(), data, (size_t)len, &err);
		if (rc == 0) {
			__atomic_add_fetch(&sums->records, 1, __ATOMIC_RELAXED);
			return true;
		}
		__atomic_add_fetch(&sums->refused, 1, __ATOMIC_RELAXED);
		if (s->lossy)
			return true;
		if (rc != -ENOBUFS && rc != -ESTALE && rc != -ENOENT) {
			fprintf(stderr, "unit_source: %s\n", err_text(&err));
			return false;
		}
		usleep(1000);
	}
	fprintf(stderr, "unit_source: the ring stays full\n");
	return false;
}

static struct record base(const struct settings *s, enum record_type type, uint64_t id,
			  uint32_t step)
{
	struct record r;
	char text[RECORD_ID_MAX];
	record_init(&r, type, MANAGER_SLURM);
	snprintf(text, sizeof(text), "%" PRIu64, id);
	record_set(&r, r.unit, sizeof(r.unit), text);
	record_set(&r, r.node, sizeof(r.node), s->node);
	record_set(&r, r.name, sizeof(r.name), "unit_source");
	r.step = step;
	r.uid = 1000;
	r.gid = 100;
	r.cpus = 1;
	r.tasks = 1;
	r.memory_bytes = 1 << 20;
	r.realtime_ns = clock_realtime_ns();
	r.boottime_ns = clock_boottime_ns();
	return r;
}

static bool send_step(const struct settings *s, struct sums *sums, uint64_t id,
		      uint32_t step, bool ends)
{
	struct record r = base(s, RECORD_STEP_START, id, step);
	if (!put(s, sums, &r))
		return false;
	if (!ends)
		return true;
	r = base(s, RECORD_STEP_STOP, id, step);
	r.counters.source = COUNTERS_CGROUP_V1;
	r.counters.cpu_user_ns = 1000000 + id % 1000;
	r.counters.cpu_system_ns = 100000 + step;
	r.counters.has_io = true;
	r.counters.io_read_bytes = 4096;
	if (!put(s, sums, &r))
		return false;
	r.flags |= RECORD_LAST;
	r.counters.cpu_user_ns += 7;
	if (!put(s, sums, &r))
		return false;
	__atomic_add_fetch(&sums->cpu_user_ns, r.counters.cpu_user_ns,
			   __ATOMIC_RELAXED);
	__atomic_add_fetch(&sums->cpu_system_ns, r.counters.cpu_system_ns,
			   __ATOMIC_RELAXED);
	__atomic_add_fetch(&sums->io_read_bytes, r.counters.io_read_bytes,
			   __ATOMIC_RELAXED);
	return true;
}

static bool produce(const struct settings *s, struct sums *sums, uint64_t nth)
{
	uint64_t begun = clock_boottime_ns();
	for (uint64_t i = nth; i < s->count; i += s->producers) {
		bool ends = i + s->running < s->count;
		for (uint32_t step = 0; step < s->steps; step++) {
			if (!send_step(s, sums, s->first_id + i, step, ends))
				return false;
		}
		if (!s->rate)
			continue;
		uint64_t due = begun + (i + 1) * NSEC_PER_SEC / s->rate;
		uint64_t now = clock_boottime_ns();
		if (due > now) {
			struct timespec nap = {(time_t)((due - now) / NSEC_PER_SEC),
					       (long)((due - now) % NSEC_PER_SEC)};
			nanosleep(&nap, NULL);
		}
	}
	return true;
}

static bool parse_args(int argc, char *argv[], struct settings *s)
{
	static const struct option opts[] = {
		{"ring", 1, NULL, 'r'},      {"node", 1, NULL, 'N'},
		{"count", 1, NULL, 'c'},     {"rate", 1, NULL, 'R'},
		{"producers", 1, NULL, 'p'}, {"first-id", 1, NULL, 'i'},
		{"steps", 1, NULL, 's'},     {"running", 1, NULL, 'l'},
		{"lossy", 1, NULL, 'o'},     {0}};
	int c;
	while ((c = getopt_long(argc, argv, "", opts, NULL)) != -1) {
		uint64_t *n = c == 'c'   ? &s->count
			      : c == 'R' ? &s->rate
			      : c == 'p' ? &s->producers
			      : c == 'i' ? &s->first_id
			      : c == 's' ? &s->steps
			      : c == 'l' ? &s->running
			      : c == 'o' ? &s->lossy
					 : NULL;
		if (c == 'r')
			s->ring = optarg;
		else if (c == 'N')
			s->node = optarg;
		else if (!n || parse_u64(optarg, n) < 0)
			return false;
	}
	return s->ring && s->count && s->producers && s->producers <= 64 && s->steps;
}

int main(int argc, char *argv[])
{
	struct settings s = {.node = "", .producers = 1, .first_id = 1, .steps = 1};
	if (!parse_args(argc, argv, &s)) {
		fprintf(stderr, "usage: unit_source --ring=PATH --count=N [--rate=] "
				"[--producers=] [--first-id=] [--steps=] [--running=] "
				"[--node=] [--lossy=1]\n");
		return 2;
	}
	struct sums *sums = mmap(NULL, sizeof(*sums), PROT_READ | PROT_WRITE,
				 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (sums == MAP_FAILED)
		return 1;
	uint64_t begun = clock_boottime_ns();
	for (uint64_t p = 1; p < s.producers; p++) {
		pid_t pid = fork();
		if (pid < 0)
			return 1;
		if (pid == 0)
			_exit(produce(&s, sums, p) ? 0 : 1);
	}
	bool good = produce(&s, sums, 0);
	int status;
	while (wait(&status) > 0)
		good = good && status == 0;
	uint64_t ns = clock_boottime_ns() - begun;
	printf("{\"units\":%" PRIu64 ",\"records\":%" PRIu64 ",\"refused\":%" PRIu64
	       ",\"cpu_user_ns\":%" PRIu64 ",\"cpu_system_ns\":%" PRIu64
	       ",\"io_read_bytes\":%" PRIu64 ",\"seconds\":%.3f}\n",
	       s.count, sums->records, sums->refused, sums->cpu_user_ns,
	       sums->cpu_system_ns, sums->io_read_bytes, (double)ns / 1e9);
	return good ? 0 : 1;
}
