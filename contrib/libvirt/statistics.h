/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_CONTRIB_LIBVIRT_STATISTICS_H
#define CEEMS_CONTRIB_LIBVIRT_STATISTICS_H

#include <stdatomic.h>

#include "contrib/libvirt/options.h"
#include "lib/err.h"
#include "lib/log.h"
#include "lib/periodic.h"

/*
 * What libvirt knows of the running guests (virConnectGetAllDomainStats, without
 * waiting for a monitor that is busy), as figures to ceemsd: their own view of memory,
 * disks, interfaces. On a thread and by connections of its own, so that a monitor that
 * hangs holds up nothing else; then the process starts anew, after which libvirt leaves
 * that domain out.
 */
struct statistics {
	const struct options *options;
	const char *ring; /* path; borrowed */
	/* CLOCK_BOOTTIME when libvirt was asked what it has not answered; 0: nothing */
	_Atomic uint64_t asked_ns;
	struct log_repeat log;
	struct periodic thread;
};

/* Starts it. -errno of pthread_create() */
int statistics_start(struct statistics *s, const struct options *o, const char *ring,
		     struct err *err);

#endif
