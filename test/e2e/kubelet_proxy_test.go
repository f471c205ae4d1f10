package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/netwright/netwright/test/node"
)

// The agent removes what the real kube-proxy leaves of a mode that the documents no longer want. It
// does so only when kube-proxy runs in the other mode, or has ended. The truth is what `kube-proxy
// --cleanup` leaves on a second node. What kubelets made stays, and so do the rules of other
// programs.
func TestKubernetesKubeletProxyModes(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	k := newKubelets(t, "    bridge: {}\n")
	k.ready()
	first, second := k.nodes[0], k.nodes[1]
	second.Must(ctx, "systemctl", "stop", "netwright-agent") // there kube-proxy itself removes its rules
	k.pod("client", first, "")
	k.pod("near", first, "")
	near := k.address("default", "near")
	k.service("near", "10.96.0.50", near, first)
	for _, n := range k.nodes {
		n.Shell(ctx, `for p in iptables ip6tables; do $p -N KUBE-OTHERS; $p -A INPUT -m comment --comment "kubernetes forwarding rules" -j KUBE-OTHERS; done; nft add table inet kube-proxy; ipset create KUBE-OTHERS hash:ip`)
	}
	before := kubeRules(t, first)
	for _, words := range []string{":KUBE-KUBELET-CANARY", "-A INPUT -j KUBE-FIREWALL", "KUBE-OTHERS", "table inet kube-proxy"} {
		if !strings.Contains(before, words) {
			t.Fatalf("there is no %s:\n%s", words, before)
		}
	}
	says := func(proxy string) {
		first.Write("/srv/netwright/"+cluster+"/cluster.yaml", strings.Replace(k.document("    bridge: {}\n"), "  networking:\n", "  kubeProxy: "+proxy+"\n  networking:\n", 1), 0o644)
	}
	holds := func(why string) {
		t.Helper()
		until(t, first, "the plan waits: "+why, "netwright --dry-run | grep -q '"+why+"'")
	}
	for _, c := range []struct{ mode, rules, other string }{
		{"iptables", "iptables-save -t nat | grep -q KUBE-SVC", "nftables"},
		{"nftables", "nft list map ip kube-proxy service-ips | grep -q 10.96.0.50", "iptables"},
	} {
		mode := c.mode
		t.Run(mode, func(t *testing.T) {
			k.proxy(mode)
			for _, n := range k.nodes {
				until(t, n, "the rules are of mode "+mode, c.rules)
			}
			says("{proxyMode: " + c.other + "}")
			holds("says that it runs in mode " + mode)
			out, code := verifies(t, first)
			said := ""
			for _, check := range out.Checks {
				if check.Check == "kube-proxy mode" {
					said += check.State + ": " + check.Seen
				}
			}
			if code != 1 || !strings.HasPrefix(said, "failed: ") || !strings.HasSuffix(said, "says "+mode+", and the documents say "+c.other) {
				t.Errorf("verify: exit %d, of the mode %q", code, said)
			}
			says("{enabled: false}")
			holds("it runs here in mode " + mode)
			first.Shell(ctx, c.rules)
			if got := k.answer(first, "client", "http://10.96.0.50/"); !strings.HasPrefix(got, "near ") {
				t.Errorf("its service answers %q", got)
			}
			for _, n := range k.nodes {
				n.Must(ctx, "systemctl", "stop", "kube-proxy")
			}
			second.Must(ctx, "kube-proxy", "--cleanup", "--config=/etc/kubernetes/proxy.yaml")
			until(t, first, "what it left is gone", "! "+c.rules+" && ! netwright --dry-run | grep -q cleanup:kubeProxy")
			var got []string
			for line := range strings.Lines(kubeRules(t, first)) {
				if !strings.Contains(line, "KUBE-MARK-MASQ") { // the page says that a kubelet may have made it
					got = append(got, line)
				}
			}
			want := kubeRules(t, second)
			if strings.Join(got, "") != want {
				t.Errorf("by the agent there is:\n%s\nby kube-proxy:\n%s", strings.Join(got, ""), want)
			}
			for line := range strings.Lines(before) { // kube-proxy leaves what it adds to kubelets' chains
				if !slices.Contains(got, line) {
					t.Errorf("of others there was: %s", line)
				}
			}
		})
	}
	// These rules have the form of pkg/proxy/ipvs, since this kernel has no IPVS for kube-proxy.
	t.Run("ipvs to iptables", func(t *testing.T) {
		k.proxy("iptables")
		// kube-proxy writes the chain for marks last, in its turn for IPv6.
		until(t, first, "the rules are of mode iptables", "iptables-save -t nat | grep -q KUBE-SVC && ip6tables-save -t nat | grep -q KUBE-MARK-MASQ")
		answered := func() {
			t.Helper()
			if got := k.answer(first, "client", "http://10.96.0.50/"); !strings.HasPrefix(got, "near ") {
				t.Errorf("its service answers %q", got)
			}
		}
		answered()
		running := kubeRules(t, first)
		first.Shell(ctx, `ipset create KUBE-LOAD-BALANCER hash:ip,port; ipset create KUBE-6-NODE-PORT-TCP bitmap:port range 0-65535
for c in KUBE-NODE-PORT KUBE-LOAD-BALANCER; do iptables -t nat -N $c; done; iptables -t nat -A KUBE-SERVICES -m set --match-set KUBE-LOAD-BALANCER dst,dst -j KUBE-LOAD-BALANCER
iptables -N KUBE-IPVS-FILTER; iptables -A INPUT -m comment --comment "kubernetes ipvs access filter" -j KUBE-IPVS-FILTER
iptables -A INPUT -m comment --comment "kube-proxy firewall rules" -j KUBE-PROXY-FIREWALL`)
		says("{enabled: true, proxyMode: iptables}")
		until(t, first, "what ipvs left is gone", "! { ipset list -n; iptables-save; } | grep -q 'KUBE-LOAD-BALANCER\\|KUBE-IPVS\\|KUBE-6-\\|kube-proxy firewall'")
		if got := kubeRules(t, first); got != running {
			t.Errorf("of mode iptables there was:\n%s\nis:\n%s", running, got)
		}
		answered()
	})
}

// kubeRules returns all rules and sets of the node with names as kube-proxy and kubelet use them,
// without counters.
func kubeRules(t *testing.T, n *node.Node) string {
	t.Helper()
	return n.Shell(t.Context(), fmt.Sprintf(`{ %s; nft list tables | grep kube-proxy; ipset list -n | grep KUBE-; } | LC_ALL=C sort || true`,
		`for p in iptables ip6tables; do for f in nft legacy; do $p-$f-save | grep KUBE- | sed "s/\[.*\]//; s/^/$p-$f /"; done; done`))
}
