package firewall

import (
	"fmt"
	"net/netip"
	"strings"
)

// String returns the table in nft's syntax, as `nft -y list table` prints it. A plan shows this
// text, and tables are compared by it. An unknown rule becomes a comment line.
func (t Table) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "table %s %s {\n", t.Family, t.Name)
	for i, c := range t.Canonical().Chains {
		if i > 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "\tchain %s {\n", c.Name)
		fmt.Fprintf(&b, "\t\ttype %s hook %s priority %d; policy %s;\n", c.Type, c.Hook, c.Priority, c.Policy)
		for _, r := range c.Rules {
			fmt.Fprintf(&b, "\t\t%s\n", r.text(t.Family))
		}
		b.WriteString("\t}\n")
	}
	b.WriteString("}\n")
	return b.String()
}

// text returns a canonical rule in nft's syntax.
func (r NFRule) text(table string) string {
	if r.Unknown != "" {
		return "# unknown rule: " + r.Unknown
	}
	var words []string
	add := func(format string, args ...any) { words = append(words, fmt.Sprintf(format, args...)) }

	addresses := func(side, op string, list []netip.Prefix) {
		for _, p := range list {
			layer := "ip"
			if p.Addr().Is6() {
				layer = "ip6"
			}
			text := p.String()
			if p.IsSingleIP() {
				text = p.Addr().String()
			}
			add("%s %s %s%s", layer, side, op, text)
		}
	}
	// The prefixes already imply the family. nft then leaves out the match in the text, but not in
	// the rule.
	if table == "inet" && r.Family != 0 && len(r.SrcIn)+len(r.SrcNotIn)+len(r.DstIn)+len(r.DstNotIn) == 0 {
		add("meta nfproto ipv%d", r.Family)
	}
	addresses("saddr", "", r.SrcIn)
	addresses("saddr", "!= ", r.SrcNotIn)
	addresses("daddr", "", r.DstIn)
	addresses("daddr", "!= ", r.DstNotIn)

	name := func(key, op, value string) {
		if value != "" {
			add("%s %s%q", key, op, value)
		}
	}
	name("iifname", "", r.IIF)
	name("iifname", "!= ", r.IIFNot)
	name("oifname", "", r.OIF)
	name("oifname", "!= ", r.OIFNot)

	if r.DstLocal != nil {
		op := ""
		if !*r.DstLocal {
			op = "!= "
		}
		add("fib daddr type %slocal", op)
	}
	if len(r.CTState) > 0 {
		add("ct state %s", strings.Join(r.CTState, ","))
	}
	add("%s", r.Verdict)
	if r.Comment != "" {
		add("comment %q", r.Comment)
	}
	return strings.Join(words, " ")
}
