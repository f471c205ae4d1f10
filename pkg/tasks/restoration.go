package tasks

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/host/hostfs"
)

// Restoration restores the baseline of a key.
type Restoration struct {
	Meta
	Key      graph.Key
	Restorer Restorer
	To       Baseline
	// Disruption is what the restoration may interrupt, by [RevertCosts].
	Disruption Disruption
	// Pods says that the key stays while there are pods: see [awaitPods].
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

// restores returns the fields that a restoration changes, from two results of [StateReader.Live].
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

// shortSum joins words and shortens digests.
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
