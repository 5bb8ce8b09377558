/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Joins the ends of control groups with names of statuses, and tells of the result. */
#include "contrib/k8s/containers.h"

#include <stdlib.h>
#include <string.h>

#include "lib/clock.h"

void containers_done(struct containers *c)
{
	free(c->named);
	free(c->ends);
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

static void remove_end(struct containers *c, uint32_t i)
{
	c->end_count--;
	memmove(&c->ends[i], &c->ends[i + 1], (c->end_count - i) * sizeof(c->ends[i]));
}

void containers_end(struct containers *c, const struct container_end *end)
{
	if (c->end_count == CONTAINER_ENDS_MAX)
		remove_end(c, 0);
	struct container_end *more =
		realloc(c->ends, (c->end_count + 1) * sizeof(*more));
	if (!more)
		return;
	c->ends = more;
	c->ends[c->end_count++] = *end;
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

static bool send_part(struct teller *t, const char *uid, const struct container_end *e,
		      const struct pod_container *named)
{
	struct record r;

	teller_begin(&r, RECORD_STEP_STOP, t->manager);
	record_set(&r, r.unit, sizeof(r.unit), uid);
	record_set(&r, r.command, sizeof(r.command), named->name);
	r.flags |= RECORD_PART | RECORD_LAST;
	r.step = e->run;
	r.began_ns = e->began_ns;
	r.boottime_ns = e->ended_ns;
	r.realtime_ns = e->ended_realtime_ns;
	r.exit_status = named->ended ? named->exit_code << 8 : 0;
	r.counters = e->counters;
	return teller_send(t, &r);
}

void containers_send(struct containers *c, struct teller *t, const char *uid, bool over)
{
	uint64_t now_ns = c->end_count ? clock_boottime_ns() : 0;

	for (uint32_t i = 0; i < c->end_count;) {
		const struct container_end *e = &c->ends[i];
		const struct pod_container *named = find_status(c, e->id);
		bool ready = named && (named->ended || over ||
				       now_ns >= e->ended_ns + CONTAINER_STATUS_MS *
								       NSEC_PER_MSEC);
		if (ready && send_part(t, uid, e, named))
			remove_end(c, i);
		else
			i++;
	}
}
