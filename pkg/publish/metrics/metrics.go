// Package metrics serves a daemon's status to Prometheus. A scrape reads the last status that the
// daemon published, and never waits for the daemon or delays it.
//
// No label has a value that others can write: no key, path or text. A node has about a hundred keys
// and a fleet has thousands of nodes, and different keys fail each time. By kind and state the
// number of series is bounded. `agent status` on the node that an alert names, and its Events, show
// the key.
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

// Requests returns what a store was asked since the daemon began: the number of requests by
// outcome, and the received bytes of objects.
type Requests func() (byOutcome map[string]int64, received int64)

// Metrics are the metrics of a daemon. [Metrics.Observe] updates them, and [Metrics.Handler] serves
// them.
type Metrics struct {
	version  string
	now      atomic.Pointer[report.Status]
	requests Requests
	seen     time.Time     // when the last counted pass began; only Observe uses it
	scrapes  chan struct{} // one element for each scrape under way

	pass, phases, events, drift *metrics.Set // what is counted since the daemon began, one family each
}

// Bounds of the histograms in seconds: a pass without changes takes milliseconds, and one that
// waits for the container runtime takes minutes.
var bounds = []float64{.01, .05, .1, .25, .5, 1, 2.5, 5, 15, 60, 300}

// maxPhases limits the number of series, whatever phases passes have.
const maxPhases = 16

// New returns metrics that only show the agent's version until Observe is called. requests may be
// nil: then there are no metrics of the store.
func New(version string, requests Requests) *Metrics {
	m := &Metrics{version: version, requests: requests, scrapes: make(chan struct{}, maxScrapes),
		pass: metrics.NewSet(), phases: metrics.NewSet(), events: metrics.NewSet(), drift: metrics.NewSet()}
	m.pass.NewPrometheusHistogramExt(passName, bounds)
	for _, kind := range countedEvents {
		m.event(kind) // a counter that exists from the start has a rate from the first event on
	}
	return m
}

const passName = prefix + "pass_duration_seconds"

func (m *Metrics) event(kind report.EventKind) *metrics.Counter {
	label := strings.ReplaceAll(string(kind), " ", "_")
	return m.events.GetOrCreateCounter(series(prefix+"events_total", []string{"event"}, label))
}

// driftOf returns the counter of drifted keys of a kind. The number of kinds is bounded.
func (m *Metrics) driftOf(kind string) *metrics.Counter {
	return m.drift.GetOrCreateCounter(series(prefix+"drift_total", []string{"kind"}, kind))
}

// countedEvents are the kinds of events that are counted.
var countedEvents = []report.EventKind{report.EventChanged, report.EventRepaired, report.EventFailed, report.EventWaiting,
	report.EventContested, report.EventDrifted, report.EventRight, report.EventRolledBack, report.EventPaused,
	report.EventResumed, report.EventConfigured, report.EventUntrusted}

// Observe updates the metrics from a status and its events. It does not block. Only one goroutine
// may call it.
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

// Handler serves scrapes: the agent's metrics and those of its process.
func (m *Metrics) Handler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		select {
		case m.scrapes <- struct{}{}:
			defer func() { <-m.scrapes }()
		default:
			http.Error(w, "too many scrapes at once: try again", http.StatusServiceUnavailable)
			return
		}
		w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
		_, _ = w.Write(m.page()) // a client that has gone scrapes again
	})
}
