package rtnl

import (
	"context"
	"errors"
	"fmt"

	"github.com/vishvananda/netlink"
	"go.uber.org/zap"
	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/pkg/host/internal/sys"
)

// ErrUnmanagedRoute means that a route that is not the agent's has the same key.
var ErrUnmanagedRoute = errors.New("another program's route is there")

// ReplaceRoute sets a route with the agent's protocol number. It adds the route, or replaces the
// agent's route with the same destination, table and metric. If another protocol has that route, it
// stays, and ReplaceRoute returns [ErrUnmanagedRoute]. It may be retried. First it asks the kernel
// to add the route only if none exists, so it cannot replace another program's route; only if one
// exists does it list the routes. When it replaces a route of the agent, another program can still
// add one between the list and the change.
func (w *Writer) ReplaceRoute(ctx context.Context, r Route) error {
	r = r.Canonical()
	r.Protocol = RouteProtocol
	rt, err := w.net.rt(ctx)
	if err != nil {
		return err
	}
	out, err := w.routeTo(ctx, r)
	if err != nil {
		return fmt.Errorf("set route %s: %w", r.Dst, err)
	}
	err = rt.RouteAdd(out)
	if errors.Is(err, unix.EEXIST) {
		if err := w.leaveOthers(ctx, r); err != nil {
			return err
		}
		err = rt.RouteReplace(out)
	}
	switch {
	case errors.Is(err, unix.ENETUNREACH), errors.Is(err, unix.EHOSTUNREACH):
		return fmt.Errorf("set route %s: the next hop %s is in no network of a link of this host: "+
			"give the address by which this node reaches it, or its link and onlink: %w", r.Dst, r.Gateway, err)
	case errors.Is(err, unix.ENETDOWN):
		return fmt.Errorf("set route %s: link %s is down: %w", r.Dst, r.Link, err)
	case err != nil:
		return fmt.Errorf("set route %s: %w", r.Dst, err)
	}
	sys.Changed(w.log, "route set", zap.Stringer("to", r.Dst), zap.Stringer("via", r.Gateway),
		zap.String("link", r.Link), zap.Int("table", r.Table))
	return nil
}

// leaveOthers returns an error if a route of another protocol has the same key.
func (w *Writer) leaveOthers(ctx context.Context, r Route) error {
	have, err := w.net.Routes(ctx, r.Table)
	if err != nil {
		return fmt.Errorf("set route %s: %w", r.Dst, err)
	}
	for _, o := range have {
		if o.SameKey(r) && o.Protocol != RouteProtocol {
			return fmt.Errorf("set route %s in table %d with metric %d: %w (protocol %d, via %s dev %s): remove it, "+
				"or give ours another metric",
				r.Dst, r.Table, r.Metric, ErrUnmanagedRoute, o.Protocol, o.Gateway, o.Link)
		}
	}
	return nil
}

// DelRoute removes the agent's route with the same destination, table and metric. A missing route
// is success, and a route of another protocol stays. It may be retried.
func (w *Writer) DelRoute(ctx context.Context, r Route) error {
	r = r.Canonical()
	have, err := w.net.listed(ctx, r.Table)
	if err != nil {
		return fmt.Errorf("remove route %s: %w", r.Dst, err)
	}
	for _, o := range have {
		if o.Protocol != RouteProtocol || !o.SameKey(r) {
			continue
		}
		if err := w.net.opened().RouteDel(o.handle()); err != nil && !errors.Is(err, unix.ESRCH) {
			return fmt.Errorf("remove route %s: %w", r.Dst, err)
		}
		sys.Changed(w.log, "route removed", zap.Stringer("to", r.Dst), zap.Int("table", r.Table))
	}
	return nil
}

// routeTo converts a route for package netlink.
func (w *Writer) routeTo(ctx context.Context, r Route) (*netlink.Route, error) {
	out := listed{Route: r, nextHop: nextHop{gateway: r.Gateway, onLink: r.OnLink}}
	for number, name := range routeTypes {
		if name == r.Type {
			out.kind = number
		}
	}
	if out.kind == 0 {
		return nil, fmt.Errorf("unknown type %q (unicast, blackhole, unreachable, prohibit, throw, local)", r.Type)
	}
	if r.Gateway.IsValid() && !out.ofItsFamily() {
		return nil, fmt.Errorf("the next hop %s is of another family", r.Gateway)
	}
	if r.Link != "" {
		l, err := w.net.Link(ctx, r.Link)
		if err != nil {
			return nil, err
		}
		out.link = l.Index
	}
	return out.handle(), nil
}

// DelUnmanagedRoute removes a route that a network left, if all its fields are as they were read. A
// missing route is success. It refuses routes that the host itself needs ([Route.OfMachine]). It
// may be retried.
func (w *Writer) DelUnmanagedRoute(ctx context.Context, r Route) error {
	if r.OfMachine() {
		return fmt.Errorf("remove route %s from table %d: the machine's own network uses it (protocol %d)", r.Dst,
			r.Table, r.Protocol)
	}
	names, err := w.net.names(ctx)
	if err != nil {
		return fmt.Errorf("remove route %s: %w", r.Dst, err)
	}
	have, err := w.net.listed(ctx, r.Table)
	if err != nil {
		return fmt.Errorf("remove route %s: %w", r.Dst, err)
	}
	for _, o := range have {
		if o.on(names) != r {
			continue
		}
		if err := w.net.opened().RouteDel(o.handle()); err != nil && !errors.Is(err, unix.ESRCH) {
			return fmt.Errorf("remove route %s from table %d: %w", r.Dst, r.Table, err)
		}
		sys.Changed(w.log, "route of another removed", zap.Stringer("to", r.Dst), zap.Int("table", r.Table),
			zap.Int("protocol", r.Protocol))
	}
	return nil
}
