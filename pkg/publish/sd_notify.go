// Package publish publishes the daemon's status: to systemd, the journal, the console, a file, a
// socket, and an object in a store.
package publish

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"
	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/pkg/report"
)

// Systemd sends the state of the daemon to the service manager. Without NOTIFY_SOCKET in the
// environment it does nothing.
type Systemd struct{}

// Ready says that the node is prepared and kubelet may start. status is one line for `systemctl
// status`.
func (Systemd) Ready(status string) error {
	return notify(daemon.SdNotifyReady + "\nSTATUS=" + oneLine(status))
}

// Status sends one line for `systemctl status`.
func (Systemd) Status(status string) error { return notify("STATUS=" + oneLine(status)) }

// Stopping says that the daemon stops.
func (Systemd) Stopping() error { return notify(daemon.SdNotifyStopping) }

// Reloading says that a changed configuration is being applied; Ready says that this has ended.
// Type=notify-reload needs the time, and other types ignore it.
func (Systemd) Reloading() error {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil {
		return fmt.Errorf("read the clock: %w", err)
	}
	return notify(fmt.Sprintf("%s\nMONOTONIC_USEC=%d", daemon.SdNotifyReloading, now.Nano()/int64(time.Microsecond)))
}

// Extend asks for more time to start or to stop, counted from now.
func (Systemd) Extend(by time.Duration) error {
	return notify(fmt.Sprintf("EXTEND_TIMEOUT_USEC=%d", by.Microseconds()))
}

// oneLine puts a status on one line: systemd takes a second line for another message. systemctl
// prints the line unchanged.
func oneLine(status string) string { return report.Line(strings.Join(strings.Fields(status), " ")) }

func notify(state string) error {
	if _, err := daemon.SdNotify(false, state); err != nil {
		return fmt.Errorf("notify systemd: %w", err)
	}
	return nil
}

// Watchdog notifies systemd's watchdog, if the unit has one, while alive returns true. It returns
// when ctx ends.
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
