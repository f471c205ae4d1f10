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

// item is one thing on this host that a selector matches.
type item struct {
	Key    graph.Key
	Detail string                                  // see [tasks.Found]
	remove func(context.Context, *host.Host) error // nil: another item's removal removes it
}

// Expand lists the paths that match a pattern (path.Match), one path element after another. An
// element without pattern characters is not looked up, so that path need not exist.
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

// match is [path.Match] where a slash is an ordinary character: names of Weave's ipsets and
// comments may contain one.
func match(pattern, name string) bool {
	plain := strings.NewReplacer("/", "\x00")
	is, err := path.Match(plain.Replace(pattern), plain.Replace(name))
	return err == nil && is
}

// asked reports whether a field of a selector matches a value. The zero value of a field matches
// everything.
func asked[T comparable](field, value T) bool {
	var nothing T
	return field == nothing || field == value
}

// askedLike is [asked] for a pattern.
func askedLike(pattern, name string) bool { return pattern == "" || match(pattern, name) }

// isPods reports whether an address is in the pods' ranges.
func (s Scope) isPods(a netip.Addr) bool {
	return rtnl.Within(s.PodCIDRs, netip.PrefixFrom(a, a.BitLen()))
}

// nowhere reports whether an error only says that the view has no such live state. A search treats
// that as nothing found.
func nowhere(err error) bool {
	return errors.Is(err, host.ErrNoLiveState) || errors.Is(err, host.ErrNotExist)
}

// matches reports whether a name matches one of the patterns. A malformed pattern matches nothing;
// a test of package network checks all patterns.
func matches(name string, patterns ...string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return match(p, name) })
}
