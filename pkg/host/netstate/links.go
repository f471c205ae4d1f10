package netstate

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"slices"

	"go.uber.org/zap"
	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/pkg/host/internal/sys"
	"github.com/netwright/netwright/pkg/host/rtnl"
)

// renamed is a link whose name has changed.
type renamed struct{ now, was rtnl.Link }

// restoreNames gives links their old names. Link managers find a link by its name, as the files of
// networkd do, and so does the rest of Restore. Links of other programs ([State.hasWriter]) are
// left to these.
func (w *Writer) restoreNames(ctx context.Context, was State) error {
	now, err := w.net.Links(ctx)
	if err != nil {
		return err
	}
	var list []renamed
	for _, l := range now {
		at := slices.IndexFunc(was.Links, func(o rtnl.Link) bool { return o.Index == l.Index && o.Name != l.Name })
		if at >= 0 && !was.hasWriter(l.Name) && !was.hasWriter(was.Links[at].Name) {
			list = append(list, renamed{l, was.Links[at]})
		}
	}
	var errs []error
	for _, r := range list { // two links may have exchanged their names
		if slices.ContainsFunc(list, func(o renamed) bool { return o.was.Name == r.now.Name }) {
			errs = append(errs, w.rename(ctx, r, fmt.Sprintf("link-%d", r.was.Index)))
		}
	}
	for _, r := range list {
		errs = append(errs, w.rename(ctx, r, r.was.Name))
	}
	return errors.Join(errs...)
}

// rename sets the name of a link, which may be an alternative name of the same link by now. Before
// Linux 6.2 the link must be down for this. restoreLinks sets it up again.
func (w *Writer) rename(ctx context.Context, r renamed, name string) error {
	index := r.now.Index
	rename := func() error { return setLink(index, sys.TextAttribute(unix.IFLA_IFNAME, name)) }
	err := rename()
	if errors.Is(err, unix.EBUSY) && setFlags(index, 0, unix.IFF_UP) == nil {
		err = rename()
	}
	if o, _ := w.net.Link(ctx, name); errors.Is(err, unix.EEXIST) && o.Index == index {
		alternative := sys.NestedAttribute(unix.IFLA_PROP_LIST, sys.TextAttribute(unix.IFLA_ALT_IFNAME, name))
		if sendLink(unix.RTM_DELLINKPROP, index, 0, 0, alternative) == nil {
			err = rename()
		}
	}
	if err != nil {
		return fmt.Errorf("restore link %s, which is %s now: %w", r.was.Name, r.now.Name, err)
	}
	sys.Changed(w.log, "link renamed back", zap.String("link", name), zap.String("from", r.now.Name))
	return nil
}

// delMade removes a link that the change created, even if a default route uses it by now: that
// route is new, too. A physical device that was plugged in meanwhile stays.
func (w *Writer) delMade(ctx context.Context, name string) error {
	l, err := w.net.Link(ctx, name)
	if errors.Is(err, fs.ErrNotExist) || l.Physical || l.Loopback {
		return nil
	}
	if err != nil {
		return fmt.Errorf("remove link %s: %w", name, err)
	}
	if err := sendLink(unix.RTM_DELLINK, l.Index, 0, 0); err != nil && !errors.Is(err, unix.ENODEV) {
		return fmt.Errorf("remove link %s, which the change made: %w", name, err)
	}
	return nil
}

// restoreLinks restores the settings of links, then their masters, then the settings that depend on
// the masters. Links that are gone stay gone, except those in made: these are links of the agent,
// and it creates them again. It runs twice, because some settings set others: the mode of an ipvlan
// sets its flags.
func (w *Writer) restoreLinks(ctx context.Context, was State, made []string) (err error) {
	for range 2 {
		now, listed := w.byName(ctx)
		if listed != nil {
			return listed
		}
		var errs []error
		for _, l := range was.Links {
			if have, there := now[l.Name]; there {
				errs = append(errs, restoreLink(have, l))
			} else if slices.Contains(made, l.Name) && (l.Kind == "bridge" || l.Kind == "dummy") {
				errs = append(errs, w.makeAgain(ctx, l))
			}
		}
		if now, listed = w.byName(ctx); listed != nil {
			return errors.Join(append(errs, listed)...)
		}
		for _, l := range was.Links {
			if have, there := now[l.Name]; there {
				errs = append(errs, restoreMaster(have, l, now))
			}
		}
		err = errors.Join(append(errs, restoreSettings(ctx, was, now), restoreVLANs(ctx, was, now))...)
	}
	return err
}

