package netstate

import (
	"context"
	"errors"
	"slices"

	"github.com/netwright/netwright/pkg/host/rtnl"
)

// Made is what a change was to make: only this, and routes and rules with our protocol number, is
// removed by [Writer.Restore].
type Made struct {
	Links     []string           `json:"links,omitempty"`
	Addresses []rtnl.LinkAddress `json:"addresses,omitempty"`
}

// Restore brings the network back to what it was: it removes what was made, and brings back what is
// gone. What others made meanwhile stays. It goes on after an error and returns all of them. It may
// be retried, and changes nothing when all is as it was. The state must be of this boot. Addresses
// that others added come behind by [Writer.PutOthersBehind].
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
	errs = append(errs, w.restoreNames(ctx, was), w.restoreLinks(ctx, was, made.Links))
	errs = append(errs, restoreQdiscs(ctx, was))
	cost, err := w.restoreAddresses(ctx, was, made.Addresses)
	errs = append(errs, err, restoreRules(ctx, was))
	was.Routes = slices.Concat(was.Routes, cost)
	errs = append(errs, w.restoreRoutes(ctx, was), w.restoreNeighbours(ctx, was), restoreTables(ctx, was))
	return errors.Join(errs...)
}
