/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "contrib/libvirt/watch.h"

#include <ctype.h>
#include <errno.h>
#include <libvirt/libvirt.h>
#include <libvirt/virterror.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "contrib/libvirt/statistics.h"
#include "lib/clock.h"
#include "lib/conf/program.h"
#include "lib/log.h"
#include "lib/notify.h"
#include "lib/periodic.h"
#include "lib/service.h"
#include "lib/signals.h"

#define TICK_MS 1000
#define RETRY_MAX_MS 30000u
#define KEEPALIVE_S 5
#define KEEPALIVE_COUNT 3

struct source {
	struct watch *watch;
	const char *uri;
	unsigned number;
	char driver[16]; /* "qemu": what libvirt calls its groups */
	virConnectPtr conn;
	bool closed, list_now;
	uint64_t retry_ns, wait_ms;
	struct log_repeat log;
};

struct watch {
	const struct options *options;
	struct domains *domains;
	struct source *sources;
	size_t count;
	uint64_t refresh_ns;
	_Atomic uint64_t beat_ns;
	struct periodic dog;
	struct statistics statistics;
};

static void mark_alive(struct watch *w)
{
	atomic_store(&w->beat_ns, clock_boottime_ns());
}

/* A domain may have a monitor that hangs, libvirtd may: no call has a limit. */
static uint64_t check_alive(void *arg)
{
	struct watch *w = arg;
	uint64_t beat_ns = atomic_load(&w->beat_ns),
		 asked_ns = atomic_load(&w->statistics.asked_ns);
	uint64_t then_ns = asked_ns && asked_ns < beat_ns ? asked_ns : beat_ns;
	uint64_t since_ns = clock_boottime_ns() - then_ns; /* read last: never less */

	if (since_ns > w->options->hang_ms * NSEC_PER_MSEC) {
		log_error("libvirt has not answered for %llu s: starting anew",
			  (unsigned long long)(since_ns / NSEC_PER_SEC));
		_exit(PROGRAM_CANNOT);
	}
	return TICK_MS;
}

static void ignore_error(void *data, virErrorPtr error)
{
	(void)data;
	(void)error;
}

/* ---- one domain ------------------------------------------------------------------ */

static bool read_xml(virDomainPtr domain, struct domain_xml *ret)
{
	char *text = virDomainGetXMLDesc(domain, 0);
	struct err err = {""};

	if (!text)
		return false;
	int rc = domain_xml_parse(text, strlen(text), ret, &err);
	free(text);
	if (rc < 0)
		log_warn("domain %s: %s: its devices are not known",
			 virDomainGetName(domain), err.text);
	return rc == 0;
}

/* A domain that is gone by now is left out: whoever tells of its end comes later.
 * before: it may have run for long, if it is not known. One that an event tells of has
 * just started: all others were in the list. */
static void see_domain(struct source *s, virDomainPtr domain, bool before, bool devices)
{
	struct domain_seen seen = {.source = s->number, .driver = s->driver};
	struct domains *all = s->watch->domains;
	char uuid[VIR_UUID_STRING_BUFLEN];
	virDomainInfo info;
	unsigned id = virDomainGetID(domain);
	static struct domain_xml xml; /* of the one thread: it is large */

	mark_alive(s->watch);
	seen.name = virDomainGetName(domain);
	if (id == (unsigned)-1 || id > INT32_MAX || !seen.name ||
	    virDomainGetUUIDString(domain, uuid) < 0 ||
	    !domain_uuid_copy(seen.uuid, uuid) || virDomainGetInfo(domain, &info) < 0)
		return;
	seen.id = (int)id;
	seen.cpus = info.nrVirtCpu;
	seen.memory_bytes = (uint64_t)info.memory << 10;
	if ((devices || !domains_know(all, seen.uuid, seen.id)) &&
	    read_xml(domain, &xml))
		seen.xml = &xml;
	domains_see(all, &seen, before);
}

/* ---- events ---------------------------------------------------------------------- */

static void end_domain(struct source *s, virDomainPtr domain, int detail)
{
	char text[VIR_UUID_STRING_BUFLEN], uuid[DOMAIN_UUID_SIZE];

	if (virDomainGetUUIDString(domain, text) < 0 || !domain_uuid_copy(uuid, text))
		return;
	domains_end(s->watch->domains, uuid,
		    detail == VIR_DOMAIN_EVENT_STOPPED_CRASHED ||
			    detail == VIR_DOMAIN_EVENT_STOPPED_FAILED);
}

static int take_lifecycle(virConnectPtr conn, virDomainPtr domain, int event,
			  int detail, void *opaque)
{
	struct source *s = opaque;

	(void)conn;
	mark_alive(s->watch);
	if (event == VIR_DOMAIN_EVENT_STOPPED)
		end_domain(s, domain, detail);
	else if (event == VIR_DOMAIN_EVENT_STARTED)
		see_domain(s, domain, false, true);
	else if (event == VIR_DOMAIN_EVENT_RESUMED ||
		 event == VIR_DOMAIN_EVENT_SUSPENDED)
		see_domain(s, domain, false, false); /* comes before STARTED */
	return 0;
}

