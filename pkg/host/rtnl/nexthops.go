package rtnl

import (
	"context"
	"encoding/binary"

	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/pkg/host/internal/sys"
)

// NexthopID is the route attribute with the id of a nexthop object (linux/rtnetlink.h, RTA_NH_ID).
const NexthopID = 30

// nexthopHead is the size of the header of a nexthop message (linux/nexthop.h, nhmsg),
// nexthopMember that of a member of a group (nexthop_grp).
const (
	nexthopHead   = 8
	nexthopMember = 8
)

// resolveNexthops adds the next hops to routes that have only the id of a nexthop object, as FRR
// makes them. The kernel lists only the id if net.ipv4.nexthop_compat_mode is 0. The objects are
// listed only if such a route exists.
func (n *Reader) resolveNexthops(ctx context.Context, routes []listed) error {
	var hops map[int][]nextHop
	for i := range routes {
		r := &routes[i]
		if r.object == 0 || r.link != 0 || len(r.hops) > 0 {
			continue
		}
		if hops == nil {
			var err error
			if hops, err = n.nexthops(ctx); err != nil {
				return err
			}
		}
		r.hops = hops[r.object]
	}
	return nil
}

// nexthops returns the next hops of each nexthop object, by id. A group has the next hops of its
// members.
func (n *Reader) nexthops(ctx context.Context) (map[int][]nextHop, error) {
	groups := map[int][]int{}
	out, err := sys.Dump(ctx, "nexthop objects", func() (map[int][]nextHop, error) {
		out := map[int][]nextHop{}
		clear(groups)
		return out, n.lists.List(unix.RTM_GETNEXTHOP, unix.RTM_NEWNEXTHOP, unix.NLM_F_DUMP, make([]byte, nexthopHead),
			func(m []byte) {
				if len(m) < nexthopHead {
					return
				}
				hop := nextHop{onLink: binary.NativeEndian.Uint32(m[4:])&unix.RTNH_F_ONLINK != 0}
				body := m[nexthopHead:]
				id := sys.Number(sys.Attribute(body, unix.NHA_ID))
				if group := sys.Attribute(body, unix.NHA_GROUP); group != nil {
					for ; len(group) >= nexthopMember; group = group[nexthopMember:] {
						groups[id] = append(groups[id], sys.Number(group))
					}
					return
				}
				hop.decode(unix.RTA_OIF, sys.Attribute(body, unix.NHA_OIF))
				hop.decode(unix.RTA_GATEWAY, sys.Attribute(body, unix.NHA_GATEWAY))
				out[id] = []nextHop{hop}
			})
	})
	for id, members := range groups {
		for _, member := range members {
			out[id] = append(out[id], out[member]...)
		}
	}
	return out, err
}
