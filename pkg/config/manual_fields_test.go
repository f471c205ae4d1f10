package config

import (
	"slices"
	"strings"
	"testing"

	"github.com/netwright/netwright/pkg/config/decode"
	"github.com/netwright/netwright/pkg/config/networks"
)

// TestNetworkFields: the names are the decoder's, the accepted values are those that its errors
// expect, and the defaults are those that it fills in, in the form of a document.
func TestNetworkFields(t *testing.T) {
	for network, want := range map[string][]decode.Description{
		"flannel": {{Path: "backend", Takes: "one of host-gw, udp, vxlan, wireguard"}, {Path: "iptablesResyncSeconds", Takes: "a whole number from 1 to 86400", Default: "5"}},
		"bridge":  {{Path: "mtu", Takes: "a whole number from 576 to 65535"}, {Path: "hairpin", Takes: "true or false", Default: "true"}, {Path: "nodes", Takes: "a list"}, {Path: "nodes[].name", Takes: "a name of lower-case letters, digits, - and ."}},
		"calico":  {{Path: "etcd", Takes: "a mapping"}, {Path: "etcd.certificates.dir", Takes: "an absolute path", Default: "/srv/kubernetes/calico"}, {Path: "encapsulationMode", Takes: "one of ipip, none, vxlan", Default: "ipip"}},
		"lyftvpc": {{Path: "subnetTags", Takes: "a mapping of tags to values", Default: "{KubernetesCluster: CLUSTER}"}},
		"cni":     {{Path: "binDir", Takes: "an absolute path", Default: "/opt/cni/bin"}},
	} {
		got := NetworkFields(network)
		for _, f := range want {
			if !slices.Contains(got, f) {
				t.Errorf("%s has no %+v among %+v", network, f, got)
			}
		}
	}
	for _, name := range networks.Supported() {
		for _, f := range NetworkFields(name) {
			if f.Takes == "" || f.Takes == "anything" {
				t.Errorf("%s: %s does not say what it takes", name, f.Path)
			}
			if strings.Contains(f.Default, "[") {
				t.Errorf("%s: no document has %s: %s", name, f.Path, f.Default)
			}
		}
	}
	if NetworkFields("flanel") != nil {
		t.Error("there are fields of a network that is not there")
	}
}
