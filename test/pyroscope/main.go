// SPDX-License-Identifier: GPL-2.0-or-later

// Pyroscope's own client and handlers (the generated code of its Go module of the API), for the
// tests alone: what they send is what we must read, what we send is what they must read.
//
//	record DIR        each call in each form, as it is on the wire, to DIR/CALL.FORM
//	serve ADDRESS     answers each call with what it was asked, as text (test/e2e/pyroscope.sh)
//	ask URL OWN OTHER START END HEADER...
//	                  each call in each form to a server, of two units and a time, with headers;
//	                  prints what came back
package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"connectrpc.com/connect"
	profile "github.com/grafana/pyroscope/api/gen/proto/go/google/v1"
	querier "github.com/grafana/pyroscope/api/gen/proto/go/querier/v1"
	"github.com/grafana/pyroscope/api/gen/proto/go/querier/v1/querierv1connect"
	types "github.com/grafana/pyroscope/api/gen/proto/go/types/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

const cpu = "process_cpu:cpu:nanoseconds:cpu:nanoseconds"

// two units and a time, in milliseconds
type scene struct {
	own, other string
	start, end int64
}

func (s scene) selector(unit string) string { return fmt.Sprintf("{service_name=%q}", unit) }

// ---- what is asked --------------------------------------------------------------------

func (s scene) stacktraces(unit string) *querier.SelectMergeStacktracesRequest {
	return &querier.SelectMergeStacktracesRequest{
		ProfileTypeID: cpu, LabelSelector: s.selector(unit), Start: s.start, End: s.end,
		MaxNodes: proto.Int64(0), Format: querier.ProfileFormat_PROFILE_FORMAT_TREE,
		StackTraceSelector: &types.StackTraceSelector{
			CallSite: []*types.Location{{Name: "main"}, {Name: "größe \"x\"\n"}},
			GoPgo:    &types.GoPGO{KeepLocations: 5, AggregateCallees: true},
		},
		ProfileIdSelector: []string{"7c9e6679-7425-40de-944b-e07fc1f90ae7"},
		TraceIdSelector:   []string{"7c9e66797425440de944be07fc1f90ae", "b"},
		SpanSelector:      []string{"9a517183f26a089d"},
	}
}

type asked struct {
	name string
	call func(context.Context, querierv1connect.QuerierServiceClient, map[string]string) (proto.Message, error)
}

// one call of the client: request out, response in
func one[Q, R any](f func(querierv1connect.QuerierServiceClient) func(context.Context, *connect.Request[Q]) (*connect.Response[R], error), q *Q) func(context.Context, querierv1connect.QuerierServiceClient, map[string]string) (proto.Message, error) {
	return func(ctx context.Context, c querierv1connect.QuerierServiceClient, headers map[string]string) (proto.Message, error) {
		r := connect.NewRequest(q)
		for name, value := range headers {
			r.Header().Set(name, value)
		}
		answer, err := f(c)(ctx, r)
		if err != nil {
			return nil, err
		}
		return any(answer.Msg).(proto.Message), nil
	}
}

type client = querierv1connect.QuerierServiceClient

