package netstate

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"net/netip"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/pkg/host/internal/sys"
	"github.com/netwright/netwright/pkg/host/rtnl"
)

// listRules lists the policy rules of IPv4 and IPv6.
func listRules(ctx context.Context) (out [][]byte, err error) {
	rules, err := rawList(ctx, "policy rules", unix.RTM_GETRULE, unix.RTM_NEWRULE, ruleHead)
	for _, m := range rules {
		if m[0] == unix.AF_INET || m[0] == unix.AF_INET6 {
			out = append(out, ruleMessage(m))
		}
	}
	return out, err
}

// ruleMessage is a rule without what tells whether its link is there now, which the kernel says
// among its flags. The others say what it matches: all but what it names (`not`), and the source
// address that a route would choose.
func ruleMessage(m []byte) []byte {
	m = bytes.Clone(m)
	flags := binary.NativeEndian.Uint32(m[8:]) & (unix.FIB_RULE_INVERT | unix.FIB_RULE_FIND_SADDR)
	binary.NativeEndian.PutUint32(m[8:], flags)
	return m
}

func restoreRules(ctx context.Context, was State) error {
	now, err := listRules(ctx)
	if err != nil {
		return err
	}
	var errs []error
	for _, m := range missing(now, was.Rules) {
		ours := false
		sys.EachAttribute(m[ruleHead:], func(kind uint16, _, value []byte) {
			ours = ours || kind == nl.FRA_PROTOCOL && len(value) == 1 && value[0] == rtnl.RouteProtocol
		})
		if ours {
			errs = append(errs, send("remove a policy rule", unix.RTM_DELRULE, 0, m, unix.ENOENT))
		}
	}
	if now, err = listRules(ctx); err != nil {
		return errors.Join(append(errs, err)...)
	}
	off, on := reorder(was.Rules, now, order{
		id: func(m []byte) string { return string(m) }, key: ruleKey,
		fixed: func(m []byte) bool { return readRule(m).protocol == unix.RTPROT_KERNEL },
	})
	for _, m := range off {
		errs = append(errs, send("take a policy rule off for another before it", unix.RTM_DELRULE, 0, m, unix.ENOENT))
	}
	for _, m := range on {
		errs = append(errs,
			send("bring a policy rule back", unix.RTM_NEWRULE, unix.NLM_F_CREATE|unix.NLM_F_EXCL, m, unix.EEXIST))
	}
	return errors.Join(errs...)
}

// ruleKey is the place of a rule among those of its family. The kernel goes by the first of those
// of a priority.
func ruleKey(m []byte) string {
	return string(append(m[:1:1], sys.Attribute(m[ruleHead:], nl.FRA_PRIORITY)...))
}

// readRule is what a rule's message says of who made it and for whom. src and dst are of single
// addresses, else invalid.
func readRule(m []byte) (out struct {
	protocol byte
	iif, oif string
	src, dst netip.Addr
}) {
	body := m[ruleHead:]
	if b := sys.Attribute(body, nl.FRA_PROTOCOL); len(b) == 1 {
		out.protocol = b[0]
	}
	out.iif, out.oif = sys.AttributeText(body, nl.FRA_IIFNAME), sys.AttributeText(body, nl.FRA_OIFNAME)
	single := func(kind uint16, bits byte) netip.Addr {
		if a, is := netip.AddrFromSlice(sys.Attribute(body, kind)); is && a.BitLen() == int(bits) {
			return a
		}
		return netip.Addr{}
	}
	out.dst, out.src = single(nl.FRA_DST, m[1]), single(nl.FRA_SRC, m[2])
	return out
}
