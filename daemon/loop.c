/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The main loop: the ring every --ring.poll, everything else at longer intervals. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "daemon/daemon.h"
#include "daemon/discover.h"
#include "daemon/found.h"
#include "daemon/gpus/gpu_pause.h"
#include "daemon/groups/step_ends.h"
#include "daemon/profiles/profile_steps.h"
#include "daemon/sources/child_link.h"
#include "daemon/sources/gpu_child.h"
#include "lib/clock.h"
#include "lib/log.h"
#include "lib/service.h"

#define SAMPLE_MS 5000u /* limit of what a lost stop record can cost */
#define EXPIRE_MS 1000u
#define FILES_MS 50u /* the longest time without a ring */
#define TRIM_MS 10000u
#define ABANDONED_MS 10000u
#define PROFILE_LOOK_MS 2u
#define PROFILE_LOOKS_MAX 50u /* a step waits for no longer */
#define POLL_SLOWEST 4u       /* multiples of --ring.poll, while no records come */
#define TRAFFIC_MS 5000u      /* silence after a start before it is logged */

struct timers {
	uint64_t files_ns, sample_ns, expire_ns, abandoned_ns, walk_ns, trim_ns,
		traffic_ns;
	unsigned profile_looks; /* while a step waits to be sampled */
};

struct daemon_loop {
	struct daemon *daemon;
	struct step_ends *ends; /* NULL: the kernel programs tell */
	struct timers timers;
	uint64_t poll_ms;
};

static bool is_timer_due(uint64_t *when, uint64_t now, uint64_t period_ms)
{
	if (now < *when)
		return false;
	*when = now + period_ms * NSEC_PER_MSEC;
	return true;
}

/* Ended units must stay until every scraper has seen them, however rarely it
 * scrapes. */
static void set_policy(struct daemon *d)
{
	d->policy.linger_ms = scrape_linger_ms(d->scrape, d->options.unit_linger_ms);
	d->policy.min_export_ms = d->options.unit_min_export_ms;
	d->policy.max_exported = (uint32_t)d->options.unit_max_exported;
}

static void walk_cgroups(struct daemon *d, uint64_t now)
{
	struct err err;
	bool lossy = d->ingest.want_walk;

	d->ingest.want_walk = false;
	int n = discover_walk(&d->env, &err);
	if (n < 0 && log_repeat_due(&d->walk_log, now))
		log_warn("discover: %s", err.text);
	if (lossy)
		units_drop_anchors(d->units, now, d->env.realtime_ns());
}

static void say_traffic(struct daemon *d)
{
	if (d->said_no_traffic)
		return;
	d->said_no_traffic = true;
	pthread_mutex_lock(&d->lock);
	bool any = !d->has_ring || d->ingest.records || units_used(d->units);
	pthread_mutex_unlock(&d->lock);
	if (any)
		return;
	log_info("no ring traffic so far: no job has run here under a Slurm with "
		 "spank_ceems.so and ring=%s/ring; the node's own metrics are served",
		 d->options.path_rundir);
}

/* Unmaps pages of the ring that have been read; the file keeps their contents. */
static void trim_ring_pages(struct daemon *d)
{
	(void)madvise(d->ring.header, d->ring.bytes, MADV_DONTNEED);
}

static void look_for_damage(struct daemon *d, uint64_t now)
{
	uint64_t mended = units_mended(d->units);

	if (mended != d->mended && log_repeat_due(&d->mended_log, now))
		log_error("%s/%s: something else has written to it: %llu impossible "
			  "values were corrected, counters in it may be wrong; "
			  "stop ceemsd, remove the file and start it to count anew",
			  d->options.path_rundir, UNITS_PATH_NAME,
			  (unsigned long long)(mended - d->mended));
	d->mended = mended;
}

static uint32_t armed_kinds(const struct daemon *d)
{
	return d->unit_hardware ? unit_hardware_ready(d->unit_hardware)
				: RING_ARMED_ALL;
}

/* Steps that asked begin when they are sampled. */
static void look_at_profiles(struct daemon *d, struct timers *t)
{
	if (!profile_steps_tick(d->profile_steps)) {
		t->profile_looks++;
		return;
	}
	t->profile_looks = 0;
	if (d->has_ring)
		ring_set_profiled(&d->ring);
}

/* Lock held */
static void look_at_ring(struct daemon *d, struct timers *t, uint64_t now)
{
	if (d->has_ring)
		ingest_tick(&d->ingest, 0);
	if (d->has_ring && is_timer_due(&t->trim_ns, now, TRIM_MS))
		trim_ring_pages(d);
	if (!d->units)
		return;
	bool unknown = d->step_groups &&
		       step_groups_tick(d->step_groups,
					d->has_ring ? d->ingest.drained_ns : now);
	if (d->unit_hardware)
		unit_hardware_tick(d->unit_hardware, now);
	if (d->has_ring)
		ring_set_armed(&d->ring,
			       armed_kinds(d) |
				       (d->profile_steps ? RING_ARMED_PROFILES : 0));
	if (d->profile_steps)
		look_at_profiles(d, t);
	if (d->gpu_pause)
		gpu_pause_look(d->gpu_pause, d->units);
	if (d->counts_page)
		counts_page_fill_tick(d->counts_page);
	if (is_timer_due(&t->walk_ns, now, DISCOVER_PERIOD_MS) || unknown ||
	    d->ingest.want_walk) {
		walk_cgroups(d, now);
		t->walk_ns = now + DISCOVER_PERIOD_MS * NSEC_PER_MSEC;
	}
	found_read_units(&d->env, d->sample, d->has_ring ? &d->ingest : NULL, false);
	if (is_timer_due(&t->sample_ns, now, SAMPLE_MS))
		sample_steps(d->sample);
	if (is_timer_due(&t->abandoned_ns, now, ABANDONED_MS))
		sample_end_abandoned(d->sample);
	if (is_timer_due(&t->expire_ns, now, EXPIRE_MS)) {
		sample_end_lost(d->sample, d->has_ring ? d->ingest.drained_ns : now);
		units_expire(d->units, now, &d->policy);
		look_for_damage(d, now);
	}
}

