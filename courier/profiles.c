/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The task that sends finished profiles: what an answer means for them, and metrics. */
#include "courier/profiles.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "courier/ship.h"
#include "lib/clock.h"
#include "lib/log.h"

#define LOOK_MS 1000u
#define POSTS_MAX 256u              /* of one poll */
#define WAIT_NS (20 * NSEC_PER_SEC) /* for a unit that is not known yet */
#define AHEAD_NS (600 * NSEC_PER_SEC)

struct profiles {
	struct courier *courier;
	struct profile_sender *sender;
	struct profile_queue queue;
	unsigned failures;
	uint32_t retry_after_s;
	uint64_t wait_ms, since_ns;
	struct log_repeat refused_log, old_log, done_log;
	struct child_shipping totals, said;
};

static void close_profiles(void *state)
{
	struct profiles *p = state;

	if (!p)
		return;
	profile_queue_close(&p->queue);
	profile_sender_free(p->sender);
	free(p);
}

static int open_profiles(struct courier *c, void **ret_state, struct err *err)
{
	const struct options *o = &c->options;

	if (!*o->profiles_spool)
		return -ENODEV;
	if (!*o->profiles_url && o->aggregator_urls.count == 0)
		return -ENODEV;
	struct profiles *p = calloc(1, sizeof(*p));
	if (!p)
		return err_set(err, -ENOMEM, "out of memory");
	p->courier = c;
	p->queue.folder = o->profiles_spool;
	p->wait_ms = LOOK_MS;
	int rc = profile_sender_new(c, &p->sender, err);
	if (rc < 0) {
		close_profiles(p);
		return rc;
	}
	*ret_state = p;
	return 0;
}

/* NULL: the store may take it. */
static const char *find_untimely(const struct profiles *p,
				 const struct profile_record *r, uint64_t now_ns)
{
	uint64_t max_ns = p->courier->options.profiles_max_age_ms * NSEC_PER_MSEC;

	if (r->from_ns > now_ns + AHEAD_NS)
		return "it is of the future: was the clock set back?";
	return now_ns > max_ns && r->from_ns < now_ns - max_ns ? "it is too old" : NULL;
}

static void drop_untimely(struct profiles *p, const struct profile_record *r,
			  const char *why)
{
	p->totals.set_aside++;
	if (log_repeat_due(&p->old_log, clock_boottime_ns()))
		log_warn("profiles: a profile of %s is dropped: %s: %" PRIu64
			 " samples are lost, %" PRIu64
			 " profiles so far (ceems_courier_profiles_total)",
			 profile_record_label(r, "service_name"), why, r->samples,
			 p->totals.set_aside);
}

static void say_profile_refused(struct profiles *p, const char *of, const char *why)
{
	p->totals.refused++;
	if (log_repeat_due(&p->refused_log, clock_boottime_ns()))
		log_warn("profiles: a profile of %s is refused and dropped: %s", of,
			 why);
}

static void end_profile(struct profiles *p, size_t index)
{
	struct err err = {""};

	if (profile_queue_done(&p->queue, index, &err) < 0 &&
	    log_repeat_due(&p->done_log, clock_boottime_ns()))
		log_warn("profiles: %s: a restart may send profiles twice", err.text);
}

/* 0: it is done with, or waits; else the server takes none now. */
static int judge_answer(struct profiles *p, const struct profile_record *r,
			const struct profile_answer *a, size_t index, struct err *err)
{
	const char *of = profile_record_label(r, "service_name");
	const char *what = "";

	switch (a->verdict) {
	case PROFILE_TAKEN:
		p->totals.accepted++;
		p->totals.last_taken_s = clock_realtime_ns() / NSEC_PER_SEC;
		end_profile(p, index);
		return 0;
	case PROFILE_REFUSED:
		say_profile_refused(p, of, a->text[0] ? a->text : "no reason given");
		end_profile(p, index);
		return 0;
	case PROFILE_WAITS:
		profile_queue_postpone(&p->queue, index, clock_boottime_ns() + WAIT_NS);
		return 0;
	case PROFILE_DENIED:
		what = ", does not accept profiles from us";
		break;
	default:
		if (a->status == 404 || a->status == 405)
			what = ", takes no profiles (--profiles.url there?)";
	}
	p->retry_after_s = a->retry_after_s;
	return err_set(err, -EPROTO, "%s: HTTP status %u%s%s%.100s",
		       profile_sender_url(p->sender), a->status, what,
		       a->text[0] ? ": " : "", a->text);
}

