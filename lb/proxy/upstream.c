/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Calls to backends: the request, the answer's head, and the body as it is pulled. A
 * call normally costs one send and one receive. */
#include "lb/proxy/upstream.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lb/proxy/upstream_impl.h"

#define BODY_SHORT 4096 /* sent together with the head */
#define INTERIM_MAX 8
#define SPARE_MAX 256
#define SPARE_BYTES 8192
#define SWEEP_MS 100
/* the rest of a short answer is awaited for at least this long, and two sweeps at
 * most */
#define GATHER_MS 100
#define STASH_MIN ((size_t)16 << 10) /* if the answer's length is unknown */
#define STASH_ROOM ((size_t)4 << 10) /* for one more read */
#define STASH_LEAST ((size_t)4 << 10)
#define STASH_SPARE_MAX 64 /* of the least size */

static uint64_t upstream_clock_ms(const struct upstreams *u)
{
	return loop_now_ms(u->loop);
}

/* Gives up x's connection, for reuse or not. */
static void let_go(struct upstream *x, bool keeps)
{
	struct conn *c = x->conn;

	x->conn = NULL;
	if (c)
		conn_put(c, keeps);
}

static void fail_upstream(struct upstream *x, int rc, const char *why)
{
	let_go(x, false);
	x->naming = false;
	x->state = UPSTREAM_FAILED;
	x->error = rc;
	x->why = why;
}

/* Whether the whole request has been passed to the kernel. */
static bool is_sent(const struct upstream *x)
{
	size_t rest = x->call->body.len > BODY_SHORT ? x->call->body.len : 0;

	return x->sent == x->request.len + rest;
}

static int send_more(struct upstream *x)
{
	while (!is_sent(x)) {
		bool in_head = x->sent < x->request.len;
		size_t at = in_head ? x->sent : x->sent - x->request.len;
		const struct buf *b = in_head ? &x->request : &x->call->body;
		ssize_t n = conn_send(x->conn, b->data + at, b->len - at);
		if (n == -EAGAIN)
			return 0;
		if (n < 0)
			return (int)n;
		x->sent += (size_t)n;
	}
	return 0;
}

static void end_exchange(struct upstream *x, bool clean)
{
	bool keeps = clean && x->head.keeps && is_sent(x);

	let_go(x, keeps);
}

/* ---- what arrives before it is asked for
 * ------------------------------------------ */

struct stash {
	struct upstreams *u;
	struct stash *next; /* among the spare ones */
	size_t size;
	char data[];
};

static struct stash *stash_of(char *data)
{
	return (struct stash *)(data - offsetof(struct stash, data));
}

void upstream_taken_free(void *data)
{
	struct stash *s = data ? stash_of(data) : NULL;

	if (!s)
		return;
	struct upstreams *u = s->u;
	u->stashed -= s->size;
	if (s->size != STASH_LEAST || u->spare_stashes >= STASH_SPARE_MAX) {
		free(s);
		return;
	}
	s->next = u->spare_stash;
	u->spare_stash = s;
	u->spare_stashes++;
}

static struct stash *get_spare_stash(struct upstreams *u)
{
	struct stash *s = u->spare_stash;

	u->spare_stash = s->next;
	u->spare_stashes--;
	return s;
}

/* Makes room for size bytes, keeping the present ones. */
static int grow_stash(struct upstream *x, size_t size)
{
	struct stash *s = x->stash ? stash_of(x->stash) : NULL;

	if (size <= x->stash_size && s)
		return 0;
	if (size < STASH_LEAST)
		size = STASH_LEAST;
	if (!s && size == STASH_LEAST && x->u->spare_stash)
		s = get_spare_stash(x->u);
	else
		s = realloc(s, sizeof(*s) + size);
	if (!s)
		return -ENOMEM;
	s->u = x->u;
	s->size = size;
	x->u->stashed += size - x->stash_size;
	x->stash = s->data;
	x->stash_size = size;
	return 0;
}

static void drop_stash(struct upstream *x)
{
	upstream_taken_free(x->stash);
	x->stash = NULL;
	x->stash_len = x->stash_at = x->stash_size = 0;
}

/* Size that the stash needs; 0: stream the answer. One byte more than its length, so
 * that the last read is a short one. */
