package tasks

import (
	"os"
	"path/filepath"
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

// A module that can be loaded is planned, and what needs it follows in the same plan. A module that
// is not loaded here brings nothing. The lines that keep it: module.go, Plan (Pending); sysctl.go,
// planMissing.
func TestWhatNeedsAModuleFollowsInTheSamePlan(t *testing.T) {
	h, _ := onDisk(t)
	tree := t.TempDir()
	for path, content := range map[string]string{
		"/proc/modules": "", "/sys/module/x/initstate": "live\n", "/lib/6.1.0/modules.dep": "kernel/net/bridge/br_netfilter.ko:\n",
	} {
		ok(t, os.MkdirAll(filepath.Dir(tree+path), 0o755), os.WriteFile(tree+path, []byte(content), 0o644))
	}
	v, known := h.Live.View(), *h.Live.Facts
	v.Facts = &known
	v.Kernel = &kernel.Reader{Live: true, Proc: tree + "/proc", Sys: tree + "/sys", Lib: tree + "/lib", Release: "6.1.0"}
	known.Kernel.HostSysctls = true
	key := Sysctl{Key: "net.bridge.bridge-nf-call-iptables", Value: "1"}
	for loads, reason := range map[bool]string{true: "absent until module br_netfilter is loaded", false: "value differs"} {
		known.Kernel.Modules = loads
		pending := host.NewPending(nil)
		c := plan(t, Module{Name: "br-netfilter"}, v)
		pending.Add(c.Pending...)
		next := plan(t, key, pending.Over(v))
		if (c.NotApplicable == "") != loads || next == nil || next.Reason != reason {
			t.Errorf("modules can be loaded: %t; planned %+v, then %+v", loads, c, next)
		}
	}
}

func TestModuleInAnImage(t *testing.T) {
	h, _ := onDisk(t)
	if c := plan(t, Module{Name: "br_netfilter"}, h.Live.View()); c == nil || c.NotApplicable == "" {
		t.Errorf("planned %+v", c)
	}
}
