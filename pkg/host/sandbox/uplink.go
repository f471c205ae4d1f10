package sandbox

import (
	"fmt"
	"net/netip"

	"github.com/vishvananda/netlink"

	"github.com/netwright/netwright/pkg/host/internal/sys"
)

// addUplink gives the empty network namespace what every node has: lo, and an uplink eth0 with
// addresses and default routes. The other end of eth0, "outside", is a link of the same namespace;
// nothing answers there.
func addUplink(addresses []netip.Prefix) error {
	attrs := netlink.NewLinkAttrs()
	attrs.Name = "eth0"
	veth := &netlink.Veth{LinkAttrs: attrs, PeerName: "outside"}
	if err := netlink.LinkAdd(veth); err != nil {
		return fmt.Errorf("add eth0: %w", err)
	}
	for _, name := range []string{"lo", "outside", "eth0"} {
		link, err := netlink.LinkByName(name)
		if err != nil {
			return fmt.Errorf("find %s: %w", name, err)
		}
		if err := netlink.LinkSetUp(link); err != nil {
			return fmt.Errorf("set %s up: %w", name, err)
		}
	}
	for _, prefix := range addresses {
		if err := addAddress(veth, prefix); err != nil {
			return err
		}
	}
	return nil
}

func addAddress(link netlink.Link, prefix netip.Prefix) error {
	if err := netlink.AddrAdd(link, sys.Address(prefix)); err != nil {
		return fmt.Errorf("add %s: %w", prefix, err)
	}
	// The first address of the subnet stands for the router.
	gateway := prefix.Masked().Addr().Next()
	if gateway == prefix.Addr() {
		gateway = gateway.Next()
	}
	if err := netlink.RouteAdd(&netlink.Route{LinkIndex: link.Attrs().Index, Gw: gateway.AsSlice()}); err != nil {
		return fmt.Errorf("add the default route by %s: %w", gateway, err)
	}
	return nil
}
