package sys

import (
	"net"
	"net/netip"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// IPNet converts a prefix for package netlink, with its host bits. It returns nil for the zero
// prefix.
func IPNet(p netip.Prefix) *net.IPNet {
	if !p.IsValid() {
		return nil
	}
	return &net.IPNet{IP: p.Addr().AsSlice(), Mask: net.CIDRMask(p.Bits(), p.Addr().BitLen())}
}

// Prefix is the reverse of [IPNet]. The address of a network of IPv4 may have 16 bytes.
func Prefix(n *net.IPNet) netip.Prefix {
	if n == nil {
		return netip.Prefix{}
	}
	bits, size := n.Mask.Size()
	addr, _ := netip.AddrFromSlice(n.IP)
	if size == 32 {
		addr = addr.Unmap()
	}
	return netip.PrefixFrom(addr, bits)
}

// Address converts an address for package netlink. An IPv6 address is without duplicate address
// detection, which would wait on a link without a carrier.
func Address(p netip.Prefix) *netlink.Addr {
	a := &netlink.Addr{IPNet: IPNet(p)}
	if p.Addr().Is6() {
		a.Flags = unix.IFA_F_NODAD
	}
	return a
}
