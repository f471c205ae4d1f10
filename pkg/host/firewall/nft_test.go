package firewall

import (
	"errors"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/netwright/netwright/test/needs"
	"github.com/netwright/netwright/test/netns"
)

func prefixes(list ...string) []netip.Prefix {
	var out []netip.Prefix
	for _, s := range list {
		out = append(out, netip.MustParsePrefix(s))
	}
	return out
}

// masquerading returns the table of the bridge network for two families.
func masquerading(family string) Table {
	no := false
	return Table{Family: family, Name: "netwright", Chains: []Chain{
		{Name: "postrouting", Type: "nat", Hook: "postrouting", Priority: 100, Rules: []NFRule{{
			SrcIn:    prefixes("10.96.1.0/24", "fd00:1::/64"),
			DstNotIn: prefixes("10.0.0.0/8", "100.64.0.0/10", "224.0.0.0/4", "fd00::/8", "ff00::/8"),
			OIFNot:   "cbr0", DstLocal: &no, Verdict: "masquerade fully-random", Comment: "pods to the outside",
		}}},
	}}
}

// everything returns a table that uses each term once.
func everything(family string) Table {
	yes := true
	return Table{Family: family, Name: "t", Chains: []Chain{
		{Name: "a", Type: "filter", Hook: "forward", Priority: -5, Policy: "drop", Rules: []NFRule{
			{CTState: []string{"related", "established"}, Verdict: "accept"},
			{IIF: "cbr0", OIFNot: "eth0", Verdict: "accept", Comment: "a b"},
			{IIFNot: "lo", OIF: "veth*", Verdict: "return"},
			{SrcIn: prefixes("10.1.0.0/16", "10.2.3.4/32", "fd00:9::1/128", "fd00::/13"), Verdict: "drop"},
			{DstLocal: &yes, Verdict: "accept"},
			{SrcNotIn: prefixes("10.1.0.0/17"), DstIn: prefixes("0.0.0.0/0"), Verdict: "accept"},
		}},
		{Name: "b", Type: "nat", Hook: "prerouting", Priority: -100, Rules: []NFRule{{Verdict: "return"}}},
		{Name: "c", Type: "nat", Hook: "postrouting", Priority: 100, Rules: []NFRule{{IIF: "lo", Verdict: "return"}, {Verdict: "masquerade"}}},
		{Name: "d", Type: "filter", Hook: "input", Rules: []NFRule{{Family: 6, Verdict: "accept"}, {SrcIn: prefixes("0.0.0.0/0"), Verdict: "drop"}}},
	}}
}

func TestTablesAsNftShowsThem(t *testing.T) {
	needs.Tool(t, "nft")
	for _, family := range []string{"inet", "ip", "ip6"} {
		for _, want := range []Table{masquerading(family), everything(family)} {
			t.Run(family+" "+want.Name, func(t *testing.T) {
				ns := netns.New(t)
				ns.Do(func() {
					h, ctx := openTest(), t.Context()
					if _, err := h.Table(ctx, family, want.Name); !errors.Is(err, fs.ErrNotExist) {
						t.Fatalf("before: %v", err)
					}
					for range 2 {
						noError(t, h.ReplaceTable(ctx, want))
						got, err := h.Table(ctx, family, want.Name)
						noError(t, err)
						if diff := cmp.Diff(want.Canonical(), got, netipEqual); diff != "" {
							t.Errorf("read back (-want +got):\n%s", diff)
						}
					}
					if diff := cmp.Diff(want.String(), ns.Run("nft", "-y", "list", "table", family, want.Name)); diff != "" {
						t.Errorf("nft shows something else (-ours +nft):\n%s", diff)
					}
				})
				// Our text is in nft's language: nft accepts it, and makes the same table of it.
				file := filepath.Join(t.TempDir(), "t.nft")
				noError(t, os.WriteFile(file, []byte(want.String()), 0o600))
				ns.Run("nft", "-c", "-f", file)
				ns.Run("nft", "delete", "table", family, want.Name)
				ns.Run("nft", "-f", file)
				if diff := cmp.Diff(want.String(), ns.Run("nft", "-y", "list", "table", family, want.Name)); diff != "" {
					t.Errorf("nft makes something else of our text:\n%s", diff)
				}
			})
		}
	}
}

