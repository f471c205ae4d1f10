package witness

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"github.com/netwright/netwright/test/node"
)

// The addresses of a node's own world, which documents may name. Those that the witness asks from
// are none of them.
const (
	node4, node6 = "10.77.0.11", "fd00:77::11"
	near4        = "10.77.0.20" // the API server on the link
)

// api is the address of the API server of a ground.
func (g Ground) api() string {
	if g.Far {
		return node.Outside4
	}
	return near4
}

// nameServer is that of a ground.
func (g Ground) nameServer() string {
	if g.Far {
		return node.Outside4
	}
	return node.Gateway4
}

func isNumber(s string) bool {
	_, err := strconv.ParseInt(s, 10, 64)
	return err == nil
}

// number draws one in the place of another.
func (d draw) number(now string) string {
	n, err := strconv.ParseInt(now, 10, 64)
	if err != nil {
		return now
	}
	if !d.wild {
		return fmt.Sprint(pick(d, n, n, n+n/8))
	}
	return fmt.Sprint(pick(d, 0, 1, 2, -1, 8, n/2, n*2, n*10, n/1000, 1<<31-1, d.Int64N(1<<16)))
}

// sysctl draws a key and a value that the kernel takes; wild values differ from what is there.
func (d draw) sysctl() Sysctl {
	from := d.world.Sysctls
	if d.wild && d.percent(75) {
		from = d.world.Own
	}
	for {
		s := from[d.IntN(len(from))]
		fields := strings.Fields(s.Value)
		for i := range fields {
			fields[i] = d.number(fields[i])
		}
		if value := strings.Join(fields, " "); d.world.Takes(s.Key, value) && (!d.wild ||
			value != s.Value) {
			return Sysctl{s.Key, value}
		}
	}
}

// neighbour is an address on the link: mostly nobody's.
func (d draw) neighbour() string { return fmt.Sprintf("10.77.0.%d", 2+d.IntN(250)) }

// address draws one of IPv4.
func (d draw) address() string {
	if d.percent(50) {
		return pick(d, node.Gateway4, node4, near4, node.Outside4, d.ground.api(), "10.96.0.1",
			d.neighbour())
	}
	return netip.AddrFrom4([4]byte{byte(1 + d.IntN(223)), byte(d.IntN(256)), byte(d.IntN(256)),
		byte(1 + d.IntN(254))}).String()
}

// prefix draws one of IPv4: a wild one has anything in it, the other pods that are nobody's.
func (d draw) prefix() string {
	if !d.wild {
		return fmt.Sprintf("10.244.%d.0/24", 2+d.IntN(250))
	}
	return netip.PrefixFrom(netip.MustParseAddr(d.address()), 16+d.IntN(17)).Masked().String()
}

// prefix6 is the same of IPv6.
func (d draw) prefix6() string {
	if !d.wild {
		return fmt.Sprintf("fd00:10:244:%x::/64", 2+d.IntN(1<<12))
	}
	base := netip.MustParseAddr(pick(d, node.Gateway6, node6, node.Outside6,
		fmt.Sprintf("2001:db8:%x::", d.IntN(1<<16))))
	return netip.PrefixFrom(base, 16+d.IntN(113)).Masked().String()
}

// mtu draws one of a link.
func (d draw) mtu() int {
	if d.wild {
		return pick(d, 68, 576, 1280, 1400, 9000, 68+d.IntN(9000))
	}
	return 1500
}
