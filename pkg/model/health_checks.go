package model

import (
	"slices"

	"github.com/netwright/netwright/pkg/config"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/model/network"
)

// Untestable is why a proof with packets cannot judge the network on a node; nil: it can.
func Untestable(net network.Network, n *config.Node, f *host.Facts) *network.Untestable {
	v := view(Input{Node: n, Facts: f})
	for _, u := range net.Untestable {
		if u.Applies(v) {
			return &u
		}
	}
	return nil
}

// HealthChecks are the network's signs of life that apply to a node.
func HealthChecks(net network.Network, n *config.Node, f *host.Facts) []network.HealthCheck {
	v := view(Input{Node: n, Facts: f})
	return slices.DeleteFunc(slices.Clone(net.HealthChecks),
		func(s network.HealthCheck) bool { return !s.Applies(v) })
}
