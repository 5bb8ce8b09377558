/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Health checks on a few threads of their own. One mutex protects the schedule and is
 * held briefly; checks run without it. */
#include "lb/site/health.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lb/site/backend_impl.h"
#include "lib/cleanup.h"
#include "lib/clock.h"
#include "lib/http/client.h"
#include "lib/http/json.h"
#include "lib/log.h"
#include "lib/wait.h"

#define LOOK_MS 200       /* how soon a failed request leads to a check */
#define DIALECT_MS 600000 /* a server may be upgraded without our noticing */
#define ANSWER_BYTES_MAX 65536
#define STACK_BYTES (1u << 20)
#define HEADERS_MAX 17

struct health {
	const char *user_agent;
	pthread_mutex_t mutex;
	pthread_cond_t more;
	struct site *site;
	pthread_t threads[HEALTH_THREADS];
	unsigned thread_count;
	bool stopping;
	atomic_bool abort;
};

/* ---- one check ------------------------------------------------------------------- */

struct asker {
	struct backend_server *s;
	struct http_client *client;
	struct http_header headers[HEADERS_MAX];
	size_t header_count;
};

static int open_health_client(struct asker *a, const char *user_agent,
			      const atomic_bool *stop, struct err *err)
{
	const struct backend_params *p = &a->s->p;
	const struct http_client_config config = {
		.ca_file = p->ca_file,
		.cert_file = p->cert_file,
		.key_file = p->key_file,
		.insecure = p->insecure,
		.connect_timeout_ms = p->care.timeout_ms,
		.timeout_ms = p->care.timeout_ms,
		.max_body_bytes = ANSWER_BYTES_MAX,
		.user_agent = user_agent,
		.stop = stop,
	};

	for (size_t i = 0; i < p->header_count && i + 1 < HEADERS_MAX; i++)
		a->headers[a->header_count++] = p->headers[i];
	if (p->authorization)
		a->headers[a->header_count++] =
			(struct http_header){"Authorization", p->authorization};
	return http_client_new(&config, &a->client, err);
}

static int ask_backend(struct asker *a, const char *path, struct http_response *ret,
		       struct err *err)
{
	char url[1600];
	const struct http_request r = {.method = HTTP_GET,
				       .url = url,
				       .headers = a->headers,
				       .header_count = a->header_count};

	(void)snprintf(url, sizeof(url), "%s%s", a->s->p.name, path);
	return http_client_do(a->client, &r, ret, err);
}

/* What is not, or does not say that it is, Prometheus. */
#define DIALECT_OTHER ((int)(PROMQL_2 | PROMQL_OTHER))

/* {"status":"success","data":{"version":"2.42.0",...,"goVersion":"go1.19"}} of
 * Prometheus (web/api/v1: PrometheusVersion). Compatible servers have version numbers
 * of their own, or give a number and no more; and they may say who they are, as Grafana
 * Mimir does in "application". */
static int read_dialect(const struct http_response *r, unsigned flags)
{
	const struct http_json_limits limits = {.bytes_max = ANSWER_BYTES_MAX,
						.depth_max = 8};
	auto_json struct json_object *o = NULL;

	if (r->status != 200 || !r->body.len ||
	    http_json_object(r->body.data, r->body.len, &limits, &o, NULL) < 0)
		return DIALECT_OTHER;
	struct json_object *data = http_json_get(o, "data", json_type_object);
	const char *version = http_json_text(data, "version");
	const char *who = http_json_text(data, "application");
	int d = version ? promql_dialect_of(version) : -1;
	bool other = (who && strcmp(who, "Prometheus") != 0) ||
		     !http_json_text(data, "goVersion") || d < PROMQL_VERSION(2, 42);
	return other ? DIALECT_OTHER : (int)((unsigned)d | flags);
}

static int check_status(const char *path, unsigned status, struct err *err)
{
	if (status == 200)
		return 0;
	return err_set(err, -EPROTO, "%s was answered with status %u", path, status);
}

