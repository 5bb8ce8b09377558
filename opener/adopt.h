/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_OPENER_ADOPT_H
#define CEEMS_OPENER_ADOPT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/err.h"

/* Finds the control groups of steps that are there already. */

struct adopted_group {
	uint64_t id;        /* inode of its directory */
	uint32_t hierarchy; /* 0: v2 */
	const char *path;   /* below the hierarchy's root */
	bool step;          /* the step's own; else one below the last step's */
	bool stepd;         /* v2: slurmstepd's own group below a step */
};

/* Calls found() for each, a step's own group before those below it, until it returns
 * negative errno, which is returned. At most ADOPT_DIRECTORIES_MAX directories are
 * looked at; what is beyond is left out without an error. */
#define ADOPT_DIRECTORIES_MAX 65536u
int adopt_walk(int cgroupfd, int procfd,
	       int (*found)(void *arg, const struct adopted_group *group), void *arg,
	       struct err *err);

#endif
