/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "contrib/libvirt/domains.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "contrib/adapter/teller.h"
#include "contrib/libvirt/domain_group.h"
#include "lib/cleanup.h"
#include "lib/clock.h"
#include "lib/fs.h"
#include "lib/log.h"
#include "lib/records/ring.h"

#define LOOKS_AGAIN 3u

struct domain {
	struct domain *next;
	unsigned source;
	char driver[16], uuid[DOMAIN_UUID_SIZE];
	char *name;
	int id;
	uint32_t run; /* 0: no control group was found so far */
	uint32_t cpus;
	uint64_t memory_bytes;
	uint32_t device_count;
	struct record_device *devices;
	bool before, sent, listed, warned;
	char *vcpus; /* folder that has the groups of vCPUs, relative to cgroupfd */
	nlink_t vcpu_links; /* of that folder: two more than it has groups */
	unsigned looks;     /* at which it is asked for */
	bool changed;
};

struct domains {
	struct domains_place place;
	struct domain *list;
	uint32_t count;
	struct teller teller;
	struct log_repeat full_log;
};

struct domains *domains_new(const struct domains_place *place)
{
	struct domains *d = calloc(1, sizeof(*d));

	if (d) {
		d->place = *place;
		teller_init(&d->teller, MANAGER_LIBVIRT, place->ring);
	}
	return d;
}

static void free_domain(struct domain *o)
{
	if (!o)
		return;
	free(o->name);
	free(o->devices);
	free(o->vcpus);
	free(o);
}

void domains_free(struct domains *d)
{
	if (!d)
		return;
	while (d->list) {
		struct domain *next = d->list->next;
		free_domain(d->list);
		d->list = next;
	}
	free(d);
}

static struct domain *find_domain(const struct domains *d, const char *uuid)
{
	struct domain *o = d->list;

	while (o && strcmp(o->uuid, uuid) != 0)
		o = o->next;
	return o;
}

bool domains_know(const struct domains *d, const char *uuid, int id)
{
	const struct domain *o = find_domain(d, uuid);

	return o && o->id == id;
}

/* ---- records --------------------------------------------------------------------- */

/* The process of libvirt's pid file, if it is this domain's; of a libvirtd in another
 * pid namespace it is somebody else. */
static bool find_by_pid(const struct domains *d, const struct domain *o,
			const char *machine, struct record *r)
{
	char path[512], text[4096];
	uint64_t pid;
	int n = snprintf(path, sizeof(path), "%s/%s/%s.pid", d->place.run_dir,
			 o->driver, o->name);

	if (n < 0 || (size_t)n >= sizeof(path) || strchr(o->name, '/') ||
	    fs_read_u64_at(AT_FDCWD, path, &pid, NULL) < 0)
		return false;
	(void)snprintf(path, sizeof(path), "%llu/cgroup", (unsigned long long)pid);
	ssize_t len = fs_read_at(d->place.procfd, path, text, sizeof(text), NULL);
	return len > 0 && domain_group_of_process(text, (size_t)len, machine, r) > 0;
}

static bool find_groups(const struct domains *d, const struct domain *o,
			struct record *r)
{
	char machine[DOMAIN_MACHINE_SIZE];

	domain_machine_name(o->driver, o->id, o->name, machine);
	return find_by_pid(d, o, machine, r) ||
	       domain_group_find(d->place.cgroupfd, &d->place.layout, machine, r) > 0;
}

static void fill_record(const struct domain *o, struct record *r)
{
	record_set(r, r->unit, sizeof(r->unit), o->uuid);
	record_set(r, r->name, sizeof(r->name), o->name);
	r->step = o->run;
	r->cpus = r->step_cpus = o->cpus;
	r->memory_bytes = o->memory_bytes;
	for (uint32_t i = 0; i < o->device_count; i++)
		(void)record_add_device(r, o->devices[i].uuid, o->devices[i].pci,
					o->devices[i].mig,
					o->devices[i].share_permille);
}

/* What the hook script needs when there is no time to ask: the start record. */
static void keep_for_hook(const struct domains *d, const struct record *r)
{
	unsigned char data[RING_RECORD_MAX];
	char path[512];
	struct err err;
	int len = record_encode(r, data, sizeof(data));

	if (!d->place.keep[0] || len < 0)
		return;
	(void)mkdir(d->place.keep, 0700);
	(void)snprintf(path, sizeof(path), "%s/%s", d->place.keep, r->unit);
	if (fs_write_atomic_at(AT_FDCWD, path, data, (size_t)len, 0600, &err) < 0)
		log_debug("%s: the hook will not know it", err.text);
}

static void forget_for_hook(const struct domains *d, const struct domain *o)
{
	char path[512];

	if (!d->place.keep[0])
		return;
	(void)snprintf(path, sizeof(path), "%s/%s", d->place.keep, o->uuid);
	(void)unlink(path);
}