static bool reload_web(struct daemon *d)
{
	struct err err;
	if (web_reload(endpoints_web(d->endpoints), &err) == 0)
		return true;
	log_error("reload: %s: the old web configuration stays in force", err.text);
	return false;
}

static void take_options(struct daemon *d, struct options *fresh)
{
	auto_buf struct buf applied = BUF_INIT, restart = BUF_INIT;

	pthread_mutex_lock(&d->lock);
	options_reload(&d->options, fresh, &applied, &restart);
	d->env.reloads++;
	pthread_mutex_unlock(&d->lock);
	program_log("ceemsd", d->options.log_format, d->options.log_level, NULL);
	log_info("reload: %s%s", applied.len ? "changed: " : "nothing changed",
		 applied.len ? applied.data : "");
	if (restart.len)
		log_warn("reload: need a restart: %s", restart.data);
}

static bool reload_daemon(void *arg)
{
	struct daemon *d = ((struct daemon_loop *)arg)->daemon;
	auto_buf struct buf out = BUF_INIT, warnings = BUF_INIT;
	struct options fresh;
	struct err err;
	bool good = true;

	if (options_load(d->argc, d->argv, &fresh, &out, &warnings, &err) < 0) {
		log_error("reload: %s: the old configuration stays in force", err.text);
		good = false;
	} else {
		take_options(d, &fresh);
		options_release(&fresh);
	}
	good = reload_web(d) && good;
	child_link_restart(d->courier);
	child_link_restart(d->gpu);
	child_link_restart(d->profiler);
	return good;
}

/* Waking up is most of an idle daemon's cost, and nothing depends on it: a scrape
 * drains the ring itself, and the ring holds far more than arrives meanwhile. */
static uint64_t next_poll(const struct daemon *d, uint64_t records_before,
			  uint64_t poll_ms)
{
	uint64_t slowest = POLL_SLOWEST * d->options.ring_poll_ms;

	if (d->ingest.records != records_before)
		return d->options.ring_poll_ms;
	/* a step that asks for events or a profile waits for them */
	if (d->profile_steps || (armed_kinds(d) | RING_ARMED_SAID) != RING_ARMED_ALL)
		return d->options.ring_poll_ms;
	return 2 * poll_ms < slowest ? 2 * poll_ms : slowest;
}

static unsigned tick_daemon(void *arg)
{
	struct daemon_loop *l = arg;
	struct daemon *d = l->daemon;
	uint64_t now = clock_boottime_ns();

	if (is_timer_due(&l->timers.files_ns, now, FILES_MS) && !daemon_keep_files(d))
		return SERVICE_END;
	if (now >= l->timers.expire_ns)
		set_policy(d); /* takes scrape's lock, so not under ours */
	pthread_mutex_lock(&d->lock);
	uint64_t records = d->ingest.records;
	if (l->ends)
		step_ends_tick(l->ends);
	look_at_ring(d, &l->timers, now);
	l->poll_ms = next_poll(d, records, l->poll_ms);
	if (l->timers.profile_looks && l->timers.profile_looks < PROFILE_LOOKS_MAX)
		l->poll_ms = PROFILE_LOOK_MS;
	pthread_mutex_unlock(&d->lock);
	gpu_child_look(d->gpu, d->rundirfd);
	if (now >= l->timers.traffic_ns)
		say_traffic(d);
	return (unsigned)l->poll_ms;
}

/* Where no kernel program sees groups end */
static struct step_ends *watch_ends(const struct daemon *d)
{
	struct step_ends *ends = NULL;
	struct err err;

	if (d->units && d->sample && !d->step_groups &&
	    *cgroup_dir(&d->env.cgroups, CGROUP_UNIFIED) &&
	    step_ends_new(&d->env, d->sample, &ends, &err) < 0)
		log_warn("%s: the ends of control groups are not watched: a step "
			 "without a stop record ends with the counters that were read "
			 "last",
			 err.text);
	return ends;
}

void daemon_run(struct daemon *d)
{
	uint64_t start = clock_boottime_ns();
	/* daemon_open() has already looked at the machine */
	struct daemon_loop l = {
		.daemon = d,
		.ends = watch_ends(d),
		.timers = {.walk_ns = start + DISCOVER_PERIOD_MS * NSEC_PER_MSEC,
			   .traffic_ns = start + TRAFFIC_MS * NSEC_PER_MSEC},
		.poll_ms = d->options.ring_poll_ms,
	};

	set_policy(d);
	service_run(&(struct service){
		.signalfd = d->signalfd,
		.wakefd = l.ends ? step_ends_fd(l.ends) : 0,
		.wait_ms = (unsigned)l.poll_ms,
		.tick = tick_daemon,
		.reload = reload_daemon,
		.arg = &l,
	});
	step_ends_free(l.ends);
	/* nobody arms them now */
	if (d->has_ring && (d->unit_hardware || d->profile_steps))
		ring_set_armed(&d->ring, 0);
}
