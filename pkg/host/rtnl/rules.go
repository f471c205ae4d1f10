package rtnl

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/vishvananda/netlink"
	"go.uber.org/zap"
	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/pkg/host/internal/sys"
)

// Rules implements host.Net.
func (n *Reader) Rules(ctx context.Context) ([]Rule, error) {
	rt, err := n.rt(ctx)
	if err != nil {
		return nil, err
	}
	var out []Rule
	for _, family := range []int{netlink.FAMILY_V4, netlink.FAMILY_V6} {
		list, err := sys.Dump(ctx, "policy rules", func() ([]netlink.Rule, error) { return rt.RuleList(family) })
		if errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.EAFNOSUPPORT) {
			continue // a kernel without policy routing, or without this family
		}
		if err != nil {
			return nil, err
		}
		for _, r := range list {
			out = append(out, ruleFrom(r))
		}
	}
	return out, nil
}

func ruleFrom(r netlink.Rule) Rule {
	out := Rule{
		Priority: r.Priority,
		Family:   4,
		Src:      sys.Prefix(r.Src),
		Dst:      sys.Prefix(r.Dst),
		IIF:      r.IifName,
		OIF:      r.OifName,
		Mark:     r.Mark,
		Table:    r.Table,
		Protocol: int(r.Protocol),
	}
	if r.Family == netlink.FAMILY_V6 {
		out.Family = 6
	}
	if r.Mask != nil {
		out.Mask = *r.Mask
	}
	out.Narrow = r.Invert || r.Dport != nil || r.Sport != nil || r.IPProto > 0 || r.UIDRange != nil ||
		r.Tos != 0 || r.TunID != 0 || r.SuppressPrefixlen >= 0 || r.SuppressIfgroup >= 0
	return out
}

// Canonical returns the rule as the kernel shows it.
func (r Rule) Canonical() Rule {
	if r.Src.IsValid() {
		r.Src = r.Src.Masked()
	}
	if r.Dst.IsValid() {
		r.Dst = r.Dst.Masked()
	}
	if r.Mark != 0 && r.Mask == 0 {
		r.Mask = 0xffffffff
	}
	r.Protocol = cmp.Or(r.Protocol, RouteProtocol)
	return r
}

// Same reports whether two rules match the same packets at the same priority and lead to the same
// table. It ignores the protocol.
func (r Rule) Same(o Rule) bool {
	r, o = r.Canonical(), o.Canonical()
	r.Protocol, o.Protocol = 0, 0
	return r == o
}

// AddRule adds a policy rule with the agent's protocol number. An existing rule is success. It may
// be retried.
func (w *Writer) AddRule(ctx context.Context, r Rule) error {
	r = r.Canonical()
	r.Protocol = RouteProtocol
	rt, err := w.net.rt(ctx)
	if err != nil {
		return err
	}
	if r.Priority <= 0 {
		return fmt.Errorf("add policy rule for table %d: it needs a priority above 0, the place of the rule for local "+
			"addresses", r.Table)
	}
	if err := rt.RuleAdd(ruleTo(r)); err != nil && !errors.Is(err, unix.EEXIST) {
		return fmt.Errorf("add policy rule %d for table %d: %w", r.Priority, r.Table, err)
	}
	sys.Changed(w.log, "policy rule added", zap.Int("priority", r.Priority), zap.Int("table", r.Table))
	return nil
}

// DelRule removes a policy rule of the agent; a missing rule is success. A rule of another protocol
// stays. It refuses the rule for local addresses (priority 0 or table local): without it the host
// receives no packets for its own addresses. It may be retried.
func (w *Writer) DelRule(ctx context.Context, r Rule) error {
	r = r.Canonical()
	if r.Priority == 0 || r.Table == unix.RT_TABLE_LOCAL {
		return errors.New("remove policy rule: the rule for local addresses is never removed")
	}
	have, err := w.net.Rules(ctx)
	if err != nil {
		return fmt.Errorf("remove policy rule %d: %w", r.Priority, err)
	}
	for _, o := range have {
		if !o.Same(r) || o.Protocol != RouteProtocol {
			continue
		}
		if err := w.removeRule(w.net.opened(), o, "policy rule removed"); err != nil {
			return err
		}
	}
	return nil
}

// removeRule removes a rule. logged is the message for the log.
func (w *Writer) removeRule(rt *netlink.Handle, r Rule, logged string) error {
	if err := rt.RuleDel(ruleTo(r)); err != nil && !errors.Is(err, unix.ENOENT) {
		return fmt.Errorf("remove policy rule %d for table %d: %w", r.Priority, r.Table, err)
	}
	sys.Changed(w.log, logged, zap.Int("priority", r.Priority), zap.Int("table", r.Table))
	return nil
}

// ruleTo converts a rule for package netlink.
func ruleTo(r Rule) *netlink.Rule {
	out := netlink.NewRule()
	out.Priority, out.Table = r.Priority, r.Table
	out.Src, out.Dst = sys.IPNet(r.Src), sys.IPNet(r.Dst)
	out.IifName, out.OifName = r.IIF, r.OIF
	out.Protocol = uint8(r.Protocol)
	out.Family = netlink.FAMILY_V4
	if r.Family == 6 {
		out.Family = netlink.FAMILY_V6
	}
	if r.Mask != 0 {
		out.Mark, out.Mask = r.Mark, &r.Mask
	}
	return out
}

// OfMachine reports whether the host itself needs a rule: the rules for local addresses, and the
// rules without a selector for the tables main and default.
func (r Rule) OfMachine() bool {
	return r.Table == unix.RT_TABLE_LOCAL ||
		r.unselective() && (r.Table == MainTable || r.Table == unix.RT_TABLE_DEFAULT)
}

// DelUnmanagedRule removes a policy rule that a network left, exactly as it was read; a missing
// rule is success. It refuses rules that the host itself needs ([Rule.OfMachine]). It may be
// retried.
func (w *Writer) DelUnmanagedRule(ctx context.Context, r Rule) error {
	if r.OfMachine() {
		return fmt.Errorf("remove policy rule %d for table %d: the host's own replies use this rule", r.Priority, r.Table)
	}
	rt, err := w.net.rt(ctx)
	if err != nil {
		return err
	}
	return w.removeRule(rt, r, "policy rule of another removed")
}

// ForAll reports whether a rule matches all packets.
func (r Rule) ForAll() bool { return !r.Narrow && r.unselective() }

// unselective reports whether none of the selectors in Rule is set. Narrow is not looked at.
func (r Rule) unselective() bool {
	return !r.Src.IsValid() && !r.Dst.IsValid() && r.IIF == "" && r.OIF == "" && r.Mark == 0 && r.Mask == 0
}
