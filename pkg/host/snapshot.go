package host

import (
	"context"
	"slices"
	"sync"

	"github.com/netwright/netwright/pkg/host/rtnl"
)

// Snapshot returns a view for one plan. It reads each list of the network once and then returns it
// again as it was. So a node with routes to a thousand others lists its routes once, not a thousand
// times. After a read error, such as for a link that is gone by now, it reads all lists again.
func (v View) Snapshot() View {
	v.Net = &netSnapshot{net: v.Net, links: map[string][]rtnl.Link{}, link: map[string]rtnl.Link{},
		addresses: map[string][]rtnl.Address{}, routes: map[int][]rtnl.Route{}, rules: map[string][]rtnl.Rule{}}
	return v
}

// netSnapshot is a [Net] that reads each list once. Its lists have no spare capacity, so appending
// to one copies it.
type netSnapshot struct {
	net Net

	mu        sync.Mutex
	links     map[string][]rtnl.Link // the key is always ""
	link      map[string]rtnl.Link
	addresses map[string][]rtnl.Address
	routes    map[int][]rtnl.Route
	rules     map[string][]rtnl.Rule // the key is always ""
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

// readList is [readOnce] for a list. It removes the spare capacity of the list.
func readList[K comparable, V any](s *netSnapshot, have map[K][]V, key K, read func() ([]V, error)) ([]V, error) {
	return readOnce(s, have, key, func() ([]V, error) {
		list, err := read()
		return slices.Clip(list), err
	})
}

// readOnce returns the stored value of a key, or reads and stores it. Its errors are those of read.
func readOnce[K comparable, V any](s *netSnapshot, have map[K]V, key K, read func() (V, error)) (V, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if v, ok := have[key]; ok {
		return v, nil
	}
	v, err := read()
	if err != nil { // the network has changed since the other lists were read
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
