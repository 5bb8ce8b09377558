/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Serving threads, one loop each, on the same addresses. */
#include "lb/proxy/worker.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "lb/proxy/relay.h"
#include "lib/http/listen.h"
#include "lib/http/negotiate.h"
#include "lib/log.h"
#include "lib/signals.h"

#define WORKERS_MAX 16
#define LISTEN_MAX 16
#define CONNECTIONS_MAX 4096 /* of one worker and address */
#define FILES_MAX 65536      /* connections on both sides */
#define BODY_MAX (1u << 20)
#define METRICS_BYTES_MAX ((size_t)8 << 20)
#define TOLD_MS 2000 /* for requests that are told to end */
#define HOUSE 3      /* the first routes are not relayed */

struct worker {
	struct workers *all;
	pthread_t thread;
	bool started;
	struct loop *loop;
	struct upstreams *upstreams;
	struct relays relays;
	struct loop_task wake;
};

struct workers {
	struct workers_params p; /* its lists are not copied */
	size_t listen_count[SITE_PROTOCOLS];
	struct resolver *resolver;
	struct web *web;
	atomic_bool stop;
	size_t count;
	struct worker workers[WORKERS_MAX];
	struct web_route routes[HOUSE];
};

static enum site_protocol protocol_of(const struct workers *w,
				      const struct web_request *r)
{
	return web_listener(r) < w->listen_count[SITE_PROMETHEUS] ? SITE_PROMETHEUS
								  : SITE_PYROSCOPE;
}

static void serve_request(void *arg, struct web_request *r)
{
	struct workers *w = arg;

	if (w->p.max_requests && !*web_state(r) &&
	    web_requests(w->web) > w->p.max_requests) {
		web_answer_text(r, 503, "too many requests at a time\n");
		return;
	}
	relay_handle(&w->workers[web_loop(r)].relays, protocol_of(w, r), r);
}

static void end_request(void *arg, struct web_request *r, unsigned status)
{
	struct workers *w = arg;

	relay_ended(&w->workers[web_loop(r)].relays, r, status);
}

static void serve_health(void *arg, struct web_request *r)
{
	struct workers *w = arg;
	const char *why = w->p.unhealthy ? w->p.unhealthy(w->p.arg) : NULL;

	if (why)
		web_answer_text(r, 503, why);
	else
		web_answer_text(r, 200, "CEEMS load balancer is healthy\n");
}

static void put_metrics(struct workers *w, struct web_request *r)
{
	const char *type;
	enum prom_format format = negotiate_format(web_header(r, "Accept"), &type);
	struct prom *prom = prom_new(METRICS_BYTES_MAX);
	auto_buf struct buf body = BUF_INIT;

	if (prom) {
		workers_metrics(w, prom);
		if (w->p.metrics)
			w->p.metrics(w->p.arg, prom);
		prom_render(prom, format, &body);
	}
	if (prom && !prom_error(prom) && !buf_error(&body))
		web_answer(r, 200, type, body.data, body.len);
	else
		web_answer_text(r, 500, "out of memory\n");
	prom_free(prom);
}

static void serve_metrics(void *arg, struct web_request *r)
{
	struct workers *w = arg;

	if (!w->p.admits_metrics || w->p.admits_metrics(w->p.arg, r))
		put_metrics(w, r);
}

static unsigned cpu_count(void)
{
	cpu_set_t set;
	int n = sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 1;

	return n < 1 ? 1 : n > WORKERS_MAX ? WORKERS_MAX : (unsigned)n;
}

static void do_nothing(struct loop_task *task)
{
	(void)task;
}

static int make_worker(struct workers *w, struct worker *k, struct err *err)
{
	int rc = loop_new(&k->loop, err);

	k->all = w;
	k->wake.run = do_nothing;
	if (rc == 0)
		rc = upstreams_new(k->loop, w->resolver, "ceems_lb/" CEEMS_VERSION,
				   &k->upstreams, err);
	if (rc < 0)
		return rc;
	k->relays.loop = k->loop;
	k->relays.gate = w->p.gate;
	k->relays.upstreams = k->upstreams;
	relays_init(&k->relays);
	return 0;
}

static int call_before_threads(void *arg, struct err *err)
{
	struct workers *w = arg;

	return w->p.before_threads(w->p.arg, err);
}

static bool is_front_end(void *arg, const struct netaddr *peer)
{
	struct workers *w = arg;

	return gate_is_front_end(w->p.gate, peer);
}

