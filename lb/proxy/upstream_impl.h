/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LB_PROXY_UPSTREAM_IMPL_H
#define CEEMS_LB_PROXY_UPSTREAM_IMPL_H

/* What the files of upstream share; for nobody else. */
#include <gnutls/gnutls.h>
#include <stdatomic.h>

#include "lb/proxy/upstream.h"
#include "lib/buf.h"

/* Answers up to this length are taken whole before they are passed on, as long as those
 * of a thread take no more than the second; others are passed on as they come. */
#define WHOLE_MAX ((size_t)128 << 10)
#define WHOLE_SUM_MAX ((size_t)16 << 20)
/* of one read while a head is looked for: a whole answer, its head and chunks */
#define SCRATCH_BYTES (WHOLE_MAX + 4096)
#define POOLS 64

struct pool;
struct tls_trust;

/* One connection to a backend. */
struct conn {
	struct loop_watch watch;
	struct upstreams *u;
	struct pool *pool;
	struct conn *prev, *next; /* among the idle ones of the pool */
	int fd;
	enum { CONN_CONNECTS, CONN_GREETS, CONN_OPEN } state;
	bool readable, hung_up; /* what epoll said and was not used up yet */
	gnutls_session_t tls;   /* NULL: plain */
	struct tls_trust *trust;
	struct upstream *call; /* NULL: idle */
	bool used;             /* it has brought an answer before */
	uint64_t idle_ms;      /* since when */
};

/* Connections to one backend. */
struct pool {
	struct pool *next;
	struct backend *backend; /* held */
	struct conn idle;        /* head of a ring; the last one used comes first */
	unsigned open, idle_count;
	gnutls_datum_t session; /* for the next connection to resume */
	unsigned session_trust; /* by which certificates it was verified */
	uint64_t used_ms;
	struct resolve_list addresses; /* of the connection begun last */
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
	struct loop_task named; /* a name was answered */
	struct loop_hook hook;
	uint64_t swept_ms;
	struct pool *pools[POOLS]; /* by the backend's address */
	struct upstream *calls;    /* all that are not ended */
	struct upstream *spare;    /* memory for the next, with that of its request */
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
	size_t sent;        /* of request and what of the body follows it */
	enum upstream_state state;
	int error;
	const char *why;
	bool starting;  /* within upstream_start() */
	bool naming;    /* waits for a name */
	bool fresh;     /* no kept connection any more: one was stale */
	unsigned tries; /* addresses */
	uint64_t started_ms, connect_ms;
	uint32_t first_byte_ms;
	bool begun;         /* a byte of the answer came */
	struct buf partial; /* of a head that comes in pieces */
	unsigned interim;   /* 1xx answers */
	struct answer_head head;
	struct answer_body body;
	bool gathers;       /* the head is there, and the rest is waited for a moment */
	uint64_t gather_ms; /* since when */
	/* what of the body came before it was asked for, decoded */
	char *stash;
	size_t stash_len, stash_at, stash_size;
};

/* ---- lb/proxy/upstream_conn.c
 * ---------------------------------------------------------- */

/* Gives x a connection: a kept one, or one that is being made. Errors as
 * upstream_error(); -EAGAIN: a name is asked for. */
int conn_get(struct upstream *x, const char **ret_why);
/* Of an answer that is over: keeps it for the next, if it may. */
void conn_put(struct conn *c, bool keeps);
void conn_close(struct conn *c);
/* As recv(2) and send(2), with -errno; 0 of recv: the end. */
ssize_t conn_recv(struct conn *c, void *buf, size_t max);
ssize_t conn_send(struct conn *c, const void *data, size_t len);
/* Whether more can be read without another event. */
bool conn_pending(const struct conn *c);
/* Closes what has been idle for long; drops pools that nobody uses. */
void pools_sweep(struct upstreams *u, uint64_t now_ms);
void pools_free(struct upstreams *u);

/* ---- lb/proxy/upstream_tls.c
 * ----------------------------------------------------------- */

int tls_begin(struct conn *c, const char **ret_why);
/* 0: done, -EAGAIN, or an error. */
int tls_greet(struct conn *c, const char **ret_why);
ssize_t tls_recv(struct conn *c, void *buf, size_t max);
ssize_t tls_send(struct conn *c, const void *data, size_t len);
/* Remembers the session for the next connection. */
void tls_remember(struct conn *c);
void tls_end(struct conn *c);
void tls_pool_free(struct pool *p);
void tls_done(struct upstreams *u);

/* ---- lb/proxy/upstream.c
 * --------------------------------------------------------------- */

/* Something happened to the connection of a call: go on. */
void upstream_go(struct upstream *x);
void upstream_broke(struct upstream *x, int rc, const char *why);

#endif
