package netstate

import (
	"context"
	"encoding/binary"
	"errors"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/pkg/host/internal/sys"
)

// Constants of linux/nexthop.h.
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

// nexthopMessage returns an object in the form that the kernel accepts, without its link's state.
func nexthopMessage(m []byte) []byte {
	out := []byte{m[0], 0, m[2], 0} // the kernel sets the scope itself
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
			out = append(out, sys.NestedAttribute(kind, set)...)
		}
	})
	return out
}

// objectID returns the id of a nexthop object.
func objectID(m []byte) int { return sys.Number(sys.Attribute(m[nexthopHead:], unix.NHA_ID)) }

// restoreNexthops restores the nexthop objects, which routes and groups name by id. The kernel
// removes them with their links. A group needs its members, so there are several rounds. If a
// routing daemon has used an id for its own object meanwhile, that object stays.
func restoreNexthops(ctx context.Context, was State) (err error) {
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

// restoreNexthop restores one object. The kernel does not replace a single object by a group, nor a
// group by one of another kind or size; then the old object is removed first.
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
