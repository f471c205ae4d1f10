package sys

import (
	"net"
	"net/netip"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// IPNet is a prefix, host bits kept, in the library's terms. Nil for the zero prefix.
func IPNet(p netip.Prefix) *net.IPNet {
	if !p.IsValid() {
		return nil
	}
	return &net.IPNet{IP: p.Addr().AsSlice(), Mask: net.CIDRMask(p.Bits(), p.Addr().BitLen())}
}

// Address is an address of a link in the library's terms. One of IPv6 comes without duplicate
// address detection, for which a link without a carrier would wait.
func Address(p netip.Prefix) *netlink.Addr {
	a := &netlink.Addr{IPNet: IPNet(p)}
	if p.Addr().Is6() {
		a.Flags = unix.IFA_F_NODAD
	}
	return a
}
