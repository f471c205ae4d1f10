package systemd

import "context"

// Reboot makes systemd stop all units and reboot the machine. It returns at once. It returns
// [sys.ErrNoLiveState] where no systemd runs.
func (w *Writer) Reboot(ctx context.Context) error {
	return w.manage(ctx, "reboot", "", "StartUnit", "reboot.target", "replace-irreversibly")
}
