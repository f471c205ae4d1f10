package daemon

import (
	"maps"
	"net/netip"
	"reflect"
	"slices"
	"testing"

	"go.uber.org/zap"

	"github.com/netwright/netwright/pkg/config"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/host/facts"
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

// A fact that can change while the daemon runs has an event, or a reason why the next whole pass is
// soon enough. A new fact needs a line here. The line that keeps it: watch_host.go, interest.
func TestEachFactHasAnEventOrAReason(t *testing.T) {
	const (
		links, units, modules = "events of links", "events of units", "events of modules"
		boot                  = "it lasts as long as the kernel runs"
		rare                  = "other programs read these files when they start, and so late"
	)
	reasons := map[string]string{
		"Links":   links + " of the node, which have its MTU, and of their addresses: those of pods come and go",
		"Uplink":  links + " and of default routes on other links",
		"Address": "as Links", "RALinks": "a task owns the sysctls of these links, once they are known",
		"Services": units, "Kubelet": units + ": systemd reads the unit again", "Systemd": units,
		"Runtime":       "the daemon awaits another answer of the runtime; files beside which a task writes are watched",
		"ForwardPolicy": "events of nf_tables, where a task has a rule at the forward hook",
		"Kernel":        modules + "; all else of it: " + boot,
		"Instance":      "a look beside the passes asks for it",
		"Hostname":      boot, "Arch": boot, "OS": boot, "Init": boot, "Contain": boot, "Cloud": boot, "Cgroup": boot,
		"LateSysctls": rare, "UdevRules": rare, "GuestAliases": rare, "ResolvConf": rare, "Peers": rare,
		"SymbolicLinks": "a task's path is watched", "Problems": "they are those of the other facts",
	}
	for _, field := range reflect.VisibleFields(reflect.TypeFor[host.Facts]()) {
		if reasons[field.Name] == "" {
			t.Errorf("which event has %s gathered again, or why is the next whole pass soon enough?", field.Name)
		}
		delete(reasons, field.Name)
	}
	if len(reasons) > 0 {
		t.Errorf("there are no such facts: %v", reasons)
	}
	w := newHostWatch(nil, host.Options{}, zap.NewNop())
	w.facts = &host.Facts{Uplink: "host0", Address: netip.MustParseAddr("2001:db8::2"), Services: map[string]facts.ServiceState{"x.service": facts.ServiceRunning},
		Links: []host.LinkFact{{Name: "lo", Loopback: true}, {Name: "eth1", Physical: true}, {Name: "bond0", Kind: "bond"},
			{Name: "host0", Kind: "veth", Addresses: []netip.Prefix{netip.MustParsePrefix("192.0.2.2/24")}}, {Name: "pod7", Kind: "veth"}}}
	holders := map[string][]netip.Addr{"eth1": nil, "bond0": nil, "host0": {netip.MustParseAddr("192.0.2.2")}}
	if i := w.interest(); !maps.EqualFunc(i.Holders, holders, slices.Equal) || !slices.Equal(i.Units, []string{"x.service"}) {
		t.Errorf("the daemon watches the links %v and the units %q", i.Holders, i.Units)
	}
	if got, want := w.interest().Default, (watch.DefaultRoute{Link: "host0", IPv6: true}); got != want {
		t.Errorf("the default route is watched as %+v, want %+v", got, want)
	}
}
