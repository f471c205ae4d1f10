package netstate

import (
	"context"
	"encoding/binary"
	"errors"
	"net/netip"
	"slices"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/pkg/host/internal/sys"
	"github.com/netwright/netwright/pkg/host/rtnl"
)

// listRules lists the policy rules of IPv4 and IPv6.
func listRules(ctx context.Context) ([][]byte, error) {
	return rawList(ctx, "policy rules", unix.RTM_GETRULE, ruleHead, ruleMessage)
}

// ruleMessage returns a rule without the flag that says whether its link exists now. The two flags
// that it keeps say what the rule matches: the inverse of its selector (`not`), and
// FIB_RULE_FIND_SADDR (the source address that a route would choose).
func ruleMessage(m []byte) []byte {
	if m[0] != unix.AF_INET && m[0] != unix.AF_INET6 {
		return nil
	}
	flags := binary.NativeEndian.Uint32(m[8:]) & (unix.FIB_RULE_INVERT | unix.FIB_RULE_FIND_SADDR)
	binary.NativeEndian.PutUint32(m[8:], flags)
	return m
}

func restoreRules(ctx context.Context, was State) error {
	now, err := listRules(ctx)
	if err != nil {
		return err
	}
	ours := slices.DeleteFunc(missing(now, was.Rules), func(m []byte) bool { return readRule(m).protocol != rtnl.RouteProtocol })
	removed := removeRules(ours)
	if now, err = listRules(ctx); err != nil {
		return errors.Join(removed, err)
	}
	off, on := reorder(was.Rules, now, order{
		id: func(m []byte) string { return string(m) }, key: ruleKey,
		fixed: func(m []byte) bool { return readRule(m).protocol == unix.RTPROT_KERNEL },
	})
	return errors.Join(removed,
		sendAll(off, "take a policy rule off for another before it", unix.RTM_DELRULE, 0, unix.ENOENT),
		sendAll(on, "bring a policy rule back", unix.RTM_NEWRULE, unix.NLM_F_CREATE|unix.NLM_F_EXCL, unix.EEXIST))
}

func removeRules(list [][]byte) error {
	return sendAll(list, "remove a policy rule", unix.RTM_DELRULE, 0, unix.ENOENT)
}

// ruleKey returns the family and priority of a rule. Among rules with the same priority, the kernel
// uses the first.
func ruleKey(m []byte) string {
	return string(append(m[:1:1], sys.Attribute(m[ruleHead:], nl.FRA_PRIORITY)...))
}

// readRule reads the protocol, links and addresses of a rule. src and dst are invalid unless they
// are single addresses.
func readRule(m []byte) (out struct {
	protocol byte
	iif, oif string
	src, dst netip.Addr
}) {
	body := m[ruleHead:]
	out.protocol = octet(sys.Attribute(body, nl.FRA_PROTOCOL))
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
