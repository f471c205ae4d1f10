package reconcile

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"go.uber.org/zap"

	"github.com/netwright/netwright/pkg/checkpoint"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/ledger"
)

// firstBoot judges what awaited this boot, before the caller, who has the lock, makes its pass. A
// record that cannot be read holds nothing up: what acted at the boot has acted.
func (p Pass) firstBoot(ctx context.Context, h *host.Host, led *ledger.Ledger) error {
	if !p.live() {
		return nil
	}
	log := cmp.Or(p.Log, zap.NewNop())
	due, err := checkpoint.BootDue(h.Live.Files)
	if err != nil {
		log.Warn("what awaited the boot is not known", zap.Error(err))
	}
	if !due {
		return firstOfImage(ctx, h, led, log)
	}
	p.Hooks.enter("boot")
	settings := p.Checkpoint
	settings.Log = log
	return checkpoint.FirstBoot(ctx, h, settings, bootBooks{led}, h.Units.Reboot)
}

// firstOfImage probes at the first boot of what was baked into an image, once, and reports: nothing
// is known of how this machine was reached before, and there is nothing to go back to.
func firstOfImage(ctx context.Context, h *host.Host, led *ledger.Ledger, log *zap.Logger) error {
	if !led.Baked() || led.Boot() == "" {
		return nil
	}
	note := ledger.Boot{ID: led.Boot(), Time: time.Now().UTC(), Outcome: string(checkpoint.Confirmed)}
	if list, err := ledger.ReadBoots(h.Live.Files); err != nil || slices.ContainsFunc(list, note.Same) {
		return nil
	}
	if note.Why = checkpoint.Gateways(ctx, h); note.Why != "" {
		note.Outcome = string(checkpoint.Unsure)
		log.Warn("the first boot of an image: a gateway does not answer", zap.String("why", note.Why))
	}
	if err := ledger.NoteBoot(ctx, h.Files, note); err != nil { // the next pass looks again
		log.Warn("the first boot of an image cannot be noted", zap.Error(err))
	}
	return nil
}

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
	list, err := ledger.ReadBoots(h.Live.Files)
	if err != nil || !slices.ContainsFunc(list, note.Same) {
		if err := ledger.NoteBoot(ctx, h.Files, note); err != nil {
			return err
		}
	} // else it was killed here before, and the ledger may say already what it said once
	return m.restore(ctx, h, b.led)
}

// Note implements [checkpoint.Books].
func (b bootBooks) Note(ctx context.Context, h *host.Host, found checkpoint.Boot) error {
	note := noteOf(found)
	list, _ := ledger.ReadBoots(h.Live.Files) // a damaged one is as good as none
	for _, o := range list {
		if o.Same(note) {
			note.Keys, note.Tries = o.Keys, o.Tries
		}
	}
	return ledger.NoteBoot(ctx, h.Files, note)
}

func noteOf(b checkpoint.Boot) ledger.Boot {
	return ledger.Boot{
		ID: b.ID, Time: time.Now().UTC(), Generation: b.Generation, Digest: b.Digest, Names: b.Names,
		Outcome: string(b.Outcome), Why: b.Why,
	}
}
