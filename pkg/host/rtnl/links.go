package rtnl

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/pkg/host/internal/sys"
)

// Links implements host.Net.
func (n *Reader) Links(ctx context.Context) ([]Link, error) {
	rt, err := n.rt(ctx)
	if err != nil {
		return nil, err
	}
	list, err := sys.Dump(ctx, "links", rt.LinkList)
	if err != nil {
		return nil, err
	}
	names := make(map[int]string, len(list))
	for _, l := range list {
		names[l.Attrs().Index] = l.Attrs().Name
	}
	links := make([]Link, len(list))
	for i, l := range list {
		links[i] = linkFrom(l, names)
	}
	slices.SortFunc(links, func(a, b Link) int { return a.Index - b.Index })
	return links, nil
}

// Link implements host.Net. It asks by RTM_GETLINK: the old ioctls would make
// the kernel load a module "netdev-NAME" for a name that it does not know.
func (n *Reader) Link(ctx context.Context, name string) (Link, error) {
	l, err := n.link(ctx, name)
	if err != nil {
		return Link{}, err
	}
	names := map[int]string{}
	if master := l.Attrs().MasterIndex; master != 0 {
		rt, err := n.rt(ctx)
		if err != nil {
			return Link{}, err
		}
		if m, err := rt.LinkByIndex(master); err == nil {
			names[master] = m.Attrs().Name
		}
	}
	return linkFrom(l, names), nil
}

// link finds a link by name as the library has it.
func (n *Reader) link(ctx context.Context, name string) (netlink.Link, error) {
	rt, err := n.rt(ctx)
	if err != nil {
		return nil, err
	}
	l, err := rt.LinkByName(name)
	if absent := (netlink.LinkNotFoundError{}); errors.As(err, &absent) {
		return nil, fmt.Errorf("link %s: %w", name, fs.ErrNotExist)
	}
	if err != nil {
		return nil, fmt.Errorf("read link %s: %w", name, err)
	}
	return l, nil
}

func linkFrom(l netlink.Link, names map[int]string) Link {
	a := l.Attrs()
	out := Link{
		Index:     a.Index,
		Name:      a.Name,
		MTU:       a.MTU,
		MAC:       a.HardwareAddr.String(),
		Up:        a.RawFlags&unix.IFF_UP != 0,
		Running:   a.RawFlags&unix.IFF_RUNNING != 0,
		Loopback:  a.RawFlags&unix.IFF_LOOPBACK != 0,
		PtP:       a.RawFlags&unix.IFF_POINTOPOINT != 0,
		Promisc:   a.Promisc > 0,
		Master:    names[a.MasterIndex],
		Alias:     a.Alias,
		ParentDev: a.ParentDev,
		Flags:     a.RawFlags,
	}
	// The kernel names a kind for all that software makes; the library says "device" when there is
	// none.
	switch kind := l.Type(); kind {
	case "device":
	case "tuntap":
		out.Kind = "tun" // the kernel's word, and `ip -d link`'s
	default:
		out.Kind = kind
	}
	out.Physical = out.Kind == "" && !out.Loopback || out.ParentDev != ""
	return out
}
