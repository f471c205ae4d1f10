package model

import (
	"slices"

	"github.com/netwright/netwright/pkg/config"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/model/network"
)

// Untestable returns why a test with packets cannot judge the network on this node. It returns nil
// if a test can.
func Untestable(net network.Network, n *config.Node, f *host.Facts) *network.Untestable {
	v := view(Input{Node: n, Facts: f})
	for _, u := range net.Untestable {
		if u.Applies(v) {
			return &u
		}
	}
	return nil
}

// HealthChecks returns the health checks of the network that apply to this node.
func HealthChecks(net network.Network, n *config.Node, f *host.Facts) []network.HealthCheck {
	v := view(Input{Node: n, Facts: f})
	return slices.DeleteFunc(slices.Clone(net.HealthChecks),
		func(s network.HealthCheck) bool { return !s.Applies(v) })
}
