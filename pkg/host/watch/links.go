package watch

import (
	"encoding/binary"
	"hash/maphash"

	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/pkg/host/internal/sys"
)

// linkCache is what links were like when they were last heard of. The kernel tells of a bridge at
// each of its ports, of every carrier and counter: without a memory each pod would wake.
type linkCache struct {
	seed  maphash.Seed
	names map[int32]string // by number, only those of the interest
	seen  map[string]uint64
}

func newLinkCache() *linkCache {
	return &linkCache{seed: maphash.MakeSeed(), names: map[int32]string{}, seen: map[string]uint64{}}
}

// changed returns the name of a link of the interest that is not as it was when it was last heard
// of, or "". A link of which nothing was known yet is not news when the kernel lists it, and is
// when it tells of it; the two look alike, so both wake.
func (l *linkCache) changed(aim *routeAim, m []byte, gone bool) string {
	// What AF_BRIDGE says of a link is about its part in a bridge.
	if len(m) < unix.SizeofIfInfomsg || m[0] != unix.AF_UNSPEC {
		return ""
	}
	name, kind := "", ""
	var sum maphash.Hash
	sum.SetSeed(l.seed)
	sys.EachAttribute(m[unix.SizeofIfInfomsg:], func(attr uint16, _, value []byte) {
		switch attr {
		case unix.IFLA_IFNAME:
			name = unix.ByteSliceToString(value)
		case unix.IFLA_LINKINFO:
			kind = sys.AttributeText(value, unix.IFLA_INFO_KIND)
		case unix.IFLA_MTU, unix.IFLA_ADDRESS, unix.IFLA_MASTER, unix.IFLA_IFALIAS:
			_, _ = sum.Write([]byte{byte(attr)}) // a hash takes all
			_, _ = sum.Write(value)
		}
	})
	index := int32(binary.NativeEndian.Uint32(m[4:]))
	if !aim.links[name] {
		if old := l.names[index]; old != "" { // it has another name now
			delete(l.names, index)
			delete(l.seen, old)
			return old
		}
		return ""
	}
	if gone {
		delete(l.names, index)
		delete(l.seen, name)
		return name
	}
	_, _ = sum.WriteString(kind)
	_ = sum.WriteByte(byte(binary.NativeEndian.Uint32(m[8:]) & unix.IFF_UP))
	_, _ = sum.Write(m[4:8])
	before, known := l.seen[name]
	l.names[index], l.seen[name] = name, sum.Sum64()
	if known && before == l.seen[name] {
		return ""
	}
	return name
}
