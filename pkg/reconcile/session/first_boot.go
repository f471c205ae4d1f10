package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"go.uber.org/zap"

	"github.com/netwright/netwright/pkg/checkpoint/firstboot"
	"github.com/netwright/netwright/pkg/checkpoint/probe"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/ledger"
	"github.com/netwright/netwright/pkg/reconcile/revert"
	"github.com/netwright/netwright/pkg/report"
)

// What a change makes act at the next boot is on record until a boot has shown that the node is
// reached with it: docs/adr/0020-boot.md.

// FirstBoot judges what awaited this boot. It comes before the store is asked, which a node that
// cannot be reached cannot ask either. Where nothing awaited it, it opens one file and takes no
// lock.
func (s Session) FirstBoot(ctx context.Context) error {
	if !s.Host.Running() {
		return nil
	}
	files, err := host.OpenFiles(s.Host)
	if err != nil {
		return fmt.Errorf("open %s: %w", s.Host.Root, err)
	}
	due, err := firstboot.Pending(files)
	if err = errors.Join(err, files.Close()); err != nil || !due {
		return err
	}
	none := func(*host.Host, *ledger.Ledger) (*report.Plan, error) { return nil, nil }
	_, err = s.Locked(ctx, none)
	return err
}

// firstBoot judges what awaited this boot, before the caller, who has the lock, makes its pass. A
// record that cannot be read holds nothing up: what acted at the boot has acted.
func (s Session) firstBoot(ctx context.Context, h *host.Host, led *ledger.Ledger) error {
	if !s.Host.Running() {
		return nil
	}
	log := cmp.Or(s.Log, zap.NewNop())
	due, err := firstboot.Pending(h.Live.Files)
	if err != nil {
		log.Warn("what awaited the boot is not known", zap.Error(err))
	}
	if !due {
		FirstOfImage(ctx, h, led, log)
		return nil
	}
	s.Progress.Enter("boot")
	return firstboot.Examiner{Node: probe.Prober{Host: h, Means: s.Checkpoint.Means},
		Books: revert.BootBooks{Ledger: led}, Reboot: h.Units.Reboot, Log: log}.FirstBoot(ctx)
}

// FirstOfImage probes at the first boot of what was baked into an image, once, and reports: nothing
// is known of how this machine was reached before, and there is nothing to go back to.
func FirstOfImage(ctx context.Context, h *host.Host, led *ledger.Ledger, log *zap.Logger) {
	if !led.Baked() || led.Boot() == "" {
		return
	}
	note := ledger.Boot{ID: led.Boot(), Time: time.Now().UTC(), Outcome: string(firstboot.Confirmed)}
	if list, err := ledger.ReadBoots(h.Live.Files); err != nil || slices.ContainsFunc(list, note.Same) {
		return
	}
	if note.Why = probe.Gateways(ctx, h); note.Why != "" {
		note.Outcome = string(firstboot.Unsure)
		log.Warn("the first boot of an image: a gateway does not answer", zap.String("why", note.Why))
	}
	if err := ledger.NoteBoot(ctx, h.Files, note); err != nil { // the next pass looks again
		log.Warn("the first boot of an image cannot be noted", zap.Error(err))
	}
}
