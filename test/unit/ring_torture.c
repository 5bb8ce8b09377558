/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The ring under fire: producers that are killed, stopped and continued at random, a
 * consumer that is killed and started again, and a full account at the end: each
 * accepted record was seen exactly once and in order, each hole was counted.
 * At least 1 million accepted records and 2000 kills, 10 and 6000 with CHECK_LONG=1;
 * CEEMS_SEED= repeats the same orders (not the same interleaving). TAP. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "lib/clock.h"
#include "lib/parse.h"
#include "lib/records/ring.h"
#include "test/ring_files.h"

#define PRODUCERS 8
#define SLOTS 1024u
#define LIVES_MAX 65536 /* of producers: each kill begins a new one */
#define LIMIT_NS (250 * NSEC_PER_SEC)

/* What a producer wrote down about itself: it survives its death. A record carries the
 * number of those accepted before it, so the sequence of a life has no gaps. */
struct life {
	uint64_t tried;                   /* given to ring_publish */
	uint64_t accepted, dropped, torn; /* what came of them; at death one may lack */
};

/* What the consumer keeps, durable over its own deaths. An effect and its position
 * change together by a journal of two: the one with the higher turn counts. */
struct effect {
	uint64_t turn; /* effects so far */
	uint64_t pos;  /* + 1, of the record */
	uint64_t life, sequence;
};

struct shared {
	bool stop, producers_done;
	struct life lives[LIVES_MAX];
	struct effect effects[2];
	uint64_t seen[LIVES_MAX]; /* records of this life applied */
	uint64_t out_of_order, damaged, seen_again;
};

struct record_body {
	uint64_t life, sequence;
	unsigned char fill[600];
};

static char path[128];
static char folder[64];

static uint64_t next(uint64_t *seed)
{
	*seed ^= *seed >> 12;
	*seed ^= *seed << 25;
	*seed ^= *seed >> 27;
	return *seed * 2685821657736338717ull;
}

static int tests, failures;

static void __attribute__((format(printf, 2, 3))) check(bool good, const char *fmt, ...)
{
	va_list ap;

	printf("%s %d - ", good ? "ok" : "not ok", ++tests);
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	putchar('\n');
	failures += !good;
}

static void give_up(const char *what)
{
	printf("Bail out! %s: %s\n", what, strerror(errno));
	exit(1);
}

/* Dies with the tormentor: a test leaves nothing running. */
static pid_t start(void)
{
	pid_t parent = getpid(), pid = fork();

	if (pid < 0)
		give_up("fork");
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != parent)
			_exit(1);
	}
	return pid;
}

/* ---- a producer ------------------------------------------------------------------ */

static size_t body(struct record_body *b, uint64_t life, uint64_t sequence)
{
	b->life = life;
	b->sequence = sequence;
	size_t fill = (life * 31 + sequence * 7) % sizeof(b->fill);
	memset(b->fill, (int)(sequence & 0xff), fill);
	return offsetof(struct record_body, fill) + fill;
}

static void produce(struct shared *s, uint64_t number)
{
	struct life *me = &s->lives[number];
	struct record_body b;
	struct ring r;

	if (ring_attach(path, geteuid(), &r, NULL) < 0)
		_exit(1);
	while (!__atomic_load_n(&s->stop, __ATOMIC_RELAXED)) {
		size_t len = body(&b, number, me->accepted);
		__atomic_store_n(&me->tried, me->tried + 1, __ATOMIC_RELEASE);
		int rc = ring_publish(&r, &b, len);
		if (rc == 0) {
			__atomic_store_n(&me->accepted, me->accepted + 1,
					 __ATOMIC_RELEASE);
		} else if (rc == -ENOBUFS) {
			me->dropped++;
			sched_yield();
		} else {
			me->torn++;
		}
	}
	_exit(0);
}

/* ---- the consumer ---------------------------------------------------------------- */

static const struct effect *last_effect(const struct shared *s)
{
	return &s->effects[s->effects[1].turn > s->effects[0].turn];
}

/* Follows from the journal, so doing it again after a death changes nothing. */
static void settle(struct shared *s)
{
	const struct effect *e = last_effect(s);

	if (e->turn)
		__atomic_store_n(&s->seen[e->life], e->sequence + 1, __ATOMIC_RELEASE);
}

static bool whole(const struct record_body *b, size_t len)
{
	struct record_body wanted;

	return len >= offsetof(struct record_body, fill) && b->life < LIVES_MAX &&
	       len == body(&wanted, b->life, b->sequence) &&
	       memcmp(b, &wanted, len) == 0;
}

