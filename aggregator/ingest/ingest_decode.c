/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Decodes a batch record by record: valid ones become rows, others are refused
 * individually. */
#include "aggregator/ingest/ingest_decode.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "lib/cleanup.h"
#include "lib/clock.h"
#include "lib/records/batch.h"

static int decode_job_record(const void *record, size_t len,
			     const struct ingest_rules *rules, struct ingest_push *p,
			     struct err *err)
{
	struct job j;
	int rc = job_decode(record, len, &j, err);

	if (rc < 0)
		return rc == -ENOMEM ? rc : -EINVAL;
	if (rules->may)
		rc = ingest_may_job(rules->may, j.cluster, err);
	if (rc == 0)
		rc = ingest_job(&j, rules, p, err);
	job_done(&j);
	return rc;
}

static int decode_claim(const void *record, size_t len,
			const struct ingest_rules *rules, struct ingest_push *p,
			struct err *err)
{
	struct claim c;

	if (claim_decode(record, len, &c, err) < 0)
		return -EINVAL;
	int rc = rules->may ? ingest_may_claim(rules->may, c.cluster, err) : 0;
	return rc < 0 ? rc : ingest_claim(&c, rules, p, err);
}

static int decode_one_record(const void *record, size_t len,
			     const struct ingest_rules *rules, struct report *scratch,
			     struct ingest_push *p, struct err *err)
{
	unsigned type = *(const unsigned char *)record;

	switch (type) {
	case REPORT_START:
	case REPORT_INTERVAL:
	case REPORT_FINAL:
		if (report_decode(record, len, scratch, err) < 0)
			return -EINVAL;
		if (rules->may) {
			int rc = ingest_may_report(rules->may, scratch->cluster,
						   scratch->node, err);
			if (rc < 0)
				return rc;
		}
		return ingest_report(scratch, rules, p, err);
	case JOB_RECORD_TYPE:
		return decode_job_record(record, len, rules, p, err);
	case CLAIM_TYPE:
		return decode_claim(record, len, rules, p, err);
	default:
		return err_set(err, -EINVAL, "unknown type of record: %u", type);
	}
}

/* Marks the rows before a record, to undo one that is refused half-way */
struct mark {
	uint32_t intervals, nodes, steps, jobs, claims;
};

static struct mark mark_set(const struct ingest_push *p)
{
	return (struct mark){p->interval_count, p->node_count, p->step_count,
			     p->job_count, p->claim_count};
}

static void mark_back(struct ingest_push *p, const struct mark *m)
{
	p->interval_count = m->intervals;
	p->node_count = m->nodes;
	p->step_count = m->steps;
	p->job_count = m->jobs;
	p->claim_count = m->claims;
}

/* A sender's clocks are not a record of a unit and are not counted. */
static int take_clock(const void *record, size_t len, struct ingest_push *p,
		      struct err *err)
{
	int rc = report_clock_decode(record, len, &p->clock, err);

	p->has_clock = rc == 0;
	return rc < 0 ? -EINVAL : 0;
}

/* Which records of a push were taken */
struct taken {
	unsigned char bits[BATCH_RECORDS_MAX / 8 + 1];
};

static void note_taken(struct taken *t, uint32_t i)
{
	if (t && i / 8 < sizeof(t->bits))
		t->bits[i / 8] |= (unsigned char)(1u << i % 8);
}

static bool was_taken(const struct taken *t, uint32_t i)
{
	return i / 8 < sizeof(t->bits) && t->bits[i / 8] >> i % 8 & 1;
}

/* taken: NULL or zeroed */
static int decode_all(struct batch_reader *r, const struct ingest_rules *rules,
		      struct report *scratch, struct ingest_push *ret,
		      struct taken *taken, struct err *err)
{
	struct err denied = {""};
	uint32_t denials = 0;
	const void *record;
	size_t len;

	for (uint32_t i = 0; batch_next(r, &record, &len) == 1; i++) {
		struct mark before = mark_set(ret);
		struct err why = {""};
		if (i == 0 && *(const unsigned char *)record == REPORT_CLOCK) {
			if (take_clock(record, len, ret, &why) < 0)
				ingest_push_refuse(ret, i, why.text);
			continue;
		}
		int rc = decode_one_record(record, len, rules, scratch, ret, &why);
		ret->records++;
		if (rc == 0) {
			ret->accepted++;
			note_taken(taken, i);
		} else if (rc == -EHOSTDOWN) {
			return err_set(err, rc, "%s", why.text);
		} else if (rc != -ENOMEM) {
			if (rc == -EACCES && denials++ == 0)
				denied = why;
			mark_back(ret, &before);
			ingest_push_refuse(ret, i, why.text);
		}
		/* refused records are never sent again, so do not refuse for lack of
		 * memory */
		if (rc == -ENOMEM || ret->no_memory || buf_error(&ret->texts))
			return err_set(err, -ENOMEM, "out of memory");
	}
	/* refused records are given up by the sender, so do not refuse for a wrong
	 * configuration */
	if (denials && !ret->accepted && denials == ret->refused)
		return err_set(err, -EPERM, "%s", denied.text);
	return 0;
}

