/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "contrib/k8s/pods.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "contrib/adapter/teller.h"
#include "contrib/k8s/containers.h"
#include "lib/clock.h"
#include "lib/log.h"

#define BUCKETS 4096u /* power of two */

enum pod_mark {
	POD_RUNS = 1 << 0,   /* has a control group */
	POD_BEFORE = 1 << 1, /* it may have run for long when it was found */
	POD_SENT = 1 << 2,
	POD_LISTED = 1 << 3,         /* in the list of groups that is being read */
	POD_DEVICES_LISTED = 1 << 4, /* in the list of devices */
	POD_FAILED = 1 << 5,
	POD_FINISHED = 1 << 6,
};

struct pod {
	struct pod *next; /* in its bucket */
	char uid[CGROUP_POD_UID_SIZE];
	char *namespace, *name; /* NULL: nobody told */
	char *path;             /* of its group; NULL: has none */
	uint32_t bits, run;
	uint32_t marks;        /* enum pod_mark */
	uint8_t known, listed; /* by source: who knows it; who has just listed it */
	uint32_t device_count;
	struct record_device *devices;
	uint64_t cpu_milli, memory_bytes;
	struct containers containers;
};

struct pods {
	struct pods_place place;
	struct teller teller;
	struct pod *buckets[BUCKETS];
	uint32_t count;
	uint64_t starts;
	struct log_repeat full_log;
};

struct pods *pods_new(const struct pods_place *place)
{
	struct pods *p = calloc(1, sizeof(*p));

	if (p) {
		p->place = *place;
		teller_init(&p->teller, MANAGER_K8S, place->ring);
	}
	return p;
}

static void free_pod(struct pod *o)
{
	free(o->namespace);
	free(o->name);
	free(o->path);
	free(o->devices);
	containers_done(&o->containers);
	free(o);
}

void pods_free(struct pods *p)
{
	for (uint32_t b = 0; p && b < BUCKETS; b++) {
		while (p->buckets[b]) {
			struct pod *next = p->buckets[b]->next;
			free_pod(p->buckets[b]);
			p->buckets[b] = next;
		}
	}
	free(p);
}

/* Nobody but the API server chooses UIDs: no need for a secret. FNV-1a. */
static struct pod **bucket_of(struct pods *p, const char *uid)
{
	uint32_t h = 2166136261u;

	for (; *uid; uid++)
		h = (h ^ (unsigned char)*uid) * 16777619u;
	return &p->buckets[(h ^ h >> 16) & (BUCKETS - 1)];
}

static struct pod *find_pod(struct pods *p, const char *uid)
{
	struct pod *o = *bucket_of(p, uid);

	while (o && strcmp(o->uid, uid) != 0)
		o = o->next;
	return o;
}

/* Finds or adds it. NULL: no room. */
static struct pod *take_pod(struct pods *p, const char *uid)
{
	struct pod *o = find_pod(p, uid);

	if (o)
		return o;
	if (p->count >= PODS_MAX) {
		if (log_repeat_due(&p->full_log, clock_boottime_ns()))
			log_warn("more than %u pods: pod %s is left out", PODS_MAX,
				 uid);
		return NULL;
	}
	o = calloc(1, sizeof(*o));
	if (!o)
		return NULL;
	(void)snprintf(o->uid, sizeof(o->uid), "%s", uid);
	struct pod **bucket = bucket_of(p, uid);
	o->next = *bucket;
	*bucket = o;
	p->count++;
	return o;
}

static void drop_if_unknown(struct pods *p, struct pod *o)
{
	struct pod **at = bucket_of(p, o->uid);

	if (o->known || o->marks & POD_RUNS)
		return;
	while (*at && *at != o)
		at = &(*at)->next;
	if (*at) {
		*at = o->next;
		p->count--;
	}
	free_pod(o);
}

/* The next of all pods after o, the first if o is NULL. May be called with one that is
 * about to be freed before that happens. */
static struct pod *next_pod(struct pods *p, const struct pod *o)
{
	uint32_t b = 0;

