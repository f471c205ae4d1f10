package firewall

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/google/nftables"
	"github.com/google/nftables/expr"
	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/pkg/host/internal/sys"
)

// RestoreRuleSet brings the rule set back to what it was, in one transaction; where the kernel
// refuses that, each table in its own, and left says what was not brought back. A table of which
// nothing but chains without a hook has changed is left alone, as are tables of programs on the
// node that came meanwhile. Iptables' tables have many writers, and get their chains back one by
// one ([mendChains]); another one is replaced as a whole. It may be retried.
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
		if err = w.transact(ctx, changes); err == nil {
			return nil, nil
		}
		// Somebody changed it since it was read.
		if !errors.Is(err, unix.ENOENT) && !errors.Is(err, unix.EBUSY) && !errors.Is(err, unix.EEXIST) ||
			try == sys.DumpTries/2 {
			return w.transactEach(ctx, changes)
		}
	}
	return nil, err
}

// tableChange is what brings one table back.
type tableChange struct {
	name     string
	messages []netlink.Message
}

func tableChanges(was, now RuleSet) (out []tableChange) {
	add := func(t SetTable, b nftBatch) {
		if len(b.messages) > 0 {
			out = append(out, tableChange{tableFamily(t.Family) + " " + t.Name, b.messages})
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
		b := nftBatch{family: is.Family}
		switch {
		case find(was, is) != nil || sys.HasWriter(is.Name):
			continue
		case is.iptables() && is.shared():
			b.mend(SetTable{Family: is.Family, Name: is.Name}, is)
		default:
			b.remove(is)
		}
		add(is, b)
	}
	for _, t := range was.Tables {
		b := nftBatch{family: t.Family}
		switch is := find(now, t); {
		case is == nil:
			b.make(t)
		case t.iptables():
			b.mend(t, *is)
		case len(mendChains(t.guarded(), is.guarded())) > 0:
			b.remove(*is)
			b.make(t)
		}
		add(t, b)
	}
	return out
}

// iptables says that iptables-nft writes the table.
func (t SetTable) iptables() bool {
	return (t.Family == unix.NFPROTO_IPV4 || t.Family == unix.NFPROTO_IPV6) && isIPTTable(t.Name)
}

// shared says that programs on the node write the table, too: see [sys.HasWriter].
func (t SetTable) shared() bool {
	return slices.ContainsFunc(t.guarded(), func(c guardedChain) bool { return sys.HasWriter(c.name) })
}

// nftBatch is a list of messages that nf_tables takes as one transaction.
type nftBatch struct {
	family   byte
	messages []netlink.Message
}

func (b *nftBatch) add(kind uint16, flags netlink.HeaderFlags, body []byte) {
	b.messages = append(b.messages, netlink.Message{
		Header: netlink.Header{Type: netlink.HeaderType(unix.NFNL_SUBSYS_NFTABLES<<8 | kind),
			Flags: netlink.Request | flags},
		Data: append([]byte{b.family, 0, 0, 0}, body...),
	})
}

func (b *nftBatch) remove(t SetTable) {
	b.add(unix.NFT_MSG_DELTABLE, 0, stringAttribute(unix.NFTA_TABLE_NAME, t.Name))
}

// make makes a table with all that is in it: what others name comes before them.
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
		id := uint32(i + 1) // the kernel wants one, also where the set has a name
		b.add(unix.NFT_MSG_NEWSET, netlink.Create,
			append(slices.Clone(s.Message), numberAttribute(unix.NFTA_SET_ID, id)...))
	}
	for _, s := range t.Sets {
		b.elements(t, s)
	}
	b.allRules(t)
}

// allRules makes the rules of all chains. Those of a chain that is bound to a rule come before that
// rule.
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
			b.rules([]SetRule{r})
		}
	}
	for _, c := range t.Chains {
		each(c)
	}
}

// elementsEach is how many bytes of elements go into a message: the length of an attribute has 16
// bits.
const elementsEach = 16 << 10

func (b *nftBatch) elements(t SetTable, s SetMembers) {
	for rest := s.Elements; len(rest) > 0; {
		var list []byte
		n := 0
		for n < len(rest) && len(list) < elementsEach {
			list = append(list, rest[n]...)
			n++
		}
		rest = rest[n:]
		body := append(stringAttribute(unix.NFTA_SET_ELEM_LIST_TABLE, t.Name),
			stringAttribute(unix.NFTA_SET_ELEM_LIST_SET, s.Name)...)
		b.add(unix.NFT_MSG_NEWSETELEM, netlink.Create,
			append(body, rawAttribute(unix.NFTA_SET_ELEM_LIST_ELEMENTS|unix.NLA_F_NESTED, list)...))
	}
}

func (b *nftBatch) rules(list []SetRule) {
	for _, r := range list {
		b.add(unix.NFT_MSG_NEWRULE, netlink.Create|netlink.Append,
			append(slices.Clone(r.Message), compat(b.family, r.Message)...))
	}
}

