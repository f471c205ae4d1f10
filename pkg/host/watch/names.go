package watch

import (
	"cmp"
	"iter"

	"github.com/netwright/netwright/pkg/host/kernel"
)

// Names are the names under which events tell of an interest, by source: of files, links,
// addresses, routes and sysctls. What else may happen to it is told by names that are nobody's, or
// by names of others: whoever goes by a name looks at the rest, too. Of a route the link is said
// that it has itself.
func (i Interest) Names() iter.Seq2[Source, string] {
	return func(yield func(Source, string) bool) {
		for _, p := range i.Paths {
			if !yield(Files, p) {
				return
			}
		}
		for _, l := range i.Links {
			if !yield(Links, l) {
				return
			}
		}
		for _, ip := range i.Addresses {
			if !yield(Addresses, ip.Unmap().String()) {
				return
			}
		}
		for _, r := range i.Routes {
			r = r.Canonical()
			if !yield(Routes, r.Dst.String()) || r.Link != "" && !yield(Links, r.Link) ||
				r.Source.IsValid() && !yield(Addresses, r.Source.String()) {
				return
			}
		}
		for _, key := range i.Sysctls {
			link := kernel.SysctlLink(key)
			if !yield(Sysctls, sysctlRoot+kernel.SysctlPath(key)) || link != "" && !yield(Links, link) ||
				SysctlNotifies(key) && !yield(Sysctls, "conf."+cmp.Or(link, "all")) {
				return
			}
		}
	}
}