static void apply(struct shared *s, const struct record_body *b, size_t len,
		  uint64_t pos)
{
	const struct effect *was = last_effect(s);

	if (pos < was->pos) {
		s->seen_again++; /* applied before the last death: only to be released
				  */
		return;
	}
	if (!whole(b, len)) {
		s->damaged++;
		return;
	}
	if (b->sequence != s->seen[b->life]) /* lost, twice or overtaken */
		s->out_of_order++;
	struct effect *now = &s->effects[was == &s->effects[0]];
	__atomic_store_n(&now->turn, 0, __ATOMIC_RELEASE);
	now->pos = pos + 1;
	now->life = b->life;
	now->sequence = b->sequence;
	/* the one store that makes it so */
	__atomic_store_n(&now->turn, was->turn + 1, __ATOMIC_RELEASE);
	settle(s);
}

static void consume(struct shared *s)
{
	unsigned char buf[RING_RECORD_MAX];
	struct ring r;
	bool made = true;
	size_t len = 0;
	uint64_t pos = 0;

	/* its predecessor may not be quite dead yet */
	for (int i = 0; ring_consumer_open(path, SLOTS, &r, &made, NULL) < 0; i++) {
		if (i > 2000)
			_exit(1);
		usleep(1000);
	}
	if (made)
		_exit(2); /* a ring that was in order has been thrown away */
	settle(s);
	for (;;) {
		/* Before the look: a ring that is empty after the last producer has
		 * ended stays so, one that was empty before says nothing. */
		bool last = __atomic_load_n(&s->producers_done, __ATOMIC_ACQUIRE);
		int rc = ring_peek(&r, buf, &len, &pos);
		if (rc == 1) {
			struct record_body b;
			memcpy(&b, buf, len < sizeof(b) ? len : sizeof(b));
			apply(s, &b, len, pos);
			ring_release(&r, pos);
		} else if (rc == 0) {
			if (last)
				_exit(0);
			sched_yield();
		}
	}
}

/* ---- the tormentor --------------------------------------------------------------- */

struct torment {
	struct shared *s;
	uint64_t seed;
	pid_t producers[PRODUCERS], consumer;
	bool stopped[PRODUCERS];
	uint64_t lives; /* used so far */
	uint64_t producer_kills, consumer_kills, stops, strange;
};

static void start_producer(struct torment *t, unsigned i)
{
	uint64_t life = t->lives++;

	t->stopped[i] = false;
	t->producers[i] = start();
	if (t->producers[i] == 0)
		produce(t->s, life);
}

static void start_consumer(struct torment *t)
{
	t->consumer = start();
	if (t->consumer == 0)
		consume(t->s);
}

static void reap(struct torment *t, pid_t pid, int wanted)
{
	int status = 0;

	if (waitpid(pid, &status, 0) != pid || status != wanted) {
		printf("# process %d ended with status %#x\n", (int)pid, status);
		t->strange++;
	}
}

static void torment_producer(struct torment *t, unsigned i)
{
	if (t->stopped[i]) {
		kill(t->producers[i], SIGCONT);
		t->stopped[i] = false;
	} else if (next(&t->seed) % 2 || t->lives >= LIVES_MAX) {
		kill(t->producers[i], SIGSTOP);
		t->stopped[i] = true;
		t->stops++;
		return;
	}
	if (next(&t->seed) % 2 && t->lives < LIVES_MAX) { /* also while it is stopped */
		kill(t->producers[i], SIGKILL);
		if (next(&t->seed) % 2)
			usleep((useconds_t)(next(&t->seed) % 500)); /* a zombie */
		reap(t, t->producers[i], SIGKILL);
		t->producer_kills++;
		start_producer(t, i);
	}
}

static uint64_t accepted(const struct torment *t)
{
	uint64_t sum = 0;

	for (uint64_t i = 0; i < t->lives; i++)
		sum += __atomic_load_n(&t->s->lives[i].accepted, __ATOMIC_RELAXED);
	return sum;
}

/* False when the records did not come within the time: a guard against a hang. */
static bool torment(struct torment *t, uint64_t wanted, uint64_t kills)
{
	uint64_t end = clock_boottime_ns() + LIMIT_NS;

	while (clock_boottime_ns() < end) {
		usleep((useconds_t)(next(&t->seed) % 1000));
		torment_producer(t, (unsigned)(next(&t->seed) % PRODUCERS));
		if (next(&t->seed) % 8 == 0) {
			kill(t->consumer, SIGKILL);
			reap(t, t->consumer, SIGKILL);
			t->consumer_kills++;
			start_consumer(t);
		}
		if (t->producer_kills >= kills && accepted(t) >= wanted)
			return true;
	}
	return false;
}

/* Everybody may finish; the consumer ends when nothing is left. */
static void finish(struct torment *t)
{
	__atomic_store_n(&t->s->stop, true, __ATOMIC_RELEASE);
	for (unsigned i = 0; i < PRODUCERS; i++) {
		kill(t->producers[i], SIGCONT);
		reap(t, t->producers[i], 0);
	}
	__atomic_store_n(&t->s->producers_done, true, __ATOMIC_RELEASE);
	reap(t, t->consumer, 0);
}

struct account {
	uint64_t tried, accepted, dropped, torn, unsure, seen, most_unsure;
	uint64_t lost, invented;
};

