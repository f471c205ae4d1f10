package reset

import (
	"context"

	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/ledger"
	"github.com/netwright/netwright/pkg/tasks"
)

// before says whether a key is as it was before netwright, or has no such state; if not, why it
// stays as it is all the same, "" for no reason.
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

// servedBridge says by which bridge others' containers or machines send through this host; "":
// there is none. Where the bridge has a device of the host they do without its forwarding.
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
			return bridge.Name + " is not netwright's, and what has its links there sends through this host: it may " +
				"rely on it", nil
		}
	}
	return "", nil
}
