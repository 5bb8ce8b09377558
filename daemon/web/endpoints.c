/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The daemon's four pages. A scrape takes time, so a separate thread makes it
 * (flight.c) while the connection sleeps. */
#include "daemon/web/endpoints.h"

#include <errno.h>
#include <microhttpd.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/web/flight.h"
#include "lib/cleanup.h"
#include "lib/http/negotiate.h"
#include "lib/log.h"

#define ROUTES 5

struct endpoints {
	char *telemetry_path;
	uint32_t max_requests;
	struct scrape *scrape;
	int (*units_json)(void *arg, struct buf *out);
	int (*targets_json)(void *arg, struct buf *out);
	char *targets_path;
	int (*before_threads)(void *arg, struct err *err);
	void *arg;
	struct flight *flight;
	struct web_route routes[ROUTES];
	size_t route_count;
	struct web *web;
};

/* A requested scrape. */
struct asked {
	struct web_request *request;
	struct flight_wait wait;
	bool collected; /* the scrape is there, or rc says why not */
	int rc;
	struct scrape_result *result;
};

static void release_result(void *arg)
{
	scrape_result_unref(arg);
}

/* Runs on the thread that collects. */
static void on_collected(void *arg, int rc, struct scrape_result *result)
{
	struct asked *a = arg;

	a->rc = rc;
	a->result = result;
	a->collected = true;
	web_wake(a->request);
}

static void answer_metrics(struct asked *a)
{
	struct web_request *r = a->request;
	const struct buf *body;
	const char *type;
	enum prom_format format =
		negotiate_format(web_header(r, MHD_HTTP_HEADER_ACCEPT), &type);
	bool gzip = negotiate_gzip(web_header(r, MHD_HTTP_HEADER_ACCEPT_ENCODING));
	int rc = scrape_result_body(a->result, format, gzip, &body);

	if (rc < 0) {
		log_error("metrics: render: %s, request answered with 500",
			  strerror(-rc));
		web_answer_text(r, MHD_HTTP_INTERNAL_SERVER_ERROR,
				"the scrape failed, see the log of ceemsd\n");
		return;
	}
	web_add_header(r, MHD_HTTP_HEADER_VARY, "Accept, Accept-Encoding");
	if (gzip)
		web_add_header(r, MHD_HTTP_HEADER_CONTENT_ENCODING, "gzip");
	/* now owned by the response */
	web_answer_shared(r, MHD_HTTP_OK, type, body->data, body->len, release_result,
			  steal_ptr(&a->result));
}

static void submit_scrape(struct endpoints *p, struct asked *a)
{
	uint32_t in_flight = scrape_http_begin(p->scrape);

	if (p->max_requests && in_flight > p->max_requests) {
		web_answer_text(a->request, MHD_HTTP_SERVICE_UNAVAILABLE,
				"limit of concurrent requests reached "
				"(--web.max-requests), try again later\n");
		return;
	}
	a->wait.done = on_collected;
	a->wait.arg = a;
	web_sleep(a->request);
	if (flight_submit(p->flight, &a->wait) == 0)
		return;
	web_wake(a->request);
	web_answer_text(a->request, MHD_HTTP_SERVICE_UNAVAILABLE, "shutting down\n");
}

static void serve_metrics(void *arg, struct web_request *r)
{
	struct asked *a = *web_state(r);

	if (!a) {
		a = *web_state(r) = calloc(1, sizeof(*a));
		if (!a)
			return; /* closes the connection */
		a->request = r;
		submit_scrape(arg, a);
	} else if (a->rc == 0) {
		answer_metrics(a);
	} else {
		web_answer_text(r,
				a->rc == -ESHUTDOWN ? MHD_HTTP_SERVICE_UNAVAILABLE
						    : MHD_HTTP_INTERNAL_SERVER_ERROR,
				"the scrape failed, see the log of ceemsd\n");
	}
}

static void end_metrics(void *arg, struct web_request *r, unsigned status)
{
	const struct endpoints *p = arg;
	struct asked *a = *web_state(r);

	if (!a)
		return;
	scrape_http_end(p->scrape, status ? status : MHD_HTTP_INTERNAL_SERVER_ERROR);
	scrape_result_unref(a->result);
	free(a);
}

static void answer_json(struct web_request *r, int rc, const struct buf *out,
			const char *failed)
{
	if (rc == -ENOMEM || buf_error(out) == -ENOMEM)
		web_answer_text(r, MHD_HTTP_SERVICE_UNAVAILABLE, "out of memory\n");
	else if (rc < 0 || buf_error(out))
		web_answer_text(r, MHD_HTTP_INTERNAL_SERVER_ERROR, failed);
	else
		web_answer(r, MHD_HTTP_OK, "application/json", out->data, out->len);
}

static void serve_units(void *arg, struct web_request *r)
{
	const struct endpoints *p = arg;
	auto_buf struct buf out = BUF_INIT;
	int rc = 0;

	if (p->units_json)
		rc = p->units_json(p->arg, &out);
	else
		buf_puts(&out, "{\"units\":[]}\n");
	answer_json(r, rc, &out, "the units could not be read\n");
}

