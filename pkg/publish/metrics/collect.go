package metrics

import (
	"sync"

	"github.com/prometheus/client_golang/prometheus"
)

// view collects the metrics of the last status.
type view struct {
	m    *Metrics
	once sync.Once
	list []described

	outcomes, received *prometheus.Desc
}

type described struct {
	metric
	desc *prometheus.Desc
}

// describe makes the descriptions, which a program that serves no metrics does without.
func (v *view) describe() {
	v.once.Do(func() {
		for _, one := range metrics() {
			v.list = append(v.list, described{one, prometheus.NewDesc(prefix+one.name, one.help, one.labels, nil)})
		}
		v.outcomes = prometheus.NewDesc(prefix+"store_requests_total", "Requests to the store by how they ended.",
			[]string{"outcome"}, nil)
		v.received = prometheus.NewDesc(prefix+"store_received_bytes_total",
			"Bytes of objects that came from the store.", nil, nil)
	})
}

// Describe implements [prometheus.Collector].
func (v *view) Describe(to chan<- *prometheus.Desc) {
	v.describe()
	for _, one := range v.list {
		to <- one.desc
	}
	to <- v.outcomes
	to <- v.received
}

// Collect implements [prometheus.Collector].
func (v *view) Collect(to chan<- prometheus.Metric) {
	v.describe()
	if v.m.requests != nil {
		outcomes, received := v.m.requests()
		for outcome, n := range outcomes {
			send(to, v.outcomes, counter, float64(n), outcome)
		}
		send(to, v.received, counter, float64(received))
	}
	s := v.m.now.Load()
	if s == nil {
		return
	}
	for _, one := range v.list {
		one.read(s, func(value float64, labels ...string) {
			send(to, one.desc, one.kind, value, labels...)
		})
	}
}

// send is one value. What Prometheus cannot take is an error of the scrape.
func send(
	to chan<- prometheus.Metric, desc *prometheus.Desc, kind prometheus.ValueType, value float64, labels ...string,
) {
	m, err := prometheus.NewConstMetric(desc, kind, value, labels...)
	if err != nil {
		m = prometheus.NewInvalidMetric(desc, err)
	}
	to <- m
}