	if (o && o->next)
		return o->next;
	if (o)
		b = (uint32_t)(bucket_of(p, o->uid) - p->buckets) + 1;
	while (b < BUCKETS && !p->buckets[b])
		b++;
	return b < BUCKETS ? p->buckets[b] : NULL;
}

/* ---- records --------------------------------------------------------------------- */

static void fill_record(const struct pod *o, struct record *r)
{
	record_set(r, r->unit, sizeof(r->unit), o->uid);
	record_set(r, r->name, sizeof(r->name), o->name);
	record_set(r, r->account, sizeof(r->account), o->namespace);
	(void)record_add_cgroup(r, o->bits, o->path);
	r->flags |= RECORD_MILLICPUS;
	r->step = o->run;
	r->cpus = o->cpu_milli > UINT32_MAX ? UINT32_MAX : (uint32_t)o->cpu_milli;
	r->memory_bytes = o->memory_bytes;
	for (uint32_t i = 0; i < o->device_count; i++)
		(void)record_add_device(r, o->devices[i].uuid, o->devices[i].pci,
					o->devices[i].mig,
					o->devices[i].share_permille);
}

static void send_start(struct pods *p, struct pod *o)
{
	struct record r;

	teller_begin(&r, RECORD_STEP_START, MANAGER_K8S);
	fill_record(o, &r);
	if (!r.cgroup_count)
		return; /* too long a path: nothing can be measured */
	if (!o->run)
		o->run = teller_run(p->place.cgroupfd, &p->place.layout, &r);
	if (!o->run)
		return; /* gone by now */
	r.step = o->run;
	if (o->marks & POD_BEFORE)
		r.flags |= RECORD_RUNNING;
	if (teller_send(&p->teller, &r)) {
		o->marks |= POD_SENT;
		log_debug("pod %s (%s/%s): run %u", o->uid,
			  o->namespace ? o->namespace : "?", o->name ? o->name : "?",
			  o->run);
	} else {
		o->marks &= ~(uint32_t)POD_SENT;
		o->marks |= POD_BEFORE; /* ceemsd hears of it late */
	}
}

static void send_stop(struct pods *p, struct pod *o,
		      const struct record_counters *counters)
{
	struct record r;

	if (!o->run)
		return;
	teller_begin(&r, RECORD_STEP_STOP, MANAGER_K8S);
	fill_record(o, &r);
	r.flags |= RECORD_LAST;
	r.exit_status = o->marks & POD_FAILED ? TELLER_FAILED_STATUS : 0;
	if (counters)
		r.counters = *counters;
	(void)teller_send(&p->teller, &r);
}

/* ending: the pod's stop comes next. */
static void send_containers(struct pods *p, struct pod *o, bool ending)
{
	/* ceemsd knows a container by its pod */
	bool told = o->marks & POD_SENT;
	const struct containers_pod pod = {.uid = o->uid,
					   .path = told ? o->path : NULL,
					   .bits = o->bits,
					   .over = ending || !(o->marks & POD_RUNS)};

	containers_send(&o->containers, &p->teller, &pod);
}

/* ---- control groups -------------------------------------------------------------- */

/* Its name and requests stay, for a static pod may start again with its UID. */
static void end_run(struct pods *p, struct pod *o,
		    const struct record_counters *counters)
{
	send_containers(p, o, true);
	send_stop(p, o, counters);
	free(o->path);
	o->path = NULL;
	o->run = 0;
	free(o->devices);
	o->devices = NULL;
	o->device_count = 0;
	o->marks &=
		~(uint32_t)(POD_RUNS | POD_BEFORE | POD_SENT | POD_LISTED | POD_FAILED);
}

bool pods_has_group(struct pods *p, const char *uid, const char *path)
{
	const struct pod *o = find_pod(p, uid);
	struct record r;

	if (!o || !(o->marks & POD_RUNS) || strcmp(o->path, path) != 0)
		return false;
	record_init(&r, RECORD_STEP_START, MANAGER_K8S);
	(void)record_add_cgroup(&r, o->bits, path);
	return o->run && o->run == teller_run(p->place.cgroupfd, &p->place.layout, &r);
}

