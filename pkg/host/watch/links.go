package watch

import (
	"encoding/binary"

	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/pkg/host/internal/sys"
	"github.com/netwright/netwright/pkg/host/rtnl"
)

// linkCache is what links were like when they were last heard of. The kernel tells of a bridge at
// each of its ports, of every carrier and counter: without a memory each pod would wake.
type linkCache struct {
	names map[int32]string // by number, only those of the interest
	seen  map[string]seenLink
}

// seenLink is what of a link wakes.
type seenLink struct {
	rtnl.Link
	master int
}

func newLinkCache() *linkCache {
	return &linkCache{names: map[int32]string{}, seen: map[string]seenLink{}}
}

// changed returns the name of a link of the interest that is not as it was when it was last heard
// of, or "". A link of which nothing was known yet is not news when the kernel lists it, and is
// when it tells of it; the two look alike, so both wake.
func (l *linkCache) changed(aim *routeAim, m []byte, gone bool) string {
	// What AF_BRIDGE says of a link is about its part in a bridge.
	if len(m) < unix.SizeofIfInfomsg || m[0] != unix.AF_UNSPEC {
		return ""
	}
	index, name := int32(binary.NativeEndian.Uint32(m[4:])), sys.AttributeText(m[unix.SizeofIfInfomsg:], unix.IFLA_IFNAME)
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
	var now seenLink
	now.Link, now.master = rtnl.DecodeLink(m)
	now.Running, now.Promisc, now.Flags = false, false, 0
	before, known := l.seen[name]
	l.names[index], l.seen[name] = name, now
	if known && before == now {
		return ""
	}
	return name
}
