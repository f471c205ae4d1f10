package host

import (
	"context"
	"errors"
	"fmt"
	"path"

	"github.com/godbus/dbus/v5"

	"github.com/netwright/netwright/pkg/host/hostfs"
	"github.com/netwright/netwright/pkg/host/rtnl"
	"github.com/netwright/netwright/pkg/host/systemd"
)

// unmanagedFile is how a link manager is told to leave one link alone until the next boot: by a
// file of its own, which it reads when it is told to.
type unmanagedFile struct {
	manager string
	file    string // %s is the link, as in content
	content string
	reload  func(ctx context.Context, b *systemd.Bus) *dbus.Call
}

var unmanagedFiles = []unmanagedFile{
	{networkd, "/run/systemd/network/05-netwright-%s.network", "[Match]\nName=%s\n\n[Link]\nUnmanaged=yes\n",
		func(ctx context.Context, b *systemd.Bus) *dbus.Call {
			return b.Call(ctx, networkdName, networkdPath, networkdIface+"Reload")
		}},
	{networkManager, "/run/NetworkManager/conf.d/99-netwright-%s.conf",
		"[device-%[1]s]\nmatch-device=interface-name:%[1]s\nmanaged=0\n",
		func(ctx context.Context, b *systemd.Bus) *dbus.Call {
			const settings = uint32(1) // of NetworkManager itself: no connection is read again
			return b.Call(ctx, managerNM, managerNMPath, managerNM+".Reload", settings)
		}},
}

// unmanageLink has the managers that run here leave a link alone that is about to be made.
func (h *Host) unmanageLink(ctx context.Context, link string) error {
	if !h.Live.Units.Here {
		return nil
	}
	for _, l := range unmanagedFiles {
		if !h.Live.sources().ServiceRuns(l.manager + ".service") {
			continue
		}
		file := fmt.Sprintf(l.file, link)
		err := h.Files.Mkdir(path.Dir(file), 0o755, 0, 0)
		if err == nil {
			err = h.Files.WriteFile(ctx, file, []byte(fmt.Sprintf(l.content, link)), hostfs.FileSpec{Mode: 0o644})
		}
		if err == nil {
			err = systemd.OnSystemBus(ctx, func(b *systemd.Bus) error { return l.reload(ctx, b).Err })
		}
		if err != nil {
			return fmt.Errorf("have %s leave link %s alone: %w", l.manager, link, err)
		}
	}
	return nil
}

// removeUnmanaged takes back what unmanageLink wrote. Managers forget it when they next read their
// files.
func (h *Host) removeUnmanaged(link string) error {
	var failed []error
	for _, l := range unmanagedFiles {
		failed = append(failed, h.Files.Remove(fmt.Sprintf(l.file, link)))
	}
	return errors.Join(failed...)
}

// AddVethPair makes a veth pair into a namespace, with both ends up, which the link managers of the
// host leave alone: one that takes it for a link of the machine's would take its addresses. When
// that fails there is none. [Host.DelVethPair] takes it away. It needs CAP_SYS_ADMIN for the
// namespace.
func (h *Host) AddVethPair(ctx context.Context, c rtnl.VethPair) error {
	if err := h.unmanageLink(ctx, c.Name); err != nil {
		return fmt.Errorf("make cable %s: %w", c.Name, err)
	}
	if err := h.Net.AddVeth(ctx, c); err != nil {
		return errors.Join(err, h.DelVethPair(context.WithoutCancel(ctx), c.Name))
	}
	return nil
}

// DelVethPair takes a pair away, with both ends. It may be retried; absence is success.
func (h *Host) DelVethPair(ctx context.Context, name string) error {
	return errors.Join(h.Net.DelLink(ctx, name), h.removeUnmanaged(name))
}