func TestReplaceTableIsAllOrNothingAndTouchesNothingElse(t *testing.T) {
	ns := netns.New(t)
	ns.Run("nft", "add table inet other; add chain inet other c { type filter hook input priority 0; }; add rule inet other c counter accept")
	other := ns.Run("nft", "list", "table", "inet", "other")
	ns.Do(func() {
		h, ctx := openTest(), t.Context()
		old := masquerading("inet")
		noError(t, h.ReplaceTable(ctx, old))

		// The kernel refuses a masquerade in a filter chain. That is known only after all messages
		// before it.
		bad := masquerading("inet")
		bad.Chains = append(bad.Chains, Chain{Name: "x", Type: "filter", Hook: "input", Rules: []NFRule{{Verdict: "accept"}, {Verdict: "masquerade"}}})
		if err := h.ReplaceTable(ctx, bad); err == nil {
			t.Fatal("the kernel took a masquerade in an input chain")
		}
		got, err := h.Table(ctx, "inet", "netwright")
		noError(t, err)
		if diff := cmp.Diff(old.String(), got.String()); diff != "" {
			t.Errorf("half of a refused table is there:\n%s", diff)
		}

		smaller := Table{Family: "inet", Name: "netwright"}
		noError(t, h.ReplaceTable(ctx, smaller))
		got, err = h.Table(ctx, "inet", "netwright")
		noError(t, err)
		if len(got.Chains) != 0 {
			t.Errorf("chains of before are left: %s", got)
		}
		noError(t, h.DelTable(ctx, "inet", "netwright"))
		noError(t, h.DelTable(ctx, "inet", "netwright"))
	})
	if diff := cmp.Diff(other, ns.Run("nft", "list", "ruleset")); diff != "" {
		t.Errorf("another table changed:\n%s", diff)
	}
}

func TestWhatIsNotOursInOurTableShows(t *testing.T) {
	for name, meddle := range map[string]string{
		"a rule of nft":       `add rule inet netwright postrouting ip saddr 10.0.0.1 tcp dport 80 accept`,
		"an unknown match":    `add rule inet netwright postrouting meta skuid 0 accept`,
		"an unsupported expr": `add rule inet netwright postrouting rt mtu 1400 accept`,
		"a set":               `add rule inet netwright postrouting ip saddr { 10.0.0.1, 10.0.0.2 } accept`,
		"a counter":           `add rule inet netwright postrouting oifname != "cbr0" counter masquerade`,
		"another flag":        `add rule inet netwright postrouting oifname "x" masquerade random`,
		"a range":             `add rule inet netwright postrouting ip saddr 10.0.0.1-10.0.0.9 accept`,
		"a chain":             `add chain inet netwright more { type filter hook input priority 3; policy drop; }`,
		"a chain, no hook":    `add chain inet netwright more`,
		"a rule gone":         `flush chain inet netwright postrouting`,
		"priority":            `delete table inet netwright; add table inet netwright; add chain inet netwright postrouting { type nat hook postrouting priority 101; }`,
	} {
		t.Run(name, func(t *testing.T) {
			ns := netns.New(t)
			ns.Do(func() {
				h, ctx := openTest(), t.Context()
				want := masquerading("inet")
				noError(t, h.ReplaceTable(ctx, want))
				ns.Run("nft", meddle)
				got, err := h.Table(ctx, "inet", "netwright")
				noError(t, err)
				if got.String() == want.String() {
					t.Errorf("passes for ours:\n%s", ns.Run("nft", "list", "table", "inet", "netwright"))
				}
				noError(t, h.ReplaceTable(ctx, want))
				got, err = h.Table(ctx, "inet", "netwright")
				noError(t, err)
				if diff := cmp.Diff(want.String(), got.String()); diff != "" {
					t.Errorf("not repaired:\n%s", diff)
				}
			})
		})
	}
}