static void take_device(virConnectPtr conn, virDomainPtr domain, const char *alias,
			void *opaque)
{
	(void)conn;
	(void)alias;
	see_domain(opaque, domain, false, true);
}

static void take_balloon(virConnectPtr conn, virDomainPtr domain,
			 unsigned long long actual, void *opaque)
{
	(void)conn;
	(void)actual;
	see_domain(opaque, domain, false, false);
}

static void take_close(virConnectPtr conn, int reason, void *opaque)
{
	struct source *s = opaque;

	(void)conn;
	(void)reason;
	s->closed = true;
}

static void ask_for_events(struct source *s)
{
	virConnectPtr c = s->conn;

	if (virConnectDomainEventRegisterAny(c, NULL, VIR_DOMAIN_EVENT_ID_LIFECYCLE,
					     VIR_DOMAIN_EVENT_CALLBACK(take_lifecycle),
					     s, NULL) < 0)
		log_warn("%s: it has no events: domains are looked for every %llu s",
			 s->uri,
			 (unsigned long long)(s->watch->options->refresh_ms / 1000));
	/* what a driver lacks is seen at the next refresh */
	(void)virConnectDomainEventRegisterAny(
		c, NULL, VIR_DOMAIN_EVENT_ID_DEVICE_ADDED,
		VIR_DOMAIN_EVENT_CALLBACK(take_device), s, NULL);
	(void)virConnectDomainEventRegisterAny(
		c, NULL, VIR_DOMAIN_EVENT_ID_DEVICE_REMOVED,
		VIR_DOMAIN_EVENT_CALLBACK(take_device), s, NULL);
	(void)virConnectDomainEventRegisterAny(
		c, NULL, VIR_DOMAIN_EVENT_ID_BALLOON_CHANGE,
		VIR_DOMAIN_EVENT_CALLBACK(take_balloon), s, NULL);
	(void)virConnectRegisterCloseCallback(c, take_close, s, NULL);
	(void)virConnectSetKeepAlive(c, KEEPALIVE_S, KEEPALIVE_COUNT);
}

/* ---- connections ----------------------------------------------------------------- */

static int connect_source(struct source *s, struct err *err)
{
	const char *type;

	s->conn = virConnectOpenReadOnly(s->uri);
	if (!s->conn)
		return err_set(err, -ENOTCONN, "%s: %s", s->uri,
			       virGetLastErrorMessage());
	type = virConnectGetType(s->conn); /* "QEMU", "LXC" */
	(void)snprintf(s->driver, sizeof(s->driver), "%s", type ? type : "qemu");
	for (char *c = s->driver; *c; c++)
		*c = (char)tolower((unsigned char)*c);
	return 0;
}

/* before: they may have run for long. One that is not known at a later list has just
 * started, and its event is still to come. */
static int list_domains(struct source *s, bool before, struct err *err)
{
	struct domains *all = s->watch->domains;
	virDomainPtr *list = NULL;
	int n = virConnectListAllDomains(s->conn, &list,
					 VIR_CONNECT_LIST_DOMAINS_ACTIVE);

	if (n < 0)
		return err_set(err, -EIO, "%s: list of domains: %s", s->uri,
			       virGetLastErrorMessage());
	domains_list_begin(all, s->number);
	for (int i = 0; i < n; i++) {
		see_domain(s, list[i], before, false);
		virDomainFree(list[i]);
	}
	free(list);
	/* one that ended while we read is not seen; the next list notices it */
	domains_list_end(all, s->number);
	return 0;
}

static void close_source(struct source *s)
{
	if (s->conn)
		(void)virConnectClose(s->conn);
	s->conn = NULL;
	s->closed = false;
}

static void fail_source(struct source *s, const struct err *err)
{
	uint64_t now_ns = clock_boottime_ns();

	close_source(s);
	s->wait_ms = s->wait_ms ? s->wait_ms * 2 : 1000;
	if (s->wait_ms > RETRY_MAX_MS)
		s->wait_ms = RETRY_MAX_MS;
	s->retry_ns = now_ns + s->wait_ms * NSEC_PER_MSEC;
	if (log_repeat_due(&s->log, now_ns))
		log_warn("%s: tried again; what runs goes on being counted", err->text);
}

/* Events first, then the list: what happens in between comes twice, not never. */
static void open_source(struct source *s)
{
	struct err err = {""};

	if (clock_boottime_ns() < s->retry_ns)
		return;
	int rc = connect_source(s, &err);
	if (rc == 0) {
		ask_for_events(s);
		rc = list_domains(s, true, &err);
	}
	mark_alive(s->watch);
	if (rc < 0) {
		fail_source(s, &err);
		return;
	}
	struct domains_stats stats;
	domains_stats(s->watch->domains, &stats);
	s->wait_ms = 0;
	(void)log_repeat_over(&s->log);
	log_info("%s: connected, %u domains run", s->uri, stats.running);
}

