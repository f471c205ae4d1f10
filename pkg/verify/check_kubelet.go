package verify

import "context"

// kubelet fails where kubelet does not stay up. It has no result where kubelet runs, is not
// installed, or was never started.
func (c *checker) kubelet(ctx context.Context) Result {
	unit := c.view.Facts.Kubelet.Unit
	if unit == "" {
		return Result{}
	}
	state, err := c.view.Units.Unit(ctx, unit)
	if err == nil && state.DoesNotStayUp() {
		return failed(unit+" does not stay up: its last run ended with "+state.Result,
			"no pod is started or stopped until it does: `systemctl status "+unit+"`, `journalctl -u "+unit+"`")
	}
	return Result{}
}
