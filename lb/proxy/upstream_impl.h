/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LB_PROXY_UPSTREAM_IMPL_H
#define CEEMS_LB_PROXY_UPSTREAM_IMPL_H

/* Shared by the files of upstream only. */
#include <gnutls/gnutls.h>
#include <stdatomic.h>

#include "lb/proxy/upstream.h"
#include "lib/buf.h"

/* Answers up to this length are read whole before they are passed on, as long as those
 * of a thread together stay below the second limit; others are streamed. */
#define WHOLE_MAX ((size_t)128 << 10)
#define WHOLE_SUM_MAX ((size_t)16 << 20)
/* of one read while parsing a head: room for a whole answer with head and chunks */
#define SCRATCH_BYTES (WHOLE_MAX + 4096)
#define POOLS 64

struct pool;
struct tls_trust;

/* One connection to a backend. */
struct conn {
	struct loop_watch watch;
	struct upstreams *u;
	struct pool *pool;
	struct conn *prev, *next; /* in the pool's list of idle ones */
	int fd;
	enum { CONN_CONNECTS, CONN_GREETS, CONN_OPEN } state;
	bool readable, hung_up; /* reported by epoll and not used up yet */
	gnutls_session_t tls;   /* NULL: plain */
	struct tls_trust *trust;
	struct upstream *call; /* NULL: idle */
	bool used;             /* it has delivered an answer before */
	uint64_t idle_ms;      /* since when */
};

/* Connections to one backend. */
struct pool {
	struct pool *next;
	struct backend *backend; /* held */
	struct conn idle; /* head of a ring; the most recently used comes first */
	unsigned open, idle_count;
	gnutls_datum_t session; /* for the next connection to resume */
	unsigned session_trust; /* the certificates it was verified by */
	uint64_t used_ms;
	struct resolve_list addresses; /* for the latest connection */
	size_t good;                   /* the address that worked last */
};

/* Counters have one writer. */
struct counts {
	atomic_ullong connects, reused, stale, bytes;
	atomic_uint open, idle;
};

struct upstreams {
	struct loop *loop;
	struct resolver *resolver;
	char *user_agent;
	struct loop_task named; /* posted when a name was resolved */
	struct loop_hook hook;
	uint64_t swept_ms;
	struct pool *pools[POOLS]; /* by the backend's address */
	struct upstream *calls;    /* all that have not ended */
	struct upstream *spare;    /* memory for reuse, including the request buffer */
	unsigned spares;
	gnutls_priority_t priority;
	struct tls_trust *trusts; /* certificates */
	unsigned trust_ids;
	struct counts counts;
	size_t stashed; /* bytes of all stashes, taken ones included */
	struct stash *spare_stash;
	unsigned spare_stashes;
	char scratch[SCRATCH_BYTES];
};

struct upstream {
	struct upstreams *u;
	struct upstream *next, **at; /* in u->calls */
	struct backend *backend;     /* held */
	struct conn *conn;
	const struct call *call;
	void (*event)(void *arg);
	void *arg;
	struct buf request; /* head, and body where it is short */
	size_t sent;        /* bytes sent of request and the rest of the body */
	enum upstream_state state;
	int error;
	const char *why;
	bool starting;  /* inside upstream_start() */
	bool naming;    /* waiting for a name */
	bool fresh;     /* do not use kept connections any more: one was stale */
	unsigned tries; /* addresses tried */
	uint64_t started_ms, connect_ms;
	uint32_t first_byte_ms;
	bool begun;         /* a byte of the answer has come */
	struct buf partial; /* a head that comes in pieces */
	unsigned interim;   /* 1xx answers */
	struct answer_head head;
	struct answer_body body;
	bool gathers; /* the head has come, and the rest is awaited for a moment */
	uint64_t gather_ms; /* since when */
	/* decoded body bytes that came before they were asked for */
	char *stash;
	size_t stash_len, stash_at, stash_size;
};

/* ---- lb/proxy/upstream_conn.c
 * ---------------------------------------------------------- */

/* Gives x a connection, a kept or a new one. Errors as upstream_error(); -EAGAIN: a
 * name is being resolved. */
int conn_get(struct upstream *x, const char **ret_why);
/* After an answer: keeps its connection for reuse, if allowed. */
void conn_put(struct conn *c, bool keeps);
void conn_close(struct conn *c);
/* As recv(2) and send(2), with -errno; 0 of recv: the end. */
ssize_t conn_recv(struct conn *c, void *buf, size_t max);
ssize_t conn_send(struct conn *c, const void *data, size_t len);
/* Whether more can be read without waiting for an event. */
bool conn_pending(const struct conn *c);
/* Closes connections that were idle for too long, and drops unused pools. */
void pools_sweep(struct upstreams *u, uint64_t now_ms);
void pools_free(struct upstreams *u);

/* ---- lb/proxy/upstream_tls.c
 * ----------------------------------------------------------- */

int tls_begin(struct conn *c, const char **ret_why);
/* 0: done, -EAGAIN, or an error. */
int tls_greet(struct conn *c, const char **ret_why);
ssize_t tls_recv(struct conn *c, void *buf, size_t max);
ssize_t tls_send(struct conn *c, const void *data, size_t len);
/* Saves the session for the next connection. */
void tls_remember(struct conn *c);
void tls_end(struct conn *c);
void tls_pool_free(struct pool *p);
void tls_done(struct upstreams *u);

/* ---- lb/proxy/upstream.c
 * --------------------------------------------------------------- */

/* Continues a call after an event on its connection. */
void upstream_go(struct upstream *x);
void upstream_broke(struct upstream *x, int rc, const char *why);

#endif
