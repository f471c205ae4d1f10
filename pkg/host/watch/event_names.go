package watch

import (
	"cmp"

	"github.com/netwright/netwright/pkg/host/kernel"
)

// Names calls each with the names that events have for the things of an interest, by source: files,
// links, addresses, routes and sysctls. Other events about the same things have other names. So a
// caller that goes by a name must also look at the rest. For a route, only the link that the route
// itself names is included.
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
