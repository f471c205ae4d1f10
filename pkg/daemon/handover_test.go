package daemon

import (
	"strings"
	"testing"

	"github.com/netwright/netwright/pkg/config"
	"github.com/netwright/netwright/pkg/reconcile/desired"
	"github.com/netwright/netwright/pkg/statestore"
	"github.com/netwright/netwright/test/hostroot"
)

// After a network is handed over, the node keeps what was prepared for it. That holds at each pass,
// and after further changes of the documents, until switch.from names the network. Another network
// removes it at once.
func TestAHandedOverNetworkStaysPrepared(t *testing.T) {
	b := newBox(t)
	hostroot.Put(t, b.root, "/usr/lib/systemd/systemd-networkd", "")
	text := strings.Replace(hostroot.Read(t, b.store, "/demo/cluster.yaml"), "name: cni-plugins", "name: cni-plugins\n    members: [portmap, loopback, bridge, bandwidth, host-local]", 1)
	const modules, sysctls = "/etc/modules-load.d/netwright.conf", "/etc/sysctl.d/99-netwright.conf"
	prepared := func() bool {
		t.Helper()
		return strings.Contains(hostroot.Read(t, b.root, modules), "\nxt_set\n")
	}
	converge := func(networking string) {
		t.Helper()
		b.write(t, "cluster.yaml", strings.Replace(text, "{bridge: {}}", networking, 1))
		d, err := desired.Load(t.Context(), b.daemon.Store, config.Select{Node: "n"}, statestore.Revision{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := b.daemon.Pass.Converge(t.Context(), d); err != nil {
			t.Fatalf("%s: Converge returns %v", networking, err)
		}
	}
	for _, step := range []struct {
		networking string
		want       bool
	}{
		{"{calico: {}}", true},
		{"{cni: {}}", true},
		{"{cni: {}}", true}, // two passes after the documents of calico
		{"{cni: {}, switch: {from: calico}}", false},
		{"{cni: {}}", false},
		{"{calico: {}}", true},
		{"{flannel: {backend: vxlan}}", false},
	} {
		if converge(step.networking); prepared() != step.want {
			t.Errorf("%s: prepared for calico: %t, want %t\n%s%s", step.networking, !step.want, step.want, hostroot.Read(t, b.root, modules), hostroot.Read(t, b.root, sysctls))
		}
	}
}
