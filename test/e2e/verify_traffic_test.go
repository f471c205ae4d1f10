package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/netwright/netwright/test/node"
	"github.com/netwright/netwright/test/rerun"
)

// proofOf has what `agent verify --traffic -o json` prints.
type proofOf struct {
	Network, State string
	Checks         []struct{ Check, State, Seen, Next string }
}

// prove sends packets on a node, and to the endpoint of another node.
func prove(ctx context.Context, t *testing.T, n, to *node.Node, wantCode int) (out proofOf) {
	t.Helper()
	res := n.Run(ctx, "netwright", "verify", "-o", "json", "--traffic", "--peer", to.Address()+":10790")
	if err := json.Unmarshal([]byte(res.Stdout), &out); err != nil || res.Code != wantCode {
		t.Errorf("%s: verify --traffic: exit %d, want %d (%v)\n%s%s", n.Name(), res.Code, wantCode, err, res.Stdout, res.Stderr)
	}
	return out
}

// answers starts a node's endpoint for the proofs of others.
func answers(ctx context.Context, t *testing.T, n *node.Node) {
	t.Helper()
	n.Must(ctx, "systemd-run", "--quiet", "--collect", "--unit=endpoint", "--", "/usr/bin/netwright", "verify", "--serve")
	until(t, n, "the endpoint answers", "journalctl -b -o cat -u endpoint | grep -q 'answering as a pod'")
}

// proved has each of two nodes with a network prove it, and prints the table. Nothing is left
// behind.
func proved(ctx context.Context, t *testing.T, title string, nodes [2]*node.Node) {
	t.Helper()
	var table strings.Builder
	for i, n := range nodes {
		answers(ctx, t, nodes[1-i])
		before := traces(ctx, n)
		out := prove(ctx, t, n, nodes[1-i], 0)
		for _, c := range out.Checks {
			if c.State == "failed" || c.State == "waiting" {
				t.Errorf("%s: got %+v", n.Name(), c)
			}
			if i == 0 && proofs[c.Check] {
				fmt.Fprintf(&table, "%s | %s | %s | %s\n", title, c.Check, c.State, c.Seen)
			}
		}
		if after := traces(ctx, n); after != before {
			t.Errorf("%s: a proof left something behind:\n%s\nbefore:\n%s", n.Name(), after, before)
		}
		nodes[1-i].Must(ctx, "systemctl", "stop", "endpoint")
	}
	t.Logf("agent verify --traffic:\n%s", table.String())
}

// proofs has the checks that --traffic adds.
var proofs = map[string]bool{"localhost": true, "pod to pod": true, "node and pod": true, "pod to service": true, "hairpin": true, "outside to service": true,
	"pod to outside": true, "masquerade": true, "MTU": true, "pod to pod of another node": true, "MTU to another node": true, "pod to another node": true,
	"another node to service": true}

// traces returns what a proof could leave on a node.
func traces(ctx context.Context, n *node.Node) string {
	return n.Shell(ctx, `set +e; ls /sys/class/net; nft list tables | grep netwright-verify; find /run/netns /run/netwright/cni /var/lib/cni /run/cni ! -type d ! -name 'last_*' ! -name lock; true`)
}

