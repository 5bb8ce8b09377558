/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Start and end of ceemsd. A machine without Slurm, a ring directory or control groups
 * still exports what it has. */
#include "daemon/daemon.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/courier_args.h"
#include "daemon/daemon_energy.h"
#include "daemon/discover.h"
#include "daemon/emissions.h"
#include "daemon/found.h"
#include "daemon/gpus/driver_gpus.h"
#include "daemon/gpus/gpu_maps.h"
#include "daemon/gpus/gpu_pause.h"
#include "daemon/groups/take_opened.h"
#include "daemon/guests/guest_figures.h"
#include "daemon/inhabited.h"
#include "daemon/profiles/profile_steps.h"
#include "daemon/profiles/targets.h"
#include "daemon/rdma/rdma_link.h"
#include "daemon/reports/cluster_name.h"
#include "daemon/sources/child_link.h"
#include "daemon/sources/gpu_child.h"
#include "daemon/sources/ipmi_lan.h"
#include "daemon/sources/msr.h"
#include "daemon/sources/perf_cpu.h"
#include "daemon/units_found.h"
#include "daemon/web/units_json.h"
#include "lib/cleanup.h"
#include "lib/clock.h"
#include "lib/drm/drm_gpus.h"
#include "lib/fs.h"
#include "lib/log.h"
#include "lib/records/spool.h"
#include "lib/service.h"
#include "lib/signals.h"

static uint64_t realtime_ns(void)
{
	return clock_realtime_ns();
}

static uint64_t boottime_ns(void)
{
	return clock_boottime_ns();
}

static void raise_file_limit(void)
{
	struct rlimit l;
	/* for cgroup files that stay open: a busy node has thousands */
	if (getrlimit(RLIMIT_NOFILE, &l) == 0 && l.rlim_cur < l.rlim_max) {
		l.rlim_cur = l.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &l);
	}
}

static int open_root(const char *option, const char *path)
{
	struct err err;
	int fd = fs_opendir_at(AT_FDCWD, path, &err);
	if (fd < 0)
		log_warn("%s: %s: collectors that read it are off", option, err.text);
	return fd;
}

static void open_env(struct daemon *d)
{
	const struct options *o = &d->options;
	const char *name = getenv("NODE_NAME");

	if (o->empty_hostname_label)
		d->hostname[0] = '\0';
	else if (name && *name)
		snprintf(d->hostname, sizeof(d->hostname), "%s", name);
	else if (gethostname(d->hostname, sizeof(d->hostname) - 1) < 0)
		snprintf(d->hostname, sizeof(d->hostname), "localhost");
	d->env.hostname = d->hostname;
	d->env.options = o;
	d->env.realtime_ns = realtime_ns;
	d->env.boottime_ns = boottime_ns;
	d->env.read_msr = msr_read;
	d->env.perf_open = perf_open_cpu;
	d->env.perf_open_raw = perf_open_raw;
	d->env.perf_figures = &d->perf_figures;
	d->env.rdma_open = rdma_link_open;
	d->env.procfd = open_root("--path.procfs", o->path_procfs);
	d->env.sysfd = open_root("--path.sysfs", o->path_sysfs);
	d->env.cgroupfd = open_root("--path.cgroupfs", o->path_cgroupfs);
	d->env.devfd = open_root("--path.devfs", o->path_devfs);

	struct err err;
	if (d->env.cgroupfd >= 0 &&
	    cgroup_probe(d->env.cgroupfd, &d->env.cgroups, &err) < 0)
		log_warn("%s: %s: jobs have the counters of their stop records only",
			 o->path_cgroupfs, err.text);
	if (o->cgroup_version == CGROUP_VERSION_1) {
		d->env.cgroups.unified_only = false;
		d->env.cgroups.unified[0] = '\0';
	} else if (o->cgroup_version == CGROUP_VERSION_2) {
		memset(&d->env.cgroups, 0, sizeof(d->env.cgroups));
		d->env.cgroups.unified_only = true;
		snprintf(d->env.cgroups.unified, sizeof(d->env.cgroups.unified), ".");
	}
}

