/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The load balancer as a whole: how its parts start, get a new configuration, and
 * stop. */
#include "lb/balancer.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lb/gate/gate.h"
#include "lb/proxy/worker.h"
#include "lb/site/backend_impl.h"
#include "lb/site/health.h"
#include "lb/site/site.h"
#include "lib/fence.h"
#include "lib/http/listen.h"
#include "lib/identity/identity_web.h"
#include "lib/log.h"
#include "lib/service.h"

#define USER_AGENT "ceems_lb/" CEEMS_VERSION

struct balancer {
	const struct options *options;
	const struct privileges *privileges;
	pthread_mutex_t
		mutex; /* protects site: workers read it for /metrics and /health */
	struct site *site;
	struct gate *gate;
	struct health *health;
	_Atomic(struct workers *)
		workers; /* may already serve while the start goes on */
	atomic_ulong reloads, reload_failures;
	bool gate_runs;
	bool calls_filtered, files_fenced;
};

/* ---- configuration --------------------------------------------------------------- */

/* Calls f for each line of the site's notes, which stay unchanged. */
static void each_note(const struct site *s, void (*f)(const char *line, int len))
{
	for (const char *line = s->notes; *line;) {
		size_t n = strcspn(line, "\n");

		f(line, (int)n);
		line += n + (line[n] == '\n');
	}
}

static void log_note(const char *line, int len)
{
	log_warn("%.*s", len, line);
}

static void print_note(const char *line, int len)
{
	printf("ceems_lb: %.*s\n", len, line);
}

static int read_site(const struct options *o, const struct site *before,
		     struct site **ret, struct err *err)
{
	if (!*o->config_file)
		return err_set(err, -EINVAL,
			       "--config.file is needed: it says which clusters there "
			       "are");
	return site_read(o->config_file, o->expand, before, ret, err);
}

static int check_file(const char *what, const char *path, struct err *err)
{
	if (!path)
		return 0;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	if (fd < 0) {
		int rc = -errno;
		return err_set(err, rc, "%s: open %s: %s", what, path, strerror(-rc));
	}
	close(fd);
	return 0;
}

/* Checks files that are otherwise read only when needed, for --check-config. */
static int check_files(const struct site *s, struct err *err)
{
	const struct identity_params *i = &s->identity;
	const struct site_api *a = &s->api;
	static const char api[] = "ceems_api_server.web";
	bool is_url = i->token_keys && strstr(i->token_keys, "://");
	int rc = check_file("identity.token_keys", is_url ? NULL : i->token_keys, err);

	rc = rc ? rc : check_file("identity.token_ca_file", i->token_ca_file, err);
	rc = rc ? rc : check_file(api, a->ca_file, err);
	rc = rc ? rc : check_file(api, a->cert_file, err);
	rc = rc ? rc : check_file(api, a->key_file, err);
	rc = rc ? rc : check_file(api, a->password_file, err);
	for (size_t c = 0; c < s->cluster_count; c++) {
		for (int k = 0; k < SITE_PROTOCOLS; k++) {
			const struct backend_set *set = s->clusters[c].backends[k];

			for (size_t n = 0; !rc && set && n < backend_set_count(set);
			     n++) {
				const struct backend *b = &backend_set_at(set, n)->pub;

				rc = check_file(b->name, b->ca_file, err);
				rc = rc ? rc : check_file(b->name, b->cert_file, err);
				rc = rc ? rc : check_file(b->name, b->key_file, err);
			}
		}
	}
	return rc;
}

static int check_addresses(const struct options *o, struct err *err)
{
	if (!o->systemd_socket && o->listen_addresses.count > SITE_PROTOCOLS)
		return err_set(err, -EINVAL,
			       "--web.listen-address: the first is Prometheus', the "
			       "second Pyroscope's, there is no third");
	return o->systemd_socket
		       ? 0
		       : listen_check((const char *const *)o->listen_addresses.items,
				      o->listen_addresses.count, err);
}

int balancer_check(const struct options *o, struct err *err)
{
	struct site *s = NULL;
	int rc = check_addresses(o, err);

	if (rc == 0)
		rc = read_site(o, NULL, &s, err);
	if (rc == 0)
		rc = check_files(s, err);
	if (rc == 0 && *o->web_config_file)
		rc = web_check_config(o->web_config_file, err);
	if (rc == 0)
		each_note(s, print_note);
	site_unref(s);
	return rc;
}

