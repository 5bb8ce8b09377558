/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Takes a request through gate, backend and answer. It sleeps instead of blocking, and
 * re-examines its state from the start when it is woken. */
#include "lb/proxy/relay.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "lb/proxy/filter.h"
#include "lib/identity/identity_web.h"
#include "lib/log.h"

#define SPARE_MAX 256
#define LOOK_MS 250   /* how soon a client that left is noticed */
#define LOOK_AT 256   /* clients of one poll(2) */
#define TAKE_MS 60000 /* for the client, in addition to the backend's time */
#define TRIES 2       /* backends to try */
#define GONE 499      /* client left */

static const struct protocol *const relay_protocols[SITE_PROTOCOLS] = {
	[SITE_PROMETHEUS] = &protocol_prometheus,
	[SITE_PYROSCOPE] = &protocol_pyroscope,
};

struct relay {
	struct relays *all;
	struct relay *next, **at;
	struct web_request *r;
	struct identity_request identity;
	struct gate_request gate;
	struct loop_task woken; /* by the gate */
	enum {
		AT_GATE,    /* gate_pass() is to be called */
		AT_BACKEND, /* a call is under way */
		ANSWERING   /* its answer is being streamed */
	} where;
	bool gone;   /* the client left, or we are about to */
	bool gzip;   /* the client accepts it */
	bool sieved; /* labels must be removed from this backend's answer */
	struct filtered *filtered;
	unsigned tries;
	uint64_t since_ms;
	struct backend *backend; /* picked */
	struct upstream *call;
};

static void on_gate(struct loop_task *task)
{
	struct relay *y =
		(struct relay *)((char *)task - offsetof(struct relay, woken));

	web_wake(y->r);
}

/* Any thread. */
static void wake_from_gate(void *arg)
{
	struct relay *y = arg;

	loop_post(y->all->loop, &y->woken);
}

static void on_call(void *arg)
{
	struct relay *y = arg;

	web_wake(y->r);
}

/* gRPC-web reports errors in the body of a 200: clients do not read the text of other
 * statuses. */
static unsigned shown_status(unsigned status, const char *type)
{
	static const char web[] = "application/grpc-web";

	return type && !strncmp(type, web, sizeof(web) - 1) ? 200 : status;
}

static void refuse_relay(struct relay *y, unsigned status, const char *text)
{
	struct gate_request *g = &y->gate;
	const char *type = "text/plain; charset=utf-8";
	auto_buf struct buf body = BUF_INIT;

	relay_protocols[g->protocol]->refuse(&g->input, status, text, &body, &type);
	if (status == 503)
		web_add_header(y->r, "Retry-After", "1");
	web_answer(y->r, shown_status(status, type), type, body.data ? body.data : "",
		   body.len);
}

/* ---- the request ----------------------------------------------------------------- */

static void collect_facts(void *arg, const struct identity *id)
{
	struct relay *y = arg;

	identity_collect(id, y->r, &y->identity);
	y->gate.facts = &y->identity.facts;
}

/* False: it was refused. */
static bool collect_request(struct relay *y)
{
	struct web_request *r = y->r;
	struct gate_request *g = &y->gate;
	struct protocol_input *in = &g->input;
	const char *query = strchr(web_target(r), '?');
	enum { TYPE, ENCODING, ACCEPT, ACCEPT_ENCODING, CLUSTER, HEADERS };
	struct web_header_values v[HEADERS] = {
		[TYPE] = {.name = "Content-Type"},
		[ENCODING] = {.name = "Content-Encoding"},
		[ACCEPT] = {.name = "Accept"},
		[ACCEPT_ENCODING] = {.name = "Accept-Encoding"},
		[CLUSTER] = {.name = "X-Ceems-Cluster-Id"},
	};

	in->post = web_method(r) == WEB_POST;
	in->path = web_path(r);
	in->query = query ? query + 1 : NULL;
	in->body = web_body(r, &in->body_len);
	web_headers(r, v, HEADERS);
	in->content_type = v[TYPE].first;
	in->content_encoding = v[ENCODING].first;
	in->accept = v[ACCEPT].first;
	in->accept_encoding = v[ACCEPT_ENCODING].first;
	for (size_t i = 0; i < CLUSTER; i++) {
		if (v[i].count < 2)
			continue;
		refuse_relay(y, 400, "a header appears twice");
		return false;
	}
	g->collect = collect_facts;
	g->cluster_header = v[CLUSTER].first;
	g->cluster_headers = v[CLUSTER].count;
	g->wake = wake_from_gate;
	g->arg = y;
	return true;
}

