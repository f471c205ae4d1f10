package rtnl

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"slices"

	"github.com/vishvananda/netlink"
	"go.uber.org/zap"
	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/pkg/host/internal/sys"
)

// AddLink creates a link of kind bridge or dummy, in state down, with the name, index, MTU and MAC
// of want. For zero values the kernel chooses. It returns [unix.EEXIST] if the link exists. It may
// be retried.
func (w *Writer) AddLink(ctx context.Context, want Link) error {
	rt, err := w.net.rt(ctx)
	if err != nil {
		return err
	}
	attrs := netlink.NewLinkAttrs()
	attrs.Name, attrs.Index = want.Name, want.Index // 0: the kernel chooses
	if want.MTU > 0 {
		// A bridge whose MTU was never changed takes the MTU of its smallest port. Setting the
		// value that it has does not count as a change (net/bridge/br_if.c, br_mtu_auto_adjust). So
		// the bridge is created with another MTU, and SetLink below sets the wanted one.
		attrs.MTU = want.MTU - 1
	}
	if !slices.Contains([]string{"bridge", "dummy"}, want.Kind) {
		return fmt.Errorf("create link %s: kind %q: expected bridge or dummy", want.Name,
			want.Kind)
	}
	l := &netlink.GenericLink{LinkAttrs: attrs, LinkType: want.Kind}
	if err := rt.LinkAdd(l); err != nil {
		if errors.Is(err, unix.EOPNOTSUPP) {
			return fmt.Errorf("create link %s: this kernel has no links of kind %s: load its module or "+
				"install the package that has it: %w", want.Name, want.Kind, err)
		}
		return fmt.Errorf("create link %s of kind %s: %w", want.Name, want.Kind, err)
	}
	sys.Changed(w.log, "link made", zap.String("link", want.Name), zap.String("kind", want.Kind))
	if err := w.SetLink(ctx, Link{Name: want.Name, MTU: want.MTU, MAC: want.MAC}); err != nil {
		// No half-made link stays: the name is free for the next attempt.
		return errors.Join(err, rt.LinkDel(l))
	}
	return nil
}

// SetLink changes the MTU and MAC of a virtual link to the values of want, unless they are zero. It
// sets the link up if want.Up; if not, the link stays up or down. It does not write values that are
// right already. It refuses a physical link. It may be retried.
func (w *Writer) SetLink(ctx context.Context, want Link) error {
	have, err := w.net.Link(ctx, want.Name)
	if err != nil {
		return fmt.Errorf("change link: %w", err)
	}
	l, rt := have.handle(), w.net.opened()
	if have.Physical || have.Loopback {
		return fmt.Errorf("change link %s: it is a device of the machine, not a virtual link of ours", want.Name)
	}
	if want.MTU > 0 && want.MTU != have.MTU {
		if err := rt.LinkSetMTU(l, want.MTU); err != nil {
			return fmt.Errorf("set the MTU of link %s to %d: %w", want.Name, want.MTU, err)
		}
	}
	if want.MAC != "" && want.MAC != have.MAC {
		mac, err := net.ParseMAC(want.MAC)
		if err != nil {
			return fmt.Errorf("set the MAC of link %s: %w", want.Name, err)
		}
		if err := rt.LinkSetHardwareAddr(l, mac); err != nil {
			return fmt.Errorf("set the MAC of link %s to %s: %w", want.Name, mac, err)
		}
	}
	if want.Up && !have.Up {
		if err := rt.LinkSetUp(l); err != nil {
			return fmt.Errorf("bring link %s up: %w", want.Name, err)
		}
	}
	sys.Changed(w.log, "link set", zap.String("link", want.Name))
	return nil
}

// LinkDown sets a virtual link down. It refuses the loopback, a physical link and a link of a
// default route. It may be retried.
func (w *Writer) LinkDown(ctx context.Context, name string) error {
	l, err := w.dispensable(ctx, "take down", name)
	if err != nil {
		return err
	}
	if err := w.net.opened().LinkSetDown(l); err != nil {
		return fmt.Errorf("take down link %s: %w", name, err)
	}
	sys.Changed(w.log, "link down", zap.String("link", name))
	return nil
}

// dispensable returns a link, or an error if the node needs it. verb is for the error.
func (w *Writer) dispensable(ctx context.Context, verb, name string) (netlink.Link, error) {
	have, err := w.net.Link(ctx, name)
	if err != nil {
		return nil, fmt.Errorf("%s link: %w", verb, err)
	}
	if have.Physical || have.Loopback {
		return nil, fmt.Errorf("%s link %s: it is a device of the machine; such links are never removed or taken down",
			verb, name)
	}
	uplinks, err := w.net.Uplinks(ctx)
	if err != nil {
		return nil, fmt.Errorf("%s link %s: %w", verb, name, err)
	}
	if slices.Contains(uplinks, name) {
		return nil, fmt.Errorf("%s link %s: a default route goes through it; move the route first", verb, name)
	}
	return have.handle(), nil
}

// DelLink removes a virtual link; a missing link is success. It refuses the loopback, a physical
// link and a link of a default route. It may be retried.
func (w *Writer) DelLink(ctx context.Context, name string) error {
	l, err := w.dispensable(ctx, "remove", name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := w.net.opened().LinkDel(l); err != nil && !errors.Is(err, unix.ENODEV) {
		return fmt.Errorf("remove link %s: %w", name, err)
	}
	sys.Changed(w.log, "link removed", zap.String("link", name))
	return nil
}
