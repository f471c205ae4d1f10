package firewall

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/netwright/netwright/test/needs"
	"github.com/netwright/netwright/test/netns"
)

// iptScript has rules of a network and of its neighbours, in the language of iptables.
var iptScript = []string{
	"-t filter -N cali-FORWARD",
	"-t filter -N cali-fw-1",
	"-t filter -N calico-decoy",
	"-t filter -A FORWARD -m comment --comment cali:abc -j cali-FORWARD",
	"-t filter -A FORWARD -i docker0 ! -o docker0 -j ACCEPT",
	"-t filter -A FORWARD -o cali+ -m comment --comment cali:def -m comment --comment \"a second one\" -j MARK --set-mark 1",
	"-t filter -A FORWARD -g calico-decoy",
	"-t filter -A cali-FORWARD -i cali+ -g cali-fw-1",
	"-t filter -A cali-FORWARD",
	"-t filter -A cali-fw-1 ! -i lo -p tcp --dport 80 -j DROP",
	"-t filter -A calico-decoy -j RETURN",
	"-t nat -N cali-POSTROUTING",
	"-t nat -A POSTROUTING -j cali-POSTROUTING",
	"-t nat -A POSTROUTING -o eth0 -j MASQUERADE",
	"-t nat -A cali-POSTROUTING -m comment --comment \"two words\" -j MASQUERADE",
}

func iptLab(t *testing.T, programs []string, script []string) (run func(line string) string, do func(func())) {
	t.Helper()
	needs.Tool(t, "iptables-legacy")
	needs.Tool(t, "iptables-nft")
	ns := netns.New(t)
	run = func(line string) string { f := words(line); return ns.Run(f[0], f[1:]...) }
	for _, program := range programs {
		for _, line := range script {
			run(program + " " + line)
		}
	}
	return run, ns.Do
}

// words splits a line at spaces outside of quotes.
func words(line string) []string {
	var out []string
	for i, part := range strings.Split(line, `"`) {
		if i%2 == 1 {
			out = append(out, part)
			continue
		}
		out = append(out, strings.Fields(part)...)
	}
	return out
}

func TestIPTChainsAreReadAlikeInBothFlavours(t *testing.T) {
	programs := []string{"iptables-nft", "ip6tables-nft", "iptables-legacy", "ip6tables-legacy"}
	_, do := iptLab(t, programs, iptScript)
	want := []string{
		"FORWARD builtin",
		`  --comment "cali:abc" -j cali-FORWARD`,
		"  -i docker0 -o ! docker0 -j ACCEPT",
		`  -o cali+ --comment "cali:def" --comment "a second one" -j MARK`,
		"  -j calico-decoy",
		"cali-FORWARD",
		"  -i cali+ -j cali-fw-1",
		"  ",
		"cali-fw-1",
		"  -i ! lo -j DROP",
		"calico-decoy",
		"  -j RETURN",
		"POSTROUTING builtin",
		"  -j cali-POSTROUTING",
		"  -o eth0 -j MASQUERADE",
		"cali-POSTROUTING",
		`  --comment "two words" -j MASQUERADE`,
	}
	do(func() {
		chains, err := openTest().IPTChains(t.Context())
		noError(t, err)
		for _, program := range programs {
			got := map[string][]string{}
			for _, c := range chains {
				if !strings.HasPrefix(c.String(), program+" ") {
					continue
				}
				head := c.Name
				if c.Builtin {
					head += " builtin"
				}
				for _, r := range c.Rules {
					got[head] = append(got[head], "  "+r.String())
				}
			}
			var flat []string
			for _, line := range want {
				if !strings.HasPrefix(line, "  ") {
					flat = append(append(flat, line), got[line]...)
				}
			}
			if diff := cmp.Diff(want, flat); diff != "" {
				t.Errorf("%s:\n%s", program, diff)
			}
		}
	})
}

func TestRemoveIPTTakesWhatIsNamedAndNothingElse(t *testing.T) {
	for _, program := range []string{"iptables-nft", "ip6tables-nft", "iptables-legacy", "ip6tables-legacy"} {
		t.Run(program, func(t *testing.T) {
			run, do := iptLab(t, []string{program}, iptScript)
			do(func() {
				h := openTest()
				chains, err := h.IPTChains(t.Context())
				noError(t, err)
				whole := IPTRemoval{Whole: true, Chain: chains[slices.IndexFunc(chains, func(c IPTChain) bool { return c.Name == "cali-FORWARD" })]}
				if h.RemoveIPT(t.Context(), []IPTRemoval{whole}) == nil {
					t.Error("a chain that is jumped to went")
				}
				before := run(program + "-save")
				builtin := IPTRemoval{Whole: true, Chain: chains[slices.IndexFunc(chains, func(c IPTChain) bool { return c.Builtin })]}
				if err := h.RemoveIPT(t.Context(), []IPTRemoval{builtin}); err == nil || !strings.Contains(err.Error(), "never removed") {
					t.Errorf("a built-in chain: %v", err)
				}
				if diff := cmp.Diff(withoutCounts(before), withoutCounts(run(program+"-save"))); diff != "" {
					t.Errorf("a refusal changed something:\n%s", diff)
				}

				var gone []IPTRemoval
				for _, c := range chains {
					r := IPTRemoval{Chain: c, Whole: strings.HasPrefix(c.Name, "cali-")}
					for _, rule := range c.Rules {
						if strings.HasPrefix(rule.Target, "cali-") || slices.ContainsFunc(rule.Comments, func(c string) bool { return strings.HasPrefix(c, "cali:") }) {
							r.Rules = append(r.Rules, rule)
						}
					}
					if r.Whole || len(r.Rules) > 0 {
						gone = append(gone, r)
					}
				}
				slices.Reverse(gone) // a chain comes before the one whose rule leads to it
				noError(t, h.RemoveIPT(t.Context(), gone))
				if err := h.RemoveIPT(t.Context(), gone); err == nil {
					t.Error("what is gone was removed again without a word")
				}
			})
			var left []string
			for line := range strings.Lines(run(program + "-save")) {
				if strings.HasPrefix(line, "-") || strings.HasPrefix(line, ":cali") {
					left = append(left, strings.TrimSpace(line))
				}
			}
			want := []string{":calico-decoy - [0:0]", "-A FORWARD -i docker0 ! -o docker0 -j ACCEPT", "-A FORWARD -g calico-decoy",
				"-A calico-decoy -j RETURN", "-A POSTROUTING -o eth0 -j MASQUERADE"}
			slices.Sort(left)
			slices.Sort(want)
			if diff := cmp.Diff(want, left); diff != "" {
				t.Errorf("what is left (-want +got):\n%s", diff)
			}
		})
	}
}

// In a namespace without a table of ip_tables no table is made. To ask for a table would make it,
// and load a module.
func TestIPTChainsMakeNoTable(t *testing.T) {
	run, do := iptLab(t, nil, nil)
	names := func() string { return fmt.Sprint(run("cat /proc/net/ip_tables_names /proc/net/ip6_tables_names")) }
	before := names()
	do(func() {
		chains, err := openTest().IPTChains(t.Context())
		noError(t, err)
		if len(chains) > 0 {
			t.Errorf("IPTChains returns %v", chains)
		}
	})
	if after := names(); before != after {
		t.Errorf("tables %q, then %q", before, after)
	}
}
