/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Request messages of Pyroscope's querier, from querier/v1/querier.proto and
 * types/v1/types.proto of the Go module github.com/grafana/pyroscope/api v1.6.0. */
#include "lb/pyroscope/pyro_message.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define FIELD(n, k, name_, json_)                                                      \
	.number = (n), .kind = (k), .name = name_, .json = json_
#define TYPE(var, name_, fields_)                                                      \
	const struct pyro_type var = {name_, fields_, COUNT(fields_)}
#define VALUES(v) .values = (v), .value_count = COUNT(v)

/* The beginning of most requests */
#define PROFILE_TYPE(n)                                                                \
	{                                                                              \
		FIELD(n, PYRO_STRING, "profile_typeID", "profileTypeID"),              \
			.role = PYRO_TYPE                                              \
	}
#define LABEL_SELECTOR(n)                                                              \
	{                                                                              \
		FIELD(n, PYRO_STRING, "label_selector", "labelSelector"),              \
			.role = PYRO_SELECTOR                                          \
	}
#define MATCHERS(n)                                                                    \
	{                                                                              \
		FIELD(n, PYRO_STRING, "matchers", "matchers"), .repeated = true,       \
							       .role = PYRO_SELECTOR   \
	}
#define START(n)                                                                       \
	{                                                                              \
		FIELD(n, PYRO_INT64, "start", "start"), .role = PYRO_FROM              \
	}
#define END(n)                                                                         \
	{                                                                              \
		FIELD(n, PYRO_INT64, "end", "end"), .role = PYRO_TO                    \
	}
#define STEP(n)                                                                        \
	{                                                                              \
		FIELD(n, PYRO_DOUBLE, "step", "step"), .role = PYRO_STEP               \
	}
#define STRINGS(n, name_, json_)                                                       \
	{                                                                              \
		FIELD(n, PYRO_STRING, name_, json_), .repeated = true                  \
	}
#define OPTIONAL_INT64(n, name_, json_)                                                \
	{                                                                              \
		FIELD(n, PYRO_INT64, name_, json_), .optional = true                   \
	}

static const char *const profile_formats[] = {
	"PROFILE_FORMAT_UNSPECIFIED", "PROFILE_FORMAT_FLAMEGRAPH",
	"PROFILE_FORMAT_TREE",        "PROFILE_FORMAT_DOT",
	"PROFILE_FORMAT_PPROF",
};
static const char *const aggregations[] = {
	"TIME_SERIES_AGGREGATION_TYPE_SUM",
	"TIME_SERIES_AGGREGATION_TYPE_AVERAGE",
};
static const char *const exemplar_types[] = {
	"EXEMPLAR_TYPE_UNSPECIFIED",
	"EXEMPLAR_TYPE_NONE",
	"EXEMPLAR_TYPE_INDIVIDUAL",
	"EXEMPLAR_TYPE_SPAN",
};
static const char *const heatmap_types[] = {
	"HEATMAP_QUERY_TYPE_UNSPECIFIED",
	"HEATMAP_QUERY_TYPE_INDIVIDUAL",
	"HEATMAP_QUERY_TYPE_SPAN",
};
static const char *const async_types[] = {
	"ASYNC_QUERY_TYPE_DISABLED",
	"ASYNC_QUERY_TYPE_FORCE",
};

static const struct pyro_field location_fields[] = {
	{FIELD(1, PYRO_STRING, "name", "name")},
};
static TYPE(location, "types.v1.Location", location_fields);

static const struct pyro_field go_pgo_fields[] = {
	{FIELD(1, PYRO_UINT32, "keep_locations", "keepLocations")},
	{FIELD(2, PYRO_BOOL, "aggregate_callees", "aggregateCallees")},
};
static TYPE(go_pgo, "types.v1.GoPGO", go_pgo_fields);

static const struct pyro_field stack_selector_fields[] = {
	{FIELD(1, PYRO_MESSAGE, "call_site", "callSite"), .repeated = true,
	 .type = &location},
	{FIELD(2, PYRO_MESSAGE, "go_pgo", "goPgo"), .type = &go_pgo},
};
static TYPE(stack_selector, "types.v1.StackTraceSelector", stack_selector_fields);

/* With a request_id it would return another request's result, whatever else it
 * contains. */
static const struct pyro_field async_fields[] = {
	{FIELD(1, PYRO_STRING, "request_id", "requestId"), .role = PYRO_HANDLE},
	{FIELD(2, PYRO_ENUM, "type", "type"), VALUES(async_types)},
};
static TYPE(async, "querier.v1.AsyncQueryRequest", async_fields);

static const struct pyro_field profile_types_fields[] = {
	START(1),
	END(2),
};
TYPE(pyro_profile_types, "querier.v1.ProfileTypesRequest", profile_types_fields);