/* ---- groups of vCPUs ------------------------------------------------------------- */

/* vcpuN are in the domain's group, where systemd made that in "libvirt" below it. A
 * domain that is listed while it starts has none yet. */
static void find_vcpus(struct domains *d, struct domain *o, const struct record *r)
{
	static const uint32_t controllers[] = {CGROUP_CPUSET, CGROUP_CPU,
					       CGROUP_UNIFIED};
	static const char *const below[] = {"/libvirt", ""};
	struct stat st;

	free(o->vcpus);
	o->vcpus = NULL;
	for (size_t i = 0; !o->vcpus && i < 6; i++) {
		const char *hierarchy =
			cgroup_dir(&d->place.layout, controllers[i / 2]);
		const char *group = record_cgroup(r, controllers[i / 2]);
		char path[RECORD_CGROUP_MAX + 64], vcpu[RECORD_CGROUP_MAX + 72];
		if (!*hierarchy || !group)
			continue;
		(void)snprintf(path, sizeof(path), "%s%s%s", hierarchy, group,
			       below[i % 2]);
		(void)snprintf(vcpu, sizeof(vcpu), "%s/vcpu0", path);
		if (fstatat(d->place.cgroupfd, vcpu, &st, 0) == 0 &&
		    fstatat(d->place.cgroupfd, path, &st, 0) == 0) {
			o->vcpus = strdup(path);
			o->vcpu_links = st.st_nlink;
		}
	}
}

static void find_late_vcpus(struct domains *d, struct domain *o)
{
	struct record r;

	teller_begin(&r, RECORD_STEP_START, MANAGER_LIBVIRT);
	if (find_groups(d, o, &r))
		find_vcpus(d, o, &r);
}

void domains_look(struct domains *d)
{
	struct stat st;

	for (struct domain *o = d->list; o; o = o->next) {
		if (o->vcpus && fstatat(d->place.cgroupfd, o->vcpus, &st, 0) == 0 &&
		    st.st_nlink != o->vcpu_links) {
			o->vcpu_links = st.st_nlink;
			o->looks = LOOKS_AGAIN;
		}
		o->changed = o->looks > 0;
		o->looks -= o->changed;
	}
}

bool domains_take_changed(struct domains *d, unsigned *ret_source,
			  char ret_uuid[DOMAIN_UUID_SIZE])
{
	for (struct domain *o = d->list; o; o = o->next) {
		if (!o->changed)
			continue;
		o->changed = false;
		*ret_source = o->source;
		memcpy(ret_uuid, o->uuid, sizeof(o->uuid));
		return true;
	}
	return false;
}

/* ---- starts and ends ------------------------------------------------------------- */

static void send_start(struct domains *d, struct domain *o)
{
	struct record r;

	teller_begin(&r, RECORD_STEP_START, MANAGER_LIBVIRT);
	if (!find_groups(d, o, &r)) {
		if (!o->warned)
			log_info("domain %s (%s): its control group is not there: it "
				 "is looked for again",
				 o->uuid, o->name);
		o->warned = true;
		return;
	}
	uint32_t run = teller_run(d->place.cgroupfd, &d->place.layout, &r);
	if (!run)
		return;
	o->run = run;
	if (!o->vcpus)
		find_vcpus(d, o, &r);
	fill_record(o, &r);
	if (o->before || o->warned)
		r.flags |= RECORD_RUNNING;
	o->sent = teller_send(&d->teller, &r);
	o->before |= !o->sent; /* ceemsd hears of it late */
	if (o->sent) {
		keep_for_hook(d, &r);
		log_debug("domain %s (%s): run %u", o->uuid, o->name, o->run);
	}
}

static void send_stop(struct domains *d, struct domain *o, bool failed)
{
	struct record r;

	forget_for_hook(d, o);
	if (!o->run)
		return;
	teller_begin(&r, RECORD_STEP_STOP, MANAGER_LIBVIRT);
	fill_record(o, &r);
	r.flags |= RECORD_LAST;
	r.exit_status = failed ? TELLER_FAILED_STATUS : 0;
	(void)teller_send(&d->teller, &r);
}

/* ---- the table ------------------------------------------------------------------- */

static struct domain *add_domain(struct domains *d, const struct domain_seen *s)
{
	struct domain *o = calloc(1, sizeof(*o));

	if (o)
		o->name = strdup(s->name);
	if (!o || !o->name) {
		free_domain(o);
		return NULL;
	}
	o->source = s->source;
	o->id = s->id;
	(void)snprintf(o->driver, sizeof(o->driver), "%s", s->driver);
	memcpy(o->uuid, s->uuid, sizeof(o->uuid));
	o->next = d->list;
	d->list = o;
	d->count++;
	return o;
}

