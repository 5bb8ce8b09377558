/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Stands for lb/gate/gate.c, lb/site/backend.c and both protocols. */
#include "test/fake/lb_gate.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "lib/clock.h"
#include "lib/parse.h"

struct gate {
	struct site_cluster cluster;
	atomic_bool stopped;
	atomic_uint thinking;
};

int fake_backend_add(struct backend_set *s, const char *text)
{
	struct fake_backend *b = &s->backends[s->count];
	bool tls = strncmp(text, "tls:", 4) == 0;
	const char *host = tls ? text + 4 : text, *colon = strrchr(host, ':');
	uint32_t port = 0;

	if (s->count == FAKE_BACKENDS_MAX || !colon || parse_u32(colon + 1, &port) < 0)
		return -EINVAL;
	snprintf(b->name, sizeof(b->name), "%s", text);
	snprintf(b->host, sizeof(b->host), "%.*s", (int)(colon - host), host);
	snprintf(b->headers, sizeof(b->headers), "Host: %s\r\n", host);
	b->public = (struct backend){.name = b->name,
				     .host = b->host,
				     .port = (uint16_t)port,
				     .tls = tls,
				     .base_path = "",
				     .fixed_headers = b->headers,
				     .connect_timeout_ms = 1000,
				     .timeout_ms = 5000};
	s->count++;
	return 0;
}

static struct fake_backend *fake(const struct backend *b)
{
	return (struct fake_backend *)(uintptr_t)b;
}

struct backend *backend_ref(struct backend *b)
{
	atomic_fetch_add(&fake(b)->refs, 1);
	return b;
}

void backend_unref(struct backend *b)
{
	if (b)
		atomic_fetch_sub(&fake(b)->refs, 1);
}

int backend_pick(struct backend_set *s, const struct backend_need *need,
		 struct backend **ret, struct err *err)
{
	for (size_t i = 0; i < s->count; i++) {
		struct fake_backend *b =
			&s->backends[atomic_fetch_add(&s->next, 1) % s->count];
		if (&b->public == need->not_this)
			continue;
		atomic_fetch_add(&b->picked, 1);
		*ret = &b->public;
		return 0;
	}
	return err_set(err, -EHOSTUNREACH, "no backend is healthy");
}

void backend_ended(struct backend *b, enum backend_outcome how, uint32_t first_byte_ms)
{
	(void)first_byte_ms;
	atomic_fetch_add(&fake(b)->ended[how], 1);
}

static void fake_refuse(const struct protocol_input *in, unsigned status,
			const char *text, struct buf *out, const char **type)
{
	(void)in;
	buf_printf(out, "{\"status\":\"error\",\"code\":%u,\"error\":\"%s\"}", status,
		   text);
	*type = "application/json";
}

const struct protocol protocol_prometheus = {.name = "prometheus",
					     .refuse = fake_refuse};
const struct protocol protocol_pyroscope = {.name = "pyroscope", .refuse = fake_refuse};

int fake_gate_new(struct backend_set *s, struct gate **ret)
{
	struct gate *g = calloc(1, sizeof(*g));

	if (!g)
		return -ENOMEM;
	g->cluster.id = "test";
	g->cluster.backends[SITE_PROMETHEUS] = g->cluster.backends[SITE_PYROSCOPE] = s;
	*ret = g;
	return 0;
}

void gate_stop(struct gate *g)
{
	atomic_store(&g->stopped, true);
}

void gate_free(struct gate *g)
{
	const struct timespec pause = {.tv_nsec = 1000000};

	while (atomic_load(&g->thinking))
		nanosleep(&pause, NULL);
	free(g);
}

/* 127.8.0.1 */
bool gate_is_front_end(struct gate *g, const struct netaddr *peer)
{
	static const struct netaddr front = {
		.b = {[10] = 0xff, [11] = 0xff, [12] = 127, [13] = 8, [15] = 1}};

	(void)g;
	return netaddr_equal(peer, &front);
}

struct thought {
	struct gate *g;
	struct gate_request *r;
};

static void *think(void *arg)
{
	struct thought *t = arg;
	const struct timespec pause = {.tv_nsec = 20000000};

	nanosleep(&pause, NULL);
	t->r->wake(t->r->arg);
	atomic_fetch_sub(&t->g->thinking, 1);
	free(t);
	return NULL;
}

static enum gate_answer say(struct gate_request *r, unsigned status, const char *text)
{
	r->status = status;
	r->body_type = "application/json";
	buf_puts(&r->body, text);
	return GATE_DONE;
}

enum gate_answer gate_pass(struct gate *g, struct gate_request *r)
{
	const struct protocol_input *in = &r->input;
	struct call *c = &r->call;
	pthread_t thread;

	r->input.now_ms = (int64_t)(clock_realtime_ns() / NSEC_PER_MSEC);
	if (atomic_load(&g->stopped))
		return say(r, 503, "{\"error\":\"stopped\"}");
	if (strcmp(in->path, "/refuse") == 0)
		return say(r, 403, "{\"error\":\"not yours\"}");
	if (strcmp(in->path, "/answer") == 0)
		return say(r, 200, "{\"status\":\"success\"}");
	if (strncmp(in->path, "/wait", 5) == 0 && !r->state) {
		struct thought *t = calloc(1, sizeof(*t));
		r->state = t;
		if (t) {
			*t = (struct thought){g, r};
			atomic_fetch_add(&g->thinking, 1);
			if (pthread_create(&thread, NULL, think, t) == 0) {
				pthread_detach(thread);
				return GATE_WAIT;
			}
		}
		return say(r, 503, "{}");
	}
	r->cluster = &g->cluster;
	c->get = !in->post;
	buf_puts(&c->target, in->path);
	if (in->query) {
		buf_putc(&c->target, '?');
		buf_puts(&c->target, in->query);
	}
	c->content_type = in->post ? "application/x-www-form-urlencoded" : NULL;
	if (in->body_len)
		buf_put(&c->body, in->body, in->body_len);
	c->gzip = in->accept_encoding && strstr(in->accept_encoding, "gzip");
	c->from_ms = INT64_MIN;
	c->to_ms = INT64_MAX;
	return GATE_DONE;
}

void gate_spare_done(struct gate_spare *spare)
{
	(void)spare;
}

void gate_end(struct gate *g, struct gate_request *r)
{
	(void)g;
	buf_done(&r->call.target);
	buf_done(&r->call.body);
	buf_done(&r->body);
}
