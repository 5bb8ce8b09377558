/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The part: a periodic job for each cloud, so that one that hangs holds up none of the
 * others. */
#include "aggregator/openstack/cloud.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "aggregator/openstack/cloud_config.h"
#include "aggregator/openstack/cloud_reader.h"
#include "aggregator/periodic_job.h"
#include "lib/clock.h"
#include "lib/crc32c.h"
#include "lib/log.h"

#define PERIOD_MS 1000u

struct openstack {
	struct clouds clouds;
	struct cloud_reader *readers; /* one of each cloud */
	struct periodic_job **jobs;
	atomic_bool stop;
};

static int check_openstack(const struct options *o, struct err *err)
{
	struct clouds c = {.count = 0};
	int rc = *o->clusters_file ? clouds_read(o->clusters_file, &c, NULL, err) : 0;

	clouds_done(&c);
	return rc;
}

static void say_notes(const char *file, struct buf *notes)
{
	char *rest = notes->data, *line;

	while (rest && (line = strsep(&rest, "\n")) != NULL) {
		if (*line)
			log_warn("%s: %s", file, line);
	}
}

/* Whose lease of a cloud it is: the same after a restart, and another's on another host
 * or address. Should two have one nevertheless, both read; each transaction is whole.
 */
static int64_t hash_own_place(const struct options *o)
{
	char host[HOST_NAME_MAX + 1] = "";

	(void)gethostname(host, sizeof(host) - 1);
	uint32_t crc = crc32c(0, host, strlen(host) + 1);
	for (size_t i = 0; i < o->listen_addresses.count; i++) {
		const char *address = o->listen_addresses.items[i];
		crc = crc32c(crc, address, strlen(address) + 1);
	}
	return crc;
}

static int open_cloud(struct app *app, struct openstack *o, size_t i, struct err *err)
{
	const struct cloud *cloud = &o->clouds.items[i];
	struct cloud_reader *c = &o->readers[i];
	const struct periodic_job_params job = {
		.name = "openstack",
		.lock = PERIODIC_JOB_CLOUDS +
			(crc32c(0, cloud->id, strlen(cloud->id)) & 0xffff),
		.period_ms = PERIOD_MS,
		.timeout_ms = 120000,
		.run = cloud_reader_turn,
		.look = cloud_reader_look,
		.arg = c,
	};

	c->cloud = cloud;
	c->page = cloud->page;
	c->holder = hash_own_place(&app->options);
	atomic_store(&c->read_ns, clock_boottime_ns());
	if (cloud->insecure)
		log_warn("openstack: cluster %s: tls_config.insecure_skip_verify: "
			 "whoever answers instead of Keystone decides whose VMs are "
			 "whose",
			 cloud->id);
	if (!cloud->login_domain_count)
		log_warn("openstack: cluster %s: no login_domains: its VMs are for "
			 "operators and admins only (name the domains of Keystone "
			 "whose user names are logins here)",
			 cloud->id);
	int rc = cloud_session_new(cloud, &o->stop, &c->session, err);
	return rc < 0 ? rc : periodic_job_new(&app->pg, &job, &o->jobs[i], err);
}

static int open_openstack(struct app *app, struct err *err)
{
	const char *file = app->options.clusters_file;
	auto_buf struct buf notes = BUF_INIT;
	struct openstack *o;
	int rc;

	if (!*file)
		return 0;
	o = app->openstack = calloc(1, sizeof(*o));
	if (!o)
		return err_set(err, -ENOMEM, "out of memory");
	rc = clouds_read(file, &o->clouds, &notes, err);
	if (rc < 0)
		return rc;
	say_notes(file, &notes);
	o->readers = calloc(o->clouds.count + 1, sizeof(*o->readers));
	o->jobs = calloc(o->clouds.count + 1, sizeof(struct periodic_job *));
	if (!o->readers || !o->jobs)
		return err_set(err, -ENOMEM, "out of memory");
	for (size_t i = 0; rc == 0 && i < o->clouds.count; i++)
		rc = open_cloud(app, o, i, err);
	return rc;
}

