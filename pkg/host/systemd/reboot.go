package systemd

import (
	"context"

	"github.com/godbus/dbus/v5"
)

// Reboot has systemd end everything in good order and boot the machine again. It returns at once.
// [sys.ErrNoLiveState] where no systemd runs.
func (w *Writer) Reboot(ctx context.Context) error {
	return w.manage(ctx, "reboot", "", func(b *Bus) *dbus.Call {
		return b.manager(ctx, "StartUnit", "reboot.target", "replace-irreversibly")
	})
}
