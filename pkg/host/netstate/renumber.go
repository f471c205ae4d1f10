package netstate

import (
	"bytes"
	"encoding/binary"
	"maps"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/pkg/host/internal/sys"
	"github.com/netwright/netwright/pkg/host/rtnl"
)

// renumbered returns the state with the present indexes of links that were removed and created anew
// with the same name and kind, as wg-quick does in a restart. So an undo restores such a link, and
// does not remove it. It leaves out the links of pods and of programs that run on the node
// ([State.hasWriter]).
func (s State) renumbered(now []rtnl.Link) State {
	index := map[uint32]uint32{}
	s.Links = slices.Clone(s.Links)
	for i, l := range s.Links {
		same := func(o rtnl.Link) bool { return o.Index == l.Index }
		at := slices.IndexFunc(now, func(o rtnl.Link) bool { return o.Name == l.Name && o.Kind == l.Kind })
		if at >= 0 && l.Kind != "veth" && !s.hasWriter(l.Name) && !slices.ContainsFunc(now, same) {
			index[uint32(l.Index)] = uint32(now[at].Index)
			s.Links[i].Index = now[at].Index
		}
	}
	put := func(number []byte) {
		if len(number) < 4 {
			return
		}
		if is, anew := index[binary.NativeEndian.Uint32(number)]; anew {
			binary.NativeEndian.PutUint32(number, is)
		}
	}
	each := func(list [][]byte, put func(m []byte)) [][]byte {
		list = slices.Clone(list) // nil if an earlier release did not read it
		for i, m := range list {
			list[i] = bytes.Clone(m)
			put(list[i])
		}
		return list
	}
	head := func(m []byte) { put(m[4:]) } // as linkOf reads it
	for _, list := range []*[][]byte{&s.Settings, &s.VLANs, &s.Addresses, &s.Neighbours, &s.Entries, &s.Qdiscs} {
		*list = each(*list, head)
	}
	s.Routes = each(s.Routes, func(m []byte) {
		put(routeAttribute(m, unix.RTA_OIF))
		for hop := range rtnl.NextHops(routeAttribute(m, unix.RTA_MULTIPATH)) {
			put(hop[4:])
		}
	})
	s.Nexthops = each(s.Nexthops, func(m []byte) { put(sys.Attribute(m[nexthopHead:], unix.NHA_OIF)) })
	if list := s.Tables[wireGuardTable]; list != nil {
		s.Tables = maps.Clone(s.Tables)
		s.Tables[wireGuardTable] = each(list, head)
	}
	return s
}
