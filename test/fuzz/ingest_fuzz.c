/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Any bytes as the body of a push: an error, or rows that the database can take. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "aggregator/ingest/ingest_decode.h"
#include "lib/clock.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define NOW_NS (1800000000ull * NSEC_PER_SEC)
#define HOUR_NS (3600 * NSEC_PER_SEC)

static void must(bool what)
{
	if (!what)
		abort();
}

static void check_text(const struct ingest_push *p, ingest_text t)
{
	const char *s = ingest_push_text(p, t);
	size_t left = s ? strlen(s) : 0;

	must(!t || t < p->texts.len);
	while (left) {
		size_t n = utf8_len(s, left);
		must(n > 0);
		s += n;
		left -= n;
	}
}

static void check_rows(const struct ingest_push *p)
{
	for (uint32_t i = 0; i < p->interval_count; i++) {
		const struct ingest_interval *r = &p->intervals[i];
		must(r->instance > 0 && r->t0_ns <= NOW_NS + INGEST_AHEAD_NS);
		must(r->t0_ns / HOUR_NS ==
		     (r->t0_ns + (r->ms ? r->ms - 1 : 0) * NSEC_PER_MSEC) / HOUR_NS);
		must(r->use.observed_ms >= 0 && r->use.label < (int)p->label_count);
	}
	for (uint32_t i = 0; i < p->node_count; i++) {
		must(p->nodes[i].instance > 0);
		check_text(p, p->nodes[i].cluster);
		check_text(p, p->nodes[i].uuid);
		check_text(p, p->nodes[i].hints);
	}
	for (uint32_t i = 0; i < p->job_count; i++) {
		check_text(p, p->jobs[i].cluster);
		check_text(p, p->jobs[i].record);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct ingest_rules rules = {.now_ns = NOW_NS,
						  .oldest_ns = NOW_NS - 720 * HOUR_NS};
	struct buf scratch = BUF_INIT;
	struct ingest_push p;
	struct err err = {""};

	if (ingest_decode(data, size, false, &rules, &scratch, &p, &err) == 0) {
		must(p.records == p.accepted + p.refused);
		must(ingest_push_rows(&p) <= INGEST_ROWS_MAX);
		check_rows(&p);
	} else {
		must(err.text[0]);
	}
	ingest_push_done(&p);
	buf_done(&scratch);
	return 0;
}
