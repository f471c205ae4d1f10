package cleanup

import (
	"context"
	"errors"
	"slices"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/host/ipc"
	"github.com/netwright/netwright/pkg/host/residue"
	"github.com/netwright/netwright/pkg/host/rtnl"
	"github.com/netwright/netwright/pkg/tasks"
)

// KindOVS is the kind of a key of Open vSwitch: ovs:bridge br-int, ovs:key ovn-remote,
// ovs:datapath ovs-system.
const KindOVS = "ovs"

func findOVS(ctx context.Context, v host.View, l Residue, s Scope) ([]item, error) {
	if len(l.OVS) == 0 {
		return nil, nil
	}
	datapaths, err := v.Residue.Datapaths(ctx)
	if err != nil {
		return nil, err
	}
	links, err := v.Net.Links(ctx)
	if err != nil {
		return nil, err
	}
	var out []item
	for _, m := range l.OVS {
		db, err := v.Residue.OVS(ctx, m.Socket)
		runs := err == nil
		if err != nil && !errors.Is(err, host.ErrNotExist) && !errors.Is(err, ipc.ErrNoListener) {
			return nil, err
		}
		others := false // there are bridges of other owners
		for _, name := range db.Bridges {
			key := graph.MakeKey(KindOVS, "bridge "+name)
			theirs := matches(name, m.Bridges...) ||
				l.takes(name, "openvswitch") && l.bridgeIsTheirs(name, db, datapaths)
			if !theirs || s.retains(key) {
				others = true
				continue
			}
			out = append(out,
				item{Key: key, Detail: "bridge of Open vSwitch", remove: func(ctx context.Context, h *host.Host) error {
					return h.ResidueWriter().ChangeOVS(ctx, m.Socket, []string{name}, nil)
				}})
		}
		for _, name := range db.Keys {
			if matches(name, m.Keys...) {
				out = append(out, item{Key: graph.MakeKey(KindOVS, "key "+name), Detail: "setting of Open vSwitch",
					remove: func(ctx context.Context, h *host.Host) error {
						return h.ResidueWriter().ChangeOVS(ctx, m.Socket, nil, []string{name})
					}})
			}
		}
		for _, d := range datapaths {
			if d.Name == m.Datapath && !others && (runs && len(db.Bridges) > 0 || m.owns(d, l, links)) {
				out = append(out, m.kernel(d, links)...)
			}
		}
	}
	return out, nil
}

// owns reports whether a selector matches each port of a datapath that no ovs-vswitchd manages any
// more, so that the datapath belongs to the network.
func (m OVSSelector) owns(d residue.Datapath, l Residue, links []rtnl.Link) bool {
	return !slices.ContainsFunc(d.Ports, func(port string) bool {
		i := slices.IndexFunc(links, func(link rtnl.Link) bool { return link.Name == port })
		held := i >= 0 && links[i].Physical && len(l.Uplinks) > 0 // released before this phase, or the removal refuses
		return i < 0 || !held && (links[i].Physical ||
			!matches(port, m.Bridges...) && !matches(port, m.Ports...) && !matches(port, m.Tunnels...) &&
				!l.takes(port, "openvswitch") &&
				!slices.ContainsFunc(l.Links,
					func(selector LinkSelector) bool { return selector.matches(links[i], false) }))
	})
}

// kernel finds the tunnel devices in a datapath and then the datapath itself, with the ports that
// it made and that are removed with it.
func (m OVSSelector) kernel(d residue.Datapath, links []rtnl.Link) []item {
	var out []item
	for _, link := range links {
		name := link.Name
		if !slices.Contains(d.Ports, name) || link.Physical {
			continue
		}
		if link.Kind == "openvswitch" && name != d.Name {
			out = append(out, item{Key: tasks.LinkKey(name), Detail: "port of " + d.Name + ", goes with it"})
		} else if matches(name, m.Tunnels...) {
			out = append(out, item{Key: tasks.LinkKey(name), Detail: link.Kind + ", of Open vSwitch",
				remove: func(ctx context.Context, h *host.Host) error { return h.Net.DelLink(ctx, name) }})
		}
	}
	return append(out, item{Key: graph.MakeKey(KindOVS, "datapath "+d.Name), Detail: "datapath in the kernel",
		remove: func(ctx context.Context, h *host.Host) error { return h.ResidueWriter().DelDatapath(ctx, d.Name) }})
}
