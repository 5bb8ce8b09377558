/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test/bench/lb_client.c with lb/proxy/upstream.c, driven as lb/proxy/relay.c and the
 * web server do: woken after each batch of events, short answers whole, of longer ones
 * what the sink takes. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "lb/proxy/upstream.h"
#include "lib/http/web.h"
#include "test/bench/lb_client.h"
#include "test/fake/lb_gate.h"

struct own_slot {
	struct relay_slot *s;
	struct own *own;
	struct loop_watch watch; /* of the sink */
	struct upstream *call;
	bool woken;
	char *data; /* whole, or part */
	void *whole;
	size_t len, at; /* in data, and passed on of it */
	char part[WEB_STREAM_BYTES];
};

struct own {
	struct relay_run *run;
	struct loop *loop;
	struct resolver *resolver;
	struct upstreams *upstreams;
	struct backend_set set;
	struct call call;
	struct loop_hook hook;
	atomic_bool stop;
	struct own_slot slots[SLOTS];
};
static struct own *own; /* one at a time */

static void wake_own(void *arg)
{
	struct own_slot *o = arg;

	o->woken = true;
}

static void on_own_sink(struct loop_watch *w, uint32_t events)
{
	struct own_slot *o =
		(struct own_slot *)((char *)w - offsetof(struct own_slot, watch));

	(void)events;
	if (o->at < o->len)
		wake_own(o);
}

static void start_own(struct own_slot *o)
{
	struct relay_run *r = o->own->run;

	if (!r->todo)
		return;
	r->todo--;
	r->running++;
	o->s->got = 0;
	o->s->ok = o->s->strange = false;
	o->data = NULL;
	o->len = o->at = 0;
	if (upstream_start(o->own->upstreams, &o->own->set.backends[0].public,
			   &o->own->call, wake_own, o, &o->call) < 0)
		_exit(1);
	if (upstream_state(o->call) != UPSTREAM_WAITS)
		wake_own(o);
}

static void end_own(struct own_slot *o, bool ok)
{
	struct relay_run *r = o->own->run;

	o->s->ok = ok;
	r->bad += !ok;
	r->running--;
	upstream_taken_free(o->whole);
	o->whole = NULL;
	upstream_end(o->call);
	o->call = NULL;
	start_own(o);
}

/* The next part of the answer into o->data; as upstream_read(). */
static ssize_t next_own_part(struct own_slot *o)
{
	if (o->whole)
		return 0;
	if (!o->data) {
		o->whole = upstream_take(o->call, &o->len);
		o->data = o->whole;
		if (o->whole)
			return (ssize_t)o->len;
	}
	o->data = o->part;
	ssize_t n = upstream_read(o->call, o->part, sizeof(o->part));
	o->len = n > 0 ? (size_t)n : 0;
	o->at = 0;
	return n;
}

static void continue_own(struct own_slot *o)
{
	o->woken = false;
	if (!o->call || upstream_state(o->call) == UPSTREAM_WAITS)
		return;
	if (upstream_state(o->call) == UPSTREAM_FAILED && o->at == o->len) {
		end_own(o, false);
		return;
	}
	for (;;) {
		if (o->at < o->len)
			o->at += relay_part(o->s, o->data + o->at, o->len - o->at);
		if (o->at < o->len)
			return;
		ssize_t n = next_own_part(o);
		if (n == -EAGAIN)
			return;
		if (n <= 0) {
			end_own(o, n == 0);
			return;
		}
	}
}

static int on_own_hook(struct loop_hook *h)
{
	bool more = false;

	(void)h;
	for (unsigned i = 0; i < own->run->slots; i++) {
		if (own->slots[i].woken)
			continue_own(&own->slots[i]);
	}
	for (unsigned i = 0; i < own->run->slots; i++)
		more |= own->slots[i].woken;
	atomic_store(&own->stop, !own->run->running);
	return more || !own->run->running ? 0 : -1;
}

static int open_own(struct relay_run *r)
{
	char address[32];
	int rc;

	own = calloc(1, sizeof(*own));
	if (!own)
		return -ENOMEM;
	own->run = r;
	own->hook.run = on_own_hook;
	own->call = (struct call){.get = true, .accept = "application/json"};
	snprintf(address, sizeof(address), "127.0.0.1:%u", r->port);
	if (fake_backend_add(&own->set, address) < 0 ||
	    loop_new(&own->loop, NULL) < 0 || resolver_new(&own->resolver, NULL) < 0)
		return -ENOMEM;
	own->set.backends[0].public.timeout_ms = r->timeout_ms;
	rc = upstreams_new(own->loop, own->resolver, "bench", &own->upstreams, NULL);
	if (rc < 0)
		return rc;
	loop_add_hook(own->loop, &own->hook);
	for (unsigned i = 0; i < SLOTS && rc == 0; i++) {
		struct own_slot *o = &own->slots[i];

		o->s = &r->slot[i];
		o->own = own;
		o->watch.ready = on_own_sink;
		if (o->s->sink >= 0)
			rc = loop_watch(own->loop, o->s->sink, EPOLLOUT | EPOLLET,
					&o->watch);
	}
	return rc;
}

static void run_own(struct relay_run *r)
{
	buf_reset(&own->call.target);
	buf_puts(&own->call.target, r->path);
	atomic_store(&own->stop, false);
	for (unsigned i = 0; i < r->slots; i++)
		start_own(&own->slots[i]);
	loop_run(own->loop, &own->stop);
}

static void close_own(struct relay_run *r)
{
	(void)r;
	upstreams_free(own->upstreams);
	resolver_free(own->resolver);
	loop_free(own->loop);
	buf_done(&own->call.target);
	free(own);
}

const struct relay_kind relay_own = {"own", 0, open_own, run_own, close_own};
