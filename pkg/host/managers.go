package host

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/godbus/dbus/v5"
	"go.uber.org/zap"

	"github.com/netwright/netwright/pkg/host/facts"
	"github.com/netwright/netwright/pkg/host/internal/sys"
	"github.com/netwright/netwright/pkg/host/systemd"
)

// The programs that manage links, by their units' names.
const (
	networkd       = "systemd-networkd"
	networkManager = "NetworkManager"
)

// LinkManagers are the programs that [Live.LinkSetup] knows.
func LinkManagers() []string { return []string{networkd, networkManager} }

// Setup is how far a link's manager says that it is with the link.
type Setup string

// The states of a link's setup.
const (
	SetupDone   Setup = "set up"
	SetupGoesOn Setup = "being set up" // or the manager itself starts or stops
	SetupFailed Setup = "failed"       // or given up, or the manager failed
	SetupNone   Setup = "left alone"   // or the manager does not run, or has never seen the link
)

// LinkSetup says how far a manager ([facts.LinkFact.Manager]) is with a link. A checkpoint holds a
// change to it. [ErrNotExist] if there is no such link, [ErrNoLiveState] where no systemd runs. It
// may be retried.
func (l *Live) LinkSetup(ctx context.Context, manager, link string) (Setup, error) {
	if !l.Units.Here {
		return "", sys.ErrNoLiveState
	}
	found, err := l.Net.Link(ctx, link)
	if err != nil {
		return "", err
	}
	if !l.sources().ServiceRuns(manager + ".service") {
		return l.managerSetup(ctx, manager)
	}
	if u, err := l.Units.Unit(ctx, manager+".service"); err == nil && (u.Job || u.Active == "reloading") {
		return SetupGoesOn, nil // it has not read yet what it is about to read
	}
	switch manager {
	case networkd:
		if err := catchUp(ctx); err != nil {
			return "", err
		}
		return l.networkdSetup(found.Index)
	case networkManager:
		return networkManagerSetup(ctx, link)
	}
	return "", fmt.Errorf("ask who manages link %s: %q is no manager that is known here", link, manager)
}

// managerSetup is the setup of each link whose manager has no process: whether it is stopped, as
// somebody wants it, or on its way, or failed.
func (l *Live) managerSetup(ctx context.Context, manager string) (Setup, error) {
	u, err := l.Units.Unit(ctx, manager+".service")
	switch {
	case err != nil:
		return "", err
	case u.Active == "failed":
		return SetupFailed, nil
	case u.Active == "inactive" && !u.Job:
		return SetupNone, nil
	}
	return SetupGoesOn, nil
}

// catchUp waits until systemd-networkd has done what it was told before: it answers messages in
// their order, and before each of them it has written down how far it is with its links. On a busy
// host that is seconds after a reload ended. Who has no bus cannot ask.
func catchUp(ctx context.Context) error {
	err := systemd.OnSystemBus(ctx, func(b *systemd.Bus) error {
		return b.Call(ctx, networkdName, networkdPath, "org.freedesktop.DBus.Peer.Ping").Err
	})
	if err != nil && ctx.Err() != nil {
		return fmt.Errorf("ask systemd-networkd whether it has caught up: %w", context.Cause(ctx))
	}
	return nil
}

// networkdSetup reads what systemd-networkd keeps of a link for everybody.
func (l *Live) networkdSetup(index int) (Setup, error) {
	raw, err := l.Files.ReadFile("/run/systemd/netif/links/" + strconv.Itoa(index))
	if errors.Is(err, ErrNotExist) {
		return SetupNone, nil
	}
	if err != nil {
		return "", err
	}
	says := facts.ParseAssignments(raw)
	switch says["ADMIN_STATE"] {
	case "configured":
		if file := says["NETWORK_FILE"]; file != "" {
			if _, err := l.Files.Lstat(file); errors.Is(err, ErrNotExist) {
				return SetupGoesOn, nil // it has not read yet that the file is gone by which it set the link up
			}
		}
		return SetupDone, nil
	case "pending", "initialized", "configuring":
		return SetupGoesOn, nil
	case "failed":
		return SetupFailed, nil
	}
	return SetupNone, nil // unmanaged, and linger: the link is gone
}