static size_t room_for_body(const struct upstream *x)
{
	size_t size = x->stash_len * 2;

	if (x->body.framing == ANSWER_LENGTH)
		size = x->head.length <= WHOLE_MAX ? (size_t)x->head.length + 1 : 0;
	else if (x->stash_len >= WHOLE_MAX)
		size = 0;
	else if (size < STASH_MIN)
		size = STASH_MIN;
	if (x->stash_size - x->stash_len >= STASH_ROOM && size > x->stash_size)
		size = x->stash_size;
	return size <= x->stash_size ||
			       x->u->stashed + size - x->stash_size <= WHOLE_SUM_MAX
		       ? size
		       : 0;
}

/* Bytes of the body at data, len of them received: decodes and counts them. */
static ssize_t take_body_part(struct upstream *x, char *data, size_t len)
{
	size_t used;
	ssize_t n = answer_body_take(&x->body, data, len, &used);

	if (n < 0)
		return n;
	atomic_fetch_add(&x->u->counts.bytes, (uint64_t)n);
	if (x->body.over)
		end_exchange(x, used == len);
	return n;
}

/* After a read that ended a head: len more bytes are in the scratch. */
static int take_rest(struct upstream *x, char *data, size_t len)
{
	ssize_t n = take_body_part(x, data, len);
	size_t room;

	if (n <= 0)
		return (int)n;
	x->stash_len = (size_t)n;
	room = x->body.over ? 0 : room_for_body(x);
	if (grow_stash(x, room > (size_t)n ? room : (size_t)n) < 0) {
		x->stash_len = 0;
		return -ENOMEM;
	}
	memcpy(x->stash, data, (size_t)n);
	return 0;
}

/* The rest of a short answer. 1: it is complete, or will be streamed; 0: more is to
 * come. */
static int gather_body(struct upstream *x)
{
	while (!x->body.over) {
		struct conn *c = x->conn;
		size_t room = room_for_body(x);
		ssize_t n;

		if (!room)
			return 1;
		if (!c->readable && !conn_pending(c))
			return 0;
		if (grow_stash(x, room) < 0)
			return -ENOMEM;
		n = conn_recv(c, x->stash + x->stash_len, x->stash_size - x->stash_len);
		if (n == -EAGAIN)
			return 0;
		x->why = "its answer was cut short";
		if (n > 0) {
			n = take_body_part(x, x->stash + x->stash_len, (size_t)n);
			x->why = "bad chunks";
		} else if (n == 0) {
			n = answer_body_end(&x->body);
			if (n == 0)
				end_exchange(x, false);
		}
		if (n < 0)
			return (int)n;
		x->stash_len += (size_t)n;
	}
	return 1;
}

/* Looks for the head in what has arrived. 1: it is there; 0: more is to come;
 * *ret_used: interim answers before it, which are dropped. */
static int look_for_head(struct upstream *x, char *data, size_t len, size_t seen,
			 size_t *ret_used)
{
	size_t used = 0;

	for (;;) {
		ssize_t n = answer_head_read(data + used, len - used, seen, &x->head,
					     &x->why);
		*ret_used = used;
		if (n <= 0)
			return (int)n;
		used += (size_t)n;
		seen = 0;
		if (x->head.status >= 200)
			break;
		if (++x->interim > INTERIM_MAX) {
			x->why = "too many interim answers";
			return -EBADMSG;
		}
	}
	answer_body_begin(&x->body, &x->head, false);
	int rc = take_rest(x, data + used, len - used);
	x->why = rc == -EBADMSG ? "bad chunks" : "out of memory";
	return rc < 0 ? rc : 1;
}

/* Parses what came in place; it is copied only if it ends within the head. */
static int take_head(struct upstream *x, size_t len)
{
	size_t seen = x->partial.len, used = 0;
	char *data = x->u->scratch;

	if (seen) {
		buf_put(&x->partial, data, len);
		if (buf_error(&x->partial))
			return -ENOMEM;
		data = x->partial.data;
		len = x->partial.len;
	}
	int rc = look_for_head(x, data, len, seen, &used);
	if (rc != 0)
		return rc;
	if (seen) {
		memmove(data, data + used, len - used);
		buf_truncate(&x->partial, len - used);
	} else {
		buf_put(&x->partial, data + used, len - used);
	}
	return buf_error(&x->partial) ? -ENOMEM : 0;
}

