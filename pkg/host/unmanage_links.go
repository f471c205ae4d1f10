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

// unmanagedFile is a file that tells a link manager to ignore one link until the next boot. The
// manager reads it when reload is called.
type unmanagedFile struct {
	manager string
	file    string // %s is the name of the link, also in content
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
			const settings = uint32(1) // reload only NetworkManager.conf, not the connections
			return b.Call(ctx, managerNM, managerNMPath, managerNM+".Reload", settings)
		}},
}

// unmanageLink tells the running link managers to ignore a link before it is created.
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

// removeUnmanaged removes the files that unmanageLink wrote. A manager notices this when it reads
// its files the next time.
func (h *Host) removeUnmanaged(link string) error {
	var failed []error
	for _, l := range unmanagedFiles {
		failed = append(failed, h.Files.Remove(fmt.Sprintf(l.file, link)))
	}
	return errors.Join(failed...)
}

// AddVethPair creates a veth pair with one end in another namespace and sets both ends up. First it
// tells the host's link managers to ignore the link: a manager that took it for its own would
// remove its addresses. If it fails, it removes the pair. [Host.DelVethPair] removes it later. It
// needs CAP_SYS_ADMIN for the namespace.
func (h *Host) AddVethPair(ctx context.Context, c rtnl.VethPair) error {
	if err := h.unmanageLink(ctx, c.Name); err != nil {
		return fmt.Errorf("create veth pair %s: %w", c.Name, err)
	}
	if err := h.Net.AddVeth(ctx, c); err != nil {
		return errors.Join(err, h.DelVethPair(context.WithoutCancel(ctx), c.Name))
	}
	return nil
}

// DelVethPair removes both ends of a veth pair. It may be retried; a missing pair is success.
func (h *Host) DelVethPair(ctx context.Context, name string) error {
	return errors.Join(h.Net.DelLink(ctx, name), h.removeUnmanaged(name))
}
