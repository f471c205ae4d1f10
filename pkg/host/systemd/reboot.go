package systemd

import "context"

// Reboot has systemd end everything in good order and boot the machine again. It returns at once.
// [sys.ErrNoLiveState] where no systemd runs.
func (w *Writer) Reboot(ctx context.Context) error {
	return w.manage(ctx, "reboot", "", "StartUnit", "reboot.target", "replace-irreversibly")
}
