package node_test

import (
	"testing"

	"github.com/netwright/netwright/test/node"
)

// The programs of a layer run in the node above it, and are in no other node.
func TestLayer(t *testing.T) {
	t.Parallel()
	layer, fabric := node.Layer(t, "network-manager", "firewalld"), node.NewFabric(t)
	n := fabric.Node(t, node.Options{Name: "with", Layers: []string{layer}})
	n.Must(t.Context(), "systemctl", "is-active", "NetworkManager", "firewalld")
	n = fabric.Node(t, node.Options{Name: "without"})
	if got := n.Run(t.Context(), "nmcli", "general"); got.Code == 0 {
		t.Errorf("the layer is in a node that has none: %s", got.Stdout)
	}
}
