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
	"runtime"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/report"
)

// Requests counts what a store was asked since the daemon began: requests by how they ended, and
// the bytes of objects that came.
type Requests func() (byOutcome map[string]int64, received int64)

// Metrics is what a daemon is watched by. [Metrics.Observe] feeds it, [Metrics.Serve] shows it.
type Metrics struct {
	registry *prometheus.Registry
	now      atomic.Pointer[report.Status]
	requests Requests
	seen     time.Time // when the pass began that was counted last; only Observe uses it

	pass   prometheus.Histogram
	phases *prometheus.HistogramVec
	events *prometheus.CounterVec
	drift  *prometheus.CounterVec
}

// Bounds in seconds: a pass that changes nothing takes milliseconds, one that waits for a runtime
// minutes. Servers that take native histograms see more.
var bounds = []float64{.01, .05, .1, .25, .5, 1, 2.5, 5, 15, 60, 300}

// maxPhases bounds the series, whatever passes come to consist of.
const maxPhases = 16

// New returns metrics that say only which agent it is, until they are given a status. requests may
// be nil: then nothing is said of the store's.
func New(version string, requests Requests) *Metrics {
	m := &Metrics{registry: prometheus.NewRegistry(), requests: requests}
	histogram := func(name, help string) prometheus.HistogramOpts {
		return prometheus.HistogramOpts{Name: prefix + name, Help: help, Buckets: bounds,
			NativeHistogramBucketFactor: 1.1, NativeHistogramMaxBucketNumber: 100}
	}
	m.pass = prometheus.NewHistogram(histogram("pass_duration_seconds", "How long passes took."))
	m.phases = prometheus.NewHistogramVec(histogram("pass_phase_duration_seconds",
		"How long the parts of passes took."), []string{"phase"})
	m.events = prometheus.NewCounterVec(prometheus.CounterOpts{Name: prefix + "events_total",
		Help: "What happened to keys and to the node, by what it was."}, []string{"event"})
	m.drift = prometheus.NewCounterVec(prometheus.CounterOpts{Name: prefix + "drift_total",
		Help: "Keys that somebody else changed, repaired or only reported."}, []string{"kind"})
	build := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: prefix + "build_info", Help: "Always 1: which agent this is.",
		ConstLabels: prometheus.Labels{"version": version, "goversion": runtime.Version()},
	}, func() float64 { return 1 })
	for _, label := range eventLabels {
		m.events.WithLabelValues(label) // a counter that is there from the start has a rate from the first event on
	}
	m.registry.MustRegister(m.pass, m.phases, m.events, m.drift, build, &view{m: m})
	return m
}

// eventLabels are the events that are counted.
var eventLabels = map[report.EventKind]string{
	report.EventChanged: "changed", report.EventRepaired: "repaired", report.EventFailed: "failed",
	report.EventWaiting:   "waiting",
	report.EventContested: "contested", report.EventDrifted: "drifted", report.EventRight: "right_again",
	report.EventRolledBack: "rolled_back",
	report.EventPaused:     "paused", report.EventResumed: "resumed", report.EventConfigured: "configured",
	report.EventUntrusted: "untrusted",
}

// Observe takes a status, and what happened. It does not block. One goroutine calls it.
func (m *Metrics) Observe(s *report.Status, happened []report.Event) {
	for _, k := range s.Kinds {
		m.drift.WithLabelValues(k.Kind)
	}
	for _, e := range happened {
		if label, known := eventLabels[e.Kind]; known {
			m.events.WithLabelValues(label).Inc()
		}
		if e.Kind == report.EventRepaired || e.Kind == report.EventDrifted {
			m.drift.WithLabelValues(graph.Key(e.Key).Kind()).Inc()
		}
	}
	if p := s.Last; p != nil && !p.Began.Equal(m.seen) {
		m.seen = p.Began
		m.pass.Observe(float64(p.Took))
		for i, phase := range p.Phases {
			if i < maxPhases {
				m.phases.WithLabelValues(phase.Name).Observe(float64(phase.Took))
			}
		}
	}
	m.now.Store(s)
}

// Handler answers a scrape, of the agent's metrics and of its process. One metric that cannot be
// shown does not hide the others.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(prometheus.Gatherers{m.registry, prometheus.DefaultGatherer}, promhttp.HandlerOpts{
		MaxRequestsInFlight: maxScrapes, ErrorHandling: promhttp.ContinueOnError,
	})
}
