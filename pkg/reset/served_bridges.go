package reset

import (
	"context"

	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/ledger"
	"github.com/netwright/netwright/pkg/tasks"
)

// before reports whether a key has its baseline, or has none. If not, served is the reason why the
// reset leaves it as it is; "": there is none.
func (r *resetting) before(
	ctx context.Context, v host.View, e ledger.Entry, k tasks.StateReader,
) (restored bool, served string, err error) {
	restorer, restorable := k.(tasks.Restorer)
	if e.Baseline == nil || !restorable {
		return true, "", nil
	}
	restored, err = restorer.Restored(ctx, v, *e.Baseline)
	if err == nil && !restored && tasks.Shared(e.Key) {
		served, err = servedBridge(ctx, v, r.led)
	}
	return restored, served, err
}

// servedBridge returns a text about a bridge of another program whose containers or machines send
// packets through this host; "": there is none. A bridge with a physical device does not need the
// host's forwarding.
func servedBridge(ctx context.Context, v host.View, led *ledger.Ledger) (string, error) {
	links, err := v.Net.Links(ctx)
	if err != nil {
		return "", err
	}
	for i := range links {
		bridge, serves := &links[i], false
		if _, ours := led.Entries()[tasks.LinkKey(bridge.Name)]; ours || bridge.Kind != "bridge" {
			continue
		}
		for j := range links {
			if port := &links[j]; port.Master != bridge.Name {
				continue
			} else if port.Physical {
				serves = false
				break
			} else if port.Kind == "veth" || port.Kind == "tun" {
				serves = true
			}
		}
		if serves {
			return bridge.Name + " is not netwright's, and containers or machines with links there send " +
				"through this host: they may rely on it", nil
		}
	}
	return "", nil
}
