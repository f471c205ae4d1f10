package tasks

import (
	"slices"
	"testing"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/host/kernel"
)

func TestModule(t *testing.T) {
	h, err := host.Open(t.Context(), host.Options{Sandbox: true})
	ok(t, err)
	t.Cleanup(func() { h.Close() })
	state := func(name string) kernel.ModuleState {
		s, err := h.Live.Kernel.Module(name)
		ok(t, err)
		return s
	}
	// At least one of these is on every machine that runs this test: ipv6 or nf_conntrack, for
	// example.
	there := slices.IndexFunc([]string{"ipv6", "nf_conntrack", "overlay"}, func(n string) bool {
		return state(n) == kernel.ModuleBuiltin || state(n) == kernel.ModuleLoaded
	})
	if there < 0 {
		t.Fatal("this kernel shows none of its modules")
	}
	if c := plan(t, Module{Name: []string{"ipv6", "nf_conntrack", "overlay"}[there]}, h.Live.View()); c != nil {
		t.Errorf("planned %+v", c)
	}
	// In a sandbox the task loads nothing, and says what it would load.
	c := plan(t, Module{Name: "no-such-module"}, h.Live.View())
	if c == nil || c.NotApplicable == "" || len(c.Pending) > 0 {
		t.Errorf("planned %+v", c)
	}
	wantLines(t, c, "! module:no_such_module,  not loaded→loaded")
	wantError(t, Module{Name: "../x"}, h.Live.View(), "no name of a kernel module")
	if !slices.Equal((Module{Name: "br-netfilter"}).Owns(), []graph.Key{"module:br_netfilter"}) {
		t.Error("hyphens make another key")
	}
}

func TestModuleInAnImage(t *testing.T) {
	h, _ := onDisk(t)
	if c := plan(t, Module{Name: "br_netfilter"}, h.Live.View()); c == nil || c.NotApplicable == "" {
		t.Errorf("planned %+v", c)
	}
}
