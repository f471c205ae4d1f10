package netstate

import (
	"context"
	"encoding/binary"
	"errors"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/pkg/host/internal/sys"
)

// Of linux/nexthop.h.
const (
	nexthopHead           = 8  // sizeof(struct nhmsg)
	nexthopFDB            = 11 // NHA_FDB
	nexthopResilient      = 12 // NHA_RES_GROUP
	nexthopUnbalancedTime = 4  // NHA_RES_GROUP_UNBALANCED_TIME
)

// listNexthops lists the nexthop objects.
func listNexthops(ctx context.Context) ([][]byte, error) {
	return rawList(ctx, "nexthop objects", unix.RTM_GETNEXTHOP, nexthopHead, nexthopMessage)
}

// nexthopMessage is an object as the kernel takes it, without what tells of its link's state.
func nexthopMessage(m []byte) []byte {
	out := []byte{m[0], 0, m[2], 0} // the kernel finds the scope by itself
	out = binary.NativeEndian.AppendUint32(out, binary.NativeEndian.Uint32(m[4:])&settableHopFlags)
	sys.EachAttribute(m[nexthopHead:], func(kind uint16, whole, value []byte) {
		switch kind {
		case unix.NHA_ID, unix.NHA_GROUP, unix.NHA_GROUP_TYPE, unix.NHA_BLACKHOLE, unix.NHA_OIF, unix.NHA_GATEWAY,
			unix.NHA_ENCAP_TYPE, unix.NHA_ENCAP, nexthopFDB:
			out = append(out, whole...)
		case nexthopResilient:
			var set []byte
			sys.EachAttribute(value, func(kind uint16, whole, _ []byte) {
				if kind != nexthopUnbalancedTime {
					set = append(set, whole...)
				}
			})
			out = append(out, nested(kind, set)...)
		}
	})
	return out
}

// objectID is the number of a nexthop object.
func objectID(m []byte) int { return sys.Number(sys.Attribute(m[nexthopHead:], unix.NHA_ID)) }

// restoreNexthops brings nexthop objects back, which routes and groups name by their number. They
// go with their links, and a group is one of others. What a routing daemon has put under a number
// of its own meanwhile stays.
func (w *Writer) restoreNexthops(ctx context.Context, was State) (err error) {
	for range 3 {
		now, listed := listNexthops(ctx)
		if listed != nil {
			return listed
		}
		there := map[int]bool{}
		for _, m := range now {
			there[objectID(m)] = true
		}
		gone := slices.DeleteFunc(missing(was.Nexthops, now), func(m []byte) bool {
			return there[objectID(m)] && !byHand(m[2])
		})
		if len(gone) == 0 {
			return nil
		}
		var errs []error
		for _, m := range gone {
			errs = append(errs, restoreNexthop(m))
		}
		err = errors.Join(errs...)
	}
	return err
}

// restoreNexthop brings one back. A group does not take the place of a single one, nor a group of
// another kind or size.
func restoreNexthop(m []byte) error {
	again := func() error {
		return send("bring a nexthop object back", unix.RTM_NEWNEXTHOP, unix.NLM_F_CREATE|unix.NLM_F_REPLACE, m,
			unix.ENODEV)
	}
	if err := again(); !errors.Is(err, unix.EINVAL) {
		return err
	}
	return errors.Join(removeNexthop(m), again())
}

func removeNexthop(m []byte) error {
	id := sys.NewAttribute(unix.NHA_ID, sys.Attribute(m[nexthopHead:], unix.NHA_ID))
	return send("remove a nexthop object", unix.RTM_DELNEXTHOP, 0, append(make([]byte, nexthopHead), id...), unix.ENOENT)
}
