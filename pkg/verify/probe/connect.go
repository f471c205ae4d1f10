package probe

import (
	"context"
	"fmt"
	"net"
	"net/netip"

	"github.com/netwright/netwright/pkg/host/rtnl"
)

// Connect opens a TCP connection from a network namespace, and closes it.
func Connect(ctx context.Context, netns string, to netip.AddrPort) error {
	ctx, cancel := context.WithTimeoutCause(ctx, Timeout, ErrNoAnswer)
	defer cancel()
	err := rtnl.InNetNS(netns, func() error {
		c, err := (&net.Dialer{}).DialContext(ctx, "tcp", to.String())
		if err == nil {
			_ = c.Close()
		}
		return err
	})
	if ctx.Err() != nil && err != nil || Late(err) {
		return fmt.Errorf("connect to %s: %w", to, ErrNoAnswer)
	}
	return err
}
