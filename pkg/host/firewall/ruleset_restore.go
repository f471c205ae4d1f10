package firewall

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/google/nftables/expr"
	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/pkg/host/internal/sys"
)

// RestoreRuleSet restores a recorded rule set in one transaction. If the kernel refuses that, it
// restores each table in its own transaction, and left names those that failed. Tables in which
// only chains without a hook have changed are left alone. So are new tables of programs that run on
// the node. The tables of iptables have many writers, so their chains are restored one by one
// ([mendChains]). Any other table is replaced as a whole. It may be retried.
func (w *Writer) RestoreRuleSet(ctx context.Context, was RuleSet) (left []string, err error) {
	if len(was.Tables) == 0 && !Loaded("/") {
		return nil, nil
	}
	for try := range sys.DumpTries {
		var now RuleSet
		if now, err = w.fw.RuleSet(ctx); err != nil {
			return nil, err
		}
		changes := tableChanges(was, now)
		if err = w.restore(ctx, changes...); err == nil {
			return nil, nil
		}
		// Another program has changed the rule set since it was read.
		if !errors.Is(err, unix.ENOENT) && !errors.Is(err, unix.EBUSY) && !errors.Is(err, unix.EEXIST) ||
			try == sys.DumpTries/2 {
			return w.restoreEach(ctx, changes)
		}
	}
	return nil, err
}

// tableChanges returns the changes that restore the tables that differ.
func tableChanges(was, now RuleSet) (out []nftBatch) {
	add := func(t SetTable, change func(b *nftBatch)) {
		b := nftBatch{family: t.Family, table: t.Name}
		if change(&b); len(b.messages) > 0 {
			out = append(out, b)
		}
	}
	find := func(s RuleSet, t SetTable) *SetTable {
		i := slices.IndexFunc(s.Tables, func(o SetTable) bool { return o.Family == t.Family && o.Name == t.Name })
		if i < 0 {
			return nil
		}
		return &s.Tables[i]
	}
	for _, is := range now.Tables {
		switch {
		case find(was, is) != nil || sys.HasWriter(is.Name):
		case is.iptables() && is.shared():
			add(is, func(b *nftBatch) { b.mend(SetTable{Family: is.Family, Name: is.Name}, is) })
		default:
			add(is, (*nftBatch).removeTable)
		}
	}
	for _, t := range was.Tables {
		add(t, func(b *nftBatch) {
			switch is := find(now, t); {
			case is == nil:
				b.make(t)
			case t.iptables():
				b.mend(t, *is)
			case len(mendChains(t.guarded(), is.guarded())) > 0:
				b.removeTable()
				b.make(t)
			}
		})
	}
	return out
}

// iptables reports whether iptables-nft writes the table.
func (t SetTable) iptables() bool {
	return (t.Family == unix.NFPROTO_IPV4 || t.Family == unix.NFPROTO_IPV6) && isIPTTable(t.Name)
}

// shared reports whether programs on the node also write the table: see [sys.HasWriter].
func (t SetTable) shared() bool {
	return slices.ContainsFunc(t.guarded(), func(c guardedChain) bool { return sys.HasWriter(c.name) })
}

// make creates a table with its content. Objects come before those that refer to them.
func (b *nftBatch) make(t SetTable) {
	b.add(unix.NFT_MSG_NEWTABLE, netlink.Create, t.Table)
	for _, c := range t.Chains {
		b.add(unix.NFT_MSG_NEWCHAIN, netlink.Create, c.Message)
	}
	for _, o := range t.Objects {
		b.add(unix.NFT_MSG_NEWOBJ, netlink.Create, o)
	}
	for _, f := range t.Flowtables {
		b.add(unix.NFT_MSG_NEWFLOWTABLE, netlink.Create, f)
	}
	for i, s := range t.Sets {
		id := uint32(i + 1) // the kernel needs an id, even for a set with a name
		b.add(unix.NFT_MSG_NEWSET, netlink.Create, s.Message, numberAttribute(unix.NFTA_SET_ID, id))
	}
	for _, s := range t.Sets {
		b.elements(s)
	}
	b.allRules(t)
}

// allRules adds the rules of all chains. The rules of a chain that is bound to a rule come before
// that rule.
func (b *nftBatch) allRules(t SetTable) {
	made := map[string]bool{}
	var each func(c SetChain)
	each = func(c SetChain) {
		if made[c.Name] {
			return
		}
		made[c.Name] = true
		for _, r := range c.Rules {
			r.know(t.Family)
			for _, to := range t.Chains {
				if to.Bound && to.Name == r.leads {
					each(to)
				}
			}
			b.rule(r.Message)
		}
	}
	for _, c := range t.Chains {
		each(c)
	}
}