static const struct pyro_field label_values_fields[] = {
	{FIELD(1, PYRO_STRING, "name", "name")},
	MATCHERS(2),
	START(3),
	END(4),
};
TYPE(pyro_label_values, "types.v1.LabelValuesRequest", label_values_fields);

static const struct pyro_field label_names_fields[] = {
	MATCHERS(1),
	START(2),
	END(3),
};
TYPE(pyro_label_names, "types.v1.LabelNamesRequest", label_names_fields);

static const struct pyro_field series_fields[] = {
	MATCHERS(1),
	STRINGS(2, "label_names", "labelNames"),
	START(3),
	END(4),
};
TYPE(pyro_series, "querier.v1.SeriesRequest", series_fields);

static const struct pyro_field stacktraces_fields[] = {
	PROFILE_TYPE(1),
	LABEL_SELECTOR(2),
	START(3),
	END(4),
	OPTIONAL_INT64(5, "max_nodes", "maxNodes"),
	{FIELD(6, PYRO_ENUM, "format", "format"), VALUES(profile_formats)},
	{FIELD(7, PYRO_MESSAGE, "stack_trace_selector", "stackTraceSelector"),
	 .type = &stack_selector},
	STRINGS(8, "profile_id_selector", "profileIdSelector"),
	/* answered synchronously */
	{FIELD(9, PYRO_MESSAGE, "async", "async"), .type = &async,
	 .role = PYRO_DROPPED},
	STRINGS(10, "trace_id_selector", "traceIdSelector"),
	STRINGS(11, "span_selector", "spanSelector"),
};
TYPE(pyro_stacktraces, "querier.v1.SelectMergeStacktracesRequest", stacktraces_fields);

static const struct pyro_field span_profile_fields[] = {
	PROFILE_TYPE(1),
	LABEL_SELECTOR(2),
	STRINGS(3, "span_selector", "spanSelector"),
	START(4),
	END(5),
	OPTIONAL_INT64(6, "max_nodes", "maxNodes"),
	{FIELD(7, PYRO_ENUM, "format", "format"), VALUES(profile_formats)},
};
TYPE(pyro_span_profile, "querier.v1.SelectMergeSpanProfileRequest",
     span_profile_fields);

static const struct pyro_field profile_fields[] = {
	PROFILE_TYPE(1),
	LABEL_SELECTOR(2),
	START(3),
	END(4),
	OPTIONAL_INT64(5, "max_nodes", "maxNodes"),
	{FIELD(6, PYRO_MESSAGE, "stack_trace_selector", "stackTraceSelector"),
	 .type = &stack_selector},
	STRINGS(7, "profile_id_selector", "profileIdSelector"),
	STRINGS(8, "trace_id_selector", "traceIdSelector"),
};
TYPE(pyro_profile, "querier.v1.SelectMergeProfileRequest", profile_fields);

static const struct pyro_field select_series_fields[] = {
	PROFILE_TYPE(1),
	LABEL_SELECTOR(2),
	START(3),
	END(4),
	STRINGS(5, "group_by", "groupBy"),
	STEP(6),
	{FIELD(7, PYRO_ENUM, "aggregation", "aggregation"), .optional = true,
	 VALUES(aggregations)},
	{FIELD(8, PYRO_MESSAGE, "stack_trace_selector", "stackTraceSelector"),
	 .type = &stack_selector},
	OPTIONAL_INT64(9, "limit", "limit"),
	{FIELD(10, PYRO_ENUM, "exemplar_type", "exemplarType"), VALUES(exemplar_types)},
};
TYPE(pyro_select_series, "querier.v1.SelectSeriesRequest", select_series_fields);

static const struct pyro_field heatmap_fields[] = {
	PROFILE_TYPE(1),
	LABEL_SELECTOR(2),
	START(3),
	END(4),
	STEP(5),
	STRINGS(6, "group_by", "groupBy"),
	{FIELD(7, PYRO_ENUM, "query_type", "queryType"), VALUES(heatmap_types)},
	{FIELD(8, PYRO_ENUM, "exemplar_type", "exemplarType"), VALUES(exemplar_types)},
	OPTIONAL_INT64(9, "limit", "limit"),
};
TYPE(pyro_heatmap, "querier.v1.SelectHeatmapRequest", heatmap_fields);

static const struct pyro_field diff_fields[] = {
	{FIELD(1, PYRO_MESSAGE, "left", "left"), .type = &pyro_stacktraces},
	{FIELD(2, PYRO_MESSAGE, "right", "right"), .type = &pyro_stacktraces},
};
TYPE(pyro_diff, "querier.v1.DiffRequest", diff_fields);

const struct pyro_type pyro_nothing = {"types.v1.GetProfileStatsRequest", NULL, 0};

static const struct pyro_field analyze_fields[] = {
	START(2),
	END(3),
	{FIELD(4, PYRO_STRING, "query", "query")},
};
TYPE(pyro_analyze, "querier.v1.AnalyzeQueryRequest", analyze_fields);
