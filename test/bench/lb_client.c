/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The load balancer's own HTTP client beside libcurl's multi interface, which would
 * take its place: both relay answers of a local backend in one thread, 16 requests at a
 * time over kept connections, in turn and each time in a new process; libcurl with
 * buffers of its default length, and of 128 kB, which is what ours reads at once.
 * Processor time of one request, with the sends of the relay and without; memory that
 * is added at the most, relay buffers included, by answers of 10 MB to readers that are
 * slow. Then what each does with the answers of a backend that lies, and with whoever
 * asks next. */
#include <curl/curl.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/clock.h"
#include "lib/fs.h"
#include "lib/log.h"
#include "test/bench/lb_client.h"
#include "test/bench/lb_client_ends.h"

#define ROUNDS 7
#define KINDS 3
#define KEPT_BYTES (32 << 20)
#define LONG_MS 600000
#define LIE_MS 1000

static const struct relay_kind *const kinds[KINDS] = {&relay_own, &relay_curl,
						      &relay_curl_large};

struct work {
	const char *name;
	uint64_t size;
	unsigned requests;
	bool relayed, slow;
	bool keeps; /* malloc() gives nothing back to the kernel meanwhile */
};

static const struct work works[] = {
	{"1kB", 1000, 20000, false, false, false},
	{"1kB_relayed", 1000, 20000, true, false, false},
	{"100kB", 100000, 4000, false, false, false},
	{"100kB_kept_heap", 100000, 4000, false, false, true},
	{"100kB_relayed", 100000, 4000, true, false, false},
	{"100kB_relayed_kept_heap", 100000, 4000, true, false, true},
	{"10MB_slow_readers", 10000000, 32, true, true, false},
};

struct cost {
	uint64_t cpu_ns, kb; /* of all requests; memory added at the most */
	unsigned bad;
};

size_t relay_part(struct relay_slot *s, const char *data, size_t len)
{
	ssize_t n = (ssize_t)len;

	if (s->sink >= 0)
		n = send(s->sink, data, len, MSG_NOSIGNAL | MSG_DONTWAIT);
	if (n <= 0)
		return 0;
	s->strange |= data[0] != 'x' || data[n - 1] != 'x';
	s->got += (uint64_t)n;
	return (size_t)n;
}

static uint64_t read_status_kb(const char *key)
{
	char text[8192], *at;
	uint64_t kb = 0;

	if (fs_read_at(AT_FDCWD, "/proc/self/status", text, sizeof(text), NULL) > 0 &&
	    (at = strstr(text, key)))
		kb = strtoull(at + strlen(key), NULL, 10);
	return kb;
}

/* From now on VmHWM is of what comes. */
static void forget_peak(void)
{
	int fd = open("/proc/self/clear_refs", O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return;
	(void)!write(fd, "5", 1);
	close(fd);
}

static uint64_t read_cpu_ns(void)
{
	return clock_read_ns(CLOCK_PROCESS_CPUTIME_ID);
}

/* In a process of its own. */
static struct cost measure_here(const struct relay_kind *k, const struct work *w,
				uint16_t port, int (*pairs)[2])
{
	struct relay_run r = {.port = port,
			      .timeout_ms = LONG_MS,
			      .buffer = k->buffer,
			      .slots = SLOTS};
	struct cost c = {.bad = 1};
	char path[32];

	if (w->keeps) {
		mallopt(M_TRIM_THRESHOLD, KEPT_BYTES);
		mallopt(M_MMAP_THRESHOLD, KEPT_BYTES);
	}
	for (unsigned i = 0; i < SLOTS; i++)
		r.slot[i].sink = w->relayed ? pairs[i][0] : -1;
	if (k->open(&r) < 0)
		return c;
	r.path = "/1000"; /* all connections are made, and libraries loaded */
	r.todo = SLOTS;
	k->run(&r);
	forget_peak();
	uint64_t kb = read_status_kb("VmRSS:"), ns = read_cpu_ns();
	snprintf(path, sizeof(path), "/%" PRIu64, w->size);
	r.path = path;
	r.todo = w->requests;
	k->run(&r);
	c.cpu_ns = read_cpu_ns() - ns;
	c.kb = read_status_kb("VmHWM:") - kb;
	c.bad = r.bad;
	for (unsigned i = 0; i < SLOTS; i++)
		c.bad += r.slot[i].got != w->size || r.slot[i].strange;
	k->close(&r);
	return c;
}

static struct cost measure_relay(const struct relay_kind *k, const struct work *w,
				 uint16_t port)
{
	struct cost c = {.bad = 1};
	int pairs[SLOTS][2], result[2];
	pid_t readers = -1;

	if (pipe2(result, O_CLOEXEC) < 0)
		return c;
	for (unsigned i = 0; w->relayed && i < SLOTS; i++) {
		if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pairs[i]) < 0)
			return c;
	}
	if (w->relayed)
		readers = start_readers(pairs, SLOTS, w->slow);
	pid_t pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		c = measure_here(k, w, port, pairs);
		(void)fs_write_all(result[1], &c, sizeof(c));
		_exit(0);
	}
	close(result[1]);
	for (unsigned i = 0; w->relayed && i < SLOTS; i++)
		close(pairs[i][0]);
	if (read(result[0], &c, sizeof(c)) != sizeof(c))
		c.bad = 1;
	close(result[0]);
	if (pid > 0)
		waitpid(pid, NULL, 0);
	if (readers > 0)
		waitpid(readers, NULL, 0);
	return c;
}

