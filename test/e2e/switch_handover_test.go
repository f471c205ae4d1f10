package e2e

import (
	"strings"
	"testing"
)

// A network that is handed over to its owner stands after a boot on what the node was prepared with
// for it. When the documents say that it is gone, that goes too.
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
	n.Reboot(ctx) // without a pass of the agent: by its files alone
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
		t.Errorf("it is gone, and this is left: %s", left)
	}
}
