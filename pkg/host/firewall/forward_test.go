package firewall

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/netwright/netwright/test/netns"
)

// dropping has the ways in which a host drops forwarded packets: the commands that cause it, our
// code's name of the chain, and how the chain's owner lists the rules.
var dropping = []struct {
	name   string
	make   []string
	chains []string
	show   string
}{
	{
		name: "iptables-nft, as Docker does",
		make: []string{
			"iptables-nft -P FORWARD DROP", "iptables-nft -N DOCKER-USER", "iptables-nft -A DOCKER-USER -j RETURN", "iptables-nft -I FORWARD -j DOCKER-USER",
			"ip6tables-nft -P FORWARD DROP",
		},
		chains: []string{"ip filter FORWARD", "ip6 filter FORWARD"},
		show:   "iptables-nft-save -t filter",
	},
	{
		name:   "iptables-legacy",
		make:   []string{"iptables-legacy -P FORWARD DROP", "ip6tables-legacy -P FORWARD DROP", "iptables-legacy -A FORWARD -i docker0 -j ACCEPT"},
		chains: []string{"iptables-legacy filter FORWARD", "ip6tables-legacy filter FORWARD"},
		show:   "iptables-legacy-save -t filter",
	},
	{
		name: "nft",
		make: []string{"nft add table inet fw; add chain inet fw forward { type filter hook forward priority 0; policy drop; };" +
			" add rule inet fw forward ct state established,related accept; add rule inet fw forward tcp dport 23 drop"},
		chains: []string{"inet fw forward"},
		show:   "nft list table inet fw",
	},
}

func TestForwardDropIsCopedWith(t *testing.T) {
	for _, c := range dropping {
		t.Run(c.name, func(t *testing.T) {
			l := newLab(t)
			run := func(line string) string { f := strings.Fields(line); return l.node1.Run(f[0], f[1:]...) }
			policies := func() map[string]string {
				var out map[string]string
				l.node1.Do(func() {
					var err error
					out, err = openTest().ForwardPolicies(t.Context())
					noError(t, err)
				})
				return out
			}
			if diff := cmp.Diff(map[string]string{"ip": "accept", "ip6": "accept"}, policies()); diff != "" {
				t.Errorf("the policies (-want +got):\n%s", diff)
			}
			passes(t, l.pod1, l.node2, farPodIP, pod1IP)
			for _, line := range c.make {
				run(line)
			}
			if diff := cmp.Diff(map[string]string{"ip": "drop", "ip6": "drop"}, policies()); diff != "" {
				t.Errorf("the policies (-want +got):\n%s", diff)
			}
			blocked(t, l.pod1, l.node2, farPodIP)
			blocked(t, l.node2, l.pod1, pod1IP6)
			before := run(c.show)

			l.node1.Do(func() {
				h, ctx := openTest(), t.Context()
				// An accept rule in a table of our own does not help. So the agent adds rules to
				// chains of others.
				noError(t, h.ReplaceTable(ctx, Table{Family: "inet", Name: "netwright", Chains: []Chain{{
					Name: "forward", Type: "filter", Hook: "forward", Priority: -10, Rules: []NFRule{{Verdict: "accept"}},
				}}}))
				blocked(t, l.pod1, l.node2, farPodIP)
				noError(t, h.DelTable(ctx, "inet", "netwright"))

				for range 2 {
					for _, chain := range forwardDrops(t, h) {
						noError(t, h.AcceptForward(ctx, chain, "cbr0"))
					}
				}
				var names []string
				for _, chain := range forwardDrops(t, h) {
					names = append(names, chain.String())
					if len(chain.ours) != 2 || !chain.Accepts("cbr0") || chain.Accepts("up0") || chain.Names("up0") {
						t.Errorf("chain is %+v", chain)
					}
				}
				if diff := cmp.Diff(c.chains, names); diff != "" {
					t.Errorf("the chains (-want +got):\n%s", diff)
				}
			})
			passes(t, l.pod1, l.node2, farPodIP, pod1IP)
			passes(t, l.node2, l.pod1, pod1IP, "192.0.2.12")
			passes(t, l.pod1, l.node2, farPodIP6, pod1IP6)
			passes(t, l.pod1, l.pod2, pod2IP, pod1IP) // a bridge also asks these chains (br_netfilter)

			l.node1.Do(func() {
				h, ctx := openTest(), t.Context()
				noError(t, h.DelForwardAccept(ctx, "other0"))
				if !forwardDrops(t, h)[0].Accepts("cbr0") {
					t.Error("the rules of another link went")
				}
				noError(t, h.DelForwardAccept(ctx, "cbr0"))
				noError(t, h.DelForwardAccept(ctx, "cbr0"))
			})
			if diff := cmp.Diff(withoutCounts(before), withoutCounts(run(c.show))); diff != "" {
				t.Errorf("the owner's rules are not as before:\n%s", diff)
			}
			blocked(t, l.pod1, l.node2, farPodIP)
		})
	}
}