static int start_web(struct workers *w, const struct workers_params *p, struct err *err)
{
	const char *listen[LISTEN_MAX];
	struct loop *loops[WORKERS_MAX];
	size_t n = 0;

	for (size_t i = 0; i < SITE_PROTOCOLS; i++) {
		w->listen_count[i] = p->listen_count[i];
		for (size_t k = 0; k < p->listen_count[i] && !p->systemd_socket; k++) {
			if (n == LISTEN_MAX)
				return err_set(err, -EINVAL,
					       "web.listen-address: at most %d",
					       LISTEN_MAX);
			listen[n++] = p->listen[i][k];
		}
	}
	for (size_t i = 0; i < w->count; i++)
		loops[i] = w->workers[i].loop;
	w->routes[0] = (struct web_route){
		.path = "/health", .open = true, .handle = serve_health};
	w->routes[1] = (struct web_route){.path = "/metrics", .handle = serve_metrics};
	w->routes[2] = (struct web_route){.own_proof = true,
					  .methods = WEB_GET | WEB_HEAD | WEB_POST,
					  .body_bytes_max = BODY_MAX,
					  .handle = serve_request,
					  .end = end_request};
	const struct web_params web = {
		.program = "ceems_lb",
		.listen = listen,
		.listen_count = n,
		.systemd_socket = p->systemd_socket,
		.config_file = p->config_file,
		.json_errors = true,
		.max_connections = CONNECTIONS_MAX,
		.routes = w->routes,
		.route_count = HOUSE,
		.arg = w,
		.before_threads = p->before_threads ? call_before_threads : NULL,
		.is_front_end = is_front_end,
		.loops = loops,
		.loop_count = w->count,
	};
	int rc = web_start(&web, &w->web, err);
	if (rc == 0 && p->systemd_socket &&
	    web_port(w->web, w->listen_count[0] + w->listen_count[1]))
		rc = err_set(err, -EINVAL,
			     "web.systemd-socket: the first socket is Prometheus', "
			     "the second Pyroscope's, there is no third");
	return rc;
}

static void *worker_thread(void *arg)
{
	struct worker *k = arg;

	loop_run(k->loop, &k->all->stop);
	return NULL;
}

static int start_threads(struct workers *w, struct err *err)
{
	sigset_t old;
	int rc = 0;

	signals_block(&old);
	for (size_t i = 0; rc == 0 && i < w->count; i++) {
		struct worker *k = &w->workers[i];
		rc = -pthread_create(&k->thread, NULL, worker_thread, k);
		k->started = rc == 0;
	}
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return rc < 0 ? err_set(err, rc, "start thread: %s", strerror(-rc)) : 0;
}

int workers_start(const struct workers_params *p, struct workers **ret, struct err *err)
{
	struct workers *w = calloc(1, sizeof(*w));

	if (!w)
		return err_set(err, -ENOMEM, "out of memory");
	w->p = *p;
	w->count = p->count ? p->count : cpu_count();
	if (w->count > WORKERS_MAX)
		w->count = WORKERS_MAX;
	listen_files(FILES_MAX);
	int rc = resolver_new(&w->resolver, err);
	for (size_t i = 0; rc == 0 && i < w->count; i++)
		rc = make_worker(w, &w->workers[i], err);
	if (rc == 0)
		rc = start_web(w, p, err);
	if (rc == 0)
		rc = start_threads(w, err);
	if (rc < 0) {
		workers_stop(w);
		return rc;
	}
	*ret = w;
	return 0;
}

int workers_reload(struct workers *w, struct err *err)
{
	return web_reload(w->web, err);
}

static void wait_for_worker_requests(struct workers *w, uint32_t most_ms)
{
	const struct timespec pause = {.tv_nsec = 10000000};

	for (uint32_t ms = 0; ms < most_ms && web_requests(w->web); ms += 10)
		nanosleep(&pause, NULL);
}

static void wake_workers(struct workers *w)
{
	for (size_t i = 0; i < w->count; i++) {
		if (!w->workers[i].started)
			continue;
		loop_post(w->workers[i].loop, &w->workers[i].wake);
	}
}

static void drain_workers(struct workers *w)
{
	web_quiesce(w->web);
	wait_for_worker_requests(w, w->p.drain_ms);
	/* running requests are told, so that none sleeps any more */
	gate_stop(w->p.gate);
	for (size_t i = 0; i < w->count; i++)
		atomic_store(&w->workers[i].relays.ending, true);
	wake_workers(w);
	wait_for_worker_requests(w, TOLD_MS);
}

