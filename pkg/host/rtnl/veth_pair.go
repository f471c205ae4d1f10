package rtnl

import (
	"context"
	"fmt"
	"net"
	"net/netip"

	"github.com/vishvananda/netlink"
	"go.uber.org/zap"

	"github.com/netwright/netwright/pkg/blob"
	"github.com/netwright/netwright/pkg/host/internal/sys"
)

// VethPair is a veth pair between the host and a network namespace.
type VethPair struct {
	Name        string         // of the host's end; the other end is eth0
	NetNS       string         // file of the other end's namespace
	MTU         int            // of both ends
	Here, There []netip.Prefix // addresses of the ends; Here has the default gateway of each family
}

// AddVeth creates the pair and sets both ends up. If it fails, part of the pair may exist:
// [Writer.DelLink] removes it. It needs CAP_SYS_ADMIN for the namespace.
func (w *Writer) AddVeth(ctx context.Context, c VethPair) error {
	rt, err := w.net.rt(ctx)
	if err != nil {
		return err
	}
	ns, err := blob.Open(c.NetNS)
	if err != nil {
		return fmt.Errorf("create veth pair %s: %w", c.Name, err)
	}
	defer ns.Close()
	attrs := netlink.NewLinkAttrs()
	attrs.Name, attrs.MTU = c.Name, c.MTU
	if err := rt.LinkAdd(&netlink.Veth{LinkAttrs: attrs, PeerName: "eth0",
		PeerNamespace: netlink.NsFd(int(ns.Fd()))}); err != nil {
		return fmt.Errorf("create veth pair %s: %w", c.Name, err)
	}
	sys.Changed(w.log, "link made", zap.String("link", c.Name), zap.String("kind", "veth"))
	err = plugIn(rt, c.Name, c.Here)
	if err == nil {
		err = InNetNS(c.NetNS, func() error {
			there := &netlink.Handle{} // uses the namespace of the thread
			if err := plugIn(there, "eth0", c.There); err != nil {
				return err
			}
			return defaultRoutes(there, c.Here)
		})
	}
	if err != nil {
		return fmt.Errorf("create veth pair %s: %w", c.Name, err)
	}
	return nil
}

// plugIn adds the addresses to a link and sets it up.
func plugIn(rt *netlink.Handle, name string, addrs []netip.Prefix) error {
	l, err := rt.LinkByName(name)
	if err != nil {
		return fmt.Errorf("find %s: %w", name, err)
	}
	for _, a := range addrs {
		if err := rt.AddrAdd(l, sys.Address(a)); err != nil {
			return fmt.Errorf("set address %s on %s: %w", a, name, err)
		}
	}
	if err := rt.LinkSetUp(l); err != nil {
		return fmt.Errorf("bring %s up: %w", name, err)
	}
	return nil
}

// defaultRoutes adds a default route by each gateway.
func defaultRoutes(rt *netlink.Handle, gateways []netip.Prefix) error {
	for _, gw := range gateways {
		if err := rt.RouteAdd(&netlink.Route{Gw: net.IP(gw.Addr().AsSlice())}); err != nil {
			return fmt.Errorf("set the default route by %s: %w", gw.Addr(), err)
		}
	}
	return nil
}
