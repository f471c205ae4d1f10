package model

import (
	"strings"
	"testing"

	"github.com/netwright/netwright/pkg/config"
	"github.com/netwright/netwright/pkg/config/networks"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/model/network"
)

// A proof with packets does not judge a network that uses the API's Pods, and says why. For one
// network that depends on its documents.
func TestUnjudged(t *testing.T) {
	for _, c := range []struct {
		name string
		of   networks.Networking
		says string // "": it judges
	}{
		{"bridge", networks.Networking{Bridge: &networks.Bridge{}}, ""},
		{"cilium", networks.Networking{Cilium: &networks.Cilium{}}, "before any rule of this host"},
		{"calico", networks.Networking{Calico: &networks.Calico{}}, "its plugin refuses"},
		{"calico, eBPF", networks.Networking{Calico: &networks.Calico{BPFEnabled: true}}, "Calico's programs"},
		{"calico with an etcd", networks.Networking{Calico: &networks.Calico{Etcd: &networks.CalicoEtcd{}}}, ""},
		{"thick multus beside bridge", networks.Networking{Bridge: &networks.Bridge{}, Multus: &networks.Multus{Mode: "thick"}}, "Multus asks the API"},
		{"thin multus beside bridge", networks.Networking{Bridge: &networks.Bridge{}, Multus: &networks.Multus{Mode: "thin"}}, "Multus asks the API"},
	} {
		n := &config.Node{Networking: c.of}
		net, ok := network.Of(n)
		if !ok {
			t.Fatalf("%s is no network", c.name)
		}
		u := Untestable(net, n, &host.Facts{})
		if (u == nil) != (c.says == "") || u != nil && (!strings.Contains(u.Why, c.says) || u.Instead == "") {
			t.Errorf("%s: %+v, want %q", c.name, u, c.says)
		}
	}
}