/* 1: one was handled; 0: there is none now; negative errno: none is taken now. */
static int send_profile(struct profiles *p, struct err *err)
{
	auto_profile_record struct profile_record r = {.memory = NULL};
	struct spool_record record;
	struct profile_answer a = {.verdict = PROFILE_LATER};
	size_t index = 0;
	int rc = profile_queue_next(&p->queue, clock_boottime_ns(), &record, &index,
				    err);

	if (rc <= 0)
		return rc;
	rc = profile_record_decode(record.data, record.len, &r, err);
	if (rc == -EPROTO) {
		say_profile_refused(p, "the spool", err->text);
		end_profile(p, index);
		return 1;
	}
	if (rc < 0)
		return rc;
	const char *why = find_untimely(p, &r, clock_realtime_ns());
	if (why) {
		drop_untimely(p, &r, why);
		end_profile(p, index);
		return 1;
	}
	rc = profile_sender_do(p->sender, &record, &r, &a, err);
	p->totals.posts++;
	p->totals.bytes += record.len;
	if (rc == 0)
		rc = judge_answer(p, &r, &a, index, err);
	p->totals.failures += rc < 0;
	return rc < 0 ? rc : 1;
}

static void tell_profiles(struct profiles *p)
{
	uint64_t now_ns = clock_boottime_ns();

	p->totals.waiting = p->queue.open;
	if (p->queue.open == 0)
		p->since_ns = 0;
	else if (!p->since_ns)
		p->since_ns = now_ns;
	p->totals.waiting_since_ns = p->since_ns;
	/* too many to remember are as lost as those that are too old */
	p->totals.set_aside += p->queue.overflowed;
	p->queue.overflowed = 0;
	if (memcmp(&p->totals, &p->said, sizeof(p->said)) == 0)
		return;
	p->said = p->totals;
	struct child_shipping m = p->totals;
	courier_send(p->courier, &m.head, CHILD_SHIPPING, "profiles", 0, sizeof(m));
}

static int poll_profiles(void *state, struct err *err)
{
	struct profiles *p = state;

	p->retry_after_s = 0;
	int rc = profile_queue_fill(&p->queue, err), sent = 0;
	for (unsigned i = 0; i < POSTS_MAX && rc == 0; i++) {
		rc = send_profile(p, err);
		sent = rc > 0;
		if (rc <= 0 || atomic_load(&p->courier->stop))
			break;
		rc = 0;
	}
	rc = rc > 0 ? 0 : rc;
	struct err why = {""};
	int acked = profile_queue_ack(&p->queue, &why);
	if (acked < 0 && log_repeat_due(&p->done_log, clock_boottime_ns()))
		log_warn("profiles: %s: cannot be marked as sent", why.text);
	p->failures = rc < 0 ? p->failures + 1 : 0;
	p->wait_ms =
		rc < 0 ? ship_wait_ms(p->failures, p->retry_after_s, courier_random())
		       : (sent ? 1 : LOOK_MS);
	tell_profiles(p);
	return rc;
}

static uint64_t profiles_period_ms(const void *state)
{
	const struct profiles *p = state;
	return p->wait_ms;
}

const struct task task_profiles = {
	.name = "profiles",
	.open = open_profiles,
	.poll = poll_profiles,
	.period_ms = profiles_period_ms,
	.paces = true,
	.close = close_profiles,
};
