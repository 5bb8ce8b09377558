/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Joins control groups with names of statuses, and tells of the result. */
#include "contrib/k8s/containers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/clock.h"

struct kept_container {
	struct container_run run;
	char *group; /* of one that runs; NULL: not known */
	bool told;   /* of its start */
};

void containers_done(struct containers *c)
{
	for (uint32_t i = 0; i < c->count; i++)
		free(c->kept[i].group);
	free(c->named);
	free(c->kept);
	*c = (struct containers){.named = NULL};
}

void containers_name(struct containers *c, const struct pod_info *info)
{
	size_t bytes = info->container_count * sizeof(*c->named);
	struct pod_container *copy = NULL;

	if (!bytes)
		return; /* a status that is not written yet: names stay */
	if (bytes == c->named_count * sizeof(*c->named) &&
	    memcmp(c->named, info->containers, bytes) == 0)
		return;
	copy = malloc(bytes);
	if (!copy)
		return;
	memcpy(copy, info->containers, bytes);
	free(c->named);
	c->named = copy;
	c->named_count = info->container_count;
}

static void remove_kept(struct containers *c, uint32_t i)
{
	free(c->kept[i].group);
	c->count--;
	memmove(&c->kept[i], &c->kept[i + 1], (c->count - i) * sizeof(c->kept[i]));
}

/* The first that has ended leaves: it has waited longest for its name. */
static void bound_ended(struct containers *c)
{
	uint32_t first = 0, ended = 0;

	for (uint32_t i = c->count; i; i--) {
		if (!c->kept[i - 1].run.ended_ns)
			continue;
		first = i - 1;
		ended++;
	}
	if (ended >= CONTAINERS_MAX)
		remove_kept(c, first);
}

/* NULL: no memory. */
static struct kept_container *keep_container(struct containers *c,
					     const struct container_run *run)
{
	for (uint32_t i = 0; i < c->count; i++) {
		if (c->kept[i].run.run == run->run &&
		    strcmp(c->kept[i].run.id, run->id) == 0) {
			c->kept[i].run = *run;
			return &c->kept[i];
		}
	}
	bound_ended(c);
	struct kept_container *more = realloc(c->kept, (c->count + 1) * sizeof(*more));
	if (!more)
		return NULL;
	c->kept = more;
	c->kept[c->count] = (struct kept_container){.run = *run};
	return &c->kept[c->count++];
}

void containers_begin(struct containers *c, const struct container_run *run,
		      const char *group)
{
	struct kept_container *k = keep_container(c, run);

	if (k && !k->group)
		k->group = strdup(group); /* without memory its start is not told */
}

void containers_end(struct containers *c, const struct container_run *run)
{
	(void)keep_container(c, run);
}

void containers_again(struct containers *c)
{
	for (uint32_t i = 0; i < c->count; i++)
		c->kept[i].told = false;
}

static const struct pod_container *find_status(const struct containers *c,
					       const char *id)
{
	for (uint32_t i = 0; i < c->named_count; i++) {
		if (strcmp(c->named[i].id, id) == 0)
			return &c->named[i];
	}
	return NULL;
}

static bool send_part(struct teller *t, enum record_type type,
		      const struct containers_pod *pod, const struct kept_container *k,
		      const char *name, uint32_t exit_status)
{
	const struct container_run *run = &k->run;
	char path[RECORD_CGROUP_MAX];
	struct record r;

	teller_begin(&r, type, t->manager);
	record_set(&r, r.unit, sizeof(r.unit), pod->uid);
	record_set(&r, r.command, sizeof(r.command), name);
	r.flags |= RECORD_PART;
	r.step = run->run;
	r.began_ns = run->began_ns;
	if (type == RECORD_PART_START) {
		int n = snprintf(path, sizeof(path), "%s/%s", pod->path, k->group);
		return n < 0 || (size_t)n >= sizeof(path) ||
		       !record_add_cgroup(&r, pod->bits, path) || teller_send(t, &r);
	}
	r.flags |= RECORD_LAST;
	r.boottime_ns = run->ended_ns;
	r.realtime_ns = run->ended_realtime_ns;
	r.exit_status = exit_status;
	r.counters = run->counters;
	return teller_send(t, &r);
}

static void send_begin(struct teller *t, const struct containers_pod *pod,
		       struct kept_container *k, const struct pod_container *named)
{
	if (!k->told && k->group && pod->path && named && !named->ended)
		k->told = send_part(t, RECORD_PART_START, pod, k, named->name, 0);
}

/* True: it has been told, and is of no interest any more. */
static bool send_end(struct teller *t, const struct containers_pod *pod,
		     const struct kept_container *k, const struct pod_container *named,
		     uint64_t now_ns)
{
	uint64_t patience_ns = CONTAINER_STATUS_MS * NSEC_PER_MSEC;

	if (!named ||
	    (!named->ended && !pod->over && now_ns < k->run.ended_ns + patience_ns))
		return false;
	return send_part(t, RECORD_STEP_STOP, pod, k, named->name,
			 named->ended ? named->exit_code << 8 : 0);
}

void containers_send(struct containers *c, struct teller *t,
		     const struct containers_pod *pod)
{
	uint64_t now_ns = c->count ? clock_boottime_ns() : 0;

	for (uint32_t i = 0; i < c->count;) {
		struct kept_container *k = &c->kept[i];
		const struct pod_container *named = find_status(c, k->run.id);
		if (!k->run.ended_ns)
			send_begin(t, pod, k, named);
		if (k->run.ended_ns && send_end(t, pod, k, named, now_ns))
			remove_kept(c, i);
		else
			i++;
	}
}
