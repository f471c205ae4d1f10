package agent

import (
	"context"
	"errors"
	"fmt"
	"net/netip"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/tasks"
)

// holds says what of somebody else's would go along with a key of ours; "" if nothing would. Directories are looked at when their turn
// comes, since what is in them may go before.
func (c *custody) holds(ctx context.Context, v host.View, key graph.Key) (string, error) {
	switch key.Kind() {
	case tasks.KindLink:
		return c.addressOn(ctx, v, key.Name())
	case tasks.KindMount:
		return filesIn(v, key.Name())
	}
	return "", nil
}

// addressOn finds an address that somebody put on a link of ours. Those that the kernel makes by itself do not count.
func (c *custody) addressOn(ctx context.Context, v host.View, link string) (string, error) {
	have, err := v.Addresses(ctx, link)
	if errors.Is(err, host.ErrNotExist) || errors.Is(err, host.ErrNotHere) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("list the addresses of link %s: %w", link, err)
	}
	for _, a := range have {
		if a.Dynamic || a.Prefix.Addr().Is6() && a.Prefix.Addr().IsLinkLocalUnicast() {
			continue
		}
		if !c.ours(link, a.Prefix) {
			return fmt.Sprintf("somebody put the address %s on it; take that off if it is not needed", a.Prefix), nil
		}
	}
	return "", nil
}

func (c *custody) ours(link string, prefix netip.Prefix) bool {
	_, known := c.led.Entries()[tasks.AddressKey(link, prefix)]
	return known
}

// filesIn finds what would be lost with a file system of ours. That of the control groups holds nothing but the kernel's own.
func filesIn(v host.View, dir string) (string, error) {
	kind, err := v.Mounted(dir)
	if errors.Is(err, host.ErrNotExist) || errors.Is(err, host.ErrNotHere) || kind == "cgroup2" {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	names, err := v.ReadDir(dir)
	if err != nil || len(names) == 0 {
		return "", err
	}
	return fmt.Sprintf("it holds %s, which would be lost: unmount it by hand", names[0]), nil
}
