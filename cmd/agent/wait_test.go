package main

import (
	"testing"

	"github.com/netwright/netwright/pkg/report"
)

// The status of an earlier release has one generation, and does not say which of the three it is.
// When all is right it is the applied one. The line that keeps it: wait.go, reached.
func TestWaitBesideAnEarlierDaemon(t *testing.T) {
	for generation, want := range map[int64]bool{11: false, 12: true, 13: true} {
		view := report.StatusView{
			Status: &report.Status{State: report.NodeConverged, Configuration: report.Configuration{Generation: generation}},
			Daemon: report.Daemon{Running: true},
		}
		w := waiter{generation: 12}
		if got := w.reached(view); got != want {
			t.Errorf("generation %d: reached is %t", generation, got)
		}
	}
}