/* 1: the head is there, 0: more is to come. */
static int read_head(struct upstream *x)
{
	struct conn *c = x->conn;

	while (c->readable || conn_pending(c)) {
		ssize_t n = conn_recv(c, x->u->scratch, SCRATCH_BYTES);
		if (n == -EAGAIN)
			return 0;
		x->why = "it closed the connection without an answer";
		if (n <= 0)
			return n < 0 ? (int)n : -ECONNRESET;
		if (!x->begun)
			x->first_byte_ms =
				(uint32_t)(upstream_clock_ms(x->u) - x->started_ms);
		x->begun = true;
		int rc = take_head(x, (size_t)n);
		if (rc != 0)
			return rc;
	}
	return 0;
}

/* Gets a connection and does all that is possible at once. */
static void begin_exchange(struct upstream *x)
{
	const char *why = NULL;
	int rc = conn_get(x, &why);

	x->naming = rc == -EAGAIN;
	x->connect_ms = upstream_clock_ms(x->u);
	if (rc == -EAGAIN)
		return;
	if (rc < 0) {
		fail_upstream(x, rc, why);
		return;
	}
	if (x->conn->state != CONN_OPEN)
		return;
	rc = send_more(x);
	if (rc < 0)
		upstream_broke(x, rc, "the request could not be sent");
}

void upstream_broke(struct upstream *x, int rc, const char *why)
{
	struct conn *c = x->conn;
	bool connecting = c && c->state == CONN_CONNECTS;
	bool stale = c && c->used && !x->begun && rc != -ETIMEDOUT;

	if (stale || (connecting && x->tries + 1 < c->pool->addresses.count)) {
		/* the backend closed a kept connection just as it was used, or an
		 * address does not answer: no answer has begun yet */
		if (stale)
			atomic_fetch_add(&x->u->counts.stale, 1);
		else
			x->tries++;
		x->fresh = true;
		x->sent = 0;
		x->conn = NULL;
		conn_close(c);
		begin_exchange(x);
		if (x->state != UPSTREAM_FAILED)
			return;
	} else {
		fail_upstream(x, rc, why);
	}
	if (!x->starting)
		x->event(x->arg);
}

/* What is there may be read now. */
static void pass_answer_on(struct upstream *x)
{
	x->state = UPSTREAM_ANSWERS;
	buf_done(&x->partial);
	x->event(x->arg);
}

void upstream_go(struct upstream *x)
{
	if (x->state == UPSTREAM_ANSWERS) {
		x->event(x->arg);
		return;
	}
	int rc = x->gathers ? 0 : send_more(x), sent = rc;
	if (!x->gathers)
		x->why = "the request could not be sent";
	/* a server that refuses a long body answers and closes: that answer is worth
	 * reading */
	if (!x->gathers && (rc == 0 || x->conn->readable)) {
		rc = read_head(x);
		x->gathers = rc > 0;
		x->gather_ms = upstream_clock_ms(x->u);
	}
	if (x->gathers)
		rc = gather_body(x);
	else if (rc == 0)
		rc = sent;
	if (rc == 0)
		return;
	if (rc < 0) {
		upstream_broke(x, rc, x->why);
		return;
	}
	pass_answer_on(x);
}

ssize_t upstream_read(struct upstream *x, void *buf, size_t max)
{
	if (x->stash_at < x->stash_len) {
		size_t n = x->stash_len - x->stash_at;
		n = n < max ? n : max;
		memcpy(buf, x->stash + x->stash_at, n);
		x->stash_at += n;
		if (x->stash_at == x->stash_len)
			drop_stash(x);
		return (ssize_t)n;
	}
	while (!x->body.over && x->state == UPSTREAM_ANSWERS) {
		struct conn *c = x->conn;
		if (!c->readable && !conn_pending(c))
			return -EAGAIN;
		ssize_t n = conn_recv(c, buf, max);
		if (n == -EAGAIN)
			return n;
		if (n > 0) {
			n = take_body_part(x, buf, (size_t)n);
		} else if (n == 0) {
			n = answer_body_end(&x->body);
			if (n == 0)
				end_exchange(x, false);
		}
		if (n < 0)
			fail_upstream(x, (int)n,
				      n == -EBADMSG ? "bad chunks"
						    : "its answer was cut short");
		if (n > 0)
			return n;
	}
	return x->state == UPSTREAM_FAILED ? x->error : 0;
}

