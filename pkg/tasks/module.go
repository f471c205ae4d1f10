package tasks

import (
	"context"
	"errors"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/host/facts"
	"github.com/netwright/netwright/pkg/host/kernel"
	"github.com/netwright/netwright/pkg/problem"
)

// Module loads a kernel module now. The file that loads it at boot is a [File] task of its own. A
// built-in module is right.
type Module struct {
	Meta
	Name     string
	Optional bool // a missing module is a warning in the plan, not an error
}

var (
	_ Task        = Module{}
	_ StateReader = Module{}
)

// Owns implements [Task].
func (t Module) Owns() []graph.Key { return []graph.Key{ModuleKey(t.Name)} }

// Plan implements [Task].
func (t Module) Plan(_ context.Context, v host.View) (*Change, error) {
	state, err := v.Kernel.Module(t.Name)
	if state == kernel.ModuleLoaded || state == kernel.ModuleBuiltin {
		return nil, nil
	}
	key := t.Owns()[0]
	change := &Change{
		Items:  []Item{{Key: key, Op: Run, Fields: []Field{{Before: "not loaded", After: "loaded"}}}},
		Reason: "not loaded",
	}
	known := v.Facts
	source := facts.ModuleSource(known.OS, known.Kernel.Release)
	switch {
	case errors.Is(err, host.ErrNoLiveState):
		change.NotApplicable = "no running kernel under this root"
	case err != nil:
		return nil, err
	case !known.Kernel.Modules && known.Contain == "":
		// A built-in module that modules.builtin does not list cannot be detected.
		change.NotApplicable = "this kernel loads no modules"
	case !known.Kernel.Modules:
		change.NotApplicable = "modules are the host's, not loaded here"
	case state == kernel.ModuleMissing && t.Optional:
		change.NotApplicable = "optional, and this kernel has no such module"
		change.Items[0].Fields = []Field{{Name: "warning", After: source}}
	case state == kernel.ModuleMissing:
		return nil, problem.Missing("plan module %s: kernel %s has no such module: %s",
			t.Name, known.Kernel.Release, source)
	default:
		change.Pending = []host.Fact{{Key: string(key)}}
	}
	return change, nil
}

// Apply implements [Task].
func (t Module) Apply(ctx context.Context, h *host.Host, _ *Change) error {
	return h.Kernel.LoadModule(ctx, t.Name)
}

// Live implements [StateReader].
func (t Module) Live(_ context.Context, v host.View) (string, error) {
	state, err := v.Kernel.Module(t.Name)
	if state == kernel.ModuleLoaded || state == kernel.ModuleBuiltin {
		return string(state), err
	}
	return "", err
}
