package migrate

import (
	"testing"

	"github.com/netwright/netwright/pkg/check"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/ledger"
	"github.com/netwright/netwright/pkg/model"
)

// An image that was baked for one network becomes a node of another one at its first boot, since no
// pod of this machine ever had the first network. A machine that has run with it needs leave to
// switch (TestLeave).
func TestBakedNetworkGivesWay(t *testing.T) {
	h, err := host.Open(t.Context(), host.Options{Root: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.Close() })
	led := ledger.Load(h.Live.Files)
	if err := led.Commit(t.Context(), h.Files, ledger.Batch{Head: ledger.Head{Current: 1, Network: ledger.Network{Name: "bridge", PodCIDRs: "10.244.0.0/16"}}}); err != nil {
		t.Fatal(err)
	}
	d := wants(t, "flannel: {backend: vxlan}")
	g, _, err := d.Graph(check.DefaultFacts(), model.Discovered{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	s, err := leaving(t, false, d, g, nodeOver(t, nil), led)
	if err != nil || s == nil {
		t.Fatalf("no switch: %v", err)
	}
	if s.Blocked != nil || s.Report().Kind != "safe" {
		t.Errorf("the switch is %s, held by: %v", s.Report().Kind, s.Blocked)
	}
}
