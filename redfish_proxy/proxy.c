/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A request is handled on the web server's thread, which must not block: it sleeps
 * while MUNGE or a BMC is asked, and is handled again when there is an answer. */
#include "redfish_proxy/proxy.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/clock.h"
#include "lib/fence.h"
#include "lib/http/negotiate.h"
#include "lib/identity/munge_request.h"
#include "lib/identity/redfish_munge.h"
#include "lib/identity/tls_names.h"
#include "lib/log.h"
#include "lib/service.h"
#include "redfish_proxy/metrics.h"
#include "redfish_proxy/site.h"

#define METRICS_BYTES_MAX (1u << 20)

struct proxy {
	struct proxy_params params;
	pthread_mutex_t mutex; /* protects the three below */
	struct site *site, *retired;
	struct log_repeat refused[ACCESS_VERDICTS];
	struct metrics metrics;
};

enum phase { PHASE_NEW, PHASE_MUNGE, PHASE_BMC };

struct ask {
	struct proxy *p;
	struct web_request *r;
	struct site *site;
	enum phase phase;
	struct access_facts facts;
	struct tls_name *names;
	struct munge_job munge;
	char munge_node[256];
	struct err why_not; /* why the credential was refused */
	struct cache_waiter waiter;
	struct reply *reply;
	char age[24];
};

static struct site *site_get(struct proxy *p)
{
	pthread_mutex_lock(&p->mutex);
	struct site *s = p->site;
	atomic_fetch_add(&s->refs, 1);
	pthread_mutex_unlock(&p->mutex);
	return s;
}

static void collect_facts(struct ask *a)
{
	struct access_facts *f = &a->facts;
	const struct sockaddr *peer = web_peer(a->r);
	gnutls_session_t tls = web_tls(a->r);
	size_t n = 0;

	f->target = web_target(a->r);
	f->has_peer = netaddr_from(peer, &f->peer) == 0;
	f->real_ips = web_header_count(a->r, "X-Real-IP");
	f->real_ip = web_header(a->r, "X-Real-IP");
	f->redfish_urls = web_header_count(a->r, "X-Redfish-Url");
	f->redfish_url = web_header(a->r, "X-Redfish-Url");
	if (!f->real_ip)
		f->real_ip = "";
	if (!f->redfish_url)
		f->redfish_url = "";
	if (tls && web_tls_verified(a->r))
		n = tls_names(tls, ACCESS_NAMES_MAX, &a->names, NULL);
	for (size_t i = 0; i < n; i++) {
		if (a->names[i].kind != TLS_NAME_EMAIL)
			f->names[f->name_count++] = a->names[i].text;
	}
}

static void on_munge(void *arg)
{
	struct ask *a = arg;
	web_wake(a->r);
}

static void on_reply(void *arg, struct reply *reply)
{
	struct ask *a = arg;
	a->reply = reply;
	web_wake(a->r);
}

/* Whether the request now sleeps until MUNGE has answered. */
static bool ask_munge(struct ask *a)
{
	unsigned n = web_header_count(a->r, REDFISH_MUNGE_HEADER);

	if (!(a->site->config.identity & IDENTITY_MUNGE) || n == 0)
		return false;
	a->facts.munge = ACCESS_MUNGE_BAD;
	a->munge.credential = web_header(a->r, REDFISH_MUNGE_HEADER);
	if (n > 1 || !a->site->munge ||
	    strlen(a->munge.credential) > MUNGE_CREDENTIAL_MAX)
		return false;
	a->munge.done = on_munge;
	a->munge.arg = a;
	a->munge.key = web_client_key(a->r);
	a->phase = PHASE_MUNGE;
	web_sleep(a->r);
	if (munge_submit(a->site->munge, &a->munge) == 0)
		return true;
	web_wake(a->r);
	web_count_munge(a->r, -EBUSY);
	return false;
}

