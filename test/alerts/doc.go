// Package alerts tests docs/alerts.yaml with Prometheus' own rule engine: when each alert fires,
// and when it does not. It is a separate module, so that the product does not depend on Prometheus.
package alerts
