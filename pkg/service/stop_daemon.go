// Package service is the agent's own unit on a host: its name, the switches that keep it from
// starting, why no daemon runs, and how one is stopped.
package service

import (
	"context"
	"errors"
	"fmt"

	"github.com/netwright/netwright/pkg/control"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/host/ipc"
)

// Unit is the service that runs the daemon.
const Unit = "netwright-agent.service"

// StopDaemon ends the daemon, whoever started it, and returns with its lock: until done is called
// none can start. It comes before the lock of a pass is taken, which the daemon may hold. by is who
// asks, and waits hears whom it waits for. Here, and not in the daemon, for nobody can bury
// himself: killed at any time, what is left is a daemon that runs as before, or one that is stopped
// and a reset to be called again.
func StopDaemon(ctx context.Context, opt host.Options, by string, waits func(who string)) (done func(), err error) {
	if err := stopUnit(ctx, opt); err != nil {
		return nil, fmt.Errorf("stop the daemon: %w", err)
	}
	if err := askToStop(ctx, opt, by, waits); err != nil { // it is not systemd's
		return nil, fmt.Errorf("stop the daemon: %w", err)
	}
	done, err = ipc.Lock(ctx, opt.Files(), control.Lock,
		func(who ipc.LockOwner) { waits("another run: " + who.String()) })
	if err != nil {
		return nil, fmt.Errorf("reset only without a daemon, and one still runs: %w", err)
	}
	return done, nil
}

// stopUnit stops and disables the unit, if systemd has it.
func stopUnit(ctx context.Context, opt host.Options) error {
	h, err := host.Open(ctx, opt)
	if err != nil {
		return fmt.Errorf("look at the host: %w", err)
	}
	defer h.Close() // its writes are systemd's
	switch s, err := h.Live.Units.Unit(ctx, Unit); {
	case errors.Is(err, host.ErrNoLiveState):
		return nil
	case err != nil:
		return err
	case s.Load == "not-found":
		return nil
	}
	if err := h.Units.StopUnit(ctx, Unit, true); err != nil {
		return err
	}
	return h.Units.DisableUnit(ctx, Unit)
}

// askToStop ends a daemon that somebody started by hand, or by another unit. One that does not
// listen is told apart by its lock.
func askToStop(ctx context.Context, opt host.Options, by string, waits func(who string)) error {
	c, err := control.Dial(ctx, opt, "")
	if errors.Is(err, control.ErrNoDaemon) {
		return nil
	}
	if err != nil {
		return err
	}
	defer c.Close() // all was said
	_, err = c.Do(ctx, control.Request{Command: control.Stop, By: by}, func(e control.Event) {
		if e.Event == control.Queued {
			waits("the daemon, which is at " + e.Text)
		}
	})
	if err != nil && ctx.Err() == nil && !errors.Is(err, control.ErrDied) {
		return err
	}
	if ctx.Err() != nil {
		return fmt.Errorf("wait for its end: %w", context.Cause(ctx))
	}
	return nil
}
