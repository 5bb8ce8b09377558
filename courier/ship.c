/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The task that empties spools into an aggregator: what is sent when, the meaning of
 * refusals, and metrics. */
#include "courier/ship.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/clock.h"

#define LOOK_MS 1000u /* how often spools are checked */
#define RETURN_NS (300 * NSEC_PER_SEC)
#define SUMMARY_NS (300 * NSEC_PER_SEC)
#define BATCHES_MAX 64u /* of one spool at a time, then the next spool */
/* If an aggregator refuses so many consecutive records, it is rather the aggregator's
 * fault: further ones wait. */
#define ASIDE_ROW_MAX 16u

struct ship {
	struct courier *courier;
	struct ship_post *post;
	struct ship_urls urls;
	uint64_t offset_ms, interval_ms;
	unsigned failures, aside_row;
	uint32_t retry_after_s;
	uint64_t wait_ms, said_ns;
	struct log_repeat refused_log, count_log;
	struct child_shipping totals, said;
	size_t spool_count;
	struct ship_spool spools[];
};

static const char *const default_child[] = {"/var/spool/ceems/ceemsd"};
static const char *const default_alone[] = {"/var/spool/ceems/jobcomp"};

static void ship_close(void *state)
{
	struct ship *t = state;

	if (!t)
		return;
	for (size_t i = 0; i < t->spool_count; i++)
		ship_spool_done(&t->spools[i]);
	ship_post_free(t->post);
	free(t);
}

static int ship_open(struct courier *c, void **ret_state, struct err *err)
{
	const struct options *o = &c->options;
	const char *const *folders = (const char *const *)o->ship_spools.items;
	size_t n = o->ship_spools.count;

	if (o->aggregator_urls.count == 0)
		return -ENODEV;
	if (n == 0) {
		folders = c->link >= 0 ? default_child : default_alone;
		n = 1;
	}
	struct ship *t = calloc(1, sizeof(*t) + n * sizeof(t->spools[0]));
	if (!t)
		return err_set(err, -ENOMEM, "out of memory");
	t->courier = c;
	t->spool_count = n;
	for (size_t i = 0; i < n; i++)
		t->spools[i].folder = folders[i];
	t->interval_ms = o->ship_interval_ms;
	t->offset_ms = ship_offset_ms(c->hostname, t->interval_ms);
	t->wait_ms = LOOK_MS;
	int rc = ship_post_new(c, BATCH_PATH, &t->post, err);
	if (rc < 0) {
		ship_close(t);
		return rc;
	}
	t->urls.count = o->aggregator_urls.count;
	*ret_state = t;
	return 0;
}

static bool is_due(const struct ship *t, struct ship_spool *s, uint64_t now_ns)
{
	if (s->batch.count == 0)
		return false;
	if (!s->due_ns) {
		uint64_t real_ms = clock_realtime_ns() / NSEC_PER_MSEC;
		s->due_ns = now_ns + NSEC_PER_MSEC * ship_until_slot_ms(real_ms,
									t->offset_ms,
									t->interval_ms);
	}
	return s->urgent || s->full || t->courier->options.once || now_ns >= s->due_ns;
}

static void say_refused(struct ship *t, const struct ship_spool *s,
			const struct ship_answer *a, uint32_t count)
{
	uint64_t now_ns = clock_boottime_ns();

	t->totals.accepted += a->accepted;
	t->totals.refused += a->refused;
	if (a->accepted + a->refused != count && log_repeat_due(&t->count_log, now_ns))
		log_warn(
			"ship: of %u records the aggregator accepted %u and refused %u",
			count, a->accepted, a->refused);
	if (a->refused == 0 || !log_repeat_due(&t->refused_log, now_ns))
		return;
	for (uint32_t i = 0; i < a->reason_count; i++) {
		uint32_t k = a->reasons[i].index;
		uint32_t at = k ? s->entries[k - 1].end : BATCH_MAGIC_BYTES;
		/* after its length; its first byte is its type */
		log_warn("ship: record %" PRIu64 " (type %u) is refused: %s",
			 s->entries[k].seq, (unsigned char)s->batch.plain.data[at + 4],
			 a->reasons[i].text);
	}
}

/* Tries them in turn until an answer makes further attempts pointless. */
static int ask_all(struct ship *t, const struct ship_spool *s, uint32_t n,
		   struct ship_answer *ret, struct err *err)
{
	size_t order[SHIP_URLS_MAX];
	uint64_t now_ns = clock_boottime_ns();
	int rc = -EINVAL;