/* Others may truncate a file at any moment. */
static void guard_mapping(const char *path, const void *map, size_t bytes)
{
	if (signals_guard(map, bytes, path) < 0)
		log_warn("%s: not watched for being truncated", path);
}

static void open_rundir(struct daemon *d)
{
	const char *path = d->options.path_rundir;
	struct err err;

	/* Only the last component, and closed to others: packages create it with
	 * tmpfiles.d, root:ceems 0750. */
	bool made = mkdir(path, 0750) == 0;
	if (made && d->privileges.drop && chown(path, 0, d->privileges.gid) < 0)
		log_warn("%s: change group: %s", path, strerror(errno));
	d->rundirfd = fs_opendir_at(AT_FDCWD, path, &err);
	if (d->rundirfd < 0)
		log_warn("--path.rundir: %s: no ring and no unit table, jobs are not "
			 "recorded",
			 err.text);
}

static void open_units(struct daemon *d)
{
	char path[4096];
	struct err err;
	bool made_new = false;
	uint32_t capacity = (uint32_t)d->options.unit_capacity;

	if (d->rundirfd < 0)
		return;
	int rc = units_open(d->rundirfd, capacity, &d->units, &made_new, &err);
	if (rc < 0) {
		log_warn("%s/%s: %s: jobs are not recorded", d->options.path_rundir,
			 UNITS_PATH_NAME, err.text);
		return;
	}
	if (made_new && err.text[0])
		log_warn("%s/%s: %s: starting a new table, units that ended before are "
			 "not counted",
			 d->options.path_rundir, UNITS_PATH_NAME, err.text);
	d->made_units = made_new;
	/* until first_look() has found that nothing is running */
	if (made_new)
		units_set_anew(d->units, clock_boottime_ns());
	if (made_new)
		log_info("%s/%s: new, with room for %u units", d->options.path_rundir,
			 UNITS_PATH_NAME, units_capacity(d->units));
	else
		log_info("%s/%s: resuming with %u units", d->options.path_rundir,
			 UNITS_PATH_NAME, units_used(d->units));
	if (units_capacity(d->units) != capacity)
		log_warn("--unit.capacity=%u: the table keeps its %u units until the "
			 "next boot",
			 capacity, units_capacity(d->units));
	if (d->privileges.drop &&
	    units_chown(d->units, d->privileges.uid, d->privileges.gid, &err) < 0)
		log_warn("%s/%s", d->options.path_rundir, err.text);
	d->env.units = d->units;
	size_t bytes;
	const void *map = units_mapping(d->units, &bytes);
	int n = snprintf(path, sizeof(path), "%s/%s", d->options.path_rundir,
			 UNITS_PATH_NAME);
	if (n > 0 && (size_t)n < sizeof(path))
		guard_mapping(path, map, bytes);
}

static void open_ring(struct daemon *d)
{
	char path[4096];
	struct err err;
	bool made_new = false;

	/* Without the table records would have no effect: leave them in the ring. */
	if (!d->units)
		return;
	int n = snprintf(path, sizeof(path), "%s/ring", d->options.path_rundir);
	if (n < 0 || (size_t)n >= sizeof(path))
		return;
	int rc = ring_consumer_open(path, (uint32_t)d->options.ring_slots, &d->ring,
				    &made_new, &err);
	if (rc < 0) {
		log_warn("%s: %s: no records of jobs, looking for them among the "
			 "control groups",
			 path, err.text);
		return;
	}
	d->has_ring = true;
	guard_mapping(path, d->ring.header, d->ring.bytes);
	if (made_new && err.text[0])
		log_warn("%s: the old ring could not be kept, the records in it are "
			 "lost",
			 err.text);
	if (made_new)
		log_info("%s: new, with %u slots", path, d->ring.count);
}

static void close_ring(struct daemon *d)
{
	if (!d->has_ring)
		return;
	ingest_done(&d->ingest);
	signals_unguard(d->ring.header);
	ring_consumer_close(&d->ring);
	d->has_ring = false;
}

