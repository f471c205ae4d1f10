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

// ruleMessage is a rule without what tells whether its link is there now, which the kernel says
// among its flags. The others say what it matches: all but what it names (`not`), and the source
// address that a route would choose.
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
