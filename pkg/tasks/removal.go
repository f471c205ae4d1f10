package tasks

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/host/hostfs"
)

// Removal removes a key of the agent that no document wants any more. It is planned and applied
// like other tasks: a missing key is right.
type Removal struct {
	Meta
	Key     graph.Key
	Remover Remover
	Last    string // the state when the removal was decided; a key that differs from it stays
	// Reason says why the key is removed; "": no document wants it any more.
	Reason string
	// Changed says why the key is removed although another program or person changed it; "": nobody
	// did.
	Changed string
	// Disruption is what the removal may interrupt, by [RevertCosts].
	Disruption Disruption
	// Links are the links of the agent that are removed in the same run. While one of them has
	// ports, pods use it, and nothing of the network is removed.
	Links []string
	// Confs is set for a CNI conf, and checks that its removal breaks no pod.
	Confs *ConfRemoval
	// Pods says that the key stays while there are pods: see [awaitPods].
	Pods bool
}

var (
	_ Task     = Removal{}
	_ effector = Removal{}
)

// Owns implements [Task].
func (t Removal) Owns() []graph.Key { return []graph.Key{t.Key} }

// effects implements [effector]. systemd must forget removed unit files. A unit whose own file is
// removed is not restarted.
func (t Removal) effects() []graph.Key {
	if t.Key.Kind() != KindFile || !strings.HasPrefix(t.Key.Name(), "/etc/systemd/system/") {
		return t.Effects
	}
	unit := path.Base(t.Key.Name())
	return askReload(slices.DeleteFunc(slices.Clone(t.Effects), func(k graph.Key) bool {
		return k == DaemonReload || t.Key == UnitFileKey(unit) && (k == Restart(unit) || k == Reload(unit))
	}))
}

// Plan implements [Task].
func (t Removal) Plan(ctx context.Context, v host.View) (*Change, error) {
	live, err := t.Remover.Live(ctx, v)
	if errors.Is(err, host.ErrNoLiveState) {
		return notApplicable(t.Key, Remove), nil
	}
	if err != nil {
		return nil, fmt.Errorf("plan the removal of %s: %w", t.Key, err)
	}
	switch {
	case live == "":
		return nil, nil
	case !as(live, t.Last):
		return nil, fmt.Errorf("%s stays: somebody changed it since netwright wrote it; remove it by hand if it is not "+
			"needed", t.Key)
	}
	if t.Key.Kind() == KindFile {
		others, err := t.hasOthers(v)
		if err != nil {
			return nil, fmt.Errorf("plan the removal of %s: %w", t.Key, err)
		}
		if others {
			return &Change{Items: []Item{{Key: t.Key, Op: Remove}}, Reason: cmp.Or(t.Reason, "no longer wanted"),
				NotApplicable: "stays: it is in use by others, or holds files of theirs"}, nil
		}
		if err := v.Files.Removable(t.Key.Name()); err != nil {
			return nil, &UnremovableError{t.Key, err}
		}
	}
	if err := t.inUse(ctx, v); err != nil {
		return nil, err
	}
	reason := cmp.Or(t.Reason, "no longer wanted")
	if t.Changed != "" {
		reason += "; " + t.Changed
	}
	return &Change{
		Items:      []Item{{Key: t.Key, Op: Remove}},
		Reason:     reason,
		Effects:    t.effects(),
		Pending:    []host.Fact{{Key: string(t.Key), Gone: true}},
		Disruption: t.Disruption,
	}, nil
}

// hasOthers reports whether a directory of the agent contains something that stays.
func (t Removal) hasOthers(v host.View) (bool, error) {
	dir := t.Key.Name()
	if info, there, err := lstat(v, dir); err != nil || !there || info.Type != hostfs.Directory {
		return false, err
	} else if info.Mounted {
		if _, err := v.Kernel.Mounted(dir); !errors.Is(err, host.ErrNotExist) {
			return true, nil // a mount does not go in this run, whatever it is
		}
	}
	names, err := v.Files.ReadDir(dir)
	if err != nil {
		return false, err
	}
	for _, name := range names {
		if _, there, err := lstat(v, path.Join(dir, name)); err != nil || there {
			return true, err
		}
	}
	return false, nil
}

// inUse waits while pods use the key.
func (t Removal) inUse(ctx context.Context, v host.View) error {
	if t.Pods {
		return awaitPods(v)
	}
	if t.Confs != nil {
		return t.Confs.check(v)
	}
	if len(t.Links) == 0 {
		return nil
	}
	links, err := v.Net.Links(ctx)
	if err != nil {
		return MarkTransient(err)
	}
	for _, l := range links {
		if l.Master != "" && slices.Contains(t.Links, l.Master) {
			return graph.Wait(fmt.Sprintf("the pods on %s, which still has the port %s: drain the node or delete its "+
				"pods", l.Master, l.Name))
		}
	}
	return nil
}

// Apply implements [Task].
func (t Removal) Apply(ctx context.Context, h *host.Host, _ *Change) error {
	err := t.Remover.Remove(ctx, h)
	var at *fs.PathError
	if t.Key.Kind() == KindFile && errors.As(err, &at) {
		return &UnremovableError{t.Key, err}
	}
	return err
}

// UnremovableError is a path that cannot be removed until a person acts. The path is not needed any
// more, so nothing has failed. It stays in the ledger, together with the keys that are removed
// after it, and each pass tries again.
type UnremovableError struct {
	Key graph.Key
	Err error
}

func (e *UnremovableError) Error() string {
	return fmt.Sprintf("%s to be removable (it is no longer wanted): %v", e.Key, e.Err)
}

// Unwrap makes it a wait.
func (e *UnremovableError) Unwrap() error { return graph.Wait(e.Error()) }