/* Lock held. Takes what was published before the ring was lost first. */
static bool renew_ring(struct daemon *d, const char *why)
{
	uint64_t records = d->ingest.records, inode = d->ring.header->inode;

	ingest_tick(&d->ingest, 0);
	log_error("%s/ring: %s (%llu records were still in it): steps that began since "
		  "are looked for among the control groups",
		  d->options.path_rundir, why,
		  (unsigned long long)(d->ingest.records - records));
	if (d->privileges.drop) {
		log_error("%s/ring: only root can put it back: exiting with status %d, "
			  "to be restarted",
			  d->options.path_rundir, SIGNALS_STATUS_BUS);
		return false;
	}
	close_ring(d);
	open_ring(d);
	if (!d->has_ring)
		return false;
	if (d->ring.header->inode == inode)
		log_info("%s/ring: put back, with what was sent meanwhile",
			 d->options.path_rundir);
	ingest_init(&d->ingest, &d->env, &d->ring, d->units, d->sample);
	d->ingest.records = records;
	d->ingest.want_walk = true;
	return true;
}

static bool keep_spool(const struct daemon *d)
{
	if (!d->reports || !d->privileges.drop || !reports_folder_lost(d->reports))
		return true;
	log_error("%s: removed while in use, and only root can put it back: exiting "
		  "with status %d, to be restarted",
		  d->options.reports_spool, SIGNALS_STATUS_BUS);
	return false;
}

bool daemon_keep_files(struct daemon *d)
{
	char path[4096];
	int n = snprintf(path, sizeof(path), "%s/ring", d->options.path_rundir);
	bool kept = true;

	pthread_mutex_lock(&d->lock);
	if (d->units && !d->said_units_removed && units_removed(d->units)) {
		log_error("%s/%s: removed while in use: counting continues in memory, "
			  "the next start begins with an empty table",
			  d->options.path_rundir, UNITS_PATH_NAME);
		d->said_units_removed = true;
	}
	if (d->has_ring && n > 0 && (size_t)n < sizeof(path)) {
		if (!ring_in_place(&d->ring, path))
			kept = renew_ring(d, "removed or replaced while in use");
		else if (!ring_is_sound(&d->ring))
			kept = renew_ring(d, "something else has written to its head "
					     "or tail, no record would arrive");
	}
	pthread_mutex_unlock(&d->lock);
	kept = keep_spool(d) && kept;
	if (!kept)
		d->status = SIGNALS_STATUS_BUS;
	return kept;
}

