package host

import (
	"context"
	"errors"
	"slices"

	"github.com/netwright/netwright/pkg/host/facts"
	"github.com/netwright/netwright/pkg/host/hostfs"
	"github.com/netwright/netwright/pkg/host/rtnl"
	"github.com/netwright/netwright/pkg/host/systemd"
)

// Over returns base as it will be when what is pending has been done.
func (p *Pending) Over(base View) View { return overlay{View: base, p: p} }

type overlay struct {
	View
	p *Pending
}

// fact looks a key up.
func (o overlay) fact(kind, name string) (Fact, bool) {
	o.p.mu.RLock()
	defer o.p.mu.RUnlock()
	f, ok := o.p.facts[kind+":"+name]
	return f, ok
}

func (o overlay) WillExist(key string) bool {
	o.p.mu.RLock()
	defer o.p.mu.RUnlock()
	f, ok := o.p.facts[key]
	return ok && !f.Gone
}

func (o overlay) Asked(effect string) []string {
	o.p.mu.RLock()
	defer o.p.mu.RUnlock()
	return append([]string(nil), o.p.asked[effect]...)
}

func (o overlay) Mounted(path string) (string, error) {
	if f, ok := o.fact("mount", path); ok && f.Gone {
		return "", ErrNotExist
	}
	return o.View.Mounted(path)
}

func (o overlay) Link(ctx context.Context, name string) (rtnl.Link, error) {
	f, ok := o.fact("link", name)
	switch {
	case ok && f.Gone:
		return rtnl.Link{}, ErrNotExist
	case ok && f.Link != nil:
		return *f.Link, nil
	}
	return o.View.Link(ctx, name)
}

func (o overlay) Links(ctx context.Context) ([]rtnl.Link, error) {
	links, err := o.View.Links(ctx)
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

// Addresses are those that are there and those to come. A link that is still to come has the latter
// only.
func (o overlay) Addresses(ctx context.Context, link string) ([]rtnl.Address, error) {
	have, err := o.View.Addresses(ctx, link)
	if err != nil && !errors.Is(err, ErrNotExist) {
		return nil, err
	}
	o.p.mu.RLock()
	defer o.p.mu.RUnlock()
	for _, f := range o.p.facts {
		a := f.Address
		if a == nil || link != "" && a.Link != link || slices.ContainsFunc(have, func(b rtnl.Address) bool { return b.Link == a.Link && b.Prefix == a.Prefix }) {
			continue
		}
		have, err = append(have, *a), nil
	}
	return have, err
}

func (o overlay) Unit(ctx context.Context, name string) (systemd.UnitState, error) {
	if f, ok := o.fact("unit", name); ok && f.Unit != nil {
		return *f.Unit, nil
	}
	state, err := o.View.Unit(ctx, name)
	if f, ok := o.fact("file", facts.UnitDirs[0]+"/"+name); ok && err == nil && f.Installs != nil {
		if state.Load == "masked" { // the file takes the place of the link that masks it, or comes before it
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

func (o overlay) Lstat(path string) (hostfs.FileInfo, error) {
	f, ok := o.fact("file", path)
	switch {
	case ok && f.Gone:
		return hostfs.FileInfo{}, ErrNotExist
	case ok && f.File != nil:
		return *f.File, nil
	}
	return o.View.Lstat(path)
}
