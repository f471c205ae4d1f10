package reconcile

import (
	"cmp"
	"context"
	"slices"
	"time"

	"go.uber.org/zap"

	"github.com/netwright/netwright/pkg/checkpoint"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/ledger"
	"github.com/netwright/netwright/pkg/reconcile/revert"
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
	return checkpoint.FirstBoot(ctx, h, settings, revert.BootBooks{Ledger: led}, h.Units.Reboot)
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