// The test breaks one thing at a time. The check that depends on it names it, and all is well after
// the repair. What a killed proof leaves, the next proof removes, and so does a reset.
func TestVerifyTraffic(t *testing.T) {
	t.Parallel()
	rerun.Never(t, "it kills the proof")
	ctx := t.Context()
	fabric, nodes := twoNodes(t, bridgeSpec)
	for _, n := range nodes {
		n.Must(ctx, "netwright", "--once")
	}
	proved(ctx, t, "bridge", nodes)
	answers(ctx, t, nodes[1])
	n := nodes[0]
	ports := func(mtu string) {
		t.Helper()
		err := fabric.Do(func() error {
			links, err := os.ReadDir("/proc/thread-self/net/dev_snmp6") // of this namespace
			for _, l := range links {
				if strings.HasPrefix(l.Name(), "vb-") {
					command(t, "ip", "-n", strings.TrimPrefix(fabric.Netns(), "/run/netns/"), "link", "set", l.Name(), "mtu", mtu)
				}
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	shell := func(script string) func() { return func() { n.Shell(ctx, script) } }
	converge := func() { n.Must(ctx, "netwright", "--once") }
	for _, c := range []struct {
		name        string
		spoil, mend func()
		failed      []string // the checks
		says        string
	}{
		{"bridged packets pass by iptables", shell("sysctl -qw net.bridge.bridge-nf-call-iptables=0"), converge, []string{"pod to service"}, "net.bridge.bridge-nf-call-iptables is 0"},
		{"a hop swallows large packets", func() { ports("1400") }, func() { ports("1500") }, []string{"MTU to another node"}, "packets of 1500 bytes vanish, and those of 1400 arrive: a black hole"},
		{"a hop refuses large packets", shell("ip route change 10.244.2.0/24 via 10.77.0.12 proto $(ip route show 10.244.2.0/24 | awk '{for(i=1;i<NF;i++) if($i==\"proto\") print $(i+1)}') mtu 1300"),
			converge, []string{"MTU to another node"}, "pods send 1500 bytes, and the way takes 1300: a router says so"},
		{"nothing masquerades", shell("nft delete table ip netwright"), converge, []string{"masquerade"}, "sees the pod's own 10.244.1."},
		{"too much is masqueraded", shell("nft add table ip wide; nft add chain ip wide post '{ type nat hook postrouting priority 90; }'; nft add rule ip wide post ip saddr 10.244.0.0/16 oifname host0 masquerade"),
			shell("nft delete table ip wide"), []string{"pod to pod of another node", "pod to another node"}, "and not the pod's own 10.244.1."},
		{"no route to the other node's pods", shell("ip route del 10.244.2.0/24"), converge, []string{"pod to pod of another node", "MTU to another node"}, "ip route get 10.244.2."},
		{"FORWARD drops", shell("iptables -P FORWARD DROP; iptables -F FORWARD; nft add table inet drops; nft add chain inet drops f '{ type filter hook forward priority 5; policy drop; }'"),
			func() { n.Shell(ctx, "iptables -P FORWARD ACCEPT; nft delete table inet drops"); converge() },
			[]string{"pod to pod", "pod to service", "hairpin", "outside to service", "pod to outside", "MTU", "pod to pod of another node", "MTU to another node", "pod to another node", "another node to service"}, "the policy of FORWARD is drop"},
		{"no hairpin", shell(`sed -i 's/"hairpinMode": *true/"hairpinMode": false/' /etc/cni/net.d/05-netwright-bridge.conflist; grep -q '"hairpinMode": false' /etc/cni/net.d/05-netwright-bridge.conflist`),
			converge, []string{"hairpin"}, "is hairpin mode on"},
	} {
		c.spoil()
		var failed []string
		said := ""
		for _, r := range prove(ctx, t, n, nodes[1], 1).Checks {
			if r.State == "failed" && proofs[r.Check] {
				failed = append(failed, r.Check)
				said += r.Seen + " → " + r.Next + "\n"
			}
		}
		if !slices.Equal(failed, c.failed) || !strings.Contains(said, c.says) {
			t.Errorf("%s: %q failed, want %q and %q\n%s", c.name, failed, c.failed, c.says, said)
		}
		c.mend()
	}
	killedProof(ctx, t, n)
	prove(ctx, t, n, nodes[1], 0)
}

// killedProof kills a proof that has added one pod and is adding the next. The next proof removes
// what is left, and so does a reset.
func killedProof(ctx context.Context, t *testing.T, n *node.Node) {
	t.Helper()
	before := traces(ctx, n)
	kill := func() {
		t.Helper()
		const portmap = "/opt/cni/bin/portmap"
		n.Shell(ctx, "rm -f /run/hangs; mv "+portmap+" /run/portmap")
		n.Write(portmap, "#!/bin/sh\ncase $CNI_COMMAND$CNI_CONTAINERID in ADDverify-b) : >/run/hangs; exec sleep infinity;; esac\nexec /run/portmap\n", 0o755)
		n.Must(ctx, "systemd-run", "--quiet", "--unit=killed", "--", "/usr/bin/netwright", "verify", "--traffic")
		until(t, n, "the second pod is being added", "test -e /run/hangs")
		n.Must(ctx, "systemctl", "kill", "-s", "KILL", "killed")
		until(t, n, "the proof is dead", "! systemctl -q is-active killed")
		n.Shell(ctx, "systemctl reset-failed killed; mv /run/portmap "+portmap)
		if left := traces(ctx, n); !strings.Contains(left, "netwright-verify-a") || !strings.Contains(left, "netwright-verify-b") {
			t.Errorf("a proof that was killed left nothing, and shows nothing:\n%s", left)
		}
	}
	kill()
	n.Must(ctx, "netwright", "verify", "--traffic")
	if after := traces(ctx, n); after != before {
		t.Errorf("after a killed proof and another:\n%s\nbefore:\n%s", after, before)
	}
	kill()
	n.Must(ctx, "netwright", "reset")
	if after := traces(ctx, n); strings.Contains(after, "verify") {
		t.Errorf("after a killed proof and a reset:\n%s", after)
	}
	n.Must(ctx, "netwright", "--once")
}
