package rtnl

import (
	"context"
	"encoding/binary"

	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/pkg/host/internal/sys"
)

// Constants of linux/neighbour.h.
const (
	neighbourParms   = 6 // NDTA_PARMS
	parmsIfindex     = 1 // NDTPA_IFINDEX
	parmsRefcount    = 2 // NDTPA_REFCNT
	parmsReachable   = 3 // NDTPA_REACHABLE_TIME: the kernel draws a new value every few minutes
	neighbourTblHead = 4 // sizeof(struct ndtmsg)
)

// LinkSettings reads the settings of all links for IPv4, IPv6 and their neighbours with two netlink
// requests. The key is the directory below /proc/sys, such as net/ipv4/conf/eth0. The value is in
// the kernel's binary form, only to be compared: equal values mean equal settings. Callers use it
// where they read all sysctls of a node with many pods. It may be retried.
func (n *Reader) LinkSettings(ctx context.Context) (map[string]string, error) {
	if _, err := n.rt(ctx); err != nil {
		return nil, err
	}
	return sys.Dump(ctx, "the settings of links", func() (map[string]string, error) {
		out, names := map[string]string{}, map[uint32]string{}
		err := n.lists.List(unix.RTM_GETLINK, unix.RTM_NEWLINK, unix.NLM_F_DUMP, LinkQuestion(), func(m []byte) {
			if len(m) < unix.SizeofIfInfomsg {
				return
			}
			name := sys.AttributeText(m[unix.SizeofIfInfomsg:], unix.IFLA_IFNAME)
			names[binary.NativeEndian.Uint32(m[4:])] = name
			families := sys.Attribute(m[unix.SizeofIfInfomsg:], unix.IFLA_AF_SPEC)
			if conf := sys.Attribute(sys.Attribute(families, unix.AF_INET), unix.IFLA_INET_CONF); conf != nil {
				out["net/ipv4/conf/"+name] = string(conf)
			}
			if conf := sys.Attribute(sys.Attribute(families, unix.AF_INET6), unix.IFLA_INET6_CONF); conf != nil {
				out["net/ipv6/conf/"+name] = string(conf)
			}
		})
		if err != nil {
			return nil, err
		}
		ask := make([]byte, neighbourTblHead)
		return out, n.lists.List(unix.RTM_GETNEIGHTBL, unix.RTM_NEWNEIGHTBL, unix.NLM_F_DUMP, ask, func(m []byte) {
			if len(m) < neighbourTblHead {
				return
			}
			family := map[byte]string{unix.AF_INET: "ipv4", unix.AF_INET6: "ipv6"}[m[0]]
			var index uint32
			var parms []byte
			sys.EachAttribute(sys.Attribute(m[neighbourTblHead:], neighbourParms), func(kind uint16, whole, value []byte) {
				switch {
				case kind == parmsIfindex && len(value) >= 4:
					index = binary.NativeEndian.Uint32(value)
				case kind != parmsRefcount && kind != parmsReachable:
					parms = append(parms, whole...)
				}
			})
			if name := names[index]; name != "" && family != "" {
				out["net/"+family+"/neigh/"+name] = string(parms)
			}
		})
	})
}
