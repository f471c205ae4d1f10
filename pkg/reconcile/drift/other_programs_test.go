package drift

import (
	"testing"
	"time"

	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/ledger"
	"github.com/netwright/netwright/pkg/reconcile/changes"
	"github.com/netwright/netwright/pkg/tasks"
)

// A process that was found to write a key, and has ended, is not said to write it still. A process
// that runs keeps its name where a search does not find it. The lines that keep it:
// pkg/reconcile/drift/other_programs.go, NameWriters.
func TestAWriterThatEndedIsNotNamedAsRunning(t *testing.T) {
	live, err := host.OpenView(t.Context(), host.Options{Root: "/"})
	if err != nil {
		t.Fatal(err)
	}
	defer live.Close()
	self := host.Self()
	ended := host.Process{PID: self.PID, Started: self.Started + 1} // no process has this start
	for name, c := range map[string]struct {
		by   host.WriterID
		want string
	}{
		"ended":   {host.WriterID{Process: ended}, "sh (ended since)"},
		"runs":    {host.WriterID{Process: self}, "sh"},
		"unknown": {host.WriterID{}, "sh"},
	} {
		d, key := &Judge{found: changes.NewRepairs()}, tasks.FileKey("/nw-of-nobody-"+name)
		d.found.Put(key, &ledger.Drift{Recent: []time.Time{noon, noon}, Writer: "sh", By: c.by}, nil)
		for range 2 {
			d.NameWriters(t.Context(), &host.Host{Live: live})
			if got := d.found.Note(key).Writer; got != c.want {
				t.Errorf("%s: the writer is %q, want %q", name, got, c.want)
			}
		}
	}
}