static int check_prometheus(struct asker *a, bool want_dialect, int *ret_dialect,
			    struct err *err)
{
	static const char ready[] = "/-/ready", build[] = "/api/v1/status/buildinfo",
			  query[] = "/api/v1/query?query=1";
	auto_http_response struct http_response r = {.status = 0};
	int rc = ask_backend(a, ready, &r, err);

	if (rc < 0 || (r.status == 200 && !want_dialect))
		return rc;
	bool good = r.status == 200;
	if (!good && r.status >= 500)
		return check_status(ready, r.status, err);
	/* compatible servers may lack this path, or deny it to us */
	rc = ask_backend(a, build, &r, err);
	if (rc < 0)
		return good ? 0 : rc;
	/* whoever stopped telling may be another since */
	if (r.status < 500)
		*ret_dialect = read_dialect(&r, a->s->p.promql_flags);
	if (good || r.status != 404)
		return good ? 0 : check_status(build, r.status, err);
	/* or both, as Cortex does by default */
	rc = ask_backend(a, query, &r, err);
	return rc < 0 ? rc : check_status(query, r.status, err);
}

static int check_backend(struct backend_server *s, const char *user_agent,
			 const atomic_bool *stop, bool want_dialect, int *ret_dialect,
			 struct err *err)
{
	struct asker a = {.s = s};
	int rc = open_health_client(&a, user_agent, stop, err);

	if (rc == 0 && s->p.pyroscope) {
		auto_http_response struct http_response r = {.status = 0};
		rc = ask_backend(&a, "/ready", &r, err);
		if (rc == 0)
			rc = check_status("/ready", r.status, err);
	} else if (rc == 0) {
		rc = check_prometheus(&a, want_dialect, ret_dialect, err);
	}
	http_client_free(a.client);
	return rc;
}

int health_check(struct backend *b, const char *user_agent, bool want_dialect,
		 int *ret_dialect, struct err *err)
{
	return check_backend(backend_server(b), user_agent, NULL, want_dialect,
			     ret_dialect, err);
}

/* ---- who is next ----------------------------------------------------------------- */

/* A tenth sooner or later, so that load balancers do not check in step. */
static int64_t add_jitter(int64_t ms, const struct backend_server *s, int64_t now)
{
	uint32_t x = ((uint32_t)(uintptr_t)s ^ (uint32_t)now) * 2654435761u;

	return ms - ms / 10 + (int64_t)(x % (uint64_t)(ms / 5 + 1));
}

/* The one that is most overdue, or NULL with the time until one is due. */
static struct backend_server *next_due_server(struct health *h, int64_t now,
					      int64_t *ret_wait)
{
	struct backend_server *best = NULL;
	int64_t wait = LOOK_MS;

	for (size_t c = 0; h->site && c < h->site->cluster_count; c++) {
		for (int p = 0; p < SITE_PROTOCOLS; p++) {
			struct backend_set *set = h->site->clusters[c].backends[p];

			for (size_t i = 0; set && i < backend_set_count(set); i++) {
				struct backend_server *s = backend_set_at(set, i);

				if (s->checking)
					continue;
				if (atomic_load(&s->look) || s->next_ms <= now) {
					if (!best || s->next_ms < best->next_ms)
						best = s;
				} else if (s->next_ms - now < wait) {
					wait = s->next_ms - now;
				}
			}
		}
	}
	*ret_wait = wait;
	return best;
}

/* Records the result of a check; mutex held. True: the state changed. */
static bool note_check_result(struct backend_server *s, int rc, int64_t now)
{
	bool news = false;

	atomic_fetch_add(&s->checks, 1);
	if (rc < 0) {
		atomic_fetch_add(&s->checks_failed, 1);
		s->bad_checks++;
		/* the very first check decides alone */
		if (s->bad_checks >= s->p.care.fall || !s->known)
			news = backend_set_down(s, true, now);
	} else {
		s->bad_checks = 0;
		news = backend_set_down(s, false, now);
	}
	s->known = true;
	s->next_ms = now + add_jitter(s->p.care.interval_ms, s, now);
	/* check again soon while it is uncertain */
	if (rc < 0 && !atomic_load(&s->down))
		s->next_ms = now + s->p.care.interval_ms / 5;
	return news;
}