void pods_see_group(struct pods *p, const char *uid, const char *path, uint32_t bits,
		    bool before)
{
	struct pod *o = take_pod(p, uid);

	if (!o)
		return;
	if (o->marks & POD_RUNS && strcmp(o->path, path) != 0)
		end_run(p, o, NULL); /* its end was not heard of */
	if (!(o->marks & POD_RUNS)) {
		o->path = strdup(path);
		if (!o->path) {
			drop_if_unknown(p, o);
			return;
		}
		p->starts++;
		o->bits = bits;
		o->marks |= POD_RUNS | (before ? POD_BEFORE : 0u);
	}
	o->marks |= POD_LISTED;
	if (!(o->marks & POD_SENT))
		send_start(p, o);
}

void pods_end_group(struct pods *p, const char *uid, const char *path,
		    const struct record_counters *counters)
{
	struct pod *o = find_pod(p, uid);

	if (!o || !(o->marks & POD_RUNS) || strcmp(o->path, path) != 0)
		return;
	end_run(p, o, counters);
	drop_if_unknown(p, o);
}

void pods_begin_container(struct pods *p, const char *uid,
			  const struct container_run *run, const char *group)
{
	struct pod *o = find_pod(p, uid);

	if (!o)
		return;
	p->starts++;
	containers_begin(&o->containers, run, group);
	send_containers(p, o, false);
}

void pods_end_container(struct pods *p, const char *uid,
			const struct container_run *run)
{
	struct pod *o = find_pod(p, uid);

	if (!o)
		return;
	containers_end(&o->containers, run);
	send_containers(p, o, false);
}

void pods_list_groups_begin(struct pods *p)
{
	for (struct pod *o = next_pod(p, NULL); o; o = next_pod(p, o))
		o->marks &= ~(uint32_t)POD_LISTED;
}

void pods_list_groups_end(struct pods *p)
{
	struct pod *next;

	for (struct pod *o = next_pod(p, NULL); o; o = next) {
		next = next_pod(p, o);
		if ((o->marks & (POD_RUNS | POD_LISTED)) != POD_RUNS)
			continue;
		end_run(p, o, NULL);
		drop_if_unknown(p, o);
	}
}

/* ---- names and requests ---------------------------------------------------------- */

/* True: it is another. */
static bool take_text(char **to, const char *text)
{
	if (!*text || (*to && strcmp(*to, text) == 0))
		return false;
	char *copy = strdup(text);
	if (!copy)
		return false;
	free(*to);
	*to = copy;
	return true;
}

static bool take_number(uint64_t *to, uint64_t value)
{
	bool changed = *to != value;

	*to = value;
	return changed;
}

void pods_see_info(struct pods *p, unsigned source, const struct pod_info *info)
{
	struct pod *o = info->uid[0] ? take_pod(p, info->uid) : NULL;
	uint32_t marks =
		(info->failed ? POD_FAILED : 0u) | (info->finished ? POD_FINISHED : 0u);

	if (!o)
		return;
	o->known |= (uint8_t)(1u << source);
	o->listed |= (uint8_t)(1u << source);
	bool changed = take_text(&o->namespace, info->namespace);
	changed |= take_text(&o->name, info->name);
	changed |= take_number(&o->cpu_milli, info->cpu_milli);
	changed |= take_number(&o->memory_bytes, info->memory_bytes);
	o->marks = (o->marks & ~(uint32_t)(POD_FAILED | POD_FINISHED)) | marks;
	if (changed && o->marks & POD_RUNS)
		send_start(p, o);
	containers_name(&o->containers, info);
	send_containers(p, o, false);
}

void pods_see_names(struct pods *p, unsigned source, const struct pod_info *info)
{
	struct pod *o = info->uid[0] ? take_pod(p, info->uid) : NULL;
	uint8_t own = (uint8_t)(1u << source);

	if (!o)
		return;
	bool only = !(o->known & ~own);
	o->known |= own;
	o->listed |= own;
	if (!only)
		return;
	bool changed = take_text(&o->namespace, info->namespace);
	changed |= take_text(&o->name, info->name);
	if (changed && o->marks & POD_RUNS)
		send_start(p, o);
	containers_name(&o->containers, info);
	send_containers(p, o, false);
}

