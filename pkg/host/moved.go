package host

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"go.uber.org/zap"
	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/pkg/host/internal/sys"
)

// MovedFrom finds the device of the machine whose addresses a network moved to a link: the one device that is a port of it, or of the datapath that
// it is in, or, of a link that stands in for a device, the device with its MAC. "" if there is none, or more than one.
func MovedFrom(link Link, links []Link, datapaths []Datapath, bridges OVS) string {
	var found []string
	for _, l := range links {
		if !l.Physical || l.Name == link.Name {
			continue
		}
		switch link.Kind {
		case "bridge":
			if l.Master == link.Name {
				found = append(found, l.Name)
			}
		case "openvswitch":
			ports, asked := bridges.Ports[link.Name]
			inKernel := slices.ContainsFunc(datapaths, func(d Datapath) bool { return slices.Contains(d.Ports, l.Name) && slices.Contains(d.Ports, link.Name) })
			if asked && slices.Contains(ports, l.Name) || !asked && inKernel {
				found = append(found, l.Name)
			}
		default:
			if l.MAC == link.MAC {
				found = append(found, l.Name)
			}
		}
	}
	if len(found) != 1 {
		return ""
	}
	return found[0]
}

// MoveBack gives a device its addresses and routes back from the link that a network had moved them to, in one step: the device is let go,
// gets the addresses, then each route is replaced, and at last the link loses its own. A bridge of Open vSwitch (database at
// socket) goes with it, since it would take the device again. It may cut the node off: only under a checkpoint. It may be retried.
func (h *Host) MoveBack(ctx context.Context, from, to, socket string) error {
	rt, err := h.rt(ctx)
	if err != nil {
		return err
	}
	source, err := h.link(ctx, from)
	if errors.Is(err, ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	device, err := h.link(ctx, to)
	if err != nil {
		return fmt.Errorf("move addresses back from %s: %w", from, err)
	}
	addresses, err := sys.Dump(ctx, "addresses of "+from, func() ([]netlink.Addr, error) { return rt.AddrList(source, netlink.FAMILY_ALL) })
	if err != nil {
		return err
	}
	all, err := h.routes(ctx, AllTables)
	if err != nil {
		return err
	}
	fail := func(what string, err error) error {
		return fmt.Errorf("move addresses back from %s to %s: %s: %w: what is left is on %s (`ip addr`, `ip route`)", from, to, what, err, from)
	}
	if err := h.letGo(ctx, rt, source, device, socket); err != nil {
		return fail("let "+to+" go", err)
	}
	if err := rt.LinkSetUp(device); err != nil {
		return fail("bring it up", err)
	}
	for _, a := range addresses {
		if a.Scope == unix.RT_SCOPE_LINK && a.IP.To4() == nil {
			continue // of that link's own MAC
		}
		a.LinkIndex, a.Label = device.Attrs().Index, ""
		if err := rt.AddrReplace(device, &a); err != nil {
			return fail("address "+a.IPNet.String(), err)
		}
	}
	for _, r := range all {
		if r.LinkIndex != source.Attrs().Index || r.Table == unix.RT_TABLE_LOCAL || r.Protocol == unix.RTPROT_KERNEL && r.Gw == nil || r.Type != unix.RTN_UNICAST {
			continue
		}
		r.LinkIndex = device.Attrs().Index
		if err := rt.RouteReplace(&r); err != nil {
			return fail("route "+r.String(), err)
		}
	}
	for _, a := range addresses {
		if err := rt.AddrDel(source, &a); err != nil && !gone(err) {
			return fail("take "+a.IPNet.String()+" off "+from, err)
		}
	}
	h.changed("addresses and routes moved back", zap.String("from", from), zap.String("to", to))
	return nil
}

func gone(err error) bool {
	return errors.Is(err, unix.EADDRNOTAVAIL) || errors.Is(err, unix.ENODEV) || errors.Is(err, unix.ENXIO)
}

// letGo takes a device out of what holds it.
func (h *Host) letGo(ctx context.Context, rt *netlink.Handle, from, device netlink.Link, socket string) error {
	switch name := from.Attrs().Name; from.Type() {
	case "bridge":
		return rt.LinkSetNoMaster(device)
	case "openvswitch":
		db, err := h.ovsdb(ctx, socket)
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
		return h.unplug(ctx, device.Attrs().Name)
	default: // it stands in the device's place
		return rt.LinkDel(from)
	}
}

// unplug takes a port out of the datapath that it is in.
func (h *Host) unplug(ctx context.Context, port string) error {
	all, err := h.Datapaths(ctx)
	if err != nil {
		return err
	}
	for _, d := range all {
		if slices.Contains(d.Ports, port) {
			_, err := genl(ctx, ovsVportFamily, ovsVportVersion, ovsDel, unix.NLM_F_ACK, ovsHeader(d.index), nl.NewRtAttr(ovsVportName, nl.ZeroTerminated(port)))
			return err
		}
	}
	return nil
}
