/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The calls of Pyroscope's querier and how each is treated. All others are closed:
 * writes (push.v1, /ingest, /pyroscope/ingest, OTLP), settings, adhocprofiles, vcs,
 * debuginfo, version, capabilities, the parts of a cluster among themselves (ingester,
 * metastore, segmentwriter, storegateway, query), /admin, /ops, /debug, the pages, and
 * calls of a Pyroscope that is newer than this table. */
#include <string.h>

#include "lb/pyroscope/pyro_request.h"

#define RPC(name) "/querier.v1.QuerierService/" name

const struct pyro_call pyro_calls[] = {
	{RPC("SelectMergeStacktraces"), PYRO_RPC, PROTOCOL_PROVE, &pyro_stacktraces, 0},
	{RPC("SelectMergeSpanProfile"), PYRO_RPC, PROTOCOL_PROVE, &pyro_span_profile,
	 0},
	{RPC("SelectMergeProfile"), PYRO_RPC, PROTOCOL_PROVE, &pyro_profile, 0},
	{RPC("SelectSeries"), PYRO_RPC, PROTOCOL_PROVE, &pyro_select_series, 0},
	{RPC("SelectHeatmap"), PYRO_RPC, PROTOCOL_PROVE, &pyro_heatmap, 0},
	{RPC("Diff"), PYRO_RPC, PROTOCOL_PROVE, &pyro_diff, 0},
	{RPC("LabelNames"), PYRO_RPC, PROTOCOL_PROVE, &pyro_label_names, 1},
	{RPC("LabelValues"), PYRO_RPC, PROTOCOL_PROVE, &pyro_label_values, 1},
	{RPC("Series"), PYRO_RPC, PROTOCOL_PROVE, &pyro_series, 1},
	/* kinds of profiles ("process_cpu:cpu:..."), not whose they are */
	{RPC("ProfileTypes"), PYRO_RPC, PROTOCOL_PUBLIC, &pyro_profile_types, 1},
	/* the oldest and newest profile of all: answered without asking */
	{RPC("GetProfileStats"), PYRO_RPC, PROTOCOL_ANSWER, &pyro_nothing, 0},
	/* sizes of all blocks in a time range, whatever its query selects */
	{RPC("AnalyzeQuery"), PYRO_RPC, PROTOCOL_ROLE, &pyro_analyze, 0},
	{"/pyroscope/render", PYRO_RENDER, PROTOCOL_PROVE, NULL, 0},
	{"/pyroscope/render-diff", PYRO_RENDER_DIFF, PROTOCOL_PROVE, NULL, 0},
	/* it takes no selector: values of everybody's data */
	{"/pyroscope/label-values", PYRO_LABEL, PROTOCOL_ROLE, NULL, 1},
	{"/api/v1/status/buildinfo", PYRO_GET, PROTOCOL_PUBLIC, NULL, 0},
};
const size_t pyro_call_count = sizeof(pyro_calls) / sizeof(pyro_calls[0]);

const struct pyro_call *pyro_call_of(const char *path)
{
	for (size_t i = 0; i < pyro_call_count; i++)
		if (!strcmp(pyro_calls[i].path, path))
			return &pyro_calls[i];
	return NULL;
}
