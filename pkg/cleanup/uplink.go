package cleanup

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/host"
)

// KindMoved is the kind of a key of addresses that go back to a device: moved:br-ex.
const KindMoved = "moved"

func findMoved(ctx context.Context, v host.View, l Residue, _ Scope) ([]item, error) {
	if len(l.Moved) == 0 {
		return nil, nil
	}
	links, err := v.Links(ctx)
	if err != nil {
		return nil, err
	}
	named := func(link host.Link) bool { return !link.Physical && l.takes(link.Name, link.Kind) }
	if !slices.ContainsFunc(links, named) {
		return nil, nil
	}
	addresses, err := v.Addresses(ctx, "")
	if err != nil {
		return nil, err
	}
	datapaths, err := v.Datapaths(ctx)
	if err != nil {
		return nil, err
	}
	socket := l.ovsSocket()
	bridges, err := v.OVS(ctx, socket)
	if err != nil && !errors.Is(err, host.ErrNotExist) && !errors.Is(err, host.ErrNobody) {
		return nil, err
	}
	var out []item
	for _, link := range links {
		holds := slices.ContainsFunc(addresses, func(a host.Address) bool { return a.Link == link.Name && a.Scope == "global" })
		if !named(link) || !holds || link.Kind == "openvswitch" && !l.bridgeIsTheirs(link.Name, bridges, datapaths) {
			continue
		}
		device := host.MovedFrom(link, links, datapaths, bridges)
		if device == "" {
			continue // whose they are is not known: what the machine stands on is not touched
		}
		out = append(out, item{Key: graph.MakeKey(KindMoved, link.Name), What: "addresses and routes back to " + device,
			remove: func(ctx context.Context, h *host.Host) error { return h.MoveBack(ctx, link.Name, device, socket) }})
	}
	return out, nil
}

// takes says that a link of that name is one that the network moves addresses to.
func (l Residue) takes(name, kind string) bool {
	return slices.ContainsFunc(l.Moved, func(m UplinkSelector) bool { return match(m.Link, name) && (m.Kind == "" || m.Kind == kind) })
}

// bridgeIsTheirs says that a bridge of Open vSwitch that has a device, whose name may be anybody's (br-ex is OpenStack's too), is the network's: one of its
// own bridges, or patched to one; without a database, in one datapath with one.
func (l Residue) bridgeIsTheirs(name string, db host.OVS, datapaths []host.Datapath) bool {
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
	return slices.ContainsFunc(datapaths, func(d host.Datapath) bool { return slices.Contains(d.Ports, name) && slices.ContainsFunc(d.Ports, own) })
}

// ovsSocket is where the network's own database of Open vSwitch listens; "" is the usual place.
func (l Residue) ovsSocket() string {
	for _, m := range l.OVS {
		if m.Socket != "" {
			return m.Socket
		}
	}
	return ""
}
