package firewall

import (
	"net/netip"
	"testing"

	"pgregory.net/rapid"

	"github.com/netwright/netwright/test/netns"
)

// The kernel returns any table that we can write, and nft lists it as we read it.
func TestAnyTableComesBackAsItWasWritten(t *testing.T) {
	ns := netns.New(t)
	ns.Do(func() {
		h := openTest()
		rapid.Check(t, func(r *rapid.T) {
			want := anyTable(r)
			if err := h.ReplaceTable(t.Context(), want); err != nil {
				r.Fatal(err)
			}
			got, err := h.Table(t.Context(), want.Family, want.Name)
			if err != nil {
				r.Fatal(err)
			}
			if got.String() != want.String() {
				r.Errorf("written:\n%s\nread:\n%s", want, got)
			}
			if shown := ns.Run("nft", "-y", "list", "table", want.Family, want.Name); shown != want.String() {
				r.Errorf("written:\n%s\nnft shows:\n%s", want, shown)
			}
		})
	})
}

func anyTable(r *rapid.T) Table {
	family := rapid.SampledFrom([]string{"ip", "ip6", "inet"}).Draw(r, "family")
	t := Table{Family: family, Name: "t"}
	names := rapid.SliceOfNDistinct(rapid.StringMatching(`[a-z][a-z0-9_]{0,20}`), 1, 3, rapid.ID).Draw(r, "chains")
	for i, name := range names {
		// With a prefix no name is a word of nft's language.
		c := Chain{Name: "c_" + name, Type: "filter", Hook: rapid.SampledFrom([]string{"input", "forward", "output"}).Draw(r, "hook"),
			Priority: rapid.IntRange(-400, 400).Draw(r, "priority"), Policy: rapid.SampledFrom([]string{"accept", "drop"}).Draw(r, "policy")}
		verdicts := []string{"accept", "drop", "return"}
		if i == 0 {
			c.Type, c.Hook, c.Priority = "nat", "postrouting", rapid.IntRange(-199, 400).Draw(r, "priority")
			verdicts = append(verdicts, "masquerade", "masquerade fully-random")
		}
		for range rapid.IntRange(0, 5).Draw(r, "rules") {
			c.Rules = append(c.Rules, anyRule(r, c.Hook, verdicts))
		}
		t.Chains = append(t.Chains, c)
	}
	return t
}

func anyRule(r *rapid.T, hook string, verdicts []string) NFRule {
	var list []netip.Prefix
	prefix := rapid.Custom(func(r *rapid.T) netip.Prefix {
		size := rapid.SampledFrom([]int{4, 16}).Draw(r, "size")
		addr, _ := netip.AddrFromSlice(rapid.SliceOfN(rapid.Byte(), size, size).Draw(r, "address"))
		return netip.PrefixFrom(addr, rapid.IntRange(0, 8*size).Draw(r, "bits"))
	})
	prefixes := rapid.SliceOfN(prefix, 0, 2)
	link := rapid.OneOf(rapid.Just(""), rapid.StringMatching(`[a-z][a-z0-9.@_-]{0,14}`), rapid.StringMatching(`[a-z]{1,8}\*`))
	out := NFRule{
		Family: rapid.SampledFrom([]int{0, 0, 4, 6}).Draw(r, "family"),
		SrcIn:  prefixes.Draw(r, "srcIn"), SrcNotIn: prefixes.Draw(r, "srcNotIn"), DstIn: prefixes.Draw(r, "dstIn"), DstNotIn: append(list, prefixes.Draw(r, "dstNotIn")...),
		CTState: rapid.SliceOfDistinct(rapid.SampledFrom(ctStates), rapid.ID).Draw(r, "state"),
		Verdict: rapid.SampledFrom(verdicts).Draw(r, "verdict"),
		Comment: rapid.StringMatching(`[ -!#-\[\]-~]{0,40}`).Draw(r, "comment"),
	}
	if hook != "output" && hook != "postrouting" {
		out.IIF, out.IIFNot = link.Draw(r, "iif"), link.Draw(r, "iifNot")
	}
	if hook != "input" {
		out.OIF, out.OIFNot = link.Draw(r, "oif"), link.Draw(r, "oifNot")
	}
	if local := rapid.SampledFrom([]string{"", "yes", "no"}).Draw(r, "local"); local != "" {
		is := local == "yes"
		out.DstLocal = &is
	}
	return out
}
