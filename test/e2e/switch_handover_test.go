package e2e

import (
	"strings"
	"testing"
)

// A network is handed over to its owner. What the agent prepared on the node for that network stays
// after a boot. When the documents say that the network is gone, the agent removes it, too.
//
// The lines that keep it: pkg/reconcile/desired/handover.go; pkg/model/network/preparation.go,
// WithPrepared.
func TestSwitchHandsOver(t *testing.T) {
	t.Parallel()
	n := newSwitchNode(t, "    calico: {wireguardEnabled: true}\n", "")
	ctx := t.Context()
	stands := func() string {
		return n.Shell(ctx, "sysctl net.ipv4.conf.all.src_valid_mark; grep src_valid /etc/sysctl.d/99-netwright.conf; sort /etc/modules-load.d/netwright.conf")
	}
	before := stands()
	n.wants("    cni: {}\n")
	n.once(0)
	if now := stands(); now != before {
		t.Errorf("after the handover:\n%swant\n%s", now, before)
	}
	n.Reboot(ctx) // only the files act, without a pass of the agent
	if now := stands(); now != before {
		t.Errorf("after a boot:\n%swant\n%s", now, before)
	}
	n.once(0)
	if now := stands(); now != before {
		t.Errorf("after a pass:\n%swant\n%s", now, before)
	}
	n.wants("    cni: {}\n    switch: {allow: true, from: calico}\n")
	n.once(0)
	if left := n.Shell(ctx, "cat /etc/sysctl.d/99-netwright.conf /etc/modules-load.d/netwright.conf"); strings.Contains(left, "src_valid_mark") || strings.Contains(left, "wireguard") {
		t.Errorf("the network is gone, and its settings are left: %s", left)
	}
}
