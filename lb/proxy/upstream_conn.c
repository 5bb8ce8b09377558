/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Connections to backends: made without blocking, kept between calls. Each is watched
 * for everything for its whole life, edge-triggered, so that a call needs no system
 * call but its own send and receive. */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lb/proxy/upstream_impl.h"

#define IDLE_MAX 256      /* of one backend and thread */
#define IDLE_MS 55000     /* shorter than servers' own limits */
#define POOL_MS 600000ull /* an unused pool is dropped */

static struct pool **find_pool(struct upstreams *u, const struct backend *b)
{
	struct pool **at = &u->pools[((uintptr_t)b >> 5) % POOLS];

	while (*at && (*at)->backend != b)
		at = &(*at)->next;
	return at;
}

static struct pool *get_pool(struct upstreams *u, struct backend *b)
{
	struct pool **at = find_pool(u, b), *p = *at;

	if (p)
		return p;
	p = calloc(1, sizeof(*p));
	if (!p)
		return NULL;
	p->backend = backend_ref(b);
	p->idle.next = p->idle.prev = &p->idle;
	*at = p;
	return p;
}

static void idle_remove(struct conn *c)
{
	c->prev->next = c->next;
	c->next->prev = c->prev;
	c->pool->idle_count--;
	atomic_fetch_sub(&c->u->counts.idle, 1);
}

void conn_close(struct conn *c)
{
	if (!c->call)
		idle_remove(c);
	tls_end(c);
	loop_forget(c->u->loop, c->fd, &c->watch);
	close(c->fd);
	c->pool->open--;
	atomic_fetch_sub(&c->u->counts.open, 1);
	free(c);
}

void conn_put(struct conn *c, bool keeps)
{
	struct pool *p = c->pool;
	char byte;

	if (!c->used)
		tls_remember(c);
	/* bytes after an answer must not become the next call's answer */
	if (keeps && (c->readable || conn_pending(c)))
		keeps = conn_recv(c, &byte, 1) == -EAGAIN;
	if (!keeps || c->hung_up || p->idle_count >= IDLE_MAX) {
		conn_close(c);
		return;
	}
	c->used = true;
	c->call = NULL;
	c->idle_ms = p->used_ms = loop_now_ms(c->u->loop);
	c->next = p->idle.next;
	c->prev = &p->idle;
	c->next->prev = c->prev->next = c;
	p->idle_count++;
	atomic_fetch_add(&c->u->counts.idle, 1);
}

bool conn_pending(const struct conn *c)
{
	return c->tls && gnutls_record_check_pending(c->tls) > 0;
}

ssize_t conn_recv(struct conn *c, void *buf, size_t max)
{
	if (c->tls)
		return tls_recv(c, buf, max);
	ssize_t n = recv(c->fd, buf, max, 0);
	if (n < 0) {
		c->readable &= errno != EAGAIN;
		return -errno;
	}
	/* a short read of a stream means that there was no more: epoll(7). An end that
	 * is already known would not be reported again. */
	if ((size_t)n < max && !c->hung_up)
		c->readable = false;
	return n;
}

ssize_t conn_send(struct conn *c, const void *data, size_t len)
{
	if (c->tls)
		return tls_send(c, data, len);
	ssize_t n = send(c->fd, data, len, MSG_NOSIGNAL);
	return n < 0 ? -errno : n;
}

/* The address has answered, or not. */
static int check_connected(struct conn *c)
{
	int error = 0;
	socklen_t len = sizeof(error);

	if (getsockopt(c->fd, SOL_SOCKET, SO_ERROR, &error, &len) < 0)
		return -errno;
	return -error;
}

/* Continues connecting. 0: it is open. */
static int advance_connection(struct conn *c, const char **why)
{
	int rc = 0;

	if (c->state == CONN_CONNECTS) {
		rc = check_connected(c);
		if (rc < 0) {
			*why = "no connection";
			return rc;
		}
		/* the next connection tries this address first */
		c->pool->good += c->call->tries;
		c->call->tries = 0;
		c->state = CONN_GREETS;
		if (c->pool->backend->tls)
			rc = tls_begin(c, why);
	}
	if (rc == 0 && c->tls)
		rc = tls_greet(c, why);
	if (rc == 0)
		c->state = CONN_OPEN;
	return rc;
}

