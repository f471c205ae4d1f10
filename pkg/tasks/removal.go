package tasks

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
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

// Removal takes a key of ours that nobody wants any more off the host. It is
// planned and applied like any task: absent is right.
type Removal struct {
	Meta
	Key     graph.Key
	Remover Remover
	Last    string // as it was seen when it was decided that it goes; what differs is a person's and stays
	// Reason says why it goes; "" is that no document wants it any more.
	Reason string
	// Changed says why it goes although somebody changed it since the agent left it; "" if nobody
	// did.
	Changed string
	// Disruption is what it may interrupt, by [RevertCosts].
	Disruption Disruption
	// Links are those of ours that go in the same run: while one of them has
	// ports, pods use it, and nothing of the network goes.
	Links []string
	// Confs, set for a CNI conf, says what must not be broken by its going.
	Confs *ConfRemoval
	// Pods says that it stays while pods live: see [awaitPods].
	Pods bool
}

// ConfRemoval keeps a CNI directory from being left without a conf while pods live.
type ConfRemoval struct {
	Dir   string
	Going []string // base names that go in this run
	// Replaced says that another conf of ours will be there.
	Replaced bool
}

var (
	_ Task     = Removal{}
	_ effector = Removal{}
)

// Owns implements [Task].
func (t Removal) Owns() []graph.Key { return []graph.Key{t.Key} }

// effects implements [effector]: systemd forgets the files that go. A unit whose own file goes is
// not run anew.
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