	ship_urls_order(&t->urls, now_ns, RETURN_NS, order);
	for (size_t i = 0; i < t->urls.count; i++) {
		struct ship_answer a = {.verdict = SHIP_LATER};
		rc = ship_post_do(t->post, order[i], s->batch.plain.data,
				  ship_spool_bytes(s, n), n, &a, err);
		if (rc == -E2BIG || atomic_load(&t->courier->stop))
			return rc < 0 ? rc : -ECANCELED;
		t->totals.posts++;
		if (rc == 0 && (a.verdict == SHIP_TAKEN || a.verdict == SHIP_HALVE)) {
			if (order[i] != t->urls.current)
				log_info("ship: --aggregator.url number %zu answers",
					 order[i] + 1);
			t->urls.current = order[i];
			*ret = a;
			return 0;
		}
		t->totals.failures++;
		if (order[i] == 0)
			t->urls.first_tried_ns = now_ns;
		if (a.retry_after_s > t->retry_after_s)
			t->retry_after_s = a.retry_after_s;
		rc = rc < 0 ? rc : -EPROTO;
	}
	return rc;
}

/* Sends the first records of the batch, or fewer if so many are not accepted. 0: some
 * have been handled; else nobody accepts them now. */
static int send_some(struct ship *t, struct ship_spool *s, struct err *err)
{
	struct ship_answer a = {.verdict = SHIP_HALVE};
	uint32_t n = s->batch.count;

	if (s->limit && s->limit < n)
		n = s->limit;
	int rc = ask_all(t, s, n, &a, err);
	if (rc == -E2BIG)
		rc = 0; /* as if the server had said so */
	if (rc < 0)
		return rc;
	uint64_t now_ns = clock_boottime_ns();
	if (a.verdict == SHIP_TAKEN) {
		say_refused(t, s, &a, n);
		t->aside_row = 0;
		t->totals.last_taken_s = clock_realtime_ns() / NSEC_PER_SEC;
		s->limit = s->limit && s->limit < s->batch.count ? 2 * s->limit : 0;
		ship_spool_told(s, n, now_ns);
	} else if (n > 1) {
		s->limit = n / 2;
	} else {
		ship_spool_put_aside(s, err->text, now_ns);
		t->totals.set_aside++;
		if (++t->aside_row > ASIDE_ROW_MAX)
			return -EPROTO;
	}
	return 0;
}

static int drain_spool(struct ship *t, struct ship_spool *s, struct err *err)
{
	int rc = 0;

	for (unsigned i = 0; i < BATCHES_MAX && rc == 0; i++) {
		uint64_t now_ns = clock_boottime_ns();
		ship_spool_fill(s, now_ns);
		if (!is_due(t, s, now_ns))
			break;
		rc = send_some(t, s, err);
	}
	return rc;
}

/* Sends metrics to ceemsd; without it, logs them from time to time. */
static void tell_shipping(struct ship *t)
{
	struct child_shipping m = t->totals;
	uint64_t now_ns = clock_boottime_ns(), since_ns = 0;

	m.bytes = ship_post_bytes(t->post);
	for (size_t i = 0; i < t->spool_count; i++) {
		const struct ship_spool *s = &t->spools[i];
		m.waiting += s->batch.count;
		if (s->since_ns && (!since_ns || s->since_ns < since_ns))
			since_ns = s->since_ns;
	}
	m.waiting_since_ns = since_ns;
	if (memcmp(&m, &t->said, sizeof(m)) == 0)
		return;
	t->said = m;
	courier_send(t->courier, &m.head, CHILD_SHIPPING, "ship", 0, sizeof(m));
	if (t->courier->link >= 0 || (t->said_ns && now_ns - t->said_ns < SUMMARY_NS))
		return;
	t->said_ns = now_ns;
	log_info("ship: since the start %" PRIu64 " records accepted, %" PRIu64
		 " refused, %" PRIu64 " set aside; %" PRIu64 " posts, %" PRIu64
		 " failed; %" PRIu64 " bytes; %" PRIu64 " records read and waiting",
		 m.accepted, m.refused, m.set_aside, m.posts, m.failures, m.bytes,
		 m.waiting);
}

static int ship_poll(void *state, struct err *err)
{
	struct ship *t = state;
	int rc = 0;

	t->retry_after_s = 0;
	for (size_t i = 0; i < t->spool_count && t->courier->options.once; i++) {
		rc = ship_spool_check(t->spools[i].folder, err);
		if (rc < 0)
			return rc;
	}
	/* all spools use the same servers: after a failure all wait */
	for (size_t i = 0; i < t->spool_count && rc == 0; i++)
		rc = drain_spool(t, &t->spools[i], err);
	t->failures = rc < 0 ? t->failures + 1 : 0;
	t->wait_ms =
		rc < 0 ? ship_wait_ms(t->failures, t->retry_after_s, courier_random())
		       : LOOK_MS;
	tell_shipping(t);
	return rc;
}

static uint64_t ship_period_ms(const void *state)
{
	const struct ship *t = state;
	return t->wait_ms;
}

const struct task task_ship = {
	.name = "ship",
	.open = ship_open,
	.poll = ship_poll,
	.period_ms = ship_period_ms,
	.paces = true,
	.close = ship_close,
};