// Names of D-Bus: org.freedesktop.network1(5), and
// https://networkmanager.dev/docs/api/latest/spec.html
const (
	networkdName   = "org.freedesktop.network1"
	networkdPath   = dbus.ObjectPath("/org/freedesktop/network1")
	networkdIface  = networkdName + ".Manager."
	managerNM      = "org.freedesktop.NetworkManager"
	managerNMPath  = dbus.ObjectPath("/org/freedesktop/NetworkManager")
	settingsNMPath = managerNMPath + "/Settings"
)

// networkManagerSetup asks NetworkManager, which writes no more than whether it manages a link.
func networkManagerSetup(ctx context.Context, link string) (setup Setup, err error) {
	err = systemd.OnSystemBus(ctx, func(b *systemd.Bus) error {
		device, err := deviceNM(ctx, b, link)
		if unknown, _ := errors.AsType[dbus.Error](err); unknown.Name == managerNM+".UnknownDevice" {
			setup = SetupNone
			return nil
		}
		if err != nil {
			return err
		}
		var state, flags uint32
		if err := b.Property(ctx, managerNM, device, managerNM+".Device", "State", &state); err != nil {
			return err
		}
		if setup = setupNM(state); setup != SetupDone {
			return nil
		}
		var active dbus.ObjectPath
		if err := b.Property(ctx, managerNM, device, managerNM+".Device", "ActiveConnection", &active); err != nil {
			return err
		}
		if err := b.Property(ctx, managerNM, active, managerNM+".Connection.Active", "StateFlags", &flags); err != nil {
			return err
		}
		if flags&externalNM != 0 {
			setup = SetupNone
		}
		return nil
	})
	if err != nil {
		return "", fmt.Errorf("ask NetworkManager of link %s: %w", link, err)
	}
	return setup, nil
}

// externalNM is of a connection that NetworkManager has made up for what others did to a link that
// it does not set up (NMActivationStateFlags).
const externalNM = 0x80

// setupNM says what a device's state means (NMDeviceState).
func setupNM(state uint32) Setup {
	switch {
	case state <= 10: // unknown, unmanaged
		return SetupNone
	case state == 100:
		return SetupDone
	case state >= 40 && state <= 110: // from "prepare" on, and "deactivating"
		return SetupGoesOn
	}
	return SetupFailed // and "unavailable", "disconnected"
}

func deviceNM(ctx context.Context, b *systemd.Bus, link string) (path dbus.ObjectPath, err error) {
	err = b.Call(ctx, managerNM, managerNMPath, managerNM+".GetDeviceByIpIface", link).Store(&path)
	return path, err
}

// SetUpLink makes a link's manager read its files again and set the link up from the start, and
// does not wait for that: see [Live.LinkSetup]. An undo calls it for links that a change made it
// give up; a reload alone does not try those again. It may be retried.
func (h *Host) SetUpLink(ctx context.Context, manager, link string) error {
	if !h.Live.Units.Here {
		return fmt.Errorf("set link %s up by %s: %w", link, manager, sys.ErrNoLiveState)
	}
	l, err := h.Live.Net.Link(ctx, link)
	if err != nil {
		return err
	}
	err = systemd.OnSystemBus(ctx, func(b *systemd.Bus) error {
		switch manager {
		case networkd:
			reload := b.Call(ctx, networkdName, networkdPath, networkdIface+"Reload")
			anew := b.Call(ctx, networkdName, networkdPath, networkdIface+"ReconfigureLink", int32(l.Index))
			return errors.Join(reload.Err, anew.Err)
		case networkManager:
			reload := b.Call(ctx, managerNM, settingsNMPath, managerNM+".Settings.ReloadConnections")
			device, err := deviceNM(ctx, b, link)
			if err != nil {
				return errors.Join(reload.Err, err)
			}
			const best, none = dbus.ObjectPath("/"), dbus.ObjectPath("/")
			anew := b.Call(ctx, managerNM, managerNMPath, managerNM+".ActivateConnection", best, device, none)
			return errors.Join(reload.Err, anew.Err)
		}
		return errors.New("no manager that is known here")
	})
	if err != nil {
		return fmt.Errorf("set link %s up by %s: %w", link, manager, err)
	}
	sys.Changed(h.Live.opt.Log, "link is set up anew", zap.String("link", link), zap.String("manager", manager))
	return nil
}
