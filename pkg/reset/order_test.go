package reset

import (
	"slices"
	"testing"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/ledger"
	"github.com/netwright/netwright/pkg/tasks"
)

// The kernel changes accept_redirects when ip_forward is written. So a reset writes it afterwards,
// as the agent did. An effect runs after what asks for it, also if it came before in the ledger.
// The lines that keep it: phases.go, arrangeBack (Requires).
func TestASysctlThatChangesOthersIsRestoredFirst(t *testing.T) {
	files, err := host.OpenFiles(host.Options{Root: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer files.Close()
	led := ledger.Load(files)
	forward, redirects := tasks.Sysctl{Key: "net.ipv4.ip_forward"}, tasks.Sysctl{Key: "net.ipv4.conf.all.accept_redirects"}
	first, later := forward.Owns()[0], redirects.Owns()[0]
	led.Entries()[later] = ledger.Entry{Key: later, Needs: []graph.Key{first, tasks.DaemonReload}}
	asks := tasks.Meta{Effects: []graph.Key{tasks.DaemonReload}}
	g, err := arrangeBack(led, []tasks.Restoration{{Meta: asks, Key: later, Restorer: redirects}, {Key: first, Restorer: forward}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var got []graph.Key
	for _, task := range g.Order() {
		got = append(got, task.Owns()[0])
	}
	if !slices.Equal(got, []graph.Key{first, later, tasks.DaemonReload}) {
		t.Errorf("restored in the order %v", got)
	}
}
