package verify

import "context"

// kubelet looks whether kubelet stays up. It says nothing of one that does, that is not here, or
// that nobody started.
func (c *checker) kubelet(ctx context.Context) {
	unit := c.view.Facts.Kubelet.Unit
	if unit == "" {
		return
	}
	state, err := c.view.Units.Unit(ctx, unit)
	if err == nil && (state.Active == "failed" || state.Sub == "auto-restart") {
		c.add("kubelet", Failed, unit+" does not stay up: its last run ended with "+state.Result,
			"no pod is started or stopped until it does: `systemctl status "+unit+"`, `journalctl -u "+unit+"`")
	}
}
