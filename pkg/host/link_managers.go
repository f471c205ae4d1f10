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

// Names of the link managers' units, without ".service".
const (
	networkd       = "systemd-networkd"
	networkManager = "NetworkManager"
)

// LinkManagers lists the link managers that [Live.LinkSetup] supports.
func LinkManagers() []string { return []string{networkd, networkManager} }

// Setup is the state of a link's setup, as its manager reports it.
type Setup string

// States of a link's setup.
const (
	SetupDone   Setup = "set up"
	SetupGoesOn Setup = "being set up" // or the manager itself starts or stops
	SetupFailed Setup = "failed"       // or the manager gave up, or failed itself
	SetupNone   Setup = "left alone"   // or the manager does not run, or has never seen the link
)

// LinkSetup reports the state of a link's setup by its manager ([facts.LinkFact.Manager]). A
// checkpoint compares it before and after a change. It returns [ErrNotExist] if there is no such
// link, and [ErrNoLiveState] where no systemd runs. It may be retried.
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
		return SetupGoesOn, nil // the manager has not finished its start or reload
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

// managerSetup returns the setup of all links of a manager that has no process. The manager may be
// stopped as wanted, about to start or stop, or failed.
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

// catchUp waits until systemd-networkd has handled all earlier messages. systemd-networkd answers
// messages in their order, and it writes the state of its links before each answer. On a busy host
// this can be seconds after a reload ended. Without a bus nothing is asked, and this is no error.
func catchUp(ctx context.Context) error {
	err := systemd.OnSystemBus(ctx, func(b *systemd.Bus) error {
		return b.Call(ctx, networkdName, networkdPath, "org.freedesktop.DBus.Peer.Ping").Err
	})
	if err != nil && ctx.Err() != nil {
		return fmt.Errorf("ask systemd-networkd whether it has caught up: %w", context.Cause(ctx))
	}
	return nil
}

// networkdSetup reads the state file that systemd-networkd writes for a link.
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
				return SetupGoesOn, nil // networkd has not read yet that this .network file is gone
			}
		}
		return SetupDone, nil
	case "pending", "initialized", "configuring":
		return SetupGoesOn, nil
	case "failed":
		return SetupFailed, nil
	}
	return SetupNone, nil // "unmanaged", or "linger": the link is gone
}

// D-Bus names. Sources: org.freedesktop.network1(5) and
// https://networkmanager.dev/docs/api/latest/spec.html
const (
	networkdName   = "org.freedesktop.network1"
	networkdPath   = dbus.ObjectPath("/org/freedesktop/network1")
	networkdIface  = networkdName + ".Manager."
	managerNM      = "org.freedesktop.NetworkManager"
	managerNMPath  = dbus.ObjectPath("/org/freedesktop/NetworkManager")
	settingsNMPath = managerNMPath + "/Settings"
)

// networkManagerSetup asks NetworkManager over D-Bus: its state files say only whether it manages a
// link.
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

// externalNM is the flag EXTERNAL (NMActivationStateFlags). NetworkManager sets it on a connection
// that it created for a link which another program set up.
const externalNM = 0x80

// setupNM converts the state of a device (NMDeviceState).
func setupNM(state uint32) Setup {
	switch {
	case state <= 10: // unknown, unmanaged
		return SetupNone
	case state == 100:
		return SetupDone
	case state >= 40 && state <= 110: // from "prepare" up to "deactivating"
		return SetupGoesOn
	}
	return SetupFailed // also "unavailable" and "disconnected"
}

func deviceNM(ctx context.Context, b *systemd.Bus, link string) (path dbus.ObjectPath, err error) {
	err = b.Call(ctx, managerNM, managerNMPath, managerNM+".GetDeviceByIpIface", link).Store(&path)
	return path, err
}

// SetUpLink makes a link's manager read its files again and set the link up from the start. It does
// not wait for the result: see [Live.LinkSetup]. The undo calls it for links that the manager gave
// up because of a change; a reload alone does not make the manager try again. It may be retried.
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