static void on_event(struct loop_watch *w, uint32_t events)
{
	struct conn *c = (struct conn *)((char *)w - offsetof(struct conn, watch));
	struct upstream *x = c->call;
	const char *why = NULL;

	c->readable |= events & (EPOLLIN | EPOLLHUP | EPOLLERR | EPOLLRDHUP);
	c->hung_up |= (events & (EPOLLHUP | EPOLLERR | EPOLLRDHUP)) != 0;
	if (!x) {
		/* TLS tickets may come at any time; all else is an end or an error */
		char byte;
		if (c->tls && !c->hung_up && conn_recv(c, &byte, 1) == -EAGAIN)
			return;
		if (c->readable)
			conn_close(c);
		return;
	}
	if (c->state != CONN_OPEN) {
		/* ignore events of a socket that was not yet connected */
		if (c->state == CONN_CONNECTS &&
		    !(events & (EPOLLOUT | EPOLLERR | EPOLLHUP)))
			return;
		int rc = advance_connection(c, &why);
		if (rc == -EAGAIN)
			return;
		if (rc < 0) {
			upstream_broke(x, rc, why);
			return;
		}
	}
	upstream_go(x);
}

/* Starts connecting to the next address. */
static int begin_connection(struct upstream *x, struct pool *p, const char **why)
{
	struct upstreams *u = x->u;
	const struct resolve_address *a =
		&p->addresses.at[(p->good + x->tries) % p->addresses.count];
	struct conn *c = calloc(1, sizeof(*c));
	int one = 1;

	*why = "no connection";
	if (!c)
		return -ENOMEM;
	c->u = u;
	c->pool = p;
	c->watch.ready = on_event;
	c->fd = socket(a->sa.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	int rc = c->fd < 0 ? -errno : 0;
	if (rc == 0) {
		(void)setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
		if (connect(c->fd, (const struct sockaddr *)&a->sa, a->len) < 0 &&
		    errno != EINPROGRESS)
			rc = -errno;
	}
	if (rc == 0)
		rc = loop_watch(u->loop, c->fd,
				EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET, &c->watch);
	if (rc < 0) {
		if (c->fd >= 0)
			close(c->fd);
		free(c);
		return rc;
	}
	x->conn = c;
	c->call = x;
	p->open++;
	atomic_fetch_add(&u->counts.open, 1);
	atomic_fetch_add(&u->counts.connects, 1);
	return 0;
}

int conn_get(struct upstream *x, const char **why)
{
	struct upstreams *u = x->u;
	struct pool *p = get_pool(u, x->backend);

	*why = "out of memory";
	if (!p)
		return -ENOMEM;
	p->used_ms = loop_now_ms(u->loop);
	if (!x->fresh && p->idle_count) {
		struct conn *c = p->idle.next;
		idle_remove(c);
		c->call = x;
		x->conn = c;
		atomic_fetch_add(&u->counts.reused, 1);
		return 0;
	}
	*why = "no such name";
	int rc = resolver_get(u->resolver, x->backend->host, x->backend->port,
			      &p->addresses);
	for (; rc == 0; x->tries++) {
		rc = begin_connection(x, p, why);
		if (rc == 0 || rc == -ENOMEM || x->tries + 1 >= p->addresses.count)
			break;
		rc = 0;
	}
	return rc;
}

static void pool_free(struct pool *p)
{
	while (p->idle.next != &p->idle)
		conn_close(p->idle.next);
	tls_pool_free(p);
	backend_unref(p->backend);
	free(p);
}

void pools_sweep(struct upstreams *u, uint64_t now_ms)
{
	for (size_t i = 0; i < POOLS; i++) {
		for (struct pool **at = &u->pools[i]; *at;) {
			struct pool *p = *at;
			/* the one unused for longest is the last */
			while (p->idle.prev != &p->idle &&
			       now_ms - p->idle.prev->idle_ms >= IDLE_MS)
				conn_close(p->idle.prev);
			if (p->open || now_ms - p->used_ms < POOL_MS) {
				at = &p->next;
				continue;
			}
			*at = p->next;
			pool_free(p);
		}
	}
}

void pools_free(struct upstreams *u)
{
	for (size_t i = 0; i < POOLS; i++) {
		while (u->pools[i]) {
			struct pool *p = u->pools[i];
			u->pools[i] = p->next;
			pool_free(p);
		}
	}
}
