// SPDX-License-Identifier: GPL-2.0-or-later

// What the engine of Prometheus 3 reads: evaluates the queries that promql_claims prints,
// on a storage that has a sample of each unit every seven seconds, for ever, and hands out
// those that the engine asks for, as Prometheus' own does. Names each unit that was read
// outside of what was claimed. A tool of the tests alone (test/e2e/promql_reads3.sh).
package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/util/annotations"
)

const apart = 7000 // milliseconds

type span struct{ from, to int64 }

// The first and the last sample of each unit that the engine looked at
var looked map[string]*span

type world struct{}

func (world) Querier(int64, int64) (storage.Querier, error) { return world{}, nil }
func (world) Close() error                                  { return nil }
func (world) LabelValues(context.Context, string, *storage.LabelHints, ...*labels.Matcher) ([]string, annotations.Annotations, error) {
	return nil, nil, nil
}
func (world) LabelNames(context.Context, *storage.LabelHints, ...*labels.Matcher) ([]string, annotations.Annotations, error) {
	return nil, nil, nil
}
func (world) Select(_ context.Context, _ bool, h *storage.SelectHints, ms ...*labels.Matcher) storage.SeriesSet {
	set := &units{next: -1}
	for _, id := range []string{"1", "2", "4", "9"} {
		hit, name := true, ""
		for _, m := range ms {
			if m.Name == "__name__" {
				name = m.Value
			} else if m.Name == "uuid" {
				hit = hit && m.Matches(id)
			}
		}
		if hit {
			set.all = append(set.all, &unit{id, labels.FromStrings("__name__", name, "uuid", id), span{h.Start, h.End}})
		}
	}
	return set
}

type units struct {
	all  []storage.Series
	next int
}

func (u *units) Next() bool                        { u.next++; return u.next < len(u.all) }
func (u *units) At() storage.Series                { return u.all[u.next] }
func (u *units) Err() error                        { return nil }
func (u *units) Warnings() annotations.Annotations { return nil }

type unit struct {
	id    string
	label labels.Labels
	asked span
}

func (u *unit) Labels() labels.Labels { return u.label }
func (u *unit) Iterator(chunkenc.Iterator) chunkenc.Iterator {
	return &samples{unit: u}
}

type samples struct {
	unit  *unit
	at    int64
	begun bool
}

func (s *samples) Seek(t int64) chunkenc.ValueType {
	t = max(t, s.unit.asked.from)
	if !s.begun || s.at < t {
		s.at = t + (apart-t%apart)%apart
		s.begun = true
	}
	if s.at > s.unit.asked.to {
		return chunkenc.ValNone
	}
	return chunkenc.ValFloat
}
func (s *samples) Next() chunkenc.ValueType { return s.Seek(s.at + 1) }
func (s *samples) AtT() int64               { return s.at }
func (s *samples) Err() error               { return nil }
func (s *samples) At() (int64, float64) {
	if l := looked[s.unit.id]; l == nil {
		looked[s.unit.id] = &span{s.at, s.at}
	} else {
		l.from, l.to = min(l.from, s.at), max(l.to, s.at)
	}
	return s.at, float64(s.at % 1009)
}
func (s *samples) AtHistogram(*histogram.Histogram) (int64, *histogram.Histogram) { return 0, nil }
func (s *samples) AtFloatHistogram(*histogram.FloatHistogram) (int64, *histogram.FloatHistogram) {
	return 0, nil
}

func number(s string) int64 {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		panic(err)
	}
	return n
}

func within(t int64, claims []span) bool {
	for _, c := range claims {
		if t >= c.from && t <= c.to {
			return true
		}
	}
	return false
}

func main() {
	parser.EnableExperimentalFunctions = true
	parser.ExperimentalDurationExpr = true
	engine := promql.NewEngine(promql.EngineOpts{
		MaxSamples: 10000, Timeout: time.Second, LookbackDelta: 5 * time.Minute,
		EnableAtModifier: true, EnableNegativeOffset: true,
		NoStepSubqueryIntervalFn: func(int64) int64 { return 60000 },
	})
	in := bufio.NewReader(os.Stdin)
	reads, beyond := 0, 0
	for {
		record, err := in.ReadString(0)
		if err != nil {
			break
		}
		head, query, _ := strings.Cut(record[:len(record)-1], "\x01")
		f := strings.Fields(head)
		start, end := time.UnixMilli(number(f[0])), time.UnixMilli(number(f[1]))
		claims := map[string][]span{}
		for _, c := range f[3:] {
			p := strings.Split(c, ":")
			claims[p[0]] = append(claims[p[0]], span{number(p[1]), number(p[2])})
		}
		looked = map[string]*span{}
		var q promql.Query
		if start.Equal(end) {
			q, err = engine.NewInstantQuery(context.Background(), world{}, nil, query, end)
		} else {
			q, err = engine.NewRangeQuery(context.Background(), world{}, nil, query, start, end, time.Duration(number(f[2]))*time.Millisecond)
		}
		if err != nil {
			continue // a range vector over a range
		}
		q.Exec(context.Background()) // what it read until it was too much counts as well
		q.Close()
		for id, l := range looked {
			reads++
			if !within(l.from, claims[id]) || !within(l.to, claims[id]) {
				beyond++
				fmt.Printf("# unit %s is read in %d-%d: %s\n", id, l.from, l.to, strings.ReplaceAll(head+" "+query, "\n", " "))
			}
		}
	}
	fmt.Printf("%d %d\n", reads, beyond)
}
