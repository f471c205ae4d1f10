package undo

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/host/hostpath"
	"github.com/netwright/netwright/pkg/tasks"
)

// Units makes systemd and the units read the files that came back, enables, masks, starts
// and stops as it was. At a boot nothing is restarted, and only what the boot started or left by
// the links of the change is stopped or started. Where no systemd runs there is nothing to do.
func (r *Reversal) Units(ctx context.Context) error {
	var errs []error
	h, l := r.Host, r.Log
	try := func(err error) {
		if !errors.Is(err, host.ErrNoLiveState) && !errors.Is(err, host.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	if len(l.Units) > 0 || len(l.Effects) > 0 {
		try(h.Units.DaemonReload(ctx))
	}
	for _, effect := range l.Effects {
		switch action, unit, _ := strings.Cut(effect, " "); {
		case r.Booted:
		case action == "restart":
			try(act(ctx, h.Units.RestartUnit, unit))
		case action == "reload":
			try(r.reload(ctx, unit))
		}
	}
	for _, was := range l.Units {
		now, err := h.Live.Units.Unit(ctx, was.Name)
		if err != nil {
			try(err)
			continue
		}
		changed, err := was.relink(ctx, h, now.File)
		var other *hostpath.InTheWayError
		var link *hostpath.LinkError
		if errors.As(err, &other) || errors.As(err, &link) {
			r.Left, err = append(r.Left, err.Error()), nil
		}
		try(err)
		switch running := was.Active == "active" || was.Active == "activating"; {
		case r.Booted && !changed:
		case running && now.Active != "active":
			try(h.Units.StartUnit(ctx, was.Name, false))
		case !running && (now.Active == "active" || now.Job) &&
			path.Ext(was.Name) != ".mount": // that may be in use, and does not come back
			try(h.Units.StopUnit(ctx, was.Name, false))
		}
	}
	r.Left = append(r.Left, r.around.restoreUnits(ctx, h, l.Units, r.Booted)...)
	return errors.Join(errs...)
}

// reload has a unit read its files again. One that does not take it is systemd-networkd after a
// restart of the bus. Who manages links is started anew then, and leaves them as they are. Of
// another unit nobody knows what its restart costs: to try again would hold the node up for ever.
func (r *Reversal) reload(ctx context.Context, unit string) error {
	h := r.Host
	err := act(ctx, h.Units.ReloadUnit, unit)
	switch {
	case err == nil || h.Live.Units.FailedReload(ctx, unit) == "":
		return err
	case slices.Contains(host.LinkManagers(), strings.TrimSuffix(unit, ".service")):
		return act(ctx, h.Units.RestartUnit, unit)
	}
	r.Left = append(r.Left, err.Error())
	return nil
}

// actLimit is how long a unit of the network may take to read its files again. It goes on with that
// by itself.
const actLimit = 5 * time.Second

var errActLate = fmt.Errorf("it did not read its files again within %s", actLimit)

// act has a unit read its files again. One of the network is done with that before the kernel's
// state is brought back: it sets a link up anew that leaves a bridge, and does so by the files that
// it knows. By those of the change systemd-networkd then gives the link up.
func act(ctx context.Context, do func(ctx context.Context, unit string, wait bool) error, unit string) error {
	if !tasks.NetworkUnit(unit) {
		return do(ctx, unit, false)
	}
	bounded, cancel := context.WithTimeoutCause(ctx, actLimit, errActLate)
	defer cancel()
	if err := do(bounded, unit, true); bounded.Err() == nil {
		return err
	}
	return ctx.Err()
}

// awaitReaders waits until the units have started that the change started last: containerd makes
// the directory of confs that its settings name, also when that was taken away meanwhile. One that
// waits for others has read nothing yet, and will read what came back.
func (r *Reversal) awaitReaders(ctx context.Context) {
	if r.Booted {
		return // nobody starts anything by the files of the change yet
	}
	ctx, cancel := context.WithTimeoutCause(ctx, actLimit, errActLate)
	defer cancel()
	for _, effect := range r.Log.Effects {
		_, unit, _ := strings.Cut(effect, " ")
		for unit != "" {
			now, err := r.Host.Live.Units.Unit(ctx, unit)
			if err != nil || now.JobState != "running" { // also when the time is up
				break
			}
			host.Pause(20 * time.Millisecond)
		}
	}
}

// relink brings back by which links a unit is enabled or masked. changed says that the change left
// others.
func (u Unit) relink(ctx context.Context, h *host.Host, now string) (changed bool, err error) {
	if u.Links != nil {
		return u.Links.Restore(ctx, h)
	}
	return u.File != now, u.turn(ctx, h, now)
}

// turn enables, disables or masks a unit of a journal that has no links.
func (u Unit) turn(ctx context.Context, h *host.Host, now string) (err error) {
	if now == "masked" && u.File != now {
		err = h.Units.MaskUnit(ctx, u.Name, false)
	}
	switch {
	case u.File == "": // the change brought it: its file is gone again, its links are not
		return errors.Join(err, h.Units.DisableUnit(ctx, u.Name))
	case u.File == now:
		return err
	case u.File == "masked":
		return h.Units.MaskUnit(ctx, u.Name, true)
	case u.File == "enabled":
		return errors.Join(err, h.Units.EnableUnit(ctx, u.Name))
	}
	return errors.Join(err, h.Units.DisableUnit(ctx, u.Name))
}
