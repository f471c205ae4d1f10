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

// A change that takes effect only at the next boot stays on record until a boot has shown that the
// node can be reached with it: see docs/adr/0020-boot.md.

// FirstBoot judges the changes that awaited this boot. The caller calls it before it asks the
// store, because a node that cannot be reached cannot reach the store either. If no change awaited
// the boot, it only opens one file and takes no lock.
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

// firstBoot judges the changes that awaited this boot, before the caller, which has the lock, makes
// its pass. A record that cannot be read does not stop the pass, because the boot has already
// applied those changes.
func (s Session) firstBoot(ctx context.Context, h *host.Host, led *ledger.Ledger) error {
	if !s.Host.Running() {
		return nil
	}
	log := cmp.Or(s.Log, zap.NewNop())
	due, err := firstboot.Pending(h.Live.Files)
	if err != nil {
		log.Warn("the changes that awaited the boot are not known", zap.Error(err))
	}
	if !due {
		FirstOfImage(ctx, h, led, log)
		return nil
	}
	s.Progress.Enter("boot")
	return firstboot.Examiner{Node: probe.Prober{Host: h, Means: s.Checkpoint.Means},
		Books: revert.BootBooks{Ledger: led}, Reboot: h.Units.Reboot, Log: log}.FirstBoot(ctx)
}

// FirstOfImage probes the gateways once, at the first boot of an image that the agent was applied
// to, and records the result. It undoes nothing: nobody knows how this machine was reached before,
// and there is no earlier state to restore.
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
	if err := ledger.NoteBoot(ctx, h.Files, note); err != nil { // the next pass probes again
		log.Warn("the first boot of an image cannot be recorded", zap.Error(err))
	}
}
