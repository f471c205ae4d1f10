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

// Units makes systemd and the units read the restored files, and enables, masks, starts and stops
// units as before. At boot it restarts nothing, and starts or stops only units whose links the
// change had altered. It does nothing where systemd does not run.
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
			path.Ext(was.Name) != ".mount": // a mount may be in use, and would not come back
			try(h.Units.StopUnit(ctx, was.Name, false))
		}
	}
	r.Left = append(r.Left, r.around.restoreUnits(ctx, h, l.Units, r.Booted)...)
	return errors.Join(errs...)
}

// reload makes a unit read its files again. systemd-networkd refuses a reload after a restart of
// the bus. Then reload restarts it, because a link manager leaves its links as they are at a
// restart. The cost of a restart of any other unit is not known. So the failed reload is added to
// Left: more attempts would block the node.
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

// actLimit is how long the undo waits for a network unit to read its files again. The unit
// continues after that.
const actLimit = 5 * time.Second

var errActLate = fmt.Errorf("it did not read its files again within %s", actLimit)

// act makes a unit read its files again. It waits for a network unit, which must have read them
// before the kernel's state is restored: systemd-networkd sets up a link again that leaves a
// bridge, by the files that it has read. With the files of the change it would mark the link as
// failed.
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

// awaitReaders waits for the units that the change has just started: containerd creates its CNI
// directory at its start, even if that was removed meanwhile. A unit that waits for others has read
// nothing yet, and will read the restored files.
func (r *Reversal) awaitReaders(ctx context.Context) {
	if r.Booted {
		return // nothing has started by the files of the change yet
	}
	ctx, cancel := context.WithTimeoutCause(ctx, actLimit, errActLate)
	defer cancel()
	for _, effect := range r.Log.Effects {
		_, unit, _ := strings.Cut(effect, " ")
		for unit != "" {
			now, err := r.Host.Live.Units.Unit(ctx, unit)
			if err != nil || now.JobState != "running" { // also after the time limit
				break
			}
			host.Pause(20 * time.Millisecond)
		}
	}
}

// relink restores the links by which a unit is enabled or masked. changed reports whether the
// change had altered them.
func (u Unit) relink(ctx context.Context, h *host.Host, now string) (changed bool, err error) {
	if u.Links != nil {
		return u.Links.Restore(ctx, h)
	}
	return u.File != now, u.turn(ctx, h, now)
}

// turn enables, disables or masks a unit from a journal without links.
func (u Unit) turn(ctx context.Context, h *host.Host, now string) (err error) {
	if now == "masked" && u.File != now {
		err = h.Units.MaskUnit(ctx, u.Name, false)
	}
	switch {
	case u.File == "": // the change created the unit: its file is removed already, its links are not
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