static void drop_source(struct pods *p, unsigned source, struct pod *o)
{
	o->known &= (uint8_t) ~(1u << source);
	drop_if_unknown(p, o);
}

void pods_drop_info(struct pods *p, unsigned source, const char *uid)
{
	struct pod *o = find_pod(p, uid);

	if (o)
		drop_source(p, source, o);
}

void pods_list_infos_begin(struct pods *p, unsigned source)
{
	for (struct pod *o = next_pod(p, NULL); o; o = next_pod(p, o))
		o->listed &= (uint8_t) ~(1u << source);
}

void pods_list_infos_end(struct pods *p, unsigned source)
{
	struct pod *next;

	for (struct pod *o = next_pod(p, NULL); o; o = next) {
		next = next_pod(p, o);
		if (o->known >> source & 1 && !(o->listed >> source & 1))
			drop_source(p, source, o);
	}
}

/* ---- devices --------------------------------------------------------------------- */

/* The only running pod of this name, NULL: none, or two. */
static struct pod *find_live(struct pods *p, const char *namespace, const char *name)
{
	struct pod *found = NULL;

	for (struct pod *o = next_pod(p, NULL); o; o = next_pod(p, o)) {
		if ((o->marks & (POD_RUNS | POD_FINISHED)) != POD_RUNS || !o->name ||
		    !o->namespace || strcmp(o->name, name) != 0 ||
		    strcmp(o->namespace, namespace) != 0)
			continue;
		if (found)
			return NULL;
		found = o;
	}
	return found;
}

static void set_devices(struct pods *p, struct pod *o,
			const struct record_device *devices, uint32_t count)
{
	size_t bytes = count * sizeof(*devices);

	if (count == o->device_count &&
	    (!bytes || memcmp(devices, o->devices, bytes) == 0))
		return;
	struct record_device *copy = bytes ? malloc(bytes) : NULL;
	if (bytes && !copy)
		return;
	if (bytes)
		memcpy(copy, devices, bytes);
	free(o->devices);
	o->devices = copy;
	o->device_count = count;
	send_start(p, o);
}

void pods_list_devices_begin(struct pods *p)
{
	for (struct pod *o = next_pod(p, NULL); o; o = next_pod(p, o))
		o->marks &= ~(uint32_t)POD_DEVICES_LISTED;
}

void pods_see_devices(struct pods *p, const char *namespace, const char *name,
		      const struct record_device *devices, uint32_t count)
{
	struct pod *o = count ? find_live(p, namespace, name) : NULL;

	if (!o)
		return;
	o->marks |= POD_DEVICES_LISTED;
	set_devices(p, o, devices, count);
}

void pods_list_devices_end(struct pods *p)
{
	for (struct pod *o = next_pod(p, NULL); o; o = next_pod(p, o)) {
		if ((o->marks & (POD_RUNS | POD_DEVICES_LISTED)) == POD_RUNS)
			set_devices(p, o, NULL, 0);
	}
}

/* ---- all of them ----------------------------------------------------------------- */

void pods_refresh(struct pods *p)
{
	bool again = teller_ring_is_new(&p->teller);

	for (struct pod *o = next_pod(p, NULL); o; o = next_pod(p, o)) {
		if (again) {
			o->marks = (o->marks | POD_BEFORE) & ~(uint32_t)POD_SENT;
			containers_again(&o->containers);
		}
		if (o->marks & POD_RUNS && !(o->marks & POD_SENT))
			send_start(p, o);
		send_containers(p, o, false);
	}
	teller_hello(&p->teller);
}

void pods_stats(const struct pods *p, struct pods_stats *ret)
{
	*ret = (struct pods_stats){.known = p->count,
				   .sent = p->teller.sent,
				   .refused = p->teller.refused};
	for (uint32_t b = 0; b < BUCKETS; b++) {
		for (const struct pod *o = p->buckets[b]; o; o = o->next) {
			bool runs = o->marks & POD_RUNS;
			ret->running += runs;
			ret->unsent += runs && !(o->marks & POD_SENT);
			ret->unnamed += runs && !o->name;
		}
	}
}

uint64_t pods_starts(const struct pods *p)
{
	return p->starts;
}