func TestCheckTable(t *testing.T) {
	for want, tab := range map[string]Table{
		"family \"bridge\"": {Family: "bridge", Name: "x"},
		"hook \"sideways\"": {Family: "ip", Chains: []Chain{{Hook: "sideways"}}},
		"type \"route\"":    {Family: "ip", Chains: []Chain{{Hook: "input", Type: "route"}}},
		"policy \"maybe\"":  {Family: "ip", Chains: []Chain{{Hook: "input", Type: "filter", Policy: "maybe"}}},
		"verdict \"jump\"":  {Family: "ip", Chains: []Chain{{Hook: "input", Type: "filter", Rules: []NFRule{{Verdict: "jump"}}}}},
		"state \"old\"":     {Family: "ip", Chains: []Chain{{Hook: "input", Type: "filter", Rules: []NFRule{{Verdict: "drop", CTState: []string{"old"}}}}}},
		"name of a link":    {Family: "ip", Chains: []Chain{{Hook: "input", Type: "filter", Rules: []NFRule{{Verdict: "drop", IIF: "sixteen-letters-x"}}}}},
		"comment":           {Family: "ip", Chains: []Chain{{Hook: "input", Type: "filter", Rules: []NFRule{{Verdict: "drop", Comment: strings.Repeat("x", 128)}}}}},
	} {
		saysAll(t, tab.Check(), want)
	}
	for _, tab := range []Table{masquerading("ip"), everything("inet")} {
		noError(t, tab.Check())
	}
}

func TestCanonicalRules(t *testing.T) {
	for _, c := range []struct {
		family string
		rule   NFRule
		want   []string
	}{
		{"inet", NFRule{SrcIn: prefixes("10.0.0.1/8"), Verdict: "drop"}, []string{"ip saddr 10.0.0.0/8 drop"}},
		{"inet", NFRule{SrcIn: prefixes("10.0.0.0/8"), DstIn: prefixes("fd00::/8"), Verdict: "drop"}, nil},
		{"inet", NFRule{SrcIn: prefixes("10.0.0.0/8"), DstNotIn: prefixes("fd00::/8"), Verdict: "drop"}, []string{"ip saddr 10.0.0.0/8 drop"}},
		{"inet", NFRule{SrcIn: prefixes("fd00::/64"), DstNotIn: prefixes("::/0"), Verdict: "masquerade"}, nil},
		{"ip", NFRule{SrcIn: prefixes("fd00::/64"), Verdict: "drop"}, nil},
		{"ip6", NFRule{Family: 4, Verdict: "drop"}, nil},
		{"ip", NFRule{Family: 4, Verdict: "drop"}, []string{"drop"}},
		{"inet", NFRule{SrcIn: prefixes("1.0.0.0/8", "2.0.0.0/8"), DstIn: prefixes("3.0.0.0/8", "4.0.0.0/8"), Verdict: "drop"}, []string{
			"ip saddr 1.0.0.0/8 ip daddr 3.0.0.0/8 drop", "ip saddr 1.0.0.0/8 ip daddr 4.0.0.0/8 drop",
			"ip saddr 2.0.0.0/8 ip daddr 3.0.0.0/8 drop", "ip saddr 2.0.0.0/8 ip daddr 4.0.0.0/8 drop"}},
		{"inet", NFRule{CTState: []string{"related", "established"}, Verdict: "accept"}, []string{"ct state established,related accept"}},
		{"inet", NFRule{Unknown: "rt"}, []string{"# unknown rule: rt"}},
	} {
		var got []string
		for _, r := range c.rule.canonical(c.family) {
			got = append(got, r.text(c.family))
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s %+v:\n%s", c.family, c.rule, diff)
		}
	}
}
