/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_CONTRIB_K8S_WATCH_H
#define CEEMS_CONTRIB_K8S_WATCH_H

#include "contrib/k8s/options.h"
#include "contrib/k8s/pods.h"

/*
 * The event loop: control groups by inotify, and who knows names, requests and devices.
 * No answer of anybody is waited for.
 */

/* --once: the pods that run now. */
int watch_list(const struct options *o, const struct pods_place *place,
	       struct err *err);
/* Runs until SIGTERM or SIGINT, or returns an error if it cannot begin. */
int watch_run(const struct options *o, const struct pods_place *place, struct err *err);

#endif
