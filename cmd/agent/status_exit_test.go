package main

import (
	"errors"
	"testing"

	"github.com/netwright/netwright/pkg/cli"
	"github.com/netwright/netwright/pkg/report"
)

// The exit code of `agent status` says that somebody must look, also where a certificate that is
// wanted has expired and each key is right. The line that keeps it: status.go, statusExit.
func TestStatusExit(t *testing.T) {
	running := report.Daemon{Running: true}
	expired := []report.Certificate{{Name: "own", State: "expired", Problem: "the agent cannot renew it"}}
	for name, c := range map[string]struct {
		view report.StatusView
		want error
	}{
		"right":          {report.StatusView{Status: &report.Status{State: report.NodeConverged}, Daemon: running}, nil},
		"a certificate":  {report.StatusView{Status: &report.Status{State: report.NodeConverged, Certificates: expired}, Daemon: running}, cli.ExitChanges},
		"a key fails":    {report.StatusView{Status: &report.Status{State: report.NodeFailing}, Daemon: running}, cli.ExitChanges},
		"time is needed": {report.StatusView{Status: &report.Status{State: report.NodeWaiting}, Daemon: running}, cli.ExitWaiting},
		"no daemon":      {report.StatusView{Status: &report.Status{State: report.NodeConverged}}, cli.ExitNotRunning},
	} {
		if got := statusExit(c.view); !errors.Is(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}