void *upstream_take(struct upstream *x, size_t *ret_len)
{
	char *data;

	if (!x->body.over || x->stash_at || x->state != UPSTREAM_ANSWERS ||
	    (!x->stash && grow_stash(x, 0) < 0))
		return NULL;
	data = x->stash;
	*ret_len = x->stash_len;
	x->stash = NULL;
	x->stash_len = x->stash_size = 0;
	return data;
}

static void put_request(struct upstream *x, const struct call *call)
{
	const struct backend *b = x->backend;
	struct buf *out = &x->request;

	buf_puts(out, call->get ? "GET " : "POST ");
	buf_puts(out, b->base_path ? b->base_path : "");
	buf_put(out, call->target.data, call->target.len);
	buf_puts(out, " HTTP/1.1\r\n");
	buf_puts(out, b->fixed_headers ? b->fixed_headers : "");
	if (call->content_type) {
		buf_puts(out, "Content-Type: ");
		buf_puts(out, call->content_type);
		buf_puts(out, "\r\n");
	}
	if (!call->get || call->body.len) {
		buf_puts(out, "Content-Length: ");
		buf_put_u64(out, call->body.len);
		buf_puts(out, "\r\n");
	}
	if (call->accept) {
		buf_puts(out, "Accept: ");
		buf_puts(out, call->accept);
		buf_puts(out, "\r\n");
	}
	buf_puts(out, call->gzip ? "Accept-Encoding: gzip\r\nUser-Agent: "
				 : "Accept-Encoding: identity\r\nUser-Agent: ");
	buf_puts(out, x->u->user_agent);
	buf_puts(out, "\r\n\r\n");
	if (call->body.len <= BODY_SHORT)
		buf_put(out, call->body.data, call->body.len);
}

static struct upstream *call_new(struct upstreams *u)
{
	struct upstream *x = u->spare;

	if (!x)
		return calloc(1, sizeof(*x));
	struct buf request = x->request;
	u->spare = x->next;
	u->spares--;
	*x = (struct upstream){.request = request};
	buf_reset(&x->request);
	return x;
}

static void call_free(struct upstream *x)
{
	struct upstreams *u = x->u;

	if (u->spares >= SPARE_MAX || x->request.cap > SPARE_BYTES) {
		buf_done(&x->request);
		free(x);
		return;
	}
	x->next = u->spare;
	u->spare = x;
	u->spares++;
}

int upstream_start(struct upstreams *u, struct backend *b, const struct call *call,
		   void (*event)(void *arg), void *arg, struct upstream **ret)
{
	struct upstream *x = call_new(u);

	if (!x)
		return -ENOMEM;
	x->u = u;
	x->backend = backend_ref(b);
	x->call = call;
	x->event = event;
	x->arg = arg;
	x->started_ms = upstream_clock_ms(u);
	x->next = u->calls;
	x->at = &u->calls;
	if (x->next)
		x->next->at = &x->next;
	u->calls = x;
	put_request(x, call);
	if (buf_error(&x->request)) {
		upstream_end(x);
		return -ENOMEM;
	}
	*ret = x;
	x->starting = true;
	begin_exchange(x);
	x->starting = false;
	return 0;
}

enum upstream_state upstream_state(const struct upstream *x)
{
	return x->state;
}

const struct answer_head *upstream_head(const struct upstream *x)
{
	return &x->head;
}

uint32_t upstream_first_byte_ms(const struct upstream *x)
{
	return x->begun ? x->first_byte_ms
			: (uint32_t)(upstream_clock_ms(x->u) - x->started_ms);
}

int upstream_error(const struct upstream *x, const char **ret_why)
{
	*ret_why = x->why ? x->why : "it failed";
	return x->error;
}

void upstream_end(struct upstream *x)
{
	*x->at = x->next;
	if (x->next)
		x->next->at = x->at;
	let_go(x, false);
	backend_unref(x->backend);
	buf_done(&x->partial);
	drop_stash(x);
	call_free(x);
}