/* ---- metrics and health ---------------------------------------------------------- */

static struct site *current_site(struct balancer *b)
{
	pthread_mutex_lock(&b->mutex);
	struct site *s = site_ref(b->site);
	pthread_mutex_unlock(&b->mutex);
	return s;
}

typedef void (*server_f)(void *arg, struct backend_server *s);

static void each_server(const struct site *s, server_f f, void *arg)
{
	for (size_t c = 0; c < s->cluster_count; c++) {
		for (int p = 0; p < SITE_PROTOCOLS; p++) {
			const struct backend_set *set = s->clusters[c].backends[p];

			for (size_t i = 0; set && i < backend_set_count(set); i++)
				f(arg, backend_set_at(set, i));
		}
	}
}

static void count_up(void *arg, struct backend_server *s)
{
	*(unsigned *)arg += !atomic_load(&s->down);
}

/* Healthy as long as it can serve anybody. */
static const char *find_unhealthy_reason(void *arg)
{
	struct balancer *b = arg;
	struct site *s = current_site(b);
	unsigned up = 0;

	each_server(s, count_up, &up);
	site_unref(s);
	return up ? NULL : "none of the servers behind ceems_lb answers";
}

static void put_server(void *arg, struct backend_server *s)
{
	backend_metrics(s, arg);
}

struct scraper {
	struct web_request *r;
	bool admitted; /* else answered */
};

static void admit_scraper(void *arg, const struct identity *id)
{
	struct scraper *s = arg;

	s->admitted = identity_admits_metrics(id, s->r);
}

static bool admits_metrics(void *arg, struct web_request *r)
{
	struct balancer *b = arg;
	struct scraper s = {.r = r};

	gate_with_identity(b->gate, admit_scraper, &s);
	return s.admitted;
}

static void put_balancer_metrics(void *arg, struct prom *out)
{
	static const struct prom_family build = {"ceems_lb_build_info", PROM_GAUGE,
						 "Version of the program; always 1"};
	static const struct prom_family reloads = {
		"ceems_lb_reloads_total", PROM_COUNTER,
		"Times the configuration was read again, by how it went"};
	static const struct prom_family open = {
		"ceems_lb_open", PROM_GAUGE,
		"1: there is no access control, because the site switched it off"};
	static const struct prom_family sandbox = {
		"ceems_lb_sandbox_active", PROM_GAUGE,
		"1 where the kernel keeps the program to what it needs, by kind"};
	static const struct prom_family clusters = {"ceems_lb_clusters", PROM_GAUGE,
						    "Clusters that are configured"};
	struct balancer *b = arg;
	struct site *s = current_site(b);

	prom_put_one(out, &build, "version", CEEMS_VERSION, 1);
	prom_put_one(out, &reloads, "result", "ok", atomic_load(&b->reloads));
	prom_put_one(out, &reloads, "result", "failed",
		     atomic_load(&b->reload_failures));
	prom_put_one(out, &open, NULL, NULL, s->open);
	prom_put_one(out, &sandbox, "kind", "landlock", b->files_fenced);
	prom_put_one(out, &sandbox, "kind", "seccomp", b->calls_filtered);
	prom_put_one(out, &clusters, NULL, NULL, s->cluster_count);
	each_server(s, put_server, out);
	site_unref(s);
	gate_metrics(b->gate, out); /* the workers put their own */
}

/* ---- start, reload, end ---------------------------------------------------------- */

static void fence_files(struct balancer *b)
{
	const struct options *o = b->options;
	const struct conf_list *more = &o->landlock_read;
	auto_buf struct buf files = BUF_INIT;

	buf_printf(&files, "%s\n%s", o->config_file, b->site->files);
	web_put_files(o->web_config_file, &files);
	b->files_fenced = service_fence_files(
		o->drop_privileges && o->landlock && buf_error(&files) == 0, files.data,
		(const char *const *)more->items, more->count);
}

static int drop_balancer_privileges(void *arg, struct err *err)
{
	struct balancer *b = arg;
	int rc = privileges_drop(b->privileges, err);

	if (rc == 0)
		rc = privileges_hide(err);
	if (rc == 0)
		fence_files(b);
	if (rc == 0)
		b->calls_filtered = service_filter_calls(b->options->drop_privileges &&
							 b->options->seccomp);
	if (rc == 0)
		rc = gate_start(b->gate, err);
	b->gate_runs = rc == 0;
	return rc == 0 ? health_start(b->health, err) : rc;
}

