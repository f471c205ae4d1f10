package host

import (
	"context"
	"errors"
	"slices"

	"github.com/netwright/netwright/pkg/host/hostfs"
	"github.com/netwright/netwright/pkg/host/rtnl"
	"github.com/netwright/netwright/pkg/host/systemd"
)

// Over returns base as it will be after the pending changes.
func (p *Pending) Over(base View) View {
	base.Files = filesToBe{base.Files, p}
	base.Kernel = kernelToBe{base.Kernel, p}
	base.Net = netToBe{base.Net, p}
	base.Units = unitsToBe{base.Units, p}
	base.Upcoming = p
	return base
}

// These types read one part of the host as it will be after the pending changes.
type (
	filesToBe struct {
		hostfs.Files
		p *Pending
	}
	kernelToBe struct {
		Kernel
		p *Pending
	}
	netToBe struct {
		Net
		p *Pending
	}
	unitsToBe struct {
		Units
		p *Pending
	}
)

// fact finds the pending change of a key.
func (p *Pending) fact(kind, name string) (Fact, bool) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	if len(p.facts) == 0 { // a host that is right: no key is made of the name
		return Fact{}, false
	}
	f, ok := p.facts[kind+":"+name]
	return f, ok
}

// WillExist implements [Upcoming].
func (p *Pending) WillExist(key string) bool {
	p.mu.RLock()
	defer p.mu.RUnlock()
	f, ok := p.facts[key]
	return ok && !f.Gone
}

// Asked implements [Upcoming].
func (p *Pending) Asked(effect string) []string {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return append([]string(nil), p.asked[effect]...)
}

func (o kernelToBe) Mounted(path string) (string, error) {
	if f, ok := o.p.fact("mount", path); ok && f.Gone {
		return "", ErrNotExist
	}
	return o.Kernel.Mounted(path)
}

func (o netToBe) Link(ctx context.Context, name string) (rtnl.Link, error) {
	f, ok := o.p.fact("link", name)
	switch {
	case ok && f.Gone:
		return rtnl.Link{}, ErrNotExist
	case ok && f.Link != nil:
		return *f.Link, nil
	}
	return o.Net.Link(ctx, name)
}

func (o netToBe) Links(ctx context.Context) ([]rtnl.Link, error) {
	links, err := o.Net.Links(ctx)
	if err != nil {
		return nil, err
	}
	o.p.mu.RLock()
	defer o.p.mu.RUnlock()
	var out []rtnl.Link
	seen := map[string]bool{}
	for _, l := range links {
		seen[l.Name] = true
		f, ok := o.p.facts["link:"+l.Name]
		switch {
		case ok && f.Gone:
		case ok && f.Link != nil:
			out = append(out, *f.Link)
		default:
			out = append(out, l)
		}
	}
	for _, f := range o.p.facts {
		if f.Link != nil && !f.Gone && !seen[f.Link.Name] {
			out = append(out, *f.Link)
		}
	}
	return out, nil
}

// Addresses lists the existing addresses and the planned ones. A link that does not exist yet has
// only planned ones.
func (o netToBe) Addresses(ctx context.Context, link string) ([]rtnl.Address, error) {
	have, err := o.Net.Addresses(ctx, link)
	if err != nil && !errors.Is(err, ErrNotExist) {
		return nil, err
	}
	o.p.mu.RLock()
	defer o.p.mu.RUnlock()
	for _, f := range o.p.facts {
		a := f.Address
		if a == nil || link != "" && a.Link != link ||
			slices.ContainsFunc(have, func(b rtnl.Address) bool { return b.Link == a.Link && b.Prefix == a.Prefix }) {
			continue
		}
		have, err = append(have, *a), nil
	}
	return have, err
}

func (o unitsToBe) Unit(ctx context.Context, name string) (systemd.UnitState, error) {
	if f, ok := o.p.fact("unit", name); ok && f.Unit != nil {
		return *f.Unit, nil
	}
	state, err := o.Units.Unit(ctx, name)
	if f, ok := o.p.fact("file", "/etc/systemd/system/"+name); ok && err == nil && f.Installs != nil {
		if state.Load == "masked" { // the file replaces the masking link or precedes it
			state.Load, state.File = "loaded", "static"
		}
		switch {
		case *f.Installs && state.File == "static":
			state.File = "disabled"
		case !*f.Installs && state.File == "disabled":
			state.File = "static"
		}
	}
	return state, err
}

func (o filesToBe) Lstat(path string) (hostfs.FileInfo, error) {
	f, ok := o.p.fact("file", path)
	switch {
	case ok && f.Gone:
		return hostfs.FileInfo{}, ErrNotExist
	case ok && f.File != nil:
		return *f.File, nil
	}
	return o.Files.Lstat(path)
}
