/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Stands between slurmctld's spool and the courier's and delays what slurmctld said of
 * the starts of jobs: passes each record on as it is, but a start by chance
 *
 *	now, twice, late: up to some seconds later, behind: only after the job's end,
 *
 * and an end now and then twice.
 *
 *	spool_late FROM TO SEED
 *
 * Prints a line per record that it passes on: "start JOB now", "end JOB", and "held
 * JOB" for a start that waits. Runs until it is killed. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/clock.h"
#include "lib/parse.h"
#include "lib/records/job.h"
#include "lib/records/spool.h"

#define HELD_MOST 512u
#define LATE_MAX_NS (8 * NSEC_PER_SEC)   /* late: at most */
#define BEHIND_MAX_NS (2 * NSEC_PER_SEC) /* behind: after the end, at most */
#define NO_END UINT64_MAX                /* waits for the job's end */
#define POLL_US 20000

struct held_start {
	uint32_t job_id;
	uint64_t due_ns; /* CLOCK_BOOTTIME, or NO_END */
	const char *how;
	void *data; /* owned */
	size_t len;
};

static struct late {
	struct spool_reader *from;
	struct spool_writer *to;
	struct held_start held[HELD_MOST];
	unsigned n_held;
	uint64_t random;
} late;

static uint64_t draw_number(uint64_t below)
{
	late.random ^= late.random << 13;
	late.random ^= late.random >> 7;
	late.random ^= late.random << 17;
	return late.random % below;
}

static void die_of(const char *what, const struct err *err)
{
	fprintf(stderr, "spool_late: %s: %s\n", what, err_text(err));
	exit(1);
}

static void pass_on(const void *data, size_t len)
{
	struct err err = {""};

	if (spool_append(late.to, SPOOL_JOB, data, len, NULL, &err) < 0)
		die_of("append", &err);
}

static void pass_held(unsigned i)
{
	struct held_start *h = &late.held[i];

	pass_on(h->data, h->len);
	printf("start %u %s\n", h->job_id, h->how);
	free(h->data);
	*h = late.held[--late.n_held];
}

static void hold_start(uint32_t job_id, const struct spool_record *r, const char *how,
		       uint64_t due_ns)
{
	if (late.n_held == HELD_MOST)
		pass_held(0);
	struct held_start *h = &late.held[late.n_held++];
	*h = (struct held_start){job_id, due_ns, how, malloc(r->len), r->len};
	if (!h->data)
		abort();
	memcpy(h->data, r->data, r->len);
	printf("held %u\n", job_id);
}

static void take_start(uint32_t job_id, const struct spool_record *r)
{
	uint64_t late_ns = clock_boottime_ns() + draw_number(LATE_MAX_NS);

	switch (draw_number(4)) {
	case 0:
		pass_on(r->data, r->len);
		printf("start %u now\n", job_id);
		break;
	case 1:
		pass_on(r->data, r->len);
		hold_start(job_id, r, "twice", late_ns);
		break;
	case 2:
		hold_start(job_id, r, "late", late_ns);
		break;
	default:
		hold_start(job_id, r, "behind", NO_END);
		break;
	}
}

static void take_end(uint32_t job_id, const struct spool_record *r)
{
	pass_on(r->data, r->len);
	if (draw_number(8) == 0)
		pass_on(r->data, r->len);
	printf("end %u\n", job_id);
	for (unsigned i = 0; i < late.n_held; i++) {
		if (late.held[i].job_id == job_id && late.held[i].due_ns == NO_END)
			late.held[i].due_ns =
				clock_boottime_ns() + draw_number(BEHIND_MAX_NS);
	}
}

/* 1: a record was taken; 0: there is none now */
static int take_record(void)
{
	struct spool_record r;
	struct err err = {""};
	struct job job;

	int rc = spool_next(late.from, &r, &err);
	if (rc < 0)
		die_of("read", &err);
	if (rc == 0)
		return 0;
	if (job_decode(r.data, r.len, &job, &err) < 0)
		die_of("record", &err);
	if (job.event == JOB_EVENT_STARTED)
		take_start(job.job_id, &r);
	else
		take_end(job.job_id, &r);
	job_done(&job);
	if (spool_ack(late.from, r.seq, &err) < 0)
		die_of("ack", &err);
	return 1;
}

static void pass_due(void)
{
	uint64_t now = clock_boottime_ns();

	for (unsigned i = late.n_held; i-- > 0;) {
		if (late.held[i].due_ns != NO_END && late.held[i].due_ns <= now)
			pass_held(i);
	}
}

int main(int argc, char **argv)
{
	struct err err = {""};
	uint32_t seed = 0;

	if (argc != 4 || parse_u32(argv[3], &seed) < 0) {
		fprintf(stderr, "usage: see test/fake/spool_late.c\n");
		return 2;
	}
	late.random = 88172645463325252ull + seed;
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (spool_writer_open(argv[2], NULL, &late.to, &err) < 0)
		die_of(argv[2], &err);
	for (;;) {
		int rc = late.from ? 0 : spool_reader_open(argv[1], &late.from, &err);
		if (rc < 0 && rc != -ENOENT)
			die_of(argv[1], &err);
		while (rc == 0 && take_record())
			;
		pass_due();
		usleep(POLL_US);
	}
}
