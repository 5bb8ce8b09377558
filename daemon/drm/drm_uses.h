/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_DAEMON_DRM_DRM_USES_H
#define CEEMS_DAEMON_DRM_DRM_USES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/units.h"
#include "lib/drm/drm_fdinfo.h"

/*
 * What units have had of GPUs, as DRM drivers tell of clients. A client is a number of
 * its device, and may show in several descriptors and processes: it counts once in a
 * round, for the unit in which it is seen first. Drivers forget a client that is
 * closed; what it had when it was seen last stays the unit's as long as that is in the
 * table. What belongs to one unit cannot all be looked at if its users do not want it;
 * then only that unit's clients are kept in doubt. Not thread safe.
 */

/* Clients of all units. One may have a third as many as there are places left: at most
 * a quarter, and however many units are filled up there is room for one more. */
#define DRM_CLIENTS_MAX 4096u
#define DRM_UNIT_SHARE 3u
#define DRM_UNIT_DEVICES_MAX 64u

/* Of the engines of one kind */
struct drm_time {
	char name[DRM_NAME_BYTES];
	uint64_t busy_ns; /* of several engines together */
};

/* Of a device */
struct drm_use {
	char pdev[DRM_PDEV_BYTES];
	uint32_t time_count;
	struct drm_time times[DRM_ENGINES_MAX];
	bool has_memory;       /* the driver tells of it */
	uint64_t memory_bytes; /* in the last round */
	uint64_t round_bytes;  /* in the one that goes on */
};

struct drm_unit {
	uint64_t serial; /* unit_serial() of the one that has this number now */
	uint32_t round;  /* the last one in which it was asked about */
	bool whole;      /* all of it, in that round */
	bool had_whole;  /* a round */
	uint32_t use_count;
	struct drm_use *uses;
};

struct drm_client;

struct drm_uses {
	struct drm_unit *units; /* by their number in the table */
	uint32_t unit_room;
	struct drm_client *clients;
	size_t client_count, client_room;
	uint32_t round;
	uint64_t left_out; /* clients for which there was no place, once a round */
};

/* The unit of a process */
struct drm_owner {
	uint32_t unit;
	uint64_t serial;
	/* It is older than we are: of clients that are there until its first whole
	 * round ends, only what they have from then on is counted. */
	bool is_older;
};

void drm_uses_done(struct drm_uses *u);
/* Begins a round over all processes of units. */
void drm_uses_begin(struct drm_uses *u);
/* Takes in what was read at now_ns of a client. xe's cycles become time with the second
 * reading, by how many have passed since the first. */
void drm_uses_take(struct drm_uses *u, const struct drm_owner *owner,
		   const struct drm_fdinfo *f, uint64_t now_ns);
/* A step of the unit has been asked about. whole: all of its processes were, and told
 * of all their files. */
void drm_uses_note_step(struct drm_uses *u, const struct drm_owner *owner, bool whole);
/* Ends the round. finished: all steps that run have been asked about, so that a client
 * which was seen neither in this round nor in the one before has been closed, unless
 * its unit was not whole. */
void drm_uses_end(struct drm_uses *u, bool finished);
/* Forgets units that have left the table. */
void drm_uses_settle(struct drm_uses *u, const struct units *units);

#endif