static int start_workers(struct balancer *b, struct err *err)
{
	const struct options *o = b->options;
	const char *const *listen = (const char *const *)o->listen_addresses.items;
	struct workers_params w = {
		.count = (unsigned)o->threads,
		.config_file = o->web_config_file,
		.systemd_socket = o->systemd_socket,
		.max_requests = (uint32_t)o->max_requests,
		.drain_ms = (uint32_t)o->drain_ms,
		.gate = b->gate,
		.unhealthy = find_unhealthy_reason,
		.admits_metrics = admits_metrics,
		.metrics = put_balancer_metrics,
		.arg = b,
		.before_threads = drop_balancer_privileges,
	};

	/* systemd passes as many sockets as configured, in the same order */
	for (size_t i = 0; i < SITE_PROTOCOLS; i++) {
		if (!o->systemd_socket && i == o->listen_addresses.count)
			break;
		w.listen[i] = &listen[i];
		w.listen_count[i] = 1;
	}
	struct workers *started = NULL;
	int rc = workers_start(&w, &started, err);
	atomic_store(&b->workers, started);
	return rc;
}

static void say_ports(const struct balancer *b)
{
	static const char *const names[] = {"Prometheus'", "Pyroscope's"};

	for (int p = 0; p < SITE_PROTOCOLS; p++) {
		unsigned port = workers_port(b->workers, (enum site_protocol)p, 0);

		if (port)
			log_info("serves %s API on port %u", names[p], port);
	}
	if (workers_in_clear(b->workers))
		service_say_in_clear();
}

int balancer_start(const struct options *o, const struct privileges *privileges,
		   struct balancer **ret, struct err *err)
{
	struct balancer *b = calloc(1, sizeof(*b));
	struct gate_params g = {.user_agent = USER_AGENT};

	if (!b)
		return err_set(err, -ENOMEM, "out of memory");
	b->options = o;
	b->privileges = privileges;
	pthread_mutex_init(&b->mutex, NULL);
	int rc = check_addresses(o, err);
	if (rc == 0)
		rc = read_site(o, NULL, &b->site, err);
	if (rc == 0) {
		each_note(b->site, log_note);
		g.identity = &b->site->identity;
		rc = gate_new(&g, &b->gate, err);
	}
	if (rc == 0)
		rc = health_new(USER_AGENT, &b->health, err);
	if (rc == 0) {
		gate_set_site(b->gate, b->site);
		health_set_site(b->health, b->site);
		rc = start_workers(b, err);
	}
	if (rc < 0) {
		balancer_stop(b);
		return rc;
	}
	say_ports(b);
	*ret = b;
	return 0;
}

static int reload_site(struct balancer *b, struct err *err)
{
	struct site *s = NULL;
	int rc = read_site(b->options, b->site, &s, err);

	/* some are read only when they are needed */
	if (rc == 0 && b->files_fenced)
		rc = fence_check_files(s->files, err);

	if (rc == 0)
		rc = gate_set_identity(b->gate, &s->identity, err);
	if (rc < 0) {
		site_unref(s);
		return rc;
	}
	each_note(s, log_note);
	gate_set_site(b->gate, s);
	health_set_site(b->health, s);
	pthread_mutex_lock(&b->mutex);
	struct site *old = b->site;
	b->site = s;
	pthread_mutex_unlock(&b->mutex);
	site_unref(old);
	return 0;
}

bool balancer_reload(struct balancer *b)
{
	struct err err = {""};
	bool good = true;

	if (reload_site(b, &err) < 0) {
		log_error("reload: %s: the old configuration stays in force", err.text);
		if (b->files_fenced)
			service_say_outside(&err);
		good = false;
	}
	if (workers_reload(b->workers, &err) < 0) {
		log_error("reload: %s: the old web configuration stays in force",
			  err.text);
		if (b->files_fenced)
			service_say_outside(&err);
		good = false;
	}
	atomic_fetch_add(good ? &b->reloads : &b->reload_failures, 1);
	return good;
}

void balancer_stop(struct balancer *b)
{
	if (!b)
		return;
	workers_stop(b->workers);
	if (b->gate_runs)
		gate_stop(b->gate);
	gate_free(b->gate);
	health_free(b->health);
	site_unref(b->site);
	pthread_mutex_destroy(&b->mutex);
	free(b);
}
