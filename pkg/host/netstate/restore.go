package netstate

import (
	"context"
	"errors"
	"slices"

	"github.com/netwright/netwright/pkg/host/rtnl"
)

// Made has what a change was planned to create. [Writer.Restore] removes only this, and the routes
// and rules with the agent's protocol number.
type Made struct {
	Links     []string           `json:"links,omitempty"`
	Addresses []rtnl.LinkAddress `json:"addresses,omitempty"`
}

// Restore restores a recorded network: it removes what the change created, and adds what is
// missing. Objects that other programs created meanwhile stay. It goes on after an error and
// returns all errors. It may be retried, and changes nothing if nothing differs. The state must be
// of this boot. Afterwards [Writer.PutOthersBehind] moves the addresses of other programs behind
// the restored ones.
func (w *Writer) Restore(ctx context.Context, was State, made Made) error {
	var errs []error
	there := map[string]bool{}
	for _, l := range was.Links {
		there[l.Name] = true
	}
	for _, name := range made.Links {
		if !there[name] {
			errs = append(errs, w.delMade(ctx, name))
		}
	}
	now, err := w.net.Links(ctx)
	was = was.renumbered(now)
	errs = append(errs, err, w.restoreNames(ctx, was), w.restoreLinks(ctx, was, made.Links))
	errs = append(errs, restoreQdiscs(ctx, was))
	cost, err := w.restoreAddresses(ctx, was, made.Addresses)
	errs = append(errs, err, restoreRules(ctx, was))
	was.Routes = slices.Concat(was.Routes, cost)
	errs = append(errs, w.restoreRoutes(ctx, was), w.restoreNeighbours(ctx, was), restoreTables(ctx, was))
	return errors.Join(errs...)
}
