package probe

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/host/rtnl"
)

// managed returns the probes of the node's own links that a link manager manages. If the manager of
// a link fails, the link keeps its addresses and routes for now, but nothing renews its lease or
// acts on the next change of a file.
func managed(f *host.Facts, own []rtnl.Link) (out []Probe) {
	for _, l := range f.Links {
		mine := slices.ContainsFunc(own, func(o rtnl.Link) bool { return o.Name == l.Name })
		if l.Manager != "" && mine {
			out = append(out, Probe(managedProbe+":"+l.Manager+"/"+l.Name))
		}
	}
	return out
}

// askManager passes if the manager has set the link up, or if the link is gone, because a change
// may remove it. It also passes for an unmanaged link if unmanagedProof does.
func (n Prober) askManager(ctx context.Context, what string) error {
	manager, link, _ := strings.Cut(what, "/")
	setup, err := n.Host.Live.LinkSetup(ctx, manager, link)
	switch {
	case errors.Is(err, host.ErrNotExist):
		return nil
	case err != nil:
		return err
	case setup == host.SetupDone:
		return nil
	case setup == host.SetupNone:
		return n.unmanagedProof(ctx, manager, link)
	}
	return fmt.Errorf("%s says of link %s: %s", manager, link, setup)
}

// unmanagedProof passes if another manager has set the link up, or if the link has no IPv4 address
// with a lifetime, which nothing would renew. It ignores IPv6 addresses, because the kernel itself
// may renew them.
func (n Prober) unmanagedProof(ctx context.Context, manager, link string) error {
	for _, other := range host.LinkManagers() {
		if setup, err := n.Host.Live.LinkSetup(ctx, other, link); err == nil && setup == host.SetupDone {
			return nil
		}
	}
	addresses, err := n.Host.Live.Net.Addresses(ctx, link)
	if err != nil {
		return err
	}
	for _, a := range addresses {
		if a.Dynamic && a.Prefix.Addr().Is4() {
			return fmt.Errorf("%s does not manage link %s any more, so no program renews %s", manager, link, a.Prefix)
		}
	}
	return nil
}

// SetUp makes the link managers set up again the links that they have not set up after the undo,
// and waits a while. It returns whether there were any. Links that are not set up then fail in the
// probes.
func (n Prober) SetUp(ctx context.Context, probes []Probe, window time.Duration) (late bool) {
	asked := map[Probe]bool{}
	try := func(ctx context.Context) (left Failures) {
		for _, p := range probes {
			what, ok := strings.CutPrefix(string(p), managedProbe+":")
			if !ok {
				continue
			}
			manager, link, _ := strings.Cut(what, "/")
			setup, err := n.Host.Live.LinkSetup(ctx, manager, link)
			if errors.Is(err, host.ErrNotExist) || setup == host.SetupDone {
				continue
			}
			if err == nil && setup != host.SetupGoesOn && !asked[p] {
				asked[p], err = true, n.Host.SetUpLink(ctx, manager, link)
			}
			left = append(left, FailedProbe{p, err})
		}
		late = late || len(left) > 0
		return left
	}
	_ = awaitSteady(ctx, try, window/3, 0)
	return late
}
