package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"go.uber.org/zap"

	"github.com/netwright/netwright/pkg/checkpoint"
	"github.com/netwright/netwright/pkg/config"
	"github.com/netwright/netwright/pkg/config/policy"
	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/ledger"
	"github.com/netwright/netwright/pkg/report"
	"github.com/netwright/netwright/pkg/tasks"
)

// What a change makes act at the next boot is on record until a boot has shown that the node is
// reached with it: docs/adr/0020-boot.md.

// FirstBoot judges what awaited this boot. It comes before the store is asked, which a node that
// cannot be reached cannot ask either. Where nothing awaited it, it opens one file and takes no
// lock.
func (p Pass) FirstBoot(ctx context.Context) error {
	if !p.live() {
		return nil
	}
	files, err := host.OpenFiles(p.Host)
	if err != nil {
		return fmt.Errorf("open %s: %w", p.Host.Root, err)
	}
	due, err := checkpoint.BootDue(files)
	if err = errors.Join(err, files.Close()); err != nil || !due {
		return err
	}
	none := func(*host.Host, *ledger.Ledger) (*report.Plan, error) { return nil, nil }
	_, err = p.locked(ctx, none)
	return err
}

// firstBoot judges what awaited this boot, before the caller, who has the lock, makes its pass. A
// record that cannot be read holds nothing up: what acted at the boot has acted.
func (p Pass) firstBoot(ctx context.Context, h *host.Host, led *ledger.Ledger) error {
	if !p.live() {
		return nil
	}
	log := cmp.Or(p.Log, zap.NewNop())
	due, err := checkpoint.BootDue(h)
	if err != nil {
		log.Warn("what awaited the boot is not known", zap.Error(err))
	}
	if !due {
		return firstOfImage(ctx, h, led, log)
	}
	p.Hooks.enter("boot")
	settings := p.Checkpoint
	settings.Log = log
	return checkpoint.FirstBoot(ctx, h, settings, bootBooks{led}, h.Reboot)
}

// firstOfImage probes at the first boot of what was baked into an image, once, and reports: nothing
// is known of how this machine was reached before, and there is nothing to go back to.
func firstOfImage(ctx context.Context, h *host.Host, led *ledger.Ledger, log *zap.Logger) error {
	if !baked(led) || led.Boot() == "" {
		return nil
	}
	note := ledger.Boot{ID: led.Boot(), Time: time.Now().UTC(), Outcome: string(checkpoint.Confirmed)}
	if list, err := ledger.ReadBoots(h); err != nil || slices.ContainsFunc(list, note.Same) {
		return nil
	}
	if note.Why = checkpoint.Gateways(ctx, h); note.Why != "" {
		note.Outcome = string(checkpoint.Unsure)
		log.Warn("the first boot of an image: a gateway does not answer", zap.String("why", note.Why))
	}
	if err := ledger.NoteBoot(ctx, h, note); err != nil { // the next pass looks again
		log.Warn("the first boot of an image cannot be noted", zap.Error(err))
	}
	return nil
}

// atBoot are the keys that changes of this pass make act at the next boot, with what the ledger
// says of them.
func (r *run) atBoot() (list []checkpoint.Await, err error) {
	for _, of := range []struct {
		graph   *graph.Graph[tasks.Task]
		changes *changes
	}{{r.graph, r.changes}, {r.pruning.graph, r.removals}} {
		for _, first := range slices.Sorted(maps.Keys(of.changes.byKey)) {
			t, _ := of.graph.Find(first)
			c := of.changes.byKey[first]
			if !undone(t, c) || c.Proof != tasks.Unproved {
				continue
			}
			for _, it := range c.Items {
				if list, err = r.addAtBoot(list, t, it.Key); err != nil {
					return nil, err
				}
			}
		}
	}
	return list, nil
}

// addAtBoot adds a key, if anything of it acts at the next boot.
func (r *run) addAtBoot(list []checkpoint.Await, t tasks.Task, key graph.Key) ([]checkpoint.Await, error) {
	files, units := tasks.AwaitsBoot(t, key)
	if len(files)+len(units) == 0 {
		return list, nil
	}
	was := remembered{Key: key}
	if e, known := r.led.Entries()[key]; known {
		was.Was = &e
	}
	raw, err := json.Marshal(was)
	if err != nil {
		return nil, fmt.Errorf("encode what the ledger says of %s: %w", key, err)
	}
	return append(list, checkpoint.Await{Key: key, Files: files, Units: units, Memory: raw}), nil
}