static struct relay *relay_new(struct relays *rs, enum site_protocol protocol,
			       struct web_request *r)
{
	struct relay *y = rs->spare;

	if (y) {
		rs->spare = y->next;
		rs->spares--;
		memset(y, 0, sizeof(*y));
	} else {
		y = calloc(1, sizeof(*y));
	}
	if (!y)
		return NULL;
	y->all = rs;
	y->r = r;
	y->gate.spare = &rs->gate_spare;
	y->gate.protocol = protocol;
	y->gate.client = web_client_key(r);
	y->woken.run = on_gate;
	y->since_ms = loop_now_ms(rs->loop);
	y->next = rs->first;
	y->at = &rs->first;
	if (y->next)
		y->next->at = &y->next;
	rs->first = y;
	*web_state(r) = y;
	return y;
}

/* ---- to a backend ---------------------------------------------------------------- */

/* Ends the call and records its outcome; the next may follow. */
static void release_backend(struct relay *y, enum backend_outcome how)
{
	if (!y->backend)
		return;
	uint32_t ms = y->call ? upstream_first_byte_ms(y->call) : 0;
	if (y->call)
		upstream_end(y->call);
	y->call = NULL;
	filtered_free(y->filtered);
	y->filtered = NULL;
	backend_ended(y->backend, how, ms);
	backend_unref(y->backend);
	y->backend = NULL;
}

/* Sends the call to a backend other than `not_this`. 0, or the status of a refusal;
 * 200: filter_empty is the answer. */
static unsigned send_call(struct relay *y, const struct backend *not_this,
			  struct err *err)
{
	struct gate_request *g = &y->gate;
	struct backend_set *set = g->cluster->backends[g->protocol];
	const struct backend_need need = {.from_ms = g->call.from_ms,
					  .to_ms = g->call.to_ms,
					  .now_ms = g->input.now_ms,
					  .dialect = g->input.dialect,
					  .not_this = not_this};
	struct backend *b = NULL;
	int rc = -EHOSTUNREACH;

	if (set)
		rc = backend_pick(set, &need, &b, err);
	else
		err_set(err, rc, "this cluster has no such backends");
	if (rc < 0)
		return rc == -EBUSY ? 503 : rc == -ERANGE ? 422 : 502;
	y->backend = backend_ref(b);
	switch (filter_need(b, g->call.target.data, g->call.target.len)) {
	case FILTER_EMPTY:
		release_backend(y, BACKEND_CANCELLED);
		return 200;
	case FILTER_ANSWER:
		y->sieved = true;
		g->call.gzip = false;
		break;
	case FILTER_NONE:
		y->sieved = false;
		g->call.gzip = y->gzip;
	}
	y->tries++;
	y->where = AT_BACKEND;
	web_deadline(y->r, (uint64_t)b->timeout_ms + TAKE_MS);
	if (upstream_start(y->all->upstreams, b, &g->call, on_call, y, &y->call) == 0)
		return 0;
	release_backend(y, BACKEND_CANCELLED);
	err_set(err, -ENOMEM, "out of memory");
	return 503;
}

/* What a failed call means for its backend. */
static enum backend_outcome outcome_of_failure(int rc)
{
	if (rc == -ECANCELED || rc == -ENOMEM)
		return BACKEND_CANCELLED;
	return rc == -ETIMEDOUT ? BACKEND_TIMED_OUT : BACKEND_FAILED;
}

/* Nothing of the answer has been passed on yet: tries another backend, or tells the
 * client. True: tried. */
static bool try_another_backend(struct relay *y, enum backend_outcome how,
				const char *why)
{
	struct backend *last = backend_ref(y->backend);
	char text[256];

	snprintf(text, sizeof(text), "the backend failed: %s", why);
	log_debug("backend %s: %s", last->name, why);
	release_backend(y, how);
	bool asked = how == BACKEND_FAILED && y->tries < TRIES &&
		     send_call(y, last, NULL) == 0;
	backend_unref(last);
	if (asked)
		atomic_fetch_add(&y->all->counts[y->gate.protocol].retries, 1);
	else
		refuse_relay(y, how == BACKEND_TIMED_OUT ? 504 : 502, text);
	return asked;
}

/* ---- and back -------------------------------------------------------------------- */

