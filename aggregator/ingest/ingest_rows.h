/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_AGGREGATOR_INGEST_INGEST_ROWS_H
#define CEEMS_AGGREGATOR_INGEST_INGEST_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/buf.h"
#include "lib/err.h"
#include "lib/records/report_clock.h"
#include "lib/records/report_counts.h"

/*
 * A push (the body of one POST, lib/records/batch.h) as rows for the tables of
 * aggregator/sql/0002_ingest.sql: everything is checked here, so that the database
 * refuses nothing and a bad record does not affect others.
 */

#define INGEST_NULL INT64_MIN

/* Use as reported. INGEST_NULL: unknown. */
struct ingest_use {
	int64_t observed_ms;
	int64_t cpu_user_ns, cpu_system_ns;
	int64_t memory_mean_bytes, memory_peak_bytes;
	int64_t io_read_bytes, io_write_bytes;
	int64_t net_rx_bytes, net_tx_bytes;
	int64_t gpu_busy_ms, gpu_memory_mean_kib;
	int64_t gpu_active_ms[COUNT_GPU_FIGURES]; /* of intervals alone */
	int64_t energy_uj[6]; /* package, dram, psys, gpu, host, other */
	int label;            /* of the push's labels, -1: no energy */
};

struct ingest_interval {
	int64_t instance;
	uint64_t t0_ns;
	uint32_t ms;
	struct ingest_use use;
};

/* A text of the push: an offset into texts, 0: none. */
typedef uint32_t ingest_text;

struct ingest_node {
	uint8_t type; /* enum report_type: interval: has what a lost start had */
	bool provisional, guessed, found;
	int64_t instance, restarts, uid, gid, array_job, array_task;
	uint64_t started_ns, ended_ns, t1_ns; /* 0: none */
	int64_t boottime_ns;                  /* of the start, INGEST_NULL: not known */
	int64_t shift_ms;                     /* included in them */
	uint64_t over_ns;                     /* see ingest_place_over() */
	int64_t cpus, memory_bytes, gpus;
	int64_t millicpus; /* INGEST_NULL: cpus says it all */
	uint64_t sized_ns; /* when it had them, 0: not known */
	ingest_text manager, cluster, node, boot, uuid, how_ended, gpu_list, gpu_share;
	ingest_text hints; /* JSON */
	/* JSON: final, what the kernel programs counted; 0: nothing */
	ingest_text counts, mounts;
	struct ingest_use use;
	/* found: used by the unit before */
	int64_t before_user_ns, before_system_ns, before_read_bytes, before_write_bytes;
};

/* An instance that is to be moved from where it was found (ingest_place.h) */
struct ingest_move {
	int64_t instance, from_ms, to_ms;
	uint64_t over_ns;  /* 0: its age is known */
	uint64_t began_ns; /* there */
};

/* An instance of another node than the one that told of it */
struct ingest_foreign {
	int64_t instance;
	ingest_text cluster, node; /* that told */
};

struct ingest_step {
	int64_t instance, step;
	uint64_t started_ns, ended_ns; /* 0: not known */
	int64_t exit_status, cpus, tasks;
	bool lost;
	int64_t cpu_user_ns, cpu_system_ns, memory_peak_bytes, io_read_bytes,
		io_write_bytes;
	int64_t energy_uj[6];
	ingest_text command, label; /* hints, see struct report_step */
};

struct ingest_job {
	ingest_text cluster, uuid, record; /* JSON: columns of `unit` and a few more */
	int64_t restarts, state;
	uint64_t submitted_s, part_s;
};

struct ingest_claim {
	ingest_text row; /* JSON: an element of k8s_claims() */
};

/* A node that has been heard of */
struct ingest_seen {
	ingest_text manager, cluster, node;
};

#define INGEST_LABEL_BYTES 192
#define INGEST_LABELS_MAX 32 /* per push; with more, energy is dropped */
#define INGEST_SEEN_MAX 1024 /* per push */
/* Rows of a push in all. Records that need more are refused: the courier sends at most
 * 20 000 at a time, but a long interval becomes many rows. */
