package cleanup

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"path"
	"slices"
	"strings"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/host/hostpath"
	"github.com/netwright/netwright/pkg/host/rtnl"
)

// item is one thing that a selector names on this host.
type item struct {
	Key    graph.Key
	Detail string                                  // as [tasks.Found] has it
	remove func(context.Context, *host.Host) error // nil: it goes with another
}

// Expand lists the paths that a pattern (path.Match) names, part by part. A part that is no pattern
// is taken as it is: it need not be there.
func Expand(v host.View, pattern string) ([]string, error) {
	found := []string{"/"}
	for part := range strings.SplitSeq(strings.Trim(pattern, "/"), "/") {
		var next []string
		for _, dir := range found {
			if !strings.ContainsAny(part, `*?[\`) {
				next = append(next, path.Join(dir, part))
				continue
			}
			names, err := v.Files.ReadDir(dir)
			if hostpath.IsMissing(err) {
				continue
			}
			if err != nil {
				return nil, fmt.Errorf("look for %s: %w", pattern, err)
			}
			for _, name := range names {
				if match(part, name) {
					next = append(next, path.Join(dir, name))
				}
			}
		}
		found = next
	}
	return found, nil
}

// match is [path.Match] where a slash is a character like others: names of Weave's ipsets have any,
// comments too.
func match(pattern, name string) bool {
	plain := strings.NewReplacer("/", "\x00")
	is, err := path.Match(plain.Replace(pattern), plain.Replace(name))
	return err == nil && is
}

// asked says that a field of a selector, which asks for nothing where it is zero, takes a value.
func asked[T comparable](field, value T) bool {
	var nothing T
	return field == nothing || field == value
}

// askedLike is [asked] for a pattern.
func askedLike(pattern, name string) bool { return pattern == "" || match(pattern, name) }

// isPods says that an address is within the pods' ranges.
func isPods(ranges []netip.Prefix, a netip.Addr) bool {
	return rtnl.Within(ranges, netip.PrefixFrom(a, a.BitLen()))
}

// nowhere says that a view has no such live state, which is no error for a search.
func nowhere(err error) bool {
	return errors.Is(err, host.ErrNoLiveState) || errors.Is(err, host.ErrNotExist)
}

// matches says that a name is one of the patterns. A pattern that is not well formed matches
// nothing; a test of package network holds all.
func matches(name string, patterns ...string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return match(p, name) })
}