/* One report's word on where its instance is: that it is to be moved counts before that
 * it may stay, and of several the furthest back, so that they stay together. */
static int place_one(const struct report *r, const struct ingest_rules *rules,
		     const struct ingest_place *at, struct known *placed,
		     struct ingest_push *p)
{
	int64_t instance = (int64_t)r->instance;
	struct known_place known, had;
	bool is_known = rules->known && known_has(rules->known, instance, &known);
	bool again = known_has(placed, instance, &had);
	struct ingest_placed where = ingest_place_find(r, at, is_known ? &known : NULL);

	p->untimely += where.judged;
	if (again && (had.flagged > where.move ||
		      (had.flagged == where.move && had.shift_ms <= where.shift_ms)))
		return 0;
	/* flagged is for here: it is moved */
	known_put(placed, instance,
		  (struct known_place){.shift_ms = where.shift_ms,
				       .flagged = where.move});
	if (!where.move)
		return 0;
	struct ingest_move *m = ingest_push_move(p, instance);
	if (!m)
		return -ENOMEM;
	m->from_ms = known.shift_ms;
	m->to_ms = where.shift_ms;
	m->over_ns = ingest_place_over(r, at, where.shift_ms, true);
	m->began_ns = r->started_ns + (uint64_t)where.shift_ms * NSEC_PER_MSEC;
	return 0;
}

/* Where the instances of a push belong, and which of them are moved. A record that was
 * refused does not decide about the others of its instance. */
static int place_together(struct batch_reader r, const struct ingest_rules *rules,
			  const struct taken *taken, struct report *scratch,
			  struct ingest_push *p, struct known **ret)
{
	const struct ingest_place at = ingest_place_of(rules, p);
	struct known *placed = *ret = known_new(BATCH_RECORDS_MAX);
	const void *record;
	size_t len;
	int rc = placed ? 0 : -ENOMEM;

	for (uint32_t i = 0; rc == 0 && batch_next(&r, &record, &len) == 1; i++) {
		unsigned type = *(const unsigned char *)record;
		if (!was_taken(taken, i) || type < REPORT_START ||
		    type > REPORT_FINAL ||
		    report_decode(record, len, scratch, NULL) < 0)
			continue;
		rc = place_one(scratch, rules, &at, placed, p);
	}
	return rc;
}

/* Decodes again, now with the place of each instance */
static int decode_placed(const struct batch_reader *r, const struct ingest_rules *rules,
			 const struct taken *taken, struct report *scratch,
			 struct ingest_push *ret, struct err *err)
{
	struct ingest_rules placed = *rules;
	struct batch_reader again = *r;
	struct ingest_push next = {.has_clock = ret->has_clock,
				   .clock = ret->clock,
				   .known_as_of = ret->known_as_of};
	int rc = place_together(*r, rules, taken, scratch, &next, &placed.placed);

	ingest_push_done(ret);
	*ret = next;
	if (rc < 0)
		(void)err_set(err, rc, "out of memory");
	else
		rc = decode_all(&again, &placed, scratch, ret, NULL, err);
	known_free(placed.placed);
	return rc;
}

int ingest_decode(const void *body, size_t len, bool packed,
		  const struct ingest_rules *rules, struct buf *scratch,
		  struct ingest_push *ret, struct err *err)
{
	struct batch_reader r;
	int rc = 0;

	memset(ret, 0, sizeof(*ret));
	ret->known_as_of = rules->known ? known_forgotten(rules->known) : 0;
	if (packed)
		rc = batch_unpack(body, len, scratch, err);
	if (rc == 0)
		rc = batch_open(&r, packed ? scratch->data : body,
				packed ? scratch->len : len, err);
	if (rc < 0)
		return rc;
	auto_free struct report *report = malloc(sizeof(*report));
	if (!report)
		return err_set(err, -ENOMEM, "out of memory");
	struct batch_reader first = r;
	struct taken taken = {{0}};
	rc = decode_all(&first, rules, report, ret, &taken, err);
	if (rc == 0 && ret->entangled)
		rc = decode_placed(&r, rules, &taken, report, ret, err);
	known_free(ret->owners);
	ret->owners = NULL;
	return rc;
}
