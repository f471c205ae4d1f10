package cleanup

import (
	"strings"
	"testing"

	"github.com/netwright/netwright/test/needs"
	"github.com/netwright/netwright/test/node"
)

// ovs starts the daemons of Open vSwitch without its kernel module: their bridges have a packet
// path of their own.
const ovs = `
systemctl -q disable --now openvswitch-switch.service ovs-vswitchd.service ovsdb-server.service 2>/dev/null || true
mkdir -p /run/openvswitch /etc/openvswitch
rm -f /etc/openvswitch/conf.db
ovsdb-tool create /etc/openvswitch/conf.db /usr/share/openvswitch/vswitch.ovsschema
systemd-run -q --unit=lab-ovsdb ovsdb-server /etc/openvswitch/conf.db --remote=punix:/run/openvswitch/db.sock
until ovs-vsctl --timeout=5 --no-wait init 2>/dev/null; do sleep 0.1; done
systemd-run -q --unit=lab-vswitchd ovs-vswitchd unix:/run/openvswitch/db.sock
for b in br-int br-other; do ovs-vsctl --timeout=60 add-br $b -- set bridge $b datapath_type=netdev; done
ovs-vsctl set open . external_ids:ovn-remote=ssl:10.0.0.1 external_ids:ovn-remotes=kept external_ids:system-id=kept
`

func TestBridgesOfOpenVSwitch(t *testing.T) {
	t.Parallel()
	needs.Root(t)
	n := node.NewFabric(t).Node(t, node.Options{Name: "n1", Address: "10.77.0.11", Degraded: true, Layers: []string{node.Layer(t, "openvswitch-switch")},
		Copies: map[string]string{"/lab/clean": clean(t)}})
	ctx := t.Context()
	n.Shell(ctx, ovs)
	planned := n.Shell(ctx, "/lab/clean ovn4nfv | grep ovs: || true")
	if planned != "ovs:bridge br-int\novs:key ovn-remote\n" {
		t.Errorf("planned %q", planned)
	}
	n.Shell(ctx, "/lab/clean -apply ovn4nfv")
	if got := n.Shell(ctx, "ovs-vsctl list-br"); got != "br-other\n" {
		t.Errorf("bridges: %q", got)
	}
	if got := n.Shell(ctx, "ovs-vsctl get open . external_ids"); strings.Contains(got, "ovn-remote=") || !strings.Contains(got, "ovn-remotes=kept") || !strings.Contains(got, "system-id=kept") {
		t.Errorf("settings: %s", got)
	}
	if got := n.Shell(ctx, "ip -o link | grep -c ' br-int' || true"); got != "0\n" {
		t.Errorf("%s links br-int", got)
	}
	// Without its daemons nothing can be asked, and that is no error.
	n.Shell(ctx, "systemctl stop lab-vswitchd lab-ovsdb; /lab/clean ovn4nfv; /lab/clean -apply ovn4nfv")
}