/* The web server wants more of the answer. */
static ssize_t read_upstream_part(void *arg, void *buf, size_t max)
{
	struct relay *y = arg;

	if (y->gone)
		return -ECANCELED;
	ssize_t n = y->filtered ? filtered_read(y->filtered, buf, max)
				: upstream_read(y->call, buf, max);
	if (n < 0 && n != -EAGAIN) {
		atomic_fetch_add(&y->all->counts[y->gate.protocol].broken, 1);
		release_backend(y, outcome_of_failure((int)n));
	}
	return n;
}

/* NULL: the status may be passed on; else why not. */
static const char *bad_status(unsigned status)
{
	if (status >= 300 && status < 400)
		return "it answered with a redirect";
	if (status == 401 || status == 407)
		return "it rejected our credentials";
	if (status == 502 || status == 504)
		return "a server between it and us says so";
	return NULL;
}

static ssize_t read_backend(void *arg, void *buf, size_t max)
{
	struct relay *y = arg;

	return upstream_read(y->call, buf, max);
}

/* Removes the labels that this backend's answers must not show. NULL, or why that
 * fails. */
static const char *begin_filter(struct relay *y, const struct answer_head *h)
{
	const struct buf *t = &y->gate.call.target;
	static const char json[] = "application/json";

	if (strncasecmp(h->type, json, sizeof(json) - 1) != 0)
		return "labels can only be removed from JSON";
	if (filtered_new(y->backend, t->data, t->len, *h->encoding ? h->encoding : NULL,
			 read_backend, y, &y->filtered, NULL) < 0)
		return "labels cannot be removed from its answer";
	return NULL;
}

static void pass_on(struct relay *y)
{
	const struct answer_head *h = upstream_head(y->call);
	const char *type = *h->type ? h->type : "application/octet-stream";
	unsigned status = h->status;
	size_t len;

	if (y->filtered) {
		y->where = ANSWERING;
		web_answer_stream(y->r, status, type, -1, read_upstream_part, y);
		return;
	}
	if (*h->encoding)
		web_add_header(y->r, "Content-Encoding", h->encoding);
	if (*h->grpc_status)
		web_add_header(y->r, "Grpc-Status", h->grpc_status);
	if (*h->grpc_message)
		web_add_header(y->r, "Grpc-Message", h->grpc_message);
	void *whole = upstream_take(y->call, &len);
	if (whole) {
		web_answer_shared(y->r, status, type, whole, len, upstream_taken_free,
				  whole);
		release_backend(y, BACKEND_ANSWERED);
		return;
	}
	y->where = ANSWERING;
	web_answer_stream(y->r, status, type,
			  h->framing == ANSWER_LENGTH ? (int64_t)h->length : -1,
			  read_upstream_part, y);
}

/* Looks at the backend's answer so far. False: nothing yet, it sleeps on. */
static bool look_at_upstream(struct relay *y)
{
	const char *why = NULL;
	int rc;

	switch (upstream_state(y->call)) {
	case UPSTREAM_WAITS:
		return false;
	case UPSTREAM_FAILED:
		rc = upstream_error(y->call, &why);
		return !try_another_backend(y, outcome_of_failure(rc), why);
	case UPSTREAM_ANSWERS:
		why = bad_status(upstream_head(y->call)->status);
		if (!why && y->sieved)
			why = begin_filter(y, upstream_head(y->call));
		if (why)
			return !try_another_backend(y, BACKEND_FAILED, why);
		pass_on(y);
	}
	return true;
}

static void begin_answer(struct relay *y)
{
	struct gate_request *g = &y->gate;

	if (*g->retry_after)
		web_add_header(y->r, "Retry-After", g->retry_after);
	web_answer(y->r, shown_status(g->status, g->body_type),
		   g->body_type ? g->body_type : "text/plain",
		   g->body.data ? g->body.data : "", g->body.len);
}