/* Whether the credential is for this request, which has no body. */
static bool check_munge(struct ask *a)
{
	const struct munge_facts *m = &a->munge.facts;
	const struct config *c = &a->site->config;
	char hash[MUNGE_REQUEST_HASH_BYTES];
	struct munge_asked asked = {.method = web_method(a->r) == WEB_HEAD ? "HEAD"
									   : "GET",
				    .target = a->facts.target,
				    .has_peer = a->facts.has_peer,
				    .peer = a->facts.peer,
				    .hosts = (const char *const *)c->munge_hosts,
				    .host_count = c->munge_host_count,
				    .node = true};

	if (m->rc < 0) {
		a->why_not = a->munge.why;
		return false;
	}
	if (munge_request_is_bound(m)) {
		asked.has_local = web_local(a->r, &asked.local) == 0;
		return munge_request_check(m, &asked, hash, &a->why_not) == 0 &&
		       munge_request_check_body(hash, NULL, 0, &a->why_not) == 0 &&
		       munge_request_node(m, a->munge_node, sizeof(a->munge_node));
	}
	if (!access_munge_node(m->payload.data, m->payload.len, a->munge_node)) {
		(void)err_set(&a->why_not, -EACCES,
			      "munge: the credential was made for another purpose");
		return false;
	}
	if (!c->munge_unbound)
		(void)err_set(
			&a->why_not, -EACCES,
			"munge: the credential is in the format of an earlier release, "
			"which is not bound to a host and a path (munge_unbound)");
	return c->munge_unbound;
}

static void take_munge(struct ask *a)
{
	const struct munge_facts *m = &a->munge.facts;

	web_count_munge(a->r, m->rc);
	if (!check_munge(a))
		return;
	a->facts.munge = ACCESS_MUNGE_GOOD;
	a->facts.munge_node = a->munge_node;
	a->facts.munge_uid = m->uid;
	a->facts.munge_origin = m->origin;
}

static void refuse_ask(struct ask *a, const struct access_decision *d)
{
	struct proxy *p = a->p;
	char text[96 + sizeof(a->why_not.text)];
	const char *why = d->verdict == ACCESS_BAD_CREDENTIAL ? a->why_not.text : "";

	pthread_mutex_lock(&p->mutex);
	bool due = log_repeat_due(&p->refused[d->verdict], clock_boottime_ns());
	uint64_t hidden = p->refused[d->verdict].hidden;
	pthread_mutex_unlock(&p->mutex);
	if (due)
		log_warn("refused %s%s%s: %s%s%s (%" PRIu64
			 " more like it since the line before)",
			 d->who, *d->path ? " " : "", d->path,
			 access_reason(d->verdict), *why ? ": " : "", why, hidden);
	snprintf(text, sizeof(text), "refused: %s%s%s\n", access_reason(d->verdict),
		 *why ? ": " : "", why);
	web_answer_text(a->r, access_status(d->verdict), text);
}

static void answer_ask(struct ask *a)
{
	struct reply *reply = a->reply;
	uint64_t age_ns = clock_boottime_ns() - reply->at_ns;

	a->reply = NULL;
	if (reply->status != 200) {
		if (reply->status == 429)
			web_add_header(a->r, "Retry-After", "1");
		web_answer_text(a->r, reply->status,
				reply->body.data ? reply->body.data : "busy\n");
		reply_unref(reply);
		return;
	}
	/* the age of a cached reading */
	snprintf(a->age, sizeof(a->age), "%llu",
		 (unsigned long long)(age_ns / NSEC_PER_SEC));
	web_add_header(a->r, "Age", a->age);
	web_answer_shared(a->r, reply->status, reply->type, reply->body.data,
			  reply->body.len, reply_unref, reply);
}

static void ask_bmc(struct ask *a, const struct access_decision *d)
{
	struct metrics *m = &a->p->metrics;
	struct cache_entry *entry = NULL;
	uint64_t now_ns = clock_boottime_ns();

	a->reply = cache_get(a->site->cache, d->url, d->path, now_ns);
	if (a->reply) {
		atomic_fetch_add(&m->hits, 1);
		answer_ask(a);
		return;
	}
	a->phase = PHASE_BMC;
	a->waiter.done = on_reply;
	a->waiter.arg = a;
	web_sleep(a->r);
	switch (cache_ask(a->site->cache, d->url, d->path, now_ns, &a->waiter,
			  &a->reply, &entry)) {
	case CACHE_HIT: /* it has just arrived */
		atomic_fetch_add(&m->hits, 1);
		web_wake(a->r);
		break;
	case CACHE_WAITS:
		atomic_fetch_add(&m->joined, 1);
		break;
	case CACHE_FIRST:
		atomic_fetch_add(&m->misses, 1);
		targets_submit(a->site->targets, d->url, d->target, entry);
		break;
	case CACHE_FULL:
		atomic_fetch_add(&m->limited[LIMIT_TABLES], 1);
		web_wake(a->r);
		web_answer_text(a->r, 503, "too many requests are under way\n");
		break;
	}
}

