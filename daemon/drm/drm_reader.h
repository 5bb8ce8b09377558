/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_DAEMON_DRM_DRM_READER_H
#define CEEMS_DAEMON_DRM_DRM_READER_H

#include <pthread.h>

#include "daemon/drm/drm_uses.h"
#include "daemon/env.h"
#include "lib/err.h"

/* Asks a ceems-opener about the processes of units, on a thread of its own: drivers may
 * take their time. Every five seconds, or so seldom that it is busy for a tenth of the
 * time at most. */
#define DRM_PERIOD_MS 5000u
/* In a round; the rest is not asked about. A step may have a quarter of those that are
 * left, or, of the last three, as much as each other. */
#define DRM_PROCESSES_MAX 4096u

struct drm_reader;

/* What was not looked at, so far */
struct drm_left_out {
	uint64_t processes; /* rounds in which a step had more than could be asked */
	uint64_t files;     /* of a process, likewise, or without a name */
	uint64_t refused;   /* processes of which the driver did not tell in time; the
			       others of their unit are not asked about then */
};

/* link: the opener's socket, the reader's from now on; lock: of the unit table. Both
 * env and lock outlive it. Starts no thread yet. */
int drm_reader_new(const struct env *env, pthread_mutex_t *lock, int link,
		   struct drm_reader **ret, struct err *err);
/* Ends the thread, which may be waiting for the opener. Accepts NULL. */
void drm_reader_free(struct drm_reader *r);

/* What units have had so far, the reader's until drm_reader_give(). The first call
 * starts the thread, after privileges were dropped. -EAGAIN: there is no round yet;
 * -ETIMEDOUT: the last one is too old to be shown. */
int drm_reader_take(struct drm_reader *r, struct drm_uses **ret,
		    struct drm_left_out *ret_left_out, struct err *err);
void drm_reader_give(struct drm_reader *r);

#endif
