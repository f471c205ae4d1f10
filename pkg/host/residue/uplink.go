package residue

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"slices"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"go.uber.org/zap"
	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/pkg/host/internal/sys"
	"github.com/netwright/netwright/pkg/problem"
)

// RestoreUplink moves addresses and routes back to a device from the link to which a network had
// moved them. First the device is released from the link; then it gets the addresses and the
// routes; at last the addresses are removed from the link. Addresses within added, and routes that
// use them, belong to the network and are not moved. A bridge of Open vSwitch (database at socket)
// is removed, because it would take the device again. This may cut the node off: call it only under
// a checkpoint. It may be retried.
func (w Writer) RestoreUplink(ctx context.Context, from, to, socket string, added []netip.Prefix) error {
	if err := w.ready(ctx); err != nil {
		return err
	}
	source, err := linkByName(from)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	device, err := linkByName(to)
	if err != nil {
		return fmt.Errorf("move addresses back from %s: %w", from, err)
	}
	addresses, err := sys.Dump(ctx, "addresses of "+from,
		func() ([]netlink.Addr, error) { return netlink.AddrList(source, netlink.FAMILY_ALL) })
	if err != nil {
		return err
	}
	all, err := allRoutes(ctx)
	if err != nil {
		return err
	}
	fail := func(what string, err error) error {
		return fmt.Errorf("move addresses back from %s to %s: %s: %w: what is left is on %s (`ip addr`, `ip route`)",
			from, to, what, err, from)
	}
	if err := w.letGo(ctx, source, device, socket); err != nil {
		return fail("let "+to+" go", err)
	}
	if err := netlink.LinkSetUp(device); err != nil {
		return fail("bring it up", err)
	}
	if what, err := moveBack(source, device, addresses, all, added); err != nil {
		return fail(what, err)
	}
	w.changed("addresses and routes moved back", zap.String("from", from), zap.String("to", to))
	return nil
}

// moveBack gives a device the addresses and routes of a link, without those that were added to the
// link, and then takes the addresses off the link. After an error, what is the address or route
// that it is about.
func moveBack(
	source, device netlink.Link, addresses []netlink.Addr, routes []netlink.Route, added []netip.Prefix,
) (what string, err error) {
	for _, a := range addresses {
		linkLocal := a.Scope == unix.RT_SCOPE_LINK && a.IP.To4() == nil // from the MAC of that link
		if linkLocal || within(added, a.IP) {
			continue
		}
		a.LinkIndex, a.Label = device.Attrs().Index, ""
		if err := netlink.AddrReplace(device, &a); err != nil {
			return "address " + a.IPNet.String(), err
		}
	}
	for _, r := range routes {
		if r.LinkIndex != source.Attrs().Index || r.Table == unix.RT_TABLE_LOCAL ||
			r.Protocol == unix.RTPROT_KERNEL && r.Gw == nil || r.Type != unix.RTN_UNICAST ||
			within(added, r.Src) || within(added, r.Gw) || r.Dst != nil && within(added, r.Dst.IP) {
			continue
		}
		r.LinkIndex = device.Attrs().Index
		if err := netlink.RouteReplace(&r); err != nil {
			return "route " + r.String(), err
		}
	}
	for _, a := range addresses {
		if err := netlink.AddrDel(source, &a); err != nil && !gone(err) {
			return "take " + a.IPNet.String() + " off the link", err
		}
	}
	return "", nil
}

func within(ranges []netip.Prefix, ip net.IP) bool {
	addr, ok := netip.AddrFromSlice(ip)
	return ok && slices.ContainsFunc(ranges, func(p netip.Prefix) bool { return p.Contains(addr.Unmap()) })
}

func gone(err error) bool {
	return errors.Is(err, unix.EADDRNOTAVAIL) || errors.Is(err, unix.ENODEV) || errors.Is(err, unix.ENXIO)
}

// letGo releases a device from its master.
func (w Writer) letGo(ctx context.Context, from, device netlink.Link, socket string) error {
	switch name := from.Attrs().Name; from.Type() {
	case "bridge":
		return netlink.LinkSetNoMaster(device)
	case "openvswitch":
		db, err := w.ovsdb(ctx, socket)
		if err == nil {
			defer db.Close()
			before, err := db.state()
			if err != nil {
				return err
			}
			if slices.Contains(before.Bridges, name) {
				return db.change(ctx, before, []string{name}, nil)
			}
		}
		return w.unplug(ctx, device.Attrs().Name)
	default: // the link is on top of the device
		return netlink.LinkDel(from)
	}
}

// unplug removes a port from its datapath.
func (w Writer) unplug(ctx context.Context, port string) error {
	all, err := w.Datapaths(ctx)
	if err != nil {
		return err
	}
	for _, d := range all {
		if slices.Contains(d.Ports, port) {
			_, err := genl(ctx, ovsVportFamily, ovsVportVersion, ovsDel, unix.NLM_F_ACK, ovsHeader(d.index),
				nl.NewRtAttr(ovsVportName, nl.ZeroTerminated(port)))
			return err
		}
	}
	return nil
}

// linkByName finds a link; it returns [fs.ErrNotExist] if there is none.
func linkByName(name string) (netlink.Link, error) {
	l, err := netlink.LinkByName(name)
	if _, ok := errors.AsType[netlink.LinkNotFoundError](err); ok {
		return nil, problem.Missing("there is no link %s", name)
	}
	if err != nil {
		return nil, fmt.Errorf("read link %s: %w", name, err)
	}
	return l, nil
}

// allRoutes lists the routes of all tables and both families.
func allRoutes(ctx context.Context) ([]netlink.Route, error) {
	var out []netlink.Route
	for _, family := range []int{netlink.FAMILY_V4, netlink.FAMILY_V6} {
		list, err := sys.Dump(ctx, "routes of table 0", func() ([]netlink.Route, error) {
			return netlink.RouteListFiltered(family, &netlink.Route{Table: unix.RT_TABLE_UNSPEC},
				netlink.RT_FILTER_TABLE)
		})
		if err != nil {
			return nil, err
		}
		for i := range list {
			list[i].Family = family
		}
		out = append(out, list...)
	}
	return out, nil
}