void workers_stop(struct workers *w)
{
	if (!w)
		return;
	if (w->web && w->workers[0].started)
		drain_workers(w);
	atomic_store(&w->stop, true);
	wake_workers(w);
	for (size_t i = 0; i < w->count; i++) {
		if (w->workers[i].started)
			pthread_join(w->workers[i].thread, NULL);
	}
	web_stop(w->web);
	resolver_free(w->resolver);
	for (size_t i = 0; i < w->count; i++) {
		relays_done(&w->workers[i].relays);
		upstreams_free(w->workers[i].upstreams);
		loop_free(w->workers[i].loop);
	}
	free(w);
}

bool workers_in_clear(const struct workers *w)
{
	return web_is_in_clear(w->web);
}

unsigned workers_port(const struct workers *w, enum site_protocol p, size_t i)
{
	if (i >= w->listen_count[p])
		return 0;
	return web_port(w->web, p == SITE_PYROSCOPE ? w->listen_count[0] + i : i);
}

/* ---- metrics --------------------------------------------------------------------- */

static const struct prom_family requests_family = {
	"ceems_lb_requests_total", PROM_COUNTER,
	"Requests by API and class of their status; gone: the client left before the "
	"answer."};
static const struct prom_family events_family = {
	"ceems_lb_relay_events_total", PROM_COUNTER,
	"Calls that were sent to a second backend (retried), whose client left "
	"(cancelled), and answers that a backend cut short (cut)."};
static const struct prom_family connections_family = {
	"ceems_lb_upstream_connections_total", PROM_COUNTER,
	"Connections to backends: made (new), used again (reused), found closed when "
	"used again (stale)."};
static const struct prom_family open_family = {
	"ceems_lb_upstream_connections", PROM_GAUGE,
	"Connections to backends now, by state."};
static const struct prom_family bytes_family = {
	"ceems_lb_upstream_received_bytes_total", PROM_COUNTER,
	"Bytes of the bodies of backends' answers."};
static const struct prom_family busy_family = {
	"ceems_lb_requests_under_way", PROM_GAUGE,
	"Requests that are read, decided or answered now."};

static void put_worker_value(struct prom *out, const char *name, const char *value,
			     uint64_t v)
{
	const struct prom_label label = {name, value};

	prom_put_u64(out, &label, 1, v);
}

static void put_requests(struct workers *w, struct prom *out)
{
	static const char *const codes[6] = {"gone", "1xx", "2xx", "3xx", "4xx", "5xx"};
	static const char *const apis[SITE_PROTOCOLS] = {"prometheus", "pyroscope"};

	prom_family(out, &requests_family);
	for (size_t p = 0; p < SITE_PROTOCOLS; p++) {
		for (size_t i = 0; i < 6; i++) {
			const struct prom_label labels[] = {{"api", apis[p]},
							    {"code", codes[i]}};
			uint64_t n = 0;
			for (size_t k = 0; k < w->count; k++)
				n += atomic_load(
					&w->workers[k].relays.counts[p].status[i]);
			if (i != 1)
				prom_put_u64(out, labels, 2, n);
		}
	}
}

void workers_metrics(struct workers *w, struct prom *out)
{
	struct upstream_counts sum = {.connects = 0};
	uint64_t retried = 0, cancelled = 0, cut = 0;

	for (size_t k = 0; k < w->count; k++) {
		struct upstream_counts c;
		upstreams_counts(w->workers[k].upstreams, &c);
		sum.connects += c.connects;
		sum.reused += c.reused;
		sum.stale += c.stale;
		sum.bytes += c.bytes;
		sum.open += c.open;
		sum.idle += c.idle;
		for (size_t p = 0; p < SITE_PROTOCOLS; p++) {
			struct relay_counts *r = &w->workers[k].relays.counts[p];
			retried += atomic_load(&r->retries);
			cancelled += atomic_load(&r->cancelled);
			cut += atomic_load(&r->broken);
		}
	}
	put_requests(w, out);
	prom_family(out, &busy_family);
	prom_put_u64(out, NULL, 0, web_requests(w->web));
	prom_family(out, &events_family);
	put_worker_value(out, "event", "retried", retried);
	put_worker_value(out, "event", "cancelled", cancelled);
	put_worker_value(out, "event", "cut", cut);
	prom_family(out, &connections_family);
	put_worker_value(out, "kind", "new", sum.connects);
	put_worker_value(out, "kind", "reused", sum.reused);
	put_worker_value(out, "kind", "stale", sum.stale);
	prom_family(out, &open_family);
	put_worker_value(out, "state", "busy", sum.open - sum.idle);
	put_worker_value(out, "state", "idle", sum.idle);
	prom_family(out, &bytes_family);
	prom_put_u64(out, NULL, 0, sum.bytes);
	web_metrics(w->web, out);
}
