package systemd

import (
	"context"
	"fmt"
	"path"
	"strings"

	"github.com/godbus/dbus/v5"
)

// UnitBrief is the short state of a unit.
type UnitBrief struct {
	Active bool   `json:"active,omitempty"`
	File   string `json:"file,omitempty"` // as UnitState.File; "" for an instance
}

// AllUnits returns the services, sockets, timers and paths that are loaded or have a file, by name.
// It leaves out transient units. It returns [sys.ErrNoLiveState] where no systemd runs.
func (w *Writer) AllUnits(ctx context.Context) (map[string]UnitBrief, error) {
	b, err := w.units.connect(ctx)
	if err != nil {
		return nil, fmt.Errorf("list units: %w", err)
	}
	var files []struct{ Path, State string }
	if err := b.manager(ctx, "ListUnitFiles").Store(&files); err != nil {
		return nil, fmt.Errorf("list unit files: %w", explainUnit("", err))
	}
	out := map[string]UnitBrief{}
	for _, f := range files {
		if name := path.Base(f.Path); starts(name) && f.State != "transient" {
			out[name] = UnitBrief{File: f.State}
		}
	}
	var loaded []struct {
		Name, Description, Load, Active, Sub, Follows string
		Path                                          dbus.ObjectPath
		JobID                                         uint32
		JobType                                       string
		Job                                           dbus.ObjectPath
	}
	if err := b.manager(ctx, "ListUnits").Store(&loaded); err != nil {
		return nil, fmt.Errorf("list units: %w", explainUnit("", err))
	}
	for _, u := range loaded {
		active := u.Active == "active" || u.Active == "reloading"
		brief, known := out[u.Name]
		template, _, instance := strings.Cut(u.Name, "@")
		// Static templates are left out: their instances are sessions of users.
		if from := out[template+"@"+path.Ext(u.Name)]; instance && from.File != "" && from.File != "static" {
			brief, known = UnitBrief{}, true
		}
		if known && active {
			brief.Active = true
			out[u.Name] = brief
		}
	}
	return out, nil
}

// starts reports whether a unit is of a kind that is started and stopped by name.
func starts(name string) bool {
	switch path.Ext(name) {
	case ".service", ".socket", ".timer", ".path":
		return true
	}
	return false
}