static void remove_domain(struct domains *d, struct domain *o)
{
	struct domain **p = &d->list;

	while (*p && *p != o)
		p = &(*p)->next;
	if (*p) {
		*p = o->next;
		d->count--;
	}
	free_domain(o);
}

/* True: something that a record has is another. */
static bool take_devices(struct domain *o, const struct domain_xml *xml)
{
	size_t bytes = xml ? xml->device_count * sizeof(*xml->devices) : 0;

	if (!xml || (xml->device_count == o->device_count &&
		     (!bytes || memcmp(xml->devices, o->devices, bytes) == 0)))
		return false;
	struct record_device *copy = bytes ? malloc(bytes) : NULL;
	if (bytes && !copy)
		return false;
	if (bytes)
		memcpy(copy, xml->devices, bytes);
	free(o->devices);
	o->devices = copy;
	o->device_count = xml->device_count;
	return true;
}

void domains_see(struct domains *d, const struct domain_seen *s, bool before)
{
	struct domain *o = find_domain(d, s->uuid);

	if (o && o->id != s->id) { /* its end was not heard of */
		send_stop(d, o, false);
		remove_domain(d, o);
		o = NULL;
	}
	if (!o && d->count >= DOMAINS_MAX) {
		if (log_repeat_due(&d->full_log, clock_boottime_ns()))
			log_warn("more than %u domains: domain %s is left out",
				 DOMAINS_MAX, s->uuid);
		return;
	}
	bool changed = !o;
	if (!o) {
		o = add_domain(d, s);
		if (!o)
			return;
		o->before = before;
	}
	o->listed = true;
	changed |= take_devices(o, s->xml);
	changed |= o->cpus != s->cpus || o->memory_bytes != s->memory_bytes;
	o->cpus = s->cpus;
	o->memory_bytes = s->memory_bytes;
	if (changed || !o->sent)
		send_start(d, o);
	else if (!o->vcpus)
		find_late_vcpus(d, o);
}

void domains_end(struct domains *d, const char *uuid, bool failed)
{
	struct domain *o = find_domain(d, uuid);

	if (!o)
		return;
	send_stop(d, o, failed);
	remove_domain(d, o);
}

void domains_list_begin(struct domains *d, unsigned source)
{
	for (struct domain *o = d->list; o; o = o->next) {
		if (o->source == source)
			o->listed = false;
	}
}

void domains_list_end(struct domains *d, unsigned source)
{
	struct domain *next;

	for (struct domain *o = d->list; o; o = next) {
		next = o->next;
		if (o->source != source || o->listed)
			continue;
		send_stop(d, o, false);
		remove_domain(d, o);
	}
}

void domains_refresh(struct domains *d)
{
	bool again = teller_ring_is_new(&d->teller);

	for (struct domain *o = d->list; o; o = o->next) {
		o->before |= again;
		o->sent &= !again;
		if (!o->sent)
			send_start(d, o);
	}
	teller_hello(&d->teller);
}

void domains_stats(const struct domains *d, struct domains_stats *ret)
{
	*ret = (struct domains_stats){
		.running = d->count,
		.sent = d->teller.sent,
		.refused = d->teller.refused,
	};
	for (const struct domain *o = d->list; o; o = o->next)
		ret->unsent += !o->sent;
}

/* ---- the hook script ------------------------------------------------------------- */

int domains_hook(const struct domains_place *place, const char *xml, size_t len,
		 struct err *err)
{
	const struct cgroup_known known = {.has_cpu = false};
	auto_buf struct buf kept = BUF_INIT;
	struct domain_xml domain;
	struct record start, r;
	char path[512];
	int rc = domain_xml_parse(xml, len, &domain, err);

	if (rc < 0)
		return rc;
	if (!domain.uuid[0])
		return err_set(err, -EINVAL, "domain XML: no <uuid>");
	(void)snprintf(path, sizeof(path), "%s/%s", place->keep, domain.uuid);
	rc = fs_read_buf_at(AT_FDCWD, path, RING_RECORD_MAX, &kept, err);
	if (rc == 0)
		rc = record_decode(kept.data, kept.len, &start, err);
	if (rc < 0)
		return rc;
	r = start;
	r.type = RECORD_STEP_STOP;
	r.realtime_ns = clock_realtime_ns();
	r.boottime_ns = clock_boottime_ns();
	r.flags &= ~(uint32_t)RECORD_RUNNING;
	rc = cgroup_final_counters(place->cgroupfd, "", &place->layout, r.cgroups,
				   r.cgroup_count, &known, &r.counters, err);
	return rc < 0 ? rc : teller_send_to(place->ring, &r, err);
}