func (s scene) calls() []asked {
	selector, start, end := s.selector(s.own), s.start, s.end
	matchers := []string{selector, fmt.Sprintf(`{service_name=~"%s|%s",x!=""}`, s.own, s.other)}
	return []asked{
		{"SelectMergeStacktraces", one(func(c client) func(context.Context, *connect.Request[querier.SelectMergeStacktracesRequest]) (*connect.Response[querier.SelectMergeStacktracesResponse], error) {
			return c.SelectMergeStacktraces
		}, s.stacktraces(s.own))},
		{"SelectMergeSpanProfile", one(func(c client) func(context.Context, *connect.Request[querier.SelectMergeSpanProfileRequest]) (*connect.Response[querier.SelectMergeSpanProfileResponse], error) {
			return c.SelectMergeSpanProfile
		}, &querier.SelectMergeSpanProfileRequest{ProfileTypeID: cpu, LabelSelector: selector,
			SpanSelector: []string{"9a517183f26a089d", "5a4fe264a9c987fe"}, Start: start, End: end,
			MaxNodes: proto.Int64(-1), Format: querier.ProfileFormat_PROFILE_FORMAT_FLAMEGRAPH})},
		{"SelectMergeProfile", one(func(c client) func(context.Context, *connect.Request[querier.SelectMergeProfileRequest]) (*connect.Response[profile.Profile], error) {
			return c.SelectMergeProfile
		}, &querier.SelectMergeProfileRequest{ProfileTypeID: cpu, LabelSelector: selector, Start: start, End: end,
			MaxNodes:           proto.Int64(1 << 40),
			StackTraceSelector: &types.StackTraceSelector{GoPgo: &types.GoPGO{}},
			ProfileIdSelector:  []string{"a", ""}, TraceIdSelector: []string{"c"}})},
		{"SelectSeries", one(func(c client) func(context.Context, *connect.Request[querier.SelectSeriesRequest]) (*connect.Response[querier.SelectSeriesResponse], error) {
			return c.SelectSeries
		}, &querier.SelectSeriesRequest{ProfileTypeID: cpu, LabelSelector: selector, Start: start, End: end,
			GroupBy: []string{"hostname", "namespace"}, Step: 15.25,
			Aggregation:  types.TimeSeriesAggregationType_TIME_SERIES_AGGREGATION_TYPE_SUM.Enum(),
			Limit:        proto.Int64(10),
			ExemplarType: types.ExemplarType_EXEMPLAR_TYPE_INDIVIDUAL})},
		{"SelectHeatmap", one(func(c client) func(context.Context, *connect.Request[querier.SelectHeatmapRequest]) (*connect.Response[querier.SelectHeatmapResponse], error) {
			return c.SelectHeatmap
		}, &querier.SelectHeatmapRequest{ProfileTypeID: cpu, LabelSelector: selector, Start: start, End: end,
			Step: 0.1, GroupBy: []string{"pod"}, QueryType: querier.HeatmapQueryType_HEATMAP_QUERY_TYPE_SPAN,
			ExemplarType: types.ExemplarType_EXEMPLAR_TYPE_SPAN, Limit: proto.Int64(3)})},
		{"Diff", one(func(c client) func(context.Context, *connect.Request[querier.DiffRequest]) (*connect.Response[querier.DiffResponse], error) {
			return c.Diff
		}, &querier.DiffRequest{Left: s.stacktraces(s.own), Right: s.stacktraces(s.other)})},
		{"LabelNames", one(func(c client) func(context.Context, *connect.Request[types.LabelNamesRequest]) (*connect.Response[types.LabelNamesResponse], error) {
			return c.LabelNames
		}, &types.LabelNamesRequest{Matchers: matchers, Start: start, End: end})},
		{"LabelValues", one(func(c client) func(context.Context, *connect.Request[types.LabelValuesRequest]) (*connect.Response[types.LabelValuesResponse], error) {
			return c.LabelValues
		}, &types.LabelValuesRequest{Name: "hostname", Matchers: matchers, Start: start, End: end})},
		{"Series", one(func(c client) func(context.Context, *connect.Request[querier.SeriesRequest]) (*connect.Response[querier.SeriesResponse], error) {
			return c.Series
		}, &querier.SeriesRequest{Matchers: matchers, LabelNames: []string{"hostname", "__name__"}, Start: start, End: end})},
		{"ProfileTypes", one(func(c client) func(context.Context, *connect.Request[querier.ProfileTypesRequest]) (*connect.Response[querier.ProfileTypesResponse], error) {
			return c.ProfileTypes
		}, &querier.ProfileTypesRequest{Start: start, End: end})},
		{"GetProfileStats", one(func(c client) func(context.Context, *connect.Request[types.GetProfileStatsRequest]) (*connect.Response[types.GetProfileStatsResponse], error) {
			return c.GetProfileStats
		}, &types.GetProfileStatsRequest{})},
		{"Refused", one(func(c client) func(context.Context, *connect.Request[types.LabelValuesRequest]) (*connect.Response[types.LabelValuesResponse], error) {
			return c.LabelValues
		}, &types.LabelValuesRequest{Matchers: matchers, Start: start, End: end})},
		{"AnalyzeQuery", one(func(c client) func(context.Context, *connect.Request[querier.AnalyzeQueryRequest]) (*connect.Response[querier.AnalyzeQueryResponse], error) {
			return c.AnalyzeQuery
		}, &querier.AnalyzeQueryRequest{Start: start, End: end, Query: cpu + selector})},
	}
}

