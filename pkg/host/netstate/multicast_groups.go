package netstate

import (
	"bytes"
	"cmp"
	"context"

	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/pkg/host/internal/sys"
)

// Constants of linux/if_bridge.h, for multicast groups of bridges (MDB): "listed" as the kernel
// lists them, "taken" and "set" as it accepts them.
const (
	groupHead  = 8  // sizeof(struct br_port_msg)
	groupEntry = 28 // sizeof(struct br_mdb_entry): a port, its state and flags

	groupPermanent = 1 // MDB_PERMANENT

	groupsListed = 1 // MDBA_MDB
	listedList   = 2 // MDBA_MDB_EATTR_SRC_LIST
	listedMode   = 3 // MDBA_MDB_EATTR_GROUP_MODE
	listedSource = 4 // MDBA_MDB_EATTR_SOURCE
	listedBy     = 5 // MDBA_MDB_EATTR_RTPROT

	groupSet        = 1 // MDBA_SET_ENTRY
	groupAttributes = 2 // MDBA_SET_ENTRY_ATTRS
	takenSource     = 1 // MDBE_ATTR_SOURCE
	takenList       = 2 // MDBE_ATTR_SRC_LIST
	takenMode       = 3 // MDBE_ATTR_GROUP_MODE
	takenBy         = 4 // MDBE_ATTR_RTPROT
)

// listGroups lists the permanent multicast groups of bridge ports, not those that a bridge learned.
func listGroups(ctx context.Context, _ State) ([][]byte, error) {
	list, err := rawList(ctx, "multicast groups of bridges", unix.RTM_GETMDB, groupHead, asItIs, unix.AF_BRIDGE)
	out := [][]byte{}
	for _, m := range list {
		sys.EachAttribute(sys.Attribute(m[groupHead:], groupsListed), func(_ uint16, _, ports []byte) {
			sys.EachAttribute(ports, func(_ uint16, _, entry []byte) {
				if len(entry) >= groupEntry && entry[4]&groupPermanent != 0 {
					out = append(out, groupMessage(m[:groupHead], entry))
				}
			})
		})
	}
	return out, err
}

// groupMessage returns an entry in the form that the kernel accepts. Before Linux 6.2 it accepts
// only the source. So the attributes that the kernel lists for every entry are left out.
func groupMessage(head, entry []byte) []byte {
	group := bytes.Clone(entry[:groupEntry])
	group[5] = 0 // flags
	listed := func(kind uint16) []byte { return sys.Attribute(entry[groupEntry:], kind) }
	var more, sources []byte
	if source := listed(listedSource); source != nil {
		more = append(more, sys.NewAttribute(takenSource, source)...)
	}
	sys.EachAttribute(listed(listedList), func(_ uint16, _, source []byte) {
		sources = append(sources, sys.NestedAttribute(1, sys.NewAttribute(1, sys.Attribute(source, 1)))...)
	})
	if sources != nil {
		more = append(more, sys.NestedAttribute(takenList, sources)...)
		more = append(more, sys.NewAttribute(takenMode, listed(listedMode))...)
	}
	if by := listed(listedBy); len(by) == 1 && by[0] != unix.RTPROT_STATIC {
		more = append(more, sys.NewAttribute(takenBy, by)...)
	}
	out := append(bytes.Clone(head), sys.NewAttribute(groupSet, group)...)
	out[0] = unix.AF_BRIDGE
	if more != nil {
		out = append(out, sys.NestedAttribute(groupAttributes, more)...)
	}
	return out
}

// ofGroup returns the port of a group, or the bridge if the bridge itself is a member, and the
// protocol of the program that added the entry.
func ofGroup(m []byte) (link int, by byte) {
	by = octet(sys.Attribute(sys.Attribute(m[groupHead:], groupAttributes), takenBy))
	return sys.Number(m[groupHead+4:]), cmp.Or(by, unix.RTPROT_STATIC)
}
