package cleanup

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/host/ipc"
	"github.com/netwright/netwright/pkg/host/residue"
	"github.com/netwright/netwright/pkg/host/rtnl"
)

// KindUplink is the kind of the key of addresses that move back to a device: moved:br-ex.
const KindUplink = "moved"

func findUplinks(ctx context.Context, v host.View, l Residue, _ Scope) ([]item, error) {
	if len(l.Uplinks) == 0 {
		return nil, nil
	}
	links, err := v.Net.Links(ctx)
	if err != nil {
		return nil, err
	}
	named := func(link rtnl.Link) bool { return !link.Physical && l.takes(link.Name, link.Kind) }
	if !slices.ContainsFunc(links, named) {
		return nil, nil
	}
	addresses, err := v.Net.Addresses(ctx, "")
	if err != nil {
		return nil, err
	}
	datapaths, err := v.Residue.Datapaths(ctx)
	if err != nil {
		return nil, err
	}
	socket := l.ovsSocket()
	bridges, err := v.Residue.OVS(ctx, socket)
	if err != nil && !errors.Is(err, host.ErrNotExist) && !errors.Is(err, ipc.ErrNoListener) {
		return nil, err
	}
	var out []item
	for _, link := range links {
		holds := slices.ContainsFunc(addresses,
			func(a rtnl.Address) bool { return a.Link == link.Name && a.Scope == "global" })
		if !named(link) || !holds || link.Kind == "openvswitch" && !l.bridgeIsTheirs(link.Name, bridges, datapaths) {
			continue
		}
		device := uplinkOf(link, links, datapaths, bridges)
		if device == "" {
			continue // their owner is unknown: what the machine itself needs is not touched
		}
		out = append(out, item{Key: graph.MakeKey(KindUplink, link.Name),
			Detail: "addresses and routes back to " + device,
			remove: func(ctx context.Context, h *host.Host) error {
				return h.ResidueWriter().RestoreUplink(ctx, link.Name, device, socket, l.Added)
			}})
	}
	return out, nil
}

// takes reports whether the network moves addresses to a link of that name.
func (l Residue) takes(name, kind string) bool {
	return slices.ContainsFunc(l.Uplinks,
		func(m UplinkSelector) bool { return match(m.Link, name) && asked(m.Kind, kind) })
}

// bridgeIsTheirs reports whether an Open vSwitch bridge that has a device belongs to the network.
// Its name does not prove that (OpenStack uses br-ex too). The bridge must be one of the network's
// own bridges or be patched to one; without a database, it must be in a datapath with one.
func (l Residue) bridgeIsTheirs(name string, db residue.OVS, datapaths []residue.Datapath) bool {
	own := func(bridge string) bool {
		return slices.ContainsFunc(l.OVS, func(m OVSSelector) bool { return matches(bridge, m.Bridges...) })
	}
	if own(name) {
		return true
	}
	if ports, runs := db.Ports[name]; runs {
		return slices.ContainsFunc(ports, func(port string) bool {
			_, to, is := strings.Cut(strings.TrimPrefix(port, "patch-"), "-to-")
			return is && strings.HasPrefix(port, "patch-") && own(to)
		})
	}
	return slices.ContainsFunc(datapaths, func(d residue.Datapath) bool {
		return slices.Contains(d.Ports, name) && slices.ContainsFunc(d.Ports, own)
	})
}

// ovsSocket returns the socket of the network's own Open vSwitch database; "" is the usual path.
func (l Residue) ovsSocket() string {
	for _, m := range l.OVS {
		if m.Socket != "" {
			return m.Socket
		}
	}
	return ""
}

// uplinkOf finds the device of the machine whose addresses a network moved to a link. It is the
// only device that is a port of the link, or of the datapath of the link. For a link that replaces
// a device it is the device with the same MAC. It returns "" if there is none or more than one.
func uplinkOf(link rtnl.Link, links []rtnl.Link, datapaths []residue.Datapath, bridges residue.OVS) string {
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
			inKernel := slices.ContainsFunc(datapaths, func(d residue.Datapath) bool {
				return slices.Contains(d.Ports, l.Name) && slices.Contains(d.Ports, link.Name)
			})
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