// elementsEach is how many bytes of elements go into one message: the length of an attribute has 16
// bits.
const elementsEach = 16 << 10

func (b *nftBatch) elements(s SetMembers) {
	for rest := s.Elements; len(rest) > 0; {
		var list []byte
		n := 0
		for n < len(rest) && len(list) < elementsEach {
			list = append(list, rest[n]...)
			n++
		}
		rest = rest[n:]
		b.add(unix.NFT_MSG_NEWSETELEM, netlink.Create, sys.TextAttribute(unix.NFTA_SET_ELEM_LIST_TABLE, b.table),
			sys.TextAttribute(unix.NFTA_SET_ELEM_LIST_SET, s.Name), sys.NestedAttribute(unix.NFTA_SET_ELEM_LIST_ELEMENTS, list))
	}
}

func (b *nftBatch) rule(message []byte) {
	b.add(unix.NFT_MSG_NEWRULE, netlink.Create|netlink.Append, message, compat(b.family, message))
}

// mend restores the chains of a table with many writers. It creates chains before the rules that
// jump to them, and removes chains after these rules.
func (b *nftBatch) mend(was, now SetTable) {
	mends := mendChains(was.guarded(), now.guarded())
	for _, m := range mends {
		switch {
		case m.create:
			i := slices.IndexFunc(was.Chains, func(c SetChain) bool { return c.Name == m.name })
			b.add(unix.NFT_MSG_NEWCHAIN, netlink.Create, was.Chains[i].Message)
		case m.policy != "":
			b.onChain(unix.NFT_MSG_NEWCHAIN, 0, m.name, policyAttribute(m.policy))
		}
		if (m.write || m.drop) && !m.create {
			b.onRules(unix.NFT_MSG_DELRULE, 0, m.name)
		}
	}
	for _, m := range mends {
		for _, r := range m.rules {
			b.rule(r.message)
		}
	}
	for _, m := range mends {
		if m.drop {
			b.onChain(unix.NFT_MSG_DELCHAIN, 0, m.name)
		}
	}
}

// compat returns an attribute that the kernel does not list but needs for a rule with a match or
// target of xtables: the protocol of the rule (net/netfilter/nft_compat.c).
func compat(family byte, rule []byte) []byte {
	var raw rawRule
	raw.decode(family, rule)
	if !slices.Contains(raw.names, "match") && !slices.Contains(raw.names, "target") {
		return nil
	}
	for i, e := range raw.exprs {
		if !ofProtocol(e) {
			continue
		}
		if cmp, is := at[*expr.Cmp](raw.exprs, i+1); is && len(cmp.Data) == 1 {
			flags := uint32(0)
			if cmp.Op == expr.CmpOpNeq {
				flags = 1 << 1 // NFT_RULE_COMPAT_F_INV
			}
			return sys.NestedAttribute(unix.NFTA_RULE_COMPAT, append(numberAttribute(unix.NFTA_RULE_COMPAT_PROTO, uint32(cmp.Data[0])),
				numberAttribute(unix.NFTA_RULE_COMPAT_FLAGS, flags)...))
		}
	}
	return nil
}

// ofProtocol reports whether an expression loads the protocol of a packet. New iptables does this
// by meta l4proto; older ones load the byte of the IPv4 or IPv6 header.
func ofProtocol(e expr.Any) bool {
	switch e := e.(type) {
	case *expr.Meta:
		return e.Key == expr.MetaKeyL4PROTO
	case *expr.Payload:
		return e.Base == expr.PayloadBaseNetworkHeader && e.Len == 1 && (e.Offset == 9 || e.Offset == 6)
	}
	return false
}

// restore makes changes in one transaction.
func (w *Writer) restore(ctx context.Context, changes ...nftBatch) error {
	if len(changes) == 0 {
		return nil
	}
	if err := w.transact(ctx, changes...); err != nil {
		return fmt.Errorf("write the nft rule set: %w", nftHint(err))
	}
	sys.Changed(w.log, "nft rule set brought back")
	return nil
}

// restoreEach makes each change in its own transaction, and names those that the kernel refuses.
func (w *Writer) restoreEach(ctx context.Context, changes []nftBatch) (left []string, err error) {
	for _, c := range changes {
		if err := w.restore(ctx, c); err != nil {
			if context.Cause(ctx) != nil {
				return left, err
			}
			left = append(left, fmt.Sprintf("nft table %s (%v)", TableName{tableFamily(c.family), c.table}, err))
		}
	}
	return left, nil
}
