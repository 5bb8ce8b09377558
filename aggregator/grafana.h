/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_AGGREGATOR_GRAFANA_H
#define CEEMS_AGGREGATOR_GRAFANA_H

#include "aggregator/app.h"

/* Members of Grafana teams (--admin.grafana.teams-ids) are admins as long as Grafana
 * says so; they are in the table `role` with source 'grafana'. */
extern const struct part part_grafana;

#endif
