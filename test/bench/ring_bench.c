/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a record costs its producer, and how many get through. JSON lines. */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "lib/clock.h"
#include "lib/records/record.h"
#include "lib/records/ring.h"
#include "test/ring_files.h"

#define ROUNDS 400
#define ROUND_RECORDS 1024
#define SINGLES (ROUNDS * ROUND_RECORDS)
#define PRODUCERS 4
#define RUN_SECONDS 3

static char folder[64], path[96];

static void give_up(const char *what)
{
	fprintf(stderr, "ring_bench: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void row(const char *metric, double value, const char *unit, const char *reach,
		int ok)
{
	printf("{\"bench\":\"ring\",\"metric\":\"%s\",\"value\":%.6g,\"unit\":\"%s\","
	       "\"reach\":\"%s\",\"ok\":%s}\n",
	       metric, value, unit, reach, ok ? "true" : "false");
	fflush(stdout);
}

/* The stop record of an ordinary step, as slurmstepd would write it. */
static size_t typical(unsigned char *wire)
{
	struct record r;

	record_init(&r, RECORD_STEP_STOP, MANAGER_SLURM);
	r.realtime_ns = clock_realtime_ns();
	r.boottime_ns = clock_boottime_ns();
	r.flags = RECORD_LAST;
	r.uid = r.gid = 1000;
	r.stepd_pid = 12345;
	r.tasks = r.cpus = r.step_cpus = 4;
	r.memory_bytes = 8ull << 30;
	r.counters = (struct record_counters){.source = COUNTERS_CGROUP_V1,
					      .has_memory = true,
					      .cpu_user_ns = 123456789,
					      .memory_peak_bytes = 1 << 20,
					      .read_ns = r.boottime_ns};
	record_set(&r, r.unit, sizeof(r.unit), "1234567");
	record_set(&r, r.node, sizeof(r.node), "node0123");
	record_set(&r, r.name, sizeof(r.name), "relax_structure");
	record_set(&r, r.account, sizeof(r.account), "physics");
	record_set(&r, r.partition, sizeof(r.partition), "batch");
	record_add_cgroup(&r, CGROUP_MEMORY, "/slurm/uid_1000/job_1234567/step_0");
	record_add_cgroup(&r, CGROUP_CPUACCT, "/slurm/uid_1000/job_1234567/step_0");
	int len = record_encode(&r, wire, RING_RECORD_MAX);
	return len > 0 ? (size_t)len : 0;
}

/* ---- one producer ---------------------------------------------------------------- */

static uint64_t ticks(void)
{
#if defined(__x86_64__)
	/* waits for what is before it, and lets nothing begin before it */
	uint32_t aux;
	uint64_t t = __builtin_ia32_rdtscp(&aux);
	__builtin_ia32_lfence();
	return t;
#else
	return clock_read_ns(CLOCK_MONOTONIC);
#endif
}

static double ticks_per_ns(void)
{
#if defined(__x86_64__)
	uint64_t n0 = clock_read_ns(CLOCK_MONOTONIC), t0 = ticks();
	usleep(100000);
	uint64_t n1 = clock_read_ns(CLOCK_MONOTONIC), t1 = ticks();
	return (double)(t1 - t0) / (double)(n1 - n0);
#else
	return 1;
#endif
}

static int by_value(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

static uint32_t cut(uint64_t t)
{
	return t > UINT32_MAX ? UINT32_MAX : (uint32_t)t;
}

static void drain(struct ring *r)
{
	unsigned char buf[RING_RECORD_MAX];
	uint64_t pos;
	size_t len;

	while (ring_peek(r, buf, &len, &pos) == 1)
		ring_release(r, pos);
}

static void one_producer(void)
{
	unsigned char wire[RING_RECORD_MAX];
	size_t len = typical(wire);
	struct ring consumer, producer;
	uint32_t *cost = calloc(SINGLES, sizeof(*cost));
	uint32_t *clock_cost = calloc(SINGLES, sizeof(*clock_cost));
	uint64_t batches = 0;
	bool made;
	struct err err;

	if (!cost || !clock_cost ||
	    ring_consumer_open(path, RING_SLOTS_DEFAULT, &consumer, &made, &err) < 0 ||
	    ring_attach(path, geteuid(), &producer, &err) < 0)
		give_up("open");
	double per_ns = ticks_per_ns();
	for (unsigned i = 0; i < ROUNDS; i++) {
		uint32_t *at = cost + i * ROUND_RECORDS;
		for (unsigned j = 0; j < ROUND_RECORDS; j++) {
			uint64_t t = ticks();
			if (ring_publish(&producer, wire, len) < 0)
				give_up("publish");
			at[j] = cut(ticks() - t);
		}
		drain(&consumer);
		/* the clock alone, in the same round */
		for (unsigned j = 0; j < ROUND_RECORDS; j++) {
			uint64_t t = ticks();
			clock_cost[i * ROUND_RECORDS + j] = cut(ticks() - t);
		}
		uint64_t t = ticks();
		for (unsigned j = 0; j < ROUND_RECORDS; j++)
			if (ring_publish(&producer, wire, len) < 0)
				give_up("publish");
		batches += ticks() - t;
		drain(&consumer);
	}
	qsort(cost, SINGLES, sizeof(*cost), by_value);
	qsort(clock_cost, SINGLES, sizeof(*clock_cost), by_value);
	double clock = clock_cost[SINGLES / 2];
	double p50 = (cost[SINGLES / 2] - clock) / per_ns;
	double p99 = (cost[SINGLES / 100 * 99] - clock) / per_ns;
	double mean = (double)batches / SINGLES / per_ns;
	row("record_bytes", (double)len, "bytes", "", 1);
	row("clock", clock / per_ns, "ns", "", 1);
	row("publish_p50", p50, "ns", "< 150", p50 < 150);
	row("publish_p99", p99, "ns", "< 1000", p99 < 1000);
	row("publish_mean_of_1024", mean, "ns", "", 1);
	ring_detach(&producer);
	ring_consumer_close(&consumer);
	free(cost);
	free(clock_cost);
}

/* ---- attach, publish, detach ----------------------------------------------------- */

static void whole_hook(void)
{
	enum { SENDS = 2000 };
	unsigned char wire[RING_RECORD_MAX];
	size_t len = typical(wire);
	uint32_t *cost = calloc(SENDS, sizeof(*cost));
	struct ring consumer;
	struct err err;
	bool made;

	if (!cost ||
	    ring_consumer_open(path, RING_SLOTS_DEFAULT, &consumer, &made, &err) < 0)
		give_up("open");
	for (unsigned i = 0; i < SENDS; i++) {
		uint64_t t = clock_read_ns(CLOCK_MONOTONIC);
		if (ring_send(path, geteuid(), wire, len, &err) < 0)
			give_up(err.text);
		cost[i] = cut(clock_read_ns(CLOCK_MONOTONIC) - t);
	}
	qsort(cost, SENDS, sizeof(*cost), by_value);
	row("send_p50", cost[SENDS / 2], "ns", "", 1);
	row("send_p99", cost[SENDS / 100 * 99], "ns", "", 1);
	ring_consumer_close(&consumer);
	free(cost);
}

/* ---- four producers, one consumer, two cores ------------------------------------- */

struct shared {
	bool stop;
	uint64_t accepted[PRODUCERS], dropped[PRODUCERS], seen;
};

static void produce(struct shared *s, unsigned number)
{
	unsigned char wire[RING_RECORD_MAX];
	size_t len = typical(wire);
	struct ring r;

	if (ring_attach(path, geteuid(), &r, NULL) < 0)
		_exit(1);
	while (!__atomic_load_n(&s->stop, __ATOMIC_RELAXED)) {
		if (ring_publish(&r, wire, len) == 0) {
			s->accepted[number]++;
		} else {
			s->dropped[number]++;
			sched_yield();
		}
	}
	_exit(0);
}

static void consume_until_stopped(struct shared *s, struct ring *r, uint64_t end_ns)
{
	unsigned char buf[RING_RECORD_MAX];
	struct record rec;
	uint64_t pos;
	size_t len;

	for (uint64_t n = 0;; n++) {
		int rc = ring_peek(r, buf, &len, &pos);
		if (rc == 1) {
			if (record_decode(buf, len, &rec, NULL) == 0)
				s->seen++;
			ring_release(r, pos);
		} else if (s->stop) {
			return;
		} else {
			sched_yield();
		}
		if (n % 1024 == 0 && clock_read_ns(CLOCK_MONOTONIC) > end_ns)
			return;
	}
}

/* The first two CPUs that we may use. */
static int two_cpus(void)
{
	cpu_set_t all, two;
	int n = 0;

	CPU_ZERO(&two);
	if (sched_getaffinity(0, sizeof(all), &all) < 0)
		return 0;
	for (int i = 0; i < CPU_SETSIZE && n < 2; i++)
		if (CPU_ISSET(i, &all)) {
			CPU_SET(i, &two);
			n++;
		}
	sched_setaffinity(0, sizeof(two), &two);
	return n;
}

static double cpu_seconds(void)
{
	struct rusage self, children;

	getrusage(RUSAGE_SELF, &self);
	getrusage(RUSAGE_CHILDREN, &children);
	const struct timeval *const parts[] = {&self.ru_utime, &self.ru_stime,
					       &children.ru_utime, &children.ru_stime};
	double sum = 0;
	for (size_t i = 0; i < 4; i++)
		sum += (double)parts[i]->tv_sec + (double)parts[i]->tv_usec / 1e6;
	return sum;
}

static void many_producers(void)
{
	pid_t pids[PRODUCERS];
	struct ring r;
	struct err err;
	bool made;
	struct shared *s = mmap(NULL, sizeof(*s), PROT_READ | PROT_WRITE,
				MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	remove_ring(path);
	if (s == MAP_FAILED ||
	    ring_consumer_open(path, RING_SLOTS_DEFAULT, &r, &made, &err) < 0)
		give_up("open");
	int cpus = two_cpus();
	double cpu = cpu_seconds();
	for (unsigned i = 0; i < PRODUCERS; i++) {
		pids[i] = fork();
		if (pids[i] < 0)
			give_up("fork");
		if (pids[i] == 0) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			produce(s, i);
		}
	}
	uint64_t begin = clock_read_ns(CLOCK_MONOTONIC);
	consume_until_stopped(s, &r, begin + RUN_SECONDS * NSEC_PER_SEC);
	double seconds = (double)(clock_read_ns(CLOCK_MONOTONIC) - begin) / 1e9;
	uint64_t in_time = s->seen;
	__atomic_store_n(&s->stop, true, __ATOMIC_RELAXED);
	for (unsigned i = 0; i < PRODUCERS; i++)
		waitpid(pids[i], NULL, 0);
	consume_until_stopped(s, &r, UINT64_MAX);
	uint64_t accepted = 0, dropped = 0;
	for (unsigned i = 0; i < PRODUCERS; i++) {
		accepted += s->accepted[i];
		dropped += s->dropped[i];
	}
	double rate = (double)in_time / seconds;
	cpu = cpu_seconds() - cpu;
	row("cpus", cpus, "1", "", 1);
	/* on a busy machine this says what the next one would have been */
	row("four_producers_records_per_cpu_second", (double)accepted / cpu, "1/s", "",
	    1);
	row("four_producers_records_per_second", rate, "1/s", "> 500000",
	    rate > 500000);
	row("four_producers_accepted_lost", (double)accepted - (double)s->seen, "1",
	    "0", accepted == s->seen);
	row("four_producers_refused_ratio",
	    (double)dropped / (double)(accepted + dropped), "1", "", 1);
	ring_consumer_close(&r);
}

int main(void)
{
	/* as in /run: memory, not a disk */
	snprintf(folder, sizeof(folder), "%s/ceems-bench.XXXXXX",
		 access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
	if (!mkdtemp(folder))
		give_up("mkdtemp");
	snprintf(path, sizeof(path), "%s/ring", folder);
	one_producer();
	whole_hook();
	many_producers();
	remove_ring(path);
	return rmdir(folder) < 0;
}
