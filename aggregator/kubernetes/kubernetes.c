/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The part: a thread for each cluster, so that one that hangs holds up none of the
 * others. */
#include "aggregator/kubernetes/kubernetes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "aggregator/kubernetes/kube_access.h"
#include "aggregator/kubernetes/kube_reader.h"
#include "lib/clock.h"

struct kubernetes {
	struct kubes kubes;
	struct kube_reader *readers; /* one of each */
	size_t started;
	struct kube_access *access;
	atomic_bool stop;
};

static int check_kubernetes(const struct options *o, struct err *err)
{
	struct kubes k = {.count = 0};
	int rc = *o->clusters_file ? kubes_read(o->clusters_file, &k, NULL, err) : 0;

	kubes_done(&k);
	return rc;
}

static void say_kube(const struct kube *k)
{
	if (!k->server && !k->users_file)
		log_warn("kubernetes: cluster %s: neither server nor "
			 "ns_users_list_file: pods are seen by their owners only",
			 k->id);
	if (!k->prefix && !k->suffix)
		log_warn("kubernetes: cluster %s: neither username_prefix nor "
			 "username_suffix: its pods are for operators and admins only "
			 "(give one, empty if logins are names of users there)",
			 k->id);
	if (k->insecure)
		log_warn("kubernetes: cluster %s: tls_config.insecure_skip_verify: "
			 "whoever answers instead of the API server decides who sees "
			 "what",
			 k->id);
}

static int open_reader(struct app *app, struct kubernetes *s, size_t i, struct err *err)
{
	struct kube_reader *r = &s->readers[i];
	struct pg_params p = app->pg;

	r->kube = &s->kubes.items[i];
	r->stop = &s->stop;
	say_kube(r->kube);
	periodic_init(&r->thread);
	s->started = i + 1;
	p.application = "ceems_aggregator kubernetes";
	p.statement_timeout_ms = 120000;
	int rc = pg_new(&p, &r->pg, err);
	/* a watch is answered when it is over */
	if (rc == 0 && r->kube->server)
		rc = kube_client_new(r->kube, r->kube->timeout_ms + r->kube->watch_ms,
				     &s->stop, &r->client, err);
	if (rc == 0)
		rc = periodic_start(&r->thread, 0, kube_reader_turn, NULL, r);
	return rc;
}

static int open_kubernetes(struct app *app, struct err *err)
{
	const char *file = app->options.clusters_file;
	auto_buf struct buf notes = BUF_INIT;
	struct kubernetes *s;

	if (!*file)
		return 0;
	s = app->kubernetes = calloc(1, sizeof(*s));
	if (!s)
		return err_set(err, -ENOMEM, "out of memory");
	int rc = kubes_read(file, &s->kubes, &notes, err);
	if (rc < 0)
		return rc;
	for (char *rest = notes.data, *line; rest && (line = strsep(&rest, "\n"));) {
		if (*line)
			log_warn("%s: %s", file, line);
	}
	s->readers = calloc(s->kubes.count + 1, sizeof(*s->readers));
	if (!s->readers)
		return err_set(err, -ENOMEM, "out of memory");
	rc = kube_access_new(&s->kubes, &s->stop, &s->access, err);
	for (size_t i = 0; rc == 0 && i < s->kubes.count; i++)
		rc = open_reader(app, s, i, err);
	return rc;
}

int kubernetes_projects(void *arg, const struct identity_who *who, struct pg *pg,
			struct buf *ret, struct err *err)
{
	struct app *app = arg;

	/* a login that only records know for a uid is not proved */
	if (!app->kubernetes || !app->kubernetes->access || who->of_records)
		return 0;
	return kube_access_projects(app->kubernetes->access, who->login, pg, ret, err);
}

static void stop_kubernetes(struct app *app)
{
	struct kubernetes *s = app->kubernetes;

	if (!s)
		return;
	atomic_store(&s->stop, true);
	for (size_t i = 0; i < s->started; i++) {
		periodic_ask_stop(&s->readers[i].thread);
		if (s->readers[i].pg)
			pg_interrupt(s->readers[i].pg);
	}
	for (size_t i = 0; i < s->started; i++)
		(void)periodic_join(&s->readers[i].thread, NULL);
}

static void close_kubernetes(struct app *app)
{
	struct kubernetes *s = app->kubernetes;

	if (!s)
		return;
	stop_kubernetes(app);
	for (size_t i = 0; i < s->started; i++) {
		kube_client_free(s->readers[i].client);
		pg_free(s->readers[i].pg);
		periodic_done(&s->readers[i].thread);
	}
	kube_access_free(s->access);
	free(s->readers);
	kubes_done(&s->kubes);
	free(s);
	app->kubernetes = NULL;
}

static void put_kubernetes_metrics(struct app *app, struct prom *out)
{
	static const struct prom_family pods = {
		"ceems_aggregator_kubernetes_pods", PROM_GAUGE,
		"Pods in the last whole list of a cluster's API server"};
	static const struct prom_family age = {
		"ceems_aggregator_kubernetes_age_seconds", PROM_GAUGE,
		"Time since a cluster's API server was last read; absent: never"};
	static const struct prom_family failures = {
		"ceems_aggregator_kubernetes_failures_total", PROM_COUNTER,
		"Times that a cluster's API server could not be read"};
	static const struct prom_family bad = {
		"ceems_aggregator_kubernetes_unreadable_pods_total", PROM_COUNTER,
		"Pods of answers that were left out, as they had no uid or time"};
	static const struct prom_family rights = {
		"ceems_aggregator_kubernetes_rights_total", PROM_COUNTER,
		"Questions who may see a namespace, by result: answered, kept from "
		"before, failed (nothing is allowed)"};
	struct kubernetes *s = app->kubernetes;
	struct kube_access_counts c = {0};

	if (!s || !s->access)
		return;
	for (size_t i = 0; i < s->started; i++) {
		struct kube_reader *r = &s->readers[i];
		uint64_t read_ns = atomic_load(&r->read_ns);
		const struct prom_label of = {"cluster", r->kube->id};
		prom_put_one(out, &pods, of.name, of.value, atomic_load(&r->pods));
		prom_put_one(out, &failures, of.name, of.value,
			     atomic_load(&r->failures));
		prom_put_one(out, &bad, of.name, of.value, atomic_load(&r->bad));
		prom_family(out, &age);
		if (read_ns)
			prom_put_scaled(out, &of, 1, clock_boottime_ns() - read_ns, 9);
	}
	kube_access_count(s->access, &c);
	prom_put_one(out, &rights, "result", "answered", c.asked);
	prom_put_one(out, &rights, "result", "kept", c.kept);
	prom_put_one(out, &rights, "result", "failed", c.failed);
}

const struct part part_kubernetes = {
	.name = "kubernetes",
	.check = check_kubernetes,
	.open = open_kubernetes,
	.metrics = put_kubernetes_metrics,
	.stop = stop_kubernetes,
	.close = close_kubernetes,
};