static void serve_targets(void *arg, struct web_request *r)
{
	const struct endpoints *p = arg;
	auto_buf struct buf out = BUF_INIT;

	answer_json(r, p->targets_json(p->arg, &out), &out,
		    "the targets could not be read\n");
}

static void serve_health(void *arg, struct web_request *r)
{
	(void)arg;
	web_answer_text(r, MHD_HTTP_OK, "CEEMS Exporter is healthy\n");
}

static void put_html(struct buf *out, const char *s)
{
	for (; *s; s++) {
		if (strchr("<>&\"'", *s))
			buf_printf(out, "&#%d;", *s);
		else
			buf_putc(out, *s);
	}
}

static void serve_landing(void *arg, struct web_request *r)
{
	const struct endpoints *p = arg;
	auto_buf struct buf out = BUF_INIT;

	buf_puts(&out, "<!DOCTYPE html>\n<html lang=\"en\"><head>"
		       "<meta charset=\"utf-8\"><title>CEEMS Exporter</title></head>\n"
		       "<body><h1>CEEMS Exporter</h1>\n"
		       "<p>What compute units on this node use.</p>\n<p>ceemsd ");
	put_html(&out, CEEMS_VERSION);
	buf_puts(&out, "</p>\n<ul>\n<li><a href=\"");
	put_html(&out, p->telemetry_path);
	buf_puts(&out, "\">Metrics</a></li>\n<li><a href=\"/units\">Units</a></li>\n"
		       "<li><a href=\"/health\">Health</a></li>\n</ul>\n"
		       "</body></html>\n");
	if (!buf_error(&out))
		web_answer(r, MHD_HTTP_OK, "text/html; charset=utf-8", out.data,
			   out.len);
}

static int on_before_threads(void *arg, struct err *err)
{
	struct endpoints *p = arg;
	int rc = p->before_threads ? p->before_threads(p->arg, err) : 0;

	return rc < 0 ? rc : flight_new(p->scrape, &p->flight, err);
}

static void on_before_stop(void *arg)
{
	struct endpoints *p = arg;

	if (p->flight)
		flight_stop(p->flight);
}

static int start_web(struct endpoints *p, const struct endpoints_params *params,
		     struct err *err)
{
	const struct web_params w = {
		.program = "ceemsd",
		.listen = params->listen,
		.listen_count = params->listen_count,
		.systemd_socket = params->systemd_socket,
		.config_file = params->config_file,
		.max_requests = params->max_requests,
		.idle_timeout_s = params->idle_timeout_s,
		.routes = p->routes,
		.route_count = p->route_count,
		.arg = p,
		.before_threads = on_before_threads,
		.before_stop = on_before_stop,
	};
	return web_start(&w, &p->web, err);
}

static void put_web(void *arg, struct prom *out)
{
	web_metrics(arg, out);
}

int endpoints_start(const struct endpoints_params *params, struct endpoints **ret,
		    struct err *err)
{
	struct endpoints *p = calloc(1, sizeof(*p));

	if (!p)
		return err_set(err, -ENOMEM, "web: out of memory");
	p->max_requests = params->max_requests;
	p->scrape = params->scrape;
	p->units_json = params->units_json;
	p->targets_json = params->targets_json;
	p->before_threads = params->before_threads;
	p->arg = params->arg;
	p->telemetry_path = strdup(params->telemetry_path);
	/* the first of two with the same path wins */
	p->routes[0] = (struct web_route){
		.path = p->telemetry_path, .handle = serve_metrics, .end = end_metrics};
	p->routes[1] = (struct web_route){.path = "/units", .handle = serve_units};
	p->routes[2] = (struct web_route){.path = "/health", .handle = serve_health};
	p->routes[3] = (struct web_route){.path = "/", .handle = serve_landing};
	size_t routes = 4;
	if (p->targets_json) {
		p->targets_path = strdup(params->targets_path);
		p->routes[routes++] = (struct web_route){.path = p->targets_path,
							 .handle = serve_targets};
	}
	p->route_count = routes;
	int rc;
	if (!p->telemetry_path || (p->targets_json && !p->targets_path))
		rc = err_set(err, -ENOMEM, "web: out of memory");
	else if (p->telemetry_path[0] != '/')
		rc = err_set(err, -EINVAL, "web.telemetry-path %s: must begin with /",
			     p->telemetry_path);
	else
		rc = start_web(p, params, err);
	if (rc < 0) {
		endpoints_stop(p);
		return rc;
	}
	scrape_add_own(p->scrape, put_web, p->web);
	*ret = p;
	return 0;
}

void endpoints_stop(struct endpoints *p)
{
	if (!p)
		return;
	if (p->scrape)
		scrape_add_own(p->scrape, NULL, NULL);
	web_stop(p->web);
	flight_free(p->flight);
	free(p->telemetry_path);
	free(p->targets_path);
	free(p);
}

struct web *endpoints_web(struct endpoints *p)
{
	return p->web;
}
