package daemon

import (
	"testing"

	"github.com/netwright/netwright/pkg/config"
	"github.com/netwright/netwright/pkg/host/watch"
	"github.com/netwright/netwright/pkg/reconcile/desired"
	"github.com/netwright/netwright/pkg/statestore"
)

// A pass that only an event of the host caused uses the facts that are known. Every other pass
// gathers them again. An event about a source of facts has them gathered again, too. The lines that
// keep it: loop.go, round; watch_host.go, subscribe and inFacts.
func TestFactsAreGatheredWhereTheyMayBeOthers(t *testing.T) {
	b := newBox(t)
	b.daemon.Watcher = watch.New(watch.Options{Root: b.root})
	l := newLoop(b.daemon)
	defer l.drift.close()
	l.status.begin(b.daemon, l.turn.daemon)
	var err error
	if l.desired, err = desired.Load(t.Context(), l.Store, config.Select{Node: "n"}, statestore.Revision{}); err != nil {
		t.Fatal(err)
	}
	l.round(t.Context(), trigger{cause: "start"})
	first := l.drift.facts
	if first == nil {
		t.Fatal("the first pass keeps no facts")
	}
	if l.round(t.Context(), drifted([]string{"files"})); l.drift.facts != first {
		t.Error("a pass after an event gathers the facts anew")
	}
	if l.round(t.Context(), trigger{cause: "interval"}); l.drift.facts == first {
		t.Error("a pass that nothing on the host asked for goes by old facts")
	}
	for source, want := range map[watch.Source]bool{
		watch.Files: false, watch.Rules: false, watch.Sysctls: false, watch.Links: true, watch.Addresses: true, watch.Routes: true,
		watch.NFT: true, watch.Modules: true, watch.Mounts: true, watch.Units: true,
	} {
		if inFacts(source) != want {
			t.Errorf("facts are made of what %s tell: %t, want %t", source, !want, want)
		}
	}
}