static struct account add_up(const struct torment *t)
{
	struct account a = {0};

	for (uint64_t i = 0; i < t->lives; i++) {
		const struct life *l = &t->s->lives[i];
		uint64_t unsure = l->tried - l->accepted - l->dropped - l->torn;
		a.tried += l->tried;
		a.accepted += l->accepted;
		a.dropped += l->dropped;
		a.torn += l->torn;
		a.unsure += unsure;
		if (unsure > a.most_unsure)
			a.most_unsure = unsure;
		a.seen += t->s->seen[i];
		if (t->s->seen[i] < l->accepted)
			a.lost += l->accepted - t->s->seen[i];
		if (t->s->seen[i] > l->accepted + unsure)
			a.invented += t->s->seen[i] - l->accepted - unsure;
	}
	return a;
}

static void report(const struct torment *t, const struct ring *r, uint64_t wanted,
		   uint64_t ns)
{
	struct account a = add_up(t);
	const struct effect *e = last_effect(t->s);
	uint64_t holes = r->header->tail - e->turn;

	printf("# %ju records accepted of %ju tried in %.1f s, %ju dropped by a full "
	       "ring\n",
	       (uintmax_t)a.accepted, (uintmax_t)a.tried, (double)ns / 1e9,
	       (uintmax_t)a.dropped);
	printf("# %ju producers killed, %ju stopped; consumer killed %ju times, %ju "
	       "records seen again by the next\n",
	       (uintmax_t)t->producer_kills, (uintmax_t)t->stops,
	       (uintmax_t)t->consumer_kills, (uintmax_t)t->s->seen_again);
	printf("# %ju holes, %ju records published by one who died before noting it\n",
	       (uintmax_t)holes, (uintmax_t)(a.seen - a.accepted));
	check(t->strange == 0, "nobody ended but by our hand");
	check(a.accepted >= wanted, "%ju records were accepted", (uintmax_t)wanted);
	check(a.lost == 0 && t->s->out_of_order == 0,
	      "every accepted record was seen once and in order (%ju lost, %ju out of "
	      "order)",
	      (uintmax_t)a.lost, (uintmax_t)t->s->out_of_order);
	check(a.invented == 0 && a.most_unsure <= 1 && a.seen == e->turn,
	      "nothing else was seen (%ju)", (uintmax_t)a.invented);
	check(t->s->damaged == 0, "every record was whole (%ju were not)",
	      (uintmax_t)t->s->damaged);
	check(holes <= t->producer_kills && a.torn == 0,
	      "only the killed left holes, and nobody living was skipped (%ju torn)",
	      (uintmax_t)a.torn);
	/* a consumer that is killed between skipping and counting does not count */
	check(r->header->torn <= holes && holes - r->header->torn <= t->consumer_kills,
	      "every hole was counted (%ju of %ju)", (uintmax_t)r->header->torn,
	      (uintmax_t)holes);
	check(r->header->dropped >= a.dropped &&
		      r->header->dropped - a.dropped <= t->producer_kills,
	      "every drop was counted (%ju of %ju)", (uintmax_t)r->header->dropped,
	      (uintmax_t)a.dropped);
	check(r->header->tail == r->header->head, "the ring is empty");
}

int main(void)
{
	const char *wants = getenv("CHECK_LONG"), *seed = getenv("CEEMS_SEED");
	uint64_t wanted = wants && strcmp(wants, "1") == 0 ? 10000000 : 1000000;
	struct torment t = {.seed = clock_realtime_ns() | 1};
	struct ring r;
	struct err err;
	bool made;

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (seed && parse_u64(seed, &t.seed) < 0)
		give_up("CEEMS_SEED");
	printf("# seed %ju\n", (uintmax_t)t.seed);
	snprintf(folder, sizeof(folder), "%s/ceems-torture.XXXXXX",
		 access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
	if (!mkdtemp(folder))
		give_up("mkdtemp");
	snprintf(path, sizeof(path), "%s/ring", folder);
	t.s = mmap(NULL, sizeof(*t.s), PROT_READ | PROT_WRITE,
		   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (t.s == MAP_FAILED)
		give_up("mmap");
	if (ring_consumer_open(path, SLOTS, &r, &made, &err) < 0)
		give_up(err.text);
	ring_consumer_close(&r);
	start_consumer(&t);
	for (unsigned i = 0; i < PRODUCERS; i++)
		start_producer(&t, i);
	uint64_t begin = clock_boottime_ns();
	check(torment(&t, wanted, wanted > 1000000 ? 6000 : 2000),
	      "the records kept coming");
	finish(&t);
	uint64_t ns = clock_boottime_ns() - begin;
	if (ring_attach(path, geteuid(), &r, &err) == 0) {
		report(&t, &r, wanted, ns);
		ring_detach(&r);
	} else {
		check(false, "the ring is still one: %s", err.text);
	}
	remove_ring(path);
	rmdir(folder);
	printf("1..%d\n", tests);
	return failures != 0;
}
