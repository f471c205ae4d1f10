package watch

import (
	"cmp"

	"github.com/netwright/netwright/pkg/host/kernel"
)

// Names calls each with the names under which events tell of an interest, by source: of files,
// links, addresses, routes and sysctls. What else may happen to it is told by names that are
// nobody's, or by names of others: whoever goes by a name looks at the rest, too. Of a route the
// link is said that it has itself.
func (i Interest) Names(each func(source Source, name string)) {
	for _, p := range i.Paths {
		each(Files, p)
	}
	for _, l := range i.Links {
		each(Links, l)
	}
	for _, ip := range i.Addresses {
		each(Addresses, ip.Unmap().String())
	}
	for _, r := range i.Routes {
		r = r.Canonical()
		each(Routes, r.Dst.String())
		if r.Link != "" {
			each(Links, r.Link)
		}
		if r.Source.IsValid() {
			each(Addresses, r.Source.String())
		}
	}
	for _, key := range i.Sysctls {
		each(Sysctls, sysctlRoot+kernel.SysctlPath(key))
		link := kernel.SysctlLink(key)
		if link != "" {
			each(Links, link)
		}
		if SysctlNotifies(key) {
			each(Sysctls, "conf."+cmp.Or(link, "all"))
		}
	}
}