/* Addresses do not count: clients without proof are counted by address anyway. */
static bool has_proof(const struct access_facts *f)
{
	return f->munge == ACCESS_MUNGE_GOOD || f->name_count;
}

static void decide_ask(struct ask *a)
{
	struct access_decision d;

	access_decide(a->site->access, &a->facts, &d);
	atomic_fetch_add(&a->p->metrics.verdicts[d.verdict], 1);
	if (d.verdict == ACCESS_GRANTED && has_proof(&a->facts))
		web_proved(a->r, "client:", d.who);
	if (d.verdict == ACCESS_GRANTED)
		ask_bmc(a, &d);
	else
		refuse_ask(a, &d);
}

static void begin_ask(struct proxy *p, struct web_request *r)
{
	struct ask *a = *web_state(r) = calloc(1, sizeof(*a));

	if (!a)
		return; /* closes the connection */
	a->p = p;
	a->r = r;
	a->site = site_get(p);
	unsigned under_way = atomic_fetch_add(&p->metrics.in_flight, 1);
	if (p->params.max_requests && under_way >= p->params.max_requests) {
		web_answer_text(r, 503,
				"limit of concurrent requests reached "
				"(--web.max-requests), try again later\n");
		return;
	}
	collect_facts(a);
	if (!ask_munge(a))
		decide_ask(a);
}

static void serve_redfish(void *arg, struct web_request *r)
{
	struct ask *a = *web_state(r);

	if (!a) {
		begin_ask(arg, r);
	} else if (a->phase == PHASE_MUNGE) {
		take_munge(a);
		decide_ask(a);
	} else {
		answer_ask(a);
	}
}

static void end_redfish(void *arg, struct web_request *r, unsigned status)
{
	struct proxy *p = arg;
	struct ask *a = *web_state(r);

	atomic_fetch_add(&p->metrics.requests[status / 100 < 6 ? status / 100 : 0], 1);
	if (!a)
		return;
	atomic_fetch_sub(&p->metrics.in_flight, 1);
	atomic_fetch_sub(&a->site->refs, 1);
	reply_unref(a->reply);
	free(a->names);
	munge_facts_done(&a->munge.facts);
	free(a);
}

static void serve_health(void *arg, struct web_request *r)
{
	(void)arg;
	web_answer_text(r, 200, "CEEMS Redfish proxy is healthy\n");
}

static void serve_metrics(void *arg, struct web_request *r)
{
	struct proxy *p = arg;
	struct site *s = site_get(p);
	struct metrics_gauges g = {0};
	auto_buf struct buf body = BUF_INIT;
	const char *type;
	enum prom_format format = negotiate_format(web_header(r, "Accept"), &type);
	struct prom *prom = prom_new(METRICS_BYTES_MAX);

	cache_size(s->cache, &g.cache_entries, &g.cache_bytes);
	targets_count(s->targets, &g.targets, &g.targets_down, &g.queued);
	atomic_fetch_sub(&s->refs, 1);
	if (prom) {
		metrics_put(&p->metrics, &g, prom);
		web_metrics(web_of(r), prom);
	}
	if (prom && prom_render(prom, format, &body) == 0)
		web_answer(r, 200, type, body.data, body.len);
	else
		web_answer_text(r, 500, "out of memory\n");
	prom_free(prom);
}

const struct web_route *proxy_routes(size_t *ret_count)
{
	static const struct web_route routes[] = {
		{.path = "/health", .open = true, .handle = serve_health},
		{.path = "/metrics", .handle = serve_metrics},
		{.path = NULL, .handle = serve_redfish, .end = end_redfish},
	};
	*ret_count = sizeof(routes) / sizeof(routes[0]);
	return routes;
}