static int open_consumers(struct daemon *d, struct err *err)
{
	if (!d->units)
		return 0;
	d->sample = sample_new(&d->env);
	d->env.gpu_maps = gpu_maps_new(&d->env);
	d->env.driver_gpus = driver_gpus_new(&d->env);
	if (!d->sample || !d->env.gpu_maps || !d->env.driver_gpus ||
	    guest_figures_new(d->units, &d->env.guests) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	if (d->has_ring) {
		ingest_init(&d->ingest, &d->env, &d->ring, d->units, d->sample);
		d->env.ingest = &d->ingest;
	}
	return 0;
}

/* Before each collection, lock held: the answer includes every stop published before
 * the scrape was requested. */
static void prepare_scrape(void *arg)
{
	struct daemon *d = arg;
	if (d->has_ring)
		ingest_tick(&d->ingest, 0);
	if (d->sample)
		sample_steps(d->sample);
}

static int units_json(void *arg, struct buf *out)
{
	struct daemon *d = arg;
	if (!d->units) {
		buf_puts(out, "{\"units\":[]}\n");
		return buf_error(out);
	}
	pthread_mutex_lock(&d->lock);
	prepare_scrape(d);
	int rc = units_put_json(d->units, out);
	pthread_mutex_unlock(&d->lock);
	return rc;
}

static int targets_json(void *arg, struct buf *out)
{
	struct daemon *d = arg;
	struct running_steps t = {.count = 0};
	int rc = 0;

	pthread_mutex_lock(&d->lock);
	prepare_scrape(d);
	if (d->units)
		rc = targets_take(&t, d->units, &d->options);
	pthread_mutex_unlock(&d->lock);
	if (rc == 0)
		rc = targets_put_json(&t, &d->env, out);
	running_steps_done(&t);
	return rc;
}

/* Makes everything that was already running visible at the first scrape: answering
 * earlier would show a node without jobs for a moment at each restart. */
static void first_look(struct daemon *d)
{
	struct err err;

	unsigned recalled = 0;

	if (d->has_ring && d->made_units)
		recalled = ingest_recall(&d->ingest);
	if (recalled)
		log_info("%s/ring: %u records that an earlier unit table took are read "
			 "again",
			 d->options.path_rundir, recalled);
	if (d->has_ring)
		ingest_tick(&d->ingest, 0);
	if (!d->units)
		return;
	if (discover_walk(&d->env, &err) < 0)
		log_warn("discover: %s", err.text);
	else if (!units_used(d->units))
		units_set_anew(d->units, 0);
	found_read_units(&d->env, d->sample, d->has_ring ? &d->ingest : NULL, true);
}

/* Opens the sources of the enabled collectors. Files that only root may read are opened
 * here; the threads start after root is given up. */
static int open_sampler(struct daemon *d, struct err *err)
{
	auto_free const struct source **sources =
		calloc(d->enabled_count + 1, sizeof(struct source *));
	size_t n = 0;

	if (!sources)
		return err_set(err, -ENOMEM, "out of memory");
	for (size_t i = 0; i < d->enabled_count; i++) {
		if (d->enabled[i]->source)
			sources[n++] = d->enabled[i]->source;
	}
	int rc = sampler_new(&d->env, d->options.energy_interval_ms, sources, n,
			     &d->sampler, err);
	d->env.sampler = d->sampler;
	return rc;
}

/* The address of this node's BMC, for those who ask it over the network without a
 * configured one: only root may ask for it. "": unknown. */
static void find_bmc(const struct daemon *d, char *ret, size_t size)
{
	const struct options *o = &d->options;
	struct ipmi_lan lan;
	struct err err;

	*ret = '\0';
	if (!o->collector_redfish || *o->redfish_bmc_address || courier_names_bmc(o))
		return;
	if (ipmi_lan_address_of(&d->env, (unsigned)o->ipmi_dcmi_dev_num,
				IPMI_DEADLINE_MS, &lan, &err) < 0) {
		log_info("redfish: %s: the BMC's address is known only if the file "
			 "names its host",
			 err.text);
		return;
	}
	(void)snprintf(ret, size, "%s", lan.ipv4[0] ? lan.ipv4 : lan.ipv6);
	log_info("redfish: the BMC says that it is at %s", ret);
}

/* Only prepares it: it is started without privileges. */
static void open_courier_link(struct daemon *d)
{
	char path[4096], bmc[sizeof(struct ipmi_lan)];
	struct conf_list args;
	struct err err;

	if (!courier_wanted(&d->options))
		return;
	courier_path(&d->options, path, sizeof(path));
	find_bmc(d, bmc, sizeof(bmc));
	auto_free char *spool = spool_folder(d->options.reports_spool, d->env.hostname);
	int rc = courier_args(&d->options, bmc, spool ? spool : "", &args);
	if (rc == 0)
		rc = child_link_new("courier", path, &args, &d->courier, &err);
	else
		(void)err_set(&err, rc, "%s: %s", path, strerror(-rc));
	if (rc < 0)
		log_warn("courier: %s: no servers are asked (--courier.path)",
			 err.text);
	conf_list_done(&args);
	d->env.courier = d->courier;
}

/* The same */
static void open_gpu_link(struct daemon *d)
{
	struct err err;

	if (!d->options.collector_gpu)
		return;
	int rc = gpu_child_new(&d->options, &d->env, d->rundirfd,
			       d->privileges.drop ? d->privileges.gid : (gid_t)-1,
			       &d->gpu, &err);
	if (rc < 0)
		log_at(rc == -ENODEV ? LOG_INFO : LOG_WARNING,
		       "gpu: %s: no device is read", err.text);
	d->env.gpu = d->gpu;
	gpu_child_look(d->gpu, d->rundirfd);
}

/* The same: for the file that it makes */
static void open_gpu_pause(struct daemon *d)
{
	const struct privileges *drop = &d->privileges;
	struct err err;

	if (!*d->options.gpu_dcgmi || !d->units)
		return;
	if (gpu_pause_new(d->options.gpu_dcgmi, d->rundirfd,
			  drop->drop ? drop->uid : (uid_t)-1,
			  drop->drop ? drop->gid : (gid_t)-1, &d->gpu_pause, &err) < 0)
		log_warn("gpu: %s: DCGM is paused for nobody", err.text);
	d->env.gpu_pause = d->gpu_pause;
}

/* The same */
static void open_profiler_link(struct daemon *d)
{
	uid_t uid = d->privileges.drop ? d->privileges.uid : (uid_t)-1;
	gid_t gid = d->privileges.drop ? d->privileges.gid : (gid_t)-1;
	struct err err;

	if (d->profile_opener.fd < 0)
		return;
	if (*d->options.profiles_spool)
		spool_make_folder(d->options.profiles_spool, uid, gid);
	else
		log_warn("profiler: no --profiles.spool: profiles go nowhere");
	if (courier_fetches_debug_files(&d->options))
		spool_make_folder(d->options.debuginfod_folder, uid, gid);
	int rc = d->units ? profile_child_new(&d->options, d->env.hostname, uid, gid,
					      &d->profile_opener, &d->profiler, &err)
			  : err_set(&err, -ENODEV, "no unit table");
	if (rc == 0)
		rc = profile_steps_new(&d->env, d->profiler, &d->profile_steps, &err);
	if (rc < 0)
		log_warn("profiler: %s: nobody is sampled", err.text);
	d->env.profile_steps = d->profile_steps;
	d->env.profiler = d->profiler;
}

static void open_drm_reader(struct daemon *d)
{
	int *fd = &d->drm_opener.fd;
	struct err err;

	if (*fd < 0)
		return;
	int rc = d->units ? drm_reader_new(&d->env, &d->lock, steal_fd(fd), &d->drm,
					   &err)
			  : err_set(&err, -ENODEV, "no unit table");
	if (rc < 0)
		log_warn("drm: %s: no driver is asked", err.text);
	d->env.drm = d->drm;
}

static int open_emission_tables(struct daemon *d, struct err *err)
{
	struct err why;
	int rc = emissions_new(&d->options, &d->emissions, &why);

	if (rc < 0)
		return err_set(err, rc, "emissions: %s", why.text);
	if (why.text[0])
		log_warn("emissions: %s: no factors from it", why.text);
	d->env.emissions = d->emissions;
	return 0;
}

static int open_reports(struct daemon *d, struct err *err)
{
	const struct options *o = &d->options;
	char cluster[CLUSTER_NAME_MAX];
	const struct reports_params p = {
		.env = &d->env,
		.sample = d->sample,
		.lock = &d->lock,
		.cluster = cluster,
		.folder = o->reports_spool,
		.interval_ms = o->reports_interval_ms,
		.max_bytes = o->reports_max_bytes,
		.counts = {d->unit_finals, unit_finals_look, unit_finals_settled,
			   unit_finals_fill},
	};
	bool drop = d->privileges.drop;

	if (!o->reports_enabled)
		return 0;
	if (!d->units) {
		log_warn("reports: none are written, because there is no unit table");
		return 0;
	}
	cluster_name(o->cluster, cluster, sizeof(cluster));
	log_info("reports: for cluster %s, written to %s", cluster, o->reports_spool);
	int rc = reports_new(&p, drop ? d->privileges.uid : (uid_t)-1,
			     drop ? d->privileges.gid : (gid_t)-1, &d->reports, err);
	if (rc == 0)
		d->env.reports = reports_stats(d->reports);
	return rc;
}

static int open_scrape(struct daemon *d, struct err *err)
{
	d->enabled = calloc(collectors_count + 1, sizeof(struct collector *));
	if (!d->enabled)
		return err_set(err, -ENOMEM, "out of memory");
	for (size_t i = 0; i < collectors_count; i++) {
		if (options_collector(&d->options, collectors[i]->name))
			d->enabled[d->enabled_count++] = collectors[i];
	}
	open_courier_link(d);
	open_gpu_link(d);
	open_gpu_pause(d);
	open_profiler_link(d);
	open_drm_reader(d);
	if (d->units && (d->unit_finals || d->gpu)) /* what reports tell */
		d->counts_page = counts_page_fill_open(
			&d->env, d->privileges.drop ? d->privileges.uid : (uid_t)-1,
			d->privileges.gid);
	int rc = open_sampler(d, err);
	if (!rc)
		rc = open_emission_tables(d, err);
	if (rc == 0)
		rc = daemon_energy_open(d, err);
	if (rc == 0)
		rc = open_reports(d, err);
	if (rc)
		return rc;
	struct scrape_params p = {
		.env = &d->env,
		.collectors = d->enabled,
		.count = d->enabled_count,
		.lock = &d->lock,
		.prepare = prepare_scrape,
		.arg = d,
		.exporter_metrics = !d->options.disable_self_metrics,
	};
	return scrape_new(&p, &d->scrape, err);
}

static int drop_daemon_privileges(void *arg, struct err *err)
{
	struct daemon *d = arg;
	int rc = privileges_drop(&d->privileges, err);
	if (rc == 0 && d->units)
		inhabited_look(&d->env);
	if (rc == 0)
		d->env.calls_filtered = service_filter_calls(
			d->options.drop_privileges && d->options.seccomp);
	if (rc == 0 && d->courier)
		rc = child_link_start(d->courier, err);
	if (rc == 0 && d->gpu)
		rc = child_link_start(d->gpu, err);
	if (rc == 0 && d->gpu_pause) {
		gpu_pause_look(d->gpu_pause, d->units); /* who wants it goes on */
		rc = gpu_pause_start(d->gpu_pause, err);
	}
	if (rc == 0 && d->profiler)
		rc = child_link_start(d->profiler, err);
	if (rc == 0)
		rc = sampler_start(d->sampler, err);
	if (rc == 0)
		rc = daemon_energy_start(d, err);
	return rc == 0 && d->reports ? reports_start(d->reports, err) : rc;
}

static int open_web(struct daemon *d, struct err *err)
{
	const struct options *o = &d->options;
	struct endpoints_params p = {
		.listen = (const char *const *)o->listen_addresses.items,
		.listen_count = o->listen_addresses.count,
		.systemd_socket = o->systemd_socket,
		.telemetry_path = o->telemetry_path,
		.config_file = o->web_config_file,
		.max_requests = (uint32_t)o->max_requests,
		.scrape = d->scrape,
		.units_json = units_json,
		.targets_json = o->targets ? targets_json : NULL,
		.targets_path = o->targets_path,
		.arg = d,
		.before_threads = drop_daemon_privileges,
	};
	return endpoints_start(&p, &d->endpoints, err);
}

/* The same */
static void start_profile_opener(struct daemon *d)
{
	struct err err;

	if (d->options.profiling_policy != PROFILING_DENY &&
	    profile_opener_start(&d->options, "profile", &d->profile_opener, &err) < 0)
		log_warn("profiler: %s: nobody is sampled", err.text);
}

/* The same */
static void start_drm_opener(struct daemon *d)
{
	struct err err;

	if (!d->options.collector_drm)
		return;
	auto_close int sysfd = fs_opendir_at(AT_FDCWD, d->options.path_sysfs, NULL);
	if (sysfd >= 0 && drm_gpus_are_there(sysfd) &&
	    profile_opener_start(&d->options, "drm", &d->drm_opener, &err) < 0)
		log_warn("drm: %s: no driver is asked", err.text);
}

static int open_step_groups(struct daemon *d, struct err *err)
{
	if (!d->group_slots.count || !d->units)
		return 0;
	if (d->made_units)
		group_slots_adopt(&d->group_slots);
	int rc = step_groups_new(&d->env, &d->group_slots, &d->step_groups, err);
	d->env.step_groups = d->step_groups;
	if (!rc && d->io_cells.cells)
		rc = unit_io_new(d->units, &d->io_cells, &d->unit_io, err);
	d->env.unit_io = d->unit_io;
	if (!rc && d->net_slots.slots)
		rc = unit_counts_new(d->units, &d->net_slots, &d->unit_net, err);
	d->env.unit_net = d->unit_net;
	if (!rc && d->perf_slots.slots)
		rc = unit_counts_new(d->units, &d->perf_slots, &d->unit_perf, err);
	d->env.unit_perf = d->unit_perf;
	if (!rc && d->hardware_slots.control)
		rc = unit_hardware_new(&d->env, &d->hardware_slots, &d->unit_hardware,
				       err);
	d->env.unit_hardware = d->unit_hardware;
	if (!rc && (d->unit_io || d->unit_net || d->unit_perf))
		rc = unit_finals_new(&d->env, &d->unit_finals);
	d->env.unit_finals = d->unit_finals;
	return rc;
}

int daemon_open(struct daemon *d, struct err *err)
{
	pthread_mutex_init(&d->lock, NULL);
	d->rundirfd = d->signalfd = d->profile_opener.fd = d->drm_opener.fd = -1;
	d->env.procfd = d->env.sysfd = d->env.cgroupfd = d->env.devfd = -1;
	d->ring.fd = -1;

	int rc = privileges_choose(d->options.run_as_user, d->options.drop_privileges,
				   &d->privileges, err);
	if (!rc)
		rc = signals_open(&d->signalfd, err);
	if (!rc)
		rc = perf_figures_open(&d->options, &d->perf_figures, err);
	if (!rc)
		take_opened(d);
	if (!rc)
		start_profile_opener(d);
	if (!rc)
		start_drm_opener(d);
	if (!rc && d->options.drop_privileges)
		rc = privileges_limit(err);
	if (rc)
		return rc;
	raise_file_limit();
	open_env(d);
	open_rundir(d);
	open_units(d);
	open_ring(d);
	rc = open_consumers(d, err);
	if (!rc)
		first_look(d);
	if (!rc)
		rc = open_step_groups(d, err);
	if (!rc)
		rc = open_scrape(d, err);
	if (!rc)
		rc = open_web(d, err); /* drops privileges */
	if (rc)
		return rc;
	service_say_user(&d->privileges);
	return 0;
}

void daemon_close(struct daemon *d)
{
	endpoints_stop(d->endpoints);
	scrape_free(d->scrape);
	reports_free(d->reports);
	step_groups_free(d->step_groups);
	group_slots_close(&d->group_slots);
	unit_io_free(d->unit_io);
	io_cells_close(&d->io_cells);
	unit_counts_free(d->unit_net);
	slot_counts_close(&d->net_slots);
	unit_counts_free(d->unit_perf);
	slot_counts_close(&d->perf_slots);
	unit_finals_free(d->unit_finals);
	counts_page_fill_free(d->counts_page);
	unit_hardware_free(d->unit_hardware);
	perf_figures_done(&d->perf_figures);
	hardware_slots_close(&d->hardware_slots);
	daemon_energy_close(d);
	sampler_free(d->sampler);
	child_link_free(d->courier);
	child_link_free(d->gpu);
	gpu_pause_free(d->gpu_pause);
	child_link_free(d->profiler);
	profile_steps_free(d->profile_steps);
	profile_opener_end(&d->profile_opener);
	drm_reader_free(d->drm);
	profile_opener_end(&d->drm_opener);
	emissions_free(d->emissions);
	free(d->enabled);
	guest_figures_free(d->env.guests);
	gpu_maps_free(d->env.gpu_maps);
	driver_gpus_free(d->env.driver_gpus);
	sample_free(d->sample);
	close_ring(d);
	if (d->units) {
		size_t bytes;
		signals_unguard(units_mapping(d->units, &bytes));
	}
	units_close(d->units);
	const int fds[] = {d->rundirfd,  d->signalfd,     d->env.procfd,
			   d->env.sysfd, d->env.cgroupfd, d->env.devfd};
	for (size_t i = 0; i < sizeof(fds) / sizeof(fds[0]); i++) {
		if (fds[i] >= 0)
			close(fds[i]);
	}
	pthread_mutex_destroy(&d->lock);
	options_release(&d->options);
}