// mend brings the chains of a table back that many write. Chains come before the rules that lead
// to them, and go after.
func (b *nftBatch) mend(was, now SetTable) {
	mends := mendChains(was.guarded(), now.guarded())
	chain := func(t SetTable, name string) SetChain {
		for _, c := range t.Chains {
			if c.Name == name {
				return c
			}
		}
		return SetChain{}
	}
	of := func(name string) []byte {
		return append(stringAttribute(unix.NFTA_RULE_TABLE, now.Name), stringAttribute(unix.NFTA_RULE_CHAIN, name)...)
	}
	for _, m := range mends {
		switch {
		case m.create:
			b.add(unix.NFT_MSG_NEWCHAIN, netlink.Create, chain(was, m.name).Message)
		case m.policy != "":
			policy := uint32(nftables.ChainPolicyAccept)
			if m.policy == "drop" {
				policy = uint32(nftables.ChainPolicyDrop)
			}
			body := append(stringAttribute(unix.NFTA_CHAIN_TABLE, now.Name),
				stringAttribute(unix.NFTA_CHAIN_NAME, m.name)...)
			b.add(unix.NFT_MSG_NEWCHAIN, 0, append(body, numberAttribute(unix.NFTA_CHAIN_POLICY, policy)...))
		}
		if (m.write || m.drop) && !m.create {
			b.add(unix.NFT_MSG_DELRULE, 0, of(m.name))
		}
	}
	for _, m := range mends {
		if !m.write {
			continue
		}
		for _, ref := range m.rules {
			from := was
			if ref.now {
				from = now
			}
			b.rules(chain(from, m.name).Rules[ref.index : ref.index+1])
		}
	}
	for _, m := range mends {
		if m.drop {
			b.add(unix.NFT_MSG_DELCHAIN, 0,
				append(stringAttribute(unix.NFTA_CHAIN_TABLE, now.Name),
					stringAttribute(unix.NFTA_CHAIN_NAME, m.name)...))
		}
	}
}

// compat is what the kernel leaves out of a rule with a match or a target of xtables, and
// wants back: the protocol that the rule is for (net/netfilter/nft_compat.c).
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
			body := append(numberAttribute(unix.NFTA_RULE_COMPAT_PROTO, uint32(cmp.Data[0])),
				numberAttribute(unix.NFTA_RULE_COMPAT_FLAGS, flags)...)
			return rawAttribute(unix.NFTA_RULE_COMPAT|unix.NLA_F_NESTED, body)
		}
	}
	return nil
}

// ofProtocol says that an expression loads the protocol of a packet, as iptables has it now or had
// it before: the byte of the IPv4 header, or of IPv6's.
func ofProtocol(e expr.Any) bool {
	switch e := e.(type) {
	case *expr.Meta:
		return e.Key == expr.MetaKeyL4PROTO
	case *expr.Payload:
		return e.Base == expr.PayloadBaseNetworkHeader && e.Len == 1 && (e.Offset == 9 || e.Offset == 6)
	}
	return false
}

func rawAttribute(kind uint16, value []byte) []byte {
	out := binary.NativeEndian.AppendUint16(nil, uint16(4+len(value)))
	return padded(append(binary.NativeEndian.AppendUint16(out, kind), value...))
}

func stringAttribute(kind uint16, s string) []byte { return rawAttribute(kind, append([]byte(s), 0)) }

// numberAttribute is in the byte order of nf_tables.
func numberAttribute(kind uint16, n uint32) []byte {
	return rawAttribute(kind, binary.BigEndian.AppendUint32(nil, n))
}

// transactEach brings back what the kernel takes, and names the rest.
func (w *Writer) transactEach(ctx context.Context, changes []tableChange) (left []string, err error) {
	for _, c := range changes {
		if err := w.transact(ctx, []tableChange{c}); err != nil {
			if context.Cause(ctx) != nil {
				return left, err
			}
			left = append(left, fmt.Sprintf("nft table %s (%v)", c.name, err))
		}
	}
	return left, nil
}

// The ends of a transaction (linux/netfilter/nfnetlink.h, NFNL_MSG_BATCH_…).
const (
	batchBegin = 0x10
	batchEnd   = 0x11
)

// transact makes changes in one transaction: all or none.
func (w *Writer) transact(ctx context.Context, changes []tableChange) error {
	var list []netlink.Message
	for _, c := range changes {
		list = append(list, c.messages...)
	}
	if len(list) == 0 {
		return nil
	}
	c, err := dial(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	end := func(kind netlink.HeaderType) netlink.Message {
		return netlink.Message{Header: netlink.Header{Type: kind, Flags: netlink.Request},
			Data: []byte{0, 0, 0, unix.NFNL_SUBSYS_NFTABLES}}
	}
	list = append(append([]netlink.Message{end(batchBegin)}, list...), end(batchEnd))
	size := 0
	for i := range list {
		size += len(list[i].Data) + unix.NLMSG_HDRLEN + 4
	}
	if err := c.SetWriteBuffer(2*size + 1<<16); err != nil { // a transaction is one message for the socket
		return fmt.Errorf("make room for the nft transaction: %w", err)
	}
	// Errors come whoever asked for an answer, and before that of the last.
	last := &list[len(list)-2]
	last.Header.Flags |= netlink.Acknowledge
	list, err = c.SendMessages(list)
	if err != nil {
		return fmt.Errorf("write the nft rule set: %w", err)
	}
	for {
		answers, err := c.Receive()
		if err != nil {
			return fmt.Errorf("write the nft rule set: %w", nftHint(err))
		}
		for _, m := range answers {
			if m.Header.Sequence == list[len(list)-2].Header.Sequence {
				sys.Changed(w.log, "nft rule set brought back")
				return nil
			}
		}
	}
}
