package sys

import (
	"net"
	"net/netip"
)

// IPNet is a prefix, host bits kept, in the library's terms. Nil for the zero prefix.
func IPNet(p netip.Prefix) *net.IPNet {
	if !p.IsValid() {
		return nil
	}
	return &net.IPNet{IP: p.Addr().AsSlice(), Mask: net.CIDRMask(p.Bits(), p.Addr().BitLen())}
}
