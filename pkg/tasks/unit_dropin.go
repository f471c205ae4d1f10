package tasks

import (
	"context"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/secret"
)

// DropIn is a drop-in of a unit, /etc/systemd/system/<Unit>.d/<Name>. It asks
// for a daemon-reload.
type DropIn struct {
	Meta
	Unit    string
	Name    string // 50-netwright.conf
	Content secret.Bytes
}

var (
	_ Task     = DropIn{}
	_ effector = DropIn{}
)

// Owns implements [Task].
func (t DropIn) Owns() []graph.Key { return []graph.Key{FileKey(t.path())} }

// effects implements [effector].
func (t DropIn) effects() []graph.Key { return askReload(t.Effects) }

// Plan implements [Task].
func (t DropIn) Plan(ctx context.Context, v host.View) (*Change, error) { return t.file().Plan(ctx, v) }

// Apply implements [Task].
func (t DropIn) Apply(ctx context.Context, h *host.Host, c *Change) error {
	return t.file().Apply(ctx, h, c)
}

func (t DropIn) path() string { return unitDir + "/" + t.Unit + ".d/" + t.Name }

func (t DropIn) file() File { return systemdFile(t.Meta, t.path(), t.Content) }

func (t *DropIn) parts() (*Meta, []*secret.Bytes) { return &t.Meta, []*secret.Bytes{&t.Content} }
