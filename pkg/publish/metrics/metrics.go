// Package metrics shows a daemon's status to Prometheus. A scrape reads the last status that the
// daemon published, and never asks or holds up the daemon.
//
// No metric has a label that others can write: no key, path or text. A node has some hundred keys
// and a fleet thousands of nodes, and which of them fail is another set each time; by kind and
// state it is a bounded number of series. Which key it is say `agent status` on the node that an
// alert names, and its Events.
package metrics

import (
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/VictoriaMetrics/metrics"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/report"
)

// Requests counts what a store was asked since the daemon began: requests by how they ended, and
// the bytes of objects that came.
type Requests func() (byOutcome map[string]int64, received int64)

// Metrics is what a daemon is watched by. [Metrics.Observe] feeds it, [Metrics.Handler] shows it.
type Metrics struct {
	version  string
	now      atomic.Pointer[report.Status]
	requests Requests
	seen     time.Time     // when the pass began that was counted last; only Observe uses it
	scrapes  chan struct{} // those under way

	pass, phases, events, drift *metrics.Set // what is counted since the daemon began, a family each
}

// Bounds in seconds: a pass that changes nothing takes milliseconds, one that waits for a runtime
// minutes.
var bounds = []float64{.01, .05, .1, .25, .5, 1, 2.5, 5, 15, 60, 300}

// maxPhases bounds the series, whatever passes come to consist of.
const maxPhases = 16

// New returns metrics that say only which agent it is, until they are given a status. requests may
// be nil: then nothing is said of the store's.
func New(version string, requests Requests) *Metrics {
	m := &Metrics{version: version, requests: requests, scrapes: make(chan struct{}, maxScrapes),
		pass: metrics.NewSet(), phases: metrics.NewSet(), events: metrics.NewSet(), drift: metrics.NewSet()}
	m.pass.NewPrometheusHistogramExt(passName, bounds)
	for _, kind := range countedEvents {
		m.event(kind) // a counter that is there from the start has a rate from the first event on
	}
	return m
}

const passName = prefix + "pass_duration_seconds"

func (m *Metrics) event(kind report.EventKind) *metrics.Counter {
	label := strings.ReplaceAll(string(kind), " ", "_")
	return m.events.GetOrCreateCounter(series(prefix+"events_total", []string{"event"}, label))
}

// driftOf counts keys of a kind, of which a bounded number is known.
func (m *Metrics) driftOf(kind string) *metrics.Counter {
	return m.drift.GetOrCreateCounter(series(prefix+"drift_total", []string{"kind"}, kind))
}

// countedEvents are those that are counted.
var countedEvents = []report.EventKind{report.EventChanged, report.EventRepaired, report.EventFailed, report.EventWaiting,
	report.EventContested, report.EventDrifted, report.EventRight, report.EventRolledBack, report.EventPaused,
	report.EventResumed, report.EventConfigured, report.EventUntrusted}

// Observe takes a status, and what happened. It does not block. One goroutine calls it.
func (m *Metrics) Observe(s *report.Status, happened []report.Event) {
	for _, k := range s.Kinds {
		m.driftOf(k.Kind)
	}
	for _, e := range happened {
		if slices.Contains(countedEvents, e.Kind) {
			m.event(e.Kind).Inc()
		}
		if e.Kind == report.EventRepaired || e.Kind == report.EventDrifted {
			m.driftOf(graph.Key(e.Key).Kind()).Inc()
		}
	}
	if p := s.Last; p != nil && !p.Began.Equal(m.seen) {
		m.seen = p.Began
		m.pass.GetOrCreatePrometheusHistogramExt(passName, bounds).Update(float64(p.Took))
		for i, phase := range p.Phases {
			if i < maxPhases {
				name := series(prefix+"pass_phase_duration_seconds", []string{"phase"}, phase.Name)
				m.phases.GetOrCreatePrometheusHistogramExt(name, bounds).Update(float64(phase.Took))
			}
		}
	}
	m.now.Store(s)
}

// Handler answers a scrape, of the agent's metrics and of its process.
func (m *Metrics) Handler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		select {
		case m.scrapes <- struct{}{}:
			defer func() { <-m.scrapes }()
		default:
			http.Error(w, "others scrape now: ask again", http.StatusServiceUnavailable)
			return
		}
		w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
		_, _ = w.Write(m.page()) // who went away asks again
	})
}
