package rtnl

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"slices"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/pkg/host/internal/sys"
	"github.com/netwright/netwright/pkg/problem"
)

// Links implements host.Net.
func (n *Reader) Links(ctx context.Context) ([]Link, error) {
	if _, err := n.rt(ctx); err != nil {
		return nil, err
	}
	links, err := sys.Dump(ctx, "links", func() ([]Link, error) {
		var out []Link
		var masters []int
		err := n.lists.List(unix.RTM_GETLINK, unix.RTM_NEWLINK, unix.NLM_F_DUMP, LinkQuestion(), func(m []byte) {
			l, master := DecodeLink(m)
			out, masters = append(out, l), append(masters, master)
		})
		names := NamesOf(out)
		for i, master := range masters {
			out[i].Master = names[master]
		}
		return out, err
	})
	return sorted(links, func(a, b Link) int { return a.Index - b.Index }), err
}

// Link implements host.Net. It uses RTM_GETLINK: for an unknown name, the old ioctls would make the
// kernel load a module "netdev-NAME".
func (n *Reader) Link(ctx context.Context, name string) (Link, error) {
	if _, err := n.rt(ctx); err != nil {
		return Link{}, err
	}
	kind := uint16(unix.IFLA_IFNAME)
	if len(name) >= unix.IFNAMSIZ {
		kind = unix.IFLA_ALT_IFNAME
	}
	l, master, err := n.oneLink(0, sys.TextAttribute(kind, name))
	if errors.Is(err, unix.ENODEV) {
		return Link{}, problem.Missing("there is no link %s", name)
	}
	if err != nil {
		return Link{}, fmt.Errorf("read link %s: %w", name, err)
	}
	if master != 0 {
		of, _, _ := n.oneLink(master, nil) // no name if the master is gone by now
		l.Master = of.Name
	}
	return l, nil
}

// oneLink reads the link with an index, or with a name given as an attribute.
func (n *Reader) oneLink(index int, name []byte) (out Link, master int, err error) {
	ask := append(LinkQuestion(), name...)
	binary.NativeEndian.PutUint32(ask[4:], uint32(index))
	err = n.lists.List(unix.RTM_GETLINK, unix.RTM_NEWLINK, unix.NLM_F_ACK, ask, func(m []byte) {
		out, master = DecodeLink(m)
	})
	return out, master, err
}

// LinkQuestion returns a request for links without their statistics (RTEXT_FILTER_SKIP_STATS),
// which are the largest part of the kernel's answer.
func LinkQuestion() []byte {
	return append(make([]byte, unix.SizeofIfInfomsg), sys.NumberAttribute(unix.IFLA_EXT_MASK, 1<<3)...)
}

// NamesOf returns the names of links by index. It is not inlined, to keep the program small.
//
//go:noinline
func NamesOf(links []Link) map[int]string {
	names := make(map[int]string, len(links))
	for _, l := range links {
		names[l.Index] = l.Name
	}
	return names
}

// names returns the names of all links by index.
func (n *Reader) names(ctx context.Context) (map[int]string, error) {
	links, err := n.Links(ctx)
	return NamesOf(links), err
}

// DecodeLink decodes an rtnetlink message of a link and the index of its master, 0 without one.
func DecodeLink(m []byte) (l Link, master int) {
	if len(m) < unix.SizeofIfInfomsg {
		return l, 0
	}
	l.Index, l.Flags = int(int32(binary.NativeEndian.Uint32(m[4:]))), binary.NativeEndian.Uint32(m[8:])
	sys.EachAttribute(m[unix.SizeofIfInfomsg:], func(kind uint16, _, value []byte) {
		switch kind {
		case unix.IFLA_IFNAME:
			l.Name = unix.ByteSliceToString(value)
		case unix.IFLA_MTU:
			l.MTU = sys.Number(value)
		case unix.IFLA_ADDRESS:
			if slices.ContainsFunc(value, func(b byte) bool { return b != 0 }) {
				l.MAC = net.HardwareAddr(value).String()
			}
		case unix.IFLA_MASTER:
			master = sys.Number(value)
		case unix.IFLA_IFALIAS:
			l.Alias = unix.ByteSliceToString(value)
		case unix.IFLA_PROMISCUITY:
			l.Promisc = sys.Number(value) > 0
		case unix.IFLA_PARENT_DEV_NAME:
			l.ParentDev = unix.ByteSliceToString(value)
		case unix.IFLA_LINKINFO:
			l.Kind = sys.AttributeText(value, unix.IFLA_INFO_KIND)
		}
	})
	l.states()
	return l, master
}

// states sets the fields that follow from the flags, and whether the link has a device.
func (l *Link) states() {
	l.Up, l.Running = l.Flags&unix.IFF_UP != 0, l.Flags&unix.IFF_RUNNING != 0
	l.Loopback, l.PtP = l.Flags&unix.IFF_LOOPBACK != 0, l.Flags&unix.IFF_POINTOPOINT != 0
	l.Physical = l.Kind == "" && !l.Loopback || l.ParentDev != ""
}

// handle returns the link as package netlink needs it for a change.
func (l Link) handle() netlink.Link {
	return &netlink.Device{LinkAttrs: netlink.LinkAttrs{Index: l.Index}}
}
