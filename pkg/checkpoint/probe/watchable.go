package probe

import (
	"context"
	"slices"
	"strings"

	"github.com/netwright/netwright/pkg/host"
)

// Watchable returns the probes that show later that the node has lost its network, out of those
// that passed before the change and the new next hops: the gateways, or else the user's own probes,
// and the store. It leaves out a store that is a directory of the node, and probes that do not
// reach another host.
func Watchable(ctx context.Context, h *host.Host, before []Probe) (gateways []Probe, store Probe, err error) {
	hops, err := newHops(ctx, h, before)
	if err != nil {
		return nil, "", err
	}
	var others []Probe
	for _, p := range slices.Concat(before, hops) {
		switch kind, what, _ := strings.Cut(string(p), ":"); {
		case kind == Store && strings.Contains(what, "://"):
			store = p
		case slices.Contains([]string{Store, managedProbe, podsProbe}, kind):
		case kind == neighbourProbe, kind == pingProbe:
			gateways = append(gateways, p)
		default:
			others = append(others, p)
		}
	}
	if len(gateways) == 0 {
		gateways = others
	}
	return gateways, store, nil
}