static void put_row(const char *name, const char *what, double value, const char *unit)
{
	printf("{\"bench\":\"lb_client\",\"metric\":\"%s_%s\",\"value\":%.4g,"
	       "\"unit\":\"%s\",\"reach\":null,\"ok\":null}\n",
	       name, what, value, unit);
	fflush(stdout);
}

static int compare_costs(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static int measure_work(const struct work *w, uint16_t port)
{
	uint64_t cpu[KINDS][ROUNDS], kb[KINDS] = {0};
	uint64_t best = UINT64_MAX;
	const size_t middle = ROUNDS / 2;
	char what[64];

	for (unsigned round = 0; round < ROUNDS; round++) {
		for (unsigned i = 0; i < KINDS; i++) {
			struct cost c = measure_relay(kinds[i], w, port);
			if (c.bad) {
				fprintf(stderr, "lb_client: %s: %s: %u went wrong\n",
					w->name, kinds[i]->name, c.bad);
				return -EIO;
			}
			cpu[i][round] = c.cpu_ns;
			kb[i] = c.kb > kb[i] ? c.kb : kb[i];
		}
	}
	for (unsigned i = 0; i < KINDS; i++) {
		qsort(cpu[i], ROUNDS, sizeof(cpu[i][0]), compare_costs);
		snprintf(what, sizeof(what), "cpu_%s", kinds[i]->name);
		put_row(w->name, what, (double)cpu[i][middle] / 1e3 / w->requests,
			"us");
		if (i > 0 && cpu[i][middle] < best)
			best = cpu[i][middle];
	}
	put_row(w->name, "cpu_own_over_best_curl",
		(double)cpu[0][middle] / (double)best, "x");
	for (unsigned i = 0; i < KINDS; i++) {
		snprintf(what, sizeof(what), "memory_%s", kinds[i]->name);
		put_row(w->name, what, (double)kb[i] / 1024, "MiB");
	}
	return 0;
}

/* ---- a backend that lies --------------------------------------------------------- */

static void ask_once(const struct relay_kind *k, struct relay_run *r, const char *path)
{
	r->path = path;
	r->todo = 1;
	k->run(r);
}

/* How it ended, in a word; *ret_good: as it must. */
static const char *judge_lie(const struct lie *l, const struct relay_slot *s,
			     bool *ret_good)
{
	enum lie_end end = s->ok ? LIE_PASSED : s->got ? LIE_CUT : LIE_REFUSED;

	*ret_good = end == l->must || (l->must == LIE_CUT && end == LIE_REFUSED) ||
		    (l->must == LIE_WHOLE && end != LIE_CUT);
	return end == LIE_PASSED ? "passed on" : end == LIE_CUT ? "cut" : "refused";
}

static int tell_lies(const struct relay_kind *k, uint16_t port)
{
	struct relay_run r = {
		.port = port, .timeout_ms = LIE_MS, .buffer = k->buffer, .slots = 1};
	unsigned wrong = 0, poisoned = 0;
	char path[32];

	for (unsigned i = 0; i < SLOTS; i++)
		r.slot[i].sink = -1;
	if (k->open(&r) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < lie_count; i++) {
		bool good;

		snprintf(path, sizeof(path), "/lie/%zu", i);
		ask_once(k, &r, path);
		const char *end = judge_lie(&lies[i], &r.slot[0], &good);
		if (!good)
			printf("%s: %s: %s\n", k->name, lies[i].what, end);
		wrong += !good;
		ask_once(k, &r, "/1000");
		if (!r.slot[0].ok || r.slot[0].strange || r.slot[0].got != 1000) {
			printf("%s: %s: whoever comes next has no answer of her own\n",
			       k->name, lies[i].what);
			poisoned++;
		}
	}
	k->close(&r);
	put_row("lies_not_ended_as_they_must", k->name, wrong, "answers");
	put_row("next_answers_that_are_not_ones_own", k->name, poisoned, "answers");
	return 0;
}

int main(void)
{
	uint16_t port = 0;
	int rc = 0;

	signal(SIGPIPE, SIG_IGN);
	log_init("lb_client", LOG_LOGFMT, LOG_WARNING);
	curl_global_init(CURL_GLOBAL_DEFAULT);
	pid_t backend = start_backend(&port);
	if (backend < 0)
		return 1;
	for (size_t i = 0; i < sizeof(works) / sizeof(works[0]) && rc == 0; i++)
		rc = measure_work(&works[i], port);
	put_row("lies", "told", (double)lie_count, "answers");
	for (unsigned i = 0; i < 2 && rc == 0; i++)
		rc = tell_lies(kinds[i], port);
	kill(backend, SIGKILL);
	waitpid(backend, NULL, 0);
	return rc < 0;
}
