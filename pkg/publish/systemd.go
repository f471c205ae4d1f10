// Package publish puts a status where others look for it. Now: systemd.
package publish

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"
	"golang.org/x/sys/unix"
)

// Systemd notifies the service manager of the state of the daemon. Without NOTIFY_SOCKET
// in the environment it does nothing.
type Systemd struct{}

// Ready says that the node is prepared: kubelet may start. Status is one line for `systemctl
// status`.
func (Systemd) Ready(status string) error {
	return notify(daemon.SdNotifyReady + "\nSTATUS=" + oneLine(status))
}

// Status is one line for `systemctl status`.
func (Systemd) Status(status string) error { return notify("STATUS=" + oneLine(status)) }

// Stopping says that the daemon is on its way out.
func (Systemd) Stopping() error { return notify(daemon.SdNotifyStopping) }

// Reloading says that a changed configuration is taken; Ready ends it. The time is for
// Type=notify-reload, and no harm to others.
func (Systemd) Reloading() error {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil {
		return fmt.Errorf("read the clock: %w", err)
	}
	return notify(fmt.Sprintf("%s\nMONOTONIC_USEC=%d", daemon.SdNotifyReloading, now.Nano()/int64(time.Microsecond)))
}

// Extend asks for so much more time to start or to stop, from now.
func (Systemd) Extend(by time.Duration) error {
	return notify(fmt.Sprintf("EXTEND_TIMEOUT_USEC=%d", by.Microseconds()))
}

// oneLine keeps a status from being more than one: a line of its own is another message to systemd.
func oneLine(status string) string { return strings.Join(strings.Fields(status), " ") }

func notify(state string) error {
	if _, err := daemon.SdNotify(false, state); err != nil {
		return fmt.Errorf("notify systemd: %w", err)
	}
	return nil
}

// Watchdog pets systemd's watchdog, if the unit has one, as long as alive says
// so. It returns when ctx ends.
func (Systemd) Watchdog(ctx context.Context, alive func() bool) error {
	every, err := daemon.SdWatchdogEnabled(false)
	if err != nil {
		return fmt.Errorf("read the watchdog's interval: %w", err)
	}
	if every == 0 {
		<-ctx.Done()
		return nil
	}
	tick := time.NewTicker(every / 3)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
			if alive() {
				if err := notify(daemon.SdNotifyWatchdog); err != nil {
					return err
				}
			}
		}
	}
}
