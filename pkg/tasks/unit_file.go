package tasks

import (
	"context"
	"errors"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/host/systemd"
	"github.com/netwright/netwright/pkg/secret"
)

// Unit is a unit file in /etc/systemd/system. A change asks for a daemon-reload.
type Unit struct {
	Meta
	Name    string // node-setup.service
	Content secret.Bytes
}

var (
	_ Task     = Unit{}
	_ effector = Unit{}
)

// Owns implements [Task].
func (t Unit) Owns() []graph.Key { return []graph.Key{UnitFileKey(t.Name)} }

// effects implements [effector].
func (t Unit) effects() []graph.Key { return askReload(t.Effects) }

// Plan implements [Task]. A unit with a new file needs no restart, unless the unit runs: from
// another file, or from a file that was removed.
func (t Unit) Plan(ctx context.Context, v host.View) (*Change, error) {
	c, err := t.file().Plan(ctx, v)
	if err != nil || c == nil {
		return c, err
	}
	installs := systemd.ParseUnitFile(t.Content).Installs()
	for i := range c.Pending {
		if c.Pending[i].Key == string(t.Owns()[0]) {
			c.Pending[i].Installs = &installs
		}
	}
	if c.Items[len(c.Items)-1].Op == Create {
		have, err := v.Units.Unit(ctx, t.Name)
		if err != nil && !errors.Is(err, host.ErrNoLiveState) {
			return nil, err
		}
		if err != nil || !Runs(have) {
			c.Effects = askReload(nil)
		}
	}
	return c, nil
}

// RunsFromElsewhere reports whether a unit runs from another file than the task's.
func (t Unit) RunsFromElsewhere(ctx context.Context, v host.View) bool {
	have, err := v.Units.Unit(ctx, t.Name)
	return err == nil && Runs(have) && have.FragmentPath != "" && have.FragmentPath != unitDir+"/"+t.Name
}

// Apply implements [Task].
func (t Unit) Apply(ctx context.Context, h *host.Host, c *Change) error {
	return t.file().Apply(ctx, h, c)
}

func (t Unit) file() File { return systemdFile(t.Meta, unitDir+"/"+t.Name, t.Content) }

// systemdFile returns a file that systemd reads at its next daemon-reload.
func systemdFile(m Meta, path string, content []byte) File {
	m.Effects = askReload(m.Effects)
	return File{Meta: m, Path: path, Content: content, Mode: 0o644}
}

// askReload adds a daemon-reload before the other effects: the restarts among them must use the new
// files.
func askReload(then []graph.Key) []graph.Key {
	return append([]graph.Key{DaemonReload}, then...)
}

func (t *Unit) parts() (*Meta, []*secret.Bytes) { return &t.Meta, []*secret.Bytes{&t.Content} }
