package rtnl

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"slices"

	"go.uber.org/zap"
	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/pkg/host/internal/sys"
)

// Addresses implements host.Net. It returns [fs.ErrNotExist] for an unknown link.
func (n *Reader) Addresses(ctx context.Context, link string) ([]Address, error) {
	if link == "" {
		names, err := n.names(ctx)
		if err != nil {
			return nil, err
		}
		return n.addresses(ctx, names)
	}
	on, err := n.Link(ctx, link)
	if err != nil {
		return nil, err
	}
	return n.addresses(ctx, map[int]string{on.Index: link})
}

// addresses lists the addresses on the links whose names are given by index.
func (n *Reader) addresses(ctx context.Context, names map[int]string) ([]Address, error) {
	return sys.Dump(ctx, "addresses", func() ([]Address, error) {
		out := []Address{}
		ask := make([]byte, unix.SizeofIfAddrmsg)
		err := n.lists.List(unix.RTM_GETADDR, unix.RTM_NEWADDR, unix.NLM_F_DUMP, ask, func(m []byte) {
			if a, index := decodeAddress(m); names[index] != "" {
				a.Link = names[index]
				out = append(out, a)
			}
		})
		return out, err
	})
}

// decodeAddress decodes an rtnetlink message of an address and the index of its link. The index is
// 0 if the address is neither IPv4 nor IPv6. If the address has a peer, the node's own address is
// IFA_LOCAL; its Prefix is then the single address.
func decodeAddress(m []byte) (out Address, index int) {
	if len(m) < unix.SizeofIfAddrmsg || m[0] != unix.AF_INET && m[0] != unix.AF_INET6 {
		return out, 0
	}
	flags, bits := uint32(m[2]), int(m[1])
	var local, remote netip.Addr
	sys.EachAttribute(m[unix.SizeofIfAddrmsg:], func(kind uint16, _, value []byte) {
		switch kind {
		case unix.IFA_LOCAL:
			local, _ = netip.AddrFromSlice(value)
		case unix.IFA_ADDRESS:
			remote, _ = netip.AddrFromSlice(value)
		case unix.IFA_LABEL:
			out.Label = unix.ByteSliceToString(value)
		case unix.IFA_FLAGS:
			flags = uint32(sys.Number(value))
		}
	})
	switch {
	case !local.IsValid():
		out.Prefix = netip.PrefixFrom(remote, bits)
	case m[0] == unix.AF_INET && local == remote:
		out.Prefix = netip.PrefixFrom(local, bits)
	default:
		out.Prefix = netip.PrefixFrom(local, local.BitLen())
	}
	out.Scope = scopeNames[int(m[3])]
	// The kernel sets IFA_F_PERMANENT on an address without a lifetime.
	out.Dynamic = flags&unix.IFA_F_PERMANENT == 0
	return out, int(binary.NativeEndian.Uint32(m[4:]))
}

// scopeNames maps rtnetlink's scopes to the names of ip-address(8).
var scopeNames = map[int]string{unix.RT_SCOPE_UNIVERSE: "global", unix.RT_SCOPE_SITE: "site",
	unix.RT_SCOPE_LINK: "link", unix.RT_SCOPE_HOST: "host"}

// AddAddress adds an address to a link. It is success if the link has the address already. An IPv6
// address is added without duplicate address detection: a bridge of the agent has no carrier before
// its first pod, and the detection would wait for a carrier. AddAddress may be retried.
func (w *Writer) AddAddress(ctx context.Context, link string, prefix netip.Prefix) error {
	l, err := w.net.Link(ctx, link)
	if err != nil {
		return fmt.Errorf("set address %s: %w", prefix, err)
	}
	switch err := w.net.opened().AddrAdd(l.handle(), sys.Address(prefix)); {
	case errors.Is(err, unix.EEXIST):
		return nil
	case errors.Is(err, unix.EACCES) && prefix.Addr().Is6():
		return fmt.Errorf("set address %s on link %s: IPv6 is disabled there: set net.ipv6.conf.%s.disable_ipv6 to 0: "+
			"%w", prefix, link, link, err)
	case err != nil:
		return fmt.Errorf("set address %s on link %s: %w", prefix, link, err)
	}
	sys.Changed(w.log, "address set", zap.String("link", link), zap.Stringer("address", prefix))
	return nil
}

// DelAddress removes an address from a link; a missing link or address is success. With a primary
// IPv4 address, the kernel also removes the secondary addresses of the same network
// (net/ipv4/devinet.c, __inet_del_ifa), unless promote_secondaries is set. DelAddress adds these
// again, except addresses from a DHCP client, which the client renews itself. Only one removal runs
// at a time: two at once would add each other's address again. It may be retried.
func (w *Writer) DelAddress(ctx context.Context, link string, prefix netip.Prefix) error {
	w.net.addressMu.Lock()
	defer w.net.addressMu.Unlock()
	l, err := w.net.Link(ctx, link)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("remove address %s: %w", prefix, err)
	}
	had, err := w.net.Addresses(ctx, link)
	if err != nil {
		return fmt.Errorf("remove address %s from link %s: %w", prefix, link, err)
	}
	if !slices.ContainsFunc(had, func(a Address) bool { return a.Prefix == prefix }) {
		return nil
	}
	if err := w.net.opened().AddrDel(l.handle(), sys.Address(prefix)); err != nil &&
		!errors.Is(err, unix.EADDRNOTAVAIL) {
		return fmt.Errorf("remove address %s from link %s: %w", prefix, link, err)
	}
	sys.Changed(w.log, "address removed", zap.String("link", link), zap.Stringer("address", prefix))
	for _, a := range had {
		if a.Prefix == prefix || a.Dynamic || !a.Prefix.Addr().Is4() || a.Prefix.Masked() != prefix.Masked() {
			continue
		}
		if err := w.AddAddress(ctx, link, a.Prefix); err != nil { // one that stayed is fine
			return fmt.Errorf("restore what the kernel removed with address %s: %w", prefix, err)
		}
	}
	return nil
}
