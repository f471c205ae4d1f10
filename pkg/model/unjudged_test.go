package model

import (
	"strings"
	"testing"

	"github.com/netwright/netwright/pkg/config"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/model/network"
)

// A proof with packets does not judge what goes by the API's Pods, and says why; of one network
// that is by what the documents choose.
func TestUnjudged(t *testing.T) {
	for _, c := range []struct {
		name string
		of   config.Networking
		says string // "": it judges
	}{
		{"bridge", config.Networking{Bridge: &config.Bridge{}}, ""},
		{"cilium", config.Networking{Cilium: &config.Cilium{}}, "before any rule of this host"},
		{"calico", config.Networking{Calico: &config.Calico{}}, "its plugin refuses"},
		{"calico, eBPF", config.Networking{Calico: &config.Calico{BPFEnabled: true}}, "Calico's programs"},
		{"calico with an etcd", config.Networking{Calico: &config.Calico{Etcd: &config.CalicoEtcd{}}}, ""},
		{"thick multus beside bridge", config.Networking{Bridge: &config.Bridge{}, Multus: &config.Multus{Mode: "thick"}}, "Multus asks the API"},
		{"thin multus beside bridge", config.Networking{Bridge: &config.Bridge{}, Multus: &config.Multus{Mode: "thin"}}, "Multus asks the API"},
	} {
		n := &config.Node{Networking: c.of}
		net, ok := network.Of(n)
		if !ok {
			t.Fatalf("%s is no network", c.name)
		}
		u := Unjudged(net, n, &host.Facts{})
		if (u == nil) != (c.says == "") || u != nil && (!strings.Contains(u.Why, c.says) || u.Instead == "") {
			t.Errorf("%s: %+v, want %q", c.name, u, c.says)
		}
	}
}
