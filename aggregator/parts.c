/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The table of parts: one row each. */
#include "aggregator/api.h"
#include "aggregator/app.h"
#include "aggregator/factors.h"
#include "aggregator/grafana.h"
#include "aggregator/import.h"
#include "aggregator/ingest/ingest.h"
#include "aggregator/kubernetes/kubernetes.h"
#include "aggregator/openstack/cloud.h"
#include "aggregator/profiles/profiles.h"
#include "aggregator/records.h"
#include "aggregator/retention.h"

const struct part *const app_parts[] = {
	&part_retention, &part_api,        &part_people,  &part_grafana,
	&part_ingest,    &part_profiles,   &part_records, &part_factors,
	&part_openstack, &part_kubernetes,
};
const size_t app_part_count = sizeof(app_parts) / sizeof(app_parts[0]);

const struct part *app_part(const struct app *app, size_t i)
{
	return app->options.db_standby && !app_parts[i]->only_reads ? NULL
								    : app_parts[i];
}
