package host

import (
	"context"
	"slices"
	"sync"

	"github.com/netwright/netwright/pkg/host/rtnl"
)

// Snapshot is the view for one plan: of the network it has each list as it was when it was read
// first. A node that routes to a thousand others lists its routes once, and not for each of them.
// Where something cannot be read, such as a link that went meanwhile, all is read anew.
func (v View) Snapshot() View {
	v.Net = &netSnapshot{net: v.Net, links: map[string][]rtnl.Link{}, link: map[string]rtnl.Link{},
		addresses: map[string][]rtnl.Address{}, routes: map[int][]rtnl.Route{}, rules: map[string][]rtnl.Rule{}}
	return v
}

// netSnapshot is a [Net] that reads each thing once. Its lists have no room at their end: who
// appends to one has a copy.
type netSnapshot struct {
	net Net

	mu        sync.Mutex
	links     map[string][]rtnl.Link // all are by ""
	link      map[string]rtnl.Link
	addresses map[string][]rtnl.Address
	routes    map[int][]rtnl.Route
	rules     map[string][]rtnl.Rule // all are by ""
}

func (s *netSnapshot) Links(ctx context.Context) ([]rtnl.Link, error) {
	return readList(s, s.links, "", func() ([]rtnl.Link, error) { return s.net.Links(ctx) })
}

func (s *netSnapshot) Link(ctx context.Context, name string) (rtnl.Link, error) {
	return readOnce(s, s.link, name, func() (rtnl.Link, error) { return s.net.Link(ctx, name) })
}

func (s *netSnapshot) Addresses(ctx context.Context, link string) ([]rtnl.Address, error) {
	return readList(s, s.addresses, link, func() ([]rtnl.Address, error) { return s.net.Addresses(ctx, link) })
}

func (s *netSnapshot) Routes(ctx context.Context, table int) ([]rtnl.Route, error) {
	return readList(s, s.routes, table, func() ([]rtnl.Route, error) { return s.net.Routes(ctx, table) })
}

func (s *netSnapshot) Rules(ctx context.Context) ([]rtnl.Rule, error) {
	return readList(s, s.rules, "", func() ([]rtnl.Rule, error) { return s.net.Rules(ctx) })
}

// readList is [readOnce] of a list without room at its end.
func readList[K comparable, V any](s *netSnapshot, have map[K][]V, key K, read func() ([]V, error)) ([]V, error) {
	return readOnce(s, have, key, func() ([]V, error) {
		list, err := read()
		return slices.Clip(list), err
	})
}

// readOnce is what was read by a key, or is read now. An error is that of reading it.
func readOnce[K comparable, V any](s *netSnapshot, have map[K]V, key K, read func() (V, error)) (V, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if v, ok := have[key]; ok {
		return v, nil
	}
	v, err := read()
	if err != nil { // the network is another by now
		clear(s.links)
		clear(s.link)
		clear(s.addresses)
		clear(s.routes)
		clear(s.rules)
		return v, err
	}
	have[key] = v
	return v, nil
}
