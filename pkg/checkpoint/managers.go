package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/netwright/netwright/pkg/host"
)

// managed are the probes of those of the node's own links that a manager has taken for its own. One
// whose manager gave up keeps its addresses and routes for now: nobody renews a lease of it, and
// nobody acts on the next file.
func managed(f *host.Facts, own []host.Link) (out []Probe) {
	for _, l := range f.Links {
		mine := slices.ContainsFunc(own, func(o host.Link) bool { return o.Name == l.Name })
		if l.Manager != "" && mine {
			out = append(out, Probe(managedProbe+":"+l.Manager+"/"+l.Name))
		}
	}
	return out
}

// askManager passes if a link's manager is done with it, or leaves it alone: a change may hand the
// link to another, or take it away.
func askManager(ctx context.Context, h *host.Host, what string) error {
	manager, link, _ := strings.Cut(what, "/")
	setup, err := h.LinkSetup(ctx, manager, link)
	switch {
	case errors.Is(err, host.ErrNotExist):
		return nil
	case err != nil:
		return err
	case setup == host.SetupDone || setup == host.SetupNone:
		return nil
	}
	return fmt.Errorf("%s says of link %s: %s", manager, link, setup)
}

// setUp has the managers of links set those up again that they are not done with after the undo,
// and waits a while for it; it says whether there were any. What is not set up by then is judged
// with the other probes.
func (j *Journal) setUp(ctx context.Context, h *host.Host) (late bool) {
	asked := map[Probe]bool{}
	try := func(ctx context.Context) (left failures) {
		for _, p := range j.Probes {
			what, ok := strings.CutPrefix(string(p), managedProbe+":")
			if !ok {
				continue
			}
			manager, link, _ := strings.Cut(what, "/")
			setup, err := h.LinkSetup(ctx, manager, link)
			if errors.Is(err, host.ErrNotExist) || setup == host.SetupDone {
				continue
			}
			if err == nil && setup != host.SetupGoesOn && !asked[p] {
				asked[p], err = true, h.SetUpLink(ctx, manager, link)
			}
			left = append(left, failure{p, err})
		}
		late = late || len(left) > 0
		return left
	}
	_ = hold(ctx, try, j.Window/3, 0)
	return late
}