func forwardDrops(t *testing.T, h readWriter) []ForwardChain {
	t.Helper()
	chains, err := h.ForwardChains(t.Context())
	noError(t, err)
	var out []ForwardChain
	for _, c := range chains {
		if c.Policy == "drop" {
			out = append(out, c)
		}
	}
	return out
}

// withoutCounts removes comments with a time, and the counters of packets.
func withoutCounts(text string) string {
	var out []string
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(line, " [")
		if !strings.HasPrefix(line, "#") {
			out = append(out, strings.TrimSpace(line))
		}
	}
	return strings.Join(out, "\n")
}

// iptables lists our rules, finds them, saves and restores them, and they still count as ours.
func TestIptablesUnderstandsOurRules(t *testing.T) {
	for _, flavour := range []string{"nft", "legacy"} {
		t.Run(flavour, func(t *testing.T) {
			ns := netns.New(t)
			iptables := func(args string) string { return ns.Run("iptables-"+flavour, strings.Fields(args)...) }
			iptables("-P FORWARD DROP")
			iptables("-A FORWARD -j REJECT")
			accept := func() {
				ns.Do(func() {
					h := openTest()
					for _, c := range forwardDrops(t, h) {
						noError(t, h.AcceptForward(t.Context(), c, "cbr0"))
					}
				})
			}
			accept()
			const want = "-P FORWARD DROP\n-A FORWARD -j REJECT --reject-with icmp-port-unreachable\n" +
				"-A FORWARD -i cbr0 -m comment --comment netwright -j ACCEPT\n-A FORWARD -o cbr0 -m comment --comment netwright -j ACCEPT\n"
			if diff := cmp.Diff(want, iptables("-S FORWARD")); diff != "" {
				t.Errorf("iptables lists (-want +got):\n%s", diff)
			}
			// Rules that look like ours but say more, or something else, are not ours.
			iptables("-A FORWARD -i cbr1 -p tcp -m comment --comment netwright -j ACCEPT")
			iptables("-A FORWARD -i cbr2 -m comment --comment netwright -j DROP")
			iptables("-A FORWARD -i cbr3 -m comment --comment other -j ACCEPT")
			iptables("-A FORWARD -i cbr+ -m comment --comment netwright -j ACCEPT")
			iptables("-A FORWARD -i cbr4 -s 10.0.0.0/8 -m comment --comment netwright -j ACCEPT")
			iptables("-A FORWARD ! -i cbr5 -m comment --comment netwright -j ACCEPT")
			iptables("-A FORWARD -i cbr6 -o cbr7 -m comment --comment netwright -j ACCEPT")
			saved := iptables("-S FORWARD")
			ns.Run("sh", "-c", "iptables-"+flavour+"-save | iptables-"+flavour+"-restore")
			if diff := cmp.Diff(saved, iptables("-S FORWARD")); diff != "" {
				t.Errorf("saved and restored:\n%s", diff)
			}
			ns.Do(func() {
				c := forwardDrops(t, openTest())[0]
				if len(c.ours) != 2 || !c.Accepts("cbr0") {
					t.Errorf("ours after a restore: %v", c.ours)
				}
			})
			// The owner of the chain removes a rule of ours. The agent adds it again, once.
			iptables("-D FORWARD -i cbr0 -m comment --comment netwright -j ACCEPT")
			accept()
			if got := strings.Count(iptables("-S FORWARD"), "cbr0 "); got != 2 {
				t.Errorf("%d rules for cbr0:\n%s", got, iptables("-S FORWARD"))
			}
		})
	}
}
