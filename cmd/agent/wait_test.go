package main

import (
	"testing"

	"github.com/netwright/netwright/pkg/report"
)

// An earlier release has one generation in its status, without which of the three it is. When all
// is right that is the one that is applied. The line that keeps it: wait.go, reached.
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
