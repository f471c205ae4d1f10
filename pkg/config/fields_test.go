package config

import (
	"slices"
	"testing"
)

// TestNetworkFields: names are the decoder's, what they take is what its errors expect, defaults
// are those that are filled in.
func TestNetworkFields(t *testing.T) {
	for network, want := range map[string][]Description{
		"flannel": {{"backend", "one of host-gw, udp, vxlan, wireguard", "", "", false}, {"iptablesResyncSeconds", "a whole number from 1 to 86400", "5", "", false}},
		"bridge":  {{"mtu", "a whole number from 576 to 65535", "", "", false}, {"hairpin", "true or false", "true", "", false}, {"nodes", "a list", "", "", false}, {"nodes[].name", "a name of lower-case letters, digits, - and .", "", "", false}},
		"calico":  {{"etcd", "a mapping", "", "", false}, {"etcd.certificates.dir", "an absolute path", "/srv/kubernetes/calico", "", false}, {"encapsulationMode", "one of ipip, none, vxlan", "ipip", "", false}},
		"cni":     {{"binDir", "an absolute path", "/opt/cni/bin", "", false}},
	} {
		got := NetworkFields(network)
		for _, f := range want {
			if !slices.Contains(got, f) {
				t.Errorf("%s has no %+v among %+v", network, f, got)
			}
		}
	}
	for _, name := range SupportedNetworks() {
		for _, f := range NetworkFields(name) {
			if f.Takes == "" || f.Takes == "anything" {
				t.Errorf("%s: %s does not say what it takes", name, f.Path)
			}
		}
	}
	if NetworkFields("flanel") != nil {
		t.Error("there are fields of a network that is not there")
	}
}