static void say_check_result(const struct backend_server *s, int rc,
			     const struct err *err)
{
	if (rc < 0)
		log_warn("%s: backend %s: %s: gets no requests until it answers",
			 s->p.cluster, s->p.name, err->text);
	else
		log_info("%s: backend %s: answers again", s->p.cluster, s->p.name);
}

/* Of the grammar the site's word counts, if there is one; its build info tells whether
 * it is Prometheus. */
static int dialect_of_server(const struct backend_server *s, int told)
{
	return s->p.dialect < 0 ? told
				: (int)((unsigned)s->p.dialect |
					((unsigned)told & PROMQL_OTHER));
}

static void look_at_server(struct health *h, struct backend_server *s, int64_t now)
{
	bool want = !s->p.pyroscope && (!s->dialect_ms || atomic_load(&s->down) ||
					now - s->dialect_ms >= DIALECT_MS);
	struct err err = {""};
	int dialect = -1;

	s->checking = true;
	atomic_store(&s->look, false);
	backend_ref(&s->pub);
	pthread_mutex_unlock(&h->mutex);
	int rc = check_backend(s, h->user_agent, &h->abort, want, &dialect, &err);
	now = backend_boot_ms();
	pthread_mutex_lock(&h->mutex);
	s->checking = false;
	if (!h->stopping) {
		if (dialect >= 0) {
			atomic_store(&s->seen_dialect, dialect_of_server(s, dialect));
			s->dialect_ms = dialect == DIALECT_OTHER ? 0 : now;
		}
		if (note_check_result(s, rc, now))
			say_check_result(s, rc, &err);
	}
	backend_unref(&s->pub);
}

static void wait_for(struct health *h, int64_t ms)
{
	struct timespec until = wait_in((uint64_t)ms);

	pthread_cond_timedwait(&h->more, &h->mutex, &until);
}

static void *thread_main(void *arg)
{
	struct health *h = arg;

	pthread_mutex_lock(&h->mutex);
	while (!h->stopping) {
		int64_t now = backend_boot_ms(), wait = LOOK_MS;
		struct backend_server *s = next_due_server(h, now, &wait);

		if (s)
			look_at_server(h, s, now);
		else
			wait_for(h, wait);
	}
	pthread_mutex_unlock(&h->mutex);
	return NULL;
}

/* ---- the object ------------------------------------------------------------------ */

int health_new(const char *user_agent, struct health **ret, struct err *err)
{
	struct health *h = calloc(1, sizeof(*h));

	if (!h)
		return err_set(err, -ENOMEM, "out of memory");
	h->user_agent = user_agent;
	pthread_mutex_init(&h->mutex, NULL);
	wait_cond_init(&h->more);
	*ret = h;
	return 0;
}

int health_start(struct health *h, struct err *err)
{
	pthread_attr_t attr;
	int rc = 0;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK_BYTES);
	while (rc == 0 && h->thread_count < HEALTH_THREADS) {
		rc = -pthread_create(&h->threads[h->thread_count], &attr, thread_main,
				     h);
		h->thread_count += rc == 0;
	}
	pthread_attr_destroy(&attr);
	return rc < 0 ? err_set(err, rc, "health checks: %s", strerror(-rc)) : 0;
}

void health_set_site(struct health *h, struct site *s)
{
	pthread_mutex_lock(&h->mutex);
	struct site *old = h->site;
	h->site = site_ref(s);
	pthread_cond_broadcast(&h->more);
	pthread_mutex_unlock(&h->mutex);
	site_unref(old);
}

void health_stop(struct health *h)
{
	atomic_store(&h->abort, true);
	pthread_mutex_lock(&h->mutex);
	h->stopping = true;
	pthread_cond_broadcast(&h->more);
	pthread_mutex_unlock(&h->mutex);
	for (unsigned i = 0; i < h->thread_count; i++)
		pthread_join(h->threads[i], NULL);
	h->thread_count = 0;
}

void health_free(struct health *h)
{
	if (!h)
		return;
	health_stop(h);
	site_unref(h->site);
	pthread_cond_destroy(&h->more);
	pthread_mutex_destroy(&h->mutex);
	free(h);
}