/* A name was resolved: all that wait try again. */
static void on_named(struct loop_task *task)
{
	struct upstreams *u =
		(struct upstreams *)((char *)task - offsetof(struct upstreams, named));
	struct upstream *next;

	for (struct upstream *x = u->calls; x; x = next) {
		next = x->next;
		if (!x->naming)
			continue;
		begin_exchange(x);
		if (x->state == UPSTREAM_FAILED)
			x->event(x->arg);
	}
}

static bool is_late(const struct upstream *x, uint64_t now)
{
	const struct backend *b = x->backend;
	uint64_t ms = now - x->started_ms;

	if (x->state == UPSTREAM_WAITS && !x->gathers && b->first_byte_timeout_ms &&
	    ms >= b->first_byte_timeout_ms)
		return true;
	return ms >= b->timeout_ms && !x->body.over;
}

static void check_time(struct upstream *x, uint64_t now)
{
	const struct backend *b = x->backend;
	bool open = x->conn && x->conn->state == CONN_OPEN;
	bool late = is_late(x, now);

	if (x->state == UPSTREAM_FAILED || (x->state == UPSTREAM_ANSWERS && !x->conn))
		return;
	if (!late && x->gathers && x->state == UPSTREAM_WAITS) {
		if (now - x->gather_ms >= GATHER_MS)
			pass_answer_on(x);
		return;
	}
	if (!late && (open || now - x->connect_ms < b->connect_timeout_ms))
		return;
	if (!late && x->conn) {
		upstream_broke(x, -ETIMEDOUT, "it did not accept a connection in time");
		return;
	}
	if (x->state == UPSTREAM_ANSWERS && x->conn->readable)
		fail_upstream(x, -ECANCELED,
			      "the client did not take its answer in time");
	else
		fail_upstream(x, -ETIMEDOUT,
			      x->naming ? "its name could not be resolved in time"
					: "it did not answer in time");
	x->event(x->arg);
}

static int on_upstreams_hook(struct loop_hook *hook)
{
	struct upstreams *u =
		(struct upstreams *)((char *)hook - offsetof(struct upstreams, hook));
	uint64_t now = upstream_clock_ms(u);
	struct upstream *next;

	if (now - u->swept_ms >= SWEEP_MS) {
		u->swept_ms = now;
		for (struct upstream *x = u->calls; x; x = next) {
			next = x->next;
			check_time(x, now);
		}
		pools_sweep(u, now);
	}
	return u->calls ? SWEEP_MS : 10 * SWEEP_MS;
}

int upstreams_new(struct loop *loop, struct resolver *resolver, const char *user_agent,
		  struct upstreams **ret, struct err *err)
{
	struct upstreams *u = calloc(1, sizeof(*u));

	if (u)
		u->user_agent = strdup(user_agent);
	if (!u || !u->user_agent) {
		free(u);
		return err_set(err, -ENOMEM, "backends: out of memory");
	}
	u->loop = loop;
	u->resolver = resolver;
	u->named.run = on_named;
	u->hook.run = on_upstreams_hook;
	if (resolver_tell(resolver, loop, &u->named) < 0) {
		upstreams_free(u);
		return err_set(err, -ENOSPC, "backends: too many threads");
	}
	loop_add_hook(loop, &u->hook);
	*ret = u;
	return 0;
}

void upstreams_free(struct upstreams *u)
{
	if (!u)
		return;
	pools_free(u);
	while (u->spare) {
		struct upstream *x = u->spare;
		u->spare = x->next;
		buf_done(&x->request);
		free(x);
	}
	while (u->spare_stash)
		free(get_spare_stash(u));
	tls_done(u);
	free(u->user_agent);
	free(u);
}

void upstreams_counts(struct upstreams *u, struct upstream_counts *ret)
{
	struct counts *c = &u->counts;

	*ret = (struct upstream_counts){
		.connects = atomic_load(&c->connects),
		.reused = atomic_load(&c->reused),
		.stale = atomic_load(&c->stale),
		.bytes = atomic_load(&c->bytes),
		.open = atomic_load(&c->open),
		.idle = atomic_load(&c->idle),
	};
}