func (w *Writer) byName(ctx context.Context) (map[string]rtnl.Link, error) {
	links, err := w.net.Links(ctx)
	out := make(map[string]rtnl.Link, len(links))
	for _, l := range links {
		out[l.Name] = l
	}
	return out, err
}

// makeAgain creates a link with its old index, because its addresses and routes are stored with
// that.
func (w *Writer) makeAgain(ctx context.Context, was rtnl.Link) error {
	err := w.links.AddLink(ctx, was)
	have := rtnl.Link{}
	if err == nil {
		have, err = w.net.Link(ctx, was.Name)
	}
	if err != nil {
		return fmt.Errorf("restore link %s: %w", was.Name, err)
	}
	return restoreLink(have, was)
}

// restoreLink restores MTU, MAC and flags of a link, also of a physical one.
func restoreLink(have, was rtnl.Link) error {
	var errs []error
	if have.MTU != was.MTU {
		errs = append(errs, setLink(have.Index, sys.NumberAttribute(unix.IFLA_MTU, uint32(was.MTU))))
	}
	if mac, err := net.ParseMAC(was.MAC); err == nil && have.MAC != was.MAC && !was.Loopback {
		errs = append(errs, setLink(have.Index, sys.NewAttribute(unix.IFLA_ADDRESS, mac)))
	}
	if mask := comparedFlags(was); (have.Flags^flags(was))&mask != 0 {
		errs = append(errs, setFlags(have.Index, flags(was)&mask, mask))
	}
	if err := errors.Join(errs...); err != nil && !errors.Is(err, unix.ENODEV) {
		return fmt.Errorf("restore the settings of link %s: %w", was.Name, err)
	}
	return nil
}

// settableFlags are the flags that a program can set (net/core/dev.c, __dev_change_flags). The
// kernel sets the others.
const settableFlags = unix.IFF_UP | unix.IFF_NOARP | unix.IFF_MULTICAST | unix.IFF_ALLMULTI | unix.IFF_PROMISC | unix.IFF_DYNAMIC |
	unix.IFF_DEBUG | unix.IFF_NOTRAILERS | unix.IFF_PORTSEL | unix.IFF_AUTOMEDIA

// flags returns the old flags of a link, and comparedFlags which of them are known and can be set.
// Journals of earlier releases have only whether the link was up.
func flags(l rtnl.Link) uint32 {
	if l.Flags == 0 && l.Up {
		return unix.IFF_UP
	}
	return l.Flags
}

func comparedFlags(l rtnl.Link) uint32 {
	if l.Flags == 0 {
		return unix.IFF_UP
	}
	return settableFlags
}

// restoreMaster gives a link its old master back, if that exists: a file of networkd may have made
// the uplink a port of a bridge.
func restoreMaster(have, was rtnl.Link, now map[string]rtnl.Link) error {
	of, there := now[was.Master] // index 0 if it had no master
	if have.Master == was.Master || was.Master != "" && !there {
		return nil
	}
	move := func() error { return setLink(have.Index, sys.NumberAttribute(unix.IFLA_MASTER, uint32(of.Index))) }
	err := move()
	// A bond (EPERM) and a team (EBUSY) refuse a link that is up.
	if (errors.Is(err, unix.EPERM) || errors.Is(err, unix.EBUSY)) && setFlags(have.Index, 0, unix.IFF_UP) == nil {
		err = errors.Join(move(), setFlags(have.Index, flags(was)&unix.IFF_UP, unix.IFF_UP))
	}
	if err != nil && !errors.Is(err, unix.ENODEV) {
		return fmt.Errorf("restore the master %[2]q of link %[1]s: %[3]w", was.Name, was.Master, err)
	}
	return nil
}

// setFlags sets the flags of a link that are in mask.
func setFlags(index int, flags, mask uint32) error {
	return sendLink(unix.RTM_NEWLINK, index, flags, mask)
}

// setLink sets one attribute of a link.
func setLink(index int, attribute []byte) error {
	return sendLink(unix.RTM_NEWLINK, index, 0, 0, attribute)
}

// sendLink sends a message about one link.
func sendLink(kind, index int, flags, mask uint32, attributes ...[]byte) error {
	m := make([]byte, unix.SizeofIfInfomsg)
	binary.NativeEndian.PutUint32(m[4:], uint32(index))
	binary.NativeEndian.PutUint32(m[8:], flags)
	binary.NativeEndian.PutUint32(m[12:], mask)
	return send("change a link", kind, 0, slices.Concat(append([][]byte{m}, attributes...)...))
}