// mayReboot says that the documents allow a reboot after a boot that failed.
func mayReboot(n *config.Node) bool { return n.Update.BootUndo == policy.BootUndoReboot }

// bootBooks are the ledger's part of judging a boot.
type bootBooks struct{ led *ledger.Ledger }

var _ checkpoint.Books = bootBooks{}

// Right implements [checkpoint.Books].
func (b bootBooks) Right() string { return b.led.Head().Boot }

// Forget implements [checkpoint.Books].
func (b bootBooks) Forget(
	ctx context.Context, h *host.Host, keys []checkpoint.Await, found checkpoint.Boot,
) error {
	head := b.led.Head()
	m := memory{Had: head.Network, Owed: b.led.Owed()}
	note := noteOf(found)
	note.Tries = 1
	for _, await := range keys {
		one := remembered{Key: await.Key}
		if err := json.Unmarshal(await.Memory, &one); err != nil {
			return fmt.Errorf("read what the ledger said of %s: %w", await.Key, err)
		}
		m.Keys = append(m.Keys, one)
		e, known := b.led.Entries()[await.Key]
		if known && e.Task == nil { // a part of another key's task
			continue
		}
		note.Keys = append(note.Keys, ledger.BootKey{Key: await.Key, Task: e.Task})
	}
	list, err := ledger.ReadBoots(h)
	if err != nil || !slices.ContainsFunc(list, note.Same) {
		if err := ledger.NoteBoot(ctx, h, note); err != nil {
			return err
		}
	} // else it was killed here before, and the ledger may say already what it said once
	return m.restore(ctx, h, b.led)
}

// Note implements [checkpoint.Books].
func (b bootBooks) Note(ctx context.Context, h *host.Host, found checkpoint.Boot) error {
	note := noteOf(found)
	list, _ := ledger.ReadBoots(h) // a damaged one is as good as none
	for _, o := range list {
		if o.Same(note) {
			note.Keys, note.Tries = o.Keys, o.Tries
		}
	}
	return ledger.NoteBoot(ctx, h, note)
}

func noteOf(b checkpoint.Boot) ledger.Boot {
	return ledger.Boot{
		ID: b.ID, Time: time.Now().UTC(), Generation: b.Generation, Digest: b.Digest, Names: b.Names,
		Outcome: string(b.Outcome), Why: b.Why,
	}
}

// failedBoots says which tasks are not made, by their first key: a boot failed with them, and all
// that it failed with is wanted still. Nobody knows which of it was bad, so without one of it the
// others are made again. Removals count too.
func (c *custody) failedBoots(v host.View, now time.Time) map[graph.Key]error {
	out := map[graph.Key]error{}
	list, err := ledger.ReadBoots(v)
	if err != nil {
		return out
	}
	differs := func(k ledger.BootKey) bool {
		rec, wanted := c.record(k.Key)
		return wanted != (k.Task != nil) || wanted && !rec.Same(*k.Task)
	}
	for _, b := range list {
		why := &BootFailedError{Boot: b}
		// A clock that was set back must not hold it for years: many a boot has none that is right.
		over := now.Before(b.Time) || !now.Before(why.retry())
		if b.Outcome == string(checkpoint.Unsure) && over || slices.ContainsFunc(b.Keys, differs) {
			continue
		}
		for _, k := range b.Keys {
			out[k.Key] = graph.Permanent(why)
		}
	}
	return out
}

// BootFailedError is a change that is not made, or was taken back, since a boot failed with it.
type BootFailedError struct{ ledger.Boot }

// retry is when a change of which nothing is known is made again.
func (e *BootFailedError) retry() time.Time {
	return e.Time.Add(min(trialPause<<min(max(e.Tries-1, 0), 10), trialPauseMax))
}

func (e *BootFailedError) Error() string {
	text := fmt.Sprintf("the first boot with it failed (%s), and it was brought back", e.Why)
	if e.Outcome == string(checkpoint.Unsure) {
		return fmt.Sprintf("%s; the node was not reached without it either, so it may not have been the change; "+
			"it is made again after %s", text, e.retry().UTC().Format(time.RFC3339))
	}
	return text + "; it is made again when the documents want something else of what that boot had: " + report.Listed(e.Names)
}
