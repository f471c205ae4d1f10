package watch

import (
	"encoding/binary"

	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/pkg/host/internal/sys"
	"github.com/netwright/netwright/pkg/host/rtnl"
)

// linkCache has the last known state of links. The kernel reports a bridge after changes to each of
// its ports, and each change of carrier and counters. Without the cache, each pod would cause an
// event.
type linkCache struct {
	names map[int32]string // by index, only links of the interest
	seen  map[string]seenLink
}

// seenLink has the fields of a link whose change causes an event.
type seenLink struct {
	rtnl.Link
	master int
}

func newLinkCache() *linkCache {
	return &linkCache{names: map[int32]string{}, seen: map[string]seenLink{}}
}

// changed returns the name of a link of the interest that differs from its last known state, or "".
// It also returns a link without a known state: the kernel's list and its report of a change look
// alike, so both cause an event.
func (l *linkCache) changed(aim *routeAim, m []byte, gone bool) string {
	// Messages of AF_BRIDGE are about the link as a bridge port.
	if len(m) < unix.SizeofIfInfomsg || m[0] != unix.AF_UNSPEC {
		return ""
	}
	index, name := int32(binary.NativeEndian.Uint32(m[4:])), sys.AttributeText(m[unix.SizeofIfInfomsg:], unix.IFLA_IFNAME)
	if !aim.links[name] {
		if old := l.names[index]; old != "" { // it was renamed
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