static void say_site(const struct proxy *p)
{
	const struct config *c = &p->site->config;

	if (!c->target_count && !c->target_url)
		log_warn("no targets and no target_url in the configuration: every "
			 "request is refused");
	log_info("%zu targets%s%s", c->target_count,
		 c->target_url ? ", others by " : "",
		 c->target_url ? c->target_url : "");
}

int proxy_new(const struct proxy_params *params, struct proxy **ret, struct err *err)
{
	struct proxy *p = calloc(1, sizeof(*p));

	if (!p)
		return err_set(err, -ENOMEM, "out of memory");
	p->params = *params;
	pthread_mutex_init(&p->mutex, NULL);
	int rc = site_new(params->config_file, params->expand, &p->site, err);
	if (rc < 0) {
		proxy_free(p);
		return rc;
	}
	say_site(p);
	*ret = p;
	return 0;
}

static void fence_files(struct proxy *p)
{
	const struct proxy_params *params = &p->params;
	auto_buf struct buf files = BUF_INIT;

	buf_printf(&files, "%s\n", params->config_file);
	config_put_files(&p->site->config, &files);
	web_put_files(params->web_config_file, &files);
	p->metrics.files_fenced = service_fence_files(
		params->fence_files && buf_error(&files) == 0, files.data,
		(const char *const *)params->folders->items, params->folders->count);
}

bool proxy_is_fenced(const struct proxy *p)
{
	return p->metrics.files_fenced;
}

int proxy_before_threads(void *proxy, struct err *err)
{
	struct proxy *p = proxy;
	const struct privileges *who = p->params.privileges;
	int rc = who ? privileges_drop(who, err) : 0;

	if (rc == 0 && who)
		rc = privileges_hide(err);
	if (rc == 0 && who)
		fence_files(p);
	if (rc == 0 && who)
		p->metrics.calls_filtered =
			service_filter_calls(p->params.filter_calls);
	return rc < 0 ? rc : site_open(p->site, &p->metrics, err);
}

void proxy_before_stop(void *proxy)
{
	struct proxy *p = proxy;

	site_stop(p->site);
	for (struct site *s = p->retired; s; s = s->next_retired)
		site_stop(s);
}

void proxy_free(struct proxy *p)
{
	if (!p)
		return;
	while (p->retired) {
		struct site *s = p->retired;
		p->retired = s->next_retired;
		site_free(s);
	}
	site_free(p->site);
	pthread_mutex_destroy(&p->mutex);
	free(p);
}

/* They are otherwise read only when needed. */
static int check_files(const struct proxy *p, const struct site *s, struct err *err)
{
	auto_buf struct buf files = BUF_INIT;

	if (!p->metrics.files_fenced)
		return 0;
	config_put_files(&s->config, &files);
	return files.data ? fence_check_files(files.data, err) : 0;
}

int proxy_reload(struct proxy *p, struct err *err)
{
	struct site *s = NULL;
	int rc = site_new(p->params.config_file, p->params.expand, &s, err);

	if (rc == 0)
		rc = check_files(p, s, err);
	if (rc == 0)
		rc = site_open(s, &p->metrics, err);
	if (rc < 0) {
		site_free(s);
		atomic_fetch_add(&p->metrics.reload_failures, 1);
		return rc;
	}
	pthread_mutex_lock(&p->mutex);
	p->site->next_retired = p->retired;
	p->retired = p->site;
	p->site = s;
	pthread_mutex_unlock(&p->mutex);
	atomic_fetch_add(&p->metrics.reloads, 1);
	say_site(p);
	return 0;
}

void proxy_tick(struct proxy *p)
{
	uint64_t now_ns = clock_boottime_ns();

	for (struct site **at = &p->retired, *s; (s = *at);) {
		if (atomic_load(&s->refs)) {
			at = &s->next_retired;
			continue;
		}
		*at = s->next_retired;
		site_free(s);
	}
	cache_sweep(p->site->cache, now_ns);
	targets_sweep(p->site->targets, now_ns);
}

int proxy_check(const char *config_file, bool expand, struct err *err)
{
	struct site *s = NULL;
	int rc = site_new(config_file, expand, &s, err);

	site_free(s);
	return rc;
}