// hasOthers says that a directory of ours has something in it that stays.
func (t Removal) hasOthers(v host.View) (bool, error) {
	dir := t.Key.Name()
	if info, there, err := lstat(v, dir); err != nil || !there || info.Type != hostfs.Directory {
		return false, err
	} else if info.Mounted {
		if _, err := v.Kernel.Mounted(dir); !errors.Is(err, host.ErrNotExist) {
			return true, nil // whatever it is: it does not go in this run
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

// inUse waits while pods use what would go.
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
		return Passing(err)
	}
	for _, l := range links {
		if l.Master != "" && slices.Contains(t.Links, l.Master) {
			return graph.Wait(fmt.Sprintf("the pods on %s, which still has the port %s: drain the node or delete its "+
				"pods", l.Master, l.Name))
		}
	}
	return nil
}

// check waits for another conf while pods live.
func (g ConfRemoval) check(v host.View) error {
	names, err := v.Files.ReadDir(g.Dir)
	if err != nil {
		return fmt.Errorf("list the CNI confs in %s: %w", g.Dir, err)
	}
	confs, err := confFiles(v, g.Dir, names)
	if err != nil {
		return err
	}
	left := slices.ContainsFunc(confs, func(name string) bool { return !slices.Contains(g.Going, name) })
	if left || g.Replaced {
		return nil
	}
	pod, err := livingPod(v)
	if err != nil || pod == "" {
		return err
	}
	return graph.Wait(fmt.Sprintf("another CNI conf in %s: pods live here (%s), and without a conf the runtime could "+
		"not even remove them", g.Dir, pod))
}

// awaitPods waits while pods live: what goes, or is as it was again, they need to send, or their
// runtime to find the plugins that remove them.
func awaitPods(v host.View) error {
	pod, err := livingPod(v)
	if err != nil || pod == "" {
		return err
	}
	return graph.Wait(fmt.Sprintf("the pods of this node (%s): they send by it, or their runtime removes them by it: "+
		"drain the node or delete its pods", pod))
}

// livingPod is a trace of a pod that lives; "": none does. kubelet with docker, and cri-dockerd,
// have a cache of their own (--cni-cache-dir).
func livingPod(v host.View) (string, error) {
	return podSign(v, "/var/lib/cni/results", "/var/lib/cni/cache/results", netnsDir)
}

// podSign is a trace of a living pod in one of the directories, or "": what a runtime keeps of the
// pods that it attached, or their namespaces.
// https://github.com/containernetworking/cni/blob/v1.3.0/libcni/api.go (CacheDir)
func podSign(v host.View, dirs ...string) (string, error) {
	for _, dir := range dirs {
		names, err := v.Files.ReadDir(dir)
		if errors.Is(err, host.ErrNotExist) {
			continue
		}
		if err != nil {
			return "", fmt.Errorf("look for living pods: %w", err)
		}
		for _, name := range names {
			if dir != netnsDir || strings.HasPrefix(name, "cni-") {
				return path.Join(dir, name), nil
			}
		}
	}
	return "", nil
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

// UnremovableError is a path that waits for a person: it is of no use any more, so that nothing has
// failed. It stays in the ledger as ours, with what goes after it, and each pass tries it again.
type UnremovableError struct {
	Key graph.Key
	Err error
}

func (e *UnremovableError) Error() string {
	return fmt.Sprintf("somebody to have %s removable, which is no longer wanted: %v", e.Key, e.Err)
}

// Unwrap marks it as a wait.
func (e *UnremovableError) Unwrap() error { return graph.Wait(e.Error()) }

// Restoration brings back what was at a key before the agent came.
type Restoration struct {
	Meta
	Key      graph.Key
	Restorer Restorer
	To       Baseline
	// Disruption is what it may interrupt, by [RevertCosts].
	Disruption Disruption
	// Pods says that it stays while pods live: see [awaitPods].
	Pods bool
}

var (
	_ Task     = Restoration{}
	_ effector = Restoration{}
)

// Owns implements [Task].
func (t Restoration) Owns() []graph.Key { return []graph.Key{t.Key} }

// effects implements [effector].
func (t Restoration) effects() []graph.Key { return Removal{Meta: t.Meta, Key: t.Key}.effects() }

// Plan implements [Task].
func (t Restoration) Plan(ctx context.Context, v host.View) (*Change, error) {
	right, err := t.Restorer.Restored(ctx, v, t.To)
	if errors.Is(err, host.ErrNoLiveState) {
		return notApplicable(t.Key, Update), nil
	}
	if err != nil {
		return nil, fmt.Errorf("plan to restore %s: %w", t.Key, err)
	}
	if right {
		return nil, nil
	}
	if t.Pods {
		if err := awaitPods(v); err != nil {
			return nil, err
		}
	}
	live, err := t.Restorer.Live(ctx, v)
	if err != nil {
		return nil, fmt.Errorf("plan to restore %s: %w", t.Key, err)
	}
	item := Item{Key: t.Key, Op: Update, Fields: restores(t.Key, live, t.To.Live)}
	return &Change{Items: []Item{item}, Reason: "as it was before netwright came", Effects: t.effects(),
		Disruption: t.Disruption}, nil
}

// restores lists what becomes of a key that is brought back, from what keepers say of it.
func restores(key graph.Key, live, was string) []Field {
	if key.Kind() != KindFile {
		value := func(s string) string { return cmp.Or(strings.TrimPrefix(s, "="), "none") }
		if value(live) == value(was) {
			return nil
		}
		return []Field{{Name: "value", Before: value(live), After: value(was)}}
	}
	names := []string{"type", "mode", "owner", "content"}
	before, after := strings.Fields(live), strings.Fields(was)
	if len(before) == 0 || len(after) == 0 || before[0] != after[0] || before[0] == string(hostfs.Symlink) {
		return []Field{{Name: "type", Before: cmp.Or(shortSum(before), "absent"),
			After: cmp.Or(shortSum(after), "absent")}}
	}
	var out []Field
	for i := range min(len(before), len(after), len(names)) {
		if before[i] != after[i] {
			out = append(out, Field{Name: names[i], Before: shortSum(before[i : i+1]), After: shortSum(after[i : i+1])})
		}
	}
	if len(out) == 0 {
		return []Field{{Name: "times or attributes", After: "as before"}}
	}
	return out
}

// shortSum joins words, and cuts digests to what tells them apart.
func shortSum(words []string) string {
	short := slices.Clone(words)
	for i, w := range short {
		if len(w) == hex.EncodedLen(sha256.Size) {
			short[i] = "sha256 " + w[:12]
		}
	}
	return strings.Join(short, " ")
}

// Apply implements [Task].
func (t Restoration) Apply(ctx context.Context, h *host.Host, _ *Change) error {
	return t.Restorer.Restore(ctx, h, t.To)
}
