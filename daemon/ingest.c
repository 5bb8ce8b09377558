/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The ring's consumer. Losses (a full ring, a torn slot) are detected here and repaired
 * by walking the cgroup tree: a lost start is found there, a lost stop shows as a step
 * whose cgroup is gone. */
#include "daemon/ingest.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "daemon/guests/guest_figures.h"
#include "daemon/options.h"
#include "daemon/units_found.h"
#include "lib/drm/pci_gpus.h"

void ingest_init(struct ingest *in, const struct env *env, struct ring *ring,
		 struct units *units, struct sample *sample)
{
	const struct ring_header *h = ring->header;
	*in = (struct ingest){.env = env,
			      .ring = ring,
			      .units = units,
			      .sample = sample,
			      .dropped = __atomic_load_n(&h->dropped, __ATOMIC_RELAXED),
			      .torn = __atomic_load_n(&h->torn, __ATOMIC_RELAXED)};
	/* some file systems reuse inode numbers, creation times are unique */
	units_set_ring(units, h->inode * 0x9e3779b97f4a7c15ull ^ h->created_ns);
}

void ingest_done(struct ingest *in)
{
	pod_gpus_done(&in->pod_gpus);
}

/* If a stop has no counters its cgroup may still exist for a moment: read it. */
static void read_before_stop(struct ingest *in, const struct record *r)
{
	if (r->type != RECORD_STEP_STOP || r->counters.source != COUNTERS_NONE ||
	    !in->sample)
		return;
	uint32_t unit =
		units_find(in->units, r->manager, r->node, r->unit, r->restarts);
	if (unit == UNITS_NONE)
		return;
	uint32_t step = steps_find(in->units, unit, r->step);
	if (step != UNITS_NONE)
		sample_step(in->sample, step);
}

/* By the presence of a variable, as with CEEMS. */
static bool has_variable_of(const struct record *r, const struct conf_list *names)
{
	for (size_t n = 0; n < names->count; n++) {
		for (uint32_t i = 0; i < r->env_count; i++) {
			if (strcmp(r->env[i].name, names->items[n]) == 0)
				return true;
		}
	}
	return false;
}

static void take_env_requests(const struct ingest *in, struct record *r)
{
	const struct options *o = in->env->options;

	if (o && has_variable_of(r, &o->perf_env_vars))
		r->flags |= RECORD_PERF_HW | RECORD_PERF_SW | RECORD_PERF_CACHE;
	if (o && !r->profile_hz && has_variable_of(r, &o->profiling_env_vars))
		r->profile_hz = (uint32_t)o->profiling_hz;
}

/* GPUs that a virtual machine has are counted from 0, as it sees them: what they are on
 * the host is not known, or not one number. The host, not the guest, says so. */
static void take_machine_gpus(const struct ingest *in, struct record *r)
{
	uint32_t n;

	if (r->manager != MANAGER_LIBVIRT ||
	    (n = pci_gpus_count(in->env->sysfd, r)) == 0)
		return;
	(void)snprintf(r->gpus, sizeof(r->gpus), n > 1 ? "0-%u" : "%u", n - 1);
	r->flags |= RECORD_GPUS_TRUSTED;
}

static void apply_record(struct ingest *in, const unsigned char *data, size_t len,
			 uint64_t pos)
{
	uint64_t now = in->env->boottime_ns();
	struct record r;
	struct err err = {{0}};

	/* Applied, but not released in the ring: the last daemon died in between. The
	 * position is checked first, since a bad record would otherwise be counted
	 * again. */
	uint64_t last = units_ring_pos(in->units);
	if (last != UINT64_MAX && pos <= last)
		return;
	in->records++;
	int rc = record_decode(data, len, &r, &err);
	if (rc == 0) {
		read_before_stop(in, &r);
		take_env_requests(in, &r);
		take_machine_gpus(in, &r);
		pod_gpus_take(&in->pod_gpus, in->env, &r);
		rc = units_apply(in->units, &r, pos, now, in->env->realtime_ns(), &err);
	} else {
		in->bad++;
	}
	if (rc == 0 && r.figures_count && in->env->guests)
		guest_figures_take(in->env->guests, &r);
	if (rc == -ENOSPC) {
		if (log_repeat_due(&in->full_log, now))
			log_warn("%s: a step is not seen while it runs; what it used "
				 "is counted at its end, with its unit, or with the "
				 "node alone where there is no room for that",
				 err_text(&err));
	} else if (rc < 0 && rc != -EEXIST) {
		if (log_repeat_due(&in->bad_log, now))
			log_warn("ring: record %" PRIu64 ": %s: skipped", pos,
				 err_text(&err));
	}
}

static void look_for_losses(struct ingest *in)
{
	const struct ring_header *h = in->ring->header;
	uint64_t dropped = __atomic_load_n(&h->dropped, __ATOMIC_RELAXED);
	uint64_t torn = __atomic_load_n(&h->torn, __ATOMIC_RELAXED);
	if (dropped == in->dropped && torn == in->torn)
		return;
	uint64_t now = in->env->boottime_ns();
	if (log_repeat_due(&in->drop_log, now))
		log_warn("ring: %" PRIu64 " records dropped and %" PRIu64 " torn since "
			 "the last look (%" PRIu64 " and %" PRIu64 " in all): looking "
			 "for their steps among the cgroups",
			 dropped - in->dropped, torn - in->torn, dropped, torn);
	in->dropped = dropped;
	in->torn = torn;
	in->want_walk = true;
}

unsigned ingest_tick(struct ingest *in, unsigned most)
{
	unsigned char data[RING_RECORD_MAX];
	unsigned n = 0;

	for (; n < (most ? most : INGEST_MOST); n++) {
		size_t len = 0;
		uint64_t pos = 0;
		int rc = ring_peek(in->ring, data, &len, &pos);
		if (rc <= 0) {
			in->drained_ns = in->env->boottime_ns();
			break;
		}
		if (rc == 2)
			continue; /* counted in torn, seen below */
		apply_record(in, data, len, pos);
		ring_release(in->ring, pos);
	}
	pod_gpus_again(&in->pod_gpus, in->env, in->units);
	look_for_losses(in);
	return n;
}

unsigned ingest_recall(struct ingest *in)
{
	unsigned char data[RING_RECORD_MAX];
	uint64_t tail = __atomic_load_n(&in->ring->header->tail, __ATOMIC_ACQUIRE);
	uint64_t pos = tail > in->ring->count ? tail - in->ring->count : 0;
	unsigned n = 0;

	units_set_recalling(in->units, true);
	/* at most as many as the ring has slots, whatever the header says */
	for (uint32_t i = 0; i < in->ring->count && pos < tail; i++, pos++) {
		size_t len = 0;
		if (!ring_recall(in->ring, pos, data, &len))
			continue;
		apply_record(in, data, len, pos);
		n++;
	}
	units_set_recalling(in->units, false);
	return n;
}