static void stop_openstack(struct app *app)
{
	struct openstack *o = app->openstack;

	if (!o || !o->jobs)
		return;
	atomic_store(&o->stop, true);
	for (size_t i = 0; i < o->clouds.count; i++) {
		if (o->jobs[i])
			periodic_job_stop(o->jobs[i]);
	}
}

static void close_openstack(struct app *app)
{
	struct openstack *o = app->openstack;

	for (size_t i = 0; o && o->jobs && o->readers && i < o->clouds.count; i++) {
		periodic_job_free(o->jobs[i]);
		cloud_session_free(o->readers[i].session);
	}
	if (o) {
		free(o->readers);
		free((void *)o->jobs);
		clouds_done(&o->clouds);
	}
	free(o);
	app->openstack = NULL;
}

static void put_cloud_family(struct openstack *o, const struct prom_family *family,
			     uint64_t (*value)(struct cloud_reader *c),
			     struct prom *out)
{
	prom_family(out, family);
	for (size_t i = 0; i < o->clouds.count; i++) {
		const struct prom_label label = {"cluster_id", o->clouds.items[i].id};
		prom_put_u64(out, &label, 1, value(&o->readers[i]));
	}
}

static uint64_t get_requests(struct cloud_reader *c)
{
	return cloud_session_requests(c->session);
}

static uint64_t get_failures(struct cloud_reader *c)
{
	return atomic_load(&c->failed);
}

static uint64_t get_skipped(struct cloud_reader *c)
{
	return atomic_load(&c->skipped);
}

static uint64_t get_servers(struct cloud_reader *c)
{
	return atomic_load(&c->servers);
}

static uint64_t get_stubs(struct cloud_reader *c)
{
	return atomic_load(&c->stubs);
}

static uint64_t get_age(struct cloud_reader *c)
{
	uint64_t now = clock_boottime_ns(), then = atomic_load(&c->read_ns);

	return now > then ? (now - then) / 1000000000ull : 0;
}

static void put_openstack_metrics(struct app *app, struct prom *out)
{
	static const struct prom_family requests = {
		"ceems_aggregator_cloud_requests_total", PROM_COUNTER,
		"Requests to Keystone and Nova of a cluster"};
	static const struct prom_family failures = {
		"ceems_aggregator_cloud_failures_total", PROM_COUNTER,
		"Answers of Keystone and Nova that were none, or could not be used"};
	static const struct prom_family skipped = {
		"ceems_aggregator_cloud_skipped_servers_total", PROM_COUNTER,
		"Servers in Nova's lists without a usable id, owner or time"};
	static const struct prom_family servers = {
		"ceems_aggregator_cloud_servers", PROM_GAUGE,
		"Servers in the last whole list of Nova"};
	static const struct prom_family stubs = {
		"ceems_aggregator_cloud_unreachable_servers", PROM_GAUGE,
		"Servers of these in a cell of Nova that does not answer"};
	static const struct prom_family age = {
		"ceems_aggregator_cloud_age_seconds", PROM_GAUGE,
		"Time since Nova's list, or its changes, were last read to the end"};
	struct openstack *o = app->openstack;

	if (!o || !o->clouds.count || !o->jobs || !o->jobs[o->clouds.count - 1])
		return;
	put_cloud_family(o, &requests, get_requests, out);
	put_cloud_family(o, &failures, get_failures, out);
	put_cloud_family(o, &skipped, get_skipped, out);
	put_cloud_family(o, &servers, get_servers, out);
	put_cloud_family(o, &stubs, get_stubs, out);
	put_cloud_family(o, &age, get_age, out);
}

const struct part part_openstack = {
	.name = "openstack",
	.check = check_openstack,
	.open = open_openstack,
	.metrics = put_openstack_metrics,
	.stop = stop_openstack,
	.close = close_openstack,
};
