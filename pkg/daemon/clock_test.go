package daemon

import (
	"testing"
	"time"

	"github.com/netwright/netwright/pkg/host"
)

// A status has when it was published by two clocks, so that a reader knows whether somebody set one
// since. The line that keeps it: node_status.go, notify.
func TestAStatusHasTwoClocks(t *testing.T) {
	b, told := newBox(t), &listener{}
	b.daemon.Observers = []Observer{told}
	newLoop(b.daemon).status.begin(b.daemon, time.Now())
	got := told.last()
	if up := host.Uptime() - got.Up.Duration(); up < 0 || up > time.Minute || time.Since(got.At) > time.Minute {
		t.Errorf("published at %s, %s after the boot", got.At, got.Up.Duration())
	}
}