var forms = []struct {
	name    string
	options []connect.ClientOption
}{
	{"proto", nil},
	{"proto-gzip", []connect.ClientOption{connect.WithSendGzip()}},
	{"json", []connect.ClientOption{connect.WithProtoJSON()}},
	{"json-gzip", []connect.ClientOption{connect.WithProtoJSON(), connect.WithSendGzip()}},
	{"web", []connect.ClientOption{connect.WithGRPCWeb()}},
	{"web-gzip", []connect.ClientOption{connect.WithGRPCWeb(), connect.WithSendGzip()}},
	{"web-json", []connect.ClientOption{connect.WithGRPCWeb(), connect.WithProtoJSON()}},
	// the API marks no call as free of side effects, so its client has no GET of its own
	{"get", []connect.ClientOption{connect.WithIdempotency(connect.IdempotencyNoSideEffects), connect.WithHTTPGet()}},
	{"get-json-gzip", []connect.ClientOption{connect.WithIdempotency(connect.IdempotencyNoSideEffects), connect.WithHTTPGet(), connect.WithProtoJSON(), connect.WithSendGzip()}},
}

// ---- record ---------------------------------------------------------------------------

type recorder struct{ path string }

func (r recorder) RoundTrip(q *http.Request) (*http.Response, error) {
	var out bytes.Buffer
	fmt.Fprintf(&out, "%s %s\n", q.Method, q.URL.RequestURI())
	for _, name := range []string{"Content-Type", "Content-Encoding"} {
		if v := q.Header.Get(name); v != "" {
			fmt.Fprintf(&out, "%s: %s\n", name, v)
		}
	}
	out.WriteByte('\n')
	if q.Body != nil {
		if _, err := io.Copy(&out, q.Body); err != nil {
			return nil, err
		}
	}
	if err := os.WriteFile(r.path, out.Bytes(), 0o644); err != nil {
		return nil, err
	}
	return nil, fmt.Errorf("recorded")
}

func record(dir string) error {
	for _, form := range forms {
		for _, call := range (scene{"4711", "4712", 1700000000000, 1700003600000}).calls() {
			if call.name == "Refused" {
				continue
			}
			path := filepath.Join(dir, call.name+"."+form.name)
			c := querierv1connect.NewQuerierServiceClient(&http.Client{Transport: recorder{path}}, "http://127.0.0.1", form.options...)
			if _, err := call.call(context.Background(), c, nil); !strings.Contains(fmt.Sprint(err), "recorded") {
				return err
			}
		}
	}
	return nil
}

// ---- serve ----------------------------------------------------------------------------

// what was asked, on one line; protojson alone puts blanks in at random
func text(m proto.Message) string {
	b, err := protojson.MarshalOptions{UseProtoNames: true}.Marshal(m)
	if err != nil {
		return err.Error()
	}
	return strings.Join(strings.Fields(string(b)), " ")
}

type echo struct {
	querierv1connect.UnimplementedQuerierServiceHandler
}

func (echo) SelectMergeStacktraces(_ context.Context, q *connect.Request[querier.SelectMergeStacktracesRequest]) (*connect.Response[querier.SelectMergeStacktracesResponse], error) {
	return connect.NewResponse(&querier.SelectMergeStacktracesResponse{Dot: text(q.Msg)}), nil
}

func (echo) SelectMergeSpanProfile(_ context.Context, q *connect.Request[querier.SelectMergeSpanProfileRequest]) (*connect.Response[querier.SelectMergeSpanProfileResponse], error) {
	return connect.NewResponse(&querier.SelectMergeSpanProfileResponse{Flamegraph: &querier.FlameGraph{Names: []string{text(q.Msg)}}}), nil
}

func (echo) SelectMergeProfile(_ context.Context, q *connect.Request[querier.SelectMergeProfileRequest]) (*connect.Response[profile.Profile], error) {
	return connect.NewResponse(&profile.Profile{StringTable: []string{text(q.Msg)}}), nil
}

func labels(m proto.Message) []*types.LabelPair {
	return []*types.LabelPair{{Name: "asked", Value: text(m)}}
}

func (echo) SelectSeries(_ context.Context, q *connect.Request[querier.SelectSeriesRequest]) (*connect.Response[querier.SelectSeriesResponse], error) {
	return connect.NewResponse(&querier.SelectSeriesResponse{Series: []*types.Series{{Labels: labels(q.Msg)}}}), nil
}

