package rtnl

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/vishvananda/netlink"
	"go.uber.org/zap"
	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/pkg/host/internal/sys"
)

// renamed is a link that has another name than it had.
type renamed struct{ now, was Link }

// restoreNames gives links their names back. Who looks after a link finds it by its name, as the
// files of networkd do, and so does all that follows here. Links of Kubernetes are renamed by who
// made them.
func (back restoring) restoreNames(ctx context.Context, was []Link) error {
	now, err := back.w.net.Links(ctx)
	if err != nil {
		return err
	}
	var list []renamed
	for _, l := range now {
		at := slices.IndexFunc(was, func(o Link) bool { return o.Index == l.Index && o.Name != l.Name })
		if at >= 0 && !sys.OfKubernetes(l.Name) && !sys.OfKubernetes(was[at].Name) {
			list = append(list, renamed{l, was[at]})
		}
	}
	var errs []error
	for _, r := range list { // two may have changed their names
		if slices.ContainsFunc(list, func(o renamed) bool { return o.was.Name == r.now.Name }) {
			errs = append(errs, back.rename(ctx, r, fmt.Sprintf("link-%d", r.was.Index)))
		}
	}
	for _, r := range list {
		errs = append(errs, back.rename(ctx, r, r.was.Name))
	}
	return errors.Join(errs...)
}

// rename gives a link a name, which may be another name of its own by now. Before Linux 6.2 it has
// to be down for that; it comes up with its other settings.
func (back restoring) rename(ctx context.Context, r renamed, name string) error {
	rt, err := back.w.net.rt(ctx)
	if err != nil {
		return err
	}
	link := &netlink.Device{LinkAttrs: netlink.LinkAttrs{Index: r.now.Index}}
	err = rt.LinkSetName(link, name)
	if errors.Is(err, unix.EBUSY) && rt.LinkSetDown(link) == nil {
		err = rt.LinkSetName(link, name)
	}
	if o, _ := back.w.net.Link(ctx, name); errors.Is(err, unix.EEXIST) && o.Index == r.now.Index &&
		rt.LinkDelAltName(link, name) == nil {
		err = rt.LinkSetName(link, name)
	}
	if err != nil {
		return fmt.Errorf("bring link %s back, which is %s now: %w", r.was.Name, r.now.Name, err)
	}
	sys.Changed(back.w.log, "link renamed back", zap.String("link", name), zap.String("from", r.now.Name))
	return nil
}