void relay_handle(struct relays *rs, enum site_protocol protocol, struct web_request *r)
{
	struct relay *y = *web_state(r);

	if (!y) {
		y = relay_new(rs, protocol, r);
		if (!y) {
			web_answer_text(r, 503, "out of memory\n");
			return;
		}
		if (!collect_request(y))
			return;
	}
	struct err err = {""};
	unsigned status;
	if (y->gone && y->where == AT_BACKEND) {
		atomic_fetch_add(&rs->counts[protocol].cancelled, 1);
		release_backend(y, BACKEND_CANCELLED);
		refuse_relay(y, atomic_load(&rs->ending) ? 503 : GONE,
			     "this server is stopping");
		return;
	}
	if (y->where == AT_GATE) {
		if (gate_pass(rs->gate, &y->gate) == GATE_WAIT) {
			web_sleep(r);
			return;
		}
		web_count_munge(r, y->gate.munge_rc);
		if (*y->gate.login)
			web_proved(r, y->gate.front, y->gate.login);
		if (y->gate.status) {
			begin_answer(y);
			return;
		}
		y->gzip = y->gate.call.gzip;
		status = send_call(y, NULL, &err);
		if (status) {
			if (status == 200)
				web_answer(r, status, "application/json", filter_empty,
					   strlen(filter_empty));
			else
				refuse_relay(y, status, err.text);
			return;
		}
	}
	/* a call that failed at once, even a retry, is handled like any other */
	while (y->call && upstream_state(y->call) != UPSTREAM_WAITS) {
		if (look_at_upstream(y))
			return;
	}
	web_nap(r);
}

void relay_ended(struct relays *rs, struct web_request *r, unsigned status)
{
	struct relay *y = *web_state(r);

	if (!y)
		return;
	struct relay_counts *c = &rs->counts[y->gate.protocol];
	if (status == GONE)
		status = 0;
	atomic_fetch_add(&c->status[status / 100 < 6 ? status / 100 : 0], 1);
	if (y->call) {
		/* all of it was passed on, or the client did not want it */
		char byte;
		bool over = y->where == ANSWERING && !y->gone &&
			    upstream_read(y->call, &byte, 1) == 0;
		if (!over && web_method(r) != WEB_HEAD)
			atomic_fetch_add(&c->cancelled, 1);
		release_backend(y, over ? BACKEND_ANSWERED : BACKEND_CANCELLED);
	}
	gate_end(rs->gate, &y->gate);
	identity_request_done(&y->identity);
	*y->at = y->next;
	if (y->next)
		y->next->at = y->at;
	if (rs->spares < SPARE_MAX) {
		y->next = rs->spare;
		rs->spare = y;
		rs->spares++;
	} else {
		free(y);
	}
	*web_state(r) = NULL;
}

/* ---- clients that left ----------------------------------------------------------- */

static void leave_relay(struct relay *y)
{
	y->gone = true;
	web_wake(y->r);
}

static void look_at_clients(struct pollfd *fds, struct relay **relays, nfds_t n)
{
	if (poll(fds, n, 0) <= 0)
		return;
	for (nfds_t i = 0; i < n; i++) {
		if (fds[i].revents & (POLLRDHUP | POLLHUP | POLLERR))
			leave_relay(relays[i]);
	}
}

/* While a request sleeps nobody watches its connection: those that have slept for a
 * while are polled together. */
static void find_gone(struct relays *rs, uint64_t now)
{
	struct pollfd fds[LOOK_AT];
	struct relay *relays[LOOK_AT];
	bool ending = atomic_load(&rs->ending);
	nfds_t n = 0;

	for (struct relay *y = rs->first; y; y = y->next) {
		if (y->gone || y->where == AT_GATE || !y->call)
			continue;
		if (ending) {
			leave_relay(y);
			continue;
		}
		if (now - y->since_ms < LOOK_MS)
			continue;
		relays[n] = y;
		fds[n++] = (struct pollfd){.fd = web_fd(y->r), .events = POLLRDHUP};
		if (n == LOOK_AT) {
			look_at_clients(fds, relays, n);
			n = 0;
		}
	}
	if (n)
		look_at_clients(fds, relays, n);
}

static int on_relays_hook(struct loop_hook *hook)
{
	struct relays *rs =
		(struct relays *)((char *)hook - offsetof(struct relays, hook));
	uint64_t now = loop_now_ms(rs->loop);

	if (now - rs->looked_ms >= LOOK_MS || atomic_load(&rs->ending)) {
		rs->looked_ms = now;
		find_gone(rs, now);
	}
	return rs->first ? LOOK_MS : -1;
}

void relays_init(struct relays *rs)
{
	rs->hook.run = on_relays_hook;
	loop_add_hook(rs->loop, &rs->hook);
}

void relays_done(struct relays *rs)
{
	while (rs->spare) {
		struct relay *y = rs->spare;
		rs->spare = y->next;
		free(y);
	}
	gate_spare_done(&rs->gate_spare);
}