static void look_at_source(struct source *s, bool refresh)
{
	struct err err = {""};

	if (s->conn && (s->closed || virConnectIsAlive(s->conn) != 1)) {
		(void)err_set(&err, -ENOTCONN, "%s: the connection broke", s->uri);
		fail_source(s, &err);
	}
	if (!s->conn)
		open_source(s);
	else if (refresh && list_domains(s, false, &err) < 0)
		fail_source(s, &err);
}

static void look_at_vcpus(struct watch *w)
{
	char uuid[DOMAIN_UUID_SIZE];
	unsigned source;

	domains_look(w->domains);
	while (domains_take_changed(w->domains, &source, uuid)) {
		struct source *s = &w->sources[source];
		virDomainPtr domain =
			s->conn ? virDomainLookupByUUIDString(s->conn, uuid) : NULL;
		if (!domain)
			continue;
		see_domain(s, domain, false, false);
		virDomainFree(domain);
	}
}

static void tick_watch(int timer, void *opaque)
{
	struct watch *w = opaque;
	uint64_t now_ns = clock_boottime_ns();
	bool refresh = now_ns >= w->refresh_ns;

	(void)timer;
	mark_alive(w);
	for (size_t i = 0; i < w->count; i++)
		look_at_source(&w->sources[i], refresh);
	look_at_vcpus(w);
	if (refresh) {
		domains_refresh(w->domains);
		w->refresh_ns = now_ns + w->options->refresh_ms * NSEC_PER_MSEC;
	}
}

/* Other threads may be in libvirt's library: nothing is freed. */
static void take_signal(int handle, int fd, int events, void *opaque)
{
	int signo = service_take_signal(fd);

	(void)handle;
	(void)events;
	(void)opaque;
	if (signo && signo != SIGHUP) /* there is nothing to reload */
		_exit(PROGRAM_OK);
}

/* Before threads. No signal that may come from outside ends it without a word. */
static int watch_signals(struct err *err)
{
	int fd;
	int rc = signals_open(&fd, err);

	if (rc == 0 && virEventAddHandle(fd, VIR_EVENT_HANDLE_READABLE, take_signal,
					 NULL, NULL) < 0)
		rc = err_set(err, -EIO, "libvirt: %s", virGetLastErrorMessage());
	return rc;
}

static int begin_watch(struct watch *w, const struct options *o, struct domains *d,
		       struct err *err)
{
	*w = (struct watch){.options = o, .domains = d, .count = o->uris.count};
	w->sources = calloc(w->count ? w->count : 1, sizeof(*w->sources));
	if (!w->sources)
		return err_set(err, -ENOMEM, "out of memory");
	virSetErrorFunc(NULL, ignore_error);
	/* libvirt's library writes to sockets that libvirtd may have closed */
	(void)signal(SIGPIPE, SIG_IGN);
	for (size_t i = 0; i < w->count; i++)
		w->sources[i] = (struct source){
			.watch = w, .uri = o->uris.items[i], .number = (unsigned)i};
	mark_alive(w);
	if (virEventRegisterDefaultImpl() < 0 || virInitialize() < 0)
		return err_set(err, -EIO, "libvirt: %s", virGetLastErrorMessage());
	return 0;
}

int watch_list(const struct options *o, struct domains *d, struct err *err)
{
	struct watch w;
	int rc = begin_watch(&w, o, d, err);

	for (size_t i = 0; rc == 0 && i < w.count; i++) {
		rc = connect_source(&w.sources[i], err);
		if (rc == 0)
			rc = list_domains(&w.sources[i], true, err);
		close_source(&w.sources[i]);
	}
	free(w.sources);
	return rc;
}

int watch_run(const struct options *o, struct domains *d, const char *ring,
	      struct err *err)
{
	static struct watch w; /* the other thread looks at it until the end */
	int rc = begin_watch(&w, o, d, err);

	if (rc == 0)
		rc = watch_signals(err);
	if (rc < 0)
		return rc;
	periodic_init(&w.dog);
	rc = o->statistics_ms ? statistics_start(&w.statistics, o, ring, err) : 0;
	if (rc < 0)
		return rc;
	rc = periodic_start(&w.dog, 0, check_alive, NULL, &w);
	if (rc < 0)
		return err_set(err, rc, "a thread: %s", strerror(-rc));
	unsigned tick = o->refresh_ms < TICK_MS ? (unsigned)o->refresh_ms : TICK_MS;
	if (virEventAddTimeout((int)tick, tick_watch, &w, NULL) < 0)
		return err_set(err, -EIO, "libvirt: %s", virGetLastErrorMessage());
	tick_watch(0, &w);
	(void)notify_send("READY=1");
	log_info("ready");
	while (virEventRunDefaultImpl() == 0)
		;
	return err_set(err, -EIO, "libvirt's event loop: %s", virGetLastErrorMessage());
}
