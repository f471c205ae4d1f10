package firewall

import (
	"slices"

	"github.com/netwright/netwright/pkg/host/internal/sys"
)

// These functions restore a rule set with many writers. Only chains at a hook decide about a
// packet. Programs that write all the time (kube-proxy, Calico) write their own chains; the rule at
// a hook that jumps to them stays. So chains at hooks get their old rules back. Another chain is
// restored only if it is gone or empty.

// guardedChain is a chain of iptables or nft, as far as mendChains needs it.
type guardedChain struct {
	name   string
	base   bool   // at a hook
	policy string // of a chain at a hook
	rules  []guardedRule
}

// guardedRule is a rule. text is equal for equal rules. leads is the chain that the rule jumps to;
// for rules that jump to none, nft has the table's name here.
type guardedRule struct {
	text, leads string
	link        string // link of a rule that accepts packets
	message     []byte // of nf_tables
}

// same reports whether two rules are equal.
func (r guardedRule) same(o guardedRule) bool { return r.text == o.text }

// hasWriter reports whether a program that runs on the node writes the rule: see [sys.HasWriter].
func (r guardedRule) hasWriter() bool { return sys.HasWriter(r.leads) || sys.HasWriter(r.link) }

// chainMend is a change to one chain.
type chainMend struct {
	name   string
	create bool
	drop   bool   // the chain is new: it is emptied, then removed
	policy string // to be set; "": unchanged
	write  bool   // its rules are replaced by rules
	rules  []guardedRule
}

// mendChains compares the old and new chains of one table. Rules that programs on the node have
// added since ([sys.HasWriter]) stay in their places. But if other rules of the chain are gone or
// moved, these rules come to the beginning. Rules that accept packets of a link of such a program
// then come to the end, after the rules that isolate networks.
func mendChains(was, now []guardedChain) (out []chainMend) {
	have := map[string]guardedChain{}
	for _, c := range now {
		have[c.name] = c
	}
	for _, c := range was {
		is, there := have[c.name]
		delete(have, c.name)
		m := chainMend{name: c.name, create: !there}
		if c.base && c.policy != is.policy {
			m.policy = c.policy
		}
		if c.base || !there || len(is.rules) == 0 {
			m.rules, m.write = c.back(is)
		}
		if m.create || m.policy != "" || m.write {
			out = append(out, m)
		}
	}
	for _, c := range now {
		if _, came := have[c.name]; !came || !c.base {
			continue
		}
		m := chainMend{name: c.name}
		m.rules, m.write = guardedChain{}.back(c)
		kept := slices.ContainsFunc(c.rules, guardedRule.hasWriter)
		switch {
		case !kept:
			m.drop, m.write = true, false
		case c.policy == "drop":
			m.policy = "accept" // as in a chain that nobody created
		}
		if m.drop || m.write || m.policy != "" {
			out = append(out, m)
		}
	}
	return append(out, orphans(have, now, out)...)
}

// orphans returns the new chains that no known program writes and that no rule jumps to after the
// changes. came has all new chains.
func orphans(came map[string]guardedChain, now []guardedChain, mends []chainMend) (out []chainMend) {
	gone := map[string]bool{}
	for name, c := range came {
		gone[name] = !c.base && !sys.HasWriter(name)
	}
	stays := func(c guardedChain, r guardedRule) bool {
		i := slices.IndexFunc(mends, func(m chainMend) bool { return m.name == c.name && (m.write || m.drop) })
		return i < 0 || slices.ContainsFunc(mends[i].rules, r.same)
	}
	for again := true; again; {
		again = false
		for _, c := range now {
			for _, r := range c.rules {
				if gone[r.leads] && !gone[c.name] && stays(c, r) {
					gone[r.leads], again = false, true
				}
			}
		}
	}
	for _, c := range now {
		if gone[c.name] {
			out = append(out, chainMend{name: c.name, drop: true})
		}
	}
	return out
}

// back returns the rules that a chain gets, and whether they differ from the present ones.
func (c guardedChain) back(now guardedChain) (rules []guardedRule, differs bool) {
	came := func(r guardedRule) bool { return r.hasWriter() && !slices.ContainsFunc(c.rules, r.same) }
	there := 0 // number of old rules found in their order
	for _, r := range now.rules {
		switch {
		case there < len(c.rules) && r.same(c.rules[there]):
			rules = append(rules, c.rules[there])
			there++
		case came(r):
			rules = append(rules, r)
		}
	}
	switch {
	case there == len(c.rules) && len(rules) == len(now.rules):
		return nil, false
	case there == len(c.rules):
		return rules, true
	}
	rules = nil
	for _, r := range now.rules {
		if came(r) && sys.HasWriter(r.leads) {
			rules = append(rules, r)
		}
	}
	rules = append(rules, c.rules...)
	for _, r := range now.rules {
		if came(r) && !sys.HasWriter(r.leads) {
			rules = append(rules, r)
		}
	}
	return rules, true
}
