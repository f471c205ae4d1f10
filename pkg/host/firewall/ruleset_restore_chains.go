package firewall

import (
	"slices"

	"github.com/netwright/netwright/pkg/host/internal/sys"
)

// What an undo does to a rule set that many write. Only chains at a hook decide what becomes of a
// packet: whoever writes without pause (kube-proxy, Calico) does so in chains of its own, to which
// a rule at a hook leads that stays. So the chains at hooks get back what they had; another one
// comes back if it is gone or was emptied, and is left alone else.

// guardedChain is a chain of any flavour as far as that needs it.
type guardedChain struct {
	name   string
	base   bool   // at a hook
	policy string // of one at a hook
	rules  []guardedRule
}

// guardedRule is a rule: text that is equal for equal rules, and the chain that it leads to, or the
// table, of one that leads nowhere.
type guardedRule struct {
	text, leads string
	link        string // that a rule is for which lets packets through
	message     []byte // of nf_tables
}

// same says that both are equal.
func (r guardedRule) same(o guardedRule) bool { return r.text == o.text }

// hasWriter says that a program which runs on the node writes the rule: see [sys.HasWriter].
func (r guardedRule) hasWriter() bool { return sys.HasWriter(r.leads) || sys.HasWriter(r.link) }

// chainMend is what is to be done to one chain.
type chainMend struct {
	name   string
	create bool
	drop   bool   // it was not there; it is emptied first
	policy string // to be set; "": as it is
	write  bool   // its rules become those below
	rules  []guardedRule
}

// mendChains compares the chains of one table, before and now. What programs on the node added
// meanwhile ([sys.HasWriter]) stays where it is. Where other rules of the chain went or moved, it
// comes to the head. A rule that lets packets of a link of theirs through comes to the end, behind
// what keeps networks apart.
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
			m.policy = "accept" // as a chain is that nobody made
		}
		if m.drop || m.write || m.policy != "" {
			out = append(out, m)
		}
	}
	return append(out, orphans(have, now, out)...)
}

// orphans are the chains that came, are nobody's known, and that no rule leads to once all is
// mended. came has all that came.
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

// back are the rules that a chain gets back, and whether they differ from those of now.
func (c guardedChain) back(now guardedChain) (rules []guardedRule, differs bool) {
	came := func(r guardedRule) bool { return r.hasWriter() && !slices.ContainsFunc(c.rules, r.same) }
	there := 0 // of those that were, in their order
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
