/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_DAEMON_DAEMON_H
#define CEEMS_DAEMON_DAEMON_H

#include <pthread.h>

#include "daemon/collector.h"
#include "daemon/drm/drm_reader.h"
#include "daemon/groups/counts_page_fill.h"
#include "daemon/groups/perf_figures.h"
#include "daemon/groups/step_groups.h"
#include "daemon/groups/unit_counts.h"
#include "daemon/groups/unit_finals.h"
#include "daemon/groups/unit_hardware.h"
#include "daemon/groups/unit_io.h"
#include "daemon/ingest.h"
#include "daemon/options.h"
#include "daemon/profiles/profile_child.h"
#include "daemon/reports/reports.h"
#include "daemon/sample.h"
#include "daemon/sources/sampler.h"
#include "daemon/ticker/energy_page_fill.h"
#include "daemon/ticker/tick_thread.h"
#include "daemon/units.h"
#include "daemon/web/endpoints.h"
#include "daemon/web/scrape.h"
#include "lib/privileges.h"
#include "lib/records/ring.h"

/* ceemsd as an object: owns all that is opened at start. A part that could not be
 * opened is NULL (or -1), and the others go on. */
struct daemon {
	struct options options;
	int argc; /* as given, for SIGHUP */
	char *const *argv;
	struct env env;
	char hostname[256];

	/* Protects units, ring, sample and the collectors' state. Taken by the main
	 * loop, and by web threads during a scrape. */
	pthread_mutex_t lock;

	int rundirfd;
	struct ring ring;
	bool has_ring;
	struct units *units;
	bool made_units; /* whether this process created the table */
	struct sample *sample;
	struct ingest ingest;
	struct units_policy policy;

	struct child_link *courier;           /* NULL: no enabled collector needs it */
	struct child_link *gpu;               /* NULL: no device is read */
	struct gpu_pause *gpu_pause;          /* NULL: DCGM is left alone */
	struct profile_opener profile_opener; /* until profiler has its socket */
	struct profile_opener drm_opener;     /* until drm has it */
	struct drm_reader *drm;               /* NULL: no DRM driver is asked */
	struct child_link *profiler;          /* NULL: nobody is sampled */
	struct profile_steps *profile_steps;  /* NULL likewise */
	struct sampler *sampler; /* energy sources, on threads of their own */
	struct emissions *emissions;
	struct ticker *ticker; /* NULL: energy is not divided */
	struct tick_thread *tick_thread;
	struct reports *reports;              /* NULL: off */
	struct group_slots group_slots;       /* until step_groups has them */
	struct step_groups *step_groups;      /* NULL: the kernel tells nothing */
	struct io_cells io_cells;             /* until unit_io has them */
	struct unit_io *unit_io;              /* NULL: no IO is counted */
	struct slot_counts net_slots;         /* until unit_net has them */
	struct unit_counts *unit_net;         /* NULL: no network is counted */
	struct slot_counts perf_slots;        /* until unit_perf has them */
	struct unit_counts *unit_perf;        /* NULL: no events are counted */
	struct unit_finals *unit_finals;      /* NULL: nothing of these */
	struct counts_page_fill *counts_page; /* NULL: there is none */
	struct hardware_slots hardware_slots; /* until unit_hardware has them */
	struct unit_hardware *unit_hardware;  /* NULL: no PMU is counted */
	struct perf_figures perf_figures;
	struct unit_activity *unit_activity; /* NULL: not asked for */
	struct energy_page_writer *page;
	struct energy_page_fill
		*energy_page_fill; /* NULL: the page could not be made */
	struct log_repeat page_log;

	const struct collector **enabled;
	size_t enabled_count;
	struct scrape *scrape;
	struct endpoints *endpoints;
	struct privileges privileges;

	int signalfd; /* SIGHUP, SIGTERM, SIGINT */
	bool said_no_traffic;
	struct log_repeat walk_log, mended_log;
	bool said_units_removed;
	int status;      /* of the process: 0, or SIGNALS_STATUS_BUS */
	uint64_t mended; /* units_mended() when last checked */
};

/* Opens everything and drops privileges. Missing parts are logged and stay off. It
 * fails only for what the operator must change: -EADDRINUSE and the like from the
 * web server, a user that does not exist. Afterwards signals are blocked and threads
 * run. */
int daemon_open(struct daemon *d, struct err *err);
void daemon_close(struct daemon *d);
/* Checks that ring, table and spool still have their names, and recreates a ring that
 * has none. False: that takes root, which has been given up. */
bool daemon_keep_files(struct daemon *d);

/* Serves until SIGTERM or SIGINT, or until a file of the run directory is lost that
 * only a restart can recreate (d->status). */
void daemon_run(struct daemon *d);

#endif
