// Package service has the agent's own unit on a host: its name, the switches that prevent its
// start, why no daemon runs, and how one is stopped.
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

// StopDaemon stops the daemon, whoever started it, and takes its lock: no daemon can start until
// the caller calls done. The caller calls it before it takes the lock of a pass, which the daemon
// may hold. by names the caller. StopDaemon calls waits with the name of a process that it waits
// for. A reset runs in its own process, because a daemon cannot stop itself and continue. If the
// process is killed, either the daemon runs as before, or it is stopped and the user repeats the
// reset.
func StopDaemon(ctx context.Context, opt host.Options, by string, waits func(who string)) (done func(), err error) {
	if err := stopUnit(ctx, opt); err != nil {
		return nil, fmt.Errorf("stop the daemon: %w", err)
	}
	if err := askToStop(ctx, opt, by, waits); err != nil { // a daemon that systemd did not start
		return nil, fmt.Errorf("stop the daemon: %w", err)
	}
	done, err = ipc.Lock(ctx, opt.Files(), control.Lock,
		func(who ipc.LockOwner) { waits("another run: " + who.String()) })
	if err != nil {
		return nil, fmt.Errorf("reset: a daemon still runs, and reset needs it stopped: %w", err)
	}
	return done, nil
}

// stopUnit stops and disables the unit, if it is installed.
func stopUnit(ctx context.Context, opt host.Options) error {
	h, err := host.Open(ctx, opt)
	if err != nil {
		return fmt.Errorf("look at the host: %w", err)
	}
	defer h.Close() // only systemd writes
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

// askToStop stops a daemon that a person or another unit started. A daemon that does not answer on
// its socket is found by its lock later.
func askToStop(ctx context.Context, opt host.Options, by string, waits func(who string)) error {
	c, err := control.Dial(ctx, opt, "")
	if errors.Is(err, control.ErrNoDaemon) {
		return nil
	}
	if err != nil {
		return err
	}
	defer c.Close() // nothing is buffered
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
