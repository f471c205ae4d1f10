// Package alerts holds docs/alerts.yaml against Prometheus' own rule engine: when each alert fires,
// and when it does not. It is a module of its own, so that the product does not depend on
// Prometheus.
package alerts
