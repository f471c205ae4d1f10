package checkpoint

import (
	"context"
	"errors"

	"github.com/netwright/netwright/pkg/host"
)

// The unit that undoes at the next boot, before anything reads what was changed.
const (
	bootUnit     = "netwright-undo.service"
	bootUnitFile = "/etc/systemd/system/" + bootUnit
	wantsDir     = "/etc/systemd/system/sysinit.target.wants"
	bootLink     = wantsDir + "/" + bootUnit
)

// shipped is where packages and images put units.
var shipped = []string{bootUnitFile, "/usr/local/lib/systemd/system/" + bootUnit, "/usr/lib/systemd/system/" + bootUnit, "/lib/systemd/system/" + bootUnit}

// BootUnit is the text of the unit: what systemd/netwright-undo.service ships, for a host that has none.
const BootUnit = `[Unit]
Description=Netwright: undo a network change that was not confirmed
Documentation=https://github.com/netwright/netwright
DefaultDependencies=no
ConditionPathExists=/var/lib/netwright/checkpoint/journal.json
RequiresMountsFor=/var/lib/netwright /etc
After=local-fs.target systemd-remount-fs.service
Conflicts=shutdown.target
# Before anybody reads what was changed.
Wants=network-pre.target
Before=network-pre.target sysinit.target shutdown.target systemd-sysctl.service systemd-networkd.service NetworkManager.service nftables.service

[Service]
Type=oneshot
# The copy that the change was made with: the package may have been replaced since.
ExecStart=/var/lib/netwright/checkpoint/agent undo
TimeoutStartSec=1min

[Install]
WantedBy=sysinit.target
`

// wantBootUnit makes sure that the next boot undoes. The links are read at
// the boot: this one's systemd need not know of them.
func (j *Journal) wantBootUnit(ctx context.Context, h *host.Host) error {
	if h.Facts().Init != "systemd" {
		return nil
	}
	from := ""
	for _, path := range shipped {
		if _, err := h.Lstat(path); err == nil {
			from = path
			break
		}
	}
	if from == "" {
		j.BootUnit, from = true, bootUnitFile
		if err := h.WriteFile(ctx, bootUnitFile, []byte(BootUnit), host.FileSpec{Mode: 0o644}); err != nil {
			return err
		}
	}
	if _, err := h.Lstat(bootLink); errors.Is(err, host.ErrNotExist) {
		j.BootLink = true
		return h.Symlink(bootLink, from)
	}
	return nil
}

// dropBootUnit takes away what wantBootUnit put there.
func (j *Journal) dropBootUnit(h *host.Host) error {
	var errs []error
	if j.BootLink {
		errs = append(errs, h.Remove(bootLink))
		if !holds(h, wantsDir) {
			errs = append(errs, h.Remove(wantsDir))
		}
	}
	if j.BootUnit {
		errs = append(errs, h.Remove(bootUnitFile))
	}
	return errors.Join(errs...)
}
