/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_AGGREGATOR_OPENSTACK_CLOUD_H
#define CEEMS_AGGREGATOR_OPENSTACK_CLOUD_H

#include "aggregator/app.h"

/* Asks Nova and Keystone of each cluster in --clusters.file whose VMs are, and who is
 * in which project. A cloud that does not answer changes nothing: its VMs, their owners
 * and their members stay as they were last known. */
extern const struct part part_openstack;

#endif