#define INGEST_ROWS_MAX 60000u
#define INGEST_FOREIGN_MAX 8u /* noted of each push */
#define INGEST_REASON_BYTES 160
#define INGEST_REASONS_MAX 1000u /* reported; further ones are counted */

struct ingest_refusal {
	uint32_t index; /* of the record */
	char reason[INGEST_REASON_BYTES];
};

struct ingest_push {
	struct ingest_interval *intervals;
	struct ingest_node *nodes;
	struct ingest_step *steps;
	struct ingest_job *jobs;
	struct ingest_claim *claims;
	struct ingest_seen *seen;
	struct ingest_refusal *refusals;
	struct ingest_move *moves;
	uint32_t interval_count, node_count, step_count, job_count, claim_count,
		seen_count, refusal_count, move_count;
	uint32_t interval_cap, node_cap, step_cap, job_cap, claim_cap, seen_cap,
		refusal_cap, move_cap;
	uint32_t records, accepted, refused;
	bool no_memory; /* out of memory: not to be used */
	bool entangled; /* the place of a report depends on others of the push */
	uint32_t untimely, moved; /* refused, or shifted, by our clock */
	/* Intervals that are written where their instance was known to be, without
	 * comparing its row, and known_forgotten() as of then */
	uint32_t said;
	uint64_t known_as_of;
	/* Whose instances are, by the first so many of nodes; NULL while all of it is
	 * of one node */
	struct known *owners;
	uint32_t owned_count;
	struct ingest_foreign foreign[INGEST_FOREIGN_MAX];
	uint32_t foreign_count;
	bool has_clock; /* the sender's at the time of sending */
	struct report_clock clock;
	char labels[INGEST_LABELS_MAX][INGEST_LABEL_BYTES];
	uint32_t label_count;
	struct buf texts;
};

/* Frees its contents. Accepts a zeroed one. */
void ingest_push_done(struct ingest_push *p);
/* Rows of all kinds. */
uint32_t ingest_push_rows(const struct ingest_push *p);
/* Approximate memory use. */
size_t ingest_push_bytes(const struct ingest_push *p);
/* Borrowed until the next text; NULL for 0. */
const char *ingest_push_text(const struct ingest_push *p, ingest_text t);
/* Copies up to a NUL, with '?' for each invalid UTF-8 byte. "" is 0. Errors stay in
 * texts. */
ingest_text ingest_push_put(struct ingest_push *p, const char *s, size_t len);
/* Index of a label; -1: there are too many. */
int ingest_push_label(struct ingest_push *p, const char *label);
/* Appends a zeroed row; NULL: too many, or no memory, which the push records. */
struct ingest_interval *ingest_push_interval(struct ingest_push *p);
struct ingest_node *ingest_push_node(struct ingest_push *p);
struct ingest_step *ingest_push_step(struct ingest_push *p);
struct ingest_job *ingest_push_job(struct ingest_push *p);
struct ingest_claim *ingest_push_claim(struct ingest_push *p);
/* That of the instance, made with it if there is none; NULL: no memory. */
struct ingest_move *ingest_push_move(struct ingest_push *p, int64_t instance);
void ingest_push_see(struct ingest_push *p, const char *manager, const char *cluster,
		     const char *node);
void ingest_push_refuse(struct ingest_push *p, uint32_t index, const char *reason);
/* Whether an instance that no row is known of was told of by another node before, in
 * this push. -ENOMEM. */
int ingest_push_is_anothers(struct ingest_push *p, int64_t instance,
			    const char *cluster, const char *node);
/* Notes one that is refused as another node's. */
void ingest_push_foreign(struct ingest_push *p, int64_t instance, const char *cluster,
			 const char *node);

void ingest_use_clear(struct ingest_use *u); /* nothing known */

#endif