func (echo) SelectHeatmap(_ context.Context, q *connect.Request[querier.SelectHeatmapRequest]) (*connect.Response[querier.SelectHeatmapResponse], error) {
	return connect.NewResponse(&querier.SelectHeatmapResponse{Series: []*types.HeatmapSeries{{Labels: labels(q.Msg)}}}), nil
}

func (echo) Diff(_ context.Context, q *connect.Request[querier.DiffRequest]) (*connect.Response[querier.DiffResponse], error) {
	return connect.NewResponse(&querier.DiffResponse{Flamegraph: &querier.FlameGraphDiff{Names: []string{text(q.Msg)}}}), nil
}

func (echo) LabelNames(_ context.Context, q *connect.Request[types.LabelNamesRequest]) (*connect.Response[types.LabelNamesResponse], error) {
	return connect.NewResponse(&types.LabelNamesResponse{Names: []string{text(q.Msg)}}), nil
}

func (echo) LabelValues(_ context.Context, q *connect.Request[types.LabelValuesRequest]) (*connect.Response[types.LabelValuesResponse], error) {
	if q.Msg.Name == "" {
		return nil, connect.NewError(connect.CodeInvalidArgument, fmt.Errorf("a label has a name: 100%%"))
	}
	return connect.NewResponse(&types.LabelValuesResponse{Names: []string{text(q.Msg)}}), nil
}

func (echo) Series(_ context.Context, q *connect.Request[querier.SeriesRequest]) (*connect.Response[querier.SeriesResponse], error) {
	return connect.NewResponse(&querier.SeriesResponse{LabelsSet: []*types.Labels{{Labels: labels(q.Msg)}}}), nil
}

func (echo) ProfileTypes(_ context.Context, q *connect.Request[querier.ProfileTypesRequest]) (*connect.Response[querier.ProfileTypesResponse], error) {
	return connect.NewResponse(&querier.ProfileTypesResponse{ProfileTypes: []*types.ProfileType{{ID: text(q.Msg)}}}), nil
}

func (echo) GetProfileStats(_ context.Context, q *connect.Request[types.GetProfileStatsRequest]) (*connect.Response[types.GetProfileStatsResponse], error) {
	return connect.NewResponse(&types.GetProfileStatsResponse{OldestProfileTime: 4711}), nil
}

func (echo) AnalyzeQuery(_ context.Context, q *connect.Request[querier.AnalyzeQueryRequest]) (*connect.Response[querier.AnalyzeQueryResponse], error) {
	return connect.NewResponse(&querier.AnalyzeQueryResponse{QueryScopes: []*querier.QueryScope{{ComponentType: text(q.Msg)}}}), nil
}

func serve(address string) error {
	mux := http.NewServeMux()
	mux.Handle(querierv1connect.NewQuerierServiceHandler(echo{}))
	// of the first Pyroscope: what was asked
	mux.HandleFunc("/pyroscope/", func(w http.ResponseWriter, q *http.Request) { fmt.Fprintln(w, q.Method, q.URL.RequestURI()) })
	mux.HandleFunc("/ready", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ready") })
	return http.ListenAndServe(address, mux)
}

// ---- ask ------------------------------------------------------------------------------

func ask(url string, s scene, lines []string) {
	headers := map[string]string{}
	for _, line := range lines {
		if name, value, ok := strings.Cut(line, ": "); ok {
			headers[name] = value
		}
	}
	for _, form := range forms {
		for _, call := range s.calls() {
			c := querierv1connect.NewQuerierServiceClient(http.DefaultClient, url, form.options...)
			answer, err := call.call(context.Background(), c, headers)
			if err != nil {
				fmt.Printf("%s\t%s\t-%s\n", call.name, form.name, err)
			} else {
				fmt.Printf("%s\t%s\t+%s\n", call.name, form.name, text(answer))
			}
		}
	}
}

func main() {
	var err error
	switch {
	case len(os.Args) == 3 && os.Args[1] == "record":
		err = record(os.Args[2])
	case len(os.Args) == 3 && os.Args[1] == "serve":
		err = serve(os.Args[2])
	case len(os.Args) > 6 && os.Args[1] == "ask":
		s := scene{own: os.Args[3], other: os.Args[4]}
		if _, err = fmt.Sscan(os.Args[5]+" "+os.Args[6], &s.start, &s.end); err == nil {
			ask(os.Args[2], s, os.Args[7:])
		}
	default:
		err = fmt.Errorf("usage: %s record DIR | serve ADDRESS | ask URL OWN OTHER START END [HEADER...]", os.Args[0])
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
