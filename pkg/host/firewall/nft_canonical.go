package firewall

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"
)

// Check returns why the table cannot be written, or nil.
func (t Table) Check() error {
	if !slices.Contains(ipFamilies, t.Family) {
		return fmt.Errorf("nft table %s: unknown family %q (ip, ip6, inet)", t.Name, t.Family)
	}
	for _, c := range t.Chains {
		where := fmt.Sprintf("nft table %s %s, chain %s", t.Family, t.Name, c.Name)
		if !slices.Contains(ipHooks, c.Hook) {
			return fmt.Errorf("%s: unknown hook %q (%s)", where, c.Hook, strings.Join(ipHooks, ", "))
		}
		if c.Type != "filter" && c.Type != "nat" {
			return fmt.Errorf("%s: unknown type %q (filter, nat)", where, c.Type)
		}
		if c.Policy != "" && c.Policy != "accept" && c.Policy != "drop" {
			return fmt.Errorf("%s: unknown policy %q (accept, drop)", where, c.Policy)
		}
		for _, r := range c.Rules {
			if err := r.check(); err != nil {
				return fmt.Errorf("%s: %w", where, err)
			}
		}
	}
	return nil
}

func (r NFRule) check() error {
	if _, ok := nftVerdicts[r.Verdict]; !ok && r.Verdict != dnat {
		return fmt.Errorf("rule %q: unknown verdict %q (accept, drop, return, masquerade, masquerade fully-random, "+
			"dnat)", r.Comment, r.Verdict)
	}
	if (r.Verdict == dnat) != r.DNAT.IsValid() {
		return fmt.Errorf("rule %q: the verdict dnat needs an address, and only dnat takes one", r.Comment)
	}
	for _, s := range r.CTState {
		if !slices.Contains(ctStates, s) {
			return fmt.Errorf("rule %q: unknown connection state %q (%s)", r.Comment, s, strings.Join(ctStates, ", "))
		}
	}
	for _, name := range []string{r.IIF, r.IIFNot, r.OIF, r.OIFNot} {
		if len(name) > maxLinkName || strings.ContainsAny(name, "\"\n ") {
			return fmt.Errorf("rule %q: %q cannot be the name of a link", r.Comment, name)
		}
	}
	if len(r.Comment) > 127 || strings.ContainsAny(r.Comment, "\"\n") {
		return fmt.Errorf("rule %q: a comment has at most 127 bytes, no quotes and no line ends", r.Comment)
	}
	return nil
}

// Canonical returns the table with rules in the form that the kernel stores. Each match of SrcIn
// and DstIn has one prefix (a list becomes several rules), and each rule one family. Prefixes are
// masked, /0 is left out, and policy and states are complete.
func (t Table) Canonical() Table {
	out := Table{Family: t.Family, Name: t.Name}
	for _, c := range t.Chains {
		c.Policy = cmp.Or(c.Policy, "accept")
		var rules []NFRule
		for _, r := range c.Rules {
			rules = append(rules, r.canonical(t.Family)...)
		}
		c.Rules = rules
		out.Chains = append(out.Chains, c)
	}
	return out
}

// canonical returns the rules that the kernel gets for one rule. It returns none for a rule that
// cannot match, such as DstNotIn 0.0.0.0/0.
func (r NFRule) canonical(table string) []NFRule {
	if r.Unknown != "" {
		return []NFRule{r}
	}
	states := r.CTState
	r.CTState = nil
	for _, s := range ctStates {
		if slices.Contains(states, s) {
			r.CTState = append(r.CTState, s)
		}
	}
	var out []NFRule
	for _, family := range r.families(table) {
		one := r
		one.Family = family
		if table != "inet" {
			one.Family = 0
		}
		srcNot, srcNone := notIn(r.SrcNotIn, family)
		dstNot, dstNone := notIn(r.DstNotIn, family)
		if srcNone || dstNone {
			continue
		}
		one.SrcNotIn, one.DstNotIn = srcNot, dstNot
		for _, src := range in(r.SrcIn, family) {
			for _, dst := range in(r.DstIn, family) {
				one.SrcIn, one.DstIn = src, dst
				out = append(out, one)
			}
		}
	}
	return out
}

// families lists the families of the rule in a table. 0 is one rule for both.
func (r NFRule) families(table string) []int {
	lists := [][]netip.Prefix{r.SrcIn, r.SrcNotIn, r.DstIn, r.DstNotIn}
	var out []int
	for _, family := range []int{4, 6} {
		named := slices.ContainsFunc(lists,
			func(l []netip.Prefix) bool { return len(l) > 0 && len(ofFamily(l, family)) > 0 })
		// A rule whose source and destination have no family in common matches nothing.
		excluded := len(r.SrcIn) > 0 && len(ofFamily(r.SrcIn, family)) == 0 ||
			len(r.DstIn) > 0 && len(ofFamily(r.DstIn, family)) == 0
		if named && !excluded && (r.Family == 0 || r.Family == family) {
			out = append(out, family)
		}
	}
	if len(slices.Concat(lists...)) == 0 {
		out = []int{r.Family}
	}
	return slices.DeleteFunc(out, func(f int) bool { return table == "ip" && f == 6 || table == "ip6" && f == 4 })
}

func ofFamily(list []netip.Prefix, family int) []netip.Prefix {
	return slices.DeleteFunc(slices.Clone(list), func(p netip.Prefix) bool { return p.Addr().Is4() != (family == 4) })
}

// in returns the alternatives of a positive match. Each is a list of one prefix, or of none (all).
func in(list []netip.Prefix, family int) [][]netip.Prefix {
	var out [][]netip.Prefix
	for _, p := range ofFamily(list, family) {
		if p.Bits() == 0 {
			return [][]netip.Prefix{nil}
		}
		out = append(out, []netip.Prefix{p.Masked()})
	}
	if out == nil {
		return [][]netip.Prefix{nil}
	}
	return out
}

// notIn returns the prefixes of a negated match, and whether the match is impossible.
func notIn(list []netip.Prefix, family int) (out []netip.Prefix, none bool) {
	for _, p := range ofFamily(list, family) {
		if p.Bits() == 0 {
			return nil, true
		}
		out = append(out, p.Masked())
	}
	return out, false
}
